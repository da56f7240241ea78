"""A private quantile of numbers without bounds: a choice among all finite floats."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, final

import numpy as np

from hush import checks
from hush.checks import distance
from hush.errors import InvalidArgument
from hush.mechanisms import lattice_rounding
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import Metric, Records
from hush.mechanisms.quantiles import quantile
from hush.mechanisms.quantiles.float_cells import LARGEST, FloatCells
from hush.mechanisms.quantiles.grouped_histograms import Group
from hush.mechanisms.quantiles.rank_draw import Choice, draw
from hush.mechanisms.queries import column
from hush.mechanisms.selection.exponential import Exponential
from hush.mechanisms.selection.selection import Gap, bounded_range
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve
from hush.privacy.rounding import at_least
from hush.serialization import tagged
from hush.units import Neighbors

_ALL = FloatCells(-LARGEST, LARGEST)


def chosen(
    values: Any, cells: FloatCells, at: Fraction, scale: Fraction, source: Source
) -> float:
    """Return a number x with chance ∝ exp(-e(x)/scale), one cell as likely as another.

    e(x) is the distance of the rank at·n from [records below x, records up to x].
    """
    places, weights = np.unique(cells.of(values), return_counts=True)
    group = Group(places, weights.astype(np.int64))
    one = Choice.of(group, (0, cells.size), at * group.total, scale)
    return cells.value(int(draw([one], source)[0]))


@final
@tagged("unbounded_quantile/1")
@dataclass(frozen=True, repr=False)
class UnboundedQuantile(Mechanism):
    """Estimate a quantile of numbers that nobody has bounded.

    The answer is a finite float x with chance ∝ exp(-e(x)/scale), where e(x) is how far
    the rank at·n lies outside [records below x, records up to x]. Eight neighboring
    floats are one choice, so that what many records share is found for sure. About
    10·scale records have to lie on each side of the quantile, and log(|x|/spread) times
    scale more: then it pays to say nothing of bounds.

    NaN counts as the lowest float, infinities as the ends.

    Guarantee: range 2/scale for replace-one, 2·max(at, 1-at)/scale for add/remove, and
    no δ. `curve(k)` is for k people.

    Example:
        >>> m = UnboundedQuantile.for_epsilon(epsilon=1, at=0.5)
        >>> m
        UnboundedQuantile(at=0.5, scale=1.0)
        >>> m.run([30.0, 40.0, 40.0, 40.0, 50.0] * 100)
        40.0

    Reference: [S11]; N7.6, N8.range; docs/proofs/clipped_mean.md.
    """

    at: float
    scale: float | Fraction
    neighbors: Neighbors = Neighbors.ADD_REMOVE
    unit: ClassVar[str] = "row"  # one record is one person

    @property
    def metric(self) -> Metric:
        """Records: people added and removed, or exchanged."""
        return Records(None, self.neighbors)

    def __post_init__(self) -> None:
        at: Any = self.at
        if isinstance(at, (tuple, list)):
            raise InvalidArgument("at must be one level; run it once for each.")
        level = quantile.fraction(self.at)
        if not 0 < level < 1:
            raise InvalidArgument(
                f"at must be between 0 and 1; got {self.at!r}. Below a minimum lie "
                "half of all floats: use Quantile with public bounds."
            )
        lattice_rounding.drawable("scale", self.scale, most=lattice_rounding.WIDEST)
        object.__setattr__(self, "neighbors", Neighbors.of(self.neighbors))

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("scale", self.scale)

    def _span(self, people: Fraction) -> Fraction:
        """Return the range of log-ratios, in units of 1/scale."""
        level = quantile.fraction(self.at)
        # One record more: 2·max(α, 1-α). One exchanged: n, and so the target, stays.
        both = self.neighbors is Neighbors.REPLACE_ONE
        return people * (2 if both else 2 * max(level, 1 - level))

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee for `sensitivity` people."""
        return bounded_range(self._span(distance(sensitivity)) / self._exact)

    @property
    def error(self) -> Gap:
        """Worst-case law of the rank error, in records."""
        return Exponential(self.scale).error.among(_ALL.size)

    def run(self, value: Any, *, source: Source = SECURE) -> float:
        """Return the estimate."""
        level = quantile.fraction(self.at)
        return chosen(column(value), _ALL, level, self._exact, source)

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        span = cls(scale=1, **public)._span(distance(sensitivity))
        return cls(scale=at_least(span / checks.rational("epsilon", epsilon)), **public)
