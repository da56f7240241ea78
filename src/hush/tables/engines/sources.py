"""Where a table lives: a file, a frame in memory, a database or an Ibis table.

Everything becomes an Ibis table. Files and frames are read in place by an embedded
DuckDB whose connection is shut off from the outside; lazy Polars frames, databases and
Spark tables stay where they are.
"""

import datetime
import itertools
import os
import re
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, final
from urllib.parse import urlsplit, urlunsplit

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
import numpy as np

from hush.errors import InvalidArgument
from hush.tables.engines import duckdb, engine, files, provenance
from hush.tables.engines.columns import check_column_names
from hush.tables.engines.engine import exclusive, without_engine_text
from hush.tables.engines.extras import package
from hush.tables.engines.provenance import Origin
from hush.tables.expressions.types import list_name

engine.keep_apart()  # before the first expression of a data set

_VIEWS = itertools.count()
_READ_ONLY = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"

_MADE_UP = re.compile(r"t\d+", re.IGNORECASE)

# Through which extra an engine gets what Ibis needs to fetch from it.
_EXTRAS = {"polars": "polars", "pyspark": "spark", "postgres": "postgres"}


@final
@dataclass(frozen=True)
class Source:
    """An Ibis table, the name it has in SQL, and what it was made of."""

    table: ir.Table
    name: str
    origin: Origin


def source(
    given: Any, name: str | None = None, types: Mapping[str, str] | None = None
) -> Source:
    """Return the source for a path, a frame, a database address or an Ibis table.

    `types` declares the columns of a CSV or JSON file, which has none of its own:
    "number", "date", "boolean" or "text". Columns whose names start with an underscore
    are left out: such names are ours, and a column of the data must not be taken for
    one that bounds it.
    """
    if types is not None and not isinstance(types, Mapping):
        raise InvalidArgument(
            f"types must name columns, as in types={{'fare': 'number'}}; got {types!r}."
        )
    found = _source_of(given, name, types)
    _no_shadow(found.table)
    engine.byte_by_byte(found.table)
    found = replace(found, table=engine.with_known_types(found.table))
    ours = [each for each in found.table.columns if each.startswith("_")]
    if not ours:
        return found
    if len(ours) == len(found.table.columns):
        raise InvalidArgument("source has no column without an underscore in front.")
    return replace(found, table=found.table.drop(*ours))


def _no_shadow(table: ir.Table) -> None:
    """Refuse a bare table whose name a compiled query may give to a part of itself.

    Ibis calls parts t0, t1, …; inside them such a name would no longer mean the table,
    and what bounds a person could be computed from something else.
    """
    for each in table.op().find(ops.DatabaseTable):
        if each.namespace.database is None and _MADE_UP.fullmatch(each.name):
            raise InvalidArgument(
                f"a table called {each.name!r} can be mistaken for a part of a query. "
                "Give it another name, or open it with its schema."
            )


def _source_of(given: Any, name: str | None, types: Mapping[str, str] | None) -> Source:
    if isinstance(given, (str, os.PathLike)):
        return _address(os.fspath(given), name, types or {})
    if types:
        raise InvalidArgument("types= is for CSV and JSON files; this has its own.")
    if isinstance(given, ir.Table):
        _check_fetchable(given.get_backend().name)
        provenance.refuse_inside(given)
        return Source(given, name or _table_name(given), Origin("ibis"))
    called = name or "data"
    if isinstance(given, Mapping):
        return _columns(given, called)
    made_by = type(given).__module__.split(".")[0]
    if type(given).__name__ in ("Series", "ChunkedArray", "Array"):
        raise InvalidArgument(
            f"source is a {type(given).__name__} of {made_by}, one column without a "
            "name. Give a table, as in {'fare': column}, with the column that tells "
            "people apart if there is one."
        )
    if made_by == "pyspark" and hasattr(given, "createOrReplaceTempView"):
        return _spark(given, called)
    if made_by == "polars" and hasattr(given, "collect"):
        _check_fetchable("polars")
        connection = ibis.polars.connect()
        table = connection.create_table(called, engine.plain_frame(given))
        return Source(
            table,
            called,
            Origin.of_scanned_files("memory", _scanned_files(given), shut=True),
        )
    if made_by in ("pandas", "polars", "pyarrow"):
        extra = "arrow" if made_by == "pyarrow" else made_by
        package("pyarrow", extra, f"a {type(given).__name__} of {made_by}")
        return _memory(given, called)
    raise InvalidArgument(
        "source must be a path, a frame, a mapping of columns, a database address or "
        f"an Ibis table; got a {type(given).__name__}."
    )


def _scanned_files(frame: Any) -> list[str]:
    """Return the files that a lazy Polars frame names in its plan."""
    listed = re.findall(r"SCAN \[([^\]]*)\]", frame.explain(optimized=False))
    return [each for group in listed for each in group.split(", ")]


