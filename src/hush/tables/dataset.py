"""A data set: a source, who is protected in it, and the ledger that pays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import ibis.expr.types as ir

from hush import checks
from hush.errors import InvalidArgument, Unsupported
from hush.ledger import Budget, Ledger
from hush.tables import derive, expression, join, select
from hush.tables.aggregate import Aggregate
from hush.tables.answer import Answer
from hush.tables.presented import Presented
from hush.tables.query import Key, Query
from hush.tables.source import source
from hush.units import Neighbors

_MOST_ROWS = 1 << 20
_MOST_KEYS = 1 << 20


@final
@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows of people, to be asked privately.

    `unit` names the column that tells people apart (None: every row is a different
    person); one of them counts for at most `rows` rows in any answer.
    """

    table: ir.Table
    name: str
    version: str
    unit: str | None
    rows: int
    neighbors: Neighbors
    ledger: Ledger

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, unit={self.unit!r}, {self.neighbors})"

    @property
    def budget(self) -> Any:
        """What is left, in the budget's own notion and in the others."""
        return self.ledger.remaining()

    def where(self, condition: str) -> "Dataset":
        """Keep the rows that fulfil a condition; NULL does not."""
        kept = self.table.filter(expression.truth(self.table, condition))
        return replace(self, table=kept)

    def select(self, *, replacing: Iterable[str] = (), **columns: str) -> "Dataset":
        """Add derived columns, as in speed="distance / hours"; the others stay."""
        table = derive.derived(self.table, columns, unit=self.unit, replacing=replacing)
        return replace(self, table=table)

    def join(
        self,
        other: Any,
        *,
        on: str | Sequence[str],
        how: str = "inner",
        rows: int | None = None,
    ) -> "Dataset":
        """Join with a public table, or with another data set over the same unit.

        A public table (a frame, a file, an Ibis table) has one row per value of `on`.
        Contributions are bounded after the join, by unit; `rows` changes the bound.
        """
        names = (on,) if isinstance(on, str) else tuple(on)
        table = join.joined(self, other, names, how)
        more = f"+{other.version}" if isinstance(other, Dataset) else ""
        bound = self.rows if rows is None or self.unit is None else _rows(rows)
        return replace(self, table=table, version=self.version + more, rows=bound)

    def group_by(self, *columns: str, keys: Any) -> "Grouped":
        """Group by public keys: values of one column, or tuples of several.

        Every key appears in the answer, whether or not anybody is in it, in the order
        given; rows of other groups are left out.
        """
        for name in columns:
            expression.column(self.table, name)
        return Grouped(self, columns, _keys(columns, keys))

    def agg(self, **aggregates: Aggregate) -> Query:
        """Ask about all rows together."""
        return Grouped(self, (), ((),)).agg(**aggregates)

    def sql(
        self,
        text: str,
        epsilon: float,
        *,
        keys: Mapping[str, Any] | str | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        tables: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Answer | Presented:
        """Release the answer to one SELECT; see `hush.tables.select`."""
        asked = select.statement(self, text, keys=keys, bounds=bounds, tables=tables)
        return asked.release(epsilon, key=key)


@final
@dataclass(frozen=True, eq=False)
class Grouped:
    """A data set and the public groups it is asked about."""

    dataset: Dataset
    by: tuple[str, ...]
    keys: tuple[Key, ...]

    def agg(self, **aggregates: Aggregate) -> Query:
        """Name the aggregates to release."""
        if not aggregates:
            raise InvalidArgument("agg needs at least one aggregate, as in n=count().")
        for name, each in aggregates.items():
            if not isinstance(each, Aggregate):
                raise InvalidArgument(
                    f"{name} must be an aggregate such as hush.count(); got a "
                    f"{type(each).__name__}."
                )
            for _, text, _ in each.needs:
                if text:
                    expression.number(self.dataset.table, text)
        return Query(self.dataset, self.by, self.keys, dict(aggregates))


def _keys(columns: tuple[str, ...], keys: Any) -> tuple[Key, ...]:
    if not columns:
        raise InvalidArgument("group_by needs at least one column.")
    if isinstance(keys, str):
        raise Unsupported(
            f"keys must be a list of public values; got {keys!r}. "
            "Keys found in the data are not supported yet."
        )
    listed = tuple(tuple(key) if len(columns) > 1 else (key,) for key in keys)
    if not listed or len(listed) > _MOST_KEYS or len(set(listed)) != len(listed):
        raise InvalidArgument("keys must be 1 to 2^20 different values.")
    if any(len(key) != len(columns) for key in listed):
        raise InvalidArgument(f"each key must have {len(columns)} values.")
    return listed


def _rows(rows: int) -> int:
    return checks.whole("rows", rows, at_least=1, at_most=_MOST_ROWS)


def open_table(
    given: Any,
    *,
    unit: str | None = None,
    budget: Budget | None = None,
    ledger: Ledger | str | None = None,
    neighbors: str | Neighbors = Neighbors.ADD_REMOVE,
    rows: int = 10,
    name: str | None = None,
    types: Mapping[str, str] | None = None,
) -> Dataset:
    """Open a table to ask about its people privately.

    A CSV or JSON file has no types: its columns are texts unless `types` declares
    them, as in types={"fare": "number", "day": "date"}.

    Example:
        >>> import hush, pyarrow
        >>> trips = pyarrow.table({"driver": [1, 1, 2, 3], "fare": [10.0, 12, 8, 30]})
        >>> budget = hush.Budget(epsilon=1)
        >>> data = hush.open(trips, unit="driver", rows=2, budget=budget)
        >>> query = data.agg(n=hush.count(), fare=hush.mean("fare", bounds=(0, 80)))
        >>> sorted(query.release(epsilon=0.5).values)
        ['fare', 'n']
    """
    found = source(given, name, types)
    if unit is not None and unit not in found.table.columns:
        known = ", ".join(sorted(found.table.columns))
        raise InvalidArgument(
            f"unit {unit!r} is not a column; the columns are {known}."
        )
    if isinstance(ledger, Ledger):
        paying = ledger
    else:
        if budget is None and ledger is None:
            raise InvalidArgument(
                "give budget=, as in hush.Budget(epsilon=1), or ledger=."
            )
        paying = Ledger.open(ledger or "memory://", budget=budget, dataset=found.name)
    return Dataset(
        found.table,
        found.name,
        found.version,
        unit,
        1 if unit is None else _rows(rows),
        Neighbors.of(neighbors),
        paying,
    )
