"""The one door through which numbers leave an engine.

Partial aggregates come back as `Columns`, in which integers stay integers.
"""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import ibis.expr.types as ir

from hush.errors import DrawFailed, HushError
from hush.tables import embedded
from hush.tables.columns import Columns

Result = TypeVar("Result")


def fetch(relation: ir.Table) -> Columns:
    """Run a relation where its data is, and return its columns.

    Guarantee: an engine's own error, whose text may hold data, is not passed on.
    """
    return guarded(lambda: _run(relation), _silent)


def written(relation: ir.Table) -> str:
    """Return the SQL of an embedded engine for a relation, to be asked about."""
    return guarded(lambda: embedded.asked(relation.get_backend(), relation), _silent)


def asked(relation: ir.Table, text: str) -> Columns:
    """Run one statement about a relation that was `written`: whole numbers come back.

    Guarantee: as for `fetch`.
    """
    return guarded(lambda: embedded.run(relation.get_backend(), text), _silent)


def _silent() -> HushError:
    return DrawFailed("the engine could not answer; its own words are kept back.")


def _run(relation: ir.Table) -> Columns:
    backend = relation.get_backend()
    if backend.name == "duckdb":
        return embedded.fetch(backend, relation)
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
