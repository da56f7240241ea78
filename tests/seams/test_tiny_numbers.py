"""Numbers at the ends of doubles: engines answer about them as about any others.

PostgreSQL fails on a product that is smaller than the smallest double, or larger than
the largest. That a draw failed is an exact bit about one row.
"""

import numpy as np
import pyarrow
import pytest

import hush

TINY = [5e-324, -5e-324, 1e-310, 1e-200, -1e-160, 2.5e-300, 1e-17]
HUGE = [1.7e308, -1.7e308, 1e300, -1e155]
USUAL = [3.0, 0.0, -2.0, 8.5]
VALUES = [*TINY, *HUGE, *USUAL]
BOUNDS = [(-9, 9), (0, 225), (0, 1e12), (-1e49, 1e49), (0, 1e-90), (1e11, 3e12)]


def opened(engine, values):
    rows = {
        "u": pyarrow.array(range(len(values))),
        "x": pyarrow.array(values, pyarrow.float64()),
        "y": pyarrow.array(values[::-1], pyarrow.float64()),
        "s": pyarrow.array([float(np.float32(v)) if abs(v) < 1e38 else 0.0
                            for v in values], pyarrow.float32()),
    }  # fmt: skip
    budget = hush.Budget(epsilon=1e9, delta=0.1)
    return hush.open(engine.table(rows), unit="u", rows=1, budget=budget, name="ends")


def aggregates(bounds):
    edges = np.linspace(*bounds, 301).tolist()
    return {
        "n": hush.count(),
        "sum": hush.sum("x", bounds=bounds),
        "single": hush.sum("s", bounds=bounds),
        "mean": hush.mean("x", bounds=bounds),
        "variance": hush.variance("x", bounds=bounds),
        "std": hush.std("y", bounds=bounds),
        "covariance": hush.covariance("x", "y", bounds=(bounds, bounds)),
        "correlation": hush.correlation("x", "s", bounds=(bounds, bounds)),
        "median": hush.quantile("x", 0.5, bounds=bounds),
        "least": hush.min("y", bounds=bounds),
        "bins": hush.histogram("x", edges=edges),
        "different": hush.count_distinct("x"),
    }


@pytest.mark.slow_on("spark")
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_no_number_makes_an_engine_fail(engine, bounds):
    data = opened(engine, VALUES)
    for name, aggregate in aggregates(bounds).items():
        answer = data.agg(it=aggregate).release(epsilon=1e5)
        if name in ("sum", "n"):
            lower, upper = bounds
            right = np.clip(VALUES, lower, upper).sum() if name == "sum" else 15
            near = 1e-3 * max(abs(lower), abs(upper)) if name == "sum" else 1e-3
            assert abs(answer["it"] - right) <= near, name


@pytest.mark.slow_on("spark")
def test_a_tiny_row_moves_a_variance_as_its_neighbor_does(engine):
    # With and without the row that underflows the answers are answers.
    for extra in ([], [1e-200], [-4.9e-324], [1.7e308]):
        data = opened(engine, [*USUAL, *extra])
        answer = data.agg(v=hush.variance("x", bounds=(-9, 9))).release(epsilon=1e6)
        right = np.var(np.clip([*USUAL, *extra], -9, 9))
        assert answer["v"] == pytest.approx(right, abs=0.01)
