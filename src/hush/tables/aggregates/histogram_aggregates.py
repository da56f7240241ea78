"""Histograms, modes and top k: weighted counts of public bins or values, by group."""

import itertools
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

import ibis
import ibis.expr.types as ir
import numpy as np

from hush import checks
from hush.errors import InvalidArgument, Unsupported, short_traceback
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.quantiles.grouped_top_k import CellTop
from hush.tables.aggregates.aggregate import Aggregate, Estimate, Released
from hush.tables.bounding.contribution_bounds import UNIT
from hush.tables.bounding.relations import BoundedRows, QueryResult, Relation
from hush.tables.bounding.sensitivity import (
    Additive,
    Amount,
    Key,
    Limit,
    Needs,
    Part,
    epsilon_of,
)
from hush.tables.engines.columns import Columns
from hush.tables.expressions import expression
from hush.tables.expressions.expression import Kind
from hush.tables.groups.public_keys import single_precision

_MOST_BINS = 1 << 16
_MOST_EDGES = 200  # unequal edges are compared one by one


@final
@dataclass(frozen=True)
class Tally(Relation):
    """Weights per group and cell: a bin between public edges, or a public value.

    Bins hold their lower edge, the last one both. Rows outside all cells, and rows
    without a value, are in none.
    """

    text: str
    cells: tuple[Any, ...]
    bins: bool

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.cells) - self.bins

    def table(self, bounded: BoundedRows) -> ir.Table:
        """One row per group and cell that has rows."""
        return bounded.cell_counts(self._code, self.size)

    def _code(self, table: ir.Table) -> Any:
        """Return 0 where a row is in no cell, and 1 above its cell elsewhere."""
        cell = self._bin(table) if self.bins else self._value(table)
        return ibis.coalesce(cell, ibis.literal(-1, "int64")) + 1

    def _bin(self, table: ir.Table) -> Any:
        """Return the number of the bin, NULL outside."""
        value = expression.number(table, self.text)
        edges = [float(each) for each in self.cells]
        steps = np.diff(edges)
        inside = (value >= edges[0]) & (value <= edges[-1])
        if len(edges) > _MOST_EDGES and not np.allclose(steps, steps[0]):
            raise Unsupported(
                f"edges: at most {_MOST_EDGES} unless they are equally spaced; got "
                f"{len(edges)}."
            )
        if len(edges) > _MOST_EDGES:
            # Clamped first: engines fail on products and casts of rows far outside,
            # and PostgreSQL on products that are smaller than the smallest double.
            held = ibis.least(ibis.greatest(value, edges[0]), edges[-1]) - edges[0]
            near = ibis.ifelse(held < (edges[-1] - edges[0]) * 2.0**-60, 0.0, held)
            raw = near * (self.size / (edges[-1] - edges[0]))
            tame = ibis.least(ibis.greatest(raw, 0.0), float(self.size - 1))
            number = tame.floor().cast("int64")
        else:
            zero, one = ibis.literal(0, "int64"), ibis.literal(1, "int64")
            number = zero
            for edge in edges[1:-1]:
                number = number + ibis.ifelse(value >= edge, one, zero)
        return ibis.ifelse(inside, number, ibis.null("int64"))

    def _value(self, table: ir.Table) -> Any:
        """Return the number of the public value, NULL for every other."""
        found = expression.typed_value(table, self.text)
        kinds = {Kind.TEXT: (str,), Kind.NUMBER: (int, float), Kind.TRUTH: (bool,)}
        wanted = kinds.get(found.kind, ())
        if not all(isinstance(each, wanted) for each in self.cells):
            raise Unsupported(
                f"values must be of the kind of {self.text!r}, which is a {found.kind}."
            )
        cells = [self._cell(table, each) for each in self.cells]
        pairs = (
            (found.value == each, ibis.literal(i, "int64"))
            for i, each in enumerate(cells)
        )
        return ibis.cases(*pairs, else_=ibis.null("int64"))

    def _cell(self, table: ir.Table, value: Any) -> Any:
        """Return a public value as its column has it: 0.1 in single precision too."""
        plain = self.text in table.columns and table[self.text].type().is_float32()
        if not plain:
            return value
        held = single_precision(value)
        if held is None:
            raise InvalidArgument(
                f"the value {value!r} cannot be one of {self.text!r}, which is in "
                "single precision: it would change."
            )
        return held

    def collect(
        self, rows: Columns, by: tuple[str, ...]
    ) -> Mapping[Key, Mapping[int, int]]:
        """Return weights by group and cell."""
        found: dict[Key, dict[int, int]] = {}
        numbers = rows.tuples(("_cell", "_n"))
        for key, (cell, weight) in zip(rows.tuples(by), numbers, strict=True):
            found.setdefault(key, {})[cell] = weight
        return found