def _check_fetchable(engine: str) -> None:
    """Refuse an engine now if nothing could be fetched from it later, when paid."""
    if engine != "duckdb":
        for each in ("pyarrow", "pyarrow_hotfix"):
            package(each, _EXTRAS.get(engine, "arrow"), f"a table on {engine}")


def _table_name(table: ir.Table) -> str:
    found = getattr(table.op(), "name", None)
    return found if isinstance(found, str) and found.isidentifier() else "data"


def _address(text: str, name: str | None, types: Mapping[str, str]) -> Source:
    if text.startswith(("postgres://", "postgresql://")):
        return _postgres(text, name)
    if text.startswith("duckdb://"):
        return _duckdb(text.removeprefix("duckdb://"), name)
    if not Path(text).exists() and Path(text).parent.suffix in (".duckdb", ".db"):
        return _duckdb(text, name)
    if Path(text).suffix in (".duckdb", ".db"):
        raise InvalidArgument(
            f"{text!r} is a database: add a table's name, as in {text + '/trips'!r}."
        )
    found = files.listed_files(text)
    called = name or _name_of_path(text)
    # First what the files are, then what is in them: what came between is noticed.
    origin = Origin.of_files(found, files.separator(found))
    opened = files.open_files(found, called, types)
    origin.check_unchanged()
    return Source(opened, called, origin)


def _name_of_path(path: str) -> str:
    stem = Path(path.rstrip("/")).name.split(".")[0].strip("*") or "data"
    return stem if stem.isidentifier() else "data"


def _columns(given: Mapping[Any, Any], name: str) -> Source:
    """Copy plain columns into an embedded DuckDB."""
    failed = InvalidArgument("the columns hold values that no engine has.")
    made = without_engine_text(lambda: plain_table(given, name), lambda: failed)
    return Source(made, name, Origin("memory", own=True, shut=True))


def _memory(frame: Any, name: str) -> Source:
    """Show a frame to an embedded DuckDB without copying it."""
    connection = duckdb.connect()

    def register_frame() -> ir.Table:
        table = frame
        if type(frame).__module__.startswith("pandas"):
            import pyarrow

            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        elif type(frame).__module__.startswith("polars"):
            table = frame.to_arrow()
        # DuckDB would give the second of two equal names another one.
        check_column_names(n for n in table.schema.names if not n.startswith("_"))
        for field in table.schema:
            _check_readable(field.name, str(field.type))
        connection.con.register(name, table)
        files.lock(connection)
        return duckdb.table(connection, name)

    failed = InvalidArgument(
        f"the {type(frame).__name__} cannot be read as a table: a column may hold "
        "values of several types, or two may have one name. Give each its own"
        f"{_untyped(frame)}."
    )
    made = without_engine_text(register_frame, lambda: failed)
    read = getattr(frame, "files", ()) if isinstance(frame, _dataset()) else ()
    return Source(made, name, Origin.of_scanned_files("memory", read, shut=True))


def _dataset() -> Any:
    import pyarrow.dataset

    return pyarrow.dataset.FileSystemDataset


def _untyped(frame: Any) -> str:
    """Return which columns of a pandas frame have no one type, by what it declares."""
    kinds: Any = getattr(frame, "dtypes", None)
    if not hasattr(kinds, "items"):
        return ""
    loose = [str(name) for name, kind in kinds.items() if str(kind) == "object"]
    if not loose:
        return ""
    listed = ", ".join(map(list_name, loose))
    way = 'frame["x"].astype("string") makes texts of one'
    return f": those of type object are {listed}, and {way}"


def _check_readable(name: str, kind: str) -> None:
    """Refuse a type of which DuckDB reads one value and fails on the next.

    It multiplies moments with a zone into microseconds, before a query can stop it.
    """
    if kind.startswith(("timestamp[s, tz=", "timestamp[ms, tz=")):
        raise InvalidArgument(
            f"column {name!r} has type {kind}, and the engine fails on values far from "
            "1970. Convert it to microseconds."
        )


def _spark(frame: Any, name: str) -> Source:
    _check_fetchable("pyspark")
    view = f"hush_{next(_VIEWS)}_{name}"
    frame.createOrReplaceTempView(view)
    connection = ibis.pyspark.connect(frame.sparkSession)
    origin = Origin.of_scanned_files("spark", frame.inputFiles())
    return Source(connection.table(view), name, origin)


