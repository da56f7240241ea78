"""L7: the history of a long, disturbed run is that of some sequential run."""

import bisect
import collections
import itertools
import json
from dataclasses import dataclass
from fractions import Fraction

import pytest

from hush.ledger import Budget, Ledger
from ledger.faults import start
from ledger.operations import UNIT, operation


@dataclass(frozen=True)
class Operation:
    """One charge: when it was asked for and answered, and its place if granted."""

    invoked: float
    completed: float
    cost: int
    sequence: int | None = None


def check(operations, limit):
    """Check grants and refusals of one account against a sequential filter.

    The ledger's own order is the witness: it must respect real time and never pass the
    limit, and every refusal must have had a moment at which the charge did not fit.
    What is spent only grows, so the best such moment is the last one: when all grants
    have happened that precede, in the ledger's order, the first one asked for later.
    """
    grants = sorted(
        (each for each in operations if each.sequence is not None),
        key=lambda each: each.sequence,
    )
    asked = list(itertools.accumulate((each.invoked for each in grants), max))
    spent = list(itertools.accumulate((each.cost for each in grants), initial=0))
    for each, before in zip(grants[1:], asked, strict=False):
        assert each.completed >= before, "took effect after it had completed"
    assert spent[-1] <= limit, "overspent"
    for each in operations:
        if each.sequence is None:
            possible = spent[bisect.bisect_right(asked, each.completed)]
            assert possible + each.cost > limit, "refused although it must have fitted"


GOOD = [Operation(0, 1, 5, 1), Operation(2, 3, 5, 2), Operation(4, 5, 1)]


def test_l7_the_checker_accepts_a_sequential_history():
    check(GOOD, 10)
    check([Operation(0, 9, 5, 2), Operation(1, 8, 5, 1), Operation(2, 3, 1)], 10)


@pytest.mark.parametrize(
    ("operations", "limit"),
    [
        ([Operation(0, 1, 5, 2), Operation(2, 3, 5, 1)], 10),  # real time reversed
        (GOOD, 9),  # overspent
        ([Operation(0, 1, 5, 1), Operation(2, 3, 5)], 10),  # refused without need
        # refused although what used the budget up was asked for only later
        ([Operation(0, 1, 5), Operation(2, 3, 8, 1)], 10),
        # what was granted first was asked for later, and all else comes after it
        (
            [Operation(4, 9, 1, 1), Operation(0, 9, 9, 2), Operation(0, 3, 2)],
            10,
        ),
    ],
    ids=["reversed", "overspent", "needless", "too early", "behind a later one"],
)
def test_l7_the_checker_catches_a_broken_history(operations, limit):
    with pytest.raises(AssertionError):
        check(operations, limit)


def _read(log, accounts):
    """Return the operations of every data set, by key, and what was done to workers."""
    invoked, completed, events = {}, {}, collections.Counter()
    for line in log.read_text().splitlines():
        event, key, at, sequence = json.loads(line)
        events[event] += 1
        if event == "invoked":
            invoked.setdefault(key, at)
        elif event == "completed":
            known = completed.setdefault(key, (at, sequence))
            assert known[1] == sequence, "a key has one outcome"
    assert invoked.keys() == completed.keys()
    found = collections.defaultdict(dict)
    for key, (at, sequence) in completed.items():
        worker, number = map(int, key.split("-"))
        _, dataset, cost = operation(worker, number, accounts)
        found[dataset][key] = Operation(invoked[key], at, cost, sequence)
    return found, events


def _run(url, log, *, each, calm, workers=4, accounts=40):
    """Ask for about twice of what there is, and check every account."""
    limit = workers * each * 9 // (8 * accounts)
    with Ledger.open(url) as ledger:
        for number in range(accounts):
            budget = Budget(epsilon=Fraction(limit, 10_000))
            ledger.grant(budget, dataset=f"d{number}")
    job = {"url": url, "log": str(log), "workers": workers, "each": each}
    job |= {"accounts": accounts, "calm": calm}
    assert start("operations.py", json.dumps(job)).wait() == 0
    found, events = _read(log, accounts)
    assert sum(map(len, found.values())) == workers * each
    with Ledger.open(url) as ledger:  # verifies
        stored = collections.defaultdict(dict)
        for entry in ledger.history():
            if entry.kind == "charge":
                stored[entry.accounts][entry.key] = entry.sequence
        for dataset, operations in found.items():
            check(operations.values(), limit)
            granted = {k: o.sequence for k, o in operations.items() if o.sequence}
            assert granted == stored[f'["dataset:{dataset}"]'], (
                "nothing else is charged"
            )
            spent = sum(operations[key].cost for key in granted)
            left = ledger.on(dataset=dataset).remaining().accounts[0]
            assert left.spent_exact[0] == spent * Fraction(str(UNIT))
    return events


def test_l7_some_operations_with_killed_and_stopped_processes(sqlite_url, tmp_path):
    events = _run(sqlite_url, tmp_path / "log", each=100, calm=0.1, accounts=8)
    assert min(events["killed"], events["stopped"]) > 0


@pytest.mark.slow
def test_l7_a_hundred_thousand_operations(durable_url, tmp_path):
    events = _run(durable_url, tmp_path / "log", each=25_000, calm=0.5)
    print(dict(events))
    assert events["completed"] >= 100_000
    assert min(events["killed"], events["stopped"]) > 20
