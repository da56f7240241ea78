"""Numbers as they were given: none is rounded on its way into an array."""

import math
import numbers
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument

_WHOLE = 2.0**53  # up to here a float holds every whole number


def given(name: str, value: Any) -> NDArray[Any]:
    """Return numbers as an array: of objects where NumPy would round some of them.

    A list of whole numbers and floats becomes floats, and so does one of whole numbers
    that no common integer type holds. From 2^53 on, numbers one apart would then part
    by two and more, and no sensitivity would hold. Types of more than 64 bits, which a
    later step would round, are refused.

    Example:
        >>> given("value", [2**60 + 1, 0.5]).tolist() == [2**60 + 1, 0.5]
        True
        >>> given("value", [1, 0.5]).dtype
        dtype('float64')
    """
    typed = hasattr(value, "dtype")
    try:
        array = np.asarray(value)
    except Exception:  # what is in it may raise anything
        raise _strange(name) from None
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
    plain = _plain(np.asarray(value, dtype=object))
    if all(isinstance(each, float) for each in plain.flat):
        return plain.astype(np.float64)
    if not all(isinstance(each, int | Fraction | float) for each in plain.flat):
        raise _strange(name)
    return plain


def _strange(name: str) -> InvalidArgument:
    return InvalidArgument(f"{name} must hold whole numbers or floats.")


def _exact(number: Any) -> Any:
    """Return Python's number for NumPy's, and the fraction that a long double is."""
    if isinstance(number, np.longdouble) and np.isfinite(number):
        return Fraction(*map(int, number.as_integer_ratio()))
    return checks.plain(number.item() if isinstance(number, np.bool_) else number)


def _plain(objects: NDArray[Any]) -> NDArray[Any]:
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
