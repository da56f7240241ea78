"""The one door through which numbers leave an engine.

Partial aggregates come back as `Columns`, in which integers stay integers. A connection
runs one statement at a time: threads may share a data set, and with it a connection,
which is not made for that. What fails on the way to an engine, and not in it, is told
apart by its kind.
"""

import errno
import logging
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from types import TracebackType
from typing import Any, TypeVar, final

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
from ibis.common.bases import Comparable

from hush.errors import DrawFailed, DrawInterrupted, HushError, InvalidArgument
from hush.tables.engines import duckdb
from hush.tables.engines.columns import Columns

Result = TypeVar("Result")
_guard = threading.Lock()
_shared: Any = weakref.WeakKeyDictionary()  # locks of connections, by the connection
_spark_log = threading.RLock()  # its sessions share a log, which is off while one asks

_SYSTEM = (
    errno.ENOENT,
    errno.EACCES,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.ENOSPC,
    errno.ESTALE,
)
# DuckDB: by class. PostgreSQL: by the class of the SQLSTATE. Neither is about values.
_DUCKDB = (
    "ConnectionException",
    "IOException",
    "InterruptException",
    "OutOfMemoryException",
    "PermissionException",  # of files: a missing file is not among those it may open
    "ResourceInUseException",
    "TransactionException",
)
# 08 connection, 25P03 idle too long, 40 rolled back, 53 resources, 55P03 lock not
# granted, 57 stopped by somebody or by a timeout, 58 a failure of the system.
_POSTGRES = re.compile(r"08...|25P03|40...|53...|55P03|57...|58...")
_SPARK = (  # classes of Java; the limit of a driver has none, but a first line
    "java.lang.OutOfMemoryError",
    "org.apache.spark.memory.SparkOutOfMemoryError",
    "org.apache.spark.SparkOutOfMemoryError",
    "java.util.concurrent.TimeoutException",
    "java.net.ConnectException",
    "java.net.SocketException",
)
_LIMIT = re.compile(
    r"Job aborted due to stage failure: Total size of serialized results of \d+ |"
    r"Job \d+ cancelled|Cannot call methods on a stopped SparkContext"
)


def fetch(relation: ir.Table) -> Columns:
    """Run a relation where its data is, and return its columns.

    Guarantee: an engine's own error, whose text may hold data, is not passed on.
    """
    failed = _EngineFailed()
    with failed, exclusive(relation.get_backend()):
        return _run(relation)
    raise failed.refusal


def sql_of(relation: ir.Table) -> str:
    """Return the SQL of an embedded engine for a relation, to be asked about."""
    backend, failed = relation.get_backend(), _EngineFailed()
    with failed, exclusive(backend):
        return duckdb.prepared_sql(backend, relation)
    raise failed.refusal


def run_sql(relation: ir.Table, text: str, values: Sequence[int] = ()) -> Columns:
    """Run one statement about a relation that was `written`: whole numbers come back.

    What was read of the data before is in `values`, which stand for $1, $2, …: an
    engine may log its statements.

    Guarantee: as for `fetch`.
    """
    backend, failed = relation.get_backend(), _EngineFailed()
    with failed, exclusive(backend):
        return duckdb.run(backend, text, values)
    raise failed.refusal


