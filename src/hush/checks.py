"""Argument checks: each returns the clean value or names what is wrong with it."""

import inspect
import math
import numbers
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidArgument


def _is_single(value: object) -> bool:
    return isinstance(value, str) or not hasattr(value, "__len__")


def value_text(value: object) -> str:
    """Return a value as errors show it: many of them may be the data, by mistake.

    Example:
        >>> value_text(0.5), value_text((0, 80))
        ('0.5', '(0, 80)')
        >>> value_text([1, 2, 3]), value_text(([1, 2, 3], [4]))
        ('a list', 'a tuple')
    """
    pair = isinstance(value, (tuple, list)) and len(value) <= 2
    if _is_single(value) or (pair and all(map(_is_single, value))):  # type: ignore[call-overload]
        return repr(value)
    return f"a {type(value).__name__}"


def _refuse(name: str, value: object, want: str) -> InvalidArgument:
    return InvalidArgument(f"{name} must be {want}; got {value_text(value)}.")


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
    number = _float(value) if _is_real(value) else math.nan
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
    """Return `value` as the exact fraction it is: floats are binary rationals.

    Its parts are Python's own numbers: those of NumPy wrap around at 64 bits.
    """
    if type(value) is Fraction and above == 0 and _is_pure_python(value):
        top = value.numerator
        if 0 < top < _PLAIN:
            return value  # what is checked once is asked again at every draw
    number = real(name, value, above=above)
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(number)


def _is_pure_python(value: Fraction) -> bool:
    """Whether numerator and denominator are Python's integers, not NumPy's."""
    return type(value.numerator) is int and type(value.denominator) is int


def _is_real(value: object) -> bool:
    """Whether a value is a number: no truth value, and no length of time.

    NumPy's timedelta64 calls itself an integer.
    """
    if isinstance(value, bool):
        return False
    timed = getattr(getattr(value, "dtype", None), "kind", "") == "m"
    return isinstance(value, numbers.Real) and not timed


