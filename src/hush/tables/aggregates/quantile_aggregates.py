"""Medians, quantiles, minima and maxima: private choices among cells of the bounds."""

import builtins
import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, final

import ibis
import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument, short_traceback
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.quantiles.grouped_histograms import Cells
from hush.mechanisms.quantiles.grouped_interval import Between, CellInterval
from hush.mechanisms.quantiles.grouped_quantile import CellQuantile
from hush.tables.aggregates.aggregate import (
    Aggregate,
    Ends,
    Estimate,
    Released,
    checked_bounds,
    with_bounds,
)
from hush.tables.bounding import contribution_bounds
from hush.tables.bounding.contribution_bounds import UNIT
from hush.tables.bounding.in_process import Rows, blocks, can_be_fetched, fetched_rows
from hush.tables.bounding.packing import PERSON
from hush.tables.bounding.relations import BoundedRows, QueryResult, Relation
from hush.tables.bounding.sensitivity import Amount, Key, Limit, Needs, Part, epsilon_of
from hush.tables.engines.columns import Columns
from hush.tables.expressions import expression

__all__ = ["Quantile", "Quantiles", "max", "median", "min", "quantile", "quantiles"]


# --------------------------------------------------------------------------------------
# Weighted histograms per group, computed by the engine: what quantiles are found in.
#
# A column with public bounds is cut into cells around multiples of a power of two, so
# that whole numbers stay what they are wherever the cells are narrow enough. Engines
# add up integer weights per group and cell; only these histograms come back.

MOST = 1 << 16  # cells of one group
_ALL = 1 << 22  # cells of all groups together
_FEWEST = 1 << 6


