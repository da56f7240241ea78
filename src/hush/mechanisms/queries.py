"""Count, sum, mean, variance and proportion, exact to the last digit.

Values are clamped to public bounds, turned into fixed-point integers one by one, and
added as integers: no order, rounding or overflow moves an answer more than stated.
"""

import builtins
import math
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush import checks, suggestions
from hush.errors import InvalidArgument, Withheld
from hush.mechanisms.query import Query
from hush.units import Neighbors

Bounds = tuple[float, float]


def _size(size: int | None, neighbors: Neighbors, name: str) -> int:
    if neighbors is Neighbors.REPLACE_ONE and size is None:
        raise InvalidArgument(
            f"size must be given for {name} under replace-one: the number of records "
            "is public there. Or use neighbors='add-remove'."
        )
    if neighbors is Neighbors.ADD_REMOVE and size is not None:
        raise InvalidArgument(
            f"size must be left out of {name} under add-remove: the number of records "
            "is secret there. Or use neighbors='replace-one'."
        )
    return 0 if size is None else checks.whole("size", size, at_least=1)


def _check_size(data: Any, size: int) -> None:
    # The number of records is public under replace-one, so saying so reveals nothing.
    if _people(data) != size:
        raise InvalidArgument(f"data must have size={size} records, as declared.")


def _people(data: Any) -> int:
    try:
        return len(data)
    except TypeError:  # by its type alone, whatever is in it
        raise InvalidArgument(
            "data must be a list, a column or a table, one record per person; got a "
            f"{type(data).__name__}."
        ) from None


@suggestions.with_argument_hints({})
def count(*, neighbors: str | Neighbors = Neighbors.ADD_REMOVE) -> Query:
    """Return the query that counts records.

    Guarantee: one person moves it by 1, or not at all under replace-one.

    Example:
        >>> count()([4, 5, 6]), count().sensitivity()
        (3, 1)

    Reference: N3.3ex.
    """
    relation = Neighbors.of(neighbors)
    moves = 1 if relation is Neighbors.ADD_REMOVE else 0
    return Query("count", _people, (moves,), relation)


@suggestions.with_argument_hints({})
def sum(bounds: Bounds, *, neighbors: str | Neighbors = Neighbors.ADD_REMOVE) -> Query:
    """Return the query that adds clamped values.

    Bounds that are whole numbers ask for a whole answer: of fractions the sum is
    rounded, once, after all are added. Write bounds=(0.0, 1.0) to keep fractions.

    Guarantee: one person moves it by max(|lower|, |upper|), or by upper - lower under
    replace-one, exactly: the sum is one of integers.

    Example:
        >>> sum(bounds=(-3, 5))([1, 2, 900]), sum(bounds=(-3, 5)).sensitivity()
        (8, 5)
        >>> sum(bounds=(0, 1))([0.4] * 1000), float(sum(bounds=(0.0, 1.0))([0.5] * 3))
        (400, 1.5)

    Reference: N3.9.
    """
    relation = Neighbors.of(neighbors)
    lower, upper = checks.interval("bounds", bounds)
    whole = all(isinstance(checks.plain_number(each), int) for each in bounds)
    bits = digits(lower, upper)
    if whole:
        bits = max(bits, 0)
    if whole and max(abs(lower), abs(upper)) >= 2**40:
        raise InvalidArgument("bounds must stay below 2^40 for whole-number sums.")
    low, high = point(lower, bits), point(upper, bits)
    moves = max(abs(low), abs(high)) if relation is Neighbors.ADD_REMOVE else high - low

    def exact(data: Any) -> int | Fraction:
        added = total(fixed(column(data), lower, upper, bits))
        if whole:  # halves up, which commutes with whole moves
            return (added + (1 << bits >> 1)) >> bits
        return Fraction(added) / Fraction(2) ** bits

    return Query(
        "sum",
        exact,
        (int(moves) if whole else moves,),
        relation,
        bounds=(lower, upper),
    )


def _moments(
    data: Any, lower: float, upper: float, power: int
) -> tuple[int, list[int]]:
    """Return n and exact sums of powers of (x - middle)/half, in units of 2^-30."""
    array = column(data)
    half = upper / 2 - lower / 2  # the width itself may overflow
    scaled = clamp(array, lower, upper) - (lower + half)
    scaled = np.clip(scaled / half if half > 0 else scaled * 0, -1, 1)
    units = np.rint(np.ldexp(scaled, 30)).astype(np.int64)
    sums = [total(units)]
    if power == 2:
        sums.append(total_squares(units))
    return array.size, sums


