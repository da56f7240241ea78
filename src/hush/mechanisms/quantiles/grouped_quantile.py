"""Private quantiles of many weighted histograms at once."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.checks import distance
from hush.errors import InvalidArgument
from hush.mechanisms import lattice_rounding
from hush.mechanisms.laplace import Geometric
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import Metric
from hush.mechanisms.quantiles import quantile
from hush.mechanisms.quantiles.grouped_histograms import (
    Cells,
    CellWeights,
    Group,
    Integers,
)
from hush.mechanisms.quantiles.rank_draw import Choice, draw
from hush.mechanisms.selection.exponential import Exponential
from hush.mechanisms.selection.selection import Gap, bounded_range
from hush.noise import SECURE, Source, discrete_laplace
from hush.privacy.curve import Curve
from hush.privacy.rounding import at_least
from hush.privacy.rules.composition import compose
from hush.serialization import tagged

_COARSE = 4  # counts that divide a heavy cell are this much noisier than the choice
_MISS = 0.05  # how often a minimum may fall below all weight

Edges = tuple[int, int]
Target = Callable[[int], Fraction]


def factor(low: Fraction, high: Fraction) -> Fraction:
    """Return the range per unit of weight when a target moves by low..high per unit.

    Guarantee: for one unit of added weight the largest and the smallest change of the
    rank errors differ by at most this (docs/proofs/cell_quantile.md).
    """
    return max(Fraction(1), 2 * (1 - low), 2 * high)


def depth(scale: Fraction, size: int, miss: float) -> int:
    """Return a weight that a rank error reaches with probability at most `miss`."""
    return math.ceil(scale * Fraction(math.log(size / miss)))


def _cost(inside: Fraction) -> Fraction:
    return Fraction(2) if inside in (0, 1) else factor(inside, inside)


@final
@tagged("cell_quantile/1")
@dataclass(frozen=True, repr=False)
class CellQuantile(Mechanism):
    """Estimate quantiles of each of many weighted histograms over `size` cells.

    In each group cell x has probability ∝ exp(-e(x)/scale), e(x) the distance of the
    wanted rank at·total from [weight below x, weight up to x]. Level 0 is the minimum:
    the rank is then about scale·log(size), so that the empty cells below all weight are
    left behind, and that much weight is ignored; level 1 likewise from above.

    Several levels are found by halving, a heavy cell divided by a noisy count: m of
    them cost ⌈log2(m+1)⌉ single ones and as many coarse counts less one.

    Guarantee: when the weights of all groups and cells together move by at most
    `sensitivity` (ℓ1), range c·sensitivity/scale, c = 2·max(at, 1-at): a median costs
    half of an extreme one. It does not matter over how many groups a person is spread.

    Example:
        >>> m = CellQuantile.for_epsilon(epsilon=1, at=0.5, size=8)
        >>> m
        CellQuantile(at=0.5, size=8, scale=1.0)
        >>> m.run([[0, 0, 90, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 70, 60]]).tolist()
        [2, 6]

    Reference: [S11]; several: [KSS22]; docs/proofs/cell_quantile.md.
    """

    at: float | tuple[float, ...]
    size: int
    scale: float | Fraction

    @property
    def metric(self) -> Metric:
        """The weight that moves, over all groups."""
        return CellWeights()

    def __post_init__(self) -> None:
        checks.whole("size", self.size, at_least=1)
        lattice_rounding.drawable("scale", self.scale, most=lattice_rounding.WIDEST)
        object.__setattr__(self, "at", quantile.checked_levels(self.at))
        if len(self._rounds) > 1:
            lattice_rounding.drawable(
                "the scale of coarse counts", _COARSE * self._exact
            )

    @property
    def _levels(self) -> tuple[Fraction, ...]:
        return quantile.fractions(self.at)

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("scale", self.scale)

    @cached_property
    def _rounds(self) -> tuple[Fraction, ...]:
        """Range of each round of choices, per unit of weight and 1/scale."""
        asked = quantile.rounds(self._levels)
        return tuple(max(map(_cost, each)) for each in asked)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee for weights that move by `sensitivity` in all (ℓ1)."""
        moved = distance(sensitivity)
        parts: list[Curve] = [
            bounded_range(each * moved / self._exact) for each in self._rounds
        ]
        if len(parts) == 1:
            return parts[0]
        count = Geometric(_COARSE * self._exact).curve(sensitivity)
        return compose(*parts, *[count] * (len(self._rounds) - 1))

    @property
    def error(self) -> Gap:
        """Worst-case law of the rank error in one group, in units of weight.

        Of several levels: of each choice, relative to the part it was made in.
        """
        return Exponential(self.scale).error.among(self.size)

    def rank_error(self, level: float = 0.95, groups: int = 1) -> float:
        """Return the weight that the rank errors of all groups stay within.

        Guarantee: with probability at least `level`, whatever the data.
        """
        level = checks.real("level", level, above=0, below=1)
        several = checks.whole("groups", groups, at_least=1) * len(self._levels)
        return self.error.quantile(1 - (1 - level) / several)

    def run(self, value: Any, *, source: Source = SECURE) -> NDArray[np.int64]:
        """Return a cell for each group; of several levels, a row of cells for each.

        `value` is `Cells`, or an array of whole weights of shape (groups, size).
        """
        cells = Cells.of(value)
        if cells.size != self.size:
            raise InvalidArgument(
                f"value must have size={self.size} cells; it has {cells.size}."
            )
        groups = list(cells.groups)
        edges = [(0, self.size)] * len(groups)
        ends = (Fraction(0), Fraction(1))
        found = self._find(groups, edges, self._levels, ends, source)
        return np.stack(found, axis=1) if isinstance(self.at, tuple) else found[0]

    def _find(
        self,
        groups: list[Group],
        edges: list[Edges],
        asked: tuple[Fraction, ...],
        ends: tuple[Fraction, Fraction],
        source: Source,
    ) -> list[Integers]:
        """Return, level by level, the cells in parts of groups between two levels."""
        if not asked:
            return []
        half = len(asked) // 2
        middle = asked[half]
        inside = quantile.fraction_between(ends[0], middle, ends[1])
        target = self._target(inside)
        found = draw(
            [
                Choice.of(group, edge, target(group.total), self._exact)
                for group, edge in zip(groups, edges, strict=True)
            ],
            source,
        )
        if len(asked) == 1:
            return [found]
        shares = self._shares(groups, found, inside, source)
        below, above = [], []
        for group, cell, share in zip(groups, found.tolist(), shares, strict=True):
            parts = group.split(cell, share)
            below.append(parts[0])
            above.append(parts[1])
        cells = found.tolist()
        left = [(edge[0], cell + 1) for edge, cell in zip(edges, cells, strict=True)]
        right = [(cell, edge[1]) for edge, cell in zip(edges, cells, strict=True)]
        return [
            *self._find(below, left, asked[:half], (ends[0], middle), source),
            found,
            *self._find(above, right, asked[half + 1 :], (middle, ends[1]), source),
        ]

    def _target(self, level: Fraction) -> Target:
        """Return the wanted rank as a function of a group's total."""
        skipped = depth(self._exact, self.size, _MISS)
        if level == 0:
            return lambda total: min(Fraction(skipped), Fraction(total, 2))
        if level == 1:
            return lambda total: total - min(Fraction(skipped), Fraction(total, 2))
        return lambda total: level * total

    def _shares(
        self, groups: list[Group], found: Integers, level: Fraction, source: Source
    ) -> list[Fraction]:
        """Return how much of each found cell lies below a level, by noisy counts."""
        counts = np.zeros((len(groups), 3), dtype=np.int64)
        for row, group, cell in zip(counts, groups, found, strict=True):
            low, high = np.searchsorted(group.places, [cell, cell + 1])
            row[:] = np.diff(group.ranks[[0, low, high, -1]])
        counts += discrete_laplace(_COARSE * self._exact, counts.shape, source=source)
        return [_share(level, *row) for row in counts.tolist()]

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        one = cls(scale=1, **public)
        spans = sum(one._rounds) + Fraction(len(one._rounds) - 1, _COARSE)
        wanted = checks.rational("epsilon", epsilon)
        return cls(scale=at_least(spans * distance(sensitivity) / wanted), **public)


def _share(level: Fraction, below: int, inside: int, above: int) -> Fraction:
    """Return the share of a cell that lies below a level of the whole."""
    if inside <= 0:
        return Fraction(1, 2)
    wanted = (level * (below + inside + above) - below) / inside
    return min(max(wanted, Fraction(0)), Fraction(1)).limit_denominator(quantile.FEW)
