"""Directed rounding: every float leaves this package on the side of less privacy."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hush.errors import InvalidArgument

Floats = NDArray[np.float64]

ULP = 2.0**-52


def up(value: ArrayLike, ulps: float = 4) -> Any:
    """Return `value`, non-negative, raised by a relative `ulps` units and one float.

    Example:
        >>> 0.1 < up(0.1) < 0.1000000000000002
        True
    """
    # Zero stays zero: what is impossible is not made possible by rounding.
    value = np.asarray(value, dtype=np.float64)
    raised = np.nextafter(value * (1 + ulps * ULP), np.inf)
    return scalar(np.where(value == 0, 0.0, raised))


def down(value: ArrayLike, ulps: float = 4) -> Any:
    """Return `value`, non-negative, lowered by a relative `ulps` units."""
    value = np.asarray(value, dtype=np.float64)
    lowered = np.nextafter(value * (1 - ulps * ULP), -np.inf)
    return scalar(np.where(np.isinf(value), value, np.maximum(lowered, 0.0)))


def scalar(value: Any) -> Any:
    """Return a float for a zero-dimensional array, the array itself otherwise."""
    value = np.asarray(value)
    return value.item() if value.ndim == 0 else value


def numbers(
    name: str, value: ArrayLike, *, at_least: float = 0.0, at_most: float = math.inf
) -> Floats:
    """Return `value` as floats inside [at_least, at_most], or say what is wrong."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must be numbers; got {value!r}.") from None
    bad = np.isnan(array) | (array < at_least) | (array > at_most)
    if array.dtype != np.float64 or np.any(bad):
        shown = array[bad].flat[0] if array.ndim else array.item()
        limit = f"at least {at_least:g}" + (
            f" and at most {at_most:g}" if math.isfinite(at_most) else ""
        )
        raise InvalidArgument(f"{name} must be {limit}; got {float(shown)!r}.")
    return array


def falling(
    function: Callable[[float], float],
    level: float,
    low: float,
    high: float,
    *,
    relative: float = 4 * ULP,
) -> tuple[float, float]:
    """Return neighbors low < high with function(low) > level >= function(high).

    `function` falls and is positive; the bracket holds at the ends that are given. The
    secant runs on logarithms, with bisection wherever it stalls (the Illinois rule).
    """
    target = math.log(level) if level > 0 else -math.inf

    def height(x: float) -> float:
        value = function(x)
        if math.isinf(value):
            return 800.0
        return (math.log(value) if value > 0 else -800.0) - max(target, -790.0)

    above, below, stalled = height(low), height(high), 0
    for turn in range(200):
        if high - low <= relative * high:
            break
        middle = 0.5 * (low + high)
        if low > 0 and high > 4 * low:
            middle = math.sqrt(low) * math.sqrt(high)
        elif turn % 4 != 3 and math.isfinite(above - below) and above > below:
            guess = high + (high - low) * below / (above - below)
            # A hair beyond the root shrinks the bracket from both sides in turn.
            guess += 1e-13 * high * (1 if stalled < 0 else -1 if stalled > 0 else 0)
            middle = guess if low < guess < high else middle
        if not low < middle < high:
            break
        value = height(middle)
        if value > 0:
            low, above = middle, value
            below = below / 2 if stalled < 0 else below
            stalled = -1
        else:
            high, below = middle, value
            above = above / 2 if stalled > 0 else above
            stalled = 1
    return low, high
