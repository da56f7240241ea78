"""Turning a bracket of delta into a bracket of epsilon, and scalars into arrays."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from hush.privacy.pld.loss_distribution import ROUNDING, Bracket


def each(answer: Callable[[float], tuple[float, float]], at: ArrayLike) -> Bracket:
    """Apply a scalar bracket to every entry."""
    points = np.asarray(at, dtype=np.float64)
    pairs = np.array([answer(float(x)) for x in points.ravel()]).reshape(-1, 2)
    return pairs[:, 0].reshape(points.shape), pairs[:, 1].reshape(points.shape)


def solve(
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
    for turn in range(120):
        y = excess(x)
        if math.isnan(y):  # what cannot be told is not certified
            y = math.inf if above else -math.inf
        good = y <= 0 if above else y >= 0
        # Brackets have a width, which grows where digits run out: after a while next
        # to the answer aim further to the side, and be content with less.
        near += abs(y) < 1e-4
        hair = 5e-12 * 3.0 ** min(max(near - 8, 0), 14)
        if good and (abs(y) < max(1e-11, 3 * hair) or (above and x == 0.0)):
            return x
        if y > 0 or (not above and good):
            low = max(low, x)
        else:
            high = min(high, x)
        if math.isfinite(high) and high - low <= 4e-15 * high:
            break
        seen = (last_y - y) / (x - last_x) if x != last_x else math.nan
        clear = seen > 0 and abs(last_y - y) > 1e-3 and abs(y) < 30
        told = math.isfinite(seen) and (seen > 1e-3 * slope or clear)
        slope = seen if told and (near <= 8 or abs(last_y - y) > 100 * hair) else slope
        last_x, last_y = x, y
        # Newton, aimed a hair to the side that can be certified.
        x = x + (max(min(y, 50.0), -50.0) + (hair if above else -hair)) / slope
        stalled = turn % 4 == 3 and math.isfinite(width) and high - low > 0.25 * width
        width = high - low if turn % 4 == 3 else width
        if turn > 6 and math.isinf(high):
            x = max(x, 2 * low + 1 / slope)
        if not above and low == 0.0 and math.isfinite(high):
            # A step below one rounding is none, and must not end in halving.
            x = min(x, high * (1 - ROUNDING * 4.0 ** min(turn + 1, 25)))
            if turn > 40:
                break
        # Far from its answer a lower bound may be zero: halving towards it misleads.
        if not low < x < high or (stalled and (above or low > 0)):
            x = (low + high) / 2 if math.isfinite(high) else 2 * low + 1 / slope
        if not math.isfinite(x) or x > 1e300:
            break
    return high if above else low
