"""Whoever changes the store while a handle is open, or by SQL, gains no budget."""

import contextlib
import os
import shutil
import sqlite3

import pytest

from hush.errors import BudgetExceeded, LedgerError
from hush.ledger import Budget, Ledger
from ledger.test_tampering import unguarded
from ledger.toys import Die, Total

COST = 0.125
MOST = 8  # releases of that cost in a budget of 1


def ask(ledger, times=1, key=None):
    for _ in range(times):
        ledger.release(Die(COST), Total(), [1], key)


def until_refused(ledger):
    """Release as long as the ledger lets; return how often, and what stopped it."""
    done = 0
    try:
        while done <= 3 * MOST:
            ask(ledger)
            done += 1
    except (BudgetExceeded, LedgerError) as problem:
        return done, problem
    return done, None


def copied(url, tmp_path):
    """Keep what is stored, and return what puts it back in place."""
    if url.startswith("sqlite"):
        path = tmp_path / "budget.db"
        kept = path.read_bytes()

        def back():
            with path.open("r+b") as file:
                file.write(kept)
                file.truncate()

        return back
    tables = ("hush_entry", "hush_account")
    with unguarded(url) as connection:
        rows = [connection.execute(f"SELECT * FROM {t}").fetchall() for t in tables]

    def back():
        with unguarded(url) as connection:
            for table, lines in zip(tables, rows, strict=True):
                connection.execute(f"DELETE FROM {table}")
                for line in lines:
                    marks = ", ".join(["%s"] * len(line))
                    connection.execute(f"INSERT INTO {table} VALUES ({marks})", line)

    return back


@contextlib.contextmanager
def plain(url):
    """Write to the tables as a role that may, under the triggers."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    else:
        import psycopg

        connection = psycopg.connect(url)
    with contextlib.closing(connection):
        yield connection
        connection.commit()


@pytest.fixture
def anchored(durable_url, tmp_path):
    """An address, and the options that give its ledger an anchor."""
    return durable_url, {"anchor": tmp_path / "anchor"}


# -- a handle that is open while the ledger is put back ------------------------------


def test_a_live_handle_notices_that_its_own_past_is_gone(durable_url, tmp_path):
    with Ledger.open(durable_url, budget=Budget(epsilon=1)) as ledger:
        ask(ledger)
        back = copied(durable_url, tmp_path)
        ask(ledger, 6)
        back()
        before = stored(durable_url)
        done, problem = until_refused(ledger)
        assert done == 0
        assert "replaced or rolled back" in str(problem)
        assert stored(durable_url) == before, "nothing is written to what is no ledger"


def stored(url):
    with plain(url) as connection:
        return [
            connection.execute(f"SELECT * FROM {each} ORDER BY 1").fetchall()
            for each in ("hush_entry", "hush_account")
        ]


def test_a_live_handle_notices_that_the_past_of_another_is_gone(anchored, tmp_path):
    """The other one released; this one saw nothing of it but the anchor."""
    url, given = anchored
    with (
        Ledger.open(url, budget=Budget(epsilon=1), **given) as ledger,
        Ledger.open(url, **given) as other,
    ):
        ask(ledger)
        back = copied(url, tmp_path)
        ask(other, 6)
        back()
        before = stored(url)
        done, problem = until_refused(ledger)
        assert done == 0, "14 releases, and an epsilon of 1.75 of 1"
        assert "replaced or rolled back" in str(problem)
        assert stored(url) == before


@pytest.mark.parametrize("harm", ["removed", "exchanged", "cut"])
def test_a_live_handle_misses_its_anchor(harm, anchored):
    url, given = anchored
    path = given["anchor"]
    with Ledger.open(url, budget=Budget(epsilon=1), **given) as ledger:
        ask(ledger, 2)
        text = path.read_bytes()
        if harm == "removed":
            path.unlink()
        elif harm == "exchanged":
            path.with_suffix(".new").write_bytes(text)
            os.replace(path.with_suffix(".new"), path)
        else:
            os.truncate(path, len(text) - 70)
        done, problem = until_refused(ledger)
        assert done == 0
        assert "the anchor" in str(problem)
        assert problem.code == "ledger-altered"


@pytest.fixture(params=["rollback journal", "write-ahead log"])
def journal(request, monkeypatch):
    if request.param == "write-ahead log":  # what newer versions of SQLite are given
        monkeypatch.setattr("hush.ledger.stores.sqlite._SAFE_WAL", (3, 0, 0))


@pytest.mark.usefixtures("journal")
@pytest.mark.parametrize("harm", ["removed", "exchanged", "moved away"])
def test_a_live_handle_leaves_a_file_that_lost_its_name(harm, sqlite_url, tmp_path):
    """It went on writing to a file that nobody else could open."""
    path = tmp_path / "budget.db"
    with Ledger.open(sqlite_url, budget=Budget(epsilon=1)) as ledger:
        ask(ledger)
        shutil.copy(path, tmp_path / "old.db")
        ask(ledger)
        if harm == "removed":
            path.unlink()
        elif harm == "exchanged":
            os.replace(tmp_path / "old.db", path)
        else:
            path.rename(tmp_path / "elsewhere.db")
        done, problem = until_refused(ledger)
        assert done == 0
        assert problem.code == "ledger-altered"


@pytest.mark.usefixtures("journal")
@pytest.mark.parametrize("ends", [("",), ("", "-wal"), ("", "-wal", "-shm")])
def test_whatever_files_are_copied_back_no_budget_returns(ends, sqlite_url, tmp_path):
    path = tmp_path / "budget.db"
    with Ledger.open(sqlite_url, budget=Budget(epsilon=1)) as ledger:
        ask(ledger)
        kept = {
            end: file.read_bytes()
            for end in ends
            if (file := path.with_name(path.name + end)).exists()
        }
        ask(ledger, 6)
        for end, content in kept.items():
            with path.with_name(path.name + end).open("r+b") as file:
                file.write(content)
                file.truncate()
        done, _ = until_refused(ledger)
        assert 7 + done <= MOST


def test_many_handles_and_their_anchor_get_along(anchored):
    """What is anchored by others between two looks is no reason to refuse."""
    url, given = anchored
    with contextlib.ExitStack() as stack:
        first = Ledger.open(url, budget=Budget(epsilon=1), **given)
        handles = [stack.enter_context(first)]
        handles += [stack.enter_context(Ledger.open(url, **given)) for _ in range(3)]
        for number in range(MOST):
            ask(handles[number % 4])
        assert all(until_refused(each)[0] == 0 for each in handles)
        assert handles[0].verify()
