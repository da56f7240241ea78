"""Staircase noise: flat steps that fall by e^-ε, drawn as a step and a place on it.

Level 0 holds the 2·inner - 1 integers around zero, level i >= 1 the next `width` on
each side. A geometric level and a uniform place are exact; level 0 is smaller than the
others, so a place it lacks rejects the draw.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from hush import checks
from hush.errors import InvalidArgument
from hush.law import Law
from hush.noise.inversion import Integers
from hush.noise.laplace import LARGEST, geometric
from hush.noise.source import SECURE, Size, Source, filled_array
from hush.noise.uniform import integers
from hush.serialization import tagged


@final
@tagged("staircase_noise/1")
@dataclass(frozen=True)
class StaircaseLaw(Law):
    """P(k) ∝ e^(-ε·level(|k|)), level 0 below `inner`, then one more every `width`.

    Example:
        >>> law = StaircaseLaw(epsilon=Fraction(1), width=4, inner=2)
        >>> bool(np.isclose(law.pmf(1) / law.pmf(5), np.e))
        True
    """

    epsilon: Fraction
    width: int
    inner: int

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        object.__setattr__(self, "epsilon", checks.rational("epsilon", self.epsilon))
        checks.whole("width", self.width, at_least=1)
        checks.whole("inner", self.inner, at_least=1, at_most=self.width)
        if self.width > self.epsilon * LARGEST:
            raise InvalidArgument(
                "width/epsilon must be at most 2^50, so that 64 bits hold the noise; "
                f"got epsilon={float(self.epsilon):g} and {self.width} integers per "
                "step. Use a coarser lattice."
            )

    @property
    def support(self) -> tuple[None, None]:
        """All integers."""
        return None, None

    @property
    def mean(self) -> float:
        """Zero by symmetry."""
        return 0.0

    @cached_property
    def _q(self) -> float:
        return math.exp(-float(self.epsilon))

    @cached_property
    def _levels(self) -> float:
        """Σ q^i over i >= 1; 1 - q would forget a small ε."""
        return self._q / -math.expm1(-float(self.epsilon))

    @cached_property
    def _total(self) -> float:
        return 2 * self.inner - 1 + 2 * self.width * self._levels

    @cached_property
    def variance(self) -> float:
        """Σ k² P(k): squares of a level are a cubic in its number."""
        w, r = float(self.width), float(self.inner)
        middle = (r - 1) * r * (2 * r - 1) / 3
        # Level i >= 0 beyond the middle holds r + iw + j, j < w, on each side: its
        # squares are base + linear·i + w³·i², and moments of i are those of q^(i+1).
        base = w * r**2 + r * w * (w - 1) + (w - 1) * w * (2 * w - 1) / 6
        linear = w**2 * (2 * r + w - 1)
        zeroth = self._levels
        first = zeroth**2
        second = first * (1 + 2 * zeroth)
        beyond = base * zeroth + linear * first + w**3 * second
        return (middle + 2 * beyond) / self._total

    def log_pmf(self, k: ArrayLike) -> Any:
        """Return log P(X = k)."""
        far = np.abs(np.asarray(k, dtype=np.float64)) - self.inner
        level = np.maximum(np.floor(far / self.width) + 1, 0)
        return -float(self.epsilon) * level - math.log(self._total)

    def log_survival(self, k: ArrayLike) -> Any:
        """Return log P(X > k)."""
        k = np.asarray(k, dtype=np.float64)
        upper = self._log_above(np.where(k >= 0, k, -k - 1))
        return np.where(k >= 0, upper, np.log1p(-np.exp(upper)))

    def _log_above(self, k: Any) -> Any:
        """Return log P(X > k) for k >= 0."""
        level = np.maximum(np.floor((k - self.inner) / self.width) + 1, 0)
        end = self.inner + level * self.width - 1  # last integer of k's level
        here = end - k
        beyond = self.width * self._levels
        scaled = np.log(here + beyond) - float(self.epsilon) * level
        return scaled - math.log(self._total)

    def log_cdf(self, k: ArrayLike) -> Any:
        """Return log P(X <= k)."""
        return self.log_survival(-np.asarray(k, dtype=np.float64) - 1)


def staircase(law: StaircaseLaw, size: Size = None, *, source: Source = SECURE) -> Any:
    """Return draws of a staircase law.

    Guarantee: the law is exact for the rational `epsilon`.

    Example:
        >>> staircase(StaircaseLaw(Fraction(1), width=4, inner=2), size=3).shape
        (3,)

    Reference: [GV16] for the law.
    """

    def fill(count: int) -> Integers:
        result = np.empty(count, dtype=np.int64)
        missing = np.arange(count)
        while missing.size:
            level = geometric(1 / law.epsilon, missing.size, source=source)
            place = integers(2 * law.width, missing.size, source=source)
            center = place - (law.inner - 1)
            side = law.inner + (level - 1) * law.width + (place >> 1)
            drawn = np.where(level == 0, center, np.where(place & 1, -side, side))
            kept = (level > 0) | (place < 2 * law.inner - 1)
            result[missing[kept]] = drawn[kept]
            missing = missing[~kept]
        return result

    return filled_array(size, np.int64, fill)
