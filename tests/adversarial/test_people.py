"""Attempts through the data: nobody, one person, everybody alike, ten million."""

import copy
import math
import pickle

import numpy as np
import pyarrow as pa
import pytest

import hush
from hush import mechanisms as m
from hush.audit import assert_replays
from hush.errors import BudgetExceeded, DrawFailed, HushError
from hush.holdout import Holdout
from hush.local import HadamardResponse, LaplaceMean, PiecewiseMean, UnaryEncoding
from hush.noise import Seeded

PEOPLE = {
    "nobody": [],
    "one": [7.0],
    "alike": [5.0] * 50,
    "not numbers": [math.nan] * 3,
    "infinite": [math.inf, -math.inf],
    "outlier": [5.0] * 49 + [1e300],
}
QUERIES = {
    "count": m.count(),
    "sum": m.sum(bounds=(0, 10)),
    "float sum": m.sum(bounds=(0.0, 10.0)),
    "mean": m.mean(bounds=(0, 10)),
    "variance": m.variance(bounds=(0, 10)),
    "proportion": m.proportion(),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("query", QUERIES)
def test_no_data_set_changes_the_form_of_an_answer(query):
    forms = set()
    for data in PEOPLE.values():
        answer = (QUERIES[query] >> m.Laplace(scale=30.0)).run(data)
        forms.add((type(answer), np.shape(answer)))
        assert math.isfinite(answer)
    assert len(forms) == 1


@pytest.mark.filterwarnings("error")
def test_mechanisms_that_read_data_answer_whatever_it_is():
    made = [
        m.Quantile.for_epsilon(1, at=0.5, bounds=(0, 10)),
        m.Quantile.for_epsilon(1, at=(0.1, 0.5, 0.9), bounds=(0, 10)),
        m.Histogram.for_epsilon(1, edges=(0, 5, 10)),
    ]
    for mechanism in made:
        shapes = {np.shape(mechanism.run(data)) for data in PEOPLE.values()}
        assert len(shapes) == 1


def table(values):
    return pa.table(
        {
            "id": pa.array(range(len(values)), pa.int64()),
            "x": pa.array(values, pa.float64()),
        }
    )


def asked(values, source=None):
    budget = hush.Budget(epsilon=8, delta=1e-6)
    ledger = hush.Ledger.open("memory://", budget=budget, rehearsal=source is not None)
    data = hush.open(table(values), unit="id", rows=1, ledger=ledger, name="t")
    query = data.agg(
        n=hush.count(),
        mean=hush.mean("x", bounds=(0, 10)),
        std=hush.std("x", bounds=(0, 10)),
        median=hush.median("x", bounds=(0, 10)),
    )
    return query.release(epsilon=4, **({"source": source} if source else {}))


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_tables_answer_nobody_one_and_everybody_alike():
    forms, costs = set(), set()
    for values in PEOPLE.values():
        answer = asked(values)
        forms.add(tuple((k, np.shape(v)) for k, v in answer.values.items()))
        costs.add(str(answer.receipt.cost))
    assert len(forms) == len(costs) == 1


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
@pytest.mark.parametrize("other", ["one", "outlier", "infinite"])
def test_tables_tell_mechanisms_no_more_about_one_person_than_they_declare(other):
    full = PEOPLE[other]

    def run(values):
        return asked(values, Seeded(1)).to_dict()

    assert_replays(run, full, full[:-1])


def test_an_analyst_who_repeats_a_question_pays_each_time():
    with hush.Ledger.open("memory://", budget=hush.Budget(epsilon=1)) as ledger:
        noise = m.Laplace(scale=10.0)
        for _ in range(10):  # averaging the noise away is what a budget is for
            ledger.release(noise, m.count(), PEOPLE["alike"])
        with pytest.raises(BudgetExceeded):
            ledger.release(noise, m.count(), PEOPLE["alike"])


def test_a_holdout_is_never_copied_and_tells_nothing_when_a_query_fails():
    labels = np.arange(2_000) % 2
    board = Holdout(labels, queries=50)
    for how in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(HushError, match="never copied"):
            how(board)

    def leaky(record):
        raise ValueError(f"label {record}, secret")

    # To fail at all would tell that somebody made it fail: the lowest score is told.
    assert abs(float(board.ask(leaky))) < board.plan.radius
    assert board.left == 49

    class Leaky:
        def predict(self, features):
            raise ValueError(f"features {features}, secret")

    models = Holdout((np.zeros((2_000, 1)), labels), queries=50)
    assert abs(float(models.score(Leaky()))) < models.plan.radius
    assert models.left == 49

    class Unreadable:
        def __len__(self):
            return 2_000

    with pytest.raises(DrawFailed) as caught:  # what fails as a whole
        models.submit(Unreadable())
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert models.left == 48
    for strange in (math.nan, math.inf, -math.inf, 1e308, -0.0):
        assert math.isfinite(float(board.ask(lambda _, s=strange: s)))


def test_a_holdout_of_one_person_promises_nothing():
    board = Holdout(np.array([1]), queries=2)
    assert board.plan.vacuous
    assert board.submit(np.array([1])).left == 1


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 50.0])
def test_local_reports_at_the_edges_never_claim_too_little(epsilon):
    oracles = (UnaryEncoding(epsilon, 5), HadamardResponse(epsilon, 5))
    for oracle in oracles:
        assert oracle.curve().epsilon_at(0.0) <= epsilon
        assert len(oracle.encode([])) == 0
        found = oracle.estimate(oracle.encode([3], source=Seeded(1)))
        assert np.isfinite(found.value).all()
    for mean in (PiecewiseMean(epsilon), LaplaceMean(epsilon)):
        assert mean.curve().epsilon_at(0.0) <= epsilon
        rows = mean.encode([0.0, -0.0, 5e-324, math.inf, -math.inf, 1e308])
        assert len(rows) == 6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_ten_million_people_are_counted_exactly():
    people = 10_000_000
    values = np.full(people, 10.0)
    assert m.sum(bounds=(0, 10))(values) == 10 * people
    total = m.sum(bounds=(0.0, 10.0))
    assert total(values) - total(values[:-1]) == 10
    first, n = m.mean(bounds=(0, 10))(values)
    assert (first, n) == (people, people)
    answer = asked(values)
    low, high = answer.interval(1 - 1e-9)["n"]
    assert low <= people <= high
    # 2^20 grains for each of 10^7 people: far from 2^63, and the mean is at its bound.
    assert answer.values["mean"][0] == pytest.approx(10, abs=1e-3)
