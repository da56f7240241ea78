"""What a function was given: its kind is checked at the door, before any arithmetic."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidArgument
from hush.estimate import Estimate


def kind(value: Any) -> str:
    """Return what somebody else's value is, and never the value itself.

    Example:
        >>> kind(3), kind([1, 2])
        ('an int', 'a list')
    """
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def numbers(name: str, value: Any) -> NDArray[np.float64]:
    """Return an array of numbers as floats; refuse texts, and what is no array.

    Example:
        >>> numbers("counts", [3, 4]).tolist()
        [3.0, 4.0]
        >>> numbers("counts", "34")
        Traceback (most recent call last):
        ...
        hush.errors.InvalidArgument: counts must be numbers; got a str.
    """
    try:
        plain = np.asarray(value).dtype.kind in "iufO"
        found = np.asarray(value, dtype=np.float64) if plain else None
    except (TypeError, ValueError):
        found = None
    if found is None:
        raise InvalidArgument(f"{name} must be numbers; got {kind(value)}.")
    return found


def listed(name: str, values: Any) -> list[Any]:
    """Return what can be gone through, as a list."""
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
        raise InvalidArgument(f"{name} must be a list; got {kind(values)}.")
    return list(values)


def function(name: str, value: Any) -> Callable[..., Any]:
    """Return a function, or refuse what is none."""
    if not callable(value):
        raise InvalidArgument(f"{name} must be a function; got {kind(value)}.")
    return value  # type: ignore[no-any-return]


def estimate(name: str, value: Any) -> Estimate:
    """Return an estimate of one number: a bare number has no error to reckon with."""
    if not isinstance(value, Estimate) or np.ndim(value.value):
        what = "one of many numbers" if isinstance(value, Estimate) else kind(value)
        raise InvalidArgument(
            f"{name} must be an estimate of one number, as proportion_interval(...) or "
            f"mean_interval(...) return it; got {what}."
        )
    return value
