"""Faults at the boundary of the drivers, and threads that are watched.

Nothing of hush is touched: what fails are DuckDB, psycopg, Polars, Spark and SQLite, as
they fail when a network, a disk or a server does.
"""

import faulthandler
import sqlite3
import threading
import traceback
from contextlib import contextmanager

WAIT = 120  # seconds after which threads that still run are said to hang
CANARY = "value 41999 of somebody"  # in every planted error: must never be seen


def never(_):
    """Let every call pass."""
    return False


class Injector:
    """Counts calls into a driver; calls that `when` picks raise what `make` makes.

    `late` faults come after the work was done, as a reply that is lost on its way.
    """

    def __init__(self):
        self.calls, self.raised, self.late = 0, 0, False
        self.when, self.make = never, RuntimeError
        self._lock = threading.Lock()

    def around(self, work, *given, **options):
        with self._lock:
            self.calls += 1
            hit = self.when(self.calls)
            self.raised += hit
        if hit and not self.late:
            raise self.make()
        found = work(*given, **options)
        if hit:
            raise self.make()
        return found

    @contextmanager
    def failing(self, when, make, *, late=False):
        with self._lock:
            self.calls = self.raised = 0
            self.when, self.make, self.late = when, make, late
        try:
            yield self
        finally:
            with self._lock:
                self.when = never


class Driven:
    """A DuckDB connection or relation of which every call may fail."""

    _QUIET = ("close", "interrupt")  # how one lets go is no question

    def __init__(self, inner, injector):
        self.__dict__.update(_inner=inner, _injector=injector)

    def __getattr__(self, name):
        found = getattr(self._inner, name)
        if not callable(found) or name.startswith("__") or name in self._QUIET:
            return found

        def call(*given, **options):
            made = self._injector.around(found, *given, **options)
            ours = type(made).__name__ in ("DuckDBPyConnection", "DuckDBPyRelation")
            return Driven(made, self._injector) if ours else made

        return call


def wrap_duckdb(monkeypatch, injector):
    import duckdb

    connect = duckdb.connect
    monkeypatch.setattr(
        duckdb, "connect", lambda *a, **k: Driven(connect(*a, **k), injector)
    )


def wrap_methods(monkeypatch, injector, kind, *names):
    for name in names:
        work = getattr(kind, name)

        def call(self, *given, _work=work, **options):
            return injector.around(_work, self, *given, **options)

        monkeypatch.setattr(kind, name, call)


def wrap_postgres(monkeypatch, injector):
    import psycopg

    names = ("execute", "fetchall", "fetchmany", "fetchone")
    wrap_methods(monkeypatch, injector, psycopg.Cursor, *names)
    wrap_methods(monkeypatch, injector, psycopg.ServerCursor, *names)
    wrap_methods(monkeypatch, injector, psycopg.Connection, "commit", "rollback")


def wrap_polars(monkeypatch, injector):
    import polars

    wrap_methods(monkeypatch, injector, polars.LazyFrame, "collect", "collect_schema")


def wrap_spark(monkeypatch, injector):
    from pyspark.sql import SparkSession
    from pyspark.sql.classic.dataframe import DataFrame

    wrap_methods(monkeypatch, injector, SparkSession, "sql")
    wrap_methods(monkeypatch, injector, DataFrame, "toArrow")


def wrap_sqlite(monkeypatch, injector):
    class Faulty(sqlite3.Connection):
        def execute(self, *given):
            if given[0] in ("ROLLBACK",):
                return super().execute(*given)
            return injector.around(super().execute, *given)

    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Faulty)
    )


def chain(problem):
    """Return everything that a traceback of an error would print."""
    return "".join(traceback.format_exception(problem))


def together(work, threads=8):
    """Run `work(i)` in threads that start at once; return what each returned.

    A thread that still runs after `WAIT` seconds is a deadlock: the stacks are shown.
    """
    start, found, wrong = threading.Barrier(threads), [None] * threads, []

    def run(i):
        start.wait()
        try:
            found[i] = work(i)
        except BaseException as problem:
            wrong.append(problem)

    running = [
        threading.Thread(target=run, args=(i,), daemon=True) for i in range(threads)
    ]
    for each in running:
        each.start()
    for each in running:
        each.join(WAIT)
    if any(each.is_alive() for each in running):
        faulthandler.dump_traceback(all_threads=True)
        raise AssertionError("threads wait for each other")
    if wrong:
        raise wrong[0]
    return found
