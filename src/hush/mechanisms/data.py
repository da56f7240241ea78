"""Data in: NaN and infinities are mapped by one rule, then everything is clamped.

NaN counts as the lower bound, -inf and +inf as the bounds they lie beyond; a masked
record counts as NaN, and so does, in a list, which has no type of its own, whatever is
not a number. The rule looks at one record at a time, so a strange record moves an
answer no more than any other, and nothing is ever refused because of a value found in
the data. Arrays have a type; records of lists and other sequences are read one by one.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidArgument, Withheld

_CHUNK = 1 << 20


def column(data: Any) -> NDArray[Any]:
    """Return records as one vector of numbers; a non-numeric column is refused.

    Example:
        >>> column([1, 2.5, None, "three", 10**400])
        array([1. , 2.5, nan, nan, inf])
    """
    array = _typed(data)
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
    if _listed(data):
        return list(data)
    # What is masked is missing: None in its list, and not what lies below the mask.
    array = data if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
    if array.ndim != 1:
        raise InvalidArgument(
            f"data must be one column of records; got {array.ndim} dimensions."
        )
    found: list[Any] = array.tolist()
    return found


def _typed(data: Any) -> NDArray[Any]:
    """Return the array that a container is; records of a sequence as floats."""
    if not _listed(data):
        hides = isinstance(data, np.ma.MaskedArray)
        array = data if hides else np.asarray(data)
        if array.ndim != 1 or not (hides or array.dtype == object):
            return np.asarray(array)
        data = array.tolist()  # None where a record is masked
    # NumPy would give all records the type of the strangest, or fail for all with it.
    if set(map(type, data)) <= _QUICK:
        with suppress(OverflowError):  # a whole number that no float holds
            return np.array(data, dtype=np.float64)
    return np.array([_number(each) for each in data])


_QUICK = {bool, int, float, np.bool_, np.int64, np.float64}  # read alike, all at once


def _listed(data: Any) -> bool:
    """Whether data is a sequence without a type, as a list is."""
    untyped = not hasattr(data, "__array__") and not isinstance(data, str | bytes)
    return isinstance(data, list | tuple) or (untyped and isinstance(data, Sequence))


def _number(record: Any) -> float:
    """Return one record as a float: NaN for what is no number, or fails as one."""
    with Withheld():  # a strange record is no reason to stop: that would tell of it
        return _read(record)
    return math.nan


def _read(record: Any) -> float:
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
    return sum(
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
