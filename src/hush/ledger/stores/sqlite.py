"""The default store: one SQLite file, synchronised to disk at every commit."""

import functools
import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

from hush.errors import HushError, LedgerError
from hush.ledger.charge import Request
from hush.ledger.hash_chain import (
    FAILURES,
    RARE,
    SUMS,
    TABLE_NAMES,
    Entry,
    Kind,
    Sums,
    named_in_sums,
    says_sums,
    sqlite_tables,
    with_sums,
)
from hush.ledger.two_phase import (
    Result,
    Rows,
    Statement,
    Store,
    Transaction,
    at,
    replaced,
)

# Before 3.51.3 a write-ahead log can be reset under a reader and corrupt the file.
_SAFE_WAL = (3, 51, 3)
_STRICT = (3, 37, 0)
_UNWRITABLE = "ledger-unreachable"
_ALONE = "BEGIN IMMEDIATE"  # takes the write lock at once
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


class Left(NamedTuple):
    """The sums of accounts as this handle wrote them, and the last entry since then.

    While that entry is the head, the chain says nothing else of these accounts.
    """

    sums: dict[str, Sums]
    at: int


Written = tuple[Entry, dict[str, Sums]]  # an entry, and the sums that it says


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

    def hash_of(self, seq: int) -> str | None:
        """Return the hash of an entry, without the detour of `rows`."""
        row = self.execute(_HASH, (seq,)).fetchone()
        return None if row is None else row[0]


