"""Which tables are private: those that were opened as data sets in this process.

A public table is read before anything is charged. So whatever a data set was opened
from, or what is inside of one, is never taken for public: a relation made of it, the
same file, the same table of a database, the same frame.
"""

import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import ibis.expr.operations as ops
import ibis.expr.types as ir
import sqlglot
from sqlglot import expressions as sql

from hush.errors import InvalidArgument
from hush.tables.engines.engine import exclusive, without_engine_text
from hush.tables.engines.provenance import Origin

_guard = threading.Lock()
_known: set[tuple[Any, ...]] = set()  # files and tables
_frames: WeakValueDictionary[int, Any] = WeakValueDictionary()
_TEXTS = (ops.SQLQueryResult, ops.SQLStringView)


def remember(given: Any, table: ir.Table, origin: Origin) -> None:
    """Note that a source was opened as private."""
    found = set(_files(origin)) | set(_tables(table))
    with _guard:
        _known.update(found)
        if _is_frame(given):
            _frames[id(given)] = given
    if origin.own:
        for backend in table._find_backends()[0]:
            mark(backend)


def mark(backend: Any) -> None:
    """Note that all that is on a connection of hush is private."""
    vars(backend)["_hush_private"] = True


def refuse_inside(given: Any) -> None:
    """Refuse to open what is inside of a data set: its bounds and ledger would be lost.

    What a data set was opened from may be opened again, as a file may.
    """
    if isinstance(given, ir.Table) and _inside(given):
        raise InvalidArgument(
            "source is the table inside of a data set that is open, without its "
            "ledger. Ask the data set itself, or open once more what it was opened "
            "from."
        )


def refuse(given: Any, table: ir.Table, origin: Origin) -> None:
    """Refuse as public what was opened as private."""
    known = {*_files(origin), *_tables(table)} & _known
    if known or _inside(table) or _frames.get(id(given)) is given:
        raise InvalidArgument(
            "the table to join was opened as private data in this process, and as a "
            "public one it would be read without a charge. Join the data set itself, "
            "over the unit that both have, paid from one ledger."
        )


def _is_frame(given: Any) -> bool:
    maker = type(given).__module__.split(".")[0]
    return maker in ("pandas", "polars", "pyarrow")


def _inside(table: ir.Table) -> bool:
    return any("_hush_private" in vars(each) for each in table._find_backends()[0])


def _files(origin: Origin) -> Iterator[tuple[Any, ...]]:
    for each in origin.files:
        if each.path.suffix not in (".duckdb", ".db"):  # which has many tables
            yield "file", str(each.path)
            yield "inode", *each.state[:2]


def _tables(table: ir.Table) -> Iterator[tuple[Any, ...]]:
    """Yield what tells the tables of databases apart, whoever is connected."""
    for each in table.op().find(ops.DatabaseTable):
        place = each.namespace
        name = (place.catalog, place.database, each.name)
        yield from _table(each.source, name)
    for each in table.op().find(_TEXTS):
        backend = each.to_expr().get_backend()
        parsed = without_engine_text(
            lambda each=each, backend=backend: sqlglot.parse_one(  # type: ignore[misc]
                each.query, read=backend.dialect
            ),
            lambda: InvalidArgument("the text of the SQL table cannot be read."),
        )
        for named in parsed.find_all(sql.Table):
            name = (named.catalog or None, named.db or None, named.name)
            yield from _table(backend, name)


def _table(backend: Any, name: tuple[Any, Any, str]) -> Iterator[tuple[Any, ...]]:
    found = {"duckdb": _duckdb, "postgres": _postgres, "pyspark": _spark}.get(
        backend.name, _other
    )

    def asked() -> Any:
        with exclusive(backend):
            return found(backend, name)

    key = without_engine_text(
        asked, lambda: InvalidArgument("the table cannot be read.")
    )
    if key is not None:
        yield key


def _own(backend: Any) -> str:
    return str(vars(backend).setdefault("_hush_name", uuid.uuid4().hex))


def _other(backend: Any, name: tuple[Any, Any, str]) -> tuple[Any, ...]:
    return backend.name, _own(backend), name[-1]


def _duckdb(backend: Any, name: tuple[Any, Any, str]) -> tuple[Any, ...]:
    catalog, database, table = name
    path = backend.con.execute(
        "SELECT path FROM duckdb_databases() "
        "WHERE database_name = coalesce($1, current_database())",
        [catalog],
    ).fetchall()  # to the end: an unfinished answer would hold up the connection
    place = path[0][0] if path else None
    where = _own(backend) if place is None else str(Path(place).resolve())
    return "duckdb", where, (database or "main").lower(), table.lower()


def _postgres(backend: Any, name: tuple[Any, Any, str]) -> tuple[Any, ...] | None:
    _, database, table = name
    info = backend.con.info
    asked = (
        "SELECT to_regclass(concat_ws('.', quote_ident(%s::text), "
        "quote_ident(%s::text)))::oid"
    )
    with backend.con.transaction(), backend.con.cursor() as cursor:
        (found,) = cursor.execute(asked, (database, table)).fetchone()
    place = (info.host, info.port, info.dbname)
    return None if found is None else ("postgres", *place, found)


def _spark(backend: Any, name: tuple[Any, Any, str]) -> tuple[Any, ...]:
    whole = ".".join(f"`{part}`" for part in name if part)
    return "spark", backend._session.table(whole).semanticHash()
