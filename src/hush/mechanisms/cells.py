"""Weighted histograms of many groups, and a place of a given rank in one of them.

A group is a row of `size` public cells; a cell holds a whole weight. The rank error of
cell x at target t is how far t lies outside [weight below x, weight up to x]: zero for
the cell that holds the target, so that one heavy cell is found with certainty.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.noise import Source, integers
from hush.noise.categorical import SoftmaxSampler
from hush.noise.exact import exp_bracket

Integers = NDArray[np.int64]

_REACH = 80  # pieces this many scales away, and log(size) more, weigh below e^-80
_MOST = 1 << 62  # weights of a group add up to less


@final
@dataclass(frozen=True, eq=False)
class Group:
    """One group: its non-empty cells in increasing order, and their whole weights."""

    places: Integers
    weights: Integers

    @cached_property
    def ranks(self) -> Integers:
        """Weight below each non-empty cell, and in the end the total."""
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.weights)])

    @property
    def total(self) -> int:
        """Weight of the group."""
        return int(self.ranks[-1])

    def split(self, place: int, share: Fraction) -> "tuple[Group, Group]":
        """Return what lies below and above `place`, its own weight divided.

        Guarantee: weight added to a cell is added to one side or divided over both:
        ℓ1 distances of the two sides add up to that of the whole.
        """
        low = int(np.searchsorted(self.places, place, side="left"))
        high = int(np.searchsorted(self.places, place, side="right"))
        left, right = self.weights[:high].copy(), self.weights[low:].copy()
        if high > low:
            # floor(share·w) grows by at most what w grows by, and so does the rest.
            left[-1] = math.floor(share * int(left[-1]))
            right[0] -= left[-1]
        return Group(self.places[:high], left), Group(self.places[low:], right)


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """Histograms of several groups over the same `size` cells.

    Example:
        >>> cells = Cells.of([[0, 3, 0, 1], [0, 0, 0, 0]])
        >>> cells.size, [group.total for group in cells.groups]
        (4, [4, 0])
    """

    size: int
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, value: Any) -> "Cells":
        """Return the cells of an array of whole weights: (groups, size) or (size,)."""
        if isinstance(value, cls):
            return value
        dense = np.atleast_2d(np.asarray(value))
        if dense.ndim != 2 or dense.dtype.kind not in "iu" or dense.shape[1] == 0:
            raise InvalidArgument(
                "value must be Cells or whole weights of shape (groups, size)."
            )
        return cls.listed(
            dense.shape[1],
            [(np.flatnonzero(row), row[np.flatnonzero(row)]) for row in dense],
        )

    @classmethod
    def listed(cls, size: int, groups: Iterable[tuple[Any, Any]]) -> "Cells":
        """Return the cells from pairs (increasing places, whole weights)."""
        checks.whole("size", size, at_least=1)
        found = []
        for places, weights in groups:
            group = Group(
                np.asarray(places, dtype=np.int64), np.asarray(weights, dtype=np.int64)
            )
            inside = group.places.size == 0 or (
                group.places[0] >= 0 and group.places[-1] < size
            )
            if (
                group.places.shape != group.weights.shape
                or not inside
                or np.any(np.diff(group.places) <= 0)
                or np.any(group.weights < 0)
                or group.weights.sum(dtype=np.float64) >= _MOST
            ):
                raise InvalidArgument(
                    "groups must pair increasing places in 0..size-1 with weights of "
                    "at least 0 that add up to less than 2^62."
                )
            found.append(group)
        return cls(size, tuple(found))


@final
class _Pieces:
    """Stretches of cells with the same rank error: even ones empty, odd ones one cell.

    Piece 2i is the stretch before the i-th non-empty cell, piece 2i+1 that cell. `near`
    are pieces with float weights; all others, if any, are one more in the end.
    """

    def __init__(
        self,
        group: Group,
        edges: tuple[int, int],
        target: Fraction,
        scale: Fraction,
    ) -> None:
        self.count = 2 * group.places.size + 1
        self._group, self._edges = group, edges
        self._scale = scale
        # Beyond the total the order of the cells is the same as at the total itself.
        self._target = min(max(target, Fraction(0)), Fraction(group.total))
        self._whole = math.floor(self._target)
        self._near, self._rest = np.empty(0, dtype=np.int64), False
        self.chance = np.empty(0)

    def _edge(self, i: Integers) -> Integers:
        """Return the i-th non-empty cell; the edges of the domain before and after."""
        places = self._group.places
        if places.size == 0:
            return np.where(i < 0, self._edges[0] - 1, self._edges[1])
        inside = places[np.clip(i, 0, places.size - 1)]
        inside = np.where(i < 0, self._edges[0] - 1, inside)
        return np.where(i >= places.size, self._edges[1], inside)

    def span(self, j: Integers) -> tuple[Integers, Integers]:
        """Return the first cell of each piece, and how many cells it has."""
        i = j // 2
        single = j % 2 == 1
        first = np.where(single, self._edge(i), self._edge(i - 1) + 1)
        return first, np.where(single, 1, self._edge(i) - first)

    def _error(self, j: int) -> Fraction:
        """Return the exact rank error of one piece."""
        low, high = (
            int(self._group.ranks[j // 2]),
            int(self._group.ranks[(j + 1) // 2]),
        )
        return max(low - self._target, self._target - high, Fraction(0))

    def weigh(self, near: Integers, *, rest: bool) -> None:
        """Give the pieces of `near` their weights, relative to the heaviest."""
        part = self._target - self._whole
        # Times the denominator small errors are whole, so each is rounded relatively.
        top, bottom = float(part.numerator), float(part.denominator)
        ranks = self._group.ranks
        above = (ranks[near // 2] - self._whole) * bottom - top
        below = top - (ranks[(near + 1) // 2] - self._whole) * bottom
        error = np.maximum(np.maximum(above, below), 0.0)
        counts = self.span(near)[1]
        with np.errstate(divide="ignore"):
            log = np.log(counts) - error * float(1 / (self._scale * part.denominator))
        self._near, self._rest = near, rest
        self.chance = np.exp(log - log.max())
        if rest:
            self.chance = np.append(self.chance, 0.0)

    def window(self, reach: float) -> Integers:
        """Return the pieces with a rank error of at most `reach` scales."""
        ranks = self._group.ranks
        wide = math.ceil(self._scale * Fraction(reach)) + 1
        low, high = max(self._whole - wide, 0), min(self._whole + wide, _MOST)
        first = int(np.searchsorted(ranks, low, side="left"))
        last = int(np.searchsorted(ranks, high, side="right"))
        return np.arange(max(2 * first - 2, 0), min(2 * last + 1, self.count))

    def far(self, near: Integers) -> Integers:
        """Return the pieces that are not near."""
        after = np.arange(near[-1] + 1, self.count)
        return np.concatenate([np.arange(near[0]), after])

    def total(self, start: int, stop: int, digits: int) -> tuple[int, int]:
        """Return integers around 10^digits times the sum of a range of weights."""
        asked = self._near[start:stop]
        if self._rest and start <= self._near.size < stop:
            asked = np.concatenate([asked, self.far(self._near)])
        unit, low, high = 10**digits, 0, 0
        for piece, count in zip(asked, self.span(asked)[1], strict=True):
            if count:
                ratio = self._error(int(piece)) / self._scale
                least, most = exp_bracket(ratio, digits)
                low += math.floor(int(count) * least * unit)
                high += math.ceil(int(count) * most * unit)
        return low, high

    def draw(self, source: Source) -> int:
        """Return the place of a piece in `chance`."""
        return int(SoftmaxSampler(self).draw(1, source)[0])


def draw(
    group: Group,
    edges: tuple[int, int],
    target: Fraction,
    scale: Fraction,
    source: Source,
) -> int:
    """Return a cell of edges[0]..edges[1]-1 with chance ∝ exp(-rank error/scale).

    Guarantee: the law is exact. Only the pieces near the target are looked at unless
    the draw falls beyond them, which has probability below e^-80.
    """
    pieces = _Pieces(group, edges, target, scale)
    asked = pieces.window(_REACH + math.log(edges[1] - edges[0]))
    pieces.weigh(asked, rest=asked.size < pieces.count)
    chosen = pieces.draw(source)
    if chosen == asked.size:
        asked = pieces.far(asked)
        pieces.weigh(asked, rest=False)
        chosen = pieces.draw(source)
    first, count = pieces.span(asked[chosen : chosen + 1])
    return int(first[0]) + int(integers(int(count[0]), source=source))
