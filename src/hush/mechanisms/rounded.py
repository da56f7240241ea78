"""The law of lattice noise rounded to whole numbers."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from hush.law import Law
from hush.serialization import tagged


@final
@tagged("rounded_noise/1")
@dataclass(frozen=True)
class Rounded(Law):
    """The nearest whole number, halves up, to a law on multiples of 2^-bits.

    Example:
        >>> from hush.law import DiscreteGaussian
        >>> round(Rounded(DiscreteGaussian(2**20), bits=20).variance, 4)
        1.0833
    """

    law: Law
    bits: int

    @property
    def support(self) -> tuple[int | None, int | None]:
        """Whole numbers next to the support."""
        low, high = self.law.support
        half = 1 << self.bits >> 1
        return (
            None if low is None else (low + half) >> self.bits,
            None if high is None else (high + half) >> self.bits,
        )

    @property
    def mean(self) -> float:
        """Expected value; half a fine step above that of a symmetric law at most."""
        return float(round(self.law.mean / 2.0**self.bits, 12))

    @cached_property
    def variance(self) -> float:
        """Σ (k - mean)² P(k), over the range that carries all but 1e-30 of it."""
        wide = 12 * np.sqrt(self.law.variance) / 2**self.bits + 40
        k = np.arange(-np.ceil(wide), np.ceil(wide) + 1)
        return float(((k - self.mean) ** 2 * self.pmf(k)).sum())

    def _last(self, k: ArrayLike) -> Any:
        """Return the last fine step that is rounded to k."""
        return (np.asarray(k, dtype=np.float64) + 0.5) * 2.0**self.bits - 1

    def log_pmf(self, k: ArrayLike) -> Any:
        """Return log P(X = k)."""
        k = np.asarray(k, dtype=np.float64)
        upper = np.where(k >= 0, self.log_survival(k - 1), self.log_cdf(k))
        lower = np.where(k >= 0, self.log_survival(k), self.log_cdf(k - 1))
        with np.errstate(divide="ignore"):
            return upper + np.log(-np.expm1(np.minimum(lower - upper, 0.0)))

    def log_survival(self, k: ArrayLike) -> Any:
        """Return log P(X > k)."""
        return self.law.log_survival(self._last(k))

    def log_cdf(self, k: ArrayLike) -> Any:
        """Return log P(X <= k)."""
        return self.law.log_cdf(self._last(k))
