"""Two files on one engine: a connection that reads both, and nothing else.

A connection of hush is shut off from all files but its own, for good. So tables of two
files meet on a third, which has the views of both.
"""

from typing import Any

import ibis.expr.operations as ops
import ibis.expr.types as ir

from hush.errors import InvalidArgument
from hush.tables.engines import duckdb, private_tables
from hush.tables.engines.engine import exclusive, without_engine_text
from hush.tables.engines.files import lock

_VIEWS = "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal"
_SHUT = "SELECT current_setting('lock_configuration')"
_PATHS = "SELECT current_setting('allowed_paths')"


def together(left: ir.Table, right: ir.Table) -> tuple[ir.Table, ir.Table] | None:
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
        lambda: _opened(
            [_asked(each, _PATHS) for each in (left, right)], first | second
        ),
        lambda: InvalidArgument("the files of the two tables cannot be read together."),
    )
    return _moved(left, connection), _moved(right, connection)


def _asked(table: ir.Table, text: str) -> Any:
    backend = table.get_backend()
    with exclusive(backend):  # to the end: an unfinished answer holds a connection up
        return backend.con.execute(text).fetchall()[0][0]


def _views(table: ir.Table) -> dict[str, str] | None:
    """Return the views that a table is made of, if it is made of views of files."""
    backend = table.get_backend()
    if backend.name != "duckdb" or not _asked(table, _SHUT):
        return None
    with exclusive(backend):
        known = dict(backend.con.execute(_VIEWS).fetchall())
    used = {each.name for each in table.op().find(ops.PhysicalTable)}
    return {name: known[name] for name in used} if used <= known.keys() else None


def _opened(paths: list[list[str]], views: dict[str, str]) -> Any:
    connection = duckdb.connect()
    private_tables.mark(connection)
    lock(connection, sorted({path for each in paths for path in each}))
    for text in views.values():
        connection.raw_sql(text)
    return connection


def _moved(table: ir.Table, connection: Any) -> ir.Table:
    """Return the table as it is, on another connection with the same views."""
    names = table.op().find(ops.DatabaseTable)
    places = {each: duckdb.table(connection, each.name).op() for each in names}
    found: ir.Table = table.op().replace(places).to_expr()
    return found
