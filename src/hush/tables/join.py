"""Joins: with a public table, or with more rows of the same people.

Contributions are bounded after the join, by unit. So it does not matter how often a
join repeats a person's rows; it matters that every joined row belongs to one person,
and that which rows a person has depends on that person and on public facts alone.
"""

import hashlib
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.types as ir

from hush.errors import InvalidArgument, Unsupported
from hush.tables.engines import duckdb, provenance
from hush.tables.engines.columns import Columns
from hush.tables.engines.engine import exclusive, fetch, without_engine_text
from hush.tables.engines.sources import source
from hush.tables.expressions import expression

if TYPE_CHECKING:
    from hush.tables.dataset import Dataset


import ibis.expr.operations as ops

from hush.tables.engines.files import lock

_HOW = ("inner", "left")
_MOST_PUBLIC = 1 << 20


def join_tables(
    data: "Dataset", other: Any, on: str | tuple[str, ...] | list[str], how: str
) -> tuple[ir.Table, str]:
    """Return a data set's table joined with another, and what a receipt calls that one.

    Guarantee: each row belongs to the one person in the unit column, and removing a
    person removes that person's rows and changes no other.
    """
    from hush.tables.dataset import Dataset

    columns = (on,) if isinstance(on, str) else tuple(on)
    if not columns or how not in _HOW:
        raise InvalidArgument(
            f"join needs on=, and how= one of {', '.join(_HOW)}; got {how!r}."
        )
    if isinstance(other, Dataset):
        called = f"{other.name} ({'; '.join(other.steps) or 'as it is'})"
        return _private(data, other, columns, how), called
    return _public(data, other, columns, how)


def _digest(public: Columns) -> str:
    """Return what tells two public tables apart, whatever the order of their rows."""
    whole = hashlib.sha256(repr(public.column_names).encode())
    for row in sorted(map(repr, public.tuples(public.column_names))):
        whole.update(row.encode(errors="backslashreplace"))
    return whole.hexdigest()[:16]


def _public(
    data: "Dataset", other: Any, columns: tuple[str, ...], how: str
) -> tuple[ir.Table, str]:
    """Join a public table: each row meets at most one public row and keeps its person.

    The public table is copied first, so that what was checked is what is joined.
    """
    found = source(other)
    provenance.refuse_private(other, found.table, found.origin)
    right = found.table
    _check(data._table, right, columns, data.unit)
    copied = without_engine_text(
        lambda: fetch(right.limit(_MOST_PUBLIC + 1)),
        lambda: InvalidArgument("the public table cannot be read."),
    )
    if copied.num_rows > _MOST_PUBLIC:
        raise Unsupported(f"a public table may have at most {_MOST_PUBLIC} rows.")
    if len(set(copied.tuples(columns))) < copied.num_rows:
        raise Unsupported(
            f"the public table has several rows for one value of {', '.join(columns)}. "
            "Make them unique, or add the columns that tell them apart to on=."
        )
    beside = without_engine_text(
        lambda: _copy_to_engine(data._table.get_backend(), copied, right.schema()),
        lambda: InvalidArgument(
            "the database does not take a copy of the public table: allow its user to "
            "make temporary tables."
        ),
    )
    called = f"a public table {_digest(copied)}"
    return _combine(data._table, beside, columns, how), called


def _copy_to_engine(backend: Any, copied: Columns, schema: ibis.Schema) -> ir.Table:
    """Return a copy of the public table on the engine of the private one."""
    name = ibis.util.gen_name("public")
    with exclusive(backend):
        return _create_copy(backend, name, copied, schema)


def _create_copy(
    backend: Any, name: str, copied: Columns, schema: ibis.Schema
) -> ir.Table:
    if backend.name == "duckdb":
        lists = {each: copied[each].tolist() for each in copied.column_names}
        return duckdb.copy_columns(backend, name, lists, schema)
    public = copied.to_arrow(schema)
    if backend.name != "postgres":
        return ibis.memtable(public)
    # Sessions of hush are read-only, and even a temporary table is a write.
    with backend.con.cursor() as cursor:
        cursor.execute("SHOW default_transaction_read_only")
        before = cursor.fetchone()[0]
        cursor.execute("SET default_transaction_read_only = off")
        backend.con.commit()
        try:
            return backend.create_table(name, public, temp=True)
        finally:
            cursor.execute(f"SET default_transaction_read_only = {before}")
            backend.con.commit()


