"""Directed rounding: every float leaves this package on the side of less privacy."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hush import checks
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


def total_up(values: list[Fraction]) -> float:
    """Return the smallest float that is not below the exact sum."""
    total = sum(values, Fraction())
    try:
        found = float(total)
    except OverflowError:  # beyond the largest float
        return math.inf
    return found if Fraction(found) >= total else math.nextafter(found, math.inf)


def scalar(value: Any) -> Any:
    """Return a float for a zero-dimensional array, the array itself otherwise."""
    value = np.asarray(value)
    return value.item() if value.ndim == 0 else value


def numbers(
    name: str, value: ArrayLike, *, at_least: float = 0.0, at_most: float = math.inf
) -> Floats:
    """Return `value` as floats inside [at_least, at_most], or say what is wrong."""
    try:
        # NumPy would read numbers out of texts, 0 and 1 out of truth values, and what
        # lies below the mask out of masked arrays.
        plain = np.asarray(value).dtype.kind in "fiuO" and not np.ma.is_masked(value)
        with np.errstate(over="ignore"):  # a long double may become infinite
            array = np.asarray(value, dtype=np.float64) if plain else None
    except Exception:  # what is in it may raise anything
        array = None
    if array is None:
        raise InvalidArgument(
            f"{name} must be numbers; got {checks.value_text(value)}."
        )
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
    secant runs on logarithms, with bisection wherever it stalls.
    """
    target = math.log(level) if level > 0 else -math.inf

    def height(x: float) -> float:
        value = function(x)
        if math.isinf(value):
            return 800.0
        return (math.log(value) if value > 0 else -800.0) - max(target, -790.0)

    # The secant goes through the two points nearest to the level, the nearer one last.
    seen = sorted(((height(x), x) for x in (low, high)), key=lambda p: -abs(p[0]))
    hair, stalled = 0.4 * relative, 0
    for _ in range(200):
        if high - low <= relative * high:
            break
        (last_y, last_x), (y, x) = seen
        chord = stalled < 3 and y != last_y and math.isfinite(y - last_y)
        near = x - y * (x - last_x) / (y - last_y) if chord else math.nan
        if chord and low <= near <= high <= 16 * low:
            # At the root step a hair beyond it, then farther: both ends have to meet.
            middle = min(max(near, low + hair * high), high - hair * high)
        else:
            wide = low > 0 and high > 4 * low
            middle = math.sqrt(low) * math.sqrt(high) if wide else 0.5 * (low + high)
            near, stalled = middle, min(stalled, 1)
        if not low < middle < high:
            break
        value = height(middle)
        crossed = (value > 0) == (middle < near)
        hair = 0.4 * relative if middle == near or crossed else 8 * hair
        low, high = (middle, high) if value > 0 else (low, middle)
        stalled = stalled + 1 if abs(value) > 0.5 * abs(y) else 0
        if abs(value) <= abs(last_y):
            seen = sorted([(value, middle), seen[1]], key=lambda p: -abs(p[0]))
    return low, high


def at_least(number: Fraction) -> float:
    """Return the smallest float that is not below `number`."""
    try:
        found = float(number)
    except OverflowError:  # there is none, and what asks for it refuses infinity
        return math.inf
    return found if Fraction(found) >= number else math.nextafter(found, math.inf)


def at_most(number: Fraction) -> float:
    """Return the largest float that is not above `number`."""
    found = float(number)
    return found if Fraction(found) <= number else math.nextafter(found, -math.inf)
