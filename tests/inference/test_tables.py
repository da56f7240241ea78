"""Answers about tables cover the population their people came from."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import hush
from goodness import FALSE_ALARM

GROUPS = 200


def population(rng, people, kind):
    """One row per person: every group is a sample of its own."""
    sizes = rng.poisson(people, GROUPS)
    values = {
        "two-point": lambda n: 10.0 * (rng.random(n) < 0.3),
        "uniform": lambda n: rng.uniform(0, 10, n),
    }[kind](sizes.sum())
    groups = np.repeat(np.arange(GROUPS), sizes)
    return pd.DataFrame({"person": np.arange(sizes.sum()), "g": groups, "x": values})


def released(frame, epsilon):
    data = hush.open(frame, unit="person", budget=hush.Budget(epsilon=100), rows=1)
    query = data.group_by("g", keys=list(range(GROUPS))).agg(
        count=hush.count(),
        total=hush.sum("x", bounds=(0, 10)),
        less=hush.sum("0 - x", bounds=(-10, 0)),
        mean=hush.mean("x", bounds=(0, 10)),
        mixed=hush.sum("x - 5", bounds=(-5, 5)),
    )
    return query.release(epsilon=epsilon)


@pytest.mark.thin(2)
@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["two-point", "uniform"])
@pytest.mark.parametrize(
    "people", [20, pytest.param(200, marks=pytest.mark.slow, id="200")]
)
def test_population_intervals_cover(kind, people):
    frame = population(np.random.default_rng(people), people, kind)
    answer = released(frame, 20.0)
    share = {"two-point": 3.0, "uniform": 5.0}[kind]
    truth = {"count": people, "total": people * share, "mean": share}
    truth["less"] = -truth["total"]
    found = answer.interval(0.9, population=True)
    assert set(found) == set(truth)  # values of both signs need their spread
    for name, value in truth.items():
        low, high = found[name]
        hits = int(((low <= value) & (value <= high)).sum())
        assert stats.binom.cdf(hits, GROUPS, 0.9) > FALSE_ALARM, name
        if name == "count" or kind == "two-point":
            # Nothing varies more: coverage is nominal, not above.
            assert stats.binom.sf(hits - 1, GROUPS, 0.93) > FALSE_ALARM, name
        # Intervals for the data alone do not cover the population.
        inner = answer.interval(0.9)[name]
        blind = int(((inner[0] <= value) & (value <= inner[1])).sum())
        if people == 200 and name != "mean":
            assert stats.binom.cdf(blind, GROUPS, 0.9) < FALSE_ALARM, name
