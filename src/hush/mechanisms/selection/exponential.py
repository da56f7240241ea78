"""The exponential mechanism: a candidate with probability ∝ exp(utility/scale)."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.mechanisms import lattice_rounding
from hush.mechanisms.mechanism import observed_run
from hush.mechanisms.selection import choice_probabilities
from hush.mechanisms.selection.base_measure import StepDensity, numbers, whole_weights
from hush.mechanisms.selection.selection import Gap, Selection, bounded_range, scores
from hush.noise import SECURE, Source, gumbel_argmax, integers
from hush.noise.categorical import piecewise, weighted
from hush.privacy.curve import Curve
from hush.serialization import LATER, tagged


def _worst(scale: float, others: float | None, candidates: int, t: float) -> float:
    # One best, the others t below: (k-1)e^(-t/s)/(1 + (k-1)e^(-t/s)). With a prior the
    # best is the lightest, and the others weigh `others` times it, whatever k is.
    beside = candidates - 1 if others is None else others
    return 1 / (1 + math.exp(min(t / scale, 700.0)) / beside)


def gap_beside(others: float | None, scale: float) -> Gap:
    """Return the worst-case gap where all others weigh `others` times the best."""
    alone = others is not None and others <= 0
    return Gap(partial(_worst, scale, others), scale, candidates=1 if alone else 2)


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

    def utilities_at(self, cells: NDArray[np.int64]) -> Any:
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
    continuum. `prior` is a public base measure: a weight for each candidate, with which
    its probability is multiplied, or a `StepDensity` for `run_pieces`.

    Guarantee: bounded range 2·sensitivity/scale (half of it if monotone), exactly; so
    ε = 2·sensitivity/scale, and the curve is tight below it.

    Example:
        >>> m = Exponential.for_epsilon(epsilon=1, sensitivity=1)
        >>> m, m.run([0, 0, 10**6])
        (Exponential(scale=2.0), 2)
        >>> -1 <= m.run_pieces([0.0, -5.0], edges=[-1.0, 0.0, 1.0]) <= 1
        True
        >>> Exponential(scale=2.0, prior=(1, 0, 1)).run([0, 10**6, 10**5])
        2

    Reference: [MT07]; N7.1, N7.base; [DDR20] for the range.
    """

    scale: float | Fraction
    monotone: bool = False
    prior: tuple[float | Fraction, ...] | StepDensity | None = field(
        default=None, metadata=LATER
    )

    def __post_init__(self) -> None:
        lattice_rounding.drawable("scale", self.scale, most=None)
        checks.flag("monotone", self.monotone)
        if self.prior is not None and not isinstance(self.prior, StepDensity):
            object.__setattr__(self, "prior", numbers("prior", self.prior))

    @cached_property
    def _weights(self) -> NDArray[Any] | None:
        """The prior as whole weights, one for each candidate."""
        if self.prior is None:
            return None
        if isinstance(self.prior, StepDensity):
            raise InvalidArgument(
                "prior is a StepDensity, which is for run_pieces. Give a tuple with a "
                "weight for each candidate."
            )
        return whole_weights("prior", self.prior)

    def _candidates(self, value: Any) -> NDArray[Any]:
        """Return utilities, as many as the prior has weights."""
        array = scores(value)
        weights = self._weights
        if weights is not None and weights.size != array.size:
            raise InvalidArgument(
                f"prior has {weights.size} weights, and value {array.size} candidates. "
                "Give a weight for each."
            )
        return array

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when no utility moves by more than `sensitivity`."""
        return bounded_range(self._log_ratio_range(sensitivity))

    @property
    def error(self) -> Gap:
        """Worst-case law of the utility gap; say `error.among(candidates)`."""
        if self.prior is not None:
            weights = [w for w in self._weights if w]  # type: ignore[union-attr]
            others = float(Fraction(sum(weights), min(weights)) - 1)
            return gap_beside(others, float(self.scale))
        return gap_beside(None, float(self.scale))

    def run(self, value: Any, *, source: Source = SECURE) -> int:
        """Return the chosen place of a vector of utilities."""
        utilities = self._candidates(value)
        if self._weights is not None:
            return weighted(utilities, self._weights, self._exact, source=source)
        return gumbel_argmax(utilities, self._exact, source=source)

    def _cell(self, pieces: "Pieces", prior: StepDensity, source: Source) -> int:
        """Return a cell, by utility and prior."""
        cells = 1 << pieces.bits
        grid = prior.on_grid(pieces.low, pieces.high, cells, points=cells)
        starts = np.unique(pieces.cuts)[:-1]  # the last cut is the end
        begins, weights = grid.split(starts, cells)
        utilities = pieces.utilities_at(begins)
        place = weighted(utilities, weights, self._exact, source=source)
        wide = int(np.append(begins, cells)[place + 1] - begins[place])
        return int(begins[place]) + int(integers(wide, source=source))

    def law(self, value: Any) -> NDArray[np.float64]:
        """Return the chance of each place: for plans and tests, it is not private.

        Guarantee: each is right to 1e-11 of itself; below 1e-300 it may be 0.

        Example:
            >>> Exponential(scale=2.0).law([1, 0]).round(4)
            array([0.6225, 0.3775])

        Reference: N7.law: at most 2·e^(-gap/scale) for the worse of two (Example 7.2).
        """
        utilities = self._candidates(value)
        chance = np.zeros(utilities.size)
        weights = self._weights
        here = slice(None) if weights is None else np.flatnonzero(weights > 0)
        gap = choice_probabilities.below_best(utilities[here], self._exact)
        log = None if weights is None else np.log(weights[here].astype(np.float64))
        chance[here] = choice_probabilities.exponential(gap, log)
        return chance

    def run_pieces(
        self, value: Any, *, edges: Any, bits: int = 40, source: Source = SECURE
    ) -> float:
        """Return a point with density ∝ exp(u/scale), u constant between `edges`.

        `edges` may depend on the data except for the first and the last, which are the
        public bounds; points lie on a public grid of 2^bits cells between these.
        """
        if self.prior is not None and not isinstance(self.prior, StepDensity):
            raise InvalidArgument(
                "prior has weights for candidates; run_pieces needs a StepDensity."
            )
        pieces = Pieces.of(scores(value), edges, bits)
        return self._place(pieces, source=source)  # type: ignore[no-any-return]

    @observed_run
    def _place(self, pieces: "Pieces", *, source: Source) -> float:
        if pieces.high == pieces.low:
            return pieces.low
        weights = np.diff(pieces.cuts)
        if isinstance(self.prior, StepDensity):
            cell = self._cell(pieces, self.prior, source)
        else:
            chosen = piecewise(pieces.utilities, weights, self._exact, source=source)
            cell = int(pieces.cuts[chosen[0]]) + chosen[1]
        share = cell / (1 << pieces.bits)
        return pieces.low + (pieces.high - pieces.low) * share