@final
@dataclass(frozen=True)
class Counts(Additive):
    """The weights of all cells, noised one by one.

    Guarantee: one person's weights add up to at most rows·2^20 over all groups and all
    cells together, so a histogram costs what one count does.
    """

    tally: Tally

    @property
    def name(self) -> str:
        """What is counted."""
        return f"rows by {self.tally.text}"

    @property
    def relation(self) -> Relation:
        """Its own relation."""
        return self.tally

    @property
    def weight(self) -> int:
        """A row of weight 1, in units of 2^-20."""
        return UNIT

    @property
    def row_range(self) -> tuple[int, int]:
        """A row counts for one."""
        return 0, 1

    @property
    def shape(self) -> tuple[int, ...]:
        """One number per cell."""
        return (self.tally.size,)

    @property
    def fine_value(self) -> Fraction:
        """A unit of weight."""
        return Fraction(1, UNIT)

    def fine_steps(self, found: QueryResult, key: Key) -> list[int]:
        """Return the weight of every cell of a group."""
        group = found[self.tally].get(key, {})
        return [group.get(i, 0) for i in range(self.tally.size)]

    def typical_values(self, cell: float, mechanism: Mechanism) -> list[list[float]]:
        """Return rows spread evenly over the cells."""
        return [[cell / self.tally.size] * self.tally.size]


@final
@dataclass(frozen=True)
class Histogram(Aggregate):
    """Counts of rows between public edges, or of public values."""

    expression: str
    cells: tuple[Any, ...]
    bins: bool

    @property
    def labels(self) -> tuple[str, ...]:
        """The cells: from edge to edge, or the values."""
        if not self.bins:
            return tuple(map(str, self.cells))
        return tuple(f"{a:g} to {b:g}" for a, b in itertools.pairwise(self.cells))

    def _part(self, limit: Limit) -> Counts:
        several = _limit_over_cells(limit, self._tally.size)
        return Counts(several, self._tally)

    @property
    def _tally(self) -> Tally:
        return Tally(self.expression, self.cells, self.bins)

    def needs(self, limit: Limit) -> Needs:
        """The tally."""
        return ((self._part(limit), 1.0),)

    def answer(self, limit: Limit, released: Released) -> Estimate:
        """Return noisy counts, a row per group and a column per cell."""
        value, bar = released[self._part(limit)]
        return Estimate(value, value - bar, value + bar)


def _limit_over_cells(limit: Limit, cells: int) -> Limit:
    """Return the limit where every group is cut into cells: a person may be in any."""
    # `groups` decides whether two people can be apart; `Counts.shape` counts the cells.
    return replace(limit, groups=max(limit.groups, 2)) if cells > 1 else limit


@final
@dataclass(frozen=True)
class Heaviest(Part):
    """The most frequent public values of each group, chosen privately."""

    limit: Limit
    tally: Tally
    count: int

    @property
    def name(self) -> str:
        """What is chosen."""
        return f"top {self.count} of {self.tally.text}"

    @property
    def relation(self) -> Relation:
        """Its own relation."""
        return self.tally

    def sensitivity(self, norm: int) -> int:
        """Return the ℓ1 distance of neighbors over all groups and values."""
        return UNIT * _limit_over_cells(self.limit, 2).distance(0, 1, norm=1)

    def mechanism(self, amount: Amount) -> Mechanism:
        """Return the choice that spends an ε."""
        return CellTop.for_epsilon(
            epsilon_of(amount), self.sensitivity(1), count=self.count
        )

    def exact(self, found: QueryResult, keys: tuple[Key, ...]) -> Any:
        """Return the weight of every value, a row per group."""
        groups = (found[self.tally].get(key, {}) for key in keys)
        size = self.tally.size
        rows = [[group.get(i, 0) for i in range(size)] for group in groups]
        return np.array(rows, dtype=np.int64).reshape(len(keys), size)

    def read(self, answer: Any) -> Any:
        """Return the chosen values."""
        values = np.empty(self.tally.size, dtype=object)
        values[:] = self.tally.cells
        return values[np.asarray(answer)]

    def half_width(self, mechanism: Mechanism, level: float) -> float:
        """Return how many rows the choice may be short of the best, at a level."""
        gap = mechanism.error.among(self.tally.size)
        return float(gap.quantile(level)) / UNIT

    def typical_values(self, cell: float, mechanism: Mechanism) -> Any:
        """Return the first values."""
        return self.read([list(range(self.count))])

    def describe(self) -> str:
        """Say how far one person can move it."""
        return f"counts move by at most {self.sensitivity(1) / UNIT:g} rows."


