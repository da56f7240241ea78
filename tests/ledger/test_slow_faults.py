"""L4, L8, L11: full disks, wrong clocks, dying backends."""

import collections
import datetime
import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hush.errors import BudgetExceeded, LedgerError
from hush.ledger import Budget, Ledger
from hush.ledger import hash_chain as entries
from hush.ledger.stores.sqlite import SQLite
from ledger.faults import environment, settle, storm
from ledger.toys import Die, Total

# -- L4: the disk is full ------------------------------------------------------------


def _until_full(ledger):
    shown = {}
    for number in range(100_000):
        try:
            release = ledger.release(Die(1e-4), Total(), [1], f"k{number}")
        except LedgerError:
            return shown
        shown[f"k{number}"] = release.values
    raise AssertionError("the disk never filled up")


def _agrees(ledger, shown):
    """What was shown is stored; what was not can be resumed, or was not charged."""
    sealed = {e.key: e.content["values"] for e in ledger.history() if e.kind == "seal"}
    assert shown.items() <= sealed.items()
    assert len(sealed) - len(shown) <= 1
    for each in ledger.pending():
        ledger.release(Die(1e-4), Total(), [1], each.key)
    assert ledger.verify()


def test_l4_a_full_database(sqlite_url, monkeypatch):
    with Ledger.open(sqlite_url, budget=Budget(epsilon=9)):
        pass
    real = SQLite._connect

    def small(self):
        connection = real(self)
        connection.execute("PRAGMA max_page_count = 40")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(SQLite, "_connect", small)
        with Ledger.open(sqlite_url) as ledger:
            shown = _until_full(ledger)
    assert len(shown) > 5
    with Ledger.open(sqlite_url) as ledger:  # room again: service resumes
        _agrees(ledger, shown)
        ledger.release(Die(1e-4), Total(), [1], "after")
    path = sqlite_url.removeprefix("sqlite:///")
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


@pytest.mark.slow
def test_l4_a_file_that_may_not_grow(sqlite_url, tmp_path):
    with Ledger.open(sqlite_url, budget=Budget(epsilon=9)):
        pass
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            with Ledger.open(sqlite_url) as ledger:
                shown = _until_full(ledger)
            (tmp_path / "shown").write_text(json.dumps(shown))
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    shown = json.loads((tmp_path / "shown").read_text())
    assert len(shown) > 5
    with Ledger.open(sqlite_url) as ledger:
        _agrees(ledger, shown)


def test_l4_an_anchor_that_cannot_be_written_shows_nothing(sqlite_url, monkeypatch):
    from hush.ledger.verify import Anchor

    with Ledger.open(sqlite_url, budget=Budget(epsilon=9)) as ledger:

        def full(self, seq, hash):
            raise self._lost(OSError())

        with monkeypatch.context() as patch:
            patch.setattr(Anchor, "record", full)
            with pytest.raises(LedgerError, match="not shown"):
                ledger.release(Die(), Total(), [1], "k")
        release = ledger.release(Die(), Total(), [1], "k")
        assert ledger.verify().anchored == release.receipt.sequence + 1
        assert ledger.remaining().epsilon == pytest.approx(8.9)


# -- L8: the clock -------------------------------------------------------------------


def test_l8_nothing_depends_on_the_clock(durable_url, monkeypatch):
    with Ledger.open(durable_url, budget=Budget(epsilon=1)) as ledger:
        first = ledger.release(Die(), Total(), [1], "k")
        for years in (10, -10, 3, -3):
            moved = datetime.datetime(2026 + years, 3, 29, 2, 30, tzinfo=datetime.UTC)
            monkeypatch.setattr(entries, "now", moved.isoformat)
            assert ledger.release(Die(), Total(), [1], "k") == first
            ledger.release(Die(), Total(), [1], f"k{years}")
            assert ledger.verify()
        assert ledger.remaining().epsilon == pytest.approx(0.5)
        with pytest.raises(BudgetExceeded):
            ledger.release(Die(0.6), Total(), [1])


def test_l8_time_is_read_in_one_place_only(root):
    """Wall time is a column to read; no decision, lease or refill looks at it."""
    reads = re.compile(r"datetime\.now|time\.time\(|utcnow|monotonic\(|perf_counter")
    found = [
        path.name
        for path in (root / "src" / "hush" / "ledger").rglob("*.py")
        if reads.search(path.read_text())
    ]
    assert found == ["hash_chain.py"]


# -- L11: PostgreSQL backends are terminated ----------------------------------------


@pytest.mark.slow
def test_l11_backends_killed_during_commits(postgres_url, server, tmp_path):
    import psycopg

    with Ledger.open(postgres_url, budget=Budget(epsilon=4)):
        pass
    stop = threading.Event()
    kills = collections.Counter()

    def terminate():
        with psycopg.connect(server, autocommit=True) as connection:
            while not stop.is_set():
                rows = connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname LIKE 'hush%' AND state <> 'idle' LIMIT 1"
                ).fetchall()
                kills["backend"] += len(rows)
                time.sleep(0.02)

    thread = threading.Thread(target=terminate)
    thread.start()
    try:
        calm = {"chance": 0.0, "outside": 0.0, "least": {"release": 100}}
        storm(postgres_url, tmp_path / "log", seconds=20, **calm)
    finally:
        stop.set()
        thread.join()
    assert kills["backend"] > 10
    answers = settle(postgres_url, tmp_path / "log", keys=60, cost=0.1)
    assert len(answers) == 40


def test_a_worker_script_fails_loudly():
    """The fault tests would prove nothing if their processes died of something else."""
    worker = Path(__file__).with_name("once.py")
    done = subprocess.run(
        [sys.executable, str(worker), "memory://", "/dev/null", "never"],
        env=environment(),
        capture_output=True,
    )
    assert done.returncode == 1
    assert b"has no account" in done.stderr
