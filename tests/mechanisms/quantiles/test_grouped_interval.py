"""Ends around a quantile: their joint law, and coverage of data and population.

Statistical checks fail wrongly with probability 1e-9 each.
"""

import math
from fractions import Fraction

import cell_laws
import numpy as np
import pytest
from scipy import stats

from hush import mechanisms as m
from hush.mechanisms.quantiles import grouped_interval, grouped_quantile
from hush.noise import Seeded


@pytest.mark.parametrize("at", [0.5, pytest.param(0.2, marks=pytest.mark.slow)])
def test_the_interval_s_joint_law_is_within_its_curve(at):
    mechanism = m.CellInterval(at, 2, 2.0, level=0.5)
    point, miss = mechanism.point, mechanism._failure_chance
    pad = math.ceil(2 / miss)
    alpha = mechanism._alpha

    def whole(row):
        total = int(row.sum())
        laws = [cell_laws.law(row, alpha * total, point.scale)]
        for side in (-1, 1):
            scale = mechanism._end_scale(side)
            beyond = grouped_quantile.depth(scale, 2, miss)
            padded = (pad, 0) if side < 0 else (0, pad)
            laws.append(
                cell_laws.law(row, alpha * total + side * beyond, scale, padded)
            )
        return cell_laws.joint(*laws)

    worst, claimed = 0.0, mechanism.curve(1).delta_at(0.1)
    for one, other in cell_laws.neighbors(1, 2, 3, 1, times=9):
        p, q = whole(one[0]), whole(other[0])
        assert np.abs(np.log(p / q)).max() <= 0.5 + 1e-9
        worst = max(worst, cell_laws.hockey(p, q, 0.1))
    assert 0 < worst <= claimed


def inside(found, low_truth, high_truth):
    return np.mean((found.low <= low_truth) & (found.high >= high_truth))


def tight(size, half):
    """A group whose other cells all lie just beyond the reach of the low end."""
    return [[half] + [0] * (size - 2) + [half]] * 2000


@pytest.mark.statistical
def test_ends_cover_at_the_nominal_level_where_it_is_hardest(monkeypatch):
    # All cells right of the quantile are wrong and just beyond reach: the chance to
    # miss is β/(1+β), which both the claim and the bound allow no more than.
    mechanism = m.CellInterval(0.5, 256, 1.0, level=0.8)
    value = tight(256, 8000)
    missed = np.mean(mechanism.run(value, source=Seeded(63)).low > 0)
    assert missed <= 0.1 + cell_laws.deviations(0.1, 2000)
    assert missed >= 0.1 / 1.1 - cell_laws.deviations(0.1, 2000)
    real = grouped_interval.depth
    monkeypatch.setattr(grouped_interval, "depth", lambda *given: real(*given) * 4 // 5)
    twin = np.mean(mechanism.run(value, source=Seeded(63)).low > 0)
    assert twin > 0.1 + cell_laws.deviations(0.1, 2000)


@pytest.mark.thin(3)
@pytest.mark.statistical
@pytest.mark.parametrize("at", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(
    "people",
    [
        pytest.param(0, marks=pytest.mark.slow),
        pytest.param(1, marks=pytest.mark.slow),
        pytest.param(20, marks=pytest.mark.slow),
        300,
        pytest.param(3000, marks=pytest.mark.slow),
    ],
)
def test_intervals_cover_the_quantile_of_the_data(at, people):
    # 2000 groups at once; the true quantiles are those cells that the interval holds.
    rng, runs = np.random.default_rng(3), 2000 if people < 3000 else 300
    value = np.stack(
        [
            np.bincount(
                np.minimum(rng.lognormal(3, 1, people), 199).astype(int), None, 200
            )
            for _ in range(runs)
        ]
    )
    mechanism = m.CellInterval.for_epsilon(1, at=at, size=200, level=0.9)
    found = mechanism.run(value, source=Seeded(64))
    up_to = np.cumsum(value, axis=1)
    rank = Fraction(at).limit_denominator(10**6) * people
    low = np.argmax(up_to >= max(float(rank), 1), axis=1)
    high = np.argmax(up_to >= min(math.floor(rank) + 1, people), axis=1)
    if people == 0:
        low = high = found.point
    assert inside(found, low, high) >= 0.9 - cell_laws.deviations(0.9, runs)
    assert np.all(found.low <= found.point)
    assert np.all(found.point <= found.high)
    if people == 3000 and 0 < at < 1:  # and they say something
        assert np.median(found.high - found.low) < 60


@pytest.mark.statistical
@pytest.mark.parametrize("at", [0.5, pytest.param(0.9, marks=pytest.mark.slow)])
def test_intervals_cover_the_population(at):
    # People with 1 to 4 rows that depend on each other, weights 12/rows (rows = 1).
    rng, runs, people = np.random.default_rng(4), 2000, 1000
    person = 12
    value = np.zeros((runs, 2000), dtype=np.int64)
    for run in range(runs):
        rows = rng.integers(1, 5, people)
        own = rng.integers(0, 1900, people)
        x = np.repeat(own, rows) + rng.integers(0, 100, rows.sum())
        np.add.at(value[run], x, np.repeat(person // rows, rows))
    # Every person weighs 12: the population law is that of own + jitter.
    law = np.convolve(np.full(1900, 1 / 1900), np.full(100, 1 / 100))
    truth = int(np.searchsorted(np.cumsum(law), at))
    make = m.CellInterval.for_epsilon
    public = {"at": at, "size": 2000, "level": 0.9}
    found = make(20, sensitivity=12, person=person, **public).run(
        value, source=Seeded(65)
    )
    assert inside(found, truth, truth) >= 0.9 - cell_laws.deviations(0.9, runs)
    assert np.median(found.high - found.low) < 400
    # The twin that leaves sampling out.
    noise = make(20, sensitivity=12, **public).run(value, source=Seeded(65))
    assert inside(noise, truth, truth) < 0.9 - cell_laws.deviations(0.9, runs)


@pytest.mark.parametrize(("chance", "slope"), [(0.5, 0.1), (0.5, 0.001), (0.1, 0.02)])
def test_lines_stay_above_the_sampling_error(chance, slope):
    rate = grouped_interval.exponent(chance, slope)
    n = np.arange(1, 4000)
    closest = 0.0
    for t in (1.0, 5.0, 20.0):
        below = np.ceil(n * (chance - slope) - t) - 1  # strictly below the line
        miss = stats.binom.cdf(below, n, chance)
        assert np.all(miss <= math.exp(-rate * t) * (1 + 1e-9))
        closest = max(closest, float(miss.max()) / math.exp(-rate * t))
    assert closest > 0.1
