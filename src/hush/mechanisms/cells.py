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
@dataclass(frozen=True, eq=False)
class _Choice:
    """What is drawn: a cell of `edges` by the distance of its ranks from a target."""

    group: Group
    edges: tuple[int, int]
    target: Fraction  # between 0 and the total
    scale: Fraction

    def near(self) -> tuple[int, int]:
        """Return the first and the last stretch that a draw has to look at."""
        reach = _REACH + math.log(self.edges[1] - self.edges[0])
        wide = math.ceil(float(self.scale) * reach) + 1
        middle, ranks = math.floor(self.target), self.group.ranks
        low, high = max(middle - wide, 0), min(middle + wide, _MOST)
        first = int(np.searchsorted(ranks, low, side="left"))
        last = int(np.searchsorted(ranks, high, side="right"))
        return max(first - 1, 0), min(last, ranks.size - 1)


@final
class _Pieces:
    """Cells with the same rank error, in order: an empty stretch, one cell, and so on.

    From the `first` to the `last` of the group's stretches; those outside are one more
    piece in the end, the rest. With `skip`, pieces from..to-1 are left out instead.
    """

    def __init__(
        self, choice: _Choice, first: int, last: int, skip: tuple[int, int] = (0, 0)
    ) -> None:
        self._choice, self._stretches = choice, (first, last)
        places, ranks = choice.group.places, choice.group.ranks[first : last + 1]
        fences = np.empty(last - first + 2, dtype=np.int64)
        fences[1:-1] = places[first:last]
        fences[0] = places[first - 1] if first else choice.edges[0] - 1
        fences[-1] = places[last] if last < places.size else choice.edges[1]
        pieces = 2 * ranks.size - 1
        self.starts, self.counts = np.empty((2, pieces), dtype=np.int64)
        self.starts[0::2], self.starts[1::2] = fences[:-1] + 1, fences[1:-1]
        self.counts[0::2], self.counts[1::2] = np.diff(fences) - 1, 1
        self.counts[skip[0] : skip[1]] = 0
        self._below = np.repeat(ranks, 2)[:-1]
        self._up_to = np.repeat(ranks, 2)[1:]
        self._rest = pieces < 2 * places.size + 1
        self.chance = self._chance()

    def _chance(self) -> NDArray[np.float64]:
        """Return the weights relative to the heaviest, good to a few roundings."""
        target, scale = self._choice.target, self._choice.scale
        whole = math.floor(target)
        part = target - whole
        # Times the denominator small errors are whole, so each is rounded relatively.
        top, bottom = float(part.numerator), float(part.denominator)
        error = np.maximum(
            (self._below - whole) * bottom - top, top - (self._up_to - whole) * bottom
        )
        np.maximum(error, 0.0, out=error)
        with np.errstate(divide="ignore"):
            log = np.log(self.counts) - error * float(1 / (scale * part.denominator))
        chance = np.exp(log - log.max())
        return np.append(chance, 0.0) if self._rest else chance

    def total(self, start: int, stop: int, digits: int) -> tuple[int, int]:
        """Return integers around 10^digits times the sum of a range of weights."""
        choice, unit, low, high = self._choice, 10**digits, 0, 0
        for piece in range(start, min(stop, self.counts.size)):
            count = int(self.counts[piece])
            if count:
                error = max(
                    int(self._below[piece]) - choice.target,
                    choice.target - int(self._up_to[piece]),
                    Fraction(0),
                )
                least, most = exp_bracket(error / choice.scale, digits)
                low += math.floor(count * least * unit)
                high += math.ceil(count * most * unit)
        if self._rest and start <= self.counts.size < stop:
            rest = self.rest()
            more = rest.total(0, rest.counts.size, digits)
            low, high = low + more[0], high + more[1]
        return low, high

    def rest(self) -> "_Pieces":
        """Return all pieces but these."""
        first, last = self._stretches
        everything = (0, self._choice.group.places.size)
        return _Pieces(self._choice, *everything, skip=(2 * first, 2 * last + 1))

    def draw(self, source: Source) -> int:
        """Return a cell."""
        piece = int(SoftmaxSampler(self).draw(1, source)[0])
        if piece == self.counts.size:
            return self.rest().draw(source)
        within = int(self.counts[piece])
        offset = int(integers(within, source=source)) if within > 1 else 0
        return int(self.starts[piece]) + offset


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
    # Beyond the ends the errors of all cells grow by the same amount: the same law.
    inside = min(max(target, Fraction(0)), Fraction(group.total))
    choice = _Choice(group, edges, inside, scale)
    return _Pieces(choice, *choice.near()).draw(source)
