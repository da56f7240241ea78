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
from contextlib import contextmanager
from typing import Any, TypeVar

import ibis.expr.types as ir

from hush.errors import DrawFailed, DrawInterrupted, HushError
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
    "PermissionException",  # of files: what is gone is none of those it may open
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
    return _answered(relation, lambda: _run(relation))


def sql_of(relation: ir.Table) -> str:
    """Return the SQL of an embedded engine for a relation, to be asked about."""
    backend = relation.get_backend()
    return _answered(relation, lambda: duckdb.prepared_sql(backend, relation))


def run_sql(relation: ir.Table, text: str, values: Sequence[int] = ()) -> Columns:
    """Run one statement about a relation that was `written`: whole numbers come back.

    What was read of the data before is in `values`, which stand for $1, $2, …: an
    engine may log its statements.

    Guarantee: as for `fetch`.
    """
    return _answered(relation, lambda: duckdb.run(relation.get_backend(), text, values))


def _answered(relation: ir.Table, work: Callable[[], Result]) -> Result:
    """Return what `work` returns, which has the connection to itself.

    Guarantee: as for `without_engine_text`; of an error only its kind is told.
    """
    reachable = True

    def held() -> Result:
        nonlocal reachable
        with exclusive(relation.get_backend()):
            try:
                return work()
            except BaseException as problem:
                reachable = not is_operational(problem)
                raise

    return without_engine_text(held, lambda: _silent(reachable=reachable))


def _silent(*, reachable: bool) -> HushError:
    if not reachable:
        return DrawInterrupted("the engine is out of reach, memory or time.")
    return DrawFailed("the engine could not answer; its own words are kept back.")


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
