"""The error of an answer as a law: exact, for one number or the worst of many."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from hush import checks
from hush.errors import InvalidArgument
from hush.law import Law
from hush.serialization import tagged


def reach(law: Law, tail: float) -> int:
    """Return the smallest k >= 0 with P(X > k) <= tail."""
    limit = math.log(tail)
    low, high = -1, 1
    while law.log_survival(high) > limit:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high) if law.log_survival(middle) > limit else (low, middle)
        )
    return high


@final
@tagged("error/1")
@dataclass(frozen=True, repr=False)
class Error:
    """Symmetric noise on a lattice, alone or the largest of `dimension` coordinates.

    `cases` are the laws that may apply, each with its lattice step: a mechanism that
    answers whole numbers and floats on different lattices has two, and every number
    here holds for both.

    Guarantee: `interval(level)` contains the error (of all coordinates at once) with
    probability at least `level`.

    Example:
        >>> from hush.mechanisms import Geometric
        >>> error = Geometric(scale=2).error
        >>> error.interval(0.95), round(error.std, 3)
        ((-6.0, 6.0), 2.799)
        >>> error
        Error(within 6 at 95%, std 2.799)
        >>> error.joint(1000).interval(0.95)
        (-20.0, 20.0)
    """

    cases: tuple[tuple[Law, Fraction], ...]
    dimension: int = 1

    def __repr__(self) -> str:
        most = f"{self.interval(0.95)[1]:.4g} at 95%"
        many = f" for all {self.dimension}" if self.dimension > 1 else ""
        return f"Error(within {most}{many}, std {self.std:.4g})"

    @property
    def law(self) -> Law:
        """Law of the noise in lattice steps (the first case)."""
        return self.cases[0][0]

    @property
    def step(self) -> Fraction:
        """Lattice step (of the first case)."""
        return self.cases[0][1]

    @property
    def std(self) -> float:
        """Standard deviation of one coordinate."""
        return max(math.sqrt(law.variance) * float(step) for law, step in self.cases)

    @property
    def mean_absolute(self) -> float:
        """E|error| of one coordinate, from 10 000 exact quantile bands, rounded up."""
        return max(_mean_absolute(law) * float(step) for law, step in self.cases)

    def joint(self, dimension: int) -> "Error":
        """Return the error of `dimension` independent coordinates, all at once."""
        return replace(self, dimension=checks.whole("dimension", dimension, at_least=1))

    def tail(self, t: ArrayLike) -> Any:
        """Return P(|error| > t), t >= 0, for any coordinate."""
        t = np.asarray(t, dtype=np.float64)
        worst = np.zeros(t.shape)
        for law, step in self.cases:
            k = np.floor(t / float(step))
            one = np.exp(law.log_survival(k)) + np.exp(law.log_cdf(-k - 1))
            with np.errstate(divide="ignore"):
                worst = np.maximum(
                    worst, -np.expm1(self.dimension * np.log1p(-np.minimum(one, 1.0)))
                )
        return worst[()]

    def chance(self, within: float) -> float:
        """Return P(|error| <= within)."""
        return 1 - float(self.tail(within))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the narrowest symmetric interval of probability at least `level`."""
        level = checks.real("level", level, above=0, below=1)
        # Each coordinate may fail with 1 - level^(1/d); half of it on either side.
        each = -math.expm1(math.log(level) / self.dimension)
        wide = max(reach(law, each / 2) * float(step) for law, step in self.cases)
        return -wide, wide

    def quantile(self, p: float) -> float:
        """Return the p-quantile of one coordinate; the farther one of two cases."""
        p = checks.real("p", p, above=0, below=1)
        if self.dimension > 1:
            raise InvalidArgument(
                "quantile speaks of one coordinate; use interval(level) for all."
            )
        found = [law.quantile(p) * float(step) for law, step in self.cases]
        return max(found) if p >= 0.5 else min(found)


def _mean_absolute(law: Law) -> float:
    # E|X| = 2 Σ_{k>=0} P(X > k); the tail beyond the last k is below 1e-13 of it.
    last = reach(law, 1e-16)
    if last <= 1 << 20:
        return float(2 * np.exp(law.log_survival(np.arange(last + 1))).sum())
    # P(X > k) falls and is convex for k >= 0: the trapezoid rule errs upwards, by 1e-9.
    k = np.linspace(0, last, 200_001)
    values = np.exp(law.log_survival(k))
    return float(2 * (np.trapezoid(values, k) + values[0] / 2))
