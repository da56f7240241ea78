"""The most frequent candidates of many groups: mode and top k of weighted counts."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.mechanisms import lattice_rounding
from hush.mechanisms.calibration import distance
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import Metric
from hush.mechanisms.quantiles.grouped_histograms import CellWeights
from hush.mechanisms.selection.exponential import Exponential
from hush.mechanisms.selection.selection import Gap, bounded_range
from hush.noise import SECURE, Source, gumbel_argmax
from hush.privacy.curve import Curve
from hush.privacy.rounding import at_least
from hush.privacy.rules.composition import repeat
from hush.serialization import tagged


@final
@tagged("cell_top/1")
@dataclass(frozen=True, repr=False)
class CellTop(Mechanism):
    """Choose the `count` heaviest public candidates of each group, best first.

    One row of whole weights per group; a candidate has probability ∝ exp(weight/scale)
    among those that are left. `count` 1 is the mode.

    Guarantee: when the weights of all groups together move by at most `sensitivity`
    (ℓ1), each of the `count` rounds has range sensitivity/scale: half of what
    utilities that move apart would cost, and no matter over how many groups.

    Example:
        >>> m = CellTop.for_epsilon(epsilon=1, count=2)
        >>> m, m.run([[0, 500, 0, 900], [700, 0, 300, 0]]).tolist()
        (CellTop(count=2, scale=2.0), [[3, 1], [0, 2]])

    Reference: [MT07]; [DR19] for k rounds; docs/proofs/cell_quantile.md.
    """

    count: int
    scale: float | Fraction

    @property
    def metric(self) -> Metric:
        """The weight that moves, over all groups."""
        return CellWeights()

    def __post_init__(self) -> None:
        checks.whole("count", self.count, at_least=1)
        lattice_rounding.drawable("scale", self.scale, most=lattice_rounding.WIDEST)

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("scale", self.scale)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee for weights that move by `sensitivity` in all (ℓ1)."""
        return repeat(
            bounded_range(distance(sensitivity) / self._exact), times=self.count
        )

    @property
    def error(self) -> Gap:
        """Worst-case gap of each choice below the heaviest that is left."""
        return Exponential(self.scale, monotone=True).error

    def run(self, value: Any, *, source: Source = SECURE) -> NDArray[np.int64]:
        """Return the chosen candidates: one row of `count` places per group."""
        weights = np.atleast_2d(np.asarray(value))
        if weights.ndim != 2 or weights.dtype.kind not in "iu":
            raise InvalidArgument(
                "value must be whole weights of shape (groups, candidates)."
            )
        if weights.shape[1] < self.count:
            raise InvalidArgument(
                f"value must have at least count={self.count} candidates; it has "
                f"{weights.shape[1]}."
            )
        chosen = np.empty((weights.shape[0], self.count), dtype=np.int64)
        for group, row in enumerate(weights):
            left, places = row, np.arange(row.size)
            for turn in range(self.count):
                at = gumbel_argmax(left, self._exact, source=source)
                chosen[group, turn] = places[at]
                left, places = np.delete(left, at), np.delete(places, at)
        return chosen

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        wanted = checks.rational("epsilon", epsilon)
        count = checks.whole("count", public.get("count"), at_least=1)
        scale = at_least(count * distance(sensitivity) / wanted)
        return cls(scale=scale, **public)
