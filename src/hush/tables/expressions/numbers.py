"""Functions of one number that no row can make fail.

Each takes and returns tame numbers. Where mathematics has no value there is NULL; an
argument is made harmless before the engine sees it, because engines may compute both
branches of a CASE.
"""

import math
from typing import Any

import ibis

from hush import checks
from hush.errors import InvalidArgument, Unsupported
from hush.tables.expressions.types import (
    EXACT,
    LARGE,
    Typed,
    backend_of,
    number_within,
    within_limits,
)

_MOST_POWER = 8
_MOST_EXPONENT = 300.0
_MOST_BINS = 1 << 16
_NARROW = 1e-45  # bounds that are closer have ends which would be held to zero


def _null() -> Any:
    return ibis.null("float64")


def small_floor(value: Any) -> Any:
    """Largest whole number that is not larger, of a number below 2^52."""
    return value.floor().cast("float64")


def _floor(value: Any, most: float) -> Any:
    if most < EXACT:
        return small_floor(value)
    # Engines floor into 64-bit integers; a larger double is whole already.
    small = value.abs() < EXACT
    return ibis.ifelse(small, small_floor(ibis.ifelse(small, value, 0.0)), value)


def floor(x: Typed) -> Typed:
    """Largest whole number that is not larger."""
    return number_within(_floor(x.value, x.most), 1.0, max(x.most, 1.0) * 2)


def ceil(x: Typed) -> Typed:
    """Smallest whole number that is not smaller."""
    found = 0.0 - _floor(0.0 - x.value, x.most)
    return number_within(found, 1.0, max(x.most, 1.0) * 2)


def nearest_integer(x: Typed) -> Typed:
    """Nearest whole number; halves go away from zero."""
    size = x.value.abs()
    below = _floor(size, x.most)
    near = below + ibis.ifelse(size - below >= 0.5, 1.0, 0.0)
    signed = ibis.ifelse(x.value < 0.0, 0.0 - near, near)
    return number_within(signed, 1.0, max(x.most, 1.0) * 2)


def sign(x: Typed) -> Typed:
    """-1, 0 or 1."""
    value = ibis.cases(
        (x.value > 0.0, 1.0),
        (x.value < 0.0, -1.0),
        (x.value == 0.0, 0.0),
        else_=_null(),
    )
    return number_within(value, 1.0, 1.0)


def absolute(x: Typed) -> Typed:
    """Magnitude."""
    return number_within(x.value.abs(), x.least, x.most)


def square_root(x: Typed) -> Typed:
    """Square root; of a negative number NULL."""
    fine = x.value >= 0.0
    root = ibis.ifelse(fine, x.value, 0.0).sqrt()
    found = ibis.ifelse(fine, root, _null())
    return number_within(found, math.sqrt(x.least) / 2, math.sqrt(x.most) * 2)


def logarithm(x: Typed, base: int | None = None) -> Typed:
    """Logarithm, natural or of base 2 or 10; of a number that is not positive NULL."""
    fine = x.value > 0.0
    safe = ibis.ifelse(fine, x.value, 1.0)
    # One function for all bases: engines define the others by different formulae.
    found = safe.ln() if base is None else safe.ln() / math.log(base)
    return number_within(ibis.ifelse(fine, found, _null()), 1e-18, 1e4)


def exponential(x: Typed) -> Typed:
    """The number e to a power, which is held inside ±300."""
    limit = _MOST_EXPONENT
    held = ibis.cases(
        (x.value > limit, limit), (x.value < -limit, -limit), else_=x.value
    )
    return number_within(held.exp(), 1e-131, 1e131)


def product(a: Typed, b: Typed) -> Typed:
    """Product."""
    if a.most * b.most > 1e290 or a.least * b.least < 1e-290:
        a, b = within_limits(a), within_limits(b)
    return number_within(a.value * b.value, a.least * b.least / 2, a.most * b.most * 2)


def exact_quotient(a: Any, b: Any) -> Any:
    """Return a / b of finite numbers to the last bit.

    Polars multiplies by the inverse of a literal, which is another double for a third
    of all numbers. So the divisor depends on the row there, without changing.
    """
    return a / (b + a * 0.0) if backend_of(a) == "polars" else a / b


def quotient(a: Typed, b: Typed) -> Typed:
    """Quotient; by zero NULL."""
    if a.most / b.least > 1e289 or a.least / b.most < 1e-289:
        a, b = within_limits(a), within_limits(b)
    divisor = ibis.ifelse(b.value == 0.0, _null(), b.value)
    return number_within(
        exact_quotient(a.value, divisor), a.least / b.most / 2, a.most / b.least * 2
    )


