"""Bounds found in the data: near the data, paid for, and said."""

import numpy as np
import pyarrow
import pytest

import hush
from hush.errors import InvalidArgument, NoBound


@pytest.fixture(scope="module")
def salaries():
    generator = np.random.default_rng(4)
    return pyarrow.table(
        {"s": generator.normal(50_000, 9_000, 5000), "g": [0, 1] * 2500}
    )


def test_bounds_are_found_used_and_said(salaries):
    data = hush.open(salaries, budget=hush.Budget(epsilon=10))
    query = data.group_by("g", keys=[0, 1]).agg(
        n=hush.count(), mean=hush.mean("s", bounds="private")
    )
    answer = query.release(epsilon=4)
    low, high = answer.bounds["s"]
    # Nearly all values lie between 2^14 and 2^17; the bins around are almost empty.
    assert 0 <= low <= 2**15
    assert 2**16 <= high <= 2**17
    assert np.abs(answer.values["mean"] - 50_000).max() < 2_000
    assert float(data.budget.epsilon) == pytest.approx(6)
    assert len([e for e in data.ledger.history() if e.kind == "reserve"]) == 2


def test_the_same_key_finds_the_same_bounds_for_free(salaries):
    data = hush.open(salaries, budget=hush.Budget(epsilon=10))
    query = data.agg(m=hush.median("s", bounds="private"))
    one, two = (query.release(epsilon=4, key="once") for _ in range(2))
    assert one.bounds == two.bounds
    assert one.to_json() == two.to_json()
    assert float(data.budget.epsilon) == pytest.approx(6)


def test_nothing_to_be_found_is_said_and_stays_paid():
    data = hush.open(pyarrow.table({"s": [1.0, 2.0]}), budget=hush.Budget(epsilon=1))
    query = data.agg(m=hush.mean("s", bounds="private"))
    with pytest.raises(NoBound, match="bounds"):
        query.release(epsilon=0.4)
    assert float(data.budget.epsilon) == pytest.approx(0.9)


def test_only_private_is_a_word_for_bounds():
    for make in (
        lambda: hush.sum("s", bounds="all"),
        lambda: hush.correlation("a", "b", bounds="none"),
    ):
        with pytest.raises(InvalidArgument, match="bounds"):
            make()
    data = hush.open(
        pyarrow.table({"a": [1.0] * 900, "b": [3.0] * 900}),
        budget=hush.Budget(epsilon=90),
    )
    query = data.agg(r=hush.covariance("a", "b", bounds="private"))
    assert query.release(epsilon=60).bounds == {"a": (1.0, 2.0), "b": (2.0, 4.0)}
    assert "25% of epsilon" in query.explain()


def test_a_plan_supposes_bounds(salaries):
    data = hush.open(salaries, budget=hush.Budget(epsilon=10))
    query = data.agg(m=hush.mean("s", bounds="private"))
    with pytest.raises(InvalidArgument, match="suppose"):
        query.plan(epsilon=1)
    plan = query.plan(epsilon=1, bounds={"s": (0, 64)})
    known = data.agg(m=hush.mean("s", bounds=(0, 64))).plan(epsilon=0.75)
    assert plan.epsilon == 1
    assert plan.error == known.error
    wanted = query.plan(within=1, bounds={"s": (0, 64)})
    assert wanted.error["m"] <= 1
    assert query.plan(wanted.epsilon, bounds={"s": (0, 64)}).error["m"] <= 1.001