@final
class _EngineFailed(AbstractContextManager["_EngineFailed", bool]):
    """Hold back an engine's error, whose text may hold data; of it only the kind stays.

    `refusal` is raised after the block: inside a handler, Python would attach the
    engine's exception, and with it the data in its text, as the context.
    """

    def __init__(self) -> None:
        self.refusal: HushError = DrawFailed(
            "the engine could not answer; its own words are kept back."
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool:
        """Let refusals of ours and interrupts pass, and nothing else."""
        # Polars' panics are no Exception: see `errors.Withheld`.
        if value is None or isinstance(
            value, (HushError, KeyboardInterrupt, SystemExit)
        ):
            return False
        if is_operational(value):
            self.refusal = DrawInterrupted(
                "the engine is out of reach, memory or time."
            )
        return True


def _run(relation: ir.Table) -> Columns:
    backend = relation.get_backend()
    if backend.name == "duckdb":
        return duckdb.fetch(backend, relation)
    if backend.name == "pyspark":
        return Columns.of_arrow(_spark(backend, relation))
    if backend.name == "polars":
        return Columns.of_arrow(relation.to_pyarrow(engine="streaming"))
    return Columns.of_arrow(relation.to_pyarrow())


def _spark(backend: Any, relation: ir.Table) -> Any:
    backend._run_pre_execute_hooks(relation)  # shows Spark the frames in memory
    # Spark writes the text of every error to the log, values included.
    log = logging.getLogger("SQLQueryContextLogger")
    before, log.disabled = log.disabled, True
    try:
        found = backend.raw_sql(backend.compile(relation)).toArrow()
    finally:
        log.disabled = before
    return found.cast(relation.schema().to_pyarrow())


def without_engine_text(
    work: Callable[[], Result], error: Callable[[], HushError]
) -> Result:
    """Return what `work` returns, or raise `error()` without a trace of the cause.

    The error is raised outside the handler: inside, Python would attach the engine's
    exception, and with it the data in its text, as the context.
    """
    try:
        return work()
    except (HushError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # Polars' panics are no Exception: see `errors.Withheld`
        failed = error()
    raise failed


# -- A connection: one statement at a time, and none that stays open -------------------


@contextmanager
def exclusive(backend: Any) -> Iterator[None]:
    """Have a connection to oneself, and leave no transaction open that one began.

    First the handle, whose connection may be made anew, then what it is connected by:
    two handles of the user's may share one connection.
    """
    with _lock(backend), _lock_of(getattr(backend, "con", None)):
        idle = backend.name == "postgres" and _status(backend) == "IDLE"
        try:
            yield
        finally:
            if idle and _status(backend) in ("INTRANS", "INERROR"):
                backend.con.rollback()


def _lock(backend: Any) -> Any:
    if backend.name == "pyspark":
        return _spark_log
    held = vars(backend).get("_hush_lock")
    if held is None:
        with _guard:
            held = vars(backend).setdefault("_hush_lock", threading.RLock())
    return held


def _lock_of(connection: Any) -> Any:
    """Return the lock of a connection, the same for every handle on it."""
    with _guard:
        try:
            return _shared.setdefault(connection, threading.RLock())
        except TypeError:  # nothing that could be shared: Polars has no connection
            return threading.RLock()


def _status(backend: Any) -> str:
    if backend.con.closed:
        return "CLOSED"
    return str(backend.con.info.transaction_status.name)


def is_operational(problem: BaseException) -> bool:
    """Return whether an engine was out of reach, memory or time, by its error's kind.

    What is wrong with a value, as a division by zero or a number that does not fit, is
    of other kinds. An engine may run out of memory because of what the data are: that
    it failed can be known, here as there, and nothing more.
    """
    if isinstance(problem, (MemoryError, ConnectionError, TimeoutError)):
        return True
    if isinstance(problem, OSError):  # some are about values: a date, a number
        return problem.errno in _SYSTEM
    kinds = {(kind.__module__.split(".")[0], kind.__name__) for kind in _line(problem)}
    makers = {maker for maker, _ in kinds}
    if "duckdb" in makers or "_duckdb" in makers:
        return any(name in _DUCKDB for _, name in kinds)
    if "psycopg" in makers:
        state = getattr(problem, "sqlstate", None)
        if state is not None:
            return _POSTGRES.fullmatch(state) is not None
        return any(name in ("OperationalError", "InterfaceError") for _, name in kinds)
    if "py4j" in makers or "pyspark" in makers or "grpc" in makers:
        return _in_spark(problem, {name for _, name in kinds})
    return False


def _line(problem: BaseException) -> tuple[type, ...]:
    return type(problem).__mro__


def _in_spark(problem: BaseException, kinds: set[str]) -> bool:
    if kinds & {"Py4JNetworkError", "RpcError", "SparkConnectGrpcException"}:
        return True
    java = getattr(problem, "java_exception", None) or getattr(problem, "_origin", None)
    for _ in range(10):  # the causes of a cause
        if java is None:
            break
        try:
            kind, text = java.getClass().getName(), java.getMessage() or ""
            java = java.getCause()
        except Exception:  # Java is gone, and cannot be asked
            return True
        # From its beginning, where no value of the data can stand.
        if kind in _SPARK or _LIMIT.match(text):
            return True
    return False


# -- Equality of Ibis expressions, for threads that share them.


def _drop_comparisons(self: Any) -> None:
    """Drop every remembered comparison of an expression that is being freed.

    No thread compares it any more, so its row no longer grows, and no row of another
    expression gets a pair with it.
    """
    known: dict[int, dict[int, bool]] = self.__cache__  # there at the very end, too
    mine = id(self)
    for other in tuple(known.pop(mine, ())):
        row = known.get(other)
        if row is not None:
            row.pop(mine, None)


def keep_apart() -> None:
    """Let Ibis forget equalities so that threads do not meet each other's."""
    Comparable.__del__ = _drop_comparisons


# -- Types as the database itself has them: those that are not on a list are refused.

# Numbers of types in pg_type, which never change, by the kind that Ibis sees in them.
_FILLED = 1042  # char(n): texts that are filled up with blanks
_TYPE_NUMBERS: dict[str, tuple[int, ...]] = {
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
    numbers = without_engine_text(lambda: _numbers(table), _unreadable_types)
    schema = table.schema()
    strange = [
        n for n, kind in schema.items() if not _has_type_number(kind, numbers[n])
    ]
    if strange and not isinstance(table.op(), ops.DatabaseTable):
        raise _unknown_type(strange[0])
    if strange:
        table = _with_unknown_types(table, strange)
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
        without_engine_text(
            partial(PolarsType.to_ibis, kind), partial(_unknown_type, name)
        )
    texts = [n for n, k in named.items() if k in (polars.Categorical, polars.Enum)]
    return frame.cast(dict.fromkeys(texts, polars.String)) if texts else frame


def _unreadable_types() -> InvalidArgument:
    return InvalidArgument("the types of the table's columns cannot be read.")


def _unknown_type(name: str) -> InvalidArgument:
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
    """Refuse categories in a Polars connection that hush did not open and cast."""
    import polars

    for each in table.op().find(ops.DatabaseTable):
        held = each.source._tables.get(each.name)
        named = {} if held is None else held.lazy().collect_schema()
        for name, kind in named.items():
            if kind in (polars.Categorical, polars.Enum):
                raise _unknown_type(name)


def _has_type_number(kind: Any, number: int) -> bool:
    """Whether the engine's type number is one of those that Ibis' type stands for."""
    for name, numbers in _TYPE_NUMBERS.items():
        if getattr(kind, f"is_{name}")():
            return number in numbers
    return True


def _with_unknown_types(table: ir.Table, strange: list[str]) -> ir.Table:
    """Return the table with columns of unknown type, which no expression may use."""
    held = table.op()
    schema = {n: dt.unknown if n in strange else k for n, k in held.schema.items()}
    return ops.DatabaseTable(
        held.name,
        schema=ibis.schema(schema),
        source=held.source,
        namespace=held.namespace,
    ).to_expr()


# -- Texts are equal byte by byte, or the table is refused.

_TEMPORARY = "hush_collation"  # a table without rows, there for two statements
_DUCKDB_COLLATED = """
SELECT current_setting('default_collation') <> '' OR sql LIKE '% COLLATE %'
FROM duckdb_tables() WHERE temporary AND table_name = $1
"""
# PostgreSQL's texts may have a collation that is not deterministic, or be of a type
# with an equality of its own, as citext has. Views have the types of what they read.
_POSTGRES_COLLATED = """
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


def _duckdb_collated(backend: Any, table: ir.Table) -> bool:
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
        return bool(run(_DUCKDB_COLLATED, [_TEMPORARY]).fetchall()[0][0])
    finally:
        run(f"DROP TABLE temp.{_TEMPORARY}")


def _postgres_collated(backend: Any, table: ir.Table) -> bool:
    connection = backend.con
    with connection.transaction(), connection.cursor() as cursor:
        for each in table.op().find(ops.DatabaseTable):
            if cursor.execute(_POSTGRES_COLLATED, (each.name,)).fetchone() is not None:
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


def _spark_collated(backend: Any, table: ir.Table) -> bool:
    backend._run_pre_execute_hooks(table)  # shows Spark the public tables in memory
    known = backend._session.sql(backend.compile(table)).schema  # analysed, not run
    return " collate " in known.simpleString()


_COLLATED: dict[str, Callable[[Any, ir.Table], bool]] = {
    "duckdb": _duckdb_collated,
    "postgres": _postgres_collated,
    "pyspark": _spark_collated,
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

        def is_collated(backend: Any = backend, collated: Any = collated) -> bool:
            with exclusive(backend):
                return bool(collated(backend, table))

        unknown = InvalidArgument(
            "the engine does not say how texts of the table are compared. Ask for its "
            "columns with the same connection, and open the data again."
        )
        if without_engine_text(is_collated, lambda unknown=unknown: unknown):  # type: ignore[misc]
            raise InvalidArgument(
                f"{_called(table)} has columns with a collation, so that different "
                "texts can be equal. Declare them without, or as upper(x) in a copy."
            )


def _called(table: ir.Table) -> str:
    names = [each.name for each in table.op().find(ops.DatabaseTable)]
    return f"table {names[0]!r}" if len(names) == 1 else "the table"
