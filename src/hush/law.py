"""The law of a noise as a value: exact probabilities on the integers, in log space.

Curves read their privacy from these laws, mechanisms their error, tests their
expectations. A release on a lattice of step s is s times one of these integers.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.serialization import tagged

Floats = NDArray[np.float64]

_FEW = 6  # probabilities that a table prints one by one


class Law(ABC):
    """A probability law on the integers.

    Subclasses give `log_pmf` and `log_survival` with full relative accuracy in the
    tails; everything else follows.
    """

    @property
    @abstractmethod
    def support(self) -> tuple[int | None, int | None]:
        """Smallest and largest possible value; None where unbounded."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Expected value."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Expected squared distance from the mean."""

    @abstractmethod
    def log_pmf(self, k: ArrayLike) -> Any:
        """Return log P(X = k)."""

    @abstractmethod
    def log_survival(self, k: ArrayLike) -> Any:
        """Return log P(X > k)."""

    @abstractmethod
    def log_cdf(self, k: ArrayLike) -> Any:
        """Return log P(X <= k)."""

    def pmf(self, k: ArrayLike) -> Any:
        """Return P(X = k)."""
        return np.exp(self.log_pmf(k))

    def cdf(self, k: ArrayLike) -> Any:
        """Return P(X <= k)."""
        return np.exp(self.log_cdf(k))

    def survival(self, k: ArrayLike) -> Any:
        """Return P(X > k)."""
        return np.exp(self.log_survival(k))

    def quantile(self, p: float) -> int:
        """Return the smallest k with P(X <= k) >= p.

        Example:
            >>> DiscreteLaplace(scale=2).quantile(0.975)
            6
        """
        p = checks.real("p", p, above=0, below=1)

        # 1 - p is exact for p >= 1/2, so the upper tail keeps its digits.
        def has_passed(k: int) -> bool:
            if p < 0.5:
                return bool(self.log_cdf(k) >= math.log(p))
            return bool(self.log_survival(k) <= math.log1p(-p))

        low, high, width = round(self.mean), round(self.mean), 1
        while not has_passed(high):
            low, high, width = high, high + width, 2 * width
        width = 1
        while has_passed(low):
            high, low, width = low, low - width, 2 * width
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if has_passed(middle) else (middle, high)
        return high

    def tail(self, t: int) -> float:
        """Return P(|X| > t) for t >= 0."""
        t = checks.whole("t", t, at_least=0)
        return float(np.exp(self.log_survival(t)) + np.exp(self.log_cdf(-t - 1)))


def _log_complement(log_p: Floats) -> Floats:
    """Return log(1 - e^log_p), accurate at both ends."""
    with np.errstate(divide="ignore"):
        near_one = np.log(-np.expm1(np.minimum(log_p, 0.0)))
        return np.where(log_p > -math.log(2), near_one, np.log1p(-np.exp(log_p)))


def _integers(k: ArrayLike) -> Floats:
    return np.asarray(k, dtype=np.float64)


@final
@tagged("law.geometric/1")
@dataclass(frozen=True)
class Geometric(Law):
    """P(k) proportional to exp(-k/scale) on k = 0, 1, 2, ..."""

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checks.rational("scale", self.scale))

    @property
    def support(self) -> tuple[int, None]:
        """Non-negative integers."""
        return 0, None

    @cached_property
    def _rate(self) -> float:
        return float(1 / self.scale)

    @property
    def mean(self) -> float:
        """1/(e^(1/scale) - 1)."""
        return 1 / math.expm1(self._rate) if self._rate < 700 else 0.0

    @property
    def variance(self) -> float:
        """1/(4 sinh²(1/(2 scale)))."""
        return 0.25 / math.sinh(self._rate / 2) ** 2 if self._rate < 700 else 0.0

    def log_pmf(self, k: ArrayLike) -> Any:
        """Return log P(X = k)."""
        k = _integers(k)
        inside = math.log(-math.expm1(-self._rate)) - k * self._rate
        return np.where(k < 0, -np.inf, inside)

    def log_survival(self, k: ArrayLike) -> Any:
        """Return log P(X > k)."""
        return -np.maximum(_integers(k) + 1, 0) * self._rate

    def log_cdf(self, k: ArrayLike) -> Any:
        """Return log P(X <= k)."""
        return _log_complement(self.log_survival(k))


@final
@tagged("law.discrete_laplace/1")
@dataclass(frozen=True)
class DiscreteLaplace(Law):
    """P(k) proportional to exp(-|k|/scale) on all integers.

    Example:
        >>> DiscreteLaplace(scale=2).variance
        7.835...
    """

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checks.rational("scale", self.scale))
        _ = self._rate

    @property
    def support(self) -> tuple[None, None]:
        """All integers."""
        return None, None

    @cached_property
    def _rate(self) -> float:
        return float(1 / self.scale)

    @property
    def mean(self) -> float:
        """Zero by symmetry."""
        return 0.0

    @property
    def variance(self) -> float:
        """1/(2 sinh²(1/(2 scale)))."""
        return 0.5 / math.sinh(self._rate / 2) ** 2 if self._rate < 700 else 0.0

    def log_pmf(self, k: ArrayLike) -> Any:
        """Return log P(X = k)."""
        steps = np.abs(np.asarray(k, dtype=np.float64))
        return math.log(math.tanh(self._rate / 2)) - steps * self._rate

    def log_survival(self, k: ArrayLike) -> Any:
        """Return log P(X > k)."""
        # P(X > k) = r^(k+1)/(1+r) for k >= -1, with r = e^(-1/scale); for smaller k it
        # is the complement of P(X > -k-1).
        k, rate = np.asarray(k, dtype=np.float64), self._rate
        rest = math.log1p(math.exp(-rate))
        above = -(np.maximum(k, -1) + 1) * rate - rest
        below = _log_complement(-(np.maximum(-k - 1, -1) + 1) * rate - rest)
        return np.where(k >= 0, above, below)

    def log_cdf(self, k: ArrayLike) -> Any:
        """Return log P(X <= k)."""
        return self.log_survival(-_integers(k) - 1)


# Trapezoid nodes for E over a standard normal Z of 1/(1 - e^(-u + iZ/σ)). The nearest
# pole lies t = uσ >= 2 away, so step 1/3 leaves e^(-2π·2·3) < 1e-16, and nodes
# beyond 9 carry less than e^(-40).
_NODES = np.arange(28) / 3.0
_WEIGHTS = np.exp(-(_NODES**2) / 2) / (3 * math.sqrt(2 * math.pi))
_WEIGHTS[1:] *= 2  # the real part is even in Z


@final
@tagged("law.discrete_gaussian/1")
@dataclass(frozen=True)
class DiscreteGaussian(Law):
    """P(k) proportional to exp(-k²/(2 std²)) on all integers.

    `std` is the parameter of the density, which the standard deviation of the integer
    law equals to 1e-16 from std = 2 on.

    Example:
        >>> round(DiscreteGaussian(std=1).variance, 6)
        1.0
    """

    std: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "std", checks.rational("std", self.std))

    @property
    def support(self) -> tuple[None, None]:
        """All integers."""
        return None, None

    @cached_property
    def _sigma(self) -> float:
        return float(self.std)

    @cached_property
    def _small_weights(self) -> Floats:
        """Weights of 0, 1, 2, ... while std is small enough to add them up."""
        return np.exp(
            -0.5 * (np.arange(40 * math.ceil(self._sigma)) / self._sigma) ** 2
        )

    @cached_property
    def _log_total(self) -> float:
        if self._sigma < 8:
            return math.log(math.fsum(2 * self._small_weights) - 1)
        return math.log(
            self._sigma * math.sqrt(2 * math.pi)
        )  # Poisson: error e^(-2π²·64)

    @property
    def mean(self) -> float:
        """Zero by symmetry."""
        return 0.0

    @property
    def variance(self) -> float:
        """Σ k² P(k)."""
        if self._sigma >= 8:
            return self._sigma**2
        squares = np.arange(self._small_weights.size, dtype=np.float64) ** 2
        return math.fsum(2 * squares * self._small_weights) / math.exp(self._log_total)

    def log_pmf(self, k: ArrayLike) -> Any:
        """Return log P(X = k)."""
        return -0.5 * (_integers(k) / self._sigma) ** 2 - self._log_total

    def _log_far(self, a: Floats) -> Floats:
        # Σ_{j>=0} f(a+j) = f(a) E[1/(1 - e^(-u + iZ/σ))], u = a/σ².
        exponent = -a[..., None] / self._sigma**2 + 1j * _NODES / self._sigma
        mean = (-1 / np.expm1(exponent)).real @ _WEIGHTS
        log_pmf = -0.5 * (a / self._sigma) ** 2 - self._log_total
        return np.asarray(log_pmf + np.log(mean))

    def _near_survival(self, a: Floats) -> Floats:
        if self._sigma < 32:  # P(X >= a) = (1 + p0)/2 - Σ_{j<a} p_j
            pmf = np.exp(self.log_pmf(np.arange(2 * math.ceil(self._sigma) + 1)))
            below = np.concatenate([[0.0], np.cumsum(pmf)])
            inside = np.clip(a, 0, pmf.size).astype(int)
            return np.asarray((1 + pmf[0]) / 2 - below[inside])
        from scipy import special  # here: devices draw noise without SciPy

        # Midpoint Euler-Maclaurin; derivatives of the density are Hermite polynomials.
        t = (a - 0.5) / self._sigma
        s = self._sigma
        correction = (
            -t / 24 / s
            + 7 / 5760 * (t**3 - 3 * t) / s**3
            - 31 / 967680 * (t**5 - 10 * t**3 + 15 * t) / s**5
        )
        density = np.exp(-0.5 * t**2) / math.sqrt(2 * math.pi)
        return np.asarray(special.ndtr(-t) + density / s * correction)

    def _log_at_least(self, a: Floats) -> Floats:
        """Return log P(X >= a) for a >= 1."""
        far = a >= 2 * self._sigma
        result = np.empty_like(a)
        result[far] = self._log_far(a[far])
        result[~far] = np.log(self._near_survival(a[~far]))
        return result

    def log_survival(self, k: ArrayLike) -> Any:
        """Return log P(X > k)."""
        k = _integers(k)
        a = np.atleast_1d(np.where(k >= 0, k + 1, np.maximum(-k, 1)))
        upper = self._log_at_least(a).reshape(k.shape)
        return np.where(k >= 0, upper, _log_complement(upper))

    def log_cdf(self, k: ArrayLike) -> Any:
        """Return log P(X <= k)."""
        return self.log_survival(-_integers(k) - 1)


@final
@tagged("law.finite/1")
@dataclass(frozen=True)
class Finite(Law):
    """A table of probabilities on start, start + 1, ...

    Example:
        >>> Finite((Fraction(1, 4), Fraction(3, 4))).mean
        0.75
    """

    probabilities: tuple[Fraction, ...]
    start: int = 0

    def __post_init__(self) -> None:
        table = tuple(
            checks.probability("probabilities", p) for p in self.probabilities
        )
        if sum(table) != 1:
            raise InvalidArgument(
                f"probabilities must add up to exactly 1; they add up to "
                f"{float(sum(table))!r}. Use fractions, or divide by their sum."
            )
        object.__setattr__(self, "probabilities", table)

    # `repr` stays whole: it names the law where it is written down.
    def __str__(self) -> str:
        first, last = self.support
        if last - first < _FEW:
            return repr(self)
        return f"<Finite: {last - first + 1} probabilities, on {first} to {last}>"

    @property
    def support(self) -> tuple[int, int]:
        """First and last index of the table."""
        return self.start, self.start + len(self.probabilities) - 1

    @property
    def mean(self) -> float:
        """Expected value."""
        return float(sum(p * k for k, p in enumerate(self.probabilities, self.start)))

    @property
    def variance(self) -> float:
        """Expected squared distance from the mean."""
        pairs = list(enumerate(self.probabilities, self.start))
        mean = sum(p * k for k, p in pairs)
        return float(sum(p * (k - mean) ** 2 for k, p in pairs))

    @cached_property
    def _log_tables(self) -> tuple[Floats, Floats, Floats]:
        """Log pmf, log cdf and log survival, from exact sums."""
        exact = [Fraction(0)]
        for p in self.probabilities:
            exact.append(exact[-1] + p)
        with np.errstate(divide="ignore"):
            pmf = np.log([float(p) for p in self.probabilities])
            cdf = np.log([float(p) for p in exact])
            survival = np.log([float(1 - p) for p in exact])
        return pmf, cdf, survival

    def log_pmf(self, k: ArrayLike) -> Any:
        """Return log P(X = k)."""
        index = np.asarray(k) - self.start
        size = len(self.probabilities)
        inside = self._log_tables[0][np.clip(index, 0, size - 1)]
        return np.where((index >= 0) & (index < size), inside, -np.inf)

    def _rank(self, k: ArrayLike) -> NDArray[np.int64]:
        index = np.asarray(k, dtype=np.int64) - self.start + 1
        return np.clip(index, 0, len(self.probabilities))

    def log_survival(self, k: ArrayLike) -> Any:
        """Return log P(X > k)."""
        return self._log_tables[2][self._rank(k)]

    def log_cdf(self, k: ArrayLike) -> Any:
        """Return log P(X <= k)."""
        return self._log_tables[1][self._rank(k)]
