"""Record and replay: noise on the stated questions is all that hides one person.

Two runs each, no statistics. What peers got wrong is tried here: NaN, a clamp that is
not used, cells read from the data, the number of rows taken for public.
"""

import math

import numpy as np
import pytest

import hush
from hush.audit import assert_replays, neighbors_of, replay
from hush.synth import Bins, TreeSynthesizer
from hush.synth.rows import Private

DOMAIN = {
    "sex": ["f", "m"],
    "town": ["a", "b", "c", None],
    "age": Bins(range(0, 101, 20), whole=True),
    "pay": Bins((0, 10, 1000), missing=True),
}
ROWS = {
    "sex": ["f", "m", "m", "f", "m", "x"],
    "town": ["a", "b", "c", "a", "zz", "a"],
    "age": [10, 35, 77, 12, 50, 3],
    "pay": [5.0, 11.0, None, 2.0, 900.0, 1.0],
}
BUDGETS = [{"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}, {"rho": 0.05}]


def answers(model):
    """What the outside sees, without clocks and identities."""
    pairs = [model.table(a, b) for a in DOMAIN for b in DOMAIN if a != b]
    tables = [(t.columns, t.counts, t.std) for t in model.tables]
    return model.pairs, model.total, pairs, tables, repr(model.domain)


def changed(relation):
    pairs = neighbors_of(ROWS, neighbors=relation)
    for how, value in (("huge", 1e300), ("tiny", -1e300), ("inf", math.inf)):
        more = {n: [*c, c[0]] for n, c in ROWS.items()}
        more["age"][-1] = more["pay"][-1] = value
        if relation == "add-remove":
            pairs.append(type(pairs[0])(how, ROWS, more))
    return pairs


@pytest.mark.parametrize(
    ("budget", "relation"),
    [
        (BUDGETS[0], "add-remove"),
        (BUDGETS[1], "add-remove"),
        (BUDGETS[2], "replace-one"),
    ],
    ids=str,
)
def test_neighbors_differ_by_the_stated_questions_alone(budget, relation):
    synthesizer = TreeSynthesizer(DOMAIN, neighbors=relation, **budget)
    steps = len(synthesizer.plan().mechanisms)
    for pair in changed(relation):
        report = replay(synthesizer.fit, pair.data, pair.neighbor, released=answers)
        assert report.passed, (str(pair), str(report))
        assert len(report.calls) == steps == 5


def test_a_ledger_hears_the_same():
    def run(rows):
        ledger = hush.Ledger.open("memory://", budget=hush.Budget(rho=1.0))
        return TreeSynthesizer(DOMAIN, rho=0.1).fit(rows, ledger=ledger)

    for pair in neighbors_of(ROWS, how=["nan", "rare class", "empty"]):
        assert_replays(run, pair.data, pair.neighbor, released=answers)


@pytest.mark.parametrize(
    "how",
    [
        ["heavy user"],
        pytest.param(
            ["random", "outlier", "rare class", "nan"], marks=pytest.mark.slow
        ),
    ],
)
def test_people_of_a_table_are_bounded_before_they_are_counted(how):
    table = {"who": [1, 1, 2, 3, 3, 4], **ROWS, "age": [10.0, 35, 77, 12, 50, 3]}
    synthesizer = TreeSynthesizer(DOMAIN, epsilon=1.0, delta=1e-6)

    def run(columns):
        data = hush.open(
            columns,
            unit="who",
            rows=2,
            budget=hush.Budget(epsilon=1, delta=1e-6),
        )
        return synthesizer.fit(data)

    for pair in neighbors_of(table, unit="who", how=how, rows=50):
        report = replay(run, pair.data, pair.neighbor, released=answers)
        assert report.passed, (str(pair), str(report))


def test_a_broken_count_is_noticed(monkeypatch):
    # Twin: rows are counted twice, so one person moves each table by two.
    exact = Private.counts
    monkeypatch.setattr(Private, "counts", lambda self, c: 2 * exact(self, c))
    synthesizer = TreeSynthesizer(DOMAIN, rho=0.1)
    more = {name: [*column, column[0]] for name, column in ROWS.items()}
    assert not replay(synthesizer.fit, ROWS, more, released=answers).passed


def test_a_size_that_is_told_is_noticed():
    synthesizer = TreeSynthesizer(DOMAIN, rho=0.1)
    more = {name: [*column, column[0]] for name, column in ROWS.items()}

    def run(rows):
        return synthesizer.fit(rows).table("sex") / len(rows["sex"])

    assert not replay(run, ROWS, more).passed


@pytest.mark.parametrize(
    "rows",
    [
        {name: [] for name in DOMAIN},
        {name: column[:1] for name, column in ROWS.items()},
        {name: column[:1] * 200 for name, column in ROWS.items()},
        {name: [None] * 5 for name in DOMAIN},
        {name: [math.nan] * 5 for name in DOMAIN},
        {name: [object()] * 5 for name in DOMAIN},
        {name: np.array([7, 7], dtype=object) for name in DOMAIN},
    ],
    ids=["empty", "one row", "all alike", "none", "nan", "objects", "outside"],
)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_no_rows_raise_and_the_plan_is_the_same(rows, budget):
    synthesizer = TreeSynthesizer(DOMAIN, **budget)
    model = synthesizer.fit(rows)
    assert np.isfinite(model.table("sex", "pay")).all()
    assert len(model.sample(7)) == 7
    assert len(model.sample()) == round(model.total)
    assert model.curve == synthesizer.plan().curve


@pytest.mark.parametrize(
    "domain",
    [
        {"a": [0, 1]},
        {"a": [0]},
        {"a": [0], "b": [0]},
        {"a": [None], "b": [0, 1]},
        {"a": Bins((0, 1)), "b": [0, 1, 2], "c": [5]},
    ],
    ids=str,
)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_small_domains_are_domains(domain, budget):
    rows = {name: [0, 1, 0, 5] for name in domain}
    model = TreeSynthesizer(domain, **budget).fit(rows)
    drawn = model.sample(9)
    assert len(drawn) == 9
    assert list(drawn) == list(domain)
    # One cell gets noise as any other: its count is how many there are.
    assert all(mechanism.error.std > 0 for mechanism in model.noise)
