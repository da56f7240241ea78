"""Types as the database itself has them: those that are not on a list are refused.

Ibis takes PostgreSQL's money for a decimal and its object identifiers for whole
numbers. The server then fails on any row, or what it returns cannot be read: after the
budget was charged. So the server is asked which types a table has, without a row.
"""

from functools import partial
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

from hush.errors import InvalidArgument
from hush.tables.engines.engine import without_engine_text

# Numbers of types in pg_type, which never change, by the kind that Ibis sees in them.
_FILLED = 1042  # char(n): texts that are filled up with blanks
_POSTGRES: dict[str, tuple[int, ...]] = {
    "boolean": (16,),
    "integer": (20, 21, 23),
    "floating": (700, 701),
    "decimal": (1700,),
    "string": (25, 1043, _FILLED, 19),
    "date": (1082,),
    "timestamp": (1114, 1184),
}


def with_known_types(table: ir.Table) -> ir.Table:
    """Return a table whose columns are what their types say, or cannot be used.

    A column of char(n) becomes a text without the blanks that fill it up: PostgreSQL
    compares it without them, and shows it with them.
    """
    if table.get_backend().name == "polars":
        _no_categories(table)
    if table.get_backend().name != "postgres":
        return table
    numbers = without_engine_text(lambda: _numbers(table), _unread)
    schema = table.schema()
    strange = [n for n, kind in schema.items() if not _listed(kind, numbers[n])]
    if strange and not isinstance(table.op(), ops.DatabaseTable):
        raise _strange(strange[0])
    if strange:
        table = _without(table, strange)
    # One without a declared length, as a CASE in a view has, is unknown to Ibis.
    kinds = table.schema()
    filled = [n for n, k in kinds.items() if k.is_string() and numbers[n] == _FILLED]
    plain = {name: table[name] + ibis.literal("") for name in filled}
    return table.mutate(**plain) if plain else table


def is_filled(column: Any) -> bool:
    """Whether a column is a char(n), wherever `known` has put it since.

    Blanks at the end of its values mean nothing, nor do those of a key.
    """
    found = column.op()
    while isinstance(found, ops.Field):
        inner = found.rel.values.get(found.name)
        if inner is None:
            return False
        found = inner
    if not isinstance(found, ops.StringConcat):
        return False
    last = found.arg[-1]
    return isinstance(last, ops.Literal) and last.value == ""


def plain_frame(frame: Any) -> Any:
    """Return a lazy frame of Polars whose columns all functions know, or refuse it.

    Categories and enumerations look like texts to Ibis, and fail on the first function
    of texts: they are cast.
    """
    import polars
    from ibis.formats.polars import PolarsType  # only where Polars is installed

    named = frame.collect_schema()
    for name, kind in named.items():
        without_engine_text(partial(PolarsType.to_ibis, kind), partial(_strange, name))
    texts = [n for n, k in named.items() if k in (polars.Categorical, polars.Enum)]
    return frame.cast(dict.fromkeys(texts, polars.String)) if texts else frame


def _unread() -> InvalidArgument:
    return InvalidArgument("the types of the table's columns cannot be read.")


def _strange(name: str) -> InvalidArgument:
    return InvalidArgument(
        f"column {name!r} has a type that hush does not know. Cast it to a number, a "
        "text, a date or a timestamp, or drop it."
    )


def _numbers(table: ir.Table) -> dict[str, int]:
    """Return the number of each column's type; of a domain, that of its base."""
    connection = table.get_backend().con
    text = ibis.to_sql(table.limit(0), dialect="postgres")
    with connection.transaction(), connection.cursor() as cursor:
        described = cursor.execute(str(text)).description
        return {each.name: each.type_code for each in described}


def _no_categories(table: ir.Table) -> None:
    """Refuse frames in a Polars connection of somebody else's, which are not cast."""
    import polars

    for each in table.op().find(ops.DatabaseTable):
        held = each.source._tables.get(each.name)
        named = {} if held is None else held.lazy().collect_schema()
        for name, kind in named.items():
            if kind in (polars.Categorical, polars.Enum):
                raise _strange(name)


def _listed(kind: Any, number: int) -> bool:
    """Whether a type is what Ibis takes it for; others are refused by their use."""
    for name, numbers in _POSTGRES.items():
        if getattr(kind, f"is_{name}")():
            return number in numbers
    return True


def _without(table: ir.Table, strange: list[str]) -> ir.Table:
    """Return the table with columns of unknown type, which no expression may use."""
    held = table.op()
    schema = {n: dt.unknown if n in strange else k for n, k in held.schema.items()}
    return ops.DatabaseTable(
        held.name,
        schema=ibis.schema(schema),
        source=held.source,
        namespace=held.namespace,
    ).to_expr()
