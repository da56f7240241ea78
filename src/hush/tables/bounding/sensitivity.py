"""The sensitivity of a part: what is noised together, and what one person can move.

Aggregates are made of parts: a mean is two of them. Each part is answered by itself, so
that an aggregate is a function of released numbers alone, and two aggregates that need
the same part pay for it once.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidArgument
from hush.mechanisms import DiscreteGaussian, Geometric
from hush.mechanisms.mechanism import Mechanism
from hush.noise.laplace import LARGEST
from hush.privacy import GDP
from hush.tables.bounding.contribution_bounds import UNIT, exact_total
from hush.tables.bounding.relations import QueryResult, Relation, Term
from hush.units import Neighbors

Key = tuple[Any, ...]
Floats = NDArray[np.float64]
_MANY = 1 << 10
_FINE = 1 << 30  # sensitivities are brought down to about this many steps


@final
@dataclass(frozen=True)
class Limit:
    """What one person may do to an answer: public, and fixed before data is read.

    A person's rows weigh at most `rows` over all groups together; `touched` is a bound
    on the groups they can be in.
    """

    rows: int
    neighbors: Neighbors
    groups: int
    touched: int

    def distance(self, low: int, high: int, norm: int) -> int:
        """Return how far neighbors are apart in the ℓ1 or ℓ2 norm, per unit of weight.

        Rows of weight 1 count as low..high, with low <= 0 <= high. The distance is
        convex in what a person adds, so it is largest where all their weight is in one
        group at one end: alone (add/remove), or against another person in the same
        group or in another one (replace-one).
        """
        most = max(-low, high)
        if self.neighbors is Neighbors.ADD_REMOVE:
            return self.rows * most
        if self.groups == 1:
            return self.rows * (high - low)
        if norm == 1:
            return self.rows * 2 * most
        apart = math.isqrt(2 * most * most - 1) + 1 if most else 0
        return self.rows * max(high - low, apart)

    @property
    def cells(self) -> int:
        """How many groups to make room for: many, where their number is not known."""
        return min(self.groups, _MANY)

    @property
    def changed(self) -> int:
        """How many groups may differ between neighbors."""
        both = 1 if self.neighbors is Neighbors.ADD_REMOVE else 2
        return min(self.groups, both * self.touched)


@dataclass(frozen=True)
class Part(ABC):
    """One answer per group: its name, its sensitivity, its mechanism, its truth."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What is released, in a few words."""

    @property
    def pure(self) -> bool:
        """Whether only pure mechanisms answer it."""
        return True

    @abstractmethod
    def sensitivity(self, norm: int) -> Any:
        """Return how far apart neighbors are, in the norm of the mechanism."""

    @abstractmethod
    def mechanism(self, amount: "Amount") -> Mechanism:
        """Return the mechanism that spends an amount, from public numbers alone."""

    @abstractmethod
    def exact(self, found: QueryResult, keys: tuple[Key, ...]) -> Any:
        """Return the exact input of the mechanism: private."""

    @abstractmethod
    def read(self, answer: Any) -> Any:
        """Return a released answer in the user's units, a row per group."""

    @abstractmethod
    def half_width(self, mechanism: Mechanism, level: float) -> float:
        """Return what one number's error stays within, with probability `level`."""

    @abstractmethod
    def typical_values(self, cell: float, mechanism: Mechanism) -> Any:
        """Return what a group of `cell` ordinary rows might answer: for plans only."""

    @abstractmethod
    def describe(self) -> str:
        """Say what one person can do to it."""

    @property
    def relation(self) -> Relation | None:
        """The relation it reads; None for the shared sums."""
        return None

    @property
    def bounds(self) -> Any:
        """Public bounds, for the receipt."""
        return None


