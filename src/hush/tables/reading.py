"""Readings: what an engine computes for a query, fetched once and only when drawn.

A reading is a relation of bounded partial sums. It is built from public parameters
before anything runs, and its rows never leave the process except through a mechanism.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import ibis.expr.types as ir

from hush.tables import bounding, expression
from hush.tables.bounding import Grid, Moment

Key = tuple[Any, ...]


@final
@dataclass(frozen=True, eq=False)
class View:
    """The rows a query is about: its table, its groups and its bounded weights."""

    table: ir.Table  # the rows that may be in a group
    whole: ir.Table  # all rows, of which keys are found
    unit: str | None
    rows: int
    by: tuple[str, ...]
    groups: int | None = None

    @cached_property
    def weighted(self) -> ir.Table:
        """The table with each row's weight in `_w`; see `bounding.weighted`."""
        return bounding.weighted(self.table, self.unit, self.rows)


@dataclass(frozen=True)
class Reading(ABC):
    """One relation that an engine computes, and how its rows are read."""

    @abstractmethod
    def relation(self, view: View) -> ir.Table:
        """Return the engine's expression."""

    @abstractmethod
    def collect(self, rows: Any, by: tuple[str, ...]) -> Any:
        """Return the fetched Arrow table in the form that parts read."""


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

    def value(self, table: ir.Table) -> Any:
        """Return the engine's number for every row; NULL where it does not count."""
        present = [expression.number(table, text).notnull() for text in self.given]
        numbers = [expression.number(table, text) for text, _ in self.factors]
        if len(numbers) == 1:
            found = numbers[0]
        else:
            grids = (grid for _, grid in self.factors)
            first, second = (g.centered(n) for n, g in zip(numbers, grids, strict=True))
            found = first * second
            # Clamping hides NULL; a row counts where both factors have a value.
            present += [each.notnull() for each in numbers]
        for each in present:
            found = bounding.only(each, found)
        return found


@final
@dataclass(frozen=True)
class Sums(Reading):
    """Weighted sums per group: of the rows, and of each term."""

    terms: tuple[Term, ...]

    def relation(self, view: View) -> ir.Table:
        """One row per group with exact integer sums."""
        table = view.weighted
        # Worked out once per row, under a name: sums refer to it several times.
        values = {f"_v{i}": term.value(table) for i, term in enumerate(self.terms)}
        table = table.mutate(**values)
        moments = tuple(
            Moment(f"m{i}", table[f"_v{i}"], term.grid)
            for i, term in enumerate(self.terms)
        )
        return bounding.sums(table, view.by, moments)

    def collect(
        self, rows: Any, by: tuple[str, ...]
    ) -> Mapping[Key, Mapping[str, Any]]:
        """Return the sums by group."""
        return {tuple(row[name] for name in by): row for row in rows.to_pylist()}


@final
class Fetched:
    """The engine's answers to readings: fetched on demand, once, and never shown."""

    def __init__(
        self, view: View, terms: tuple[Term, ...], readings: tuple[Reading, ...] = ()
    ) -> None:
        self._view, self._sums = view, Sums(terms)
        self._lock = threading.RLock()
        self._known: dict[Reading, Any] = {}
        # Built now, so that what cannot be asked is refused before anything is paid.
        self._built = {each: each.relation(view) for each in readings}

    def __repr__(self) -> str:
        return "data"

    def __getitem__(self, reading: Reading) -> Any:
        """Return what a reading found."""
        with self._lock:
            if reading not in self._known:
                relation = self._built.get(reading)
                if relation is None:
                    relation = reading.relation(self._view)
                rows = relation.to_pyarrow()
                self._known[reading] = reading.collect(rows, self._view.by)
            return self._known[reading]

    def sums(self, key: Key) -> Mapping[str, Any] | None:
        """Return the sums of one group, None where nobody is in it."""
        found: Mapping[str, Any] | None = self[self._sums].get(key)
        return found

    def column(self, term: Term) -> str:
        """Return the name of a term's columns."""
        return f"m{self._sums.terms.index(term)}"
