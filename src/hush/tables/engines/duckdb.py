"""The embedded DuckDB: its tables, its answers, and what is copied into it.

Ibis writes the SQL, and this runs it. Ibis would also fetch, but through Arrow and
pandas, which weigh as much as all the rest of the default install together.
"""

import atexit
import datetime
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray
from sqlglot import expressions as sql

from hush.tables.engines.columns import Columns, objects

_AT_ONCE = 100_000  # rows that are copied by one statement


def connect() -> Any:
    """Return a new embedded DuckDB, which spills into a folder of its own if at all."""
    connection = ibis.duckdb.connect()
    place = spill_folder().replace("'", "''")
    connection.raw_sql(f"SET temp_directory = '{place}'")
    return connection


def identifier(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def table(connection: Any, name: str, within: tuple[str, ...] = ()) -> ir.Table:
    """Return a table or view of a connection; its schema is read, and no row.

    `within` is its catalog and schema, where it is in another than the current one.
    """
    called = ".".join(identifier(each) for each in (*within, name))
    catalog, database = within or (None, None)
    described = connection.con.execute(f"DESCRIBE {called}").fetchall()
    known = connection.compiler.type_mapper
    schema = {
        column: known.from_string(kind, nullable=null == "YES")
        for column, kind, null, *_ in described
    }
    return ops.DatabaseTable(
        name,
        schema=ibis.schema(schema),
        source=connection,
        namespace=ops.Namespace(catalog=catalog, database=database),
    ).to_expr()


def fetch(connection: Any, relation: ir.Table) -> Columns:
    """Run a relation and return its columns.

    NumPy has doubles for what is wider than 64 bits, and no dates. So these come as
    texts and are read here; a value that Python does not have stays its text, and no
    two values become one.
    """
    text, schema = prepared_sql(connection, relation), relation.schema()
    columns = ", ".join(
        f"{_fetchable_column(connection, identifier(name), kind)} AS {identifier(name)}"
        for name, kind in schema.items()
    )
    whole = f"SELECT {columns} FROM ({text}) AS answer"
    found = connection.con.sql(whole).fetchnumpy()
    return Columns(
        {name: _exact(found[name], _reader(kind)) for name, kind in schema.items()}
    )


def run(connection: Any, text: str, values: Sequence[int] = ()) -> Columns:
    """Run a statement whose columns are whole numbers of at most 64 bits."""
    if values:
        found = connection.con.execute(text, list(values)).fetchnumpy()
    else:
        found = connection.con.sql(text).fetchnumpy()
    return Columns({name: _exact(each, None) for name, each in found.items()})


def prepared_sql(connection: Any, relation: ir.Table) -> str:
    """Return the SQL of a relation that is going to run."""
    connection._run_pre_execute_hooks(relation)  # shows DuckDB the frames in memory
    return sql_of(connection, relation)


def sql_of(connection: Any, relation: ir.Table) -> str:
    """Return the SQL of a relation.

    Ibis names what a relation uses twice, and DuckDB would store what has a name. Rows
    of a table that a plain condition picks are cheaper read twice than stored.
    """
    query = connection.compiler.to_sqlglot(relation)
    if not relation.op().find(ops.Impure):
        for named in query.find_all(sql.CTE):
            if _is_filtered_table(named.this):
                named.set("materialized", value=False)
    return str(query.sql(connection.dialect))


def _is_filtered_table(query: Any) -> bool:
    """Return whether a query is rows of one table that a known condition picks.

    A function that sqlglot does not know may answer otherwise the second time.
    """
    used = {key for key, value in query.args.items() if value}
    return (
        used <= {"expressions", "from_", "where"}
        and query.is_star
        and isinstance(query.args["from_"].this, sql.Table)
        and not query.find(sql.Anonymous, sql.Rand, sql.Subquery)
    )


def _fetchable_column(connection: Any, column: str, kind: Any) -> str:
    """Return a column in a form in which NumPy has each value as it is.

    First it is made what Ibis says it is: to DuckDB the first of a month is no date.
    """
    if kind.is_numeric() or kind.is_boolean() or _reader(kind) is not None:
        declared = connection.compiler.type_mapper.to_string(kind)
        column = f"CAST({column} AS {declared})"
    as_it_is = kind.is_boolean() or kind.is_integer() or kind.is_floating()
    return column if as_it_is else f"CAST({column} AS VARCHAR)"


def _reader(kind: Any) -> Callable[[str], Any] | None:
    """Return what reads the text of a value, None where it is the value."""
    if kind.is_decimal():
        return Decimal
    if kind.is_date():
        return datetime.date.fromisoformat
    if kind.is_timestamp():
        return _moment
    return None


def _moment(text: str) -> datetime.datetime:
    if len(text.partition(".")[2].partition("+")[0].rstrip("0")) > 6:
        raise ValueError("Python has no nanoseconds, and would drop them.")
    return datetime.datetime.fromisoformat(text)


def _exact(found: Any, reader: Callable[[str], Any] | None) -> NDArray[Any]:
    """Return fetched values without a mask: NULL is None."""
    array: NDArray[Any] = np.ma.getdata(found)
    if np.ma.is_masked(found):
        array = array.astype(object)
        array[np.ma.getmaskarray(found)] = None
    if reader is None:
        return array
    known = {text: _read(reader, text) for text in set(array.tolist())}
    return objects(known[text] for text in array.tolist())


def _read(reader: Callable[[str], Any], text: str | None) -> Any:
    if text is None:
        return None
    try:
        return reader(text)
    except ValueError:
        return text


def copy_columns(
    connection: Any,
    name: str,
    columns: Mapping[str, Sequence[Any]],
    types: Mapping[str, Any],
) -> ir.Table:
    """Return a temporary table with copies of columns of the given Ibis types."""
    mapper = connection.compiler.type_mapper
    kinds = {each: mapper.to_string(ibis.dtype(kind)) for each, kind in types.items()}
    declared = ", ".join(f"{identifier(each)} {kind}" for each, kind in kinds.items())
    connection.con.execute(f"CREATE TEMPORARY TABLE {identifier(name)} ({declared})")
    # Lists of a declared type: nothing is guessed from the values.
    given = ", ".join(f"unnest(${i + 1}::{k}[])" for i, k in enumerate(kinds.values()))
    rows = max((len(columns[each]) for each in kinds), default=0)
    for start in range(0, rows, _AT_ONCE):
        part = [list(columns[each][start : start + _AT_ONCE]) for each in kinds]
        connection.con.execute(f"INSERT INTO {identifier(name)} SELECT {given}", part)
    return table(connection, name)


# -- Where an embedded engine writes rows that do not fit into memory.

_PREFIX = "hush-spill-"
_LOCK = "alive"

_guard = threading.Lock()
_own: dict[int, tuple[Path, Any]] = {}  # by process: a forked child makes its own


def spill_folder() -> str:
    """Return the folder of this process; "" where none can be made: no spilling.

    Guarantee: only this user can list or read it (mode 0700), and it is removed when
    the process ends, or else by the next process of this user that opens a table.
    """
    try:
        import fcntl
    except ImportError:  # no such locks here, so no way to tell who is alive
        return ""
    with _guard:
        made = _own.get(os.getpid())
        while made is None or not (made[0] / _LOCK).exists():
            remove_left_behind()
            place = Path(tempfile.mkdtemp(prefix=_PREFIX))
            held = (place / _LOCK).open("w")
            # Until the process ends, however it does. Somebody who cleaned up may have
            # been faster than the lock: then once more.
            fcntl.flock(held, fcntl.LOCK_EX)
            made = _own[os.getpid()] = place, held
            atexit.register(_remove, os.getpid())
        return str(made[0])


def _remove(owner: int) -> None:
    if os.getpid() == owner and owner in _own:
        place, held = _own.pop(owner)
        shutil.rmtree(place, ignore_errors=True)
        held.close()


def remove_left_behind() -> None:
    """Remove the folders of this user's processes that are dead.

    Who is alive holds a lock, in whichever container: numbers of processes are used
    again, and mean something else there.
    """
    import fcntl

    for each in Path(tempfile.gettempdir()).glob(_PREFIX + "*"):
        with suppress(OSError):
            known = each.lstat()
            if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.geteuid():
                continue
            with (each / _LOCK).open("r+") as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(each, ignore_errors=True)
