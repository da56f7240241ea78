"""A private quantile of many weighted histograms, between two private ends."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Self, final

import numpy as np

from hush import checks
from hush.checks import distance
from hush.errors import InvalidArgument
from hush.mechanisms import lattice_rounding
from hush.mechanisms.laplace import Geometric
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import Metric
from hush.mechanisms.quantiles import quantile
from hush.mechanisms.quantiles.grouped_histograms import Cells, CellWeights, Integers
from hush.mechanisms.quantiles.grouped_quantile import CellQuantile, depth, factor
from hush.mechanisms.quantiles.rank_draw import Choice, draw
from hush.mechanisms.selection.selection import Gap, bounded_range
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve
from hush.privacy.rounding import at_least
from hush.privacy.rules.composition import compose
from hush.serialization import tagged

# Shares of ε for the count, the estimate and each end. Public, whatever the data.
_SAMPLING = (Fraction(1, 10), Fraction(1, 2), Fraction(1, 5))
_NOISE = (Fraction(0), Fraction(1, 2), Fraction(1, 4))
_FINE = 10_000  # lines of the sampling error have slopes that are multiples of 1e-4


class Between(NamedTuple):
    """Cells of each group: the estimate and the ends around it; and a noisy total.

    `total` is None where sampling is not covered: nothing was spent on it.
    """

    point: Integers
    low: Integers
    high: Integers
    total: Integers | None


@final
@tagged("cell_interval/1")
@dataclass(frozen=True, repr=False)
class CellInterval(Mechanism):
    """Estimate a quantile of each histogram and two cells that it lies between.

    With probability at least `level` the cells low..high hold the true quantile of the
    histogram. If `person` is given, the largest weight that one person has in a group,
    they also hold the quantile of the population of which the people are a random
    sample, with the same probability: sampling is covered too, for any distribution,
    and rows of one person may depend on each other. Proved where the weight of a person
    says nothing about the values, as with one row each; close elsewhere.

    An end aims at the rank where even an unlucky draw stays on its side. In a group too
    small for that an end is the edge of the cells, and says so honestly.

    Guarantee: ε = sensitivity/scale when all weights move by `sensitivity` (ℓ1): half
    is spent on the estimate, the rest on the ends (and a tenth on a count if `person`).
    Coverage holds for each group, whatever its weights.

    Example:
        >>> m = CellInterval.for_epsilon(epsilon=1, at=0.5, size=64)
        >>> found = m.run([[0] * 20 + [5000] + [0] * 43])
        >>> found.low.tolist(), found.point.tolist(), found.high.tolist()
        ([20], [20], [20])

    Reference: docs/proofs/cell_quantile.md; [S11].
    """

    at: float
    size: int
    scale: float | Fraction
    level: float = 0.95
    person: int | None = None

    @property
    def metric(self) -> Metric:
        """The weight that moves, over all groups."""
        return CellWeights()

    def __post_init__(self) -> None:
        checks.whole("size", self.size, at_least=1)
        lattice_rounding.drawable("scale", self.scale, most=lattice_rounding.WIDEST)
        checks.real("level", self.level, above=0, below=1)
        quantile.fraction(self.at)
        if self.person is not None:
            checks.whole("person", self.person, at_least=1)

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("scale", self.scale)

    @cached_property
    def _alpha(self) -> Fraction:
        return quantile.fraction(self.at)

    @property
    def _covers_sampling(self) -> bool:
        # An extreme of a sample lies inside the population: nothing to add there.
        return self.person is not None and 0 < self._alpha < 1

    @cached_property
    def _shares(self) -> tuple[Fraction, Fraction, Fraction]:
        count, point, end = _SAMPLING if self._covers_sampling else _NOISE
        return (count, point, end) if 0 < self._alpha < 1 else (count, point, 2 * end)

    @cached_property
    def _failure_chance(self) -> float:
        """How often one end, or the sampling error on its side, may fail."""
        events = (2 if 0 < self._alpha < 1 else 1) * (2 if self._covers_sampling else 1)
        return (1 - self.level) / events

    @cached_property
    def _steepest(self) -> Fraction:
        """Largest slope of a line above the sampling error: it costs range."""
        if not self._covers_sampling:
            return Fraction(0)
        return min(self._alpha, 1 - self._alpha) / 5

    @cached_property
    def point(self) -> CellQuantile:
        """The mechanism of the estimate."""
        share = self._shares[1]
        one = CellQuantile(at=float(self._alpha), size=self.size, scale=1)
        return CellQuantile(
            at=one.at, size=self.size, scale=one._rounds[0] * self._exact / share
        )

    def _end_scale(self, side: int) -> Fraction:
        """Return the scale of the low (-1) or the high (+1) end."""
        far = self._alpha + side * self._steepest
        slopes = (far, self._alpha) if side < 0 else (self._alpha, far)
        return factor(*slopes) * self._exact / self._shares[2]

    @property
    def _sides(self) -> tuple[int, ...]:
        """The ends that are drawn: below a minimum there is only the edge."""
        return tuple(side for side in (-1, 1) if self._alpha != (0 if side < 0 else 1))

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee for weights that move by `sensitivity` in all (ℓ1)."""
        moved = distance(sensitivity)
        count, point, end = self._shares
        parts = [bounded_range(moved * point / self._exact)]
        parts += [bounded_range(moved * end / self._exact)] * len(self._sides)
        if count:
            parts.append(Geometric(self._exact / count).curve(sensitivity))
        return compose(*parts)

    @property
    def error(self) -> Gap:
        """Worst-case law of the rank error of the estimate, in units of weight."""
        return self.point.error

    @property
    def slack(self) -> int:
        """How much weight beyond the quantile an end aims at.

        It may reach as far again. The larger of both ends; sampling comes on top.
        """
        return max(
            depth(self._end_scale(side), self.size, self._failure_chance)
            for side in self._sides
        )

    def sampling(self, total: int) -> Fraction:
        """Return what the ends add to their aim for sampling, in a group of `total`."""
        lines = (self._line(side, total) for side in self._sides)
        return max(slope * total + start for slope, start in lines)

    def run(self, value: Any, *, source: Source = SECURE) -> Between:
        """Return cells for each group, and a noisy total where sampling is covered."""
        cells = Cells.of(value)
        point = self.point.run(cells, source=source)
        counts = None
        if self._covers_sampling:
            totals = np.array([group.total for group in cells.groups], dtype=np.int64)
            counts = Geometric(self._exact / self._shares[0]).run(totals, source=source)
        low, high = np.zeros_like(point), np.full_like(point, self.size - 1)
        if -1 in self._sides:
            low = self._end(-1, cells, counts, source)
        if 1 in self._sides:
            high = self._end(1, cells, counts, source)
        return Between(point, np.minimum(low, point), np.maximum(high, point), counts)

    def _end(
        self, side: int, cells: Cells, counts: Integers | None, source: Source
    ) -> Integers:
        """Return the cell of one end in each group, inside the domain."""
        scale = self._end_scale(side)
        beyond = depth(scale, self.size, self._failure_chance)
        # Cells that stand for "no end": so many that small groups choose them.
        pad = math.ceil(self.size / self._failure_chance)
        edges = (-pad, self.size) if side < 0 else (0, self.size + pad)
        choices = []
        for place, group in enumerate(cells.groups):
            slope, start = self._line(side, 0 if counts is None else int(counts[place]))
            level = self._alpha + side * slope
            target = level * group.total + side * (beyond + start)
            choices.append(Choice.of(group, edges, target, scale))
        return np.clip(draw(choices, source), 0, self.size - 1)

    def _line(self, side: int, count: int) -> tuple[Fraction, int]:
        """Return (slope, start) of a line that the sampling error stays below.

        Guarantee: sound for every total, whatever `count` is; shortest near it.
        """
        if not self._covers_sampling or self.person is None:
            return Fraction(0), 0
        people = max(count / self.person, 1.0)
        alpha = float(self._alpha)
        wish = math.sqrt(
            alpha * (1 - alpha) * -math.log(self._failure_chance) / (2 * people)
        )
        slope = min(Fraction(math.ceil(wish * _FINE), _FINE), self._steepest)
        chance = self._alpha if side < 0 else 1 - self._alpha
        rate = exponent(float(chance), float(slope))
        return slope, math.ceil(
            self.person * -math.log(self._failure_chance) / rate * (1 + 1e-9)
        )

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        wanted = checks.rational("epsilon", epsilon)
        return cls(scale=at_least(distance(sensitivity) / wanted), **public)


def exponent(chance: float, slope: float) -> float:
    """Return λ with E exp(-λ(X - chance + slope)) <= 1 for a flip X of this chance.

    Guarantee: then n flips stay above n(chance - slope) - t except with probability
    e^(-λt), for every n.

    Example:
        >>> round(exponent(0.5, 0.1), 3)
        0.822
    """
    if not 0 < slope < chance < 1:
        raise InvalidArgument("slope must lie between 0 and chance, below 1.")

    def growth(rate: float) -> float:
        return math.log1p(chance * math.expm1(-rate)) + rate * (chance - slope)

    low, high = 0.0, 1.0
    while growth(high) < 0:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if growth(middle) < 0 else (low, middle)
    return low
