"""Laws to read a pair from: shifted integers, and densities on the line."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from hush import checks
from hush.law import Law
from hush.serialization import tagged


@final
@tagged("shifted/1")
@dataclass(frozen=True)
class Shifted(Law):
    """A law on the integers moved by a whole number.

    Example:
        >>> from hush.law import DiscreteLaplace
        >>> Shifted(DiscreteLaplace(2), 3).mean
        3.0
    """

    law: Law
    by: int

    def __post_init__(self) -> None:
        checks.whole("by", self.by)

    @property
    def support(self) -> tuple[int | None, int | None]:
        """The support of the law, moved."""
        low, high = self.law.support
        return (
            None if low is None else low + self.by,
            None if high is None else high + self.by,
        )

    @property
    def mean(self) -> float:
        """The mean of the law, moved."""
        return self.law.mean + self.by

    @property
    def variance(self) -> float:
        """The variance of the law."""
        return self.law.variance

    def log_pmf(self, k: ArrayLike) -> Any:
        """Return log P(X = k)."""
        return self.law.log_pmf(np.asarray(k) - self.by)

    def log_survival(self, k: ArrayLike) -> Any:
        """Return log P(X > k)."""
        return self.law.log_survival(np.asarray(k) - self.by)

    def log_cdf(self, k: ArrayLike) -> Any:
        """Return log P(X <= k)."""
        return self.law.log_cdf(np.asarray(k) - self.by)


@final
@dataclass(frozen=True)
class Density:
    """A law on the line by its log density, distribution and survival functions.

    All three take arrays. `survival` keeps the digits that 1 - cdf would lose.
    """

    log_pdf: Callable[[Any], Any]
    cdf: Callable[[Any], Any]
    survival: Callable[[Any], Any]
    support: tuple[float, float] = (-math.inf, math.inf)


@final
@tagged("normal/1")
@dataclass(frozen=True)
class Normal:
    """N(mean, std²), idealised: real numbers, for analysis."""

    mean: float
    std: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", checks.real("mean", self.mean))
        object.__setattr__(self, "std", checks.real("std", self.std, above=0))


@final
@tagged("continuous_laplace/1")
@dataclass(frozen=True)
class ContinuousLaplace:
    """Density exp(-|x - location|/scale)/(2 scale), idealised, for analysis."""

    location: float
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", checks.real("location", self.location))
        object.__setattr__(self, "scale", checks.real("scale", self.scale, above=0))
