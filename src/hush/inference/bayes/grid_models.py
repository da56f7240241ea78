"""Models of one number given a noisy release: counts, shares, rates, normal means."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hush import checks
from hush.errors import InvalidArgument
from hush.inference import binomial
from hush.inference.bayes.clamped_sum import ClampedSum
from hush.inference.bayes.grid_posterior import GridLaw, GridModel, GridPosterior
from hush.inference.bayes.noisy_observation import Observation, Observed
from hush.mechanisms.error import upper_quantile

Floats = NDArray[np.float64]
_ONCE = "every person counts once at most: what a limit on rows cut off is not in it"
_TAIL = 1e-24  # noise beyond is left out of a list of whole numbers
_NODES = 15  # values of a scale that is only bounded
_CELLS = 2000  # of a predictive law


def _log_mixed(chance: Floats, logs: Floats) -> float:
    """Return log Σ chance·e^logs."""
    most = float(logs.max())
    if not math.isfinite(most):
        return -math.inf
    return most + math.log(float(chance @ np.exp(logs - most)) or math.ulp(0.0))


def _far(seen: Observation) -> float:
    """Return what the noise exceeds with chance `_TAIL`."""
    return float((upper_quantile(seen.law, _TAIL) + 1) * seen.step)


@final
@dataclass(frozen=True)
class CountModel(GridModel):
    """The exact count behind a noisy one: how many records there are in the data.

    The prior is a law of whole numbers. Nothing is said of a population: for that take
    a `ShareModel` or a `RateModel`.

    Example:
        >>> from scipy import stats
        >>> from hush.inference import posterior
        >>> from hush.mechanisms import Geometric
        >>> found = posterior(-2, CountModel(), stats.randint(0, 1000),
        ...                   mechanism=Geometric(scale=2))
        >>> found.interval(0.9), round(found.mean, 3)
        ((0.0, 5.0), 1.541)
    """

    name = "count"
    whole = True

    def rough(self, seen: Observed) -> tuple[float, float]:
        """Return the release, and how far its noise may be off."""
        one = seen.numbers[0]
        return one.value, _far(one)

    def log_likelihood(self, seen: Observed, theta: Floats) -> Floats:
        """Return the log probability of the noise that each count needs."""
        return seen.numbers[0].log_likelihood(theta)[:, None]

    def conditions(self) -> tuple[str, ...]:
        """Say who is counted."""
        return (_ONCE,)

    def predicted(self, found: GridPosterior, size: int) -> GridLaw:
        """Refuse: a count of these data says nothing of others."""
        raise InvalidArgument(
            "a CountModel has no population to predict from; use a ShareModel(n) or a "
            "RateModel(exposure)."
        )


@final
@dataclass(frozen=True)
class ShareModel(GridModel):
    """The share of a population, from a noisy count among `n` people.

    X is binomial (n, share) and the release is X with noise; or X/n with noise where
    `divided` says so, as `hush.mechanisms.proportion(size=n)` releases it. The prior is
    a law on [0, 1].

    Example:
        >>> from scipy import stats
        >>> from hush.inference import posterior
        >>> from hush.mechanisms import Geometric
        >>> found = posterior(37, ShareModel(n=500), stats.beta(1, 1),
        ...                   mechanism=Geometric(scale=2))
        >>> low, high = found.interval(0.95)
        >>> round(low, 3), round(high, 3)
        (0.052, 0.103)
        >>> found.predictive(100).interval(0.9)
        (3.0, 13.0)
    """

    n: int
    divided: bool = False
    name = "share"

    def __post_init__(self) -> None:
        checks.whole("n", self.n, at_least=1)
        checks.flag("divided", self.divided)

    def rough(self, seen: Observed) -> tuple[float, float]:
        """Return about the share, and the spread of sampling and noise."""
        one = seen.numbers[0]
        scale = 1 if self.divided else self.n
        share = min(max(one.value / scale, 0.0), 1.0)
        spread = max(share * (1 - share), 1 / self.n) / self.n
        return share, math.sqrt(spread + (one.std / scale) ** 2)

    def log_likelihood(self, seen: Observed, theta: Floats) -> Floats:
        """Return log Σ_x P(x of n)·P(release | x)."""
        scale = self.n if self.divided else 1
        x = np.arange(self.n + 1)
        logs = seen.numbers[0].log_likelihood(x / scale)
        found = np.empty(theta.size)
        for i, share in enumerate(theta):
            first, chance = binomial.weights(self.n, float(share))
            found[i] = _log_mixed(chance, logs[first : first + chance.size])
        return found[:, None]

    def conditions(self) -> tuple[str, ...]:
        """Say how people came."""
        return (
            f"{self.n} people, a public number, drawn independently from a population",
            _ONCE,
        )

    def predicted(self, found: GridPosterior, size: int) -> GridLaw:
        """Return how many of `size` further people it will be."""
        total = np.zeros(size + 1)
        for mass, share in zip(found.masses, found.values, strict=True):
            first, chance = binomial.weights(size, float(share))
            total[first : first + chance.size] += mass * chance
        edges = np.arange(size + 2, dtype=np.float64) - 0.5
        return GridLaw("count to come", edges, total / total.sum(), whole=True)


def _poisson(mean: float) -> tuple[int, Floats]:
    """Return the first count that matters, and the probabilities from there on."""
    # Bernstein: e^-40 of the probability lies outside on either side.
    wide = 40 / 3 + math.sqrt(40**2 / 9 + 80 * mean)
    first, last = max(math.floor(mean - wide), 0), math.ceil(mean + wide)
    x = np.arange(first, last + 1, dtype=np.float64)
    logs = special.xlogy(x, mean) - special.gammaln(x + 1) - mean
    chance = np.exp(logs - logs.max())
    return first, chance / chance.sum()


@final
@dataclass(frozen=True)
class RateModel(GridModel):
    """The rate of a Poisson process, from a noisy count over `exposure`.

    X is Poisson (exposure·rate) and the release is X with noise; `exposure` counts
    years, square miles or person-days. The prior is a law on [0, ∞).

    Example:
        >>> from scipy import stats
        >>> from hush.inference import posterior
        >>> from hush.mechanisms import Geometric
        >>> found = posterior(31, RateModel(exposure=10.0), stats.gamma(1, scale=10),
        ...                   mechanism=Geometric(scale=1))
        >>> low, high = found.interval(0.95)
        >>> round(low, 2), round(high, 2)
        (2.14, 4.39)
    """

    exposure: float = 1.0
    name = "rate"

    def __post_init__(self) -> None:
        checks.real("exposure", self.exposure, above=0)

    def rough(self, seen: Observed) -> tuple[float, float]:
        """Return about the rate, and the spread of sampling and noise."""
        one = seen.numbers[0]
        count = max(one.value, 0.0)
        return (
            count / self.exposure,
            math.sqrt(count + 1 + one.std**2) / self.exposure,
        )

    def log_likelihood(self, seen: Observed, theta: Floats) -> Floats:
        """Return log Σ_x P(x)·P(release | x)."""
        one = seen.numbers[0]
        # Far above release and noise, where e^-700 of the likelihood is left.
        most = 4 * (max(one.value, 0.0) + _far(one) * 16 + 1000)
        found = np.full(theta.size, -np.inf)
        for i, rate in enumerate(theta):
            mean = self.exposure * float(rate)
            if 0 <= mean < most:
                first, chance = _poisson(mean)
                x = np.arange(first, first + chance.size)
                found[i] = _log_mixed(chance, one.log_likelihood(x))
        return found[:, None]

    def conditions(self) -> tuple[str, ...]:
        """Say how events came."""
        return (
            f"events come independently at one rate, over an exposure of "
            f"{self.exposure:g}",
            "an event is a record, and nobody has more than one: what a limit on rows "
            "cut off is not in it",
        )

    def predicted(self, found: GridPosterior, size: int) -> GridLaw:
        """Return how many events `size` further units of exposure will have."""
        parts = [_poisson(size * float(rate)) for rate in found.values]
        first = min(start for start, _ in parts)
        last = max(start + chance.size for start, chance in parts)
        total = np.zeros(last - first)
        for mass, (start, chance) in zip(found.masses, parts, strict=True):
            total[start - first : start - first + chance.size] += mass * chance
        edges = np.arange(first, last + 1, dtype=np.float64) - 0.5
        return GridLaw("count to come", edges, total / total.sum(), whole=True)


@final
@dataclass(frozen=True)
class MeanModel(GridModel):
    """The mean of normal values, from a noisy mean of `n` values clamped to `bounds`.

    Values are normal with standard deviation `scale`: a number, or a pair (low, high)
    between which it lies, its logarithm anywhere alike. Each is clamped to `bounds`
    before the mean is taken, and the model clamps as well, so that the posterior is of
    the mean *before* clamping. The release is the clamped mean with noise, as
    `hush.mechanisms.mean(bounds, size=n)` makes it; `added` says that it is the sum.

    Example:
        >>> from scipy import stats
        >>> from hush.inference import posterior
        >>> from hush.mechanisms import Laplace
        >>> model = MeanModel(n=500, bounds=(0, 100), scale=15.0)
        >>> found = posterior(41.3, model, stats.norm(50, 20),
        ...                   mechanism=Laplace(scale=0.4))
        >>> low, high = found.interval(0.95)
        >>> round(low, 1), round(high, 1)
        (39.6, 43.0)
    """

    n: int
    bounds: tuple[float, float]
    scale: float | tuple[float, float]
    added: bool = False
    name = "mean"
    points = 200

    def __post_init__(self) -> None:
        checks.whole("n", self.n, at_least=1)
        low, high = checks.width("bounds", self.bounds)
        if low == high:
            raise InvalidArgument("bounds must have lower < upper.")
        checks.flag("added", self.added)
        least, most = self._between
        checks.real("scale", least, above=0)
        checks.real("scale", most, at_least=least)

    @property
    def _between(self) -> tuple[float, float]:
        if isinstance(self.scale, (tuple, list)):
            return checks.interval("scale", self.scale)
        one = checks.real("scale", self.scale, above=0)
        return one, one

    @property
    def _scales(self) -> tuple[Floats, Floats]:
        """Values of the scale, and their prior weights: even in the logarithm."""
        low, high = self._between
        if low == high:
            return np.array([low]), np.ones(1)
        node, weight = np.polynomial.legendre.leggauss(_NODES)
        return low * (high / low) ** ((node + 1) / 2), weight / 2

    @property
    def nuisance(self) -> Floats:
        """Prior weights of the scales."""
        return self._scales[1]

    @property
    def _unit(self) -> float:
        """What one value of 1 moves the released number by."""
        return 1.0 if self.added else 1 / self.n

    def check(self, seen: Observed) -> None:
        """Refuse a release that was clamped to other bounds."""
        super().check(seen)
        if seen.bounds is not None and seen.bounds != tuple(map(float, self.bounds)):
            raise InvalidArgument(
                f"bounds must be those that the release was clamped to, {seen.bounds}; "
                f"got {self.bounds}."
            )

    def rough(self, seen: Observed) -> tuple[float, float]:
        """Return about the mean, and the spread of sampling and noise."""
        one = seen.numbers[0]
        scale = 1 / (self._unit * self.n)
        low, high = self.bounds
        middle = min(max(one.value * scale, low), high)
        sampling = self._between[1] / math.sqrt(self.n)
        return middle, math.hypot(sampling, one.std * scale)

    def log_likelihood(self, seen: Observed, theta: Floats) -> Floats:
        """Return log ∫ P(release | sum of clamped values) dP(sum), for each scale."""
        one = seen.numbers[0]
        columns = [law.log_likelihood(one, theta) for law in self._laws]
        return np.stack(columns, axis=1)

    @property
    def _laws(self) -> list[ClampedSum]:
        """The laws of the sum, one for each scale."""
        scales = map(float, self._scales[0])
        return [ClampedSum(self.n, self.bounds, each, self._unit) for each in scales]

    def least(self, seen: Observed) -> float:
        """Return the log likelihood below which transforms do not resolve it."""
        return max(law.least(seen.numbers[0]) for law in self._laws)

    def conditions(self) -> tuple[str, ...]:
        """Say what values are like."""
        low, high = self._between
        scale = f"{low:g}" if low == high else f"between {low:g} and {high:g}"
        return (
            f"{self.n} values, a public number, independent and normal with standard "
            f"deviation {scale}",
            f"each clamped to {tuple(self.bounds)}, which the likelihood does as well",
            "every person has one value: what a limit on rows cut off is not in it",
        )

    def predicted(self, found: GridPosterior, size: int) -> GridLaw:
        """Return the law of the mean of `size` further values, before clamping."""
        scales = self._scales[0] / math.sqrt(size)
        far = 9 * float(scales.max())
        low, high = (found.quantile(p) for p in (1e-9, 1 - 1e-9))
        edges = np.linspace(low - far, high + far, _CELLS + 1)
        below = np.zeros(edges.size)
        for column, scale in enumerate(scales):
            weight = found.masses * found.weights[:, column]
            away = (edges[:, None] - found.values) / scale
            below += special.ndtr(away) @ weight
        masses = np.diff(below)
        return GridLaw("mean to come", edges, masses / masses.sum(), whole=False)
