"""What is expected of a linear model before its data are read: public.

Columns and response lie in [-1, 1]. Where noise rules, answers are drawn to what is
expected, and ε is spent on what can be learnt; where data rule, nothing is changed. The
numbers are guesses of usual data, and privacy does not depend on them.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.learn.apart import Apart
from hush.learn.moments import Moments
from hush.learn.perturbation import KNormNoise, Perturbation

Floats = NDArray[np.float64]
COLUMN = 0.2  # the mean square of a column
MEAN = 0.06  # the square of the mean of a column, or of the response
PRODUCT = 0.006  # the square of the mean of the product of two columns
SQUARE = 0.01  # the variance, among columns, of their mean squares
SIGNAL = 0.06  # the variance of the response that columns explain
RESIDUAL = 0.06  # the variance that they leave
SPLITS = (0.85, 0.9, 0.95)  # shares of ε for the noise
SHARES = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75)  # the constant's own shares of those


@final
@dataclass(frozen=True)
class Prior:
    """Expected curvature and coefficients of a log-cosh fit of `size` rows.

    For a coefficient t the release is (bend·t + noise)/(bend + penalty), to first
    order. `factors` are the best multiples of it; for slopes at most one, as nobody
    knows how columns are spread and correlated.

    Example:
        >>> few, many = Prior(300, 10, width=0.25), Prior(10**6, 10, width=0.25)
        >>> few.factors(400.0, KNormNoise(6.0, math.inf)).round(2)[[0, -1]]
        array([0.24, 1.63])
        >>> many.factors(400.0, KNormNoise(6.0, math.inf)).round(2)[[0, -1]]
        array([1., 1.])
    """

    size: int
    columns: int
    width: float

    @property
    def _each(self) -> tuple[tuple[float, float, float], ...]:
        """For slopes and constant: bend, variance, and the mean square of its input."""
        bend = self.size / math.sqrt(1 + 2 * RESIDUAL / self.width**2)
        slope = SIGNAL / (self.columns * COLUMN)
        return (bend * COLUMN, slope, COLUMN), (bend, MEAN, 1.0)

    def _pair(self, penalty: float, noise: Perturbation) -> tuple[float, float]:
        spread = noise.spread(self.columns + 1)
        slope, constant = (
            bend * (bend + penalty) * var / (bend * bend * var + std * std)
            for (bend, var, _), std in zip(self._each, spread[[0, -1]], strict=True)
        )
        return min(slope, 1.0), constant

    def factors(self, penalty: float, noise: Perturbation) -> Floats:
        """Return a multiple for each slope and, last, one for the constant."""
        slope, constant = self._pair(penalty, noise)
        return np.array([*[slope] * self.columns, constant])

    def error(self, penalty: float, noise: Perturbation) -> float:
        """Return the expected squared error of predictions, with the best multiples."""
        spread = noise.spread(self.columns + 1)[[0, -1]].tolist()
        counts, total = (self.columns, 1), 0.0
        for count, std, factor, (bend, var, square) in zip(
            counts, spread, self._pair(penalty, noise), self._each, strict=True
        ):
            kept = factor / (bend + penalty)
            total += count * square * ((kept * bend - 1) ** 2 * var + (kept * std) ** 2)
        return total


def spend(
    prior: Prior,
    epsilon: float,
    *,
    length: float,
    penalty: float,
    splits: Sequence[float],
) -> tuple[float, float]:
    """Return (split, share) of the least expected error: public.

    Example:
        >>> few, many = Prior(300, 10, width=0.25), Prior(10**5, 10, width=0.25)
        >>> spend(few, 0.1, length=2.5, penalty=0.0, splits=SPLITS)
        (0.95, 0.75)
        >>> spend(many, 0.1, length=3.3, penalty=0.0, splits=SPLITS)
        (0.85, 0.0)
    """
    checks.real("epsilon", epsilon, above=0, at_most=1000)
    checks.real("penalty", penalty, at_least=0)
    for each in splits:
        checks.real("split", each, above=0, below=1)

    def error(choice: tuple[float, float]) -> float:
        split, share = choice
        least = length**2 / math.expm1(min((1 - split) * epsilon, 7))
        most = max(penalty, least)
        scale = 2 * prior.width / (epsilon - math.log1p(length**2 / most))
        slopes = KNormNoise(scale / (1 - share), math.inf)
        return prior.error(most, Apart(slopes, scale / share) if share else slopes)

    return min(itertools.product(splits, SHARES), key=error)


def drawn_moments(mechanism: Moments, gram: Floats) -> tuple[Floats, float]:
    """Return moments drawn to those expected, and the noise that products keep.

    A sum with prior variance v and noise variance s² keeps v/(v + s²) of what it says:
    the best linear guess. The expected loss of coefficients is linear in the moments,
    so that the best coefficients are those of the guessed ones.
    """
    n, d, std = mechanism.size, len(gram) - 2, mechanism.std
    columns = slice(0, d)
    expected, vary = np.zeros_like(gram), np.full_like(gram, PRODUCT)
    vary[d, :] = vary[:, d] = MEAN
    # A column and the response: what the slope explains, and what both means make.
    vary[columns, -1] = vary[-1, columns] = COLUMN * SIGNAL / d + MEAN**2
    noise = np.full_like(gram, std)
    diagonal = np.arange(d)
    expected[diagonal, diagonal], vary[diagonal, diagonal] = COLUMN, SQUARE
    noise[diagonal, diagonal] /= mechanism.squares
    keep = n * n * vary / (n * n * vary + noise**2)
    keep[d, d] = keep[-1, -1] = 1.0  # n is known; Σ y² is not used
    left = math.sqrt(n * n * PRODUCT / (n * n * PRODUCT + std**2)) * std
    return n * expected + keep * (gram - n * expected), left
