"""Push-down: the relations that an engine computes, fetched once, only when drawn.

A relation is a relation of bounded partial sums. It is built from public parameters
before anything runs, and its rows never leave the process except through a mechanism.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, final

import ibis
import ibis.expr.types as ir
import numpy as np

from hush.tables.bounding import contribution_bounds
from hush.tables.bounding.contribution_bounds import Grid, Moment
from hush.tables.bounding.contribution_caps import Caps, Field, capped_rows
from hush.tables.engines import engine
from hush.tables.engines.columns import Columns, objects
from hush.tables.expressions import expression
from hush.tables.expressions.types import value_where

Key = tuple[Any, ...]
PLACE = "_place"  # the column with the place of a row's key among public keys


@final
@dataclass(frozen=True, eq=False)
class Code:
    """A whole number of a row in 0..2^bits - 1: its name and how an engine gets it."""

    name: str
    value: Callable[[ir.Table], Any]
    bits: int


class Grouping(Protocol):
    """The groups of a query, as relations need them; `hush.tables.groups` has them."""

    by: tuple[str, ...]

    @property
    def keys(self) -> tuple[Key, ...] | None:
        """The public keys, None where keys are found in the data."""

    def place(self, table: ir.Table) -> Any:
        """Return the place of a row's key among the public keys."""

    def is_near(self, table: ir.Table) -> bool:
        """Whether that place is cheap to find."""


@final
@dataclass(frozen=True, eq=False)
class BoundedRows:
    """The rows a query is about: their table, their groups and bounded weights."""

    table: ir.Table  # the rows that may be in a group
    whole: ir.Table  # all rows, of which keys are found
    unit: str | None
    rows: int
    grouping: Grouping
    groups: int | None = None  # a literal cap on the groups of a person

    @property
    def names(self) -> tuple[str, ...]:
        """The grouping columns."""
        return self.grouping.by

    @cached_property
    def keys(self) -> tuple[Key, ...] | None:
        """The public keys, None where keys are found in the data."""
        return self.grouping.keys

    @property
    def by(self) -> tuple[str, ...]:
        """What rows are grouped by: the place of a public key, or the columns."""
        return (PLACE,) if self.names and self.keys is not None else self.names

    @cached_property
    def table_with_groups(self) -> ir.Table:
        """The table with what its rows are grouped by."""
        return self._with_groups(self.table)

    @cached_property
    def table_with_weights(self) -> ir.Table:
        """The same with each row's weight in `_w`; see `with_weights`."""
        return self._with_groups(
            contribution_bounds.with_weights(self.table, self.unit, self.rows)
        )

    def _with_groups(self, table: ir.Table) -> ir.Table:
        if set(self.by) <= set(table.columns):
            return table
        return table.mutate(**{PLACE: self.grouping.place(table)})

    @property
    def is_sampled(self) -> bool:
        """Whether people are cut to whole rows and groups instead of weighed."""
        return self.groups is not None and self.unit is not None

    def coded_rows(self, codes: tuple[Code, ...]) -> tuple[ir.Table, tuple[str, ...]]:
        """Return bounded rows with their codes and `_w`, and how they are grouped.

        Weighed rows are grouped by their own columns. A sample keeps nothing of a row
        but its codes, so the place of its key stands for the group: `_g`.
        """
        if not self.is_sampled:
            found = {code.name: code.value(self.table_with_weights) for code in codes}
            return self.table_with_weights.mutate(**found), self.by
        fields = self.fields(codes)
        kept = capped_rows(self.table, str(self.unit), fields, self.caps, group="_g")
        return kept, ("_g",)

    @cached_property
    def caps(self) -> Caps:
        """The literal caps of a person."""
        return Caps(self.rows, self.groups)

    def widths(self, codes: tuple[Code, ...]) -> dict[str, int]:
        """Return how many bits a sampled row has for its group and for each code."""
        groups = len(self.keys or ((),)).bit_length()
        return {"_g": groups, **{code.name: code.bits for code in codes}}

    def fields(self, codes: tuple[Code, ...]) -> list[Field]:
        """Return what a sampled row consists of."""
        values = (self.place(self.table), *(code.value(self.table) for code in codes))
        named = zip(self.widths(codes).items(), values, strict=True)
        return [Field(name, value, bits) for (name, bits), value in named]

    def place(self, table: ir.Table) -> Any:
        """Return the place of a row's key among the public keys."""
        return self.grouping.place(table)

    @property
    def is_near(self) -> bool:
        """Whether that place is cheap to find: counted, or among few keys."""
        return self.grouping.is_near(self.table)

    def cell_counts(self, code: Callable[[ir.Table], Any], size: int) -> ir.Table:
        """Return rows (group…, `_cell`, `_n`): the weight of each cell with rows.

        `code` is 1 above a cell of 0..size - 1, and 0 where a row is in none.
        """
        table, by = self.coded_rows((Code("_code", code, size.bit_length()),))
        kept = table.filter(table["_code"] > 0)
        found = kept.group_by(*by, "_code").agg(_n=kept["_w"].sum().cast("int64"))
        return found.mutate(_cell=found["_code"] - 1).drop("_code")

    def with_key_columns(self, rows: Columns) -> Columns:
        """Return fetched rows with the columns of their keys."""
        column = next((n for n in ("_g", PLACE) if n in rows.column_names), None)
        if column is None or self.keys is None:
            return rows
        at = np.asarray(rows[column], dtype=np.int64)
        for i, name in enumerate(self.names):
            values = objects(key[i] for key in self.keys)
            rows = rows.with_column(name, values[at])
        return rows