@suggestions.with_argument_hints({})
def mean(
    bounds: Bounds,
    *,
    size: int | None = None,
    neighbors: str | Neighbors = Neighbors.ADD_REMOVE,
) -> Query:
    """Return the query that averages clamped values.

    Under replace-one `size` is public, and the mean is one number. Under add/remove it
    is a centered sum and a count, each moving by at most 1, divided after the noise.

    Guarantee: (upper - lower)/size under replace-one; (1, 1) under add/remove.

    Example:
        >>> query = mean(bounds=(0, 10), size=4, neighbors="replace-one")
        >>> round(float(query([1, 2, 3, 99])), 6), float(query.sensitivity())
        (4.0, 2.5)

    Reference: L.ex; N3.4ex.
    """
    relation = Neighbors.of(neighbors)
    lower, upper = checks.interval("bounds", bounds)
    n = _size(size, relation, "mean")
    half = Fraction(upper) / 2 - Fraction(lower) / 2
    middle = Fraction(lower) + half
    if relation is Neighbors.REPLACE_ONE:

        def exact(data: Any) -> Fraction:
            _check_size(data, n)
            found = _moments(data, lower, upper, 1)[1][0]
            return middle + half * Fraction(found, n << 30)

        return Query("mean", exact, (2 * half / n,), relation, bounds=(lower, upper))

    def parts(data: Any) -> list[Fraction]:
        found, sums = _moments(data, lower, upper, 1)
        return [Fraction(sums[0], 1 << 30), Fraction(found)]

    def finish(noisy: Any) -> float:
        ratio = float(noisy[0]) / max(float(noisy[1]), 1.0)
        return float(middle) + float(half) * min(1.0, max(-1.0, ratio))

    return Query(
        "mean", parts, (Fraction(1), Fraction(1)), relation, finish, (lower, upper)
    )


@suggestions.with_argument_hints({})
def variance(
    bounds: Bounds,
    *,
    size: int | None = None,
    neighbors: str | Neighbors = Neighbors.ADD_REMOVE,
) -> Query:
    """Return the query for the variance (mean squared distance from the mean).

    It comes from whole-number moments: no data-dependent mean is ever subtracted.

    Guarantee: (upper-lower)²(size-1)/size² under replace-one; (1, 1, 1) under
    add/remove, where sum, sum of squares and count are released together.

    Example:
        >>> query = variance(bounds=(0, 1), size=4, neighbors="replace-one")
        >>> float(query([0, 0, 1, 1])), float(query.sensitivity())
        (0.25, 0.1875)

    Reference: [DS09].
    """
    relation = Neighbors.of(neighbors)
    lower, upper = checks.interval("bounds", bounds)
    n = _size(size, relation, "variance")
    half = Fraction(upper) / 2 - Fraction(lower) / 2
    if half > 2**510:  # floats hold the square of the range, and noise above it
        raise InvalidArgument(
            "bounds of a variance must be less than 1e153 apart; "
            f"got ({lower:g}, {upper:g}). Measure in larger units."
        )
    if relation is Neighbors.REPLACE_ONE:

        def exact(data: Any) -> Fraction:
            _check_size(data, n)
            first, second = _moments(data, lower, upper, 2)[1]
            return half**2 * Fraction(n * second - first**2, (n << 30) ** 2)

        return Query(
            "variance",
            exact,
            (4 * half**2 * (n - 1) / n**2,),
            relation,
            bounds=(lower, upper),
        )

    def parts(data: Any) -> list[Fraction]:
        found, (first, second) = _moments(data, lower, upper, 2)
        return [Fraction(first, 1 << 30), Fraction(second, 1 << 60), Fraction(found)]

    def finish(noisy: Any) -> float:
        people = max(float(noisy[2]), 1.0)
        first = min(1.0, max(-1.0, float(noisy[0]) / people))
        second = min(1.0, max(0.0, float(noisy[1]) / people))
        return float(half) ** 2 * max(0.0, second - first**2)

    return Query(
        "variance", parts, (Fraction(1),) * 3, relation, finish, (lower, upper)
    )


@suggestions.with_argument_hints({})
def proportion(
    *, size: int | None = None, neighbors: str | Neighbors = Neighbors.ADD_REMOVE
) -> Query:
    """Return the query for the share of records that are true (not 0).

    Guarantee: 1/size under replace-one; (1, 1) under add/remove, where it is a count of
    the true ones and a count of all.

    Example:
        >>> query = proportion(size=4, neighbors="replace-one")
        >>> float(query([True, True, False, True]))
        0.75

    Reference: L.ex.
    """
    relation = Neighbors.of(neighbors)
    n = _size(size, relation, "proportion")

    def count_true(data: Any) -> int:
        return int(np.count_nonzero(np.nan_to_num(column(data))))

    if relation is Neighbors.REPLACE_ONE:

        def exact(data: Any) -> Fraction:
            _check_size(data, n)
            return Fraction(count_true(data), n)

        return Query("proportion", exact, (Fraction(1, n),), relation)

    def finish(noisy: Any) -> float:
        return min(1.0, max(0.0, float(noisy[0]) / max(float(noisy[1]), 1.0)))

    return Query(
        "proportion",
        lambda data: [count_true(data), _people(data)],
        (1, 1),
        relation,
        finish,
    )


