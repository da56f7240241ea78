"""A proportion where the number of people is noisy too."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from scipy import special

from hush import checks
from hush.inference.additive_noise import Additive, Floats, number
from hush.inference.binomial import weights
from hush.inference.results import Interval
from hush.mechanisms.mechanism import Mechanism

_NODES = 25  # values for the noise of the number of people; the middle one is 0


@final
@dataclass(frozen=True)
class NoisyShare(Interval):
    """A share from two noisy counts; every interval inverts tests of their contrast."""

    hits: float
    people: float
    noise: Additive
    people_noise: Additive

    @property
    def guess(self) -> int:
        """The number of people that sampling is worked out for."""
        return max(round(self.people), 1)

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats]:
        """Values of the noise of the number of people, and their weights."""
        edges = np.linspace(-7, 7, _NODES + 1) * self.people_noise.std
        below = self.people_noise.cdf(edges)
        below[0], below[-1] = 0.0, 1.0
        return (edges[1:] + edges[:-1]) / 2, np.diff(below)

    def upper(self, theta: float) -> float:
        """Return the p-value of theta against larger ones.

        Under theta, hits - theta·people has mean 0 whatever the number of people: it is
        X - theta·n + noise - theta·noise'. Sampling is binomial for the noisy number.
        """
        first, chance = weights(self.guess, theta)
        x = np.arange(first, first + chance.size, dtype=np.float64)
        nodes, weight = self._nodes
        observed = self.hits - theta * (self.people - self.guess)
        away = observed + theta * nodes[:, None] - x
        scores = self.noise.above(away) + self.noise.equal(away) / 2
        return float(weight @ scores @ chance)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the shares that the release does not contradict."""
        miss = (1 - checks.real("level", level, above=0, below=1)) / 2
        return self.theta(miss), self.theta(1 - miss)

    def theta(self, wanted: float) -> float:
        """Return the theta with this p-value against larger ones; 0 or 1 at ends."""
        tiny = 1e-9 / self.guess
        if self.upper(tiny) >= wanted:
            return 0.0
        if self.upper(1 - tiny) <= wanted:
            return 1.0
        aim = float(special.ndtri(wanted))
        start = min(max(self.value - aim * -self.std, tiny), 1 - tiny)

        def gap(odds: float) -> float:
            p = self.upper(float(special.expit(odds)))
            return float(special.ndtri(min(max(p, 1e-300), 1 - 1e-16))) - aim

        far = float(special.logit(tiny))
        return float(special.expit(_root(gap, far, -far, float(special.logit(start)))))


def _root(
    gap: Callable[[float], float], low: float, high: float, start: float
) -> float:
    """Return the root of a rising function: secants inside a bracket."""
    x, last = start, math.nan
    value = before = math.nan
    for _ in range(100):
        value = gap(x)
        low, high = (x, high) if value < 0 else (low, x)
        slope = (value - before) / (x - last) if x != last else math.nan
        fresh = x - value / slope if slope > 0 else x - value
        if not low < fresh < high:
            fresh = (low + high) / 2
        if abs(fresh - x) < 1e-7:
            return fresh
        last, before, x = x, value, fresh
    return x


def proportion_from_counts(
    hits: Any,
    people: Any,
    *,
    mechanism: Mechanism,
    people_mechanism: Mechanism,
    level: float = 0.95,
) -> NoisyShare:
    """Return the share behind a noisy count of `hits` among a noisy count of `people`.

    For neighbors that differ by a person, where the number of people is not public.

    Guarantee: the contrast hits - share·people is tested by its exact law but for the
    number of people in the variance of sampling, which the noisy one stands for;
    coverage is measured in docs/inference.md.

    Example:
        >>> from hush.mechanisms import Geometric
        >>> noise = Geometric(scale=2)
        >>> low, high = proportion_from_counts(120, 1000, mechanism=noise,
        ...                                    people_mechanism=noise)
        >>> round(low, 3), round(high, 3)
        (0.1, 0.142)

    Reference: [F54]; docs/proofs/inference.md.
    """
    checks.real("level", level, above=0, below=1)
    top, bottom = number("hits", hits), number("people", people)
    first = Additive.of(mechanism, hits)
    second = Additive.of(people_mechanism, people)
    n = max(bottom, 1.0)
    value = min(max(top / n, 0.0), 1.0)
    sampling = max(value * (1 - value), 1 / (4 * n)) / n
    noise = (first.std**2 + (value * second.std) ** 2) / n**2
    effective = n * sampling / (sampling + noise)
    std = math.sqrt(sampling + noise)
    return NoisyShare(value, std, effective, level, top, bottom, first, second)