@final
class SQLite(Store):
    """A ledger in one file (None: in memory, gone with the process).

    Guarantee: one connection per process, never used across a fork; every pragma is
    read back on every connection; a transaction holds the write lock from its start.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, *, shared: bool = False
    ) -> None:
        if sqlite3.sqlite_version_info < _STRICT:
            raise LedgerError(
                f"SQLite {sqlite3.sqlite_version} is too old to keep a ledger; 3.37 "
                "is needed. Use a newer Python, or a postgresql:// address."
            )
        # Whole, since a program may change its folder: a forked child, or whoever
        # connects again, would charge a file of the same name in the new one.
        self.path = None if path is None else real_path(path)
        self._file = "" if self.path is None else str(self.path)
        wal = settings(sqlite3.sqlite_version_info)["journal_mode"] == "wal"
        self._logs = wal and self.path is not None
        self._left = Left({}, -1)
        self._given = ":memory:" if path is None else str(path)
        self.durable = path is not None
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._place: tuple[int, int] | None = None  # the file that is connected to
        self._made = False  # whether the tables are there
        if self.path is not None:
            if not self.path.parent.is_dir():
                raise LedgerError(
                    f"the folder {str(self.path.parent)!r} does not exist. Make it "
                    "first; a ledger is not created by accident."
                )
            refuse_network(self.path)
            self.mode = _make(self.path, 0o660 if shared else 0o600)
        try:
            if not self.read(self._complete):
                self._add_tables()
            self._made = True
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"SQLite({self._given!r})"

    @staticmethod
    def _complete(transaction: Transaction) -> bool:
        rows = transaction.rows("SELECT name FROM sqlite_master")
        return transaction.has(TABLE_NAMES, rows)

    @staticmethod
    def _create(transaction: Transaction) -> None:
        names = "SELECT name FROM pragma_table_info('hush_account')"
        columns = transaction.batch([(names, ())])[0]
        old = bool(columns) and ("last",) not in columns
        for statement in sqlite_tables(old=old):
            transaction.later(statement, ())

    def _add_tables(self) -> None:
        """Make the tables, or what newer versions add; not where nothing is written."""
        try:
            self.run(self._create)
        except LedgerError as problem:
            there = "SELECT 1 FROM sqlite_master WHERE name = 'hush_entry'"
            if problem.code != _UNWRITABLE or not self.read(lambda t: t.rows(there)):
                raise
            self.old = True

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
            self._place = None if self.path is None else _place(self.path)
        return self._connection

    def _check_place(self) -> None:
        """Refuse a file that was removed, or exchanged for another, under its name.

        The connection would go on writing to the file that nobody else can open. With
        a rollback journal SQLite looks by itself before it writes (DBMOVED).
        """
        if self._logs and _place(self._file) != self._place:
            raise replaced()

    def _run(
        self,
        begin: str,
        work: Callable[[_Local], Result],
        step: str,
        wrote: Callable[[Result], tuple[int, str]] | None = None,
    ) -> Result:
        """Do `work` between BEGIN and COMMIT.

        Work with `wrote` looks at the past by itself. Once it is committed, `wrote`
        returns the head that it left.
        """
        if self.path is None and os.getpid() != self._owner:
            raise LedgerError(
                "a ledger in memory belongs to one process: a forked copy would spend "
                "the same budget again. Use a sqlite:/// or postgresql:// address."
            )
        self.drop_inherited_connection()
        with self._lock:
            try:
                connection = self._open()
                self._check_place()
                # Read before it begins: what is anchored by then was committed.
                alone = begin == _ALONE and wrote is None
                line = self.last_anchored() if alone else None
                try:  # from BEGIN on: an interrupt right after it leaves nothing open
                    connection.execute(begin)
                    transaction = _Local(connection)
                    if alone:
                        self.check_past(transaction, line)
                    elif wrote is None:
                        self.check_seen(transaction)
                    result = work(transaction)
                    last = self.seen
                    if wrote is None and self._made:
                        last = transaction.head()
                    if step:
                        at(step)
                    connection.execute("COMMIT")
                    self.seen = last if wrote is None else wrote(result)
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
        named = hasattr(problem, "sqlite_errorname")  # the library's own word for it
        name = problem.sqlite_errorname if named else type(problem).__name__
        if name == "SQLITE_READONLY_DBMOVED":
            return replaced()
        if name == "SQLITE_READONLY":
            return LedgerError(
                "the ledger file cannot be written, and only what is stored is shown. "
                "Put it on a disk that can be written, or ask its owner for the right "
                "to write it.",
                code=_UNWRITABLE,
            )
        if name == "SQLITE_NOTADB":
            file = "" if self.path is None else self.path.name
            return LedgerError(
                f"{file!r} is not a ledger. Name the file of one, or a new file."
            )
        return LedgerError(
            f"the ledger file could not be written or read ({name}); nothing was "
            "released. Check the disk and try again with the same key.",
            code="ledger-unreachable",
        )

    def run(self, work: Callable[[Transaction], Result], step: str = "") -> Result:
        """Do `work` under the write lock; return once it is on disk.

        Of a file that cannot be written SQLite begins to read, and refuses to write:
        what is stored is found, and nothing else is done.
        """
        return self._run(_ALONE, work, step)

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        """Do `work` on one snapshot of the file."""
        return self._run("BEGIN", work, "")

    def charge(
        self, request: Request, key: str, kind: Kind, lockout: int | None
    ) -> Entry | None:
        """Charge a new key in few statements."""
        line = self.last_anchored()
        return self._short(
            lambda t: charge(
                t.execute, self._look(t, line), self._left, request, key, kind, lockout
            ),
            "commit-reserve",
        )

    def answer(self, kind: Kind, scope: str, key: str, body: str) -> Entry | None:
        """Store a first answer in few statements.

        Its charge was compared with file and anchor, and is what this handle saw.
        """
        return self._short(
            lambda t: answer(t.execute, self._look(t, None), kind, scope, key, body),
            "commit-seal",
        )

    def _look(self, t: Transaction, line: tuple[int, str] | None) -> "Look":
        """Return what looks at the past, as `check_past` does, from a known head."""

        def look(head: tuple[int, str]) -> None:
            if self.unchecked is not None:
                raise Unusual
            if head != self.seen:
                self.check_seen(t)
            if line is not None and line not in (head, self.seen):
                self.agree_with_seen(t.hash_of(line[0]), line[1])

        return look

    def _short(self, work: Callable[[_Local], Written], step: str) -> Entry | None:
        try:
            entry, _ = self._run(_ALONE, work, step, self._leave)
        except Unusual:
            return None
        return entry

    def _leave(self, written: Written) -> tuple[int, str]:
        """Remember what was committed; return the head."""
        entry, after = written
        left, at = self._left
        known = {**left, **after} if entry.seq == at + 1 else after
        self._left = Left(known, entry.seq)
        return entry.seq, entry.hash

    def damage(self, *, quick: bool) -> str:
        """Return the first thing that SQLite finds wrong with the file."""
        if self.path is None:
            return ""
        check = "PRAGMA quick_check(1)" if quick else "PRAGMA integrity_check(1)"
        found = str(self.read(lambda transaction: transaction.rows(check))[0][0])
        return "" if found == "ok" else " ".join(found.split())

    def other_names(self) -> str:
        """Return a sentence about hard links to the file."""
        if self.path is None or self.path.stat().st_nlink == 1:
            return ""
        return (
            " The file has several names (hard links), and its anchor lies beside "
            "another: open it under that one."
        )

    def close(self) -> None:
        """Close this process's connection."""
        with self._lock:
            if self._connection is not None and os.getpid() == self._owner:
                self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        if vars(self).get("_connection") is not None:  # none if opening it failed
            self.close()