# -- Data in: NaN and infinities are mapped by one rule, then everything is clamped ----
#
# NaN counts as the lower bound, -inf and +inf as the bounds they lie beyond; a masked
# record counts as NaN, and so does, in a list, which has no type of its own, whatever
# is not a number. The rule looks at one record at a time, so a strange record moves
# an answer no more than any other, and nothing is ever refused because of a value
# found in the data. Arrays have a type; records of lists and other sequences are read
# one by one.

_CHUNK = 1 << 20


def column(data: Any) -> NDArray[Any]:
    """Return records as one vector of numbers; a non-numeric column is refused.

    Example:
        >>> column([1, 2.5, None, "three", 10**400])
        array([1. , 2.5, nan, nan, inf])
    """
    array = _as_array(data)
    if array.size == 0:
        return np.zeros(0)
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise InvalidArgument(
            f"data must be one column of numbers; got dtype {array.dtype} and "
            f"{array.ndim} dimensions."
        )
    return array.astype(np.int64) if array.dtype.kind == "b" else array


def records(data: Any) -> list[Any]:
    """Return records as they are, each by itself: one must not retype the others.

    Example:
        >>> records([1, "three", None])
        [1, 'three', None]
    """
    if _is_plain_sequence(data):
        return list(data)
    # What is masked is missing: None in its list, and not what lies below the mask.
    array = data if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
    if array.ndim != 1:
        raise InvalidArgument(
            f"data must be one column of records; got {array.ndim} dimensions."
        )
    found: list[Any] = array.tolist()
    return found


def _as_array(data: Any) -> NDArray[Any]:
    """Return the array that a container is; records of a sequence as floats."""
    if not _is_plain_sequence(data):
        hides = isinstance(data, np.ma.MaskedArray)
        array = data if hides else np.asarray(data)
        if array.ndim != 1 or not (hides or array.dtype == object):
            return np.asarray(array)
        data = array.tolist()  # None where a record is masked
    # In one array NumPy would give all records one type, or fail for one of them.
    if set(map(type, data)) <= _QUICK:
        with suppress(OverflowError):  # a whole number that no float holds
            return np.array(data, dtype=np.float64)
    return np.array([_number(each) for each in data])


_QUICK = {bool, int, float, np.bool_, np.int64, np.float64}  # read alike, all at once


def _is_plain_sequence(data: Any) -> bool:
    """Whether data is a sequence without a type, as a list is."""
    untyped = not hasattr(data, "__array__") and not isinstance(data, str | bytes)
    return isinstance(data, list | tuple) or (untyped and isinstance(data, Sequence))


def _number(record: Any) -> float:
    """Return one record as a float: NaN for what is no number, or fails as one."""
    with Withheld():  # a strange record is no reason to stop: that would tell of it
        return _as_float(record)
    return math.nan


def _as_float(record: Any) -> float:
    if isinstance(record, np.ma.MaskedArray):
        return math.nan if record.mask else float(record.item())
    if isinstance(record, str | bytes | np.timedelta64 | np.datetime64):
        return math.nan
    alone = getattr(record, "shape", None) == ()  # one number of an array library
    if not (alone or isinstance(record, Real | Decimal)):
        return math.nan
    value: Any = record
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def floats(array: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers as new floats; long doubles may become infinite, unsaid."""
    with np.errstate(over="ignore"):  # a warning would tell of one of them
        return array.astype(np.float64)


def clamp(array: NDArray[Any], lower: float, upper: float) -> NDArray[np.float64]:
    """Return floats inside [lower, upper], NaN as `lower`."""
    found = floats(array)
    if array.dtype.kind == "f":
        np.nan_to_num(found, copy=False, nan=lower, posinf=upper, neginf=lower)
    return np.clip(found, lower, upper, out=found)


def fixed(
    array: NDArray[Any], lower: float, upper: float, bits: int
) -> NDArray[np.int64]:
    """Return clamped values as whole multiples of 2^-bits, each rounded by itself."""
    return np.rint(np.ldexp(clamp(array, lower, upper), bits)).astype(np.int64)


def total(numbers: NDArray[np.int64]) -> int:
    """Return the exact sum of integers below 2^42 in size: no order, no overflow."""
    return builtins.sum(
        int(numbers[start : start + _CHUNK].sum())
        for start in range(0, numbers.size, _CHUNK)
    )


def total_squares(numbers: NDArray[np.int64]) -> int:
    """Return the exact sum of squares of integers below 2^40 in size.

    Halves of 20 bits keep every product below 2^40 and every partial sum below 2^63.
    """
    high, low = numbers >> 20, numbers & ((1 << 20) - 1)
    return (total(high * high) << 40) + (total(high * low) << 21) + total(low * low)


def digits(lower: float, upper: float) -> int:
    """Return how many binary digits after the point keep values below 2^40."""
    largest = max(abs(lower), abs(upper))
    if largest == 0:
        return 0
    return 39 - math.frexp(largest)[1]


def point(value: float, bits: int) -> Fraction:
    """Return one bound rounded as the data are."""
    return Fraction(int(np.rint(np.ldexp(value, bits)))) / Fraction(2) ** bits
