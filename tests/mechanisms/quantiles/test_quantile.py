"""Quantiles and the winsorized mean: exact laws, speed, shared budgets, accuracy."""

import math

import exact
import numpy as np
import pytest

from goodness import FALSE_ALARM, p_value
from hush import bounds
from hush import mechanisms as m
from hush.noise import Seeded
from hush.privacy import Pure


@pytest.mark.thin(3)
@pytest.mark.statistical
@pytest.mark.parametrize("data", [[0.2, 0.2, 0.2, 0.7], [0.5], [0.0, 1.0, 1.0], []])
def test_n8_a3_points_follow_the_density_of_algorithm_3(data):
    mechanism, runs = m.Quantile(0.25, (0, 1), 2.0), 4000
    source = Seeded(51)
    draws = np.array([mechanism.run(data, source=source) for _ in range(runs)])
    cuts = np.unique([0.0, 0.1, 0.35, 0.6, *data, 1.0])
    law = exact.quantile([*data], [0.1, 0.35, 0.6, *data], 0.25, (0, 1), 2.0)[0]
    observed = np.histogram(draws, bins=cuts)[0]
    assert p_value(observed, law * runs) > FALSE_ALARM
    if (
        data and data[-1] < 1
    ):  # the twin with the weight of the printed Algorithm 4, exp(-ε|·|)
        twin = exact.quantile([*data], [0.1, 0.35, 0.6, *data], 0.25, (0, 1), 0.5)[0]
        assert p_value(observed, twin * runs) < FALSE_ALARM


def test_the_printed_algorithm_4_costs_twice_as_much():
    # Scale 1/ε instead of 2/ε: some neighbors are farther apart than ε allows.
    worst = 0.0
    for a, b in (([0.3], [0.9]), ([0.0, 0.5], [0.9, 0.5])):
        p, q = exact.quantile(a, b, 0.5, (0, 1), 1.0)
        worst = max(worst, np.abs(np.log(p / q)).max())
    assert worst > 1.0
    assert (
        m.Quantile.for_epsilon(1, at=0.5, bounds=(0, 1), neighbors="replace-one").scale
        == 2
    )


@pytest.mark.statistical
def test_a_million_records():
    # Ranks leave ±200 with probability below e^-90.
    data = np.random.default_rng(1).normal(size=10**6)
    mechanism = m.Quantile.for_epsilon(1, at=0.9, bounds=(-10, 10))
    rank = np.count_nonzero(data <= mechanism.run(data))
    assert abs(rank - 900_000) < 200


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["laplace", "gumbel", "exponential"])
def test_a_million_candidates(kind):
    # The best of scores a million apart is missed with probability below e^-1000.
    u = np.random.default_rng(1).normal(size=10**6) * 1e6
    u[123] = 1e8
    assert m.NoisyMax(1.0, kind=kind).run(u) == 123


@pytest.mark.statistical
def test_several_quantiles_share_the_budget_better_than_one_by_one():
    rng = np.random.default_rng(8)
    data, levels = rng.uniform(0, 1, 2000), tuple(np.arange(1, 16) / 16)
    truth = np.quantile(data, levels)
    joint = m.Quantile.for_epsilon(1, at=levels, bounds=(0, 1))
    share = Pure(epsilon=1 / 15)
    single = [m.Quantile.for_curve(share, at=a, bounds=(0, 1)) for a in levels]
    source = Seeded(52)
    together = [
        np.abs(joint.run(data, source=source) - truth).mean() for _ in range(20)
    ]
    apart = [
        np.mean(
            [
                abs(s.run(data, source=source) - t)
                for s, t in zip(single, truth, strict=True)
            ]
        )
        for _ in range(20)
    ]
    assert np.mean(together) < 0.5 * np.mean(apart)
    assert joint.curve(1).epsilon_at(0) <= 1 + 1e-9
    assert np.all(np.diff(joint.run(data, source=source)) >= 0)


