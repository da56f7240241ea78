"""What is expected of a linear model before its data are read: public.

Columns and response lie in [-1, 1]. Where noise rules, answers are drawn to what is
expected, and ε is spent on what can be learnt; where data rule, little is changed. The
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
from hush.learn.mechanisms.objective_noise import Perturbation, cube_std
from hush.learn.mechanisms.second_moments import Moments

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
        >>> from hush.learn.mechanisms.objective_noise import KNormNoise
        >>> few, many = Prior(300, 10, width=0.25), Prior(10**6, 10, width=0.25)
        >>> few.factors(400.0, KNormNoise(6.0, math.inf)).round(2)[[0, -1]]
        array([0.24, 1.63])
        >>> many.factors(400.0, KNormNoise(6.0, math.inf)).round(2)[[0, -1]]
        array([1., 1.])

    Reference: docs/proofs/learn_objective.md.
    """

    size: int
    columns: int
    width: float

    @property
    def _curvatures(self) -> tuple[float, float]:
        """Expected second derivatives of the loss, for a slope and for the constant."""
        bend = self.size / math.sqrt(1 + 2 * RESIDUAL / self.width**2)
        return bend * COLUMN, bend

    def _pair(self, penalty: float, stds: tuple[float, float]) -> tuple[float, float]:
        slope, constant = (
            bend * (bend + penalty) * var / (bend * bend * var + std * std)
            for bend, var, std in zip(
                self._curvatures, (_slope(self.columns), MEAN), stds, strict=True
            )
        )
        return min(slope, 1.0), constant

    def factors(self, penalty: float, noise: Perturbation) -> Floats:
        """Return a multiple for each slope and, last, one for the constant."""
        spread = noise.stds(self.columns + 1)
        slope, constant = self._pair(penalty, (float(spread[0]), float(spread[-1])))
        return np.array([*[slope] * self.columns, constant])

    def error(self, penalty: float, stds: tuple[float, float]) -> float:
        """Return the expected squared error of predictions, with the best multiples.

        `stds` are those of the noise on a slope's gradient and on the constant's.
        """
        weights, squares = (SIGNAL, MEAN), (self.columns * COLUMN, 1.0)
        total = 0.0
        for factor, bend, std, weight, square in zip(
            self._pair(penalty, stds),
            self._curvatures,
            stds,
            weights,
            squares,
            strict=True,
        ):
            kept = factor / (bend + penalty)
            total += (kept * bend - 1) ** 2 * weight + (kept * std) ** 2 * square
        return total


def best_split(
    prior: Prior,
    epsilon: float,
    *,
    length: float,
    penalty: float,
    splits: Sequence[float],
) -> tuple[float, float]:
    """Return (split, share) of the least expected error, for rows up to `length`.

    Example:
        >>> few, many = Prior(300, 10, width=0.25), Prior(10**5, 10, width=0.25)
        >>> best_split(few, 0.1, length=2.5, penalty=0.0, splits=SPLITS)
        (0.95, 0.75)
        >>> best_split(many, 0.1, length=3.3, penalty=0.0, splits=SPLITS)
        (0.85, 0.0)
    """
    checks.real("epsilon", epsilon, above=0, at_most=1000)
    penalty = checks.real("penalty", penalty, at_least=0)
    for each in splits:
        checks.real("split", each, above=0, below=1)

    def error(choice: tuple[float, float]) -> float:
        split, share = choice
        least = length**2 / math.expm1(min((1 - split) * epsilon, 7))
        most = max(penalty, least)
        scale = 2 * prior.width / (epsilon - math.log1p(length**2 / most))
        stds = (cube_std(scale, prior.columns + 1),) * 2
        if share:
            slopes = cube_std(scale / (1 - share), prior.columns)
            stds = slopes, cube_std(scale / share, 1)
        return prior.error(most, stds)

    return min(itertools.product(splits, SHARES), key=error)


def best_guess(mechanism: Moments, gram: Floats) -> Floats:
    """Return the best linear guess of the coefficients from noisy moments.

    Each sum in the Gram matrix is drawn to what is expected: with prior variance v and
    noise variance s² it keeps v/(v + s²). With G that matrix, Σ the prior variances of
    the coefficients and T the variance of the noise, of what G does not know and of
    sampling, the guess from the sums c with the response is ΣG(GΣG + T)⁻¹c. T > 0, so
    that it always exists. A third, one and three times the expected signal are weighed
    by the density of c. Without noise it is least squares, but for a pull as 1/n.

    Reference: docs/proofs/learn_moments.md.
    """
    inner, doubt = _shrunken_gram(mechanism, gram)
    n, d, sums = mechanism.size, len(gram) - 2, gram[:-1, -1]
    sampled = n * RESIDUAL * np.append(np.full(d, COLUMN), 1.0)
    guesses, logs = [], []
    for times in (1 / 3, 1.0, 3.0):
        prior = np.append(np.full(d, times * _slope(d)), MEAN)
        unknown = mechanism.std**2 + doubt @ prior + sampled
        whole = (inner * prior) @ inner + np.diag(unknown)
        solved = np.linalg.solve(whole, sums)
        guesses.append(prior * (inner @ solved))
        logs.append(-(np.linalg.slogdet(whole)[1] + sums @ solved) / 2)
    weights = np.exp(np.array(logs) - max(logs))
    found: Floats = weights @ np.array(guesses) / weights.sum()
    return found


def _shrunken_gram(mechanism: Moments, gram: Floats) -> tuple[Floats, Floats]:
    """Return the Gram matrix drawn to what is expected, and variances left in it."""
    n, d = mechanism.size, len(gram) - 2
    column = np.arange(d)
    expected = np.zeros((d + 1, d + 1))
    vary = np.full_like(expected, PRODUCT)
    noise = np.full_like(expected, mechanism.std)
    vary[d, :] = vary[:, d] = MEAN
    expected[column, column], vary[column, column] = n * COLUMN, SQUARE
    noise[column, column] /= mechanism.squares
    noise[d, d] = 0.0  # n is known
    kept = n * n * vary / (n * n * vary + noise**2)
    return expected + kept * (gram[:-1, :-1] - expected), kept * noise**2


def _slope(columns: int) -> float:
    """Return the variance of a slope when `columns` share the signal."""
    return SIGNAL / (columns * COLUMN)