# -- The two writes of a release in SQLite, in the fewest statements -------------------
#
# The write lock is held while Python decides, so the ordinary case decides little: a
# new key that fits, a first answer. Anything else raises `Unusual`, which takes
# everything back, and `hush.ledger.two_phase` decides and explains, as it does for
# PostgreSQL beside `hush.ledger.stores.postgres`.

Execute = Callable[..., sqlite3.Cursor]
Look = Callable[[tuple[int, str]], None]  # at the past, given the head

_LAST = "FROM hush_entry ORDER BY seq DESC LIMIT 1"
_SPEND = (
    "UPDATE hush_account SET spent1 = ?, spent2 = ?, last = ? "
    "WHERE name = ? AND spent1 = ? AND spent2 = ? AND limit1 = ? AND limit2 = ?"
)
# Sums to 1 for a charge that waits for its answer, whether its draw was begun or not.
_WAITS = (
    "SELECT seq, hash, (SELECT sum(CASE WHEN kind IN ('reserve', 'hold') THEN 1 "
    "WHEN kind = 'start' THEN 0 ELSE 9 END) FROM hush_entry "
    f"WHERE scope = ? AND key = ?) {_LAST}"
)
_HASH = "SELECT hash FROM hush_entry WHERE seq = ?"
_APPEND = "INSERT INTO hush_entry VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class Unusual(Exception):
    """Nothing was changed; the protocol has to decide."""


@functools.cache
def _new(payers: int, names: int) -> str:
    """Return the query for the head, and whether a charge is anything but ordinary."""
    links = (
        f"SELECT 1 FROM hush_entry WHERE {RARE} AND kind = 'link' "
        f"AND scope IN ({', '.join('?' * payers)}) "
        f"AND key NOT IN ({', '.join('?' * names)})"
    )
    known = "SELECT 1 FROM hush_entry WHERE scope = ? AND key = ?"
    return f"SELECT seq, hash, EXISTS ({known}) OR EXISTS ({links}) {_LAST}"


def _head(
    execute: Execute, look: Look, sql: str, values: Any, wanted: int
) -> tuple[int, str]:
    row = execute(sql, values).fetchone()
    if row is None:
        raise Unusual
    head = row[0], row[1]
    look(head)
    if row[2] != wanted:
        raise Unusual
    return head


def _append(
    execute: Execute, head: tuple[int, str], kind: Kind, scope: str, key: str, body: str
) -> Entry:
    entry = Entry.after(head, kind, scope, key, body)
    seq, at, prev, hash = entry.seq, entry.at, entry.prev, entry.hash
    execute(_APPEND, (seq, kind.value, scope, key, at, body, prev, hash))
    return entry


def charge(
    execute: Execute,
    look: Look,
    left: Left,
    request: Request,
    key: str,
    kind: Kind,
    lockout: int | None,
) -> Written:
    """Charge a new key inside a transaction that holds the write lock."""
    scope, names, payers = request.scope, request.names, request.payers
    if lockout is not None:
        failed = execute(FAILURES, (scope, scope)).fetchone()[0]
        if failed >= lockout:
            raise Unusual
    values = (scope, key, *payers, *names)
    head = _head(execute, look, _new(len(payers), len(names)), values, 0)
    known = left.sums if left.at == head[0] else {}
    before = {name: known.get(name) or _as_said(execute, name) for name in names}
    after: dict[str, Sums] = {}
    for name, (spent1, spent2, limit1, limit2) in before.items():
        units = request.costs[name]
        after[name] = spent1 + units[0], spent2 + units[1], limit1, limit2
        if after[name][0] > limit1 or after[name][1] > limit2:
            raise Unusual
    body = with_sums(request.body, after)
    entry = _append(execute, head, kind, scope, key, body)
    for name, sums in after.items():
        row = (sums[0], sums[1], entry.seq, name, *before[name])
        if execute(_SPEND, row).rowcount != 1:
            raise Unusual
    return entry, after