def cells_per_group(groups: int) -> int:
    """Return how many cells each of so many groups may have, from public numbers.

    Example:
        >>> cells_per_group(50), cells_per_group(1000)
        (65536, 4194)
    """
    checks.whole("groups", groups, at_least=1)
    return builtins.max(_FEWEST, builtins.min(MOST, _ALL // groups))


@final
@dataclass(frozen=True)
class Axis:
    """Public bounds of a column, cut into `size` cells of width `step`.

    Cell k holds what rounds to (first + k)·step, inside the bounds.

    Guarantee: every row that has a value belongs to one cell of 0..size-1, the same on
    every engine, whatever it holds.

    Example:
        >>> axis = Axis.of((0, 80), 1000)
        >>> axis.size, float(axis.step), axis.values([0, 1, 640]).tolist()
        (641, 0.125, [0.0, 0.125, 80.0])
    """

    lower: float
    upper: float
    step: Fraction
    first: int
    size: int

    @classmethod
    def of(cls, bounds: Any, size: int = MOST) -> "Axis":
        """Return the narrowest power-of-two cells of which at most `size` suffice."""
        lower, upper = checks.interval("bounds", bounds)
        checks.whole("size", size, at_least=2, at_most=MOST)
        largest = builtins.max(abs(lower), abs(upper))
        if largest > 1e100:
            raise InvalidArgument(f"bounds must be within ±1e100; got {bounds!r}.")
        # Places stay below 2^36, so that adding a half to one is exact where it counts.
        width = builtins.max(upper - lower, largest * 2.0**-20, 1e-100)
        step = Fraction(2) ** (math.frexp(width / size)[1] - 1)
        while True:
            first, last = _cell_place(lower, step), _cell_place(upper, step)
            if last - first < size:
                return cls(lower, upper, step, first, last - first + 1)
            step *= 2

    def cell(self, value: Any) -> Any:
        """Return the engine's expression for the cell of a tame number, not NULL."""
        last = self.first + self.size - 1
        # A cell too far on either side: it only keeps the cast from overflowing, so
        # that it does not matter how an engine reads these numbers.
        low, high = float((self.first - 1) * self.step), float((last + 1) * self.step)
        inside = ibis.least(ibis.greatest(value, low), high)
        if self.step > 1:  # PostgreSQL fails on a product below the smallest double
            near = float(self.step / 4)
            inside = ibis.ifelse((inside < near) & (inside > -near), 0.0, inside)
        # Scaling by a power of two is exact; adding and flooring are IEEE operations.
        place = (inside * float(1 / self.step) + 0.5).floor().cast("int64")
        lowest, highest = (ibis.literal(x, "int64") for x in (self.first, last))
        return ibis.least(ibis.greatest(place, lowest), highest) - lowest

    def values(self, cells: Any) -> NDArray[np.float64]:
        """Return the middle of each cell, inside the bounds."""
        return self._numbers_at(cells, 0.0)

    def low_edges(self, cells: Any) -> NDArray[np.float64]:
        """Return the lower edge of each cell, inside the bounds."""
        return self._numbers_at(cells, -0.5)

    def high_edges(self, cells: Any) -> NDArray[np.float64]:
        """Return the upper edge of each cell, inside the bounds."""
        return self._numbers_at(cells, 0.5)

    def _numbers_at(self, cells: Any, shift: float) -> NDArray[np.float64]:
        place = np.asarray(cells, dtype=np.int64) + self.first + shift
        return np.clip(place * float(self.step), self.lower, self.upper)


def _cell_place(number: float, step: Fraction) -> int:
    """Return the place of a number as every engine computes it."""
    return math.floor(number * float(1 / step) + 0.5)


def cell_weights(
    weighted: ir.Table, by: tuple[str, ...], value: Any, axis: Axis
) -> ir.Table:
    """Return rows (by…, `_cell`, `_n`): the weight of each cell that has rows.

    `weighted` has integer weights `_w` (`with_weights`); `value` is a tame number
    of its rows. Rows without a value belong to no cell.

    Guarantee: one person moves the `_n` of all groups and cells together by no more
    than the sum of their weights (ℓ1): a row is in one group and one cell.
    """
    here = weighted.mutate(_v=value)
    here = here.filter(here["_v"].notnull())
    placed = here.mutate(_cell=axis.cell(here["_v"]))
    return placed.group_by(*by, "_cell").agg(_n=placed["_w"].sum().cast("int64"))


def group_histograms(
    table: Columns, by: tuple[str, ...], keys: Sequence[Key], axis: Axis
) -> Cells:
    """Return the histograms of the public `keys`, in their order.

    Keys without rows are empty groups; rows of other keys are dropped.
    """
    place = np.asarray(table["_cell"], dtype=np.int64)
    weight = np.asarray(table["_n"], dtype=np.int64)
    if "_place" in table.column_names:  # of public keys, which are these
        group = np.asarray(table["_place"], dtype=np.int64)
    else:
        group = _groups(table, by, keys)
    known = np.flatnonzero(group >= 0)
    # A group has a cell once, so no two of these are equal.
    order = known[np.argsort(group[known] * axis.size + place[known])]
    return _split_by_group(group[order], place[order], weight[order], len(keys), axis)


def _split_by_group(
    group: Any, place: Any, weight: Any, groups: int, axis: Axis
) -> Cells:
    """Return the histograms of cells in order, group after group."""
    cuts = np.searchsorted(group, np.arange(groups + 1))
    return Cells.listed(
        axis.size,
        [
            (place[start:stop], weight[start:stop])
            for start, stop in itertools.pairwise(cuts.tolist())
        ],
    )


def _groups(
    table: Columns, by: tuple[str, ...], keys: Sequence[Key]
) -> NDArray[np.int64]:
    """Return the place of each row's key in `keys`, or -1."""
    found = np.zeros(table.num_rows, dtype=np.int64)
    listed: list[Key] = [()]
    for name in by:
        joint, values = _codes_and_values(table[name])
        # Renumber what occurs, so that codes never exceed the number of rows.
        joint += found * builtins.max(len(values), 1)
        codes, found = np.unique(joint, return_inverse=True)
        listed = [
            (
                *listed[code // builtins.max(len(values), 1)],
                values[code % builtins.max(len(values), 1)],
            )
            for code in codes.tolist()
        ]
    places = {key: place for place, key in enumerate(keys)}
    lookup = np.array([places.get(key, -1) for key in listed], dtype=np.int64)
    return lookup[found] if table.num_rows else found


def _codes_and_values(column: NDArray[Any]) -> tuple[NDArray[np.int64], Sequence[Any]]:
    """Return a code for each value of a column, and the values by their codes."""
    if column.dtype.kind == "i" and column.size:
        low, high = int(column.min()), int(column.max())
        if high - low <= _FEWEST + column.size:  # counting is cheaper than a look-up
            return column.astype(np.int64) - low, range(low, high + 1)
    numbers: defaultdict[Any, int] = defaultdict(itertools.count().__next__)
    coded = map(numbers.__getitem__, column.tolist())
    return np.fromiter(coded, np.int64, column.size), list(numbers)


# --------------------------------------------------------------------------------------
# Medians, quantiles, minima and maxima: private choices among cells of the bounds.

_LEVEL = 0.95


@final
@dataclass(frozen=True)
class Cut(Relation):
    """The weights of an expression cut into cells, per group."""

    text: str
    axis: Axis

    def table(self, bounded: BoundedRows) -> ir.Table:
        """One row per group and cell that has rows."""
        if bounded.is_sampled:
            return bounded.cell_counts(self.code, self.axis.size)
        value = expression.unclamped(bounded.table_with_weights, self.text)
        return cell_weights(bounded.table_with_weights, bounded.by, value, self.axis)

    def relation_to_run(self, bounded: BoundedRows) -> Relation:
        """Return the cells counted in process where the engine runs there."""
        return (
            CellsInProcess(self) if CellsInProcess.can_replace(self, bounded) else self
        )

    def code(self, table: ir.Table) -> Any:
        """Return 0 where a row has no value, and 1 above its cell elsewhere."""
        value = expression.unclamped(table, self.text)
        one, zero = ibis.literal(1, "int64"), ibis.literal(0, "int64")
        return ibis.ifelse(value.notnull(), self.axis.cell(value) + one, zero)

    def collect(self, rows: Columns, by: tuple[str, ...]) -> Any:
        """Return the fetched columns: which groups are wanted is known later."""
        return rows, by


@dataclass(frozen=True)
class _Ranked(Part):
    """What is chosen among the cells of a column."""

    limit: Limit
    cut: Cut

    @property
    def relation(self) -> Relation:
        """Its own relation."""
        return self.cut

    @property
    def bounds(self) -> tuple[float, float]:
        """Public bounds, for the receipt."""
        return self.cut.axis.lower, self.cut.axis.upper

    def sensitivity(self, norm: int) -> int:
        """Return the ℓ1 distance of neighbors over all groups and cells."""
        # A row that changes its value leaves one cell and enters another.
        apart = Limit(self.limit.rows, self.limit.neighbors, 2, 2)
        return UNIT * apart.distance(0, 1, norm=1)

    def exact(self, found: QueryResult, keys: tuple[Key, ...]) -> Any:
        """Return the histograms of the groups."""
        rows, by = found[self.cut]
        return group_histograms(rows, by, keys, self.cut.axis)

    def describe(self) -> str:
        """Say how far one person can move it."""
        return f"ranks move by at most {self.sensitivity(1) / UNIT:g} rows."

    def half_width(self, mechanism: Mechanism, level: float) -> float:
        """Return the rank error of a choice at a level, in rows."""
        return float(mechanism.error.quantile(level)) / UNIT


@final
@dataclass(frozen=True)
class Enclosed(_Ranked):
    """One quantile and two ends around it, at a level fixed in advance."""

    at: float
    level: float
    sampled: bool

    @property
    def name(self) -> str:
        """Which quantile of what."""
        return f"quantile {self.at:g} of {self.cut.text}"

    def mechanism(self, amount: Amount) -> Mechanism:
        """Return the choice that spends an ε."""
        return CellInterval.for_epsilon(
            epsilon_of(amount),
            self.sensitivity(1),
            at=self.at,
            size=self.cut.axis.size,
            level=self.level,
            person=self.limit.rows * UNIT if self.sampled else None,
        )

    def read(self, answer: Any) -> Any:
        """Return the value and its ends in the column's own units."""
        found, axis = Between(*answer), self.cut.axis
        point = axis.values(found.point)
        low, high = axis.low_edges(found.low), axis.high_edges(found.high)
        return np.stack([point, np.minimum(low, point), np.maximum(high, point)])

    def typical_values(self, cell: float, mechanism: Any) -> Any:
        """Return the ends for values spread evenly over the bounds."""
        lower, upper = self.bounds
        slack = 0.0
        if hasattr(mechanism, "slack"):  # an interval, whose ends aim beyond the rank
            sampling = mechanism.sampling(round(cell * UNIT))
            slack = float(2 * mechanism.slack + sampling) / UNIT
        half = (upper - lower) * np.minimum(0.5, slack / cell)
        middle = (lower + upper) / 2
        return np.array([[middle], [middle - half], [middle + half]])


@final
@dataclass(frozen=True)
class Chosen(_Ranked):
    """Several quantiles, without ends."""

    at: tuple[float, ...]

    @property
    def name(self) -> str:
        """Which quantiles of what."""
        shown = ", ".join(f"{each:g}" for each in self.at)
        return f"quantiles {shown} of {self.cut.text}"

    def mechanism(self, amount: Amount) -> Mechanism:
        """Return the choice that spends an ε."""
        return CellQuantile.for_epsilon(
            epsilon_of(amount),
            self.sensitivity(1),
            at=self.at,
            size=self.cut.axis.size,
        )

    def read(self, answer: Any) -> Any:
        """Return the values in the column's own units, a column per level."""
        return self.cut.axis.values(answer)

    def typical_values(self, cell: float, mechanism: Mechanism) -> Any:
        """Return levels spread evenly over the bounds."""
        lower, upper = self.bounds
        return np.array([[lower + at * (upper - lower) for at in self.at]])


@final
@dataclass(frozen=True)
class Quantile(Aggregate):
    """A quantile of a clamped expression, with ends.

    The ends hold the exact quantile of the bounded rows with probability `level`; with
    `population` they hold the population's too, and a tenth of the budget counts rows.
    """

    expression: str
    at: float
    bounds: tuple[float, float]
    level: float = _LEVEL
    population_ends: bool = False

    @property
    def within(self) -> tuple[float, float]:
        """Its bounds."""
        return self.bounds

    @property
    def expressions(self) -> tuple[str, ...]:
        """The ranked one."""
        return (self.expression,)

    def _part(self, limit: Limit) -> Enclosed:
        axis = Axis.of(self.bounds, cells_per_group(limit.cells))
        return Enclosed(
            limit, Cut(self.expression, axis), self.at, self.level, self.population_ends
        )

    def needs(self, limit: Limit) -> Needs:
        """One choice with its ends."""
        return ((self._part(limit), 1.0),)

    def answer(self, limit: Limit, released: Released) -> Estimate:
        """Return the value between its ends, which have a level of their own."""
        (value, low, high), _ = released[self._part(limit)]
        if released.level > self.level + 1e-12:
            return Estimate(value, *self._edges(value))
        return Estimate(value, low, high)

    def _edges(self, value: Any) -> Ends:
        lower, upper = self.bounds
        return np.full_like(value, lower), np.full_like(value, upper)

    def population(self, limit: Limit, released: Released, level: float) -> Ends | None:
        """Return the ends, if they were drawn to cover sampling at this level."""
        if not self.population_ends or level > self.level + 1e-12:
            return None
        (_, low, high), _ = released[self._part(limit)]
        return low, high


@final
@dataclass(frozen=True)
class Quantiles(Aggregate):
    """Several quantiles of a clamped expression at once, in rising order."""

    expression: str
    at: tuple[float, ...]
    bounds: tuple[float, float]

    @property
    def labels(self) -> tuple[str, ...]:
        """The levels."""
        return tuple(f"{each:g}" for each in self.at)

    @property
    def expressions(self) -> tuple[str, ...]:
        """The ranked one."""
        return (self.expression,)

    def _part(self, limit: Limit) -> Chosen:
        axis = Axis.of(self.bounds, cells_per_group(limit.cells))
        return Chosen(limit, Cut(self.expression, axis), self.at)

    def needs(self, limit: Limit) -> Needs:
        """One choice per level."""
        return ((self._part(limit), 1.0),)

    def answer(self, limit: Limit, released: Released) -> Estimate:
        """Return the values, a column per level; sorting them is free."""
        value, _ = released[self._part(limit)]
        return Estimate(np.sort(value, axis=-1), None, None)


@short_traceback
def quantile(
    expression: str,
    at: float,
    bounds: Any = None,
    *,
    level: float = _LEVEL,
    population: bool = False,
) -> Any:
    """Return the quantile `at` of an expression clamped to public `bounds`.

    It comes with an interval at `level`, which must be said in advance since it costs
    budget; with `population`, the interval covers sampling as well.

    Example:
        >>> quantile("fare", 0.9, bounds=(0, 200)).at
        0.9
    """
    checks.real("at", at, at_least=0, at_most=1)
    checks.real("level", level, above=0, below=1)

    def make(found: Any) -> Quantile:
        return Quantile(expression, float(at), _wide_bounds(found), level, population)

    return with_bounds((expression,), bounds, make)


@short_traceback
def quantiles(expression: str, at: Sequence[float], bounds: Any = None) -> Any:
    """Return several quantiles at once: m cost about log2(m) single ones.

    They come without intervals; each `hush.quantile` has one.

    Example:
        >>> quantiles("fare", [0.25, 0.5, 0.75], bounds=(0, 200)).at
        (0.25, 0.5, 0.75)
    """
    levels = tuple(checks.real("at", each, at_least=0, at_most=1) for each in at)
    if not levels or sorted(set(levels)) != list(levels):
        raise InvalidArgument("at must be one or more rising numbers in 0..1.")
    return with_bounds(
        (expression,), bounds, lambda b: Quantiles(expression, levels, _wide_bounds(b))
    )


@short_traceback
def median(
    expression: str,
    bounds: Any = None,
    *,
    level: float = _LEVEL,
    population: bool = False,
) -> Any:
    """Return the median of an expression clamped to public `bounds`.

    Example:
        >>> median("fare", bounds=(0, 200)).at
        0.5
    """
    return quantile(expression, 0.5, bounds, level=level, population=population)


@short_traceback
def min(expression: str, bounds: Any = None) -> Any:
    """Return about the smallest value: a few rows below it are ignored, privately.

    Example:
        >>> min("fare", bounds=(0, 200)).at
        0.0
    """
    return quantile(expression, 0.0, bounds)


@short_traceback
def max(expression: str, bounds: Any = None) -> Any:
    """Return about the largest value: a few rows above it are ignored, privately.

    Example:
        >>> max("fare", bounds=(0, 200)).at
        1.0
    """
    return quantile(expression, 1.0, bounds)


def _wide_bounds(bounds: Any) -> tuple[float, float]:
    lower, upper = checked_bounds(bounds)
    if lower == upper:
        raise InvalidArgument(f"bounds must leave room between them; got {bounds!r}.")
    return lower, upper


# -- Weighted cells of public groups, counted in this process from rows ----------------
#
# An engine joins every row with the weight of its person and groups by all cells that
# occur, which are many. Here a row is its person and one code of group and cell, and
# two passes suffice: count the rows of everybody, then add each row's weight to its
# cell.
#
# Stability: a person's weight is that of `row_weight`, by the same operations on
# doubles, so it depends on the number of that person's rows alone; and what is added
# up are whole numbers, so these are the cells of the engine's relation to the
# last bit, in whatever order and in however many parts rows come.

_CODES = 1 << 23  # groups times cells: one number is held for each


@final
@dataclass(frozen=True)
class CellsInProcess(Relation):
    """The weights of a cut's cells, per public group.

    Guarantee: that of `cell_weights`. One person moves all weights together by at most
    rows·2^20 (ℓ1), and nobody else's.
    """

    note: ClassVar[str] = (
        "The engine hands over, row by row, a number for the person and one for the "
        "group and cell; rows are weighed and added up in this process."
    )
    cut: "Cut"

    @property
    def answers(self) -> tuple[Relation, ...]:
        """The cut."""
        return (self.cut,)

    @property
    def _codes(self) -> int:
        """Codes of one group: its cells, and 0 for a row without a value."""
        return self.cut.axis.size + 1

    @classmethod
    def can_replace(cls, cut: "Cut", bounded: BoundedRows) -> bool:
        """Return whether it can be taken: from public numbers and types alone."""
        if (
            bounded.keys is None
            or bounded.is_sampled
            or not can_be_fetched(bounded.table, bounded.unit)
        ):
            return False
        few = len(bounded.keys) * cls(cut)._codes <= _CODES
        return few and bounded.is_near

    def table(self, bounded: BoundedRows) -> ir.Table:
        """One row per row with a person: the person, and a code."""
        known = bounded.table.filter(bounded.table[str(bounded.unit)].notnull())
        group = bounded.place(known) * ibis.literal(self._codes, "int64")
        person = known[str(bounded.unit)].cast("int64")
        return known.select(person.name(PERSON), _code=group + self.cut.code(known))

    def fetch(self, relation: ir.Table, bounded: BoundedRows) -> Columns:
        """Return the cells that have rows: the place of their group, and weights."""
        groups = len(bounded.keys or ())
        total = np.zeros(groups * self._codes, np.int64)
        for rows in fetched_rows(relation, {"_code": "INTEGER"}):
            _count(rows, bounded.rows, total)
        total[:: self._codes] = 0  # rows without a value are in no cell
        held = np.flatnonzero(total != 0)
        place, code = np.divmod(held, self._codes)
        return Columns({"_place": place, "_cell": code - 1, "_n": total[held]})

    def collect(self, rows: Columns, by: tuple[str, ...]) -> Any:
        """Return what the cut would."""
        return self.cut.collect(rows, by)


def _count(rows: Rows, most: int, total: NDArray[np.int64]) -> None:
    """Add the weight of each row to the total of its code."""
    people, code = rows.people, rows.numbers["_code"]
    weight = contribution_bounds.row_weights(
        np.bincount(people, minlength=rows.many), most
    )
    for some in blocks(len(people)):
        np.add.at(total, code[some], weight[people[some]])
