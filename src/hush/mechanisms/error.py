"""The error of an answer as a law: exact, for one number or the worst of many."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hush import checks
from hush.errors import InvalidArgument, NoBound
from hush.law import Law
from hush.serialization import tagged


def upper_quantile(law: Law, tail: float) -> int:
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
        wide = max(
            upper_quantile(law, each / 2) * float(step) for law, step in self.cases
        )
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
    last = upper_quantile(law, 1e-16)
    if last <= 1 << 20:
        return float(2 * np.exp(law.log_survival(np.arange(last + 1))).sum())
    # P(X > k) falls and is convex for k >= 0: the trapezoid rule errs upwards, by 1e-9.
    k = np.linspace(0, last, 200_001)
    values = np.exp(law.log_survival(k))
    return float(2 * (np.trapezoid(values, k) + values[0] / 2))


# -- The law of lattice noise rounded to whole numbers ---------------------------------


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

    def _last_fine_step(self, k: ArrayLike) -> Any:
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
        return self.law.log_survival(self._last_fine_step(k))

    def log_cdf(self, k: ArrayLike) -> Any:
        """Return log P(X <= k)."""
        return self.law.log_cdf(self._last_fine_step(k))


# -- The law of a sum of independent noises, exactly convolved -------------------------

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
        wide = upper_quantile(self.law, _CUT)
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