def _as_said(execute: Execute, name: str) -> Sums:
    """Return the sums of an account that is as the last entry which names it says."""
    row = execute(SUMS, (named_in_sums(name), name)).fetchone()
    if row is None or row[5] or not says_sums(row[4], name, row[:4]):
        raise Unusual
    spent1, spent2, limit1, limit2 = row[:4]
    return spent1, spent2, limit1, limit2


def answer(
    execute: Execute, look: Look, kind: Kind, scope: str, key: str, body: str
) -> Written:
    """Store a first answer inside a transaction that holds the write lock."""
    head = _head(execute, look, _WAITS, (scope, key), 1)
    return _append(execute, head, kind, scope, key, body), {}


# --------------------------------------------------------------------------------------
# Where a path leads, and whether that is a disk of this machine: locks on network disks
# do not hold.


def real_path(path: str | os.PathLike[str]) -> Path:
    """Return the one name of a ledger's file that everybody uses.

    Links are followed, since SQLite and hush keep files beside it. Of names that are
    hard links in one folder it is the one that has an anchor.
    """
    found = Path(os.path.realpath(path))
    if not found.is_file() or found.stat().st_nlink == 1:
        return found
    if anchor_beside(found).exists():
        return found
    same = (
        each
        for each in sorted(found.parent.iterdir())
        if anchor_beside(each).exists() and _place(each) == _place(found)
    )
    return next(same, found)


def anchor_beside(path: Path) -> Path:
    """Return where the anchor of a file is, unless another place was named."""
    return path.with_name(path.name + ".anchor")


def _make(path: Path, mode: int) -> int:
    """Make an empty file if there is none; return who may read and write the file."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    except OSError:  # it is there, or SQLite says why it cannot be
        return path.stat().st_mode & 0o660 if path.exists() else mode
    with os.fdopen(descriptor):
        os.fchmod(descriptor, mode)  # whatever the process takes off new files
    return mode


def _place(path: str | Path) -> tuple[int, int] | None:
    """Return the device and number of a file; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


_NETWORK = {
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "gfs",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "smb3",
    "smbfs",
}
_NETWORK_FUSE = ("sshfs", "gcsfuse", "s3fs", "rclone", "glusterfs", "davfs", "blobfuse")


def _unescape(text: str) -> str:
    return text.encode().decode("unicode_escape") if "\\" in text else text


def kind(path: Path, mounts: str) -> str:
    r"""Return the file system type of `path`, from the text of a mountinfo table.

    Example:
        >>> table = "1 0 8:1 / / rw - ext4 d rw\n2 1 0:5 / /mnt/far rw - nfs4 s rw"
        >>> kind(Path("/mnt/far/budget.db"), table)
        'nfs4'
    """
    best, found = -1, ""
    for line in mounts.splitlines():
        left, mark, right = line.partition(" - ")
        fields = left.split()
        if not mark or len(fields) < 5:
            continue
        mount = Path(_unescape(fields[4]))
        # A later mount on the same point hides the earlier one.
        if (path == mount or mount in path.parents) and len(mount.parts) >= best:
            best, found = len(mount.parts), right.split()[0]
    return found


def refuse_network(path: Path) -> None:
    """Raise unless `path` is on a local file system, as far as the system says.

    Guarantee: on Linux every network file system known by name is refused; elsewhere
    only Windows shares are recognised.
    """
    place = Path(os.path.realpath(path))
    found = ""
    if str(path).startswith(("\\\\", "//")):
        found = "a network share"
    elif sys.platform == "linux":
        try:
            found = kind(place, Path("/proc/self/mountinfo").read_text())
        except OSError:
            return
    fuse = found.startswith("fuse") and any(name in found for name in _NETWORK_FUSE)
    if found == "a network share" or found in _NETWORK or fuse:
        raise LedgerError(
            f"the ledger file lies on a network file system ({found}), where locks do "
            "not keep two machines from spending the same budget. Put it on a local "
            "disk, or use a postgresql:// address."
        )
