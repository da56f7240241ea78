"""What is asked of the data: counts of columns, the next pair, counts of the pairs.

Each question states how far one person moves its answer, and each later one sees the
answers before it. Between neighbors a person's rows, of weight at most R in all, move
every table by at most R in ℓ1 and ℓ2 (add/remove), or by 2R and √2·R (replace-one);
k tables together by k times, and √k times, as much.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, final

import numpy as np
from scipy.special import ndtri

from hush import checks
from hush.synth.fit import Floats, Table, common_counts, simplex
from hush.synth.rows import Private, Whole
from hush.synth.spanning_forest import Edge, Forest, forest_of_choices
from hush.units import Neighbors

_GOLDEN = (math.sqrt(5) - 1) / 2  # its multiples fill [0, 1) evenly
_LEAST = 1e-9  # of a std, so that weights are finite where ε is beyond all sense


@final
@dataclass(frozen=True)
class Person:
    """What one person may do: rows that weigh at most `rows` in all, in `whole` steps.

    Example:
        >>> one = Person()
        >>> one.tables(3, norm=1), one.tables(4, norm=2)
        (3, 2)
        >>> Person(neighbors=Neighbors.REPLACE_ONE).tables(2, norm=2)
        2
    """

    rows: int = 1
    whole: int = 1  # steps of a row of full weight
    neighbors: Neighbors = Neighbors.ADD_REMOVE
    unit: str = "row"

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        checks.whole("rows", self.rows, at_least=1)
        checks.whole("whole", self.whole, at_least=1)

    @property
    def weight(self) -> int:
        """All that one person counts for, in steps."""
        return self.rows * self.whole

    def tables(self, count: int, *, norm: int) -> Any:
        """Return how far neighbors are apart in so many tables, rounded up."""
        both = 2 if self.neighbors is Neighbors.REPLACE_ONE else 1
        if norm == 1:
            return both * count * self.weight
        # Two people's counts are not negative: ‖u - v‖² is at most ‖u‖² + ‖v‖².
        square = both * count * self.weight**2
        root = math.isqrt(square)
        if root * root == square:
            return root
        fine = math.isqrt(square << 64) + 1
        return Fraction(fine, 1 << 32)


@dataclass(frozen=True)
class Question(ABC):
    """One step of a synthesis, as a ledger asks it."""

    sizes: tuple[int, ...]
    person: Person
    adaptive: ClassVar[bool] = True

    @property
    @abstractmethod
    def sensitivity(self) -> Any:
        """How far neighbors are apart, in the norm of the mechanism."""

    @property
    def unit(self) -> str:
        """What is protected, for the receipt."""
        return self.person.unit

    @property
    def neighbors(self) -> str:
        """The relation, for the receipt."""
        return str(self.person.neighbors)

    @abstractmethod
    def __call__(self, data: Private, earlier: tuple[Any, ...]) -> Whole:
        """Return the exact input of the mechanism: private."""


@dataclass(frozen=True)
class Counts(Question):
    """Counts of all cells of some tables, one after the other."""

    norm: int

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many tables there may be."""

    @property
    def sensitivity(self) -> Any:
        """How far neighbors are apart in all tables together."""
        return self.person.tables(self.slots, norm=self.norm)

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many counts there may be; at least two, whose curve holds for any."""

    @abstractmethod
    def asked(self, earlier: tuple[Any, ...]) -> tuple[tuple[int, ...], ...]:
        """Return the columns of each table, from public answers alone."""

    def __call__(self, data: Private, earlier: tuple[Any, ...]) -> Whole:
        """Return the counts: private."""
        parts = [data.counts(each).ravel() for each in self.asked(earlier)]
        return np.concatenate(parts)

    def read(
        self, answer: Any, earlier: tuple[Any, ...], std: float
    ) -> tuple[Table, ...]:
        """Return the tables of a released answer, in rows."""
        found, start = [], 0
        std = max(std, _LEAST)
        numbers = np.asarray(answer, dtype=np.float64) / self.person.whole
        for columns in self.asked(earlier):
            shape = tuple(self.sizes[each] for each in columns)
            stop = start + math.prod(shape)
            counts = numbers[start:stop].reshape(shape)
            found.append(Table(columns, counts, std / self.person.whole))
            start = stop
        return tuple(found)


@final
@dataclass(frozen=True)
class Columns(Counts):
    """Every column by itself."""

    @property
    def slots(self) -> int:
        """One table for each column."""
        return len(self.sizes)

    @property
    def dimension(self) -> int:
        """All cells of all columns."""
        return max(2, sum(self.sizes))

    def asked(self, earlier: tuple[Any, ...]) -> tuple[tuple[int, ...], ...]:
        """Return the columns, in order."""
        return tuple((column,) for column in range(len(self.sizes)))


@final
@dataclass(frozen=True)
class Pairs(Counts):
    """The chosen pairs; places that are left over go to columns that no pair has."""

    @property
    def slots(self) -> int:
        """As many tables as a tree has edges."""
        return len(self.sizes) - 1

    @property
    def dimension(self) -> int:
        """The cells of that many pairs, if all were as large as the largest."""
        return max(2, self.slots * math.prod(sorted(self.sizes)[-2:]))

    def asked(self, earlier: tuple[Any, ...]) -> tuple[tuple[int, ...], ...]:
        """Return the pairs, then lone columns as far as there is room."""
        forest = forest_of_choices(len(self.sizes), earlier[1 : len(self.sizes)])
        lone = [(column,) for column in forest.lone_columns]
        return (*forest.edges, *lone)[: self.slots]


@final
@dataclass(frozen=True)
class NextPair(Question):
    """How much each pair that closes no circle would tell; last, to stop: nothing.

    A pair's score is how far its counts are from what the columns alone say, in ℓ1,
    less how far they would be moved by the noise on them. All but the counts is
    computed from released numbers and rounded to whole steps.

    Guarantee: one person moves a score by at most as much as the counts, in ℓ1.
    """

    before: Columns
    std: tuple[float, float]  # of the counts of columns, and of pairs, in steps

    @property
    def sensitivity(self) -> int:
        """How far any score moves between neighbors."""
        found: int = self.person.tables(1, norm=1)
        return found

    def candidates(self, earlier: tuple[Any, ...]) -> tuple[Edge, ...]:
        """Return the pairs to choose from; none once the choice was to stop."""
        size = len(self.sizes)
        forest: Forest = forest_of_choices(size, earlier[1:])
        stopped = len(forest.edges) < len(earlier) - 1
        return () if stopped else forest.eligible_edges

    def __call__(self, data: Private, earlier: tuple[Any, ...]) -> Whole:
        """Return whole scores, the last being that of no more pairs: private."""
        told = np.asarray(earlier[0])
        pairs = self.candidates(earlier)
        total, margins = self._column_counts(told) if pairs else (0.0, [])

        def score(pair: Edge) -> int:
            expected = _product(margins[pair[0]], margins[pair[1]], total)
            off = int(np.abs(data.counts(pair) - expected).sum())
            return off - _expected_noise(expected, self.std[1])

        # The later steps ask for the same scores again.
        known = told.tobytes()
        scores = [data.score((self, known, p), partial(score, p)) for p in pairs]
        return np.array([*scores, 0], dtype=np.int64)

    def _column_counts(self, answer: Any) -> tuple[float, list[Floats]]:
        """Return the total and the counts of columns that were released, in steps."""
        scale = self.person.whole
        tables = self.before.read(answer, (), self.std[0])
        total, margins = common_counts(self.sizes, tables)
        total = max(total, 1.0)
        return total * scale, [simplex(each, total) * scale for each in margins]


def _product(first: Floats, second: Floats, total: float) -> Whole:
    """Return what two columns would have in common by chance, in whole steps."""
    return np.rint(np.outer(first, second) / total).astype(np.int64)


def _expected_noise(expected: Whole, std: float) -> int:
    """Return how far noise would move a table that is as expected.

    It is moved back to non-negative counts of one total, as the model will be. Noise is
    that of evenly spread quantiles in a fixed order: a public number, no draw.
    """
    spread = (np.arange(1.0, expected.size + 1) * _GOLDEN) % 1.0
    least = 0.5 / expected.size
    noise = ndtri(np.clip(spread, least, 1 - least)) * std
    noisy = expected + noise.reshape(expected.shape)
    found = simplex(noisy, float(expected.sum()))
    return int(np.rint(np.abs(found - expected).sum()))
