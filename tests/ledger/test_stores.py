"""What each store insists on."""

import os
import sqlite3
import threading
from pathlib import Path

import pytest

from hush.errors import LedgerError
from hush.ledger import Budget, Ledger
from hush.ledger.stores import sqlite
from hush.ledger.stores.sqlite import SQLite, settings
from hush.privacy import Pure
from ledger.toys import Die, Total


def test_pragmas_hold_on_every_connection(sqlite_url):
    store = SQLite(sqlite_url.removeprefix("sqlite:///"))
    for _ in range(2):
        for name, value in settings(sqlite3.sqlite_version_info).items():
            found = store.read(lambda t, n=name: t.rows(f"PRAGMA {n}")[0])
            assert found[0] == value
        store.close()  # the next read connects again


def test_the_journal_follows_the_version_of_sqlite():
    old, new = settings((3, 51, 2)), settings((3, 51, 3))
    assert (old["journal_mode"], old["synchronous"]) == ("delete", 3)
    assert (new["journal_mode"], new["synchronous"]) == ("wal", 2)


def test_a_file_in_the_wrong_journal_mode_is_refused(tmp_path):
    """While another program keeps it in WAL, an old SQLite must not write to it."""
    if settings(sqlite3.sqlite_version_info)["journal_mode"] == "wal":
        pytest.skip("this SQLite is new enough for WAL")
    path = tmp_path / "budget.db"
    other = sqlite3.connect(path)
    other.execute("PRAGMA journal_mode=WAL").fetchone()
    other.execute("CREATE TABLE other (x)")
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(LedgerError):
            SQLite(path)._connect()
    finally:
        other.close()


def test_a_missing_folder_is_not_made(tmp_path):
    with pytest.raises(LedgerError, match="does not exist"):
        Ledger.open(f"sqlite:///{tmp_path}/nowhere/budget.db")


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "9p", "lustre"])
def test_network_file_systems_are_refused(kind, tmp_path, monkeypatch):
    table = (
        f"1 0 8:1 / / rw - ext4 d rw\n2 1 0:5 / {tmp_path} rw shared:1 - {kind} s rw"
    )
    real = Path.read_text
    monkeypatch.setattr(
        Path,
        "read_text",
        lambda self, *a, **k: (
            table if "mountinfo" in str(self) else real(self, *a, **k)
        ),
    )
    with pytest.raises(LedgerError, match="network file system"):
        Ledger.open(f"sqlite:///{tmp_path}/budget.db")


def test_local_file_systems_are_not():
    table = "1 0 8:1 / / rw - ext4 d rw\n2 1 0:5 / /mnt rw - nfs s rw"
    assert sqlite.kind(Path("/home/me/budget.db"), table) == "ext4"
    assert sqlite.kind(Path("/mnt/x/budget.db"), table) == "nfs"
    assert sqlite.kind(Path("/mntx/budget.db"), table) == "ext4"


def _in_child(work):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # fork with threads, on purpose
def test_a_forked_ledger_spends_the_same_budget(durable_url):
    with Ledger.open(durable_url, budget=Budget(epsilon=1)) as ledger:
        ledger.charge(Pure(epsilon=0.25))
        assert _in_child(lambda: ledger.charge(Pure(epsilon=0.25))) == 0
        assert ledger.remaining().epsilon == 0.5
        ledger.charge(Pure(epsilon=0.5))
        assert ledger.verify()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_ledger_in_memory_does_not_survive_a_fork():
    with Ledger.open("memory://", budget=Budget(epsilon=1)) as ledger:

        def refused():
            try:
                ledger.charge(Pure(epsilon=0.1))
            except LedgerError as error:
                return "one process" in str(error)

        assert _in_child(refused) == 0
        ledger.charge(Pure(epsilon=0.1))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_threads_of_a_forked_child_share_one_new_connection(durable_url):
    with Ledger.open(durable_url, budget=Budget(epsilon=1)) as ledger:

        def spend():
            threads = [
                threading.Thread(target=ledger.charge, args=(Pure(epsilon=0.05),))
                for _ in range(10)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return True

        assert _in_child(spend) == 0
        assert ledger.remaining().epsilon == 0.5
        assert ledger.verify()


def test_two_ledgers_on_one_file_see_each_other(sqlite_url):
    with (
        Ledger.open(sqlite_url, budget=Budget(epsilon=1)) as one,
        Ledger.open(sqlite_url) as two,
    ):
        one.charge(Pure(epsilon=0.5))
        two.charge(Pure(epsilon=0.25))
        assert one.remaining().epsilon == two.remaining().epsilon == 0.25


def test_postgres_needs_a_server_that_syncs(server, monkeypatch):
    from hush.ledger.stores.postgres import Postgres

    class Off:
        closed = False

        def execute(self, sql, *values):
            return self

        def fetchone(self):
            return ("off", "on")

        def close(self):
            pass

    monkeypatch.setattr(Postgres, "_open", lambda _: Off())
    with pytest.raises(LedgerError, match="fsync=off"):
        Postgres(server)


def test_a_server_that_is_away_is_an_error_without_an_address(monkeypatch):
    monkeypatch.setattr("hush.ledger.stores.postgres._TRIES", 2)
    with pytest.raises(LedgerError) as refused:
        Ledger.open("postgresql://me:hunter2@/db?host=/nowhere")
    assert "hunter2" not in str(refused.value)


def test_opening_twice_with_a_budget_is_harmless(url):
    if url == "memory://":
        pytest.skip("a ledger in memory is opened once")
    for _ in range(2):
        with Ledger.open(url, budget=Budget(epsilon=1), unit="people") as ledger:
            ledger.release(Die(), Total(), [1], "k")
            assert ledger.remaining().epsilon == pytest.approx(0.9)
