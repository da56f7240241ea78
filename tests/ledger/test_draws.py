"""Draws that fail, exit or are interrupted, and handles whose ledger is rolled back."""

import contextlib
import gc
import os
import shutil
import sys
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from hush.errors import BudgetExceeded, DrawFailed, KeyConflict, LedgerError, LockedOut
from hush.ledger import Budget, Ledger, two_phase
from hush.ledger.two_phase import plant
from hush.mechanisms import Laplace, Query, count
from hush.mechanisms.measurement import LOCKOUT
from hush.units import Neighbors
from ledger.toys import Broken, Die, Total

ABOUT = {"unit": "person", "neighbors": "add-remove"}


@pytest.fixture
def ledger(url):
    with Ledger.open(url, budget=Budget(epsilon=10_000)) as opened:
        yield opened


@dataclass(frozen=True)
class Own:
    """A function of a user's own."""

    function: Any
    default: Any = None
    sensitivity: int = 1
    unit: str = "person"
    neighbors: str = "add-remove"

    def __call__(self, data):
        return self.function(data)


# -- exits -----------------------------------------------------------------------------


def test_an_exit_inside_a_draw_is_a_failure(ledger):
    """A function that exited left its key to be drawn again: 4 000 draws, one charge"""
    draws = []

    def leave(data):
        draws.append(1)
        sys.exit(3)

    for _ in range(5):
        with pytest.raises(DrawFailed):
            ledger.release(Die(0.1), Own(leave), [1], "k")
    assert len(draws) == 1
    assert not ledger.pending()


def test_a_last_step_of_ones_own_sees_only_what_is_sealed(ledger):
    seen = []

    def finish(noisy):
        seen.append(noisy)
        raise SystemExit

    query = Query("mine", len, (1,), Neighbors.ADD_REMOVE, finish=finish)
    for _ in range(5):
        with pytest.raises(SystemExit):
            _ = ledger.release(Laplace(10.0), query, [1, 2], "k").values
    assert len(set(seen)) == 1, "one charge, one draw"
    assert [each.kind for each in ledger.history()].count("seal") == 1


def test_a_last_step_of_ones_own_is_applied_when_values_are_read(ledger):
    def doubled(noisy):
        return ("twice", 2 * noisy)

    query = Query("mine", len, (1,), Neighbors.ADD_REMOVE, finish=doubled)
    release = ledger.release(Laplace(0.01), query, [1, 2], "k")
    assert release.values == ("twice", 4)
    both = ledger.release([Laplace(0.01)] * 2, [query, count()], [1, 2], "both")
    assert both.values == (("twice", 4), 2)
    assert ledger.stored("k").values == 2, "the ledger holds the noisy coordinates"


def test_a_key_is_resumed_a_bounded_number_of_times(ledger):
    draws = []

    def interrupted(data):
        draws.append(1)
        raise KeyboardInterrupt

    for _ in range(1 + two_phase.RESUMPTIONS):
        with pytest.raises(KeyboardInterrupt):
            ledger.release(Die(0.1), Own(interrupted), [1], "k")
    before = ledger.remaining()
    with pytest.MonkeyPatch.context() as quick:
        quick.setattr("hush.ledger.ledger._LOOKS", 2)
        with pytest.raises(LedgerError, match="was begun 9 times"):
            ledger.release(Die(0.1), Own(interrupted), [1], "k")
    assert len(draws) == 1 + two_phase.RESUMPTIONS
    assert ledger.remaining() == before
    assert ledger.verify()
    states = [each.what for each in ledger.history() if each.kind == "start"]
    assert states == ["draw of entry 2 begins"] * two_phase.RESUMPTIONS


