"""Medians, quantiles, minima and maxima: private choices among cells of the bounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import ibis
import ibis.expr.types as ir
import numpy as np

from hush import checks
from hush.brief import brief
from hush.errors import InvalidArgument
from hush.mechanisms.cell_interval import Between, CellInterval
from hush.mechanisms.cell_quantile import CellQuantile
from hush.mechanisms.mechanism import Mechanism
from hush.tables import cells, expression
from hush.tables.aggregate import Aggregate, Ends, Estimate, Released, bounded, limits
from hush.tables.bounding import UNIT
from hush.tables.cells import Axis
from hush.tables.census import Census
from hush.tables.columns import Columns
from hush.tables.part import Amount, Key, Limit, Needs, Part, epsilon_of
from hush.tables.reading import Fetched, Reading, View

_LEVEL = 0.95


@final
@dataclass(frozen=True)
class Cut(Reading):
    """The weights of an expression cut into cells, per group."""

    text: str
    axis: Axis

    def relation(self, view: View) -> ir.Table:
        """One row per group and cell that has rows."""
        if view.sampled:
            return view.tallied(self.code, self.axis.size)
        value = expression.unclamped(view.weighted, self.text)
        return cells.cells(view.weighted, view.by, value, self.axis)

    def chosen(self, view: View) -> Reading:
        """Return a census where the engine runs in this process."""
        return Census(self) if Census.serves(self, view) else self

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
    def reading(self) -> Reading:
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
        return UNIT * apart.reach(0, 1, norm=1)

    def exact(self, found: Fetched, keys: tuple[Key, ...]) -> Any:
        """Return the histograms of the groups."""
        rows, by = found[self.cut]
        return cells.read(rows, by, keys, self.cut.axis)

    def words(self) -> str:
        """Say how far one person can move it."""
        return f"ranks move by at most {self.sensitivity(1) / UNIT:g} rows."

    def bar(self, mechanism: Mechanism, level: float) -> float:
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

    def guess(self, cell: float, mechanism: Mechanism) -> Any:
        """Return the ends for values spread evenly over the bounds."""
        lower, upper = self.bounds
        slack = 0.0
        if isinstance(mechanism, CellInterval):
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

    def guess(self, cell: float, mechanism: Mechanism) -> Any:
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
        axis = Axis.of(self.bounds, cells.fitting(limit.cells))
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
        axis = Axis.of(self.bounds, cells.fitting(limit.cells))
        return Chosen(limit, Cut(self.expression, axis), self.at)

    def needs(self, limit: Limit) -> Needs:
        """One choice per level."""
        return ((self._part(limit), 1.0),)

    def answer(self, limit: Limit, released: Released) -> Estimate:
        """Return the values, a column per level; sorting them is free."""
        value, _ = released[self._part(limit)]
        return Estimate(np.sort(value, axis=-1), None, None)


@brief
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
        return Quantile(expression, float(at), _wide(found), level, population)

    return bounded((expression,), bounds, make)


@brief
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
    return bounded(
        (expression,), bounds, lambda b: Quantiles(expression, levels, _wide(b))
    )


@brief
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


@brief
def min(expression: str, bounds: Any = None) -> Any:
    """Return about the smallest value: a few rows below it are ignored, privately.

    Example:
        >>> min("fare", bounds=(0, 200)).at
        0.0
    """
    return quantile(expression, 0.0, bounds)


@brief
def max(expression: str, bounds: Any = None) -> Any:
    """Return about the largest value: a few rows above it are ignored, privately.

    Example:
        >>> max("fare", bounds=(0, 200)).at
        1.0
    """
    return quantile(expression, 1.0, bounds)


def _wide(bounds: Any) -> tuple[float, float]:
    lower, upper = limits(bounds)
    if lower == upper:
        raise InvalidArgument(f"bounds must leave room between them; got {bounds!r}.")
    return lower, upper


__all__ = [
    "Quantile",
    "Quantiles",
    "max",
    "median",
    "min",
    "quantile",
    "quantiles",
]
