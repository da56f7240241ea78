"""A cell of a given rank in each of many groups, drawn exactly and all at once.

The rank error of cell x at target t is how far t lies outside [weight below x, weight
up to x]: zero for the cell that holds the target, so a heavy cell is found for sure.
Cell x is drawn with chance ∝ exp(-rank error/scale). Only cells near the target are
looked at: all others together have less than e^-80 of the weight, and are one outcome.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.mechanisms.quantiles.grouped_histograms import MOST, Group, Integers
from hush.noise import Source, integers
from hush.noise.categorical import SoftmaxSampler
from hush.noise.inversion import ERROR, Bracket, Uniform, exp_bracket

Floats = NDArray[np.float64]

_REACH = 80  # pieces this many scales away, and log(size) more, weigh below e^-80
# Groups with more stretches near the target are drawn one by one. Sums of so few
# floats, two for each stretch, err by 2^-41 at most: inside ERROR.
_WIDE = 2048
_ENTRIES = 1 << 17  # of a matrix at once


@final
@dataclass(frozen=True, eq=False)
class Choice:
    """What is drawn: a cell of `edges` by the distance of its ranks from a target."""

    group: Group
    edges: tuple[int, int]
    target: Fraction  # between 0 and the total
    scale: Fraction

    @classmethod
    def of(
        cls, group: Group, edges: tuple[int, int], target: Fraction, scale: Fraction
    ) -> "Choice":
        """Return the choice at any target, inside the group or beyond its ends."""
        # Beyond the ends the errors of all cells grow by the same amount: one law.
        inside = min(max(target, Fraction(0)), Fraction(group.total))
        return cls(group, edges, inside, scale)

    @property
    def parts(self) -> tuple[float, float, float]:
        """The fraction of the target and the rate: what `weigh` needs."""
        part = self.target - math.floor(self.target)
        rate = float(1 / (self.scale * part.denominator))
        return float(part.numerator), float(part.denominator), rate

    def cell_before(self, stretch: int) -> int:
        """Return the cell before a stretch: occupied, or beyond the edge."""
        return int(self.group.places[stretch - 1]) if stretch else self.edges[0] - 1

    def cell_after(self, stretch: int) -> int:
        """Return the cell after a stretch: occupied, or beyond the edge."""
        places = self.group.places
        return int(places[stretch]) if stretch < places.size else self.edges[1]

    def near_stretches(self) -> tuple[int, int]:
        """Return the first and the last stretch that a draw has to look at."""
        reach = _REACH + math.log(self.edges[1] - self.edges[0])
        wide = math.ceil(float(self.scale) * reach) + 1
        middle, ranks = math.floor(self.target), self.group.ranks
        low, high = max(middle - wide, 0), min(middle + wide, MOST)
        first = int(np.searchsorted(ranks, low, side="left"))
        last = int(np.searchsorted(ranks, high, side="right"))
        return max(first - 1, 0), min(last, ranks.size - 1)


@final
class Pieces:
    """Cells with the same rank error, in order: an empty stretch, one cell, and so on.

    From the `first` to the `last` of the group's stretches; those outside are one more
    piece in the end, the rest. With `skip`, pieces from..to-1 are left out instead.
    """

    def __init__(
        self, choice: Choice, first: int, last: int, skip: tuple[int, int] = (0, 0)
    ) -> None:
        self._choice, self._stretches = choice, (first, last)
        places, ranks = choice.group.places, choice.group.ranks[first : last + 1]
        fences = np.empty(last - first + 2, dtype=np.int64)
        fences[1:-1] = places[first:last]
        fences[0], fences[-1] = choice.cell_before(first), choice.cell_after(last)
        pieces = 2 * ranks.size - 1
        self.starts, self.counts = np.empty((2, pieces), dtype=np.int64)
        self.starts[0::2], self.starts[1::2] = fences[:-1] + 1, fences[1:-1]
        self.counts[0::2], self.counts[1::2] = np.diff(fences) - 1, 1
        self.counts[skip[0] : skip[1]] = 0
        self._below = np.repeat(ranks, 2)[:-1]
        self._up_to = np.repeat(ranks, 2)[1:]
        self._rest = pieces < 2 * places.size + 1
        whole = math.floor(choice.target)
        chance = weigh(
            self._below - whole, self._up_to - whole, self.counts, choice.parts
        )
        self.chance = np.append(chance, 0.0) if self._rest else chance

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
            rest = self.other_pieces()
            more = rest.total(0, rest.counts.size, digits)
            low, high = low + more[0], high + more[1]
        return low, high

    def other_pieces(self) -> "Pieces":
        """Return all pieces but these."""
        first, last = self._stretches
        everything = (0, self._choice.group.places.size)
        return Pieces(self._choice, *everything, skip=(2 * first, 2 * last + 1))

    def draw(self, source: Source) -> int:
        """Return a cell."""
        return self.cell(int(SoftmaxSampler(self).draw(1, source)[0]), source)

    def cell(self, piece: int, source: Source) -> int:
        """Return a cell of a piece."""
        if piece == self.counts.size:
            return self.other_pieces().draw(source)
        count = int(self.counts[piece])
        return int(self.starts[piece]) + int(integers(count, source=source))

    def piece_of(self, word: int, source: Source) -> int:
        """Return the piece in which a uniform number lies that starts with `word`."""
        uniform = Uniform(word, 64, source)
        low, high = 0, self.chance.size - 1
        while low < high:
            middle = (low + high) // 2
            if uniform.below(partial(self._share_before, middle + 1)):
                high = middle
            else:
                low = middle + 1
        return low

    def _share_before(self, piece: int, digits: int) -> Bracket:
        """Return a bracket of the share of all pieces before this one."""
        head = self.total(0, piece, digits)
        tail = self.total(piece, self.chance.size, digits)
        # The cell that holds the target weighs one: the sums are not zero.
        return Fraction(head[0], head[0] + tail[1]), Fraction(
            head[1], head[1] + tail[0]
        )


def weigh(
    below: Integers, up_to: Integers, counts: Integers, parts: tuple[Any, Any, Any]
) -> Floats:
    """Return counts·exp(-rank error/scale) along the last axis, the heaviest as 1.

    Ranks are relative to the whole part of the target.
    """
    top, bottom, rate = parts
    # Times the denominator small errors are whole, so each is rounded relatively.
    error = np.maximum(below * bottom - top, top - up_to * bottom)
    np.maximum(error, 0.0, out=error)
    with np.errstate(divide="ignore"):
        log = np.log(counts) - error * rate
    log -= log.max(axis=-1, keepdims=True)
    return np.asarray(np.exp(log, out=log))


def draw(choices: Sequence[Choice], source: Source) -> Integers:
    """Return a cell for each choice.

    Guarantee: independent, and each law is exact: 64 bits decide unless they fall next
    to a cut of the cumulative weights, which is then compared exactly.
    """
    found = np.empty(len(choices), dtype=np.int64)
    spans = [choice.near_stretches() for choice in choices]
    widths = np.array([last - first + 1 for first, last in spans], dtype=np.int64)
    # Rows of about the same width share a matrix.
    kinds = np.where(widths > _WIDE, 0, 2 ** np.ceil(np.log2(np.maximum(widths, 1))))
    for kind in np.unique(kinds):
        rows = np.flatnonzero(kinds == kind)
        if kind == 0:
            for row in rows.tolist():
                found[row] = Pieces(choices[row], *spans[row]).draw(source)
        else:
            step = max(_ENTRIES // int(kind), 1)
            for start in range(0, rows.size, step):
                some = rows[start : start + step].tolist()
                block = [(choices[row], *spans[row]) for row in some]
                found[some] = _block(block, int(kind), source)
    return found


def _block(block: list[tuple[Choice, int, int]], wide: int, source: Source) -> Integers:
    """Return a cell for each of some choices with at most `wide` stretches each."""
    size = np.array([[last - first + 1] for _, first, last in block])
    here = np.arange(wide) < size
    ranks = np.zeros((len(block), wide), dtype=np.int64)
    ranks[here] = np.concatenate(
        [c.group.ranks[first : last + 1] for c, first, last in block]
    )
    fences = np.zeros((len(block), wide + 1), dtype=np.int64)
    inside = np.concatenate([c.group.places[first:last] for c, first, last in block])
    fences[:, 1:-1][here[:, 1:]] = inside
    rows = np.arange(len(block))
    fences[:, 0] = [c.cell_before(first) for c, first, _ in block]
    fences[rows, size[:, 0]] = [c.cell_after(last) for c, _, last in block]
    starts = np.empty((len(block), 2 * wide - 1), dtype=np.int64)
    counts = np.ones_like(starts)
    starts[:, 0::2], starts[:, 1::2] = fences[:, :-1] + 1, fences[:, 1:-1]
    counts[:, 0::2] = np.diff(fences, axis=1) - 1
    counts[np.arange(2 * wide - 1) >= 2 * size - 1] = 0
    top, bottom, rate = np.array([c.parts for c, _, _ in block]).T[..., None]
    whole = np.array([[math.floor(c.target)] for c, _, _ in block])
    both = np.repeat(ranks, 2, axis=1) - whole
    weights = weigh(both[:, :-1], both[:, 1:], counts, (top, bottom, rate))
    cuts = np.cumsum(weights, axis=1)
    cuts /= cuts[:, -1:]
    words = source.words(len(block), np.uint64)
    u = (words * 2.0**-64)[:, None]
    # The last cut is the rest, within ERROR of one, whatever it is.
    least = np.count_nonzero(cuts[:, :-1] + 2 * ERROR <= u, axis=1)
    tie = np.count_nonzero(cuts[:, :-1] - 2 * ERROR <= u, axis=1) > least
    tie |= u[:, 0] >= 1 - 2 * ERROR
    found: Integers = starts[rows, least]
    for row in np.flatnonzero(tie):
        pieces = Pieces(*block[row])
        found[row] = pieces.cell(pieces.piece_of(int(words[row]), source), source)
    for row in np.flatnonzero(~tie & (counts[rows, least] > 1)):
        found[row] += integers(int(counts[row, least[row]]), source=source)
    return found
