"""A data set: a source, who is protected in it, and the ledger that pays."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final, overload

import ibis
import ibis.expr.types as ir
from ibis.backends.sql.compilers import duckdb
from ibis.common.deferred import Deferred
from sqlglot import expressions as sql

from hush import checks, suggestions
from hush.errors import (
    InvalidArgument,
    LedgerError,
    Unsupported,
    methods,
    short_traceback,
)
from hush.ledger import Budget, Ledger, Remaining
from hush.tables import join, per_person
from hush.tables.aggregates.aggregate import Aggregate, TypeBounded, Unbounded
from hush.tables.aggregates.count_distinct import CountDistinct, counting_people
from hush.tables.cross_tabulation import Crossed
from hush.tables.engines import columns, provenance
from hush.tables.engines.engine import without_engine_text
from hush.tables.engines.provenance import (
    Origin,
    refuse_changed_while_drawn,
    refuse_unreachable,
)
from hush.tables.engines.sources import source
from hush.tables.expressions import expression
from hush.tables.expressions.parse import sql_text
from hush.tables.expressions.types import (
    Kind,
    named_apart,
    near_columns,
    one_zero,
    told_apart,
)
from hush.tables.groups.groups import Groups
from hush.tables.groups.private_keys import FoundGroups
from hush.tables.groups.public_keys import (
    PublicGroups,
    keys_in_types,
    keys_of_columns,
    public_groups,
)
from hush.tables.queries.answer import Answer, Presented
from hush.tables.queries.private_bounds import PrivateBoundsQuery
from hush.tables.queries.table_query import Query
from hush.tables.sql import select
from hush.tables.sql.select import Statement
from hush.units import Neighbors

_MOST_ROWS = 1 << 20
_KEYS = 100  # groups of one person, where the groups are found in the data


@methods
@final
@dataclass(frozen=True, eq=False)
class Dataset(suggestions.Helpful):
    """Rows of people, to be asked privately.

    `unit` names the column that tells people apart (None: every row is a different
    person); one of them counts for at most `rows` rows in any answer.
    """

    _table: ir.Table
    name: str
    _origins: tuple[Origin, ...]
    unit: str | None
    rows: int
    neighbors: Neighbors
    ledger: Ledger
    groups: int | None = None
    steps: tuple[str, ...] = ()  # what was done to the table, for the receipt

    def __post_init__(self) -> None:
        columns.check_column_names(self._table.columns)

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, unit={self.unit!r}, {self.neighbors})"

    @property
    def budget(self) -> Any:
        """What is left, in the budget's own notion and in the others."""
        return self.ledger.remaining()

    @property
    def version(self) -> str:
        """What receipts call the state of the data, keyed by a secret of the ledger.

        Guarantee: asked before every charge, it refuses data that cannot be reached or
        are not what was opened; it reads no row, and tells nothing about any.
        """
        refuse_unreachable(self._origins, self._table)
        return "+".join(each.version(self.ledger) for each in self._origins)

    def _unchanged(self) -> None:
        refuse_changed_while_drawn(self._origins)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, which are public."""
        return tuple(self._table.columns)

    @property
    def _hints(self) -> Mapping[str, str]:
        columns = dict.fromkeys(self._table.columns, suggestions.COLUMN)
        return {**columns, **suggestions.DATASET}

    if not TYPE_CHECKING:  # as in `Helpful`

        def __getitem__(self, name: object) -> Any:
            raise Unsupported(f"a data set is not taken apart. {suggestions.COLUMN}")

    def _with_step(self, step: str, table: ir.Table, **more: Any) -> "Dataset":
        return replace(self, _table=table, steps=(*self.steps, step), **more)

    def where(self, condition: Any) -> "Dataset":
        """Keep the rows that fulfil a condition; NULL does not.

        It is SQL text, "fare > 0", or a deferred Ibis expression, `ibis._.fare > 0`.
        """
        text = sql_of_deferred(self._table, condition)
        kept = self._table.filter(expression.condition(self._table, text))
        return self._with_step(f"where {text}", kept)

    def select(self, *, replacing: Iterable[str] = (), **columns: Any) -> "Dataset":
        """Add derived columns, as in speed="distance / hours"; the others stay."""
        columns = {n: sql_of_deferred(self._table, c) for n, c in columns.items()}
        table = with_derived_columns(
            self._table, columns, unit=self.unit, replacing=replacing
        )
        return self._with_step(f"select {_list_columns(columns)}", table)

    def keep(self, columns: Mapping[str, str]) -> "Dataset":
        """Keep some columns, under new names; the unit comes along."""
        chosen = {name: self._table[held] for name, held in columns.items()}
        if self.unit is not None:
            chosen[self.unit] = self._table[self.unit]
        return self._with_step(
            f"keep {_list_columns(columns)}", self._table.select(**chosen)
        )

    def per_person(
        self, *by: str, bounds: Mapping[str, Any] | None = None, **columns: Any
    ) -> "Dataset":
        """Add up the rows of each person: one row per person, to be asked as any table.

        Columns are COUNT, SUM, AVG, MIN or MAX, written as SQL; sums and means clamp
        every row, by CLAMP(x, 0, 80) or by `bounds`. With `by` there is one row per
        person and group, of which one person keeps at most `rows`: with rows=10, ten
        times the noise of per_person without `by`, where one person is one row. What is
        the same in all rows of a person is better a column, as in
        smokes="MAX(CASE WHEN smoker = 'yes' THEN 1 ELSE 0 END)".

        Example:
            >>> import hush, pyarrow
            >>> trips = pyarrow.table({"who": [1, 1, 2, 3], "fare": [9.0, 5, 8, 30]})
            >>> data = hush.open(trips, unit="who", budget=hush.Budget(epsilon=1))
            >>> people = data.per_person(paid="SUM(CLAMP(fare, 0, 50))", n="COUNT(*)")
            >>> people.rows, people.columns
            (1, ('who', 'paid', 'n'))
            >>> query = people.where("n > 1").agg(paid=hush.mean("paid", (0, 200)))
        """
        for name in by:
            expression.column(self._table, name)
        if self.unit in by:
            raise InvalidArgument(f"{self.unit!r} is the unit: people are told apart.")
        plain = named_apart(self._table, by)
        table = per_person.per_person(plain, self.unit, by, columns, bounds or {})
        step = (
            f"per person {_list_columns({**dict(zip(by, by, strict=True)), **columns})}"
        )
        return self._with_step(step, table, rows=self.rows if by else 1)

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
        columns = (on,) if isinstance(on, str) else tuple(on)
        table, named = join.join_tables(self, other, columns, how)
        more = other._origins if isinstance(other, Dataset) else ()
        bound = self.rows if rows is None or self.unit is None else row_bound(rows)
        step = f"{how} join {named} on {', '.join(columns)}"
        return self._with_step(step, table, _origins=self._origins + more, rows=bound)

    def group_by(self, *columns: Any, keys: Any = None, most: int = _KEYS) -> "Grouped":
        """Group by public keys: values of one column, or tuples of several.

        For several columns, `keys={"ward": [...], "age": [...]}` takes every value of
        one with every value of the others. Every key appears in the answer, whether or
        not anybody is in it, in the order given; rows of other groups are left out.
        With `keys="private"` they are found in the data: a key needs enough people, and
        one person counts in at most `most` of them.
        """
        if len(columns) == 1 and not isinstance(columns[0], str):
            columns = tuple(columns[0])
        if not columns:
            raise InvalidArgument("group_by needs at least one column.")
        if keys is None:
            raise InvalidArgument(
                "group_by needs keys=[...], the public values of "
                f'{", ".join(columns)}, or keys="private" to find them in the data.',
                code="keys-missing",
            )
        columns = tuple(self._groups(name) for name in columns)
        told = replace(self, _table=named_apart(self._table, columns))
        if not isinstance(keys, str):
            known = keys_of_columns(self._table, columns, keys)
            exact = keys_in_types(self._table, columns, known)
            return Grouped(told, public_groups(columns, known, exact))
        if keys != "private":
            raise InvalidArgument(
                f'keys must be a list of public values or "private"; got {keys!r}.'
            )
        cap = checks.whole("most", most, at_least=1, at_most=10**5)
        cap = min(cap, self.groups or cap)
        found = FoundGroups(columns, 1 if self.unit is None else cap, self.unit)
        return Grouped(told, found)

    def crossed(self, domain: Mapping[str, Mapping[str, Any]]) -> Crossed:
        """Return the crossed public cells of some columns, for `hush.synth` to measure.

        Nothing is read here: `TreeSynthesizer(domain, ...).fit(data)` charges first.
        """
        return Crossed(self, domain)

    def _groups(self, name: str) -> str:
        """Return the column that a name stands for, quoted or not."""
        bare = name[1:-1] if name[:1] == name[-1:] == '"' else name
        if name not in self._table.columns and bare in self._table.columns:
            return bare
        if name not in self._table.columns and "(" in name:
            raise Unsupported(
                f"group_by takes columns; {name!r} is an expression. Name it first: "
                f".select(part={name!r}).group_by('part', ...)."
            )
        expression.column(self._table, name)
        return name

    @overload
    def agg(self, **aggregates: Aggregate) -> Query: ...

    @overload
    def agg(
        self, **aggregates: Aggregate | Unbounded
    ) -> Query | PrivateBoundsQuery: ...

    def agg(
        self, *unnamed: Any, **aggregates: Aggregate | Unbounded
    ) -> Query | PrivateBoundsQuery:
        """Ask about all rows together."""
        _check_named(unnamed, aggregates)
        return Grouped(self, PublicGroups()).agg(**aggregates)

    def sql(
        self,
        text: str,
        epsilon: float,
        delta: float = 0.0,
        *,
        keys: Mapping[str, Any] | str | None = None,
        bounds: Mapping[str, Any] | None = None,
        tables: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Answer | Presented:
        """Release the answer to one SELECT at once; `prepare` shows its plan first.

        `keys={"region": [...]}` are the public values of a grouping column, and
        `bounds={"fare": (0, 80)}` those of a column; CLAMP(fare, 0, 80) says the same
        in the text. `tables` are public ones to join. The same `key` again returns the
        same answer and costs nothing.
        """
        asked = self.prepare(text, keys=keys, bounds=bounds, tables=tables)
        return asked.release(epsilon, delta, key=key)

    def prepare(
        self,
        text: str,
        *,
        keys: Mapping[str, Any] | str | None = None,
        bounds: Mapping[str, Any] | None = None,
        tables: Mapping[str, Any] | None = None,
    ) -> "Statement":
        """Return one SELECT to plan, explain and release: `hush.tables.sql.select`."""
        return select.statement(self, text, keys=keys, bounds=bounds, tables=tables)


@methods
@final
@dataclass(frozen=True, eq=False)
class Grouped(suggestions.Helpful):
    """A data set and the groups it is asked about."""

    dataset: Dataset
    groups: Groups

    @property
    def _hints(self) -> Mapping[str, str]:
        return suggestions.GROUPED

    @overload
    def agg(self, **aggregates: Aggregate) -> Query: ...

    @overload
    def agg(
        self, **aggregates: Aggregate | Unbounded
    ) -> Query | PrivateBoundsQuery: ...

    def agg(
        self, *unnamed: Any, **aggregates: Aggregate | Unbounded
    ) -> Query | PrivateBoundsQuery:
        """Name the aggregates to release."""
        _check_named(unnamed, aggregates)
        for name, each in aggregates.items():
            if not isinstance(each, (Aggregate, Unbounded, TypeBounded)):
                raise InvalidArgument(
                    f"{name} must be an aggregate such as hush.count(); got a "
                    f"{type(each).__name__}."
                )
            for text in each.expressions:
                expression.number(self.dataset._table, text)
        columns.check_output_names(self.groups.by, aggregates)
        aggregates = {
            name: self._with_bounds(each) for name, each in aggregates.items()
        }
        bounded = {n: a for n, a in aggregates.items() if isinstance(a, Aggregate)}
        if len(bounded) < len(aggregates):
            return PrivateBoundsQuery(self.dataset, self.groups, dict(aggregates))
        return Query(self.dataset, self.groups, bounded)

    def _with_bounds(self, each: Any) -> Any:
        """Return an aggregate with its bounds; a count of people is one by itself."""
        found = self._with_type_bounds(each)
        if not isinstance(found, CountDistinct):
            return found
        return counting_people(self.dataset, self.groups, found)

    def _with_type_bounds(self, each: Any) -> Any:
        """Return an aggregate with the bounds that the types of columns give it."""
        table = self.dataset._table
        if not isinstance(each, TypeBounded):
            return each
        return each.with_type_bounds(lambda text: expression.is_truth(table, text))


def _check_named(unnamed: tuple[Any, ...], aggregates: Mapping[str, Any]) -> None:
    if unnamed or not aggregates:
        raise InvalidArgument(
            "agg needs a name for each aggregate, and at least one, as in "
            ".agg(n=hush.count())."
        )


def _list_columns(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{text} AS {name}" for name, text in columns.items())


def row_bound(rows: int) -> int:
    """Return how many rows one person may count for, or refuse it."""
    return checks.whole("rows", rows, at_least=1, at_most=_MOST_ROWS)


# -- Ibis expressions as SQL text: `ibis._.fare > 0` means what "fare > 0" does --------
#
# An expression is written out for a table without data and read back through the list
# of what is allowed, so that it is as total as any other.


def sql_of_deferred(table: ir.Table, given: Any) -> Any:
    """Return the text of a deferred Ibis expression; whatever else is given stays.

    Example:
        >>> table = ibis.table({"fare": "float64", "hour": "int64"}, name="trips")
        >>> sql_of_deferred(table, (ibis._.fare > 0) & ibis._.hour.isin([7, 8]))
        '("fare" > 0) AND "hour" IN (7, 8)'
    """
    if not isinstance(given, Deferred):
        return given
    return without_engine_text(
        lambda: _text(table.schema(), given),
        lambda: InvalidArgument(
            f"{given!r} cannot be written as SQL over one row of the columns "
            f"{', '.join(sorted(table.columns))}."
        ),
    )


def _text(schema: ibis.Schema, given: Deferred) -> str:
    rows = ibis.table(schema, name="rows")
    # Its tree, not its text: Ibis leaves out parentheses that change the meaning.
    asked = duckdb.compiler.to_sqlglot(rows.select(found=given.resolve(rows)))
    return sql_text(asked.expressions[0].unalias().transform(_without_table_names))


def _without_table_names(node: sql.Expression) -> Any:
    """Return a node without the name of its table and the width of its literals."""
    if isinstance(node, sql.Column):
        return sql.column(node.name, quoted=True)
    if isinstance(node, sql.Cast) and _literal(node.this):
        return node.this
    if isinstance(node, sql.Paren) and isinstance(node.this, sql.Column):
        return _without_table_names(node.this)
    return node


def _literal(node: Any) -> bool:
    bare = node.this if isinstance(node, sql.Neg) else node
    return isinstance(bare, sql.Literal) and not bare.is_string


# -- Derived columns: new columns of a row, each from that row alone -------------------


def with_derived_columns(
    table: ir.Table,
    columns: Mapping[str, str],
    *,
    unit: str | None,
    replacing: Iterable[str] = (),
) -> ir.Table:
    """Return the table with more columns; the others stay.

    All are computed from the columns as they were. A name that is taken is refused,
    unless it stands in `replacing`; the unit cannot be replaced, because who is
    protected is not for a query to say.
    """
    allowed = set(replacing)
    values: dict[str, Any] = {}
    for name, text in columns.items():
        if not name.isidentifier() or name.startswith("_"):
            raise InvalidArgument(
                f"{name!r} cannot name a column: use a plain word that does not start "
                "with an underscore."
            )
        if name == unit:
            raise Unsupported(f"{name!r} is the unit, which cannot be replaced.")
        if name in table.columns and name not in allowed:
            raise InvalidArgument(
                f"there is a column {name!r} already. Choose another name, or pass "
                f"replacing=[{name!r}]."
            )
        values[name] = _value(table, text)
    return table.mutate(**values)


def _value(table: ir.Table, text: str) -> Any:
    found = expression.typed_value(table, text)
    if found.kind is Kind.NUMBER:
        return one_zero(found.value)  # groups must not tell 0 from -0
    return found.value


# -- Opening a table: what it is, who is protected in it, and what pays.

_ROWS = 10  # of one person, unless said
_SHOWN = 5  # data sets that an error names


def _data_sets(ledger: Ledger) -> list[str]:
    named = (each.account.partition(":") for each in ledger.accounts().accounts)
    return [name for kind, _, name in named if kind == "dataset"]


def _unknown(name: str, there: list[str]) -> str:
    """Say that a ledger has no account of this data set, and whose it has."""
    if not there:
        return (
            f"the ledger has no account of data set {name!r}: open one with budget=, "
            "as in hush.Budget(epsilon=1)."
        )
    shown = ", ".join(map(repr, there[:_SHOWN]))
    more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
    return (
        f"the ledger has no account of data set {name!r}; it has {shown}{more}. If "
        f"these are the same people, go on with theirs: name={there[0]!r}. With "
        "budget=, as in hush.Budget(epsilon=1), an account is opened that begins a "
        "budget of its own: for other people."
    )


def _people(unit: str | None, rows: int | None, groups: int | None) -> None:
    """Refuse options for several rows per person where every row is a person."""
    if unit is not None:
        return
    given = {"rows": None if rows == 1 else rows, "groups": groups}
    for name, value in given.items():
        if value is not None:
            raise InvalidArgument(
                f"{name}={value!r} says how much one person may count, but no unit= "
                'says whose a row is. Write unit="column", the column that tells '
                f"people apart; or leave {name}= out, if every row is another person.",
                code="unit-missing",
            )


def _own(ledger: Ledger, left: Remaining, name: str) -> None:
    """Refuse to let one data set pay for another that has an account of its own."""
    named = (each.account.partition(":") for each in left.accounts)
    payer = next((of for kind, _, of in named if kind == "dataset"), name)
    if payer != name and name in _data_sets(ledger):
        raise InvalidArgument(
            f"ledger pays from the account of {payer!r}, and there is one of {name!r}: "
            f"write ledger=ledger.on(dataset={name!r}), or name={payer!r} if it is the "
            "same data."
        )


def paying_ledger(given: Any, budget: Budget | None, name: str) -> Ledger:
    """Return the ledger that was given, or the one at its address.

    That one knows this data set or is given a budget; a file that is not there is not
    begun for nothing.
    """
    if isinstance(given, Ledger):
        if budget is not None:  # opens the account, or refuses another budget than its
            given.grant(budget)
        _own(given, given.remaining(), name)
        return given
    if given is not None and not isinstance(given, str):
        shown = f"sqlite:///{given}" if isinstance(given, os.PathLike) else "memory://"
        raise InvalidArgument(
            f"ledger must be a hush.Ledger or the address of one, as in "
            f"ledger={shown!r}; got a {type(given).__name__}."
        )
    if budget is None and given is None:
        raise InvalidArgument(
            "give budget=, as in hush.Budget(epsilon=1), or ledger=.",
            code="budget-missing",
        )
    url = "memory://" if given is None else given
    path = url.removeprefix("sqlite:///")
    if budget is None and path != url and not Path(path).exists():
        raise InvalidArgument(
            f"ledger {url!r} does not exist yet: begin it with budget=, as in "
            "hush.Budget(epsilon=1).",
            code="budget-missing",
        )
    found = Ledger.open(url, budget=budget, dataset=name)
    try:
        found.remaining()
    except LedgerError:
        there = _data_sets(found)
        found.close()
        raise InvalidArgument(_unknown(name, there), code="budget-missing") from None
    return found


@short_traceback
def open_table(
    given: Any,
    *,
    unit: str | None = None,
    budget: Budget | None = None,
    ledger: Ledger | str | None = None,
    neighbors: str | Neighbors = Neighbors.ADD_REMOVE,
    rows: int | None = None,
    groups: int | None = None,
    name: str | None = None,
    types: Mapping[str, str] | None = None,
) -> Dataset:
    """Open a table to ask about its people privately.

    It is a path, a mapping of columns, a frame, a database address or an Ibis table.
    A CSV or JSON file has no types: its columns are texts unless `types` declares
    them, as in types={"fare": "number", "day": "date"}.

    `unit` is the column that says whom a row is about; without it every row is a
    person, and `rows` and `groups` are left out. One person counts for at most `rows`
    rows, 10 unless said. Without `groups`, the rows of somebody who has more weigh
    less; with it, a keyed sample of at most `rows` of them in at most `groups` groups
    is kept and the rest dropped.

    `budget` is what all releases together may cost, as in hush.Budget(epsilon=1).
    `ledger` is where it is kept, a `hush.Ledger` or its address. Without it the budget
    lives in this process only: opening the table again begins a new one. With
    ledger="sqlite:///budget.db" it stays on disk and survives crashes.
    `neighbors` is how two tables that must look alike differ: "add-remove" of one
    person, or "replace-one". If a model of hush.learn will be fitted on the same
    budget, open with neighbors="replace-one" from the start, as the first charge
    settles it for good; counts and sums then have twice the noise.
    `name` is the table's name in SQL and in the ledger: the file's, or "data".
    `types`, for CSV and JSON only, knows "number", "text", "date" and "boolean".

    Example:
        >>> import hush
        >>> trips = {"driver": [1, 1, 2, 3], "fare": [10.0, 12, 8, 30]}
        >>> budget = hush.Budget(epsilon=1)
        >>> data = hush.open(trips, unit="driver", rows=2, budget=budget)
        >>> query = data.agg(n=hush.count(), fare=hush.mean("fare", bounds=(0, 80)))
        >>> sorted(query.release(epsilon=0.5).values)
        ['fare', 'n']
    """
    _people(unit, rows, groups)
    found = source(given, name, types)
    if unit is not None and unit not in found.table.columns:
        near = near_columns(unit, found.table.columns)
        raise InvalidArgument(
            f"unit {checks.value_text(unit)} is not a column; {near}",
            code="unknown-column",
        )
    table = found.table if unit is None else told_apart(found.table, (unit,))
    provenance.remember_private(given, found.table, found.origin)
    named = isinstance(neighbors, str)
    return Dataset(
        table,
        found.name,
        (found.origin,),
        unit,
        1 if unit is None else row_bound(_ROWS if rows is None else rows),
        Neighbors(neighbors) if named else Neighbors.of(neighbors),
        paying_ledger(ledger, budget, found.name),
        groups if groups is None else checks.whole("groups", groups, at_least=1),
    )
