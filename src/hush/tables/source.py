"""Where a table lives: a file, a frame in memory, a database or an Ibis table.

Everything becomes an Ibis table. Files and frames go to an embedded DuckDB whose
connection is then shut off from the outside: no files, no network, no settings.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import ibis
import ibis.expr.types as ir

from hush.errors import InvalidArgument, Unsupported

_READERS = {".parquet": "read_parquet", ".csv": "read_csv", ".json": "read_json"}


@final
@dataclass(frozen=True)
class Source:
    """An Ibis table, the name it has in SQL, and what tells its version apart."""

    table: ir.Table
    name: str
    version: str


def lock(connection: Any) -> None:
    """Shut an embedded DuckDB off from files, extensions and settings.

    Guarantee: afterwards no statement of this connection can read or write outside the
    data that was attached before, or undo this.
    """
    for statement in (
        "SET autoinstall_known_extensions = false",
        "SET autoload_known_extensions = false",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ):
        connection.raw_sql(statement)


def _stem(path: str) -> str:
    stem = Path(path.rstrip("/")).name.split(".")[0].strip("*") or "data"
    return stem if stem.isidentifier() else "data"


def _file(path: str) -> Source:
    whole = Path(path)
    if whole.is_dir():
        kinds = {each.suffix for each in whole.iterdir() if each.suffix in _READERS}
        if len(kinds) != 1:
            raise InvalidArgument(
                f"source folder {path!r} must hold files of one kind: "
                f"{', '.join(_READERS)}."
            )
        pattern, suffix = str(whole / f"*{kinds.copy().pop()}"), kinds.pop()
    else:
        pattern, suffix = path, whole.suffix
        if suffix in (".duckdb", ".db"):
            raise Unsupported(
                f"{path!r} is a database: open it with Ibis and pass one of its tables."
            )
        if "*" not in path and not whole.exists():
            raise InvalidArgument(f"source {path!r} does not exist.")
    if suffix not in _READERS:
        known = ", ".join(_READERS)
        raise InvalidArgument(f"source {path!r} must end in one of {known}.")
    connection = ibis.duckdb.connect()
    # Only this one reader may touch files, so it must copy: a view would read later.
    view = getattr(connection, _READERS[suffix])(pattern)
    table = connection.create_table(_stem(path), view)
    lock(connection)
    return Source(table, _stem(path), _fingerprint(pattern))


def _fingerprint(pattern: str) -> str:
    """Return a name for the files' state: paths, sizes and times, never contents."""
    folder, glob = os.path.split(pattern)
    files = sorted(Path(folder or ".").glob(glob))
    facts = [(str(f), f.stat().st_size, f.stat().st_mtime_ns) for f in files]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def _memory(frame: Any, name: str) -> Source:
    connection = ibis.duckdb.connect()
    table = connection.create_table(name, frame)
    lock(connection)
    return Source(table, name, "memory")


def source(given: Any, name: str | None = None) -> Source:
    """Return the source for a path, a frame, a database address or an Ibis table."""
    if isinstance(given, ir.Table):
        return Source(given, name or given.get_name(), "ibis")
    if isinstance(given, (str, os.PathLike)):
        path = os.fspath(given)
        if path.startswith(("postgres://", "postgresql://")):
            return _database(path)
        return _file(path)
    if type(given).__module__.split(".")[0] in ("pandas", "polars", "pyarrow"):
        return _memory(given, name or "data")
    raise InvalidArgument(
        f"source must be a path, a frame, a database address or an Ibis table; got a "
        f"{type(given).__name__}."
    )


def _database(address: str) -> Source:
    """Open "postgresql://host/database/schema.table"."""
    head, _, last = address.rpartition("/")
    schema, _, name = last.partition(".")
    if not name:
        raise InvalidArgument(
            "a database address must end in /schema.table, as in "
            "'postgresql://host/database/public.trips'."
        )
    connection = ibis.connect(head.replace("postgresql://", "postgres://", 1))
    return Source(connection.table(name, database=schema), name, "postgres")