def test_many_callers_of_one_key_get_one_answer(durable_url):
    answers = []

    def ask():
        with Ledger.open(durable_url) as mine:
            answers.append(mine.release(Die(0.1), Total(), [1], "k").values)

    with Ledger.open(durable_url, budget=Budget(epsilon=1)) as ledger:
        threads = [threading.Thread(target=ask) for _ in range(24)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert len(answers) == 24
        assert len(set(answers)) == 1
        assert ledger.remaining().epsilon == pytest.approx(0.9)


def _above(limit):
    def exits(data):
        if data[0] > limit:
            os.kill(os.getpid(), 9)
        return 0

    exits.sensitivity = 1
    return exits


def test_what_a_function_closes_over_is_part_of_its_key(ledger):
    """With another limit under one key a closure read one exact bit after another"""
    ledger.release(Die(0.1), _above(50), [40], "k", notes=ABOUT)
    ledger.release(Die(0.1), _above(50), [40], "k", notes=ABOUT)
    with pytest.raises(KeyConflict):
        ledger.release(Die(0.1), _above(60), [40], "k", notes=ABOUT)


def test_large_things_that_a_function_closes_over_are_not_written_down(ledger):
    secret = list(range(1000))

    def looks(data):
        return len(secret)

    looks.sensitivity = 1
    first = ledger.release(Die(0.1), looks, [40], "k", notes=ABOUT)
    secret.append(1)  # data may grow: it is no parameter of the function
    assert ledger.release(Die(0.1), looks, [40], "k", notes=ABOUT) == first
    assert "998, 999" not in str([each.content for each in ledger.history()])


# -- failures ------------------------------------------------------------------------


def test_failures_of_own_functions_lock_by_default_and_for_all_handles(durable_url):
    with Ledger.open(durable_url, budget=Budget(epsilon=10)) as ledger:
        for number in range(LOCKOUT):
            with pytest.raises(DrawFailed), Ledger.open(durable_url) as another:
                another.release(Die(0.1), Broken(), [1], f"k{number}")
        before = ledger.remaining()
        with pytest.raises(LockedOut), Ledger.open(durable_url) as another:
            another.release(Die(0.1), Total(), [1])
        assert ledger.remaining() == before
        # Functions of hush fail on no data.
        ledger.release(Laplace(1.0), count(), [1], notes={"unit": "person"})
        ledger.unlock("the function was mended")
        ledger.release(Die(0.1), Total(), [1])


def test_a_lockout_is_kept_by_the_ledger(durable_url):
    with Ledger.open(durable_url, budget=Budget(epsilon=10), lockout=2):
        pass
    for number in range(2):
        with Ledger.open(durable_url) as ledger, pytest.raises(DrawFailed):
            ledger.release(Die(0.1), Broken(), [1], f"k{number}")
    for more in ({}, {"lockout": 9}):
        with Ledger.open(durable_url, **more) as ledger, pytest.raises(LockedOut):
            ledger.release(Laplace(1.0), count(), [1], notes={"unit": "person"})


def test_a_failure_is_noised_about_a_public_default(ledger):
    def fails(data):
        raise ValueError(f"cannot read {data[0]}")

    for query in (
        Own(fails, default=7),
        Query("mine", fails, (1,), Neighbors.ADD_REMOVE, default=7),
        Own(sys.exit, default=7),
    ):
        answer = ledger.release(Laplace(0.001), query, [41], notes={"unit": "person"})
        assert answer.values == pytest.approx(7, abs=0.1)  # fails wrongly: e^-100
    assert "fail" not in [each.kind for each in ledger.history()]


# -- frames ----------------------------------------------------------------------------


def _reachable(error):
    """Everything that the tracebacks of an error show to a debugger."""
    found, waiting, seen = [], [error], set()
    while waiting:
        value = waiting.pop()
        if value is None or id(value) in seen:
            continue
        seen.add(id(value))
        waiting += [value.__cause__, value.__context__]
        trace = value.__traceback__
        while trace is not None:
            found += list(trace.tb_frame.f_locals.items())
            trace = trace.tb_next
    return found


@pytest.mark.parametrize("step", ["drawn", "seal", "commit-seal"])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
def test_nothing_drawn_survives_in_a_frame(ledger, step, kind):
    """The answer lay in `f_locals`, and the same key drew another"""

    class Marked(Die):
        def run(self, value, *, source=None):
            return 987654321987

    def interrupt(now):
        if now == step:
            raise kind

    plant(interrupt)
    try:
        ledger.release(Marked(0.1), Total(), [1, 1], "k")
    except kind as problem:
        error = problem
    finally:
        plant(None)
    mine = [(n, v) for n, v in _reachable(error) if n not in ("Marked", "ledger")]
    assert mine, "the frames are looked at"
    shown = [name for name, value in mine if "987654321987" in repr(value)]
    assert shown == []
    gc.collect()
    assert ledger.release(Marked(0.1), Total(), [1, 1], "k").values == 987654321987


def test_the_twin_that_forgets_nothing_is_caught(ledger):
    class Marked(Die):
        def run(self, value, *, source=None):
            return 987654321987

    def interrupt(now):
        if now == "seal":
            raise KeyboardInterrupt

    plant(interrupt)
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr("hush.ledger.ledger.Forgotten", contextlib.nullcontext)
        try:
            ledger.release(Marked(0.1), Total(), [1, 1], "k")
        except KeyboardInterrupt as problem:
            error = problem
        finally:
            plant(None)
    assert any("987654321987" in repr(value) for _, value in _reachable(error))


# -- a ledger that is rolled back while it is open -----------------------------------


def _spend(ledger, most=100):
    """Release until the budget is gone; return how often it was not."""
    for times in range(most):
        try:
            ledger.release(Die(0.125), Total(), [1])
        except (LedgerError, BudgetExceeded):
            return times
    return most


def test_a_file_that_is_copied_back_is_noticed_by_an_open_handle(tmp_path):
    """Fourteen releases of 0.125 were made under a budget of one"""
    path = tmp_path / "budget.db"
    with Ledger.open(f"sqlite:///{path}", budget=Budget(epsilon=1)) as ledger:
        ledger.release(Die(0.125), Total(), [1])
        shutil.copyfile(path, tmp_path / "copy.db")
        for _ in range(6):
            ledger.release(Die(0.125), Total(), [1])
        path.write_bytes((tmp_path / "copy.db").read_bytes())
        with pytest.raises(LedgerError, match="rolled back"):
            ledger.release(Die(0.125), Total(), [1])
        with pytest.raises(LedgerError, match="rolled back"):
            ledger.charge(Die(0.125), 1, notes=ABOUT)
        with pytest.raises(LedgerError, match="rolled back"):
            ledger.remaining()
        assert _spend(ledger) == 0


def test_rows_taken_out_of_a_database_are_noticed_by_an_open_handle(postgres_url):
    import psycopg

    with Ledger.open(postgres_url, budget=Budget(epsilon=1)) as ledger:
        ledger.release(Die(0.125), Total(), [1])
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute("CREATE TABLE kept_entry AS SELECT * FROM hush_entry")
            admin.execute("CREATE TABLE kept_account AS SELECT * FROM hush_account")
            for _ in range(6):
                ledger.release(Die(0.125), Total(), [1])
            admin.execute("SET session_replication_role = replica")
            admin.execute("DELETE FROM hush_entry")
            admin.execute("DELETE FROM hush_account")
            admin.execute("INSERT INTO hush_entry SELECT * FROM kept_entry")
            admin.execute("INSERT INTO hush_account SELECT * FROM kept_account")
        with pytest.raises(LedgerError, match="rolled back"):
            ledger.release(Die(0.125), Total(), [1])
        with pytest.raises(LedgerError, match="rolled back"):
            ledger.remaining()
        assert _spend(ledger, most=20) == 0