@dataclass(frozen=True)
class Relation(ABC):
    """One relation that an engine computes, and how its rows are read."""

    note: ClassVar[str] = ""  # what is done to its rows in this process, if much

    @abstractmethod
    def table(self, bounded: BoundedRows) -> ir.Table:
        """Return the engine's expression."""

    @abstractmethod
    def collect(self, rows: Columns, by: tuple[str, ...]) -> Any:
        """Return the fetched columns in the form that parts read."""

    def fetch(self, relation: ir.Table, bounded: BoundedRows) -> Columns:
        """Run the engine's expression, and return its columns."""
        del bounded
        return engine.fetch(relation)

    def relation_to_run(self, bounded: BoundedRows) -> "Relation":
        """Return the relation that answers this one: itself, or a faster one."""
        del bounded
        return self

    @property
    def answers(self) -> "tuple[Relation, ...]":
        """The relations whose rows this one has: itself, unless it joins others."""
        return (self,)


@final
@dataclass(frozen=True)
class Term:
    """What a row adds before its weight: an expression, or the product of two.

    One factor is clamped to its grid. Two are clamped, taken around the middles of
    their bounds and multiplied. A row counts only where all factors and all `given`
    expressions have values.

    Example:
        >>> Term((("fare", Grid.of((0, 80))),)).grid == Grid.of((0, 80))
        True
    """

    factors: tuple[tuple[str, Grid], ...]
    given: tuple[str, ...] = ()

    @cached_property
    def grid(self) -> Grid:
        """The grid of what a row adds."""
        if len(self.factors) == 1:
            return self.factors[0][1]
        (first, one), (second, two) = self.factors
        most = float(one.half * two.half)
        return Grid.of((0.0 if (first, one) == (second, two) else -most, most))

    @property
    def bits(self) -> int:
        """How wide a code is."""
        return (self.grid.high - self.grid.low + 1).bit_length()

    def code(self, table: ir.Table) -> Any:
        """Return 0 where a row does not count, and 1 above its steps elsewhere."""
        value = self.value(table)
        one, zero = ibis.literal(1, "int64"), ibis.literal(0, "int64")
        return ibis.ifelse(value.notnull(), self.grid.steps(value) + one, zero)

    def value(self, table: ir.Table) -> Any:
        """Return the engine's number for every row; NULL where it does not count."""
        present = [expression.number(table, text).notnull() for text in self.given]
        numbers = [expression.unclamped(table, text) for text, _ in self.factors]
        if len(numbers) == 1:
            found = numbers[0]
        else:
            grids = (grid for _, grid in self.factors)
            first, second = (g.centered(n) for n, g in zip(numbers, grids, strict=True))
            found = first * second
            # Clamping hides NULL; a row counts where both factors have a value.
            present += [each.notnull() for each in numbers]
        for each in present:
            found = value_where(each, found)
        return found


