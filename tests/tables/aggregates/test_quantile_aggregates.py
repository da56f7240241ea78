"""Quantiles, extremes and modes of groups: near the truth, inside their intervals."""

import numpy as np
import pyarrow
import pytest

import hush
from hush.errors import InvalidArgument, Unsupported

pytestmark = pytest.mark.usefixtures("one_text")
PEOPLE = 20_000


@pytest.fixture(scope="module")
def fares():
    generator = np.random.default_rng(2)
    return {
        "g": generator.choice(["a", "b"], PEOPLE),
        "x": np.round(generator.gamma(2, 10, PEOPLE), 2),
        "c": generator.choice(["red", "blue", "green"], PEOPLE, p=[0.5, 0.3, 0.2]),
    }


def grouped(table):
    data = hush.open(table, budget=hush.Budget(epsilon=1e6))
    return data.group_by("g", keys=["a", "b", "nobody"])


def test_quantiles_are_near_the_truth_on_every_engine(engine, fares):
    # At ε = 4 a rank error of 100 of 10 000 has a chance below e^-30. Beyond all rows
    # there is no rank to err by: an extreme gets there less than once in a thousand.
    columns = {name: pyarrow.array(column) for name, column in fares.items()}
    asked = grouped(engine.table(columns)).agg(
        median=hush.median("x", bounds=(0, 200)),
        p90=hush.quantile("x", 0.9, bounds=(0, 200)),
        low=hush.min("x", bounds=(0, 200)),
        high=hush.max("x", bounds=(0, 200)),
        several=hush.quantiles("x", [0.1, 0.5], bounds=(0, 200)),
        colour=hush.mode("c", values=["blue", "red", "green", "pink"]),
        best=hush.top_k("c", 2, values=["blue", "red", "green", "pink"]),
    )
    answer = asked.release(epsilon=28)
    beyond = 0
    for i, name in enumerate("ab"):
        x = fares["x"][fares["g"] == name]
        around = {
            "median": (0.49, 0.51),
            "p90": (0.89, 0.91),
            "low": (0.0, 0.02),
            "high": (0.98, 1.0),
        }
        for column, (below, above) in around.items():
            value = answer.values[column][i]
            # Values are rounded to cells of the public bounds.
            if x.min() - 0.01 <= value <= x.max() + 0.01:
                least, most = np.quantile(x, [below, above])
                assert least - 0.01 <= value <= most + 0.01
            else:
                assert column in ("low", "high")
                beyond += 1
        few, half = answer.values["several"][i]
        assert abs(few - np.quantile(x, 0.1)) < 1
        assert abs(half - np.quantile(x, 0.5)) < 1
        assert answer.values["colour"][i] == "red"
        assert answer.values["best"][i].tolist() == ["red", "blue"]
    assert beyond <= 2  # of four: a chance below 1e-8 that there are more
    assert np.isfinite(answer.values["median"][2])


def test_intervals_hold_the_exact_quantile(fares):
    # 95 % intervals of 2 groups x 40 releases: fewer than 65 of 80 hits has a chance
    # below 1e-5 (the construction is conservative on top).
    asked = grouped(pyarrow.table(fares)).agg(
        m=hush.median("x", bounds=(0, 200), level=0.95)
    )
    hits = 0
    for _ in range(40):
        low, high = asked.release(epsilon=0.5).interval(0.95)["m"]
        for i, name in enumerate("ab"):
            x = np.sort(fares["x"][fares["g"] == name])
            hits += low[i] <= x[x.size // 2] <= high[i]
    assert hits >= 65


def test_an_interval_that_was_not_paid_for_is_the_whole_of_the_bounds(fares):
    query = grouped(pyarrow.table(fares)).agg(m=hush.median("x", bounds=(0, 200)))
    answer = query.release(epsilon=1)
    low, high = answer.interval(0.999)["m"]
    assert (low == 0).all()
    assert (high == 200).all()
    with pytest.raises(Unsupported, match="in advance"):
        answer.interval(0.95, population=True)
    asked = grouped(pyarrow.table(fares)).agg(
        m=hush.median("x", bounds=(0, 200), population=True)
    )
    low, high = asked.release(epsilon=2).interval(0.95, population=True)["m"]
    assert (low[:2] > 10).all()
    assert (high[:2] < 25).all()


def test_bad_questions_are_refused():
    for make in (
        lambda: hush.quantile("x", 1.5, bounds=(0, 1)),
        lambda: hush.quantile("x", 0.5, bounds=(1, 1)),
        lambda: hush.quantiles("x", [], bounds=(0, 1)),
        lambda: hush.quantiles("x", [0.5, 0.2], bounds=(0, 1)),
        lambda: hush.top_k("c", 3, values=["a"]),
        lambda: hush.mode("c", values=[]),
    ):
        with pytest.raises(InvalidArgument):
            make()
