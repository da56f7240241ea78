"""Binomial weights around their mean, and the chance that monotone scores go up."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Score = Callable[[int, int], Floats]  # (first, last) -> scores of first..last

_TAIL = 40.0  # e^-40 of the weight may lie outside the window


def window(n: int, theta: float) -> tuple[int, int]:
    """Return first and last count that matter, by Bernstein's inequality."""
    spread = n * theta * (1 - theta)
    reach = _TAIL / 3 + math.sqrt(_TAIL**2 / 9 + 2 * _TAIL * spread)
    first = max(0, math.floor(n * theta - reach))
    return first, min(n, math.ceil(n * theta + reach))


def weights(n: int, theta: float) -> tuple[int, Floats]:
    """Return the first count of the window, and the probabilities from there on.

    Ratios of neighbors are multiplied up, so that no large factorials cancel.

    Example:
        >>> first, chance = weights(2, 0.5)
        >>> first, chance.tolist()
        (0, [0.25, 0.5, 0.25])
    """
    if theta <= 0 or theta >= 1:
        return (0 if theta <= 0 else n), np.ones(1)
    first, last = window(n, theta)
    x = np.arange(first, last, dtype=np.float64)
    steps = np.log((n - x) / (x + 1)) + (math.log(theta) - math.log1p(-theta))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    chance = np.exp(logs - logs.max())
    return first, chance / chance.sum()


def expected(n: int, theta: float, score: Score) -> tuple[float, float]:
    """Return E score(X) and its slope in the log odds of theta."""
    first, chance = weights(n, theta)
    x = np.arange(first, first + chance.size)
    weighed = chance * score(first, first + chance.size - 1)
    return float(weighed.sum()), float(weighed @ (x - n * theta))


def solve(n: int, score: Score, wanted: float) -> float:
    """Return the theta at which E score(X) is `wanted`, for a rising score in [0, 1].

    Newton's method on the probit of the expectation, which is almost straight in the
    log odds, inside a bracket; 0 or 1 where no theta reaches `wanted`.

    Example:
        >>> solve(10, lambda a, b: np.arange(a, b + 1) / 10, wanted=0.3)
        0.3...
    """
    if score(0, 0)[0] >= wanted:
        return 0.0
    if score(n, n)[0] <= wanted:
        return 1.0
    goal = float(special.ndtri(wanted))
    low, high, odds = -45.0, 45.0, _start(n, score, wanted)
    for _ in range(200):
        theta = float(special.expit(odds))
        value, slope = expected(n, theta, score)
        if value < wanted:
            low = odds
        else:
            high = odds
        probit = float(special.ndtri(value)) if 0 < value < 1 else math.inf
        move = math.nan
        if math.isfinite(probit) and slope > 0:
            density = math.exp(-probit * probit / 2) / math.sqrt(2 * math.pi)
            move = odds - (probit - goal) * density / slope
        if abs(move - odds) < 1e-8:  # before the bracket, whose end this may be
            return float(special.expit(move))
        fresh = move if low < move < high else (low + high) / 2
        if abs(fresh - odds) < 1e-8 or high - low < 1e-12:
            return float(special.expit(fresh))
        odds = fresh
    return float(special.expit(odds))


def _start(n: int, score: Score, wanted: float) -> float:
    """Return the log odds of the count at which the score itself passes `wanted`."""
    first, last = 0, n
    while last - first > max(1, first // 16):
        wide = last > 4 * (first + 1)
        middle = math.isqrt((first + 1) * last) if wide else (first + last) // 2
        if score(middle, middle)[0] < wanted:
            first = middle
        else:
            last = middle
    return math.log((last + 0.5) / (n - last + 0.5))
