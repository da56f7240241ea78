"""Results: an interval with its level, and a test with its statistic and p-value."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, final

from scipy import special

from hush import checks
from hush.estimate import Estimate
from hush.inference.error_convolution import Convolution, Error, convolve


@dataclass(frozen=True)
class Interval(Estimate):
    """An estimate with a level: `low, high = interval`.

    Example:
        >>> low, high = Interval(0.5, std=0.1, effective=25.0, level=0.9)
        >>> round(float(low), 3), round(float(high), 3)
        (0.336, 0.664)
        >>> print(Interval(0.5, std=0.1, effective=25.0, level=0.9))
        0.5, from 0.3355 to 0.6645 (90%)
        >>> import numpy as np
        >>> print(Interval(np.array([0.5, 0.8]), std=0.1, effective=25.0, level=0.9))
          estimate       from   to (90%)
               0.5     0.3355     0.6645
               0.8     0.6355     0.9645
    """

    level: float

    @property
    def low(self) -> Any:
        """The lower end at `level`."""
        return self.interval(self.level)[0]

    @property
    def high(self) -> Any:
        """The upper end at `level`."""
        return self.interval(self.level)[1]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.interval(self.level))

    def __str__(self) -> str:
        return self._text(self.level)


@dataclass(frozen=True)
class NoisyInterval(Interval):
    """An interval whose error is the sum of sampling error and known noise.

    `bias` is how far clamping may have moved the value to either side; both ends move
    out by it. `skew` is the largest third central moment of the values over their
    variance and 6n, below and above: each end moves out by 2z² + 1 times it, for rare
    far values make a mean and its estimated variance small together. `limits` are
    where the truth must lie.
    """

    errors: tuple[Error, ...] = field(repr=False)  # laws, of a page each
    bias: float = 0.0
    limits: tuple[float, float] = (-math.inf, math.inf)
    skew: tuple[float, float] = (0.0, 0.0)

    def error(self, level: float) -> Convolution:
        """Return the law of the error to use in an interval of this level."""
        return convolve(*(each.at(level) for each in self.errors))

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return ends that hold the truth with probability `level`."""
        checks.real("level", level, above=0, below=1)
        reach = self.error(level).quantile((1 + level) / 2) + self.bias
        below, above = self.moved(level)
        low, high = self.limits
        return (
            min(max(self.value - reach - below, low), high),
            max(min(self.value + reach + above, high), low),
        )

    def moved(self, level: float) -> tuple[float, float]:
        """Return how far skewness moves the lower end down and the upper one up."""
        z = float(special.ndtri((1 + level) / 2))
        return self.skew[0] * (2 * z * z + 1), self.skew[1] * (2 * z * z + 1)


# -- The result of a test: a statistic, a p-value, and what it was tested against ------


@final
@dataclass(frozen=True)
class Test:
    """A p-value from released values alone.

    Example:
        >>> Test(statistic=3.2, p_value=0.03, alternative="greater").rejects(0.05)
        True
        >>> print(Test(statistic=3.2, p_value=0.03, alternative="greater"))
        statistic 3.2, p = 0.03 (greater)
    """

    __test__ = False  # pytest collects classes by this name

    statistic: float
    p_value: float
    alternative: str

    def __str__(self) -> str:
        against = f"({self.alternative})"
        return f"statistic {self.statistic:.4g}, p = {self.p_value:.3g} {against}"

    def rejects(self, alpha: float = 0.05) -> bool:
        """Return whether the null is rejected, with chance `alpha` of a false alarm."""
        return self.p_value <= checks.real("alpha", alpha, above=0, below=1)
