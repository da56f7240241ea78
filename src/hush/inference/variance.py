"""A variance from a noisy variance."""

import math
from dataclasses import dataclass, field
from typing import Any, final

from hush import checks
from hush.errors import InvalidArgument
from hush.inference.additive_noise import Additive, number
from hush.inference.error_convolution import convolve
from hush.inference.proportion import NoisyCount
from hush.inference.ratio import Scale
from hush.inference.results import Interval
from hush.mechanisms.mechanism import Mechanism


@final
@dataclass(frozen=True)
class BoundedVariance(Interval):
    """A variance of bounded values, whatever their law.

    Squared distances from the mean lie in [0, R²], and of all such laws with one mean
    the one on 0 and R² varies most: the variance is R² times a share, and `count` the
    noisy count behind it. `most` is the largest variance, R²/4.
    """

    count: NoisyCount = field(repr=False)
    most: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the variances whose share the noisy count does not contradict."""
        miss = (1 - checks.real("level", level, above=0, below=1)) / 2
        low, high = (
            min(4 * self.most * self.count.theta(each), self.most)
            for each in (miss, 1 - miss)
        )
        return low, high


def variance_interval(
    released: Any,
    *,
    n: int,
    mechanism: Mechanism,
    bounds: tuple[float, float] | None = None,
    kurtosis: float | None = None,
    level: float = 0.95,
) -> Scale | BoundedVariance:
    """Return the population variance behind a noisy variance of `n` values.

    The sampling error is that of the worst law within the `bounds` of the values: rare
    ones at the far bound. `kurtosis` is the fourth standardized moment, if it is known:
    3 for normal values, 1.8 for uniform ones, 9 for exponential ones; with it the
    interval is about three times as narrow, and too narrow if the kurtosis is larger.
    It cannot be read from the variance. `bounds` cap the variance too. Where noise made
    the release so negative that no variance explains it, both ends are 0.

    Guarantee: with `bounds` alone coverage is nominal for values at the two bounds, one
    of them rare, and above for others; with `kurtosis` to first order.

    Example:
        >>> from hush.mechanisms import Laplace
        >>> low, high = variance_interval(2.0, n=1000, mechanism=Laplace(scale=0.05),
        ...                               bounds=(-5, 5))
        >>> round(low, 2), round(high, 2)
        (1.25, 3.03)
        >>> low, high = variance_interval(2.0, n=1000, mechanism=Laplace(scale=0.05),
        ...                               kurtosis=3)
        >>> round(low, 2), round(high, 2)
        (1.79, 2.24)

    Reference: [F54]; docs/proofs/inference.md; docs/inference.md has measured coverage.
    """
    people = checks.whole("n", n, at_least=2)
    checks.real("level", level, above=0, below=1)
    found = number("released", released)
    noise = Additive.of(mechanism, released)
    most = math.inf
    if bounds is not None:
        lower, upper = checks.interval("bounds", bounds)
        most = (upper - lower) ** 2 / 4
    if kurtosis is None:
        if not 0 < most < math.inf:
            raise InvalidArgument(
                "bounds must be lower < upper, or kurtosis be given: without either, "
                "nothing limits how much a variance varies. Write bounds=(0, 1), or "
                "kurtosis=3 for normal values."
            )
        return _of_any_law(found, people, noise, most, level)
    k = checks.real("kurtosis", kurtosis, at_least=1)
    value = max(found, 0.0)
    relative = math.sqrt((k - (people - 3) / (people - 1)) / people)
    std = math.hypot(value * relative, noise.std)
    effective = people * (value * relative / std) ** 2 if std > 0 else float(people)
    return Scale(
        min(value, most), std, effective, level, found, convolve(noise), relative, most
    )


def _of_any_law(
    found: float, n: int, noise: Additive, most: float, level: float
) -> BoundedVariance:
    """Return the interval for the worst law on bounds of this largest variance."""
    per_person = n / (4 * most)  # n·v/R² is the count of those at the far bound
    count = NoisyCount(found * per_person, n, noise.scaled(per_person), 0.5)
    value = min(4 * most * count.theta(0.5), most)
    sampling = math.sqrt(max(value * (4 * most - 4 * value), 0.0) / n)
    std = math.hypot(sampling, noise.std)
    effective = n * (sampling / std) ** 2 if std > 0 else float(n)
    return BoundedVariance(value, std, effective, level, count=count, most=most)
