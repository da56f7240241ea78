"""Handles on one ledger in many threads, with faults under them: the books close.

What is released is a count under noise of scale 1/1000, which is off with a chance
below e^-1000 each: answers are compared exactly.
"""

import random
import sqlite3
import sys
import tempfile
import threading
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

import hush
from hush.errors import BudgetExceeded, KeyConflict
from hush.ledger import two_phase
from hush.mechanisms import Geometric, count
from seams import injector as driver
from seams.bookkeeper import Question, Wrong, closed, price, spent
from seams.injector import CANARY, together
from servers import database, memory_disk

NOISE = Geometric(scale=Fraction(1, 1000))
COST = 1000
BUDGET = hush.Budget(epsilon=10**9)
STORES = [
    "memory",
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.xdist_group("postgres")),
]


@pytest.fixture
def address(request, hasty):
    """Return what makes the address of a new ledger of a kind."""
    folders = []

    def made(kind):
        if kind == "memory":
            return "memory://"
        if kind == "sqlite":
            folders.append(tempfile.TemporaryDirectory(dir=memory_disk()))
            return f"sqlite:///{folders[-1].name}/budget.db"
        engine = request.getfixturevalue("postgres_engine")
        name = f"books{random.SystemRandom().getrandbits(40):x}"
        return database(engine.address.replace("/tables?", "/postgres?"), name)

    yield made
    for each in folders:
        each.cleanup()


