"""A view of an answer: some of its rows, in an order. It costs nothing.

HAVING, ORDER BY and LIMIT look at released values alone, so they are free; the release
and its receipt stay whole underneath.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import ibis
import ibis.expr.types as ir
import numpy as np

from hush.tables import expression, memory
from hush.tables.engine import fetch
from hush.tables.shown import Shown

if TYPE_CHECKING:
    from hush.ledger.receipt import Receipt
    from hush.tables.answer import Answer


@final
@dataclass(frozen=True)
class View:
    """Which rows of a released table to show: texts over its columns."""

    having: str | None = None
    order: tuple[tuple[str, bool, bool], ...] = ()  # text, descending, NULL first
    limit: int | None = None
    offset: int = 0
    types: tuple[tuple[str, str], ...] = ()  # columns that may be looked at

    def __post_init__(self) -> None:
        if self.types:  # refused before anything is paid
            self._values(ibis.table(dict(self.types), name="released"))

    def _values(self, table: ir.Table) -> dict[str, Any]:
        wanted = {}
        if self.having is not None:
            wanted["keep"] = expression.truth(table, self.having)
        for i, (text, *_) in enumerate(self.order):
            wanted[f"by{i}"] = expression.typed(table, text).value
        return wanted

    def rows(self, released: Mapping[str, Sequence[Any]], count: int) -> list[int]:
        """Return the numbers of the rows to show, in their order."""
        types = {"_row": "int64", **dict(self.types)}
        columns = {"_row": range(count), **released}
        table = memory.table({name: columns[name] for name in types}, "released", types)
        wanted = self._values(table)
        found = fetch(table.select("_row", **wanted)).to_pylist()
        found.sort(key=lambda row: row["_row"])
        if self.having is not None:
            found = [row for row in found if row["keep"]]
        for i, (_, descending, first) in reversed(list(enumerate(self.order))):
            # Sorting is stable, so the first key goes last.
            known = [row for row in found if row[f"by{i}"] is not None]
            known.sort(key=lambda row, name=f"by{i}": row[name], reverse=descending)  # type: ignore[misc]
            without = [row for row in found if row[f"by{i}"] is None]
            found = without + known if first else known + without
        last = None if self.limit is None else self.offset + self.limit
        return [row["_row"] for row in found[self.offset : last]]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Presented(Shown):
    """Released aggregates as HAVING, ORDER BY and LIMIT left them.

    Guarantee: a function of the release alone; `answer` has all of it.
    """

    answer: "Answer"
    view: View

    @property
    def receipt(self) -> "Receipt":
        """What was paid, for what, and where the ledger says so."""
        return self.answer.receipt

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Names of the numbers of histograms and quantiles; see `Answer.labels`."""
        return self.answer.labels

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """What values lie within; see `Answer.ranges`."""
        return self.answer.ranges

    @property
    def quantiles(self) -> tuple[str, ...]:
        """Names of several quantiles at once; see `Answer.quantiles`."""
        return self.answer.quantiles

    @property
    def sampled(self) -> tuple[str, ...]:
        """Names of what covers sampling; see `Answer.sampled`."""
        return self.answer.sampled

    @property
    def counts(self) -> tuple[str, ...]:
        """Names of what counts rows; see `Answer.counts`."""
        return self.answer.counts

    @cached_property
    def rows(self) -> list[int]:
        """Numbers of the rows shown, in their order."""
        return self.view.rows(self.answer.to_dict(), len(self.answer.keys))

    @property
    def values(self) -> dict[str, Any]:
        """Released values per aggregate, in the order shown."""
        return {
            name: np.asarray(each)[self.rows]
            for name, each in self.answer.values.items()
        }

    def interval(
        self, level: float = 0.95, *, population: bool = False
    ) -> dict[str, tuple[Any, Any]]:
        """Return bounds for each value shown; see `Answer.interval`."""
        found = self.answer.interval(level, population=population)
        return {
            name: (np.asarray(low)[self.rows], np.asarray(high)[self.rows])
            for name, (low, high) in found.items()
        }

    def to_arrow(self, level: float | None = None) -> Any:
        """Return an Arrow table."""
        return self.answer.to_arrow(level).take(self.rows)

    def to_dict(self, level: float | None = None) -> dict[str, list[Any]]:
        """Return plain columns; with a `level`, interval ends beside each value."""
        whole = self.answer.to_dict(level).items()
        return {name: [values[i] for i in self.rows] for name, values in whole}

    def to_json(self) -> str:
        """Return the whole stored release as JSON text; see `Answer.to_json`."""
        return self.answer.to_json()

    def first(self, count: int) -> "Presented":
        """Return the first rows of this view."""
        limit = count if self.view.limit is None else min(count, self.view.limit)
        return replace(self, view=replace(self.view, limit=limit))
