"""Combined estimates: weighted sums, ratios, and several intervals that all hold."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, final

from hush import checks
from hush.errors import InvalidArgument
from hush.estimate import Estimate
from hush.inference import inputs
from hush.inference.results import Interval

Ends = tuple[float, float]


def _reaches(estimate: Estimate, level: float) -> Ends:
    """Return how far the lower and the upper end are from the value."""
    low, high = estimate.interval(level)
    value = float(estimate.value)
    return max(value - float(low), 0.0), max(float(high) - value, 0.0)


# -- Several intervals that hold together ----------------------------------------------


def simultaneous(
    estimates: Iterable[Any], *, level: float = 0.95, independent: bool = False
) -> list[Ends]:
    """Return an interval for each estimate, all of which hold with chance `level`.

    For the groups of a table, so that the one that stands out is not an accident of
    looking at many. `independent` estimates, of groups that share nobody, are
    a little narrower (Šidák); else the chance to miss is divided (Bonferroni).

    Guarantee: as good as the intervals of the estimates at the higher level.

    Example:
        >>> from hush.inference import proportion_interval
        >>> from hush.mechanisms import Geometric
        >>> groups = [proportion_interval(each, n=500, mechanism=Geometric(scale=2),
        ...                               tie=0.5) for each in (37, 61, 40)]
        >>> [(round(low, 3), round(high, 3)) for low, high in simultaneous(groups)]
        [(0.046, 0.109), (0.088, 0.163), (0.051, 0.116)]

    Reference: [S67]; docs/inference.md has measured coverage.
    """
    share = checks.real("level", level, above=0, below=1)
    found = [
        inputs.estimate("estimates", e) for e in inputs.listed("estimates", estimates)
    ]
    if not found:
        raise InvalidArgument("estimates must hold at least one estimate.")
    many = len(found)
    each = share ** (1 / many) if independent else 1 - (1 - share) / many
    return [
        (float(low), float(high)) for low, high in (e.interval(each) for e in found)
    ]


# -- Sums of estimates with public weights ---------------------------------------------


@final
@dataclass(frozen=True)
class WeightedSum(Interval):
    """Σ weight·estimate of independent estimates, whose ends are combined (MOVER)."""

    terms: tuple[tuple[float, Estimate], ...] = field(repr=False)

    def interval(self, level: float = 0.95) -> Ends:
        """Return ends: errors on the sides that matter add in squares."""
        checks.real("level", level, above=0, below=1)
        down = up = 0.0
        for weight, estimate in self.terms:
            sides = _reaches(estimate, level)
            below, above = sides if weight >= 0 else sides[::-1]
            down, up = (
                math.hypot(down, weight * below),
                math.hypot(up, weight * above),
            )
        return self.value - down, self.value + up


def weighted_interval(
    estimates: Iterable[Any], weights: Any, *, level: float = 0.95
) -> WeightedSum:
    """Return Σ weight·estimate: a mean of strata, with their public survey weights.

    The estimates are independent, of groups that share nobody; `weights` are public:
    shares of the population that add to 1 make a mean of it, 1 and -1 a difference.

    Guarantee: coverage is measured in docs/inference.md.

    Example:
        >>> from hush.inference import mean_interval
        >>> from hush.mechanisms import Laplace
        >>> strata = [mean_interval(each, n=400, mechanism=Laplace(scale=0.3),
        ...                         bounds=(0, 100), variance=200.0)
        ...           for each in (41.0, 55.0)]
        >>> found = weighted_interval(strata, [0.8, 0.2])
        >>> round(found.value, 1), round(found.low, 1), round(found.high, 1)
        (43.8, 42.3, 45.3)

    Reference: [ZD08]; docs/proofs/inference.md.
    """
    checks.real("level", level, above=0, below=1)
    found = [
        inputs.estimate("estimates", e) for e in inputs.listed("estimates", estimates)
    ]
    shares = inputs.numbers("weights", weights)
    if not found or shares.shape != (len(found),):
        raise InvalidArgument(
            f"weights must be one number for each of {len(found)} estimates; got shape "
            f"{shares.shape}."
        )
    terms = tuple(
        (checks.real("weights", w), e)
        for w, e in zip(shares.tolist(), found, strict=True)
    )
    value = math.fsum(w * float(e.value) for w, e in terms)
    std = math.hypot(*(w * float(e.std) for w, e in terms))
    # What the same precision would take: each stratum's variance without noise is
    # std²·effective/people, so effective numbers add like those of one sample.
    worth = [(w * float(e.std)) ** 2 * float(e.effective) for w, e in terms]
    effective = math.fsum(worth) / std**2 if std > 0 else 0.0
    return WeightedSum(value, std, effective, level, terms=terms)


# -- The ratio of two estimates --------------------------------------------------------


@final
@dataclass(frozen=True)
class EstimateRatio(Interval):
    """The ratio of two independent estimates, the second one positive.

    Guarantee: the set of ratios u for which zero lies between the ends of
    first - u·second; of normal errors it is Fieller's. Where the second is not clearly
    above zero at this level, any ratio is possible and the ends are infinite.
    """

    first: Estimate = field(repr=False)
    second: Estimate = field(repr=False)

    def interval(self, level: float = 0.95) -> Ends:
        """Return the ratios that both estimates do not contradict."""
        checks.real("level", level, above=0, below=1)
        a, b = float(self.first.value), float(self.second.value)
        (down, up), (less, more) = (
            _reaches(self.first, level),
            _reaches(self.second, level),
        )
        if b <= 0 or less >= b:
            return -math.inf, math.inf

        def lowest(u: float) -> float:  # of first - u·second
            return a - u * b - math.hypot(down, u * (more if u >= 0 else less))

        def highest(u: float) -> float:
            return a - u * b + math.hypot(up, u * (less if u >= 0 else more))

        return _root(lowest, a / b, -1.0), _root(highest, a / b, 1.0)


def _root(contrast: Callable[[float], float], start: float, side: float) -> float:
    """Return where a falling function of u comes to zero, on this side of `start`."""
    far = max(abs(start), 1e-12)
    inside, outside = start, start + side * far
    for _ in range(200):
        if contrast(outside) * side < 0:
            break
        inside, far = outside, 2 * far
        outside = start + side * far
    else:
        return side * math.inf
    for _ in range(100):
        middle = (inside + outside) / 2
        if contrast(middle) * side < 0:
            outside = middle
        else:
            inside = middle
    return outside


def ratio_interval(first: Any, second: Any, *, level: float = 0.95) -> EstimateRatio:
    """Return first / second for independent estimates: a risk ratio, a cost per head.

    Guarantee: coverage is measured in docs/inference.md; where the second may be zero
    both ends are infinite.

    Example:
        >>> from hush.inference import proportion_interval
        >>> from hush.mechanisms import Geometric
        >>> noise = Geometric(scale=1)
        >>> treated = proportion_interval(90, n=1000, mechanism=noise, tie=0.5)
        >>> others = proportion_interval(60, n=1000, mechanism=noise, tie=0.5)
        >>> low, high = ratio_interval(treated, others)
        >>> round(low, 2), round(high, 2)
        (1.09, 2.07)

    Reference: [F54], [ZD08]; docs/proofs/inference.md.
    """
    checks.real("level", level, above=0, below=1)
    a, b = inputs.estimate("first", first), inputs.estimate("second", second)
    top, bottom = float(a.value), float(b.value)
    if bottom <= 0:
        value = std = math.inf
    else:
        value = top / bottom
        std = math.hypot(float(a.std), value * float(b.std)) / bottom
    sizes = float(a.effective), float(b.effective)
    effective = 1 / (1 / sizes[0] + 1 / sizes[1]) if min(sizes) > 0 else 0.0
    return EstimateRatio(value, std, effective, level, first=a, second=b)