@pytest.mark.statistical
@pytest.mark.parametrize("n", [1000, 10_000])
def test_n7_6_the_error_falls_like_one_over_n(n):
    rng, source = np.random.default_rng(12), Seeded(53)
    mechanism = m.Quantile.for_epsilon(
        1, at=0.5, bounds=(-50, 50), neighbors="replace-one"
    )
    limit = bounds.quantile_error(n, 1.0, density=1.0, t=math.log(100))
    data = rng.uniform(0, 1, n)
    errors = [
        abs(mechanism.run(data, source=source) - np.median(data)) for _ in range(200)
    ]
    assert np.mean(np.array(errors) <= limit) > 0.95
    ranks = mechanism.error.quantile(0.99)
    hit = [
        abs((data <= mechanism.run(data, source=source)).sum() - n / 2)
        for _ in range(100)
    ]
    assert np.mean(np.array(hit) <= ranks + 1) > 0.95


@pytest.mark.statistical
def test_n8_a2_the_winsorized_mean_is_accurate_and_costs_what_it_runs():
    rng, source = np.random.default_rng(13), Seeded(54)
    mechanism = m.WinsorizedMean.for_epsilon(2, bounds=(-1000, 1000))
    data = rng.normal(3.0, 1.0, 5000)
    answers = [mechanism.run(data, source=source) for _ in range(30)]
    assert np.abs(np.array(answers) - data.mean()).max() < 1.0
    # ε/4 + ε/4 + ε/2, and strictly better than pure ε below that.
    curve = mechanism.curve(1)
    assert curve.epsilon_at(0.0) == pytest.approx(2.0, rel=1e-6)
    assert curve.delta_at(0.5) < Pure(epsilon=2.0).delta_at(0.5)
    # One wild record moves it by less than the clamped range: robustness of clamping.
    wild = [mechanism.run([*data[1:], 1e9], source=source) for _ in range(10)]
    assert np.abs(np.array(wild) - data.mean()).max() < 2.0


@pytest.mark.statistical
def test_n8_a2_noise_is_added_in_units_of_the_private_range():
    data = np.linspace(0.4, 0.6, 64)
    mechanism, source = m.WinsorizedMean((0, 1), 1.0), Seeded(55)
    answers = np.array([mechanism.run(data, source=source) for _ in range(300)])
    assert answers.std() > 0.1 * mechanism.error.std / 64
    assert len(set(answers)) == 300


def test_n8_a2_the_range_reaches_as_far_as_the_notes_say():
    # Nearly no noise: quartiles about 0 and 1, so rad = 64^(1/3 + 1/10) and the one
    # record at the far bound is clamped to 1/2 + 4·rad.
    data = [0.0] * 16 + [0.001] * 16 + [1.0] * 16 + [1.001] * 15 + [1e6]
    reach = 4 * 64 ** (1 / 3 + 1 / 10)
    found = [
        m.WinsorizedMean((0.0, 1e6), 1e-4).run(data, source=Seeded(seed))
        for seed in range(5)
    ]
    assert found == pytest.approx([(sum(data[:-1]) + 0.5 + reach) / 64] * 5, rel=3e-3)


def test_n8_a2_the_budget_is_shared_as_the_notes_say():
    # ε/4 for each quartile, ε/2 for the noise 2(u - l)/(kε).
    mechanism = m.WinsorizedMean.for_epsilon(0.5, bounds=(0, 1))
    assert float(mechanism.scale) == pytest.approx(2 / 0.5, rel=1e-12)
    # In units of (u - l)/k the noise has standard deviation √2·scale.
    assert mechanism.error.std == pytest.approx(math.sqrt(2) * 4, rel=1e-6)
    quartile = m.Quantile.for_epsilon(
        0.5 / 4, at=0.25, bounds=(0, 1), neighbors="replace-one"
    )
    exact = 2 * quartile.curve(1).epsilon_at(0) + 1 / float(mechanism.scale)
    assert mechanism.curve(1).epsilon_at(0) == pytest.approx(exact, rel=1e-6)
