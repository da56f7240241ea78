"""L2, L3, L6: the last unit goes to one; the naive twin gives it to several."""

import contextlib
import json
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hush.errors import InvalidArgument, KeyConflict
from hush.ledger import Budget, Ledger
from hush.mechanisms import Laplace, count, mean
from ledger.faults import environment
from ledger.race import unlock
from ledger.toys import Die, Total

_RACE = Path(__file__).with_name("race.py")


def race(kind, url, rounds, processes=8, threads=4):
    job = {"kind": kind, "url": url, "rounds": rounds}
    job |= {"processes": processes, "threads": threads}
    done = subprocess.run(
        [sys.executable, str(_RACE), json.dumps(job)],
        env=environment(),
        stdout=subprocess.PIPE,
        check=True,
        timeout=300,
    )
    return json.loads(done.stdout)


def prepare(url, rounds):
    with Ledger.open(url) as ledger:
        for turn in range(rounds):
            ledger.grant(Budget(epsilon=1), dataset=f"round{turn}")


@pytest.mark.parametrize("rounds", [30, pytest.param(200, marks=pytest.mark.slow)])
def test_l2_exactly_one_of_many_gets_the_last_unit(durable_url, rounds):
    prepare(durable_url, rounds)
    assert race("ledger", durable_url, rounds) == [1] * rounds
    with Ledger.open(durable_url):
        pass


def test_l2_the_row_and_its_check_alone_keep_the_budget(postgres_url):
    """Without the lock on the chain, too: that one is there for the chain."""
    prepare(postgres_url, 20)
    unlock(postgres_url)
    assert race("unlocked", postgres_url, 20, processes=3, threads=1) == [1] * 20


def test_l3_the_naive_twin_overspends(sqlite_url):
    path = sqlite_url.removeprefix("sqlite:///")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE naive (turn INTEGER, cost INTEGER)")
        connection.commit()
    grants = race("naive", sqlite_url, 40)
    assert max(grants) > 1, "a race that catches nobody proves nothing"


def test_l3_the_naive_twin_overspends_postgres(postgres_url):
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE naive (turn INTEGER, cost INTEGER)")
    assert max(race("naive", postgres_url, 40)) > 1


def test_l6_one_key_a_hundred_times_at_once(url):
    with Ledger.open(url, budget=Budget(epsilon=1)) as ledger:
        texts, conflicts = set(), []

        def ask(number):
            if number % 10 == 0:
                try:
                    ledger.release(Die(0.2), Total(), [1], "one")
                except KeyConflict as conflict:
                    conflicts.append(conflict)
            else:
                texts.add(ledger.release(Die(0.1), Total(), [1], "one").to_json())

        ledger.release(Die(0.1), Total(), [1], "one")
        threads = [threading.Thread(target=ask, args=(n,)) for n in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(texts) == 1
        assert len(conflicts) == 10
        assert ledger.remaining().epsilon == pytest.approx(0.9)
        assert ledger.verify()


def test_l6_one_key_first_asked_by_many_threads(url):
    with Ledger.open(url, budget=Budget(epsilon=1)) as ledger:
        texts = set()

        def ask():
            texts.add(ledger.release(Die(0.1), Total(), [1], "one").to_json())

        threads = [threading.Thread(target=ask) for _ in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(texts) == 1, "who comes second is given the first answer"
        assert ledger.remaining().epsilon == pytest.approx(0.9)


def test_first_charges_that_cross_never_mix_two_relations(durable_url):
    """Both handles were opened when nothing was charged; one of them must lose."""
    with Ledger.open(durable_url, budget=Budget(epsilon=9)) as parent:
        for i in range(8):
            parent.grant(Budget(epsilon=1), dataset=f"d{i}")
    asked = [count(), mean(bounds=(0, 1), size=3, neighbors="replace-one")]

    def charge(ledger, query, barrier):
        barrier.wait()
        try:
            ledger.release(Laplace(scale=10.0), query, [1, 0, 1])
        except InvalidArgument:
            return 0
        return 1

    for i in range(8):
        opened = [Ledger.open(durable_url, dataset=f"d{i}") for _ in range(4)]
        barrier = threading.Barrier(len(opened))
        with ThreadPoolExecutor(len(opened)) as pool:
            done = pool.map(charge, opened, asked * 2, [barrier] * len(opened))
            assert sum(done) == 2
        spoken = {
            each.content["facts"]["neighbors"]
            for each in opened[0].history()
            if each.kind == "reserve" and f"dataset:d{i}" in each.content["costs"]
        }
        assert len(spoken) == 1
        for each in opened:
            each.close()