@pytest.fixture
def hasty():
    """Let threads change places at every step, and forget planted faults."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    two_phase.plant(None)
    sys.setswitchinterval(before)


def question(ledger, key, size):
    rows = list(range(size))
    return Question(
        ledger,
        key,
        lambda named: ledger.release(NOISE, count(), rows, key=named),
        lambda found: found.values == size,
    )


def many(ledger, times, *, threads=8, handles=None):
    """Let every thread release under keys of its own, one of theirs, and once more."""
    prices, questions = {}, []

    def work(i):
        mine = handles[i] if handles else ledger
        for j in range(times):
            asked = [question(mine, f"{i} {j}", i + 1), question(mine, f"all {j}", 5)]
            for each in asked:
                prices[each.key] = COST
                questions.append(each)
                outcome = each.tried()
                if outcome != "answered":
                    raise Wrong(f"{each.key} was {outcome}, and nothing had failed")

    together(work, threads)
    return prices, questions


@pytest.mark.parametrize("kind", STORES)
def test_threads_share_a_ledger(kind, address):
    with hush.Ledger.open(address(kind), budget=BUDGET) as ledger:
        prices, _ = many(ledger, 3)
        assert closed(ledger, prices) == 8 * 3 + 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", STORES)
def test_many_threads_share_a_ledger(kind, address):
    for _ in range(12):  # small books: every case reads all of its own
        with hush.Ledger.open(address(kind), budget=BUDGET) as ledger:
            prices, _ = many(ledger, 12)
            assert closed(ledger, prices) == 8 * 12 + 12


@pytest.mark.parametrize("kind", STORES)
def test_threads_with_handles_of_their_own_share_a_store(kind, address):
    url = address(kind)
    with hush.Ledger.open(url, budget=BUDGET) as ledger:
        handles = [ledger.on(dataset="default") for _ in range(8)]
        if kind != "memory":
            handles[4:] = [hush.Ledger.open(url) for _ in range(4)]
        prices, _ = many(ledger, 3, handles=handles)
        assert closed(ledger, prices) == 8 * 3 + 3
        for each in handles[4:] if kind != "memory" else ():
            each.close()


@pytest.mark.parametrize("kind", STORES)
def test_the_last_unit_is_spent_once(kind, address):
    budget = hush.Budget(epsilon=10 * COST)
    with hush.Ledger.open(address(kind), budget=budget) as ledger:

        def work(i):
            outcomes = []
            for j in range(5):
                try:
                    found = ledger.release(NOISE, count(), [1], key=f"{i} {j}")
                    outcomes.append(found.values)
                except BudgetExceeded:
                    outcomes.append(None)
            return outcomes

        found = Counter(each for listed in together(work) for each in listed)
        assert found == {1: 10, None: 30}
        assert spent(ledger) == 10 * COST


@pytest.mark.parametrize("kind", STORES)
def test_one_key_of_two_requests_is_answered_to_one_of_them(kind, address):
    with hush.Ledger.open(address(kind), budget=BUDGET) as ledger:

        def work(i):
            noise = NOISE if i % 2 else Geometric(scale=Fraction(1, 2000))
            try:
                return i % 2, ledger.release(noise, count(), [1] * (1 + i % 2), key="k")
            except KeyConflict:
                return None

        answered = [each for each in together(work) if each]
        assert len({side for side, _ in answered}) == 1
        assert all(found.values == 1 + side for side, found in answered)
        assert spent(ledger) == price(answered[0][1])


def sqlite_errors(chance):
    names = ("disk I/O error", "database is locked", "database or disk is full")
    return sqlite3.OperationalError(f"{chance.choice(names)} {CANARY}")


def postgres_errors(chance):
    import psycopg

    kinds = (psycopg.OperationalError, psycopg.errors.AdminShutdown)
    return chance.choice((*kinds, psycopg.errors.SerializationFailure))(CANARY)


DRIVERS = {
    "sqlite": (driver.wrap_sqlite, sqlite_errors),
    "memory": (driver.wrap_sqlite, sqlite_errors),
    "postgres": (driver.wrap_postgres, postgres_errors),
}


def stormed(url, kind, monkeypatch, *, seed, times, odds):
    wrap, make = DRIVERS[kind]
    planted, chance, guard = driver.Injector(), random.Random(seed), threading.Lock()
    wrap(monkeypatch, planted)

    def error():
        with guard:
            return make(chance)

    with hush.Ledger.open(url, budget=BUDGET) as ledger:
        for late in (False, True):
            # The judge reads the same books: it, too, may find them out of reach.
            with planted.failing(driver.never, error, late=late):
                prices, questions = {}, []

                def work(i, prices=prices, questions=questions, late=late):
                    for j in range(times):
                        each = question(ledger, f"{late} {i} {j}", i + 1)
                        prices[each.key] = COST
                        questions.append(each)
                        unjudged(each)

                planted.when = lambda _: chance.random() < 1 / odds
                together(work)
            for each in questions:
                each.settled()
            before = {e.key for e in ledger.history() if e.kind == "reserve"}
            closed(ledger, {**dict.fromkeys(before, COST), **prices})
    assert planted.calls
    monkeypatch.undo()


def unjudged(each):
    """Ask, and look only at the answer: the history may be out of reach as well."""
    try:
        found = each.ask(each.key)
    except hush.errors.HushError as problem:
        if CANARY in driver.chain(problem):
            raise Wrong("an error of a driver is shown") from None
    else:
        if not each.right(found):
            raise Wrong("a wrong answer")


@pytest.mark.parametrize("kind", STORES)
def test_a_ledger_whose_driver_fails_loses_nothing(kind, address, monkeypatch):
    stormed(address(kind), kind, monkeypatch, seed=3, times=2, odds=15)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", STORES)
def test_a_ledger_whose_driver_often_fails_loses_nothing(
    kind, seed, address, monkeypatch
):
    stormed(address(kind), kind, monkeypatch, seed=seed, times=12, odds=10 + 10 * seed)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, sqlite3.OperationalError])
def test_a_fault_right_after_any_statement_leaves_no_transaction_open(
    kind, error, address, monkeypatch
):
    planted = driver.Injector()
    driver.wrap_sqlite(monkeypatch, planted)
    with hush.Ledger.open(address(kind), budget=BUDGET) as ledger:
        whole = question(ledger, "whole", 3)
        with planted.failing(driver.never, error):
            whole.ask("whole")
            calls = planted.calls
        for at in range(1, calls + 1):
            each = question(ledger, f"{at}", 3)
            each.tried(planted.failing(at.__eq__, error, late=True))
            each.settled()
        closed(ledger, dict.fromkeys(("whole", *map(str, range(calls + 1))), COST))


@pytest.mark.parametrize("kind", STORES)
def test_a_key_pressed_between_any_two_steps_loses_nothing(kind, address):
    with hush.Ledger.open(address(kind), budget=BUDGET) as ledger:
        prices, pressed = {}, threading.local()

        def hook(step):
            if getattr(pressed, "at", None) == step:
                pressed.at = None
                raise KeyboardInterrupt

        two_phase.plant(hook)

        def work(i):
            for step in two_phase.STEPS:
                each = question(ledger, f"{i} {step}", i + 1)
                prices[each.key] = COST
                pressed.at = step
                each.tried()
                pressed.at = None
                each.settled()

        together(work)
        assert closed(ledger, prices) == 8 * len(two_phase.STEPS)


@pytest.mark.xdist_group("postgres")
def test_sessions_that_end_under_a_ledger_lose_nothing(address, postgres_engine):
    import psycopg

    url = address("postgres")
    with hush.Ledger.open(url, budget=BUDGET) as ledger:
        done = threading.Event()

        def ending():
            with psycopg.connect(postgres_engine.address, autocommit=True) as other:
                while not done.wait(0.02):
                    other.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE datname = %s",
                        (Path(url.split("?")[0]).name,),
                    )

        killer = threading.Thread(target=ending)
        killer.start()
        try:
            asked = [question(ledger, f"{i}", 3) for i in range(16)]
            together(lambda i: [unjudged(each) for each in asked[i::8]])
        finally:
            done.set()
            killer.join()
        for each in asked:
            each.settled()
        assert closed(ledger, dict.fromkeys(map(str, range(16)), COST)) == 16


# -- a sabotaged twin ----------------------------------------------------------------


@pytest.mark.xdist_group("postgres")
def test_a_handle_that_compares_after_others_moved_on_is_caught(address, monkeypatch):
    from hush.ledger.stores.postgres import Postgres

    call = Postgres._call

    def late(self, *given):
        seen = self.seen
        found = call(self, *given)
        if self.seen[0] > seen[0] + 1:
            self.agree_with_seen("of another", "of this one")
        return found

    monkeypatch.setattr(Postgres, "_call", late)
    with (
        hush.Ledger.open(address("postgres"), budget=BUDGET) as ledger,
        pytest.raises(Wrong, match="nothing had failed"),
    ):
        many(ledger, 6)
