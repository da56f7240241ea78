"""The one door through which numbers leave an engine.

Partial aggregates come back as `Columns`, in which integers stay integers.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import ibis.expr.types as ir

from hush.errors import DrawFailed, DrawInterrupted, HushError
from hush.tables.engines import duckdb
from hush.tables.engines.columns import Columns
from hush.tables.engines.connection import alone, operational

Result = TypeVar("Result")


def fetch(relation: ir.Table) -> Columns:
    """Run a relation where its data is, and return its columns.

    Guarantee: an engine's own error, whose text may hold data, is not passed on.
    """
    return _answered(relation, lambda: _run(relation))


def written(relation: ir.Table) -> str:
    """Return the SQL of an embedded engine for a relation, to be asked about."""
    backend = relation.get_backend()
    return _answered(relation, lambda: duckdb.asked(backend, relation))


def asked(relation: ir.Table, text: str, values: Sequence[int] = ()) -> Columns:
    """Run one statement about a relation that was `written`: whole numbers come back.

    What was read of the data before is in `values`, which stand for $1, $2, …: an
    engine may log its statements.

    Guarantee: as for `fetch`.
    """
    return _answered(relation, lambda: duckdb.run(relation.get_backend(), text, values))


def _answered(relation: ir.Table, work: Callable[[], Result]) -> Result:
    """Return what `work` returns, which has the connection to itself.

    Guarantee: as for `guarded`; of an error only its kind is told.
    """
    reachable = True

    def held() -> Result:
        nonlocal reachable
        with alone(relation.get_backend()):
            try:
                return work()
            except BaseException as problem:
                reachable = not operational(problem)
                raise

    return guarded(held, lambda: _silent(reachable=reachable))


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


def guarded(work: Callable[[], Result], error: Callable[[], HushError]) -> Result:
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
