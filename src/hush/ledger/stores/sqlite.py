"""The default store: one SQLite file, synchronised to disk at every commit."""

import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, final

from hush.errors import HushError, LedgerError
from hush.ledger.entry import Entry, Kind
from hush.ledger.request import Request
from hush.ledger.steps import at
from hush.ledger.stores import ordinary, schema
from hush.ledger.stores.base import Result, Rows, Statement, Store, Transaction
from hush.ledger.stores.filesystem import refuse_network
from hush.ledger.stores.forks import adopt

# Before 3.51.3 a write-ahead log can be reset under a reader and corrupt the file.
_SAFE_WAL = (3, 51, 3)
_STRICT = (3, 37, 0)
_WAIT = 60_000  # milliseconds to wait for another process's commit


def settings(version: tuple[int, ...]) -> dict[str, Any]:
    """Return the pragmas that make a commit durable, for a version of SQLite."""
    wal = version >= _SAFE_WAL
    return {
        "busy_timeout": _WAIT,
        "journal_mode": "wal" if wal else "delete",
        "synchronous": 2 if wal else 3,  # FULL; EXTRA also syncs the directory
        "fullfsync": 1,
        "checkpoint_fullfsync": 1,
        "trusted_schema": 0,
        "recursive_triggers": 1,
        "ignore_check_constraints": 0,
        "writable_schema": 0,
    }


@final
class _Local(Transaction):
    """A transaction on one connection; every statement runs at once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.execute = connection.execute

    def batch(self, statements: Sequence[Statement]) -> list[Rows]:
        """Run statements one by one."""
        return [self.execute(sql, values).fetchall() for sql, values in statements]

    def later(self, statement: str, values: Sequence[Any]) -> None:
        """Run a statement now."""
        self.execute(statement, values)


@final
class SQLite(Store):
    """A ledger in one file (None: in memory, gone with the process).

    Guarantee: one connection per process, never used across a fork; every pragma is
    read back on every connection; a transaction holds the write lock from its start.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        if sqlite3.sqlite_version_info < _STRICT:
            raise LedgerError(
                f"SQLite {sqlite3.sqlite_version} is too old to keep a ledger; 3.37 "
                "is needed. Use a newer Python, or a postgresql:// address."
            )
        # Whole, since a program may change its folder: a forked child, or whoever
        # connects again, would charge a file of the same name in the new one.
        self.path = None if path is None else Path(path).absolute()
        self._given = ":memory:" if path is None else str(path)
        self.durable = path is not None
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._made = False  # whether the tables are there
        if self.path is not None:
            if not self.path.parent.is_dir():
                raise LedgerError(
                    f"the folder {str(self.path.parent)!r} does not exist. Make it "
                    "first; a ledger is not created by accident."
                )
            refuse_network(self.path)
        try:
            if not self.read(self._complete):
                self.run(self._create)
            self._made = True
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"SQLite({self._given!r})"

    @staticmethod
    def _complete(transaction: Transaction) -> bool:
        rows = transaction.rows("SELECT name FROM sqlite_master")
        return transaction.has(schema.NAMES, rows)

    @staticmethod
    def _create(transaction: Transaction) -> None:
        for statement in schema.sqlite():
            transaction.later(statement, ())

    def _connect(self) -> sqlite3.Connection:
        name = ":memory:" if self.path is None else self.path
        connection = sqlite3.connect(
            name, isolation_level=None, check_same_thread=False, timeout=_WAIT / 1000
        )
        if self.path is None:
            return connection
        try:
            for pragma, value in settings(sqlite3.sqlite_version_info).items():
                connection.execute(f"PRAGMA {pragma} = {value}").fetchall()
                found = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
                if found != value:
                    raise LedgerError(
                        f"SQLite keeps {pragma} at {found!r} where {value!r} is needed "
                        "for a durable ledger. Close other programs that hold the file."
                    )
        except BaseException:
            connection.close()
            raise
        return connection

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _run(self, begin: str, work: Callable[[_Local], Result], step: str) -> Result:
        if self.path is None and os.getpid() != self._owner:
            raise LedgerError(
                "a ledger in memory belongs to one process: a forked copy would spend "
                "the same budget again. Use a sqlite:/// or postgresql:// address."
            )
        adopt(self)
        with self._lock:
            try:
                connection = self._open()
                try:  # from BEGIN on: an interrupt right after it leaves nothing open
                    connection.execute(begin)
                    transaction = _Local(connection)
                    self.check_seen(transaction)
                    result = work(transaction)
                    last = transaction.head() if self._made else self.seen
                    if step:
                        at(step)
                    connection.execute("COMMIT")
                    self.seen = last
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except HushError:
                raise
            except sqlite3.Error as problem:
                raise self._failed(problem) from None
            return result

    def _failed(self, problem: sqlite3.Error) -> LedgerError:
        """Drop the connection: the next run reads from the file what happened."""
        if self._connection is not None and self.path is not None:
            self._connection.close()
            self._connection = None
        name = getattr(problem, "sqlite_errorname", type(problem).__name__)
        if name == "SQLITE_NOTADB":
            return LedgerError(
                f"{getattr(self.path, 'name', '')!r} is not a ledger. Name the file of "
                "one, or a new file."
            )
        return LedgerError(
            f"the ledger file could not be written or read ({name}); nothing was "
            "released. Check the disk and try again with the same key."
        )

    def run(self, work: Callable[[Transaction], Result], step: str = "") -> Result:
        """Do `work` under the write lock; return once it is on disk."""
        return self._run("BEGIN IMMEDIATE", work, step)

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        """Do `work` on one snapshot of the file."""
        return self._run("BEGIN", work, "")

    def charge(
        self, request: Request, key: str, kind: Kind, lockout: int | None
    ) -> Entry | None:
        """Charge a new key in few statements."""
        return self._short(
            lambda t: ordinary.charge(t.execute, request, key, kind, lockout),
            "commit-reserve",
        )

    def answer(self, kind: Kind, scope: str, key: str, body: str) -> Entry | None:
        """Store a first answer in few statements."""
        return self._short(
            lambda t: ordinary.answer(t.execute, kind, scope, key, body), "commit-seal"
        )

    def _short(self, work: Callable[[_Local], Entry], step: str) -> Entry | None:
        try:
            return self._run("BEGIN IMMEDIATE", work, step)
        except ordinary.Unusual:
            return None

    def close(self) -> None:
        """Close this process's connection."""
        with self._lock:
            if self._connection is not None and os.getpid() == self._owner:
                self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self.close()
