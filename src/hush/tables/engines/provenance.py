"""Provenance: where data came from, and whether it is still what was opened.

A file can be replaced while a data set is open, a table altered, a connection lost.
All of that is looked at before anything is paid, and without reading a row.
"""

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final
from urllib.parse import unquote
from weakref import WeakValueDictionary

import ibis.expr.operations as ops
import ibis.expr.types as ir
import sqlglot
from sqlglot import expressions as sql

from hush.errors import DrawInterrupted, InvalidArgument
from hush.ledger import Ledger
from hush.ledger.release import keyed_name
from hush.tables.engines import engine, files
from hush.tables.engines.engine import exclusive, without_engine_text


class Gone(InvalidArgument):
    """A file is not where it was, and may come back."""

    code = "data-unreachable"


@final
@dataclass(frozen=True, repr=False)
class File:
    """A file as it was when it was opened: its place, state and first line."""

    path: Path
    state: tuple[int, int, int, int]  # device, inode, size and time of change
    line: tuple[str, ...] | None = None  # of a CSV file, whose columns have no names

    @classmethod
    def of(cls, path: Path, separator: str | None) -> "File":
        """Return the state of a file now."""
        known = path.stat()
        state = known.st_dev, known.st_ino, known.st_size, known.st_mtime_ns
        line = None if separator is None else files.first_line(path, separator)
        return cls(path, state, line)

    @property
    def facts(self) -> tuple[str, int, int]:
        """What tells two states apart: the path, the size and the time of change."""
        return str(self.path), *self.state[2:]


@final
@dataclass(frozen=True, repr=False)
class Origin:
    """What a source was made of: its files, or the kind of engine that has it.

    `again` connects once more where a connection is ours and was lost. Connections of
    the user's may have other tables tomorrow; those of ours are shut off.
    """

    kind: str
    files: tuple[File, ...] = ()
    separator: str | None = None
    own: bool = False  # whether the connection is one of hush
    shut: bool = False
    again: Callable[[], None] | None = None

    @classmethod
    def of_scanned_files(cls, kind: str, paths: Iterable[str], **more: Any) -> "Origin":
        """Return the origin of a frame that reads files of this machine when asked."""
        local = [unquote(each.removeprefix("file://")) for each in paths]
        known = [Path(each) for each in local if each.startswith("/")]
        files = tuple(File.of(each, None) for each in known if each.is_file())
        return cls(kind, files, own=True, **more)

    @classmethod
    def of_files(cls, files: Sequence[Path], separator: str | None = None) -> "Origin":
        """Return the origin of files as they are now."""
        found = tuple(File.of(each, separator) for each in files)
        return cls("files", found, separator, own=True, shut=True)

    def version(self, ledger: Ledger) -> str:
        """Return what a receipt calls this state.

        Guarantee: says nothing about the files but whether they are the same; see
        `keyed_name`.
        """
        if not self.files:
            return self.kind
        return keyed_name(ledger._store, repr([each.facts for each in self.files]))

    def check_unchanged(self) -> None:
        """Refuse files that are gone or not what was opened."""
        for each in self.files:
            try:
                same = File.of(each.path, self.separator) == each
            except OSError:
                raise Gone(
                    f"the file {each.path.name!r} is gone or cannot be read; nothing "
                    "was charged. Put it back, or open the data again."
                ) from None
            if not same:
                raise InvalidArgument(
                    f"the file {each.path.name!r} was changed or replaced after it was "
                    "opened, and its columns could be others now; nothing was charged. "
                    "Open it again with hush.open.",
                    code="data-changed",
                )


def refuse_changed(origins: Iterable[Origin]) -> None:
    """Refuse files that are gone or not what was opened."""
    for each in origins:
        each.check_unchanged()


def refuse_changed_while_drawn(origins: Iterable[Origin]) -> None:
    """Refuse an answer whose files are gone or not what was opened.

    One that is gone may come back as it was: the draw is interrupted, and has not
    failed. Its key asks for the same version of the files.
    """
    with suppress(Gone):
        refuse_changed(origins)
        return
    raise DrawInterrupted("a file went away while it was read.")


def refuse_unreachable(origins: Sequence[Origin], table: ir.Table) -> None:
    """Refuse data that cannot be reached or is not what was opened; reads no row."""
    refuse_changed(origins)
    backends, _ = table._find_backends()
    for backend in backends:
        again = next((o.again for o in origins if o.again is not None), None)
        _check_connection(backend, again)
        if not all(each.shut for each in origins):
            _same_tables(backend, table)
    if not all(each.shut for each in origins):
        engine.byte_by_byte(table)


def _check_connection(backend: Any, again: Callable[[], None] | None) -> None:
    """Refuse a connection that is lost and cannot be made again.

    One thread connects for all: a connection made meanwhile would take its place, and
    others would meet it before it reads only.
    """
    gone = InvalidArgument(
        f"the connection to {backend.name} is lost or busy; nothing was charged. "
        "Connect, and open the data again.",
        code="connection-lost",
    )
    with exclusive(backend):
        try:
            _ping(backend)
            return
        except Exception:  # whatever the reason, no data can be read
            if again is None:
                raise gone from None
        without_engine_text(again, lambda: gone)
        without_engine_text(lambda: _ping(backend), lambda: gone)


