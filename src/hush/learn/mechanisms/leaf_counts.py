"""Counts of people by leaf and class in random trees: what a private forest reads."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument, NoBound
from hush.learn.exact_sums import MOST
from hush.learn.features import Box
from hush.learn.targets import Classes, members
from hush.mechanisms import Gaussian, Geometric
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source, integers, permutation
from hush.privacy.curve import Curve
from hush.privacy.rules.composition import repeat
from hush.serialization import tagged
from hush.units import Neighbors

# -- Random trees: binary cuts of the cube [-1, 1]^d, drawn without any data -----------

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


# --------------------------------------------------------------------------------------
# Counts of people by leaf and class in random trees: what a private forest reads.

_MOST_CELLS = 1 << 24
_USUAL = 100  # trees, from which on more add little but time
_DEEP = 10
_WIDEST = 2.0**50  # as far as whole noise is drawn


@final
@tagged("learn.leaf_counts/1")
@dataclass(frozen=True, repr=False)
class LeafCounts(Mechanism):
    """How many rows of each class are in each leaf of random trees, columns in [-1, 1].

    Trees are drawn in `run`, before a row is read, and are part of the answer. Every
    tree sees every row. Rows that are no numbers, or of no class, are in no leaf.

    Guarantee: whatever the trees, one row replaced takes 1 from one count of each tree
    at most and adds 1 to another: `inner` for 2·trees counts that move by 1.

    Reference: [JPW09]; docs/proofs/learn_forest.md.
    """

    rows: Box
    targets: Classes
    size: int
    trees: int
    depth: int
    inner: Geometric | Gaussian
    neighbors = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one row is one person

    def __post_init__(self) -> None:
        checks.whole("size", self.size, at_least=1, at_most=MOST)
        checks.whole("trees", self.trees, at_least=1)
        checks.whole("depth", self.depth, at_least=1, at_most=DEEPEST)
        if not self.rows.intercept:
            raise InvalidArgument("rows must have the constant column.")
        if self.cells > _MOST_CELLS:
            raise InvalidArgument(
                f"trees·2^depth·classes must be at most {_MOST_CELLS}; got {self.cells}"
                ". Use fewer trees, or less depth."
            )
        if self.std > _WIDEST:  # said before anything is charged or read
            raise InvalidArgument(
                f"noise must have std at most 2^50; got {self.std:.3g}. Use a larger "
                "epsilon, or fewer trees."
            )

    @property
    def cells(self) -> int:
        """How many counts are released."""
        return self.trees * len(self.targets.names) << self.depth

    @classmethod
    def plan(
        cls,
        epsilon: float,
        *,
        delta: float,
        rows: Box,
        targets: Classes,
        size: int,
        trees: int | None = None,
        depth: int | None = None,
    ) -> Self:
        """Return the mechanism with the least noise that is (ε, δ)-private.

        Without `trees` or `depth`, they follow from the noise that one tree would have.
        """
        size = checks.whole("size", size, at_least=1, at_most=MOST)
        clear = size / _std(noise(epsilon, delta, 1))
        if trees is None:
            trees = usual_trees(clear, pure=delta == 0)
        if depth is None:
            depth = usual_depth(clear)
        trees = checks.whole("trees", trees, at_least=1)
        inner = noise(epsilon, delta, trees)
        return cls(rows, targets, size, trees, depth, inner)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` rows are replaced."""
        people = checks.whole("sensitivity", sensitivity, at_least=0)
        if isinstance(self.inner, Gaussian):
            far = _distance(self.trees) * people
            return self.inner.curve(far, dimension=self.cells)
        if people == 1:
            return repeat(self.inner.curve(1), 2 * self.trees)
        return self.inner.curve(2 * self.trees * people)

    @property
    def error(self) -> Any:
        """Law of the noise on one count."""
        return self.inner.error

    @property
    def std(self) -> float:
        """Standard deviation of the noise on each count, or slightly more."""
        return _std(self.inner)

    def counts(self, value: Any, trees: Trees) -> Whole:
        """Return exact counts by tree, leaf and class: private."""
        x, places = members(self.rows, self.targets, self.size, value)
        classes = len(self.targets.names)
        found = np.empty((self.trees, 1 << self.depth, classes), dtype=np.int64)
        known = places >= 0
        x, places = x[known], places[known]
        for tree in range(self.trees):
            cell = trees.leaves(x, tree) * classes + places
            counted = np.bincount(cell, minlength=classes << self.depth)
            found[tree] = counted.reshape(-1, classes)
        return found

    def run(self, value: Any, *, source: Source = SECURE) -> Whole:
        """Return a line per tree: columns and cuts of its nodes, then noisy counts."""
        trees = Trees.drawn(
            trees=self.trees,
            depth=self.depth,
            columns=len(self.rows.lower),
            source=source,
        )
        inner = self.inner
        add = inner.run_whole if isinstance(inner, Gaussian) else inner.run
        noisy = add(self.counts(value, trees), source=source)  # counts are whole
        return np.column_stack([trees.packed(), noisy.reshape(self.trees, -1)])

    def read(self, released: Any) -> tuple[Trees, Whole]:
        """Return trees and noisy counts from what `run` returned."""
        lines = np.asarray(released, dtype=np.int64)
        counts = lines[:, -(self.cells // self.trees) :]
        shape = (self.trees, 1 << self.depth, len(self.targets.names))
        trees = Trees.unpacked(lines[:, : -(self.cells // self.trees)])
        return trees, counts.reshape(shape)


def noise(epsilon: float, delta: float, trees: int) -> Geometric | Gaussian:
    """Return the least noise on counts for one row replaced in all trees."""
    checks.real("epsilon", epsilon, above=0)
    checks.real("delta", delta, at_least=0, below=1)
    if delta == 0:
        # The composition of 2·trees copies is rounded up by less than this.
        return Geometric.for_epsilon(epsilon * (1 - 2.0**-40), 2 * trees)
    # Steps of 2^-40 std for rounding are within this factor, for all cells together.
    far = _distance(trees) * (1 + 2.0**-16)
    try:
        return Gaussian.for_epsilon(epsilon, far, delta=delta)
    except NoBound:
        raise InvalidArgument(
            f"epsilon={epsilon!r} with delta={delta!r} needs more noise than can be "
            "drawn: use a larger epsilon."
        ) from None


def _std(inner: Geometric | Gaussian) -> float:
    if isinstance(inner, Gaussian):
        return math.hypot(float(inner.std), 1.0)  # rounding to whole numbers is less
    return math.sqrt(2) * float(inner.scale)


def _distance(trees: int) -> float:
    return math.sqrt(2 * trees) * (1 + 2.0**-50)


def usual_trees(clear: float, *, pure: bool) -> int:
    """Return how many trees serve best, `clear` being rows by the noise of one tree.

    Pure noise grows with the number of trees, more than their sum wins back.
    """
    return min(max(round(0.56 * math.sqrt(clear)), 1), _USUAL) if pure else _USUAL


def usual_depth(clear: float) -> int:
    """Return the depth that serves best: twice the leaves for eight times the rows."""
    return min(max(round(1 + math.log2(clear) / 3), 1), _DEEP)
