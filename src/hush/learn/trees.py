"""Random trees: binary cuts of the cube [-1, 1]^d, drawn without any data."""

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.noise import SECURE, Source, integers, permutation

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
DEEPEST = 16
_BITS = 30  # cuts are multiples of 2^-30
_FINE = 20  # a cut is one of 2^20 points of its cell
_MIDDLE = 0.5  # share of a cell, about its middle, in which its cut lies


@final
@dataclass(frozen=True)
class Trees:
    """Full binary trees of one depth: node i has the children 2i + 1 and 2i + 2.

    Node i of a tree sends rows with x[column] above its cut to the right.

    Example:
        >>> from hush.noise import Seeded
        >>> found = Trees.drawn(trees=3, depth=2, columns=5, source=Seeded(1))
        >>> found.columns.shape, found.leaves(np.zeros((4, 5)), 0).shape
        ((3, 3), (4,))
    """

    columns: Whole  # one line per tree, one entry per inner node
    cuts: Whole  # in multiples of 2^-30

    @classmethod
    def drawn(
        cls, *, trees: int, depth: int, columns: int, source: Source = SECURE
    ) -> Self:
        """Draw trees. Columns take turns, so that none is left out by chance.

        A cut is uniform in the middle half of its node's cell.
        """
        trees = checks.whole("trees", trees, at_least=1)
        depth = checks.whole("depth", depth, at_least=1, at_most=DEEPEST)
        nodes = (1 << depth) - 1
        rounds = -(-trees * nodes // columns)
        turns = [permutation(columns, source=source) for _ in range(rounds)]
        chosen = np.concatenate(turns)[: trees * nodes].reshape(trees, nodes)
        at = integers(1 << _FINE, (trees, nodes), source=source)
        cuts = np.zeros((trees, nodes), dtype=np.int64)
        for level in range(depth):
            here = np.arange((1 << level) - 1, (2 << level) - 1)
            low, high = _cell(chosen, cuts, here)
            share = 0.5 + _MIDDLE * (np.ldexp(at[:, here] + 0.5, -_FINE) - 0.5)
            cuts[:, here] = low + np.floor((high - low) * share).astype(np.int64)
        return cls(chosen, cuts)

    @property
    def depth(self) -> int:
        """How many cuts lead to a leaf."""
        return int(self.columns.shape[1]).bit_length()

    def leaves(self, rows: Floats, tree: int) -> Whole:
        """Return the leaf of each row in one tree: a function of that row alone."""
        columns, cuts = self.columns[tree], np.ldexp(self.cuts[tree], -_BITS)
        at = np.zeros(len(rows), dtype=np.int64)
        # One index into all entries is half the time of one for each axis.
        entries, start = rows.ravel(), np.arange(len(rows)) * rows.shape[1]
        for _ in range(self.depth):
            right = entries.take(start + columns.take(at)) > cuts.take(at)
            at = 2 * at + 1 + right
        return np.asarray(at - self.columns.shape[1], dtype=np.int64)

    def packed(self) -> Whole:
        """Return columns and cuts as one line per tree."""
        return np.column_stack([self.columns, self.cuts])

    @classmethod
    def unpacked(cls, lines: Any) -> Self:
        """Return the trees that `packed` wrote."""
        nodes = np.shape(lines)[1] // 2
        return cls(lines[:, :nodes], lines[:, nodes:])


def _cell(columns: Whole, cuts: Whole, nodes: Whole) -> tuple[Whole, Whole]:
    """Return the ends of each node's cell, in its own column, from cuts above it."""
    mine = columns[:, nodes]
    low = np.full(mine.shape, -(1 << _BITS), dtype=np.int64)
    high = -low
    below = nodes
    while below[0] > 0:
        above = (below - 1) // 2
        same, right = columns[:, above] == mine, below % 2 == 0
        cut = cuts[:, above]
        low = np.where(same & right, np.maximum(low, cut), low)
        high = np.where(same & ~right, np.minimum(high, cut), high)
        below = above
    return low, high