def _duckdb(address: str, name: str | None) -> Source:
    """Open "/path/file.duckdb/table" or ".../schema.table", for reading only."""
    path, _, last = address.rpartition("/")
    schema, _, table = last.rpartition(".")
    if not Path(path).is_file() or not table:
        raise InvalidArgument(
            f"source {address!r} must be a database file and a table in it, as in "
            "'trips.duckdb/trips'."
        )
    real = Path(path).resolve()

    def connect_table() -> ir.Table:
        # Attached, not connected to: connections to one file share their settings, so
        # that a second could not be shut off.
        connection = duckdb.connect()
        connection.raw_sql(
            f"ATTACH {files.text_literal(str(real))} AS file (READ_ONLY)"
        )
        files.lock(connection)
        return duckdb.table(connection, table, ("file", schema or "main"))

    failed = InvalidArgument(
        f"source {address!r} cannot be read, or has no such table.",
        code="data-unreachable",
    )
    origin = Origin.of_files([real])
    return Source(
        without_engine_text(connect_table, lambda: failed), name or table, origin
    )


def _postgres(address: str, name: str | None) -> Source:
    """Open "postgresql://host/database/schema.table", for reading only."""
    _check_fetchable("postgres")
    package("psycopg", "postgres", "a table on PostgreSQL")
    parts = urlsplit(address)
    database, _, last = parts.path.rpartition("/")
    schema, _, table = last.rpartition(".")
    if not table or not schema or "/" in database[1:] or len(database) < 2:
        raise InvalidArgument(
            "a database address must end in /database/schema.table, as in "
            "'postgresql://host/database/public.trips'."
        )

    def connect_table() -> ir.Table:
        server = parts._replace(scheme="postgres", path=database)
        connection = ibis.connect(urlunsplit(server))
        try:
            _only_read(connection)
            with exclusive(connection):
                return connection.table(table, database=schema)
        except Exception:
            connection.disconnect()
            raise

    failed = InvalidArgument(
        f"the database cannot be reached, or has no table {last!r}. "
        "Try the same address with psql.",
        code="data-unreachable",
    )
    found = without_engine_text(connect_table, lambda: failed)
    connection = found.get_backend()

    def reconnect() -> None:
        with exclusive(connection):
            try:
                connection.reconnect()
                _only_read(connection)
            except Exception:
                connection.con.close()  # what it was begun as, before it failed
                raise

    return Source(found, name or table, Origin("postgres", own=True, again=reconnect))


def _only_read(connection: Any) -> None:
    """Make a new session read-only, and close it when its connection is freed."""
    weakref.finalize(connection, connection.con.close)
    with exclusive(connection):
        connection.raw_sql(_READ_ONLY).close()
        connection.con.commit()


# -- Plain columns in memory: a mapping of names to lists or NumPy arrays, as a table.

_BY_DTYPE = {"b": "boolean", "i": "int64", "u": "uint64", "f": "float64", "U": "string"}
_KINDS: tuple[tuple[str, Any], ...] = (  # the first that fits all values
    ("boolean", (bool, np.bool_)),
    ("int64", Integral),
    ("float64", Real),
    ("string", str),
    ("timestamp", datetime.datetime),
    ("date", datetime.date),
)


def plain_table(
    columns: Mapping[str, Any], name: str, types: Mapping[str, str] | None = None
) -> ir.Table:
    """Return columns as a table of an embedded DuckDB that can read nothing else.

    `types` are Ibis types; without them the values tell.

    Example:
        >>> made = plain_table({"id": range(3), "age": [31, None, 64]}, "people")
        >>> {name: str(kind) for name, kind in made.schema().items()}
        {'id': 'int64', 'age': 'int64'}
    """
    lists = {
        str(each): _python_values(str(each), given) for each, given in columns.items()
    }
    if not lists or len({len(values) for values, _ in lists.values()}) > 1:
        raise InvalidArgument("the columns of a table must have one length.")
    check_column_names(each for each in lists if not each.startswith("_"))
    if types is None:
        types = {
            each: kind or _kind_of_values(each, v) for each, (v, kind) in lists.items()
        }
    connection = duckdb.connect()
    files.lock(connection)
    values = {each: listed for each, (listed, _) in lists.items()}
    return duckdb.copy_columns(connection, name, values, types)


def _python_values(name: str, given: Any) -> tuple[list[Any], str | None]:
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


def _kind_of_values(name: str, values: list[Any]) -> str:
    known = {type(each) for each in values if each is not None}
    if not known:
        raise InvalidArgument(
            f"column {name!r} has no values that tell its type: give a NumPy array."
        )
    for kind, fits in _KINDS:
        if all(issubclass(each, fits) for each in known) and _is_one_kind(kind, known):
            return kind
    raise InvalidArgument(
        f"column {name!r} must hold values of one type: truth values, numbers, texts, "
        "dates or timestamps."
    )


def _is_one_kind(kind: str, known: set[type]) -> bool:
    """Whether all types are of this kind: a truth value is no number."""
    if kind in ("int64", "float64"):
        return bool not in known
    return kind != "date" or datetime.datetime not in known
