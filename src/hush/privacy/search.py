"""Turning a bracket of delta into a bracket of epsilon, and scalars into arrays."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from hush.privacy.loss_law import Bracket


def each(answer: Callable[[float], tuple[float, float]], at: ArrayLike) -> Bracket:
    """Apply a scalar bracket to every entry."""
    points = np.asarray(at, dtype=np.float64)
    pairs = np.array([answer(float(x)) for x in points.ravel()]).reshape(-1, 2)
    return pairs[:, 0].reshape(points.shape), pairs[:, 1].reshape(points.shape)


def solve(
    excess: Callable[[float], float], guess: float, slope: float, *, above: bool
) -> float:
    """Return a point where a falling `excess` was seen to be <= 0 (or >= 0).

    `slope` is a first guess of how fast it falls. Guarantee: the sign was checked at
    the returned point, which is not negative; inf (or 0) where none was found.
    """
    low, high = 0.0, math.inf  # excess > 0 at low, <= 0 at high, as far as is known
    best = math.inf if above else 0.0
    x, last_x, last_y = max(guess, 0.0), math.nan, math.nan
    for turn in range(80):
        y = excess(x)
        if math.isnan(y):
            return best
        if (y <= 0) if above else (y >= 0):
            best = min(best, x) if above else max(best, x)
        if y > 0:
            low = max(low, x)
        else:
            high = min(high, x)
        settled = high - low <= 4e-16 * low or (x == 0.0 and y <= 0)
        if settled or (abs(y) < 1e-12 and best == x):
            return best
        if turn > 4 and abs(best - x) <= 1e-13 * x:
            return best
        if x != last_x and math.isfinite(last_y) and math.isfinite(y):
            seen = (last_y - y) / (x - last_x)
            slope = seen if seen > 1e-3 * slope else slope
        last_x, last_y = x, y
        # Newton, and once it has settled a nudge to the side that can be certified.
        nudge = 4e-16 * x * 2.0 ** max(turn - 5, 0) * (1 if above else -1)
        x = x + max(min(y, 50.0), -50.0) / slope + nudge
        if not low <= x <= high or (turn > 20 and turn % 3 == 0):
            x = (low + high) / 2 if math.isfinite(high) else 2 * low + 1 / slope
    return best
