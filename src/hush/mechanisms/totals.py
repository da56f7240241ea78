"""The law of a sum of independent noises, exactly convolved."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hush import checks
from hush.errors import NoBound
from hush.law import Law
from hush.mechanisms.error import reach
from hush.serialization import tagged

_CUT = 1e-18  # tail of each summand that is left out; it is added to every tail


@final
@tagged("sum_of_noise/1")
@dataclass(frozen=True)
class Total(Law):
    """The sum of `count` independent copies of a symmetric law.

    Example:
        >>> from hush.law import DiscreteLaplace
        >>> round(Total(DiscreteLaplace(2), 3).variance, 3)
        23.506
    """

    law: Law
    count: int

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        checks.whole("count", self.count, at_least=1, at_most=64)

    @property
    def support(self) -> tuple[None, None]:
        """All integers."""
        return None, None

    @property
    def mean(self) -> float:
        """Zero by symmetry."""
        return 0.0

    @property
    def variance(self) -> float:
        """Variances add."""
        return self.count * self.law.variance

    @cached_property
    def _tails(self) -> NDArray[np.float64]:
        """P(X > k) for k = 0, 1, ..., by one Fourier transform, rounded up."""
        wide = reach(self.law, _CUT)
        if wide * self.count > 1 << 22:
            raise NoBound("the noise is too wide to be added up; read std instead.")
        one = np.exp(self.law.log_pmf(np.arange(-wide, wide + 1)))
        size = self.count * (one.size - 1) + 1
        power = np.fft.rfft(one, size) ** self.count  # errs by 1e-16 of the largest
        table = np.maximum(np.fft.irfft(power, size), 0.0)
        center = table.size // 2
        upper = np.cumsum(table[center + 1 :][::-1])[::-1]
        return np.append(upper, 0.0) + 2 * self.count * _CUT + 1e-15

    def log_survival(self, k: ArrayLike) -> Any:
        """Return log P(X > k), rounded up far out."""
        k = np.asarray(k)
        far = np.where(k >= 0, k, -k - 1).astype(np.int64)
        tail = self._tails[np.minimum(far, self._tails.size - 1)]
        return np.where(k >= 0, np.log(tail), np.log1p(-tail))

    def log_cdf(self, k: ArrayLike) -> Any:
        """Return log P(X <= k)."""
        return self.log_survival(-np.asarray(k) - 1)

    def log_pmf(self, k: ArrayLike) -> Any:
        """Return log P(X = k)."""
        at = np.abs(np.asarray(k, dtype=np.int64))
        above = np.exp(self.log_survival(at - 1)) - np.exp(self.log_survival(at))
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(above, 0.0))