def _private(
    data: "Dataset", other: "Dataset", columns: tuple[str, ...], how: str
) -> Any:
    """Rows of one person meet rows of the same person."""
    if data.unit is None or other.unit != data.unit or data.unit not in columns:
        raise Unsupported(
            "a join of two private tables must go over their common unit, as in "
            f"on=[{data.unit or 'person'!r}, ...]: a row made of two people would "
            "belong to both. Rename the unit column in a view if it has two names."
        )
    if data.ledger is not other.ledger:
        raise Unsupported(
            "both tables must be paid from one ledger: open the second with "
            "ledger=data.ledger."
        )
    if data.neighbors is not other.neighbors:
        raise Unsupported("both tables must be opened with the same neighbors=.")
    left, right = _on_one_engine(data._table, other._table)
    _check(left, right, columns, data.unit)
    return _combine(left, right, columns, how)


def _on_one_engine(left: ir.Table, right: ir.Table) -> tuple[ir.Table, ir.Table]:
    if left.get_backend() is right.get_backend():
        return left, right
    met = on_one_connection(left, right)
    if met is None:
        raise Unsupported(
            "both tables must live on the same connection: two files do, and tables of "
            "one database, and Ibis tables of one connection. Join public tables after "
            "private ones."
        )
    return met


def _check(
    left: ir.Table, right: ir.Table, columns: tuple[str, ...], unit: str | None
) -> None:
    for name in columns:
        first, second = expression.column(left, name), expression.column(right, name)
        if left[name].type().is_floating() or right[name].type().is_floating():
            raise Unsupported(
                f"{name!r} is a floating-point column, and engines disagree on when "
                "two of those are equal. Join over whole numbers, texts or dates."
            )
        if first.kind is not second.kind:
            raise Unsupported(
                f"{name!r} is a {first.kind} on one side and a {second.kind} on the "
                "other."
            )
    mine = {name.casefold() for name in left.columns}
    clash = {n for n in right.columns if n.casefold() in mine} - set(columns)
    if clash:
        raise InvalidArgument(
            f"both tables have {', '.join(sorted(clash))}: add them to on=, or leave "
            "them out on one side, in a view or, in SQL, by a subquery."
        )
    if unit is not None and unit in right.columns and unit not in columns:
        raise Unsupported(f"the joined table must not bring a column {unit!r}.")


def _combine(
    left: ir.Table, right: ir.Table, columns: tuple[str, ...], how: str
) -> ir.Table:
    # The right keys get names of their own: engines differ in which side they keep.
    renamed = right.rename({f"_on{i}": name for i, name in enumerate(columns)})
    predicates = [left[name] == renamed[f"_on{i}"] for i, name in enumerate(columns)]
    met = left.join(renamed, predicates, how=how)
    return met.drop(*(f"_on{i}" for i in range(len(columns))))


# -- Two files on one engine: a connection that reads both, and nothing else.

_VIEWS = "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal"
_SHUT = "SELECT current_setting('lock_configuration')"
_PATHS = "SELECT current_setting('allowed_paths')"


def on_one_connection(
    left: ir.Table, right: ir.Table
) -> tuple[ir.Table, ir.Table] | None:
    """Return two tables on one connection, or None if they are not both of files.

    What was made of them, conditions and columns, goes with them.

    Guarantee: the connection can read the files of these two tables and nothing else.
    """
    found = [_views(each) for each in (left, right)]
    if any(each is None for each in found):
        return None
    first, second = (dict(each or {}) for each in found)
    for name in first.keys() & second.keys():
        if first[name] != second[name]:
            raise InvalidArgument(
                f"both tables are called {name!r}: open one of them with another name=."
            )
    connection = without_engine_text(
        lambda: _connect_views(
            [_first_value(each, _PATHS) for each in (left, right)], first | second
        ),
        lambda: InvalidArgument("the files of the two tables cannot be read together."),
    )
    return _on_connection(left, connection), _on_connection(right, connection)


def _first_value(table: ir.Table, text: str) -> Any:
    backend = table.get_backend()
    with exclusive(backend):  # to the end: an unfinished answer holds a connection up
        return backend.con.execute(text).fetchall()[0][0]


def _views(table: ir.Table) -> dict[str, str] | None:
    """Return the views that a table is made of, if it is made of views of files."""
    backend = table.get_backend()
    if backend.name != "duckdb" or not _first_value(table, _SHUT):
        return None
    with exclusive(backend):
        known = dict(backend.con.execute(_VIEWS).fetchall())
    used = {each.name for each in table.op().find(ops.PhysicalTable)}
    return {name: known[name] for name in used} if used <= known.keys() else None


def _connect_views(paths: list[list[str]], views: dict[str, str]) -> Any:
    connection = duckdb.connect()
    provenance.mark_private(connection)
    lock(connection, sorted({path for each in paths for path in each}))
    for text in views.values():
        connection.raw_sql(text)
    return connection


def _on_connection(table: ir.Table, connection: Any) -> ir.Table:
    """Return the table as it is, on another connection with the same views."""
    names = table.op().find(ops.DatabaseTable)
    places = {each: duckdb.table(connection, each.name).op() for each in names}
    found: ir.Table = table.op().replace(places).to_expr()
    return found