def _within_sum_limits(a: Typed, b: Typed) -> tuple[Typed, Typed]:
    if max(a.most, b.most) > 1e289 or min(a.least, b.least) < 1e-270:
        return within_limits(a), within_limits(b)
    return a, b


def total(a: Typed, b: Typed) -> Typed:
    """Sum."""
    a, b = _within_sum_limits(a, b)
    # What is left when almost all cancels is at least half a last digit.
    least = min(a.least, b.least) * 2.0**-53
    return number_within(a.value + b.value, least, (a.most + b.most) * 2)


def difference(a: Typed, b: Typed) -> Typed:
    """Difference."""
    return total(a, negative(b))


def negative(x: Typed) -> Typed:
    """The number with the other sign; zero stays without one."""
    return number_within(0.0 - x.value, x.least, x.most)


def power(x: Typed, exponent: int) -> Typed:
    """Small whole power, by multiplication; the inverse of zero is NULL."""
    if abs(exponent) > _MOST_POWER:
        raise Unsupported(f"POWER takes whole exponents up to {_MOST_POWER}.")
    one = number_within(ibis.literal(1.0), 1.0, 1.0)
    if exponent == 0:
        value = ibis.ifelse(x.value.isnull(), _null(), ibis.literal(1.0))
        return number_within(value, 1.0, 1.0)
    result = x
    for _ in range(abs(exponent) - 1):
        result = product(result, x)
    return quotient(one, result) if exponent < 0 else result


def extreme_value(parts: list[Typed], *, largest: bool) -> Typed:
    """Largest or smallest of the values that are there; NULL if none is."""
    result = parts[0]
    for other in parts[1:]:
        a, b = result.value, other.value
        chosen = ibis.ifelse(a >= b, a, b) if largest else ibis.ifelse(a <= b, a, b)
        value = ibis.cases((a.isnull(), b), (b.isnull(), a), else_=chosen)
        result = Typed(
            result.kind,
            value,
            min(result.least, other.least),
            max(result.most, other.most),
        )
    return result


def bins(lower: float, upper: float, count: int) -> list[float]:
    """Return the lower ends of `count` equal bins: the keys of BIN(x, lower, upper, n).

    Example:
        >>> bins(0, 100, 4)
        [0.0, 25.0, 50.0, 75.0]
    """
    low, high, n = _grid(lower, upper, count)
    return [low + i * (high - low) / n for i in range(n)]


def _grid(lower: float, upper: float, count: int) -> tuple[float, float, int]:
    low, high = checks.interval("bounds", (lower, upper))
    n = checks.whole("count", count, at_least=1, at_most=_MOST_BINS)
    if not low < high or max(abs(low), abs(high)) > LARGE or high - low < _NARROW:
        raise InvalidArgument(
            f"bins need lower < upper within ±1e70; got {lower!r}, {upper!r}."
        )
    return low, high, n


def _index(x: Typed, low: float, high: float, n: int) -> Any:
    """Return the number of the bin, 0..n-1, of a number; of NULL any of these."""
    held = ibis.least(ibis.greatest(x.value, low), high)
    guess = small_floor(exact_quotient(held - low, (high - low) / n))
    # The division may be off by one at an edge; the edges themselves decide.
    up = held >= low + exact_quotient((guess + 1.0) * (high - low), float(n))
    down = held < low + exact_quotient(guess * (high - low), float(n))
    right = guess + ibis.cases((up, 1.0), (down, -1.0), else_=0.0)
    return ibis.least(right, n - 1.0)


def bin_start(x: Typed, lower: float, upper: float, count: int) -> Typed:
    """Lower end of the bin that holds a number; outside the bounds NULL.

    Bins hold their lower end; the last one holds its upper end as well.
    """
    low, high, n = _grid(lower, upper, count)
    edge = low + exact_quotient(_index(x, low, high, n) * (high - low), float(n))
    inside = (x.value >= low) & (x.value <= high)
    found = ibis.ifelse(inside, edge, _null())
    least = min((abs(each) for each in bins(low, high, n) if each), default=1.0)
    return number_within(found, least / 2, max(abs(low), abs(high), 1.0) * 2)


def bucket(x: Typed, lower: float, upper: float, count: int) -> Typed:
    """Number of the bin as in SQL: 0 below, 1..count inside, count + 1 from the end."""
    low, high, n = _grid(lower, upper, count)
    value = ibis.cases(
        (x.value.isnull(), _null()),
        (x.value < low, 0.0),
        (x.value >= high, n + 1.0),
        else_=_index(x, low, high, n) + 1.0,
    )
    return number_within(value, 1.0, n + 1.0)
