"""Scores: one number per person inside a public range, added exactly."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

GRAIN = 30  # a score is a multiple of 2^-30 of the range: sums are exact integers


def grains(scores: Any, low: float, high: float) -> NDArray[np.int64]:
    """Return scores as whole grains of [low, high]; outside is moved in, NaN is low.

    Guarantee: each person's grains depend on that person's score alone and lie between
    0 and 2^30; no rounding depends on the order of the people.
    """
    values = np.asarray(scores, dtype=np.float64)
    inside = np.clip(np.where(np.isnan(values), low, values), low, high)
    share = (inside - low) / (high - low)
    return np.asarray(np.floor(share * 2.0**GRAIN + 0.5), dtype=np.int64)


def mean(total: int, people: int, low: float, high: float) -> Fraction:
    """Return the exact mean score behind a total of grains."""
    width = Fraction(high) - Fraction(low)
    return Fraction(low) + width * Fraction(total, people << GRAIN)
