"""Ibis expressions as SQL text: `ibis._.fare > 0` means what "fare > 0" does.

An expression is written out for a table without data and read back through the list
of what is allowed, so that it is as total as any other.
"""

from typing import Any

import ibis
import ibis.expr.types as ir
from ibis.backends.sql.compilers import duckdb
from ibis.common.deferred import Deferred
from sqlglot import expressions as sql

from hush.errors import InvalidArgument
from hush.tables.engine import guarded
from hush.tables.sql_text import words


def written(table: ir.Table, given: Any) -> Any:
    """Return the text of a deferred Ibis expression; whatever else is given stays.

    Example:
        >>> table = ibis.table({"fare": "float64", "hour": "int64"}, name="trips")
        >>> written(table, (ibis._.fare > 0) & ibis._.hour.isin([7, 8]))
        '("fare" > 0) AND "hour" IN (7, 8)'
    """
    if not isinstance(given, Deferred):
        return given
    return guarded(
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
    return words(asked.expressions[0].unalias().transform(_plain))


def _plain(node: sql.Expression) -> Any:
    """Return a node without the name of its table and the width of its literals."""
    if isinstance(node, sql.Column):
        return sql.column(node.name, quoted=True)
    if isinstance(node, sql.Cast) and _literal(node.this):
        return node.this
    if isinstance(node, sql.Paren) and isinstance(node.this, sql.Column):
        return _plain(node.this)
    return node


def _literal(node: Any) -> bool:
    bare = node.this if isinstance(node, sql.Neg) else node
    return isinstance(bare, sql.Literal) and not bare.is_string
