"""Argument checks: each returns the clean value or names what is wrong with it."""

import math
import numbers
from fractions import Fraction
from typing import Any

from hush.errors import InvalidArgument


def _single(value: object) -> bool:
    return isinstance(value, str) or not hasattr(value, "__len__")


def shown(value: object) -> str:
    """Return a value as errors show it: many of them may be the data, by mistake.

    Example:
        >>> shown(0.5), shown((0, 80)), shown([1, 2, 3]), shown(([1, 2, 3], [4]))
        ('0.5', '(0, 80)', 'a list', 'a tuple')
    """
    pair = isinstance(value, (tuple, list)) and len(value) <= 2
    if _single(value) or (pair and all(map(_single, value))):  # type: ignore[call-overload]
        return repr(value)
    return f"a {type(value).__name__}"


def _refuse(name: str, value: object, want: str) -> InvalidArgument:
    return InvalidArgument(f"{name} must be {want}; got {shown(value)}.")


_PLAIN = 1 << 64  # a numerator that no float overflows at


def _range(
    above: float | None,
    at_least: float | None,
    below: float | None,
    at_most: float | None,
) -> str:
    words = [
        f"above {above:g}" if above is not None else "",
        f"at least {at_least:g}" if at_least is not None else "",
        f"below {below:g}" if below is not None else "",
        f"at most {at_most:g}" if at_most is not None else "",
    ]
    said = " and ".join(word for word in words if word)
    return f" {said}" if said else ""


def real(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    infinite: bool = False,
) -> float:
    """Return `value` as a float inside the stated range; refuse NaN.

    Infinity is refused unless `infinite` is set and the range admits it.
    """
    is_real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    number = float(value) if is_real else math.nan
    inside = (
        not math.isnan(number)
        and (infinite or math.isfinite(number))
        and (above is None or number > above)
        and (at_least is None or number >= at_least)
        and (below is None or number < below)
        and (at_most is None or number <= at_most)
    )
    if not inside:
        kind = f"a{'' if infinite else ' finite'} number"
        want = kind + _range(above, at_least, below, at_most)
        raise _refuse(name, value, want)
    return number


def rational(name: str, value: Any, *, above: float | None = 0) -> Fraction:
    """Return `value` as the exact fraction it is: floats are binary rationals."""
    if type(value) is Fraction and above == 0 and 0 < value.numerator < _PLAIN:
        return value  # what is checked once is asked again at every draw
    real(name, value, above=above)
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(float(value))


def probability(name: str, value: Any) -> Fraction:
    """Return `value` as an exact fraction in [0, 1]."""
    real(name, value, at_least=0, at_most=1)
    return rational(name, value, above=None)


def whole(
    name: str, value: Any, *, at_least: int | None = None, at_most: int | None = None
) -> int:
    """Return `value` as an int; floats are refused even when they are whole."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise _refuse(
            name, value, "a whole number" + _range(None, at_least, None, at_most)
        )
    number = int(value)
    if (at_least is not None and number < at_least) or (
        at_most is not None and number > at_most
    ):
        raise _refuse(
            name, value, "a whole number" + _range(None, at_least, None, at_most)
        )
    return number


def interval(name: str, value: Any) -> tuple[float, float]:
    """Return `value` as finite public bounds (lower, upper) with lower <= upper."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise _refuse(name, value, "a pair (lower, upper)")
    lower = real(f"{name}[0]", value[0])
    upper = real(f"{name}[1]", value[1])
    if lower > upper:
        raise _refuse(name, value, "a pair with lower <= upper")
    return lower, upper


def width(name: str, value: Any) -> tuple[float, float]:
    """Return bounds whose distance is a float as well, so that shares of it exist."""
    lower, upper = interval(name, value)
    if not math.isfinite(upper - lower):
        raise _refuse(name, value, "less than 1.7e308 apart (use larger units)")
    return lower, upper


def text(name: str, value: object) -> str:
    """Return a text, or refuse what may be data by its type alone.

    Example:
        >>> text("expression", "fare")
        'fare'
    """
    if not isinstance(value, str):
        raise InvalidArgument(
            f"{name} must be the name of a column or an expression, as in 'fare' or "
            f"'fare > 0'; got a {type(value).__name__}. Data of your own is opened "
            "first: hush.open({'x': values}, budget=hush.Budget(epsilon=1))."
        )
    return value


def flag(name: str, value: Any) -> bool:
    """Return `value` if it is True or False; a number in its place is a mistake."""
    if isinstance(value, bool):
        return value
    raise _refuse(name, value, "True or False")