@final
@dataclass(frozen=True)
class Sums(Relation):
    """Weighted sums per group: of the rows, and of each term."""

    terms: tuple[Term, ...]

    def table(self, bounded: BoundedRows) -> ir.Table:
        """One row per group with exact integer sums."""
        if bounded.is_sampled:
            return self._of_sample(bounded)
        table, moments = self.moments(bounded.table_with_weights)
        return contribution_bounds.sums(table, bounded.by, moments)

    def moments(self, table: ir.Table) -> tuple[ir.Table, tuple[Moment, ...]]:
        """Return the table with a column for each term, and what they add up to."""
        # Worked out once per row, under a name: sums refer to it several times.
        values = {f"_v{i}": term.value(table) for i, term in enumerate(self.terms)}
        table = table.mutate(**values)
        return table, tuple(
            Moment.of(f"_m{i}", table[f"_v{i}"], term.grid)
            for i, term in enumerate(self.terms)
        )

    def relation_to_run(self, bounded: BoundedRows) -> Relation:
        """Return a sample where the engine runs in this process."""
        if not bounded.is_sampled:
            return self
        from hush.tables.bounding.in_process import (
            SampledSums,  # which reads sums, and so this module
        )

        return SampledSums(self) if SampledSums.can_replace(self, bounded) else self

    @property
    def codes(self) -> tuple[Code, ...]:
        """What a sampled row keeps of the terms."""
        return tuple(Code(f"_v{i}", t.code, t.bits) for i, t in enumerate(self.terms))

    def _of_sample(self, bounded: BoundedRows) -> ir.Table:
        table, by = bounded.coded_rows(self.codes)
        moments = tuple(
            Moment(f"_m{i}", table[f"_v{i}"] > 0, table[f"_v{i}"] - 1)
            for i in range(len(self.terms))
        )
        return contribution_bounds.sums(table, by, moments)

    def collect(
        self, rows: Columns, by: tuple[str, ...]
    ) -> Mapping[Key, Mapping[str, Any]]:
        """Return the sums by group."""
        return dict(zip(rows.tuples(by), rows.to_pylist(), strict=True))


@final
class QueryResult:
    """The engine's answers to relations: fetched on demand, once, and never shown."""

    def __init__(
        self,
        bounded: BoundedRows,
        terms: tuple[Term, ...],
        tables: Mapping[Relation, ir.Table],
        unchanged: Callable[[], None] = lambda: None,
    ) -> None:
        self._unchanged = unchanged  # refuses files that were replaced meanwhile
        self._bounded, self._sums = bounded, Sums(terms)
        self._lock = threading.RLock()
        self._known: dict[Relation, Any] = {}
        self._tables = tables  # what each relation will run
        self._within = {part: each for each in tables for part in each.answers}

    def __repr__(self) -> str:
        return "data"

    def fetch(self, relation: Relation | None) -> Any:
        """Return what a relation found, or the shared sums; an engine is asked once."""
        relation = self._sums if relation is None else relation
        with self._lock:
            if relation not in self._known:
                asked = self._within.get(relation, relation)
                table = self._tables.get(asked)
                if table is None:
                    table = asked.table(self._bounded)
                rows = self._bounded.with_key_columns(asked.fetch(table, self._bounded))
                self._unchanged()
                for each in asked.answers:
                    self._known[each] = each.collect(rows, self._bounded.names)
            return self._known[relation]

    def __getitem__(self, relation: Relation) -> Any:
        """Return what a relation found."""
        return self.fetch(relation)

    def sums(self, key: Key) -> Mapping[str, Any] | None:
        """Return the sums of one group, None where nobody is in it."""
        found: Mapping[str, Any] | None = self.fetch(None).get(key)
        return found

    def column(self, term: Term) -> str:
        """Return the name of a term's columns."""
        return f"_m{self._sums.terms.index(term)}"
