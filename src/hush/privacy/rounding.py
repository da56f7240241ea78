"""Directed rounding: every float leaves this package on the side of less privacy.

So do the roots of falling functions: a root is a point where the sign was seen.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hush import checks
from hush.errors import InvalidArgument

Floats = NDArray[np.float64]
Bracket = tuple[Floats, Floats]  # what is not above, and what is not below

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
    raised = np.where(value == 0, 0.0, raised)
    return raised if raised.ndim else raised.item()


def down(value: ArrayLike, ulps: float = 4) -> Any:
    """Return `value`, non-negative, lowered by a relative `ulps` units."""
    value = np.asarray(value, dtype=np.float64)
    lowered = np.nextafter(value * (1 - ulps * ULP), -np.inf)
    lowered = np.where(np.isinf(value), value, np.maximum(lowered, 0.0))
    return lowered if lowered.ndim else lowered.item()


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


def total_up(values: list[Fraction]) -> float:
    """Return the smallest float that is not below the exact sum."""
    return at_least(sum(values, Fraction()))


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


# -- Roots of falling functions, on the side that was seen to be safe ------------------


def _log_ratio(value: float, log_level: float) -> float:
    """Return log(value) - log_level; 800 or so where a logarithm is infinite."""
    # Logs of floats lie within ±745: what has none is given a height beyond.
    if math.isinf(value):
        return 800.0
    return (math.log(value) if value > 0 else -800.0) - max(log_level, -790.0)


def crossing_ends(
    function: Callable[[float], float],
    level: float,
    low: float = 0.0,
    high: float = 0.0,
    *,
    relative: float = 4 * ULP,
) -> tuple[float, float]:
    """Return neighbors low < high with function(low) > level >= function(high).

    `function` falls and is not negative; the bracket holds at the ends that are given.
    Without them it is δ(ε): the ends are looked for, and are both zero, or infinite,
    where δ is at most, or above, the level everywhere. The secant runs on logarithms,
    with bisection wherever it stalls.
    """
    if not high:
        if level >= 1.0 or function(0.0) <= level:
            return 0.0, 0.0
        if function(math.inf) > level:
            return math.inf, math.inf
        high = 1.0
        while function(high) > level:
            low, high = high, 2 * high
            if high > 1e12:  # no guarantee: better to say that there is none
                return low, math.inf
        while low == 0.0 and high > 1e-300:
            low, high = (
                (high / 4, high) if function(high / 4) > level else (low, high / 4)
            )
    target = math.log(level) if level > 0 else -math.inf

    # The secant goes through the two points nearest to the level, the nearer one last.
    seen = [(_log_ratio(function(x), target), x) for x in (low, high)]
    seen = sorted(seen, key=lambda p: -abs(p[0]))
    hair, stalled = 0.4 * relative, 0
    for _ in range(200):  # halving alone would need some fifty for floats side by side
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
        value = _log_ratio(function(middle), target)
        crossed = (value > 0) == (middle < near)
        hair = 0.4 * relative if middle == near or crossed else 8 * hair
        low, high = (middle, high) if value > 0 else (low, middle)
        stalled = stalled + 1 if abs(value) > 0.5 * abs(y) else 0
        if abs(value) <= abs(last_y):
            seen = sorted([(value, middle), seen[1]], key=lambda p: -abs(p[0]))
    return low, high


def bracket_each(
    answer: Callable[[float], tuple[float, float]], at: ArrayLike
) -> Bracket:
    """Apply a scalar bracket to every entry."""
    points = np.asarray(at, dtype=np.float64)
    pairs = np.array([answer(float(x)) for x in points.ravel()]).reshape(-1, 2)
    return pairs[:, 0].reshape(points.shape), pairs[:, 1].reshape(points.shape)


# Of `certified_root`, whose excess is a difference of two log δ.
_ENOUGH = 1e-11  # so near to zero, on the sound side, a point is the answer
_HAIR = (
    5e-12  # how far beside zero a step aims, lest rounding take it to the wrong side
)
_NEAR = 1e-4  # below it a point lies next to the root
_PATIENCE = 8  # points next to the root before the hair grows
_LONGEST = 50.0  # a step is no longer: slopes change on the way
_NARROW = 4e-15  # of the root: some twenty floats, no middle is worth another call


def _hair_after(near: int) -> float:
    """Return how far beside zero to aim after so many points next to the root.

    Brackets have a width, which grows where digits run out: after a while aim further
    to the side, up to 3^14 hairs or 2e-5, and be content with less.
    """
    return _HAIR * 3.0 ** min(max(near - _PATIENCE, 0), 14)


def certified_root(
    excess: Callable[[float], float], guess: float, slope: float, *, above: bool
) -> float:
    """Return a point >= 0 where a falling `excess` was seen to be <= 0 (or >= 0).

    `slope` is a first guess of how fast it falls. Guarantee: the sign was checked at
    the returned point; inf (or 0) where none was found.
    """
    low, high = 0.0, math.inf  # excess is positive at low, not so at high
    slope = max(abs(slope), 1e-9)
    x, last_x, last_y, width = max(guess, 0.0), math.nan, math.nan, math.inf
    near = 0
    for turn in range(120):  # far more than are needed, even where many steps halve
        y = excess(x)
        if math.isnan(y):  # what cannot be told is not certified
            y = math.inf if above else -math.inf
        good = y <= 0 if above else y >= 0
        near += abs(y) < _NEAR
        hair = _hair_after(near)
        if good and (abs(y) < max(_ENOUGH, 3 * hair) or (above and x == 0.0)):
            return x
        if y > 0 or (not above and good):
            low = max(low, x)
        else:
            high = min(high, x)
        if math.isfinite(high) and high - low <= _NARROW * high:
            break
        # A chord replaces the slope where rounding does not make it: it is no flatter
        # than a thousandth of the old one, or long enough, and not out in the tail;
        # next to the root it must also be longer than the hairs.
        seen = (last_y - y) / (x - last_x) if x != last_x else math.nan
        clear = seen > 0 and abs(last_y - y) > 1e-3 and abs(y) < 30
        usable = math.isfinite(seen) and (seen > 1e-3 * slope or clear)
        usable = usable and (near <= _PATIENCE or abs(last_y - y) > 100 * hair)
        slope = seen if usable else slope
        last_x, last_y = x, y
        # Newton, aimed a hair to the side that can be certified.
        aim = hair if above else -hair
        x = x + (max(min(y, _LONGEST), -_LONGEST) + aim) / slope
        # Every fourth turn the ends must have come nearer by three quarters.
        stalled = turn % 4 == 3 and math.isfinite(width) and high - low > 0.25 * width
        width = high - low if turn % 4 == 3 else width
        if turn > 6 and math.isinf(high):
            x = max(x, 2 * low + 1 / slope)
        if not above and low == 0.0 and math.isfinite(high):
            # A step below one rounding is none, and must not end in halving.
            x = min(x, high * (1 - ULP * 4.0 ** min(turn + 1, 25)))
            if turn > 40:
                break
        # Far from its answer a lower bound may be zero: halving towards it misleads.
        if not low < x < high or (stalled and (above or low > 0)):
            x = (low + high) / 2 if math.isfinite(high) else 2 * low + 1 / slope
        if not math.isfinite(x) or x > 1e300:
            break
    return high if above else low
