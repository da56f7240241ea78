"""Private quantiles: the exponential mechanism on rank error, sampled exactly."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.checks import distance
from hush.errors import InvalidArgument
from hush.mechanisms import lattice_rounding
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import Metric, Records
from hush.mechanisms.queries import clamp, column
from hush.mechanisms.selection.base_measure import GridDensity, StepDensity
from hush.mechanisms.selection.exponential import Exponential, gap_beside
from hush.mechanisms.selection.selection import Gap, bounded_range
from hush.noise import SECURE, Source, integers
from hush.noise.categorical import piecewise, weighted
from hush.privacy.curve import Curve
from hush.privacy.rounding import at_least
from hush.privacy.rules.composition import compose
from hush.serialization import LATER, tagged
from hush.units import Neighbors

_BITS = 40  # the interval is cut into 2^40 equal cells


def draw(
    cells: NDArray[np.int64],
    at: Fraction,
    scale: Fraction,
    size: int,
    source: Source,
    prior: GridDensity | None = None,
    move: int = 0,
) -> int:
    """Return a cell x of 0..size with chance ∝ exp(-|at·n - #{z <= x}|/scale).

    `cells` are the sorted records, already in 0..size. With a prior the chance of cell
    x is multiplied with the height of its cell move + x.
    """
    n = cells.size
    if prior is not None:
        return _weighted(
            cells,
            at,
            scale,
            prior.split(np.unique(np.append(cells, 0)), size + 1, move=move),
            size + 1,
            source,
        )
    starts = np.empty(n + 2, dtype=np.int64)
    starts[0], starts[1:-1], starts[-1] = 0, cells, size + 1
    # Piece i is where i records are at or below; repeated records leave it empty.
    target = at * n
    ranks = np.arange(n + 1, dtype=np.int64)
    # |at·n - i| times the denominator is whole, so that utilities stay exact.
    utility = -np.abs(target.numerator - ranks * target.denominator)
    piece, offset = piecewise(
        utility, np.diff(starts), scale * target.denominator, source=source
    )
    return int(starts[piece]) + offset


def _weighted(
    cells: NDArray[np.int64],
    at: Fraction,
    scale: Fraction,
    pieces: tuple[NDArray[np.int64], NDArray[Any]],
    end: int,
    source: Source,
) -> int:
    """Return a cell by rank error and weight, in pieces where both are constant."""
    begins, weights = pieces
    target = at * cells.size
    ranks = np.searchsorted(cells, begins, side="right")
    utility = -np.abs(target.numerator - ranks * target.denominator)
    place = weighted(utility, weights, scale * target.denominator, source=source)
    wide = int(np.append(begins, end)[place + 1] - begins[place])
    return int(begins[place]) + int(integers(wide, source=source))


@final
@tagged("quantile/1")
@dataclass(frozen=True, repr=False)
class Quantile(Mechanism):
    """Estimate one quantile, or several at once, of data in public `bounds`.

    A point x has probability ∝ exp(-|at·n - #{z <= x}|/scale) on 2^40 equal cells of
    the bounds. Points between two values are alike: for ratings, whole years and other
    values that many share use `CellQuantile`. Several are found by halving: the middle
    one first, then those on either side among the records there: m of them cost
    ⌈log2(m+1)⌉ single ones. `prior` is a public base density, with which that of x is
    multiplied: where records are scarce it decides.

    Guarantee: range 2/scale for replace-one, 2·max(at, 1-at)/scale for add/remove: a
    median costs half. `curve(k)` is for k people. Scale 2/ε is N Algorithm 3.

    Example:
        >>> m = Quantile.for_epsilon(epsilon=1, at=0.5, bounds=(0, 100))
        >>> m
        Quantile(at=0.5, bounds=(0.0, 100.0), scale=1.0)
        >>> 40 < m.run(range(10_000 // 100)) < 60
        True
        >>> Quantile((0.25, 0.5, 0.75), bounds=(0, 100), scale=2.0).run([1, 2]).shape
        (3,)

    Reference: [S11]; N7.6, N8.A3; prior: N7.base; several: [KSS22];
    docs/proofs/quantile.md.
    """

    at: float | tuple[float, ...]
    bounds: tuple[float, float]
    scale: float | Fraction
    neighbors: Neighbors = Neighbors.ADD_REMOVE
    prior: StepDensity | None = field(default=None, metadata=LATER)
    unit: ClassVar[str] = "row"  # one record is one person

    @property
    def metric(self) -> Metric:
        """Records: people added and removed, or exchanged."""
        return Records(None, self.neighbors)

    def __post_init__(self) -> None:
        lower, upper = checks.width("bounds", self.bounds)
        lattice_rounding.drawable("scale", self.scale, most=lattice_rounding.WIDEST)
        object.__setattr__(self, "bounds", (lower, upper))
        object.__setattr__(self, "neighbors", Neighbors.of(self.neighbors))
        object.__setattr__(self, "at", checked_levels(self.at))
        if self.prior is not None and not isinstance(self.prior, StepDensity):
            raise InvalidArgument(
                f"prior must be a StepDensity; got {checks.value_text(self.prior)}."
            )
        _ = self._density  # what does not cover the bounds is refused here

    @property
    def _levels(self) -> tuple[Fraction, ...]:
        return fractions(self.at)

    @cached_property
    def _tree(self) -> tuple[tuple[Fraction, ...], ...]:
        """Return, level by level, the relative positions asked of each part."""
        return rounds(self._levels)

    @cached_property
    def _density(self) -> GridDensity | None:
        """The prior on the cells of the bounds."""
        lower, upper = self.bounds
        if self.prior is None or lower == upper:
            return None
        size = 1 << _BITS
        return self.prior.on_grid(lower, upper, size, points=size + 1)

    def _spans(self, people: Fraction) -> list[Fraction]:
        """Return the range of each round, in units of 1/scale."""
        if self.neighbors is Neighbors.REPLACE_ONE and len(self._tree) == 1:
            return [2 * people]
        moved = 2 if self.neighbors is Neighbors.REPLACE_ONE else 1
        return [
            2 * people * moved * max(max(p, 1 - p) for p in each) for each in self._tree
        ]

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee for `sensitivity` people."""
        exact = checks.rational("scale", self.scale)
        spans = self._spans(distance(sensitivity))
        parts = [bounded_range(span / exact) for span in spans]
        return parts[0] if len(parts) == 1 else compose(*parts)

    @property
    def error(self) -> Gap:
        """Worst-case law of the rank error |at·n - rank|, in records.

        Measured over the 2^40 cells, from the best of them: where many records share a
        value, the best rank itself may be far from at·n. With a prior: from the best of
        those that it allows.
        """
        if self._density is not None:
            return gap_beside(self._density.others, float(self.scale))
        return Exponential(self.scale).error.among(1 << _BITS)

    def run(self, value: Any, *, source: Source = SECURE) -> Any:
        """Return the estimate, or an array of estimates in increasing order.

        NaN counts as the lower bound, values outside the bounds as the nearer bound.
        """
        lower, upper = self.bounds
        size = 1 << _BITS
        width = upper - lower
        data = clamp(column(value), lower, upper)
        if width > 0:
            data -= lower
            data /= width  # not times size/width, which overflows for narrow bounds
            data *= size
        cells = np.clip(np.floor(data), 0, size).astype(np.int64)
        cells.sort()
        found = self._find(cells, self._levels, 0, size, source)
        answers = [min(lower + width * (cell / size), upper) for cell in found]
        return np.array(answers) if isinstance(self.at, tuple) else answers[0]

    def _find(
        self,
        cells: NDArray[np.int64],
        asked: tuple[Fraction, ...],
        low: int,
        high: int,
        source: Source,
        ends: tuple[Fraction, Fraction] = (Fraction(0), Fraction(1)),
    ) -> list[int]:
        """Return the cells of `asked` among records between two found ones."""
        if not asked:
            return []
        half = len(asked) // 2
        exact = checks.rational("scale", self.scale)
        inside = fraction_between(ends[0], asked[half], ends[1])
        cell = low + draw(
            cells - low, inside, exact, high - low, source, self._density, low
        )
        cut = int(np.searchsorted(cells, cell, side="right"))
        left = self._find(
            cells[:cut], asked[:half], low, cell, source, (ends[0], asked[half])
        )
        right = self._find(
            cells[cut:], asked[half + 1 :], cell, high, source, (asked[half], ends[1])
        )
        return [*left, cell, *right]

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        one = cls(scale=1, **public)
        spans = sum(one._spans(distance(sensitivity)))
        return cls(
            scale=at_least(spans / checks.rational("epsilon", epsilon)), **public
        )


# -- Levels of quantiles: increasing shares as short fractions, asked middle first -----

FEW = 10**6  # denominators of levels: ranks times these stay whole and below 2^63

At = float | tuple[float, ...]


def fraction(level: Any) -> Fraction:
    """Return a level as the short fraction it means: 0.1 is 1/10.

    Example:
        >>> fraction(0.1)
        Fraction(1, 10)
    """
    return checks.probability("at", level).limit_denominator(FEW)


def checked_levels(at: Any) -> At:
    """Return one level, or an increasing tuple of levels; refuse all else."""
    if not isinstance(at, (tuple, list)):
        checks.real("at", at, at_least=0, at_most=1)
        return checks.plain_number(at)  # type: ignore[no-any-return]
    levels = tuple(checks.real("at", each, at_least=0, at_most=1) for each in at)
    if not levels or any(a >= b for a, b in pairwise(levels)):
        raise InvalidArgument("at must be an increasing sequence of levels.")
    return levels


def fractions(at: At) -> tuple[Fraction, ...]:
    """Return all levels as short fractions."""
    return tuple(map(fraction, at if isinstance(at, tuple) else (at,)))


def fraction_between(low: Fraction, level: Fraction, high: Fraction) -> Fraction:
    """Return where `level` lies between two others, as a short fraction."""
    if high <= low:
        return Fraction(1, 2)
    return ((level - low) / (high - low)).limit_denominator(FEW)


def rounds(levels: tuple[Fraction, ...]) -> tuple[tuple[Fraction, ...], ...]:
    """Return, round by round, the relative levels asked of each part.

    The middle level is asked of all, the next ones of what it left on each side.

    Example:
        >>> rounds((Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)))
        ((Fraction(1, 2),), (Fraction(1, 2), Fraction(1, 2)))

    Reference: [KSS22].
    """
    found: list[list[Fraction]] = []

    def split(low: Fraction, high: Fraction, inner: Any, turn: int) -> None:
        if not inner:
            return
        if len(found) == turn:
            found.append([])
        half = len(inner) // 2
        found[turn].append(fraction_between(low, inner[half], high))
        split(low, inner[half], inner[:half], turn + 1)
        split(inner[half], high, inner[half + 1 :], turn + 1)

    split(Fraction(0), Fraction(1), levels, 0)
    return tuple(map(tuple, found))