@dataclass(frozen=True)
class Additive(Part):
    """Whole numbers per group, answered by adding whole noise.

    Guarantee: between neighbors the numbers of all groups together move by at most
    `sensitivity(norm)`, in steps of `unit_value`.
    """

    limit: Limit

    @property
    def pure(self) -> bool:
        """Gaussian noise serves as well."""
        return False

    @property
    @abstractmethod
    def weight(self) -> int:
        """Fine steps that one row of full weight counts for."""

    @property
    @abstractmethod
    def row_range(self) -> tuple[int, int]:
        """Smallest and largest count of such a row, zero (no row) included."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers per group: one unless a part says otherwise."""
        return ()

    @property
    @abstractmethod
    def fine_value(self) -> Fraction:
        """What one fine step is worth, in the user's units."""

    @abstractmethod
    def fine_steps(self, found: QueryResult, key: Key) -> Any:
        """Return the exact fine steps of one group, as Python integers."""

    def _distance(self, norm: int) -> int:
        return self.weight * self.limit.distance(*self.row_range, norm)

    @property
    def steps_per_release(self) -> int:
        """Fine steps per released step: a power of two from public numbers."""
        return 1 << max(0, (self._distance(1) // _FINE).bit_length() - 1)

    @property
    def _cells(self) -> int:
        """How many numbers may differ between neighbors."""
        return self.limit.changed * math.prod(self.shape)

    def sensitivity(self, norm: int) -> int:
        """Return the largest distance between neighbors, in released steps.

        Rounding down to m fine steps turns a distance d into at most d/m + 1 in every
        number that changes: another √k in ℓ2 for k of them.
        """
        coarse = self.steps_per_release
        # Bounds that leave no room still get noise: nothing is released bare.
        steps = max(1, math.ceil(Fraction(self._distance(norm), coarse)))
        if coarse > 1:
            changed = self._cells
            steps += changed if norm == 1 else math.isqrt(changed - 1) + 1
        # A multiple of 1024 has an exact curve of 1024 atoms; a millionth is lost.
        return -(-steps // 1024) * 1024 if steps > 1 << 20 else steps

    @property
    def unit_value(self) -> Fraction:
        """What one released step is worth, in the user's units."""
        return self.fine_value * self.steps_per_release

    def mechanism(self, amount: "Amount") -> Mechanism:
        """Return geometric noise for an ε and discrete Gaussian noise for a μ."""
        if isinstance(amount, GDP):
            width = _std(self.sensitivity(2), amount.mu)
        else:
            width = self.sensitivity(1) / amount
        if width > LARGEST:
            raise InvalidArgument(
                f"{self.name} would need more noise than 64 bits hold: give a larger "
                "epsilon, fewer rows= or narrower bounds."
            )
        return DiscreteGaussian(width) if isinstance(amount, GDP) else Geometric(width)

    def exact(self, found: QueryResult, keys: tuple[Key, ...]) -> NDArray[np.int64]:
        """Return whole released steps of every group; absent groups are zero."""
        coarse = self.steps_per_release
        rows = [
            np.asarray(self.fine_steps(found, key), dtype=object) // coarse
            for key in keys
        ]
        shape = (len(keys), *self.shape)
        return np.array(rows, dtype=np.int64).reshape(shape)

    def read(self, answer: Any) -> Floats:
        """Return released steps in the user's units."""
        return np.asarray(answer, dtype=np.float64) * float(self.unit_value)

    def half_width(self, mechanism: Mechanism, level: float) -> float:
        """Return the half-width of the noise at a level, in the user's units."""
        return _half_width(mechanism, level) * float(self.unit_value)

    def describe(self) -> str:
        """Say how far one person can move it."""
        return f"moves by at most {float(self.sensitivity(1) * self.unit_value):g}."


@lru_cache(maxsize=1024)  # values and intervals of an answer ask for the same few
def _half_width(mechanism: Mechanism, level: float) -> float:
    return float(mechanism.error.interval(level)[1])


def _std(sensitivity: int, mu: float) -> Fraction:
    """Return a std whose discrete noise is μ-GDP, the lattice included."""
    # lattice_curve charges sensitivity/√(std² - 4), a trifle more than sensitivity/std.
    wanted = math.sqrt((sensitivity / mu) ** 2 + 4) * (1 + 2.0**-40)
    return Fraction(max(wanted, 4.0))


def epsilon_of(amount: "Amount") -> float:
    """Return the ε of a part that only pure mechanisms answer, rounded down."""
    if isinstance(amount, GDP):
        raise TypeError("a pure part is given an ε")
    found = float(amount)
    return found if Fraction(found) <= amount else math.nextafter(found, 0.0)


def unique_parts(parts: list[Part]) -> tuple[Part, ...]:
    """Return each part once: aggregates that share one pay for it once."""
    return tuple(dict.fromkeys(parts))


Amount = Fraction | GDP  # what a part may spend: an ε, or Gaussian noise
Needs = tuple[tuple[Part, float], ...]  # parts, and how much each matters


# -- Statistics: weighted sums of rows -------------------------------------------------


class Form(StrEnum):
    """What is added up for each row of a person, times the row's weight."""

    ROWS = "rows"  # 1
    PRESENT = "present"  # 1 where the term has a value
    TOTAL = "total"  # the value
    CENTERED = "centered"  # the value minus the middle of the bounds


@final
@dataclass(frozen=True)
class Statistic(Additive):
    """Σ weight·value over the rows of each group.

    Guarantee: one person's weights add up to at most rows·2^20 over all groups
    together, each times a value inside the grid; hence `sensitivity`.

    Example:
        >>> from hush.units import Neighbors
        >>> limit = Limit(rows=5, neighbors=Neighbors.ADD_REMOVE, groups=9, touched=9)
        >>> Statistic(limit, Form.ROWS).sensitivity(norm=1) == 5 * 2**20
        True
    """

    form: Form
    term: Term | None = None

    @property
    def name(self) -> str:
        """The form and the expressions."""
        texts = [text for text, _ in self.term.factors] if self.term else []
        return " ".join([self.form, " * ".join(texts)]).strip()

    @property
    def weight(self) -> int:
        """A row of weight 1, in units of 2^-20."""
        return UNIT

    @property
    def _counts(self) -> bool:
        return self.form in (Form.ROWS, Form.PRESENT)

    @property
    def row_range(self) -> tuple[int, int]:
        """What a row of weight 1 adds, in steps of the grid."""
        if self._counts or self.term is None:
            return 0, 1
        grid = self.term.grid
        middle = grid.middle if self.form is Form.CENTERED else 0
        return min(grid.low - middle, 0), max(grid.high - middle, 0)

    @property
    def fine_value(self) -> Fraction:
        """A unit of weight times a step of the grid."""
        plain = self._counts or self.term is None
        return (Fraction(1) if plain else self.term.grid.step) / UNIT  # type: ignore[union-attr]

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Public bounds of what a row adds, for the receipt."""
        return None if self.term is None else self.term.grid.ends

    def fine_steps(self, found: QueryResult, key: Key) -> int:
        """Return the exact sum of one group, zero where nobody is in it."""
        row = found.sums(key)
        if row is None:
            return 0
        if self.term is None:
            return int(row["_n"] or 0)
        name = found.column(self.term)
        weight = int(row[f"{name}_w"] or 0)
        if self.form is Form.PRESENT:
            return weight
        grid = self.term.grid
        raw = exact_total(row, name)
        offset = grid.low - (grid.middle if self.form is Form.CENTERED else 0)
        return raw + offset * weight

    def typical_values(self, cell: float, mechanism: Mechanism) -> list[float]:
        """Return the sum over rows spread evenly over the upper half of the bounds.

        A mean in the very middle is rare, and there alone noise on the count does not
        matter: halfway to an end is what `Mean.needs` supposes, too.
        """
        if self._counts or self.term is None:
            return [cell]
        grid, factors = self.term.grid, self.term.factors
        half = float(grid.half)
        if self.form is Form.CENTERED:
            return [cell * half / 2]
        if len(factors) == 1:
            return [cell * (float(grid.middle * grid.step) + half / 2)]
        return [cell * grid.ends[1] / (3 if factors[0] == factors[1] else 4)]


def rows_of(limit: Any) -> Statistic:
    """Return the weighted number of rows."""
    return Statistic(limit, Form.ROWS)
