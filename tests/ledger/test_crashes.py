"""L1: processes that are killed anywhere neither leak, nor overspend, nor lose."""

import collections
import json
import subprocess

import pytest

from hush.ledger import Budget, Ledger
from hush.ledger.two_phase import STEPS
from ledger.faults import settle, start, storm

FEW = {"release": 12, "killed": 9}


def _run(url, log, seconds, least, keys=60, fit=40):
    with Ledger.open(url, budget=Budget(epsilon=fit / 10)):
        pass
    storm(url, log, seconds=seconds, least=least, keys=keys)
    answers = settle(url, log, keys=keys, cost=0.1)
    assert len(answers) <= fit
    kills = collections.Counter(
        line.split()[1]
        for line in log.read_text().splitlines()
        if line.startswith("killed")
    )
    return answers, kills


def test_l1_killed_for_five_seconds_sqlite(sqlite_url, tmp_path):
    answers, kills = _run(sqlite_url, tmp_path / "log", 5, FEW)
    assert len(answers) > 3
    assert sum(kills.values()) > 8


def test_l1_killed_for_four_seconds_postgres(postgres_url, tmp_path):
    answers, kills = _run(postgres_url, tmp_path / "log", 4, FEW)
    assert len(answers) > 3
    assert sum(kills.values()) > 8


@pytest.mark.slow
def test_l1_killed_at_every_step(durable_url, tmp_path):
    """Long enough, with keys enough, that somebody dies at every single step."""
    steps = {*STEPS, "released", "outside"}
    least = {"release": 300, "killed": 301} | dict.fromkeys(steps, 2)
    answers, kills = _run(durable_url, tmp_path / "log", 60, least, 3000, 2000)
    print(len(answers), "answers,", dict(kills))
    assert len(answers) > 200
    assert set(kills) >= steps
    assert sum(kills.values()) > 300


@pytest.fixture(scope="module")
def once():
    """Run `once.py` in a process of its own, and return how it ended."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with start("once.py", **pipes) as nursery:

        def run(*arguments):
            print(json.dumps(list(map(str, arguments))), file=nursery.stdin, flush=True)
            return int(nursery.stdout.readline())

        yield run


@pytest.mark.thin(2)
@pytest.mark.parametrize("step", [*STEPS, "released"])
def test_killed_at_one_step_and_resumed(step, once, sqlite_url, tmp_path):
    """The shortest form of L1: one process, one kill, one retry."""
    with Ledger.open(sqlite_url, budget=Budget(epsilon=0.1)):
        pass
    log = tmp_path / "log"
    assert once(sqlite_url, log, step) == -9
    answers = settle(sqlite_url, log, keys=1, cost=0.1)
    charged = step not in ("reserve", "commit-reserve")
    assert set(answers) == ({"key0"} if charged else set())
    assert once(sqlite_url, log, "never") == 0
    again = settle(sqlite_url, log, keys=1, cost=0.1)
    assert answers.items() <= again.items()
    assert len(again) == 1
