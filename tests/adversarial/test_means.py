"""Attempts on the intervals of means: few rows, rows alike, rows at the bounds."""

import math

import numpy as np
import pytest
from scipy import stats

import hush
from hush import inference
from hush.mechanisms import Geometric
from hush.noise import Seeded

BOUNDS = (10.0, 90.0)
SIZES = [0, 1, 2, 10, 300]
COPIES = 60  # groups of each size
AT = {"low": 10.0, "beyond": -1e9, "high": 90.0, "middle": 50.0, "odd": 12.34}


def opened(table, **more):
    stage = hush.Ledger.open(
        "memory://",
        budget=hush.Budget(epsilon=1e9, delta=1e-3),
        dataset="data",
        rehearsal=True,
    )
    return hush.open(table, ledger=stage, **more)


def crowd():
    """Groups whose rows are all alike, and the means that their rows have."""
    means = [np.clip(value, *BOUNDS) for value in AT.values()]
    sizes = np.repeat(SIZES, COPIES)
    value = np.resize(list(AT.values()), sizes.size)
    group = np.repeat(np.arange(sizes.size), sizes)
    table = {"g": group, "x": np.repeat(value, sizes)}
    return table, sizes, np.resize(means, sizes.size)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_the_mean_of_bounded_rows_is_held_at_the_level(neighbors, delta):
    table, sizes, truth = crowd()
    data = opened(table, neighbors=neighbors)
    query = data.group_by("g", keys=range(sizes.size)).agg(
        m=hush.mean("x", bounds=BOUNDS)
    )
    source = Seeded(11)
    answer = query.release(epsilon=2, delta=delta, source=source)
    for level in (0.5, 0.9):
        low, high = answer.interval(level)["m"]
        assert np.all((low <= answer["m"]) & (answer["m"] <= high))
        assert np.all((low >= BOUNDS[0]) & (high <= BOUNDS[1]))
        held = (low <= truth) & (truth <= high)
        for size in SIZES[1:]:  # of nobody any mean is true
            seen = int(held[sizes == size].sum())
            # Fails wrongly with probability below 1e-7 for each of 32 counts.
            assert stats.binom.cdf(seen, COPIES, level) > 1e-7


def test_rows_that_are_all_alike_do_not_slip_out_by_the_rounding_of_a_row():
    # So much epsilon that the noise is far below the steps which a row counts in.
    values = [10.0001, 12.34, 33.3333, 77.7777, 5.0, 95.0]
    table = {"g": np.repeat(range(6), 2000), "x": np.repeat(values, 2000)}
    bounds = (10.01, 89.9)
    query = (
        opened(table).group_by("g", keys=range(6)).agg(m=hush.mean("x", bounds=bounds))
    )
    answer = query.release(epsilon=1e6, source=Seeded(1))
    low, high = answer.interval(0.999999)["m"]
    truth = np.clip(values, *bounds)
    assert np.all((low <= truth) & (truth <= high))
    assert np.all(high - low < 1e-4)


def test_noise_far_below_all_floats_is_not_taken_for_none():
    from hush.tables.aggregates.aggregate import Noise, quotient_noise

    plain = quotient_noise(Noise(False, 20.0, 1e-6), Noise(False, 20.0, 1e-6), 0.95)
    for power in (-200, -100, 100, 200):
        unit = 10.0**power
        tiny = Noise(False, 20.0 * unit, 1e-6 * unit)
        assert quotient_noise(tiny, tiny, 0.95) / unit == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("scale", [0.3, 0.5, 2])
def test_whole_noise_of_few_steps_is_covered_to_its_atoms(scale, level):
    """Values that are all alike leave noise alone, and its atoms are at the ends."""
    ratio = math.exp(-1 / scale)
    chance = {k: (1 - ratio) / (1 + ratio) * ratio ** abs(k) for k in range(-30, 31)}
    covered = 0.0
    for noise, each in chance.items():
        low, high = inference.variance_interval(
            noise,
            n=10**6,
            mechanism=Geometric(scale=scale),
            kurtosis=3,
            level=level,
        )
        covered += each * (low <= 0 <= high)
    assert covered >= level  # exactly: all releases are listed
