"""Texts are equal byte by byte, or the table is refused.

Under a collation that ignores case, a person or key with two texts is grouped as one
and hashed as two: more would be kept of it than its cap allows.
"""

from collections.abc import Callable
from typing import Any

import ibis.expr.types as ir
from ibis.expr import operations as ops

from hush.errors import InvalidArgument

# Of a view it is not known which tables it reads.
_DUCKDB = """
SELECT 1 WHERE current_setting('default_collation') <> '' OR EXISTS (
  SELECT 1 FROM duckdb_tables() WHERE sql LIKE '% COLLATE %' AND (
    table_name = $1 OR $1 IN (SELECT view_name FROM duckdb_views())))
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


def _duckdb(each: ops.DatabaseTable) -> bool:
    return bool(each.source.con.execute(_DUCKDB, [each.name]).fetchall())


def _postgres(each: ops.DatabaseTable) -> bool:
    connection = each.source.con
    with connection.transaction(), connection.cursor() as cursor:
        return cursor.execute(_POSTGRES, (each.name,)).fetchone() is not None


def _spark(each: ops.DatabaseTable) -> bool:
    place = each.namespace
    name = ".".join(
        f"`{part}`" for part in (place.catalog, place.database, each.name) if part
    )
    return " collate " in each.source._session.table(name).schema.simpleString()


_COLLATED: dict[str, Callable[[Any], bool]] = {
    "duckdb": _duckdb,
    "postgres": _postgres,
    "pyspark": _spark,
}  # Polars has none


def byte_by_byte(table: ir.Table) -> None:
    """Refuse tables in which different texts may be equal.

    Tables of one name in several PostgreSQL schemas stand or fall together.
    """
    for each in table.op().find(ops.DatabaseTable):
        collated = _COLLATED.get(each.source.name)
        if collated is not None and collated(each):
            raise InvalidArgument(
                f"table {each.name!r} has columns with a collation, so that different "
                "texts can be equal. Declare them without, or as upper(x) in a copy."
            )
