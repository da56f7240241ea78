"""The exponential mechanism: a candidate with probability ∝ exp(utility/scale)."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.mechanisms import lattice_rounding
from hush.mechanisms.listening import heard
from hush.mechanisms.selection import choice_probabilities
from hush.mechanisms.selection.selection import Gap, Selection, bounded_range, scores
from hush.noise import SECURE, Source, gumbel_argmax
from hush.noise.categorical import piecewise
from hush.privacy.curve import Curve
from hush.serialization import tagged


def _worst(scale: float, candidates: int, t: float) -> float:
    # One best, the others t below: (k-1)e^(-t/s)/(1 + (k-1)e^(-t/s)).
    return 1 / (1 + math.exp(min(t / scale, 700.0)) / (candidates - 1))


@final
@dataclass(frozen=True, eq=False)
class Pieces:
    """A utility that is constant between cuts of a public grid of 2^bits cells."""

    utilities: Any = field(repr=False)
    cuts: NDArray[np.int64] = field(repr=False)
    low: float
    high: float
    bits: int

    @classmethod
    def of(cls, utilities: Any, edges: Any, bits: int) -> Self:
        """Return the pieces, their edges moved down to the grid."""
        if len(edges) != utilities.size + 1:
            raise InvalidArgument("edges must be one more than the utilities.")
        low, high = checks.width("edges", (float(edges[0]), float(edges[-1])))
        cells = 1 << checks.whole("bits", bits, at_least=1, at_most=50)
        if high == low:
            return cls(utilities, np.zeros(len(edges), dtype=np.int64), low, high, bits)
        # As for all data, NaN counts as the lower end.
        inside = np.nan_to_num(np.asarray(edges, dtype=np.float64), nan=low)
        place = (np.clip(inside, low, high) - low) / (high - low) * cells
        cuts = np.maximum.accumulate(np.clip(np.floor(place), 0, cells)).astype(
            np.int64
        )
        cuts[0], cuts[-1] = 0, cells
        return cls(utilities, cuts, low, high, bits)

    def at(self, cells: NDArray[np.int64]) -> Any:
        """Return the utility in each of some cells."""
        places = np.searchsorted(self.cuts, cells, side="right") - 1
        return self.utilities[np.minimum(places, len(self.utilities) - 1)]


@final
@tagged("exponential/1")
@dataclass(frozen=True, repr=False)
class Exponential(Selection):
    """Choose place i of a vector of utilities with probability ∝ exp(u_i/scale).

    `monotone` says that a neighbor moves all utilities in the same direction (counts
    under add/remove), which halves the cost. `run_pieces` chooses from a
    continuum.

    Guarantee: bounded range 2·sensitivity/scale (half of it if monotone), exactly; so
    ε = 2·sensitivity/scale, and the curve is tight below it.

    Example:
        >>> m = Exponential.for_epsilon(epsilon=1, sensitivity=1)
        >>> m, m.run([0, 0, 10**6])
        (Exponential(scale=2.0), 2)
        >>> -1 <= m.run_pieces([0.0, -5.0], edges=[-1.0, 0.0, 1.0]) <= 1
        True

    Reference: [MT07]; N7.1; [DDR20] for the range.
    """

    scale: float | Fraction
    monotone: bool = False

    def __post_init__(self) -> None:
        lattice_rounding.drawable("scale", self.scale, most=None)
        checks.flag("monotone", self.monotone)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when no utility moves by more than `sensitivity`."""
        return bounded_range(self._span(sensitivity))

    @property
    def error(self) -> Gap:
        """Worst-case law of the utility gap; say `error.among(candidates)`."""
        return Gap(partial(_worst, float(self.scale)), float(self.scale))

    def run(self, value: Any, *, source: Source = SECURE) -> int:
        """Return the chosen place of a vector of utilities."""
        return gumbel_argmax(scores(value), self._exact, source=source)

    def law(self, value: Any) -> NDArray[np.float64]:
        """Return the chance of each place: for plans and tests, it is not private.

        Guarantee: each is right to 1e-11 of itself; below 1e-300 it may be 0.

        Example:
            >>> Exponential(scale=2.0).law([1, 0]).round(4)
            array([0.6225, 0.3775])

        Reference: N7.law: at most 2·e^(-gap/scale) for the worse of two (Example 7.2).
        """
        gap = choice_probabilities.below_best(scores(value), self._exact)
        return choice_probabilities.exponential(gap)

    def run_pieces(
        self, value: Any, *, edges: Any, bits: int = 40, source: Source = SECURE
    ) -> float:
        """Return a point with density ∝ exp(u/scale), u constant between `edges`.

        `edges` may depend on the data except for the first and the last, which are the
        public bounds; points lie on a public grid of 2^bits cells between these.
        """
        pieces = Pieces.of(scores(value), edges, bits)
        return self._place(pieces, source=source)  # type: ignore[no-any-return]

    @heard
    def _place(self, pieces: "Pieces", *, source: Source) -> float:
        if pieces.high == pieces.low:
            return pieces.low
        weights = np.diff(pieces.cuts)
        chosen = piecewise(pieces.utilities, weights, self._exact, source=source)
        share = (int(pieces.cuts[chosen[0]]) + chosen[1]) / (1 << pieces.bits)
        return pieces.low + (pieces.high - pieces.low) * share
