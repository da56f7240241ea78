"""Texts are equal byte by byte, or the table is refused.

Under a collation that ignores case, a person or key with two texts is grouped as one
and hashed as two: more would be kept of it than its cap allows, and one row more could
move everybody's rows to another key.

What is asked is the engine, about the columns of the very relation that will be read:
a view, a generated column or a statement may bring a collation that no table has.
"""

from collections.abc import Callable
from typing import Any

import ibis.expr.types as ir
from ibis.expr import operations as ops

from hush.errors import InvalidArgument
from hush.tables.engines import duckdb
from hush.tables.engines.engine import exclusive, without_engine_text

_TEMPORARY = "hush_collation"  # a table without rows, there for two statements
_DUCKDB = """
SELECT current_setting('default_collation') <> '' OR sql LIKE '% COLLATE %'
FROM duckdb_tables() WHERE temporary AND table_name = $1
"""
# PostgreSQL's texts may have a collation that is not deterministic, or be of a type
# with an equality of its own, as citext has. Views have the types of what they read.
_POSTGRES = """
SELECT 1 FROM pg_attribute AS a
JOIN pg_class AS c ON c.oid = a.attrelid
JOIN pg_type AS t ON t.oid = a.atttypid
LEFT JOIN pg_type AS b ON b.oid = t.typbasetype
LEFT JOIN pg_collation AS o ON o.oid = a.attcollation
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relname = %s
  AND (NOT coalesce(o.collisdeterministic, true) OR t.typcategory = 'S'
    AND coalesce(b.typname, t.typname)
      NOT IN ('text', 'varchar', 'bpchar', 'name', 'char'))
LIMIT 1
"""
# Of a statement, which has no columns in the catalog: types by their numbers (base
# types of domains), collations by their names, which `pg_collation_for` quotes.
_TYPES = """
SELECT 1 FROM pg_type WHERE oid = ANY(%s) AND typcategory = 'S'
  AND typname NOT IN ('text', 'varchar', 'bpchar', 'name', 'char')
LIMIT 1
"""
_NAMES = """
SELECT 1 FROM pg_collation AS o JOIN pg_namespace AS n ON n.oid = o.collnamespace
WHERE NOT o.collisdeterministic AND (quote_ident(o.collname) = ANY(%s)
  OR quote_ident(n.nspname) || '.' || quote_ident(o.collname) = ANY(%s))
LIMIT 1
"""


def _duckdb(backend: Any, table: ir.Table) -> bool:
    """Return whether a table made of this one, without its rows, has a collation."""
    names = [duckdb.identifier(each) for each in table.columns]
    # Names of ours: one of the user's could read like a collation.
    columns = ", ".join(f"{name} AS c{i}" for i, name in enumerate(names))
    text, run = duckdb.prepared_sql(backend, table), backend.con.execute
    run(
        f"CREATE OR REPLACE TEMPORARY TABLE {_TEMPORARY} AS SELECT {columns} "
        f"FROM ({text}) AS r LIMIT 0"
    )
    try:
        return bool(run(_DUCKDB, [_TEMPORARY]).fetchall()[0][0])
    finally:
        run(f"DROP TABLE temp.{_TEMPORARY}")


def _postgres(backend: Any, table: ir.Table) -> bool:
    connection = backend.con
    with connection.transaction(), connection.cursor() as cursor:
        for each in table.op().find(ops.DatabaseTable):
            if cursor.execute(_POSTGRES, (each.name,)).fetchone() is not None:
                return True
        if not table.op().find((ops.SQLQueryResult, ops.SQLStringView)):
            return False
        text = backend.compile(table)
        kinds = cursor.execute(f"SELECT * FROM ({text}) AS r LIMIT 0").description
        if cursor.execute(_TYPES, ([each.type_code for each in kinds],)).fetchone():
            return True
        texts = [name for name, kind in table.schema().items() if kind.is_string()]
        asked = ", ".join(
            f"pg_collation_for((SELECT {duckdb.identifier(each)} "
            f"FROM ({text}) AS r LIMIT 0))"
            for each in texts
        )
        found = list(cursor.execute(f"SELECT {asked}").fetchone()) if texts else []
        return cursor.execute(_NAMES, (found, found)).fetchone() is not None


def _spark(backend: Any, table: ir.Table) -> bool:
    backend._run_pre_execute_hooks(table)  # shows Spark the public tables in memory
    known = backend._session.sql(backend.compile(table)).schema  # analysed, not run
    return " collate " in known.simpleString()


_COLLATED: dict[str, Callable[[Any, ir.Table], bool]] = {
    "duckdb": _duckdb,
    "postgres": _postgres,
    "pyspark": _spark,
}  # Polars has none


def byte_by_byte(table: ir.Table) -> None:
    """Refuse tables in which different texts may be equal; reads no row.

    Tables of one name in several PostgreSQL schemas stand or fall together.
    """
    backends, _ = table._find_backends()
    for backend in backends:
        collated = _COLLATED.get(backend.name)
        if collated is None:
            continue

        def asked(backend: Any = backend, collated: Any = collated) -> bool:
            with exclusive(backend):
                return bool(collated(backend, table))

        unknown = InvalidArgument(
            "the engine does not say how texts of the table are compared. Ask for its "
            "columns with the same connection, and open the data again."
        )
        if without_engine_text(asked, lambda unknown=unknown: unknown):  # type: ignore[misc]
            raise InvalidArgument(
                f"{_called(table)} has columns with a collation, so that different "
                "texts can be equal. Declare them without, or as upper(x) in a copy."
            )


def _called(table: ir.Table) -> str:
    names = [each.name for each in table.op().find(ops.DatabaseTable)]
    return f"table {names[0]!r}" if len(names) == 1 else "the table"