def _ping(backend: Any) -> None:
    if backend.name == "polars":
        return
    with exclusive(backend):
        if backend.name == "pyspark":
            _ = backend._session.sql("SELECT 1").schema
        else:
            backend.con.execute("SELECT 1").fetchall()


def _same_tables(backend: Any, table: ir.Table) -> None:
    """Refuse tables of a database whose columns are not those that were opened."""
    if backend.name == "polars":
        return
    for each in table.op().find(ops.DatabaseTable):
        if each.source is not backend:
            continue
        place = each.namespace

        def current_schema(each: Any = each, place: Any = place) -> Any:
            with exclusive(backend):
                return backend.get_schema(
                    each.name, catalog=place.catalog, database=place.database
                )

        found = without_engine_text(
            current_schema,
            lambda each=each: InvalidArgument(  # type: ignore[misc]
                f"table {each.name!r} is gone or cannot be read; nothing was charged. "
                "Open the data again.",
                code="data-unreachable",
            ),
        )
        if not _same_columns(each.schema, found):
            raise InvalidArgument(
                f"table {each.name!r} has other columns than when it was opened; "
                "nothing was charged. Open the data again.",
                code="data-changed",
            )


def _same_columns(opened: Any, found: Any) -> bool:
    """Whether columns have the names and types that they had when opened.

    Of a type that hush does not know the name alone counts: no question can use it.
    """
    return set(opened) == set(found) and all(
        kind.is_unknown() or str(kind).lstrip("!") == str(found[name]).lstrip("!")
        for name, kind in opened.items()
    )


# -- Which tables are private: those that were opened as data sets in this process.

_guard = threading.Lock()
_known: set[tuple[Any, ...]] = set()  # files and tables
_frames: WeakValueDictionary[int, Any] = WeakValueDictionary()
_TEXTS = (ops.SQLQueryResult, ops.SQLStringView)


def remember_private(given: Any, table: ir.Table, origin: Origin) -> None:
    """Note that a source was opened as private."""
    found = set(_files(origin)) | set(_tables(table))
    with _guard:
        _known.update(found)
        if _is_frame(given):
            _frames[id(given)] = given
    if origin.own:
        for backend in table._find_backends()[0]:
            mark_private(backend)


def mark_private(backend: Any) -> None:
    """Note that all that is on a connection of hush is private."""
    vars(backend)["_hush_private"] = True


def refuse_inside(given: Any) -> None:
    """Refuse to open what is inside of a data set: its bounds and ledger would be lost.

    What a data set was opened from may be opened again, as a file may.
    """
    if isinstance(given, ir.Table) and _is_inside_dataset(given):
        raise InvalidArgument(
            "source is the table inside of a data set that is open, without its "
            "ledger. Ask the data set itself, or open once more what it was opened "
            "from."
        )


def refuse_private(given: Any, table: ir.Table, origin: Origin) -> None:
    """Refuse as public what was opened as private."""
    known = {*_files(origin), *_tables(table)} & _known
    if known or _is_inside_dataset(table) or _frames.get(id(given)) is given:
        raise InvalidArgument(
            "the table to join was opened as private data in this process, and as a "
            "public one it would be read without a charge. Join the data set itself, "
            "over the unit that both have, paid from one ledger."
        )


def _is_frame(given: Any) -> bool:
    maker = type(given).__module__.split(".")[0]
    return maker in ("pandas", "polars", "pyarrow")


def _is_inside_dataset(table: ir.Table) -> bool:
    return any("_hush_private" in vars(each) for each in table._find_backends()[0])


def _files(origin: Origin) -> Iterator[tuple[Any, ...]]:
    for each in origin.files:
        if each.path.suffix not in (".duckdb", ".db"):  # which has many tables
            yield "file", str(each.path)
            yield "inode", *each.state[:2]


def _tables(table: ir.Table) -> Iterator[tuple[Any, ...]]:
    """Yield a key for each database table, the same on every connection."""
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
        backend.name, _key_by_connection
    )

    def table_key() -> Any:
        with exclusive(backend):
            return found(backend, name)

    key = without_engine_text(
        table_key, lambda: InvalidArgument("the table cannot be read.")
    )
    if key is not None:
        yield key


def _connection_name(backend: Any) -> str:
    return str(vars(backend).setdefault("_hush_name", uuid.uuid4().hex))


def _key_by_connection(backend: Any, name: tuple[Any, Any, str]) -> tuple[Any, ...]:
    return backend.name, _connection_name(backend), name[-1]


def _duckdb(backend: Any, name: tuple[Any, Any, str]) -> tuple[Any, ...]:
    catalog, database, table = name
    path = backend.con.execute(
        "SELECT path FROM duckdb_databases() "
        "WHERE database_name = coalesce($1, current_database())",
        [catalog],
    ).fetchall()  # to the end: an unfinished answer would hold up the connection
    place = path[0][0] if path else None
    where = _connection_name(backend) if place is None else str(Path(place).resolve())
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
