"""A proportion from one noisy count: most powerful tests, and intervals from them.

Z = X + N, where X counts n people of chance theta and N is the noise that ran. Tests
reject for large Z; for Tulap noise (`hush.mechanisms.Canonical`) no private test of the
same pure guarantee has more power.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, final

import numpy as np

from hush import checks
from hush.errors import InvalidArgument
from hush.inference.additive_noise import Additive, Floats, drawn_tie, number
from hush.inference.binomial import Score, expected, solve, weights
from hush.inference.results import Interval, Test
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source

Alternative = Literal["greater", "less", "two-sided"]
_WHOLE = 1 << 16  # up to this many people all scores are kept


@final
@dataclass(frozen=True)
class NoisyCount:
    """A released count of `n` people, its noise, and where in its atom it stands.

    Guarantee: over data, noise and a uniform `tie`, `upper(theta)` is uniform on [0, 1]
    when theta is the truth.

    Reference: docs/proofs/inference.md.
    """

    released: float
    n: int
    noise: Additive
    tie: float

    def _scores(self, first: int, last: int) -> Floats:
        """Return P(N > z - x) + tie·P(N = z - x) for the counts x."""
        distance = self.released - np.arange(first, last + 1, dtype=np.float64)
        return self.noise.above(distance) + self.tie * self.noise.equal(distance)

    def _opposite(self, first: int, last: int) -> Floats:
        """Return the rest, P(N < z - x) + (1 - tie)·P(N = z - x), without 1 - p."""
        distance = self.released - np.arange(first, last + 1, dtype=np.float64)
        return self.noise.below(distance) + (1 - self.tie) * self.noise.equal(distance)

    @cached_property
    def _score(self) -> Score:
        if self.n > _WHOLE:
            return self._scores
        kept = self._scores(0, self.n)
        return lambda first, last: kept[first : last + 1]

    def upper(self, theta: float) -> float:
        """Return the p-value of theta against larger ones."""
        return expected(self.n, theta, self._score)[0]

    def lower(self, theta: float) -> float:
        """Return the p-value of theta against smaller ones."""
        return expected(self.n, theta, self._opposite)[0]

    def theta(self, upper: float) -> float:
        """Return the theta with this p-value against larger ones; 0 or 1 at the end."""
        return solve(self.n, self._score, upper)


@final
@dataclass(frozen=True)
class Proportion(Interval):
    """A proportion from a noisy count; every interval inverts exact tests.

    `value` is the median-unbiased estimate, inside the interval of every level.
    """

    count: NoisyCount = field(repr=False)  # its law alone would fill a page

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return ends that each fail with probability (1 - level)/2, exactly."""
        miss = (1 - checks.real("level", level, above=0, below=1)) / 2
        return self.count.theta(miss), self.count.theta(1 - miss)


def noisy_count(
    released: Any,
    n: int,
    mechanism: Mechanism,
    tie: float | None = None,
    source: Source = SECURE,
) -> NoisyCount:
    """Return a released count with its noise, after checking both."""
    value = number("released", released)
    people = checks.whole("n", n, at_least=1)
    noise = Additive.of(mechanism, released)
    _refuse_share(value, noise)
    return NoisyCount(value, people, noise, drawn_tie(tie, source))


def _refuse_share(released: float, noise: Additive) -> None:
    """Refuse a number that no count can have become with this noise.

    A count that was released is refused with chance at most 1e-12.
    """
    away = np.array([abs(released - round(released))])
    if float((noise.above(away) + noise.equal(away) + noise.below(-away))[0]) < 1e-12:
        raise InvalidArgument(
            "released must be a noisy count of people; noise this small takes no whole "
            "number there. Give the count and its noise, not the share."
        )


