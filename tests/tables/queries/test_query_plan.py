"""What a plan says is about what the release then shows."""

import numpy as np
import pytest

import hush
from hush.errors import InvalidArgument
from hush.noise import Seeded

BOUNDS = (0, 60)
ASKED = {
    "n": hush.count(),
    "mean": hush.mean("x", bounds=BOUNDS),
    "variance": hush.variance("x", bounds=BOUNDS),
    "std": hush.std("x", bounds=BOUNDS),
}


@pytest.mark.parametrize("rows", [1, 8])
def test_intervals_are_as_wide_as_planned_where_values_fill_half_of_their_bounds(rows):
    rng = np.random.default_rng(1)
    table = {"who": range(20_000), "x": rng.uniform(30, 60, 20_000)}
    stage = hush.Ledger.open(
        "memory://", budget=hush.Budget(epsilon=9), dataset="data", rehearsal=True
    )
    data = hush.open(table, unit="who", rows=rows, ledger=stage)
    query = data.agg(**ASKED)
    planned = query.plan(epsilon=4, cell=20_000).error
    shown = query.release(epsilon=4, source=Seeded(3)).interval(0.95)
    for name, (low, high) in shown.items():
        assert (high[0] - low[0]) / 2 == pytest.approx(planned[name], rel=0.15)


def test_noise_beyond_64_bits_is_refused_before_it_is_paid_for():
    data = hush.open({"x": [1.0]}, budget=hush.Budget(epsilon=1, delta=1e-6))
    query = data.agg(m=hush.mean("x", bounds=(0, 60)))
    for delta in (0.0, 1e-9):
        with pytest.raises(InvalidArgument, match="larger epsilon"):
            query.release(epsilon=1e-9, delta=delta)
    assert data.budget.epsilon == 1
    assert query.plan(within=29.99999, cell=1).epsilon > 1e-6


def test_aggregates_without_an_interval_are_named_in_the_plan():
    data = hush.open({"x": [1.0]}, budget=hush.Budget(epsilon=1))
    query = data.agg(both=hush.quantiles("x", [0.2, 0.8], bounds=(0, 1)))
    assert "both (no interval)" in repr(query.plan(epsilon=1))
