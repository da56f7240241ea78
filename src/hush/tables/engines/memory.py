"""Plain columns in memory: a mapping of names to lists or NumPy arrays, as a table.

A NumPy array has a type. A list has the one type of its values, None aside; values of
several types are refused, because engines would each make something else of them.
"""

import datetime
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import ibis.expr.types as ir
import numpy as np

from hush.errors import InvalidArgument
from hush.tables.engines import column_names, duckdb, files

_BY_DTYPE = {"b": "boolean", "i": "int64", "u": "uint64", "f": "float64", "U": "string"}
_KINDS: tuple[tuple[str, Any], ...] = (  # the first that fits all values
    ("boolean", (bool, np.bool_)),
    ("int64", Integral),
    ("float64", Real),
    ("string", str),
    ("timestamp", datetime.datetime),
    ("date", datetime.date),
)


def table(
    columns: Mapping[str, Any], name: str, types: Mapping[str, str] | None = None
) -> ir.Table:
    """Return columns as a table of an embedded DuckDB that can read nothing else.

    `types` are Ibis types; without them the values tell.

    Example:
        >>> made = table({"id": range(3), "age": [31, None, 64]}, "people")
        >>> {name: str(kind) for name, kind in made.schema().items()}
        {'id': 'int64', 'age': 'int64'}
    """
    lists = {str(each): _listed(str(each), given) for each, given in columns.items()}
    if not lists or len({len(values) for values, _ in lists.values()}) > 1:
        raise InvalidArgument("the columns of a table must have one length.")
    column_names.check(each for each in lists if not each.startswith("_"))
    if types is None:
        types = {each: kind or _kind(each, v) for each, (v, kind) in lists.items()}
    connection = duckdb.connect()
    files.lock(connection)
    values = {each: listed for each, (listed, _) in lists.items()}
    return duckdb.copy_columns(connection, name, values, types)


def _listed(name: str, given: Any) -> tuple[list[Any], str | None]:
    """Return a column's values as Python's own, and its type where it has one."""
    if isinstance(given, np.ndarray) and given.dtype.kind == "M":
        day = given.dtype == np.dtype("datetime64[D]")
        exact = given if day else given.astype("datetime64[us]")
        return exact.tolist(), "date" if day else "timestamp"
    if isinstance(given, np.ndarray):
        return given.tolist(), _BY_DTYPE.get(given.dtype.kind)
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise InvalidArgument(
            f"column {name!r} must be a list or an array; got a {type(given).__name__}."
        )
    return [
        each.item() if isinstance(each, np.generic) else each for each in given
    ], None


def _kind(name: str, values: list[Any]) -> str:
    known = {type(each) for each in values if each is not None}
    if not known:
        raise InvalidArgument(
            f"column {name!r} has no values that tell its type: give a NumPy array."
        )
    for kind, fits in _KINDS:
        if all(issubclass(each, fits) for each in known) and _alike(kind, known):
            return kind
    raise InvalidArgument(
        f"column {name!r} must hold values of one type: truth values, numbers, texts, "
        "dates or timestamps."
    )


def _alike(kind: str, known: set[type]) -> bool:
    """Whether subclasses do not hide another kind: a truth value is no number."""
    if kind in ("int64", "float64"):
        return bool not in known
    return kind != "date" or datetime.datetime not in known