def proportion_interval(
    released: Any,
    *,
    n: int,
    mechanism: Mechanism,
    level: float = 0.95,
    tie: float | None = None,
    source: Source = SECURE,
) -> Proportion:
    """Return the proportion behind a noisy count of `n` people, with its interval.

    `released` is the count that `mechanism` made noisy, not the share. `tie` places the
    answer inside its atom: left open, it is drawn afresh and coverage
    is exact; 0.5 gives the mid-p interval, the same at every call.

    Guarantee: for every theta in (0, 1) the interval misses on either side with
    probability (1 - level)/2, over people and noise. It uses the release alone.

    Example:
        >>> from hush.mechanisms import Canonical
        >>> from hush.privacy import Pure
        >>> noise = Canonical(Pure(epsilon=1.0))
        >>> low, high = proportion_interval(120, n=1000, mechanism=noise, tie=0.5)
        >>> round(low, 4), round(high, 4)
        (0.1008, 0.1414)

    Reference: [AS18]; docs/proofs/inference.md.
    """
    checks.real("level", level, above=0, below=1)
    count = noisy_count(released, n, mechanism, tie, source)
    value = count.theta(0.5)
    noise = (count.noise.std / count.n) ** 2
    sampling = max(value * (1 - value), 1 / (4 * count.n)) / count.n
    effective = count.n * sampling / (sampling + noise)
    return Proportion(value, (sampling + noise) ** 0.5, effective, level, count)


def proportion_test(
    released: Any,
    *,
    null: float,
    n: int,
    mechanism: Mechanism,
    alternative: Alternative = "two-sided",
    tie: float | None = None,
    source: Source = SECURE,
) -> Test:
    """Return the p-value of `theta = null` from a noisy count of `n` people.

    Guarantee: under the null the p-value is uniform (one-sided; two-sided it is twice
    the smaller side). With `Canonical` noise of a pure target the one-sided tests are
    the most powerful among all ε-private ones; with δ > 0 they come as near to the most
    powerful (ε, δ)-private ones as its `pieces` are fine.

    Example:
        >>> from hush.mechanisms import Canonical
        >>> from hush.privacy import Pure
        >>> noise = Canonical(Pure(epsilon=1.0))
        >>> found = proportion_test(30, null=0.9, n=30, mechanism=noise, tie=0.5,
        ...                         alternative="greater")
        >>> round(found.p_value, 4)
        0.0705

    Reference: [AS18] Theorem 4.2; docs/proofs/inference.md.
    """
    theta = checks.real("null", null, at_least=0, at_most=1)
    count = noisy_count(released, n, mechanism, tie, source)
    if alternative == "greater":
        found = count.upper(theta)
    elif alternative == "less":
        found = count.lower(theta)
    elif alternative == "two-sided":
        found = min(1.0, 2 * min(count.upper(theta), count.lower(theta)))
    else:
        raise InvalidArgument(
            "alternative must be 'greater', 'less' or 'two-sided'; got "
            f"{alternative!r}."
        )
    return Test(count.released, min(found, 1.0), alternative)


def proportion_power(
    theta: float,
    *,
    null: float,
    n: int,
    mechanism: Mechanism,
    alpha: float = 0.05,
) -> float:
    """Return the power at `theta` of the test of `null` against larger proportions.

    `alpha` is the chance of a false rejection, and the count is a whole number.

    Example:
        >>> from hush.mechanisms import Canonical
        >>> from hush.privacy import Pure
        >>> noise = Canonical(Pure(epsilon=1.0))
        >>> round(proportion_power(0.98, null=0.9, n=30, mechanism=noise), 3)
        0.242

    Reference: [AS18] Section 6.
    """
    alpha = checks.real("alpha", alpha, above=0, below=1)
    people = checks.whole("n", n, at_least=1)
    noise = Additive.of(mechanism, 0)
    start = checks.real("null", null, at_least=0, at_most=1)
    truth = checks.real("theta", theta, at_least=0, at_most=1)

    def chances(chance: float, z: int) -> tuple[float, float]:
        first, weight = weights(people, chance)
        gap = z * noise.step - np.arange(first, first + weight.size)
        return float(weight @ noise.above(gap)), float(weight @ noise.equal(gap))

    low, high = -1, people
    while chances(start, low)[0] <= alpha:
        low = 2 * low
    while chances(start, high)[0] > alpha:
        high = 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if chances(start, middle)[0] <= alpha:
            high = middle
        else:
            low = middle
    beyond, at = chances(start, high)
    share = min(1.0, (alpha - beyond) / at) if at > 0 else 0.0
    beyond, at = chances(truth, high)
    return beyond + share * at
