"""Variances and covariances: right on every engine, and inside their intervals."""

import math

import numpy as np
import pyarrow
import pytest

import hush

pytestmark = pytest.mark.usefixtures("one_text")
N = 3000


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(8)
    x = generator.normal(20, 6, N)
    y = 0.5 * x + generator.normal(3, 2, N)
    x[::17] = np.nan
    return {"who": np.arange(N), "x": x, "y": y, "g": np.arange(N) % 2}


def asked(table, **more):
    data = hush.open(
        table, unit="who", rows=1, budget=hush.Budget(epsilon=1000), **more
    )
    both = {"bounds": ((0, 40), (-5, 30))}
    return data.group_by("g", keys=[0, 1]).agg(
        variance=hush.variance("x", bounds=(0, 40)),
        std=hush.std("x", bounds=(0, 40)),
        covariance=hush.covariance("x", "y", **both),
        correlation=hush.correlation("x", "y", **both),
    )


def truth(rows, g):
    here = (rows["g"] == g) & ~np.isnan(rows["x"])
    x, y = np.clip(rows["x"][here], 0, 40), np.clip(rows["y"][here], -5, 30)
    moments = np.cov(x, y, ddof=0)
    return {
        "variance": moments[0, 0],
        "std": math.sqrt(moments[0, 0]),
        "covariance": moments[0, 1],
        "correlation": moments[0, 1] / math.sqrt(moments[0, 0] * moments[1, 1]),
    }


def test_the_noiseless_answer_is_the_textbook_one(engine, rows):
    # With ε = 10^6 the noise is far below the tolerance.
    arrow = {name: pyarrow.array(column) for name, column in rows.items()}
    query = asked(engine.table(arrow))
    found = query.compiled.result(())
    exact = {
        part: part.exact(found, query.groups.keys) for part in query.compiled.parts
    }
    from hush.tables.aggregates.aggregate import Released

    released = Released(
        {part: part.read(each) for part, each in exact.items()},
        dict.fromkeys(query.compiled.parts, 0.0),
        0.95,
    )
    for i, g in enumerate((0, 1)):
        for name, expected in truth(rows, g).items():
            value = (
                query.aggregates[name].answer(query.compiled.limit, released).value[i]
            )
            assert value == pytest.approx(expected, rel=2e-5), name


def test_intervals_hold_the_exact_answer(rows):
    # Interval arithmetic over bars that all hold with 0.999: 40 runs of 8 numbers each
    # miss at most 5 times except with chance below 1e-5.
    query = asked(pyarrow.table(rows))
    missed = 0
    for _ in range(40):
        ends = query.release(epsilon=4).interval(0.999)
        for i, g in enumerate((0, 1)):
            for name, expected in truth(rows, g).items():
                low, high = ends[name][0][i], ends[name][1][i]
                missed += not low - 1e-3 <= expected <= high + 1e-3
    assert missed <= 5


def test_a_constant_column_has_no_spread_and_breaks_nothing():
    data = hush.open(pyarrow.table({"x": [7.0] * 50}), budget=hush.Budget(epsilon=9))
    answer = data.agg(
        s=hush.std("x", bounds=(7, 7)),
        r=hush.correlation("x", "x", bounds=((0, 9), (0, 9))),
    ).release(epsilon=1)
    assert np.isfinite(answer.values["s"]).all()
    assert -1 <= answer.values["r"][0] <= 1


@pytest.mark.thin(2)
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_outliers_move_the_moments_by_no_more_than_declared(neighbors):
    # HAZARDS N7, S1: the inputs on which derived statistics are known to go wrong.
    import ibis

    connection = ibis.duckdb.connect()
    values = [0.0, 40.0, 1e12, -1e12, 2.0**52, math.nan, math.inf, None]

    def vectors(i, last):
        columns = {
            "who": list(range(5)),
            "x": pyarrow.array([1.0, 39.0, 20.0, 20.0, last], pyarrow.float64()),
            "y": pyarrow.array([1.0, -2.0, 30.0, None, last], pyarrow.float64()),
            "g": [0, 1, 0, 1, 0],
        }
        query = asked(
            connection.create_table(f"t{i}", pyarrow.table(columns)),
            neighbors=neighbors,
        )
        found = query.compiled.result(())
        return [(p, p.exact(found, query.groups.keys)) for p in query.compiled.parts]

    tables = [vectors(i, last) for i, last in enumerate(values)]
    for one in tables:
        for two in tables:
            for (part, a), (_, b) in zip(one, two, strict=True):
                twice = 2 if neighbors == "add-remove" else 1  # two neighbors apart
                moved = [int(d) for d in np.abs(a - b).ravel()]
                assert sum(moved) <= twice * part.sensitivity(1)
                assert sum(d * d for d in moved) <= (twice * part.sensitivity(2)) ** 2