@final
@dataclass(frozen=True)
class Top(Aggregate):
    """The most frequent of public values, best first; `count` None is the mode."""

    expression: str
    values: tuple[Any, ...]
    count: int | None

    def _part(self, limit: Limit) -> Heaviest:
        tally = Tally(self.expression, self.values, bins=False)
        return Heaviest(limit, tally, self.count or 1)

    def needs(self, limit: Limit) -> Needs:
        """One choice."""
        return ((self._part(limit), 1.0),)

    def answer(self, limit: Limit, released: Released) -> Estimate:
        """Return values: a mode is one, the top are a list."""
        value, _ = released[self._part(limit)]
        return Estimate(value[:, 0] if self.count is None else value, None, None)


@short_traceback
def mode(expression: str, values: Any) -> Top:
    """Return the most frequent of public `values`.

    Example:
        >>> mode("colour", values=["red", "blue"]).count is None
        True
    """
    return Top(checks.text("expression", expression), candidates(values), None)


@short_traceback
def top_k(expression: str, k: int, values: Any) -> Top:
    """Return the k most frequent of public `values`, best first.

    Example:
        >>> top_k("colour", 2, values=["red", "blue", "green"]).count
        2
    """
    found = candidates(values)
    checks.whole("k", k, at_least=1, at_most=len(found))
    return Top(checks.text("expression", expression), found, k)


@short_traceback
def histogram(expression: str, edges: Any = None, *, values: Any = None) -> Histogram:
    """Count rows between public `edges`, or rows with each of the public `values`.

    Ten bins of one width are edges=range(0, 101, 10): where the data begins and ends is
    not public, so a number of bins alone would not do. A bin holds its lower end and
    not its upper one; the last holds both. Rows outside the edges are in none.

    Example:
        >>> histogram("fare", edges=[0, 10, 20, 80]).cells
        (0.0, 10.0, 20.0, 80.0)
        >>> histogram("colour", values=["red", "blue"]).bins
        False
    """
    if (edges is None) == (values is None):
        raise InvalidArgument(
            "histogram takes edges, as in edges=[0, 10, 20], or values, as in "
            'values=["a", "b"]: one of the two.'
        )
    checks.text("expression", expression)
    if values is not None:
        return Histogram(expression, candidates(values), bins=False)
    if isinstance(edges, (str, bytes)) or not isinstance(edges, Iterable):
        raise InvalidArgument(
            "edges must be a list of rising numbers, as in edges=[0, 10, 20]; got "
            f"{edges!r}."
        )
    found = tuple(checks.real("edges", each) for each in edges)
    if len(found) < 2 or any(a >= b for a, b in itertools.pairwise(found)):
        raise InvalidArgument("edges must be two or more rising numbers.")
    if len(found) > _MOST_BINS:
        raise InvalidArgument(f"edges: at most {_MOST_BINS}; got {len(found)}.")
    return Histogram(expression, found, bins=True)


def candidates(values: Any) -> tuple[Any, ...]:
    """Return different public values, or refuse them.

    A text would be taken for its letters, and a set has no order to answer in.
    """
    kinds = (str, bytes, bytearray, Mapping, AbstractSet)
    if isinstance(values, kinds) or not isinstance(values, Iterable):
        raise InvalidArgument(
            'values must be a list of public values, as in values=["a", "b"]; got a '
            f"{type(values).__name__}."
        )
    found = tuple(values)
    if not found or len(found) > _MOST_BINS or len(set(found)) != len(found):
        raise InvalidArgument(f"values must be 1 to {_MOST_BINS} different ones.")
    return found