def _float(value: Any) -> float:
    """Return a real number as a float; NaN where it fails as one, however it fails."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception:  # a class from outside of hush may raise anything
        return math.nan


def plain_number(value: Any) -> Any:
    """Return a number of another library as Python's own, others as they are.

    A law, a curve or a price is computed exactly or with sixty digits, and numbers of
    NumPy wrap around, overflow or round in the middle of it.

    Example:
        >>> import numpy as np
        >>> plain_number(np.int64(3)), plain_number(np.float32(0.5))
        (3, 0.5)
        >>> plain_number((np.int8(1), "a"))
        (1, 'a')
        >>> type(plain_number(Fraction(1, np.int64(3))).denominator)
        <class 'int'>
    """
    kind = type(value)
    if kind in _OURS or (kind is Fraction and _is_pure_python(value)):
        return value
    if kind is tuple:
        return tuple(plain_number(each) for each in value)
    if isinstance(value, bool) or not _is_real(value):
        return value
    try:
        if isinstance(value, numbers.Integral):
            return int(value)
        if isinstance(value, numbers.Rational):
            return Fraction(int(value.numerator), int(value.denominator))
        return float(value)
    except Exception:  # whatever it is: the check of its field refuses it
        return value


_OURS = (int, float, bool, str, type(None))


def plain_fields(owner: Any) -> None:
    """Make every number in the fields of a frozen dataclass Python's own.

    Example:
        >>> import numpy as np
        >>> from hush.mechanisms import Laplace
        >>> Laplace(scale=np.float32(0.5))
        Laplace(scale=0.5)
    """
    for name in owner.__dataclass_fields__:
        given = getattr(owner, name)
        if (clean := plain_number(given)) is not given:
            object.__setattr__(owner, name, clean)


def probability(name: str, value: Any) -> Fraction:
    """Return `value` as an exact fraction in [0, 1]."""
    real(name, value, at_least=0, at_most=1)
    return rational(name, value, above=None)


def whole(
    name: str, value: Any, *, at_least: int | None = None, at_most: int | None = None
) -> int:
    """Return `value` as an int; floats are refused even when they are whole."""
    number = plain_number(value)
    if (
        type(number) is not int
        or (at_least is not None and number < at_least)
        or (at_most is not None and number > at_most)
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


# -- Numbers as they were given: none is rounded on its way into an array --------------

_WHOLE = 2.0**53  # up to here a float holds every whole number


def number_array(name: str, value: Any) -> NDArray[Any]:
    """Return numbers as an array: of objects where NumPy would round some of them.

    A list of whole numbers and floats becomes floats, and so does one of whole numbers
    that no common integer type holds. From 2^53 on, numbers one apart would then part
    by two and more, and no sensitivity would hold. Types of more than 64 bits, which a
    later step would round, are refused.

    Example:
        >>> number_array("value", [2**60 + 1, 0.5]).tolist() == [2**60 + 1, 0.5]
        True
        >>> number_array("value", [1, 0.5]).dtype
        dtype('float64')
    """
    typed = hasattr(value, "dtype")
    try:
        array = np.asarray(value)
    except Exception:  # what is in it may raise anything
        raise _not_numbers(name) from None
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    if typed and array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise InvalidArgument(
            f"{name} must hold floats of at most 64 bits; got dtype {array.dtype}."
        )
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        # What has a type already holds what it holds.
        if typed or not np.any(np.abs(array) >= _WHOLE):
            return array
    elif array.dtype.kind not in "fO":
        return array
    plain = _python_numbers(np.asarray(value, dtype=object))
    if all(isinstance(each, float) for each in plain.flat):
        return plain.astype(np.float64)
    if not all(isinstance(each, int | Fraction | float) for each in plain.flat):
        raise _not_numbers(name)
    return plain


def _not_numbers(name: str) -> InvalidArgument:
    return InvalidArgument(f"{name} must hold whole numbers or floats.")


def _exact(number: Any) -> Any:
    """Return Python's number for NumPy's, and the fraction that a long double is."""
    if isinstance(number, np.longdouble) and np.isfinite(number):
        return Fraction(*map(int, number.as_integer_ratio()))
    return plain_number(number.item() if isinstance(number, np.bool_) else number)


def _python_numbers(objects: NDArray[Any]) -> NDArray[Any]:
    """Return Python's numbers for NumPy's."""
    flat = [_exact(each) for each in objects.flat]
    plain = np.empty(len(flat), dtype=object)
    plain[:] = flat
    return plain.reshape(objects.shape)


def finite(array: NDArray[Any]) -> bool:
    """Return whether no number of `given` is NaN or infinite."""
    if array.dtype.kind == "O":
        return all(
            isinstance(x, numbers.Rational) or math.isfinite(x) for x in array.flat
        )
    return array.dtype.kind != "f" or bool(np.all(np.isfinite(array)))


def fraction(number: Any) -> Fraction:
    """Return one finite number of `given` as the fraction it is."""
    return Fraction(_exact(number))


def distance(sensitivity: Any) -> Fraction:
    """Return a sensitivity as the exact fraction it is; zero is allowed."""
    real("sensitivity", sensitivity, at_least=0)
    return rational("sensitivity", sensitivity, above=None)


class Spelled:
    """A public value whose arguments, misspelled, say how they are spelled here.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Noise(Spelled):
        ...     std: float
        ...
        >>> Noise(sigma=1)
        Traceback (most recent call last):
        ...
        TypeError: Noise has no argument 'sigma'. Write std.
    """

    _near_arguments: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # a type checker shall go on to see the fields

        def __new__(cls, *_: Any, **options: Any) -> Self:
            """Answer names of other libraries with those of ours."""
            fields = getattr(cls, "__dataclass_fields__", {})
            if not fields.keys() >= options.keys():
                known = inspect.signature(cls.__init__).parameters
                open_ended = any(p.kind is p.VAR_KEYWORD for p in known.values())
                for name in options:
                    if name not in known and not open_ended:
                        from hush.suggestions import unknown

                        near = cls._near_arguments
                        raise unknown(cls.__name__, name, known, near)
            return super().__new__(cls)
