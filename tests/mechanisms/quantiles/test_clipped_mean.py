"""The clipped mean: what one record moves, what it costs, how wrong it is."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush import mechanisms as m
from hush.errors import InvalidArgument, NoBound
from hush.mechanisms.quantiles import clipped_mean
from hush.noise import Seeded
from hush.privacy import Approx, Pure, compose

ODD = st.floats() | st.sampled_from([math.nan, math.inf, 0.0, 1e308, -1e308])
RECORDS = st.lists(ODD, min_size=2, max_size=6)


@given(RECORDS, ODD, st.floats(-1e300, 1e300), st.floats(0, 1e300))
def test_one_record_moves_the_sum_of_shares_by_one_at_most(data, other, low, wide):
    found = [
        clipped_mean._steps(np.array(each), low, wide)
        for each in (data, [other, *data[1:]])
    ]
    assert abs(found[0] - found[1]) <= 1 << 32
    assert min(found) >= 0
    assert max(found) <= len(data) << 32


def test_a_share_that_is_not_clipped_would_move_the_sum_farther():
    # The sabotaged twin: records far outside count with what they are.
    values = np.array([0.0, 9.0])
    twin = np.rint(np.ldexp(values / 1.0, 32)).astype(np.int64)
    assert abs(int(twin[0] - twin[1])) > 1 << 32
    assert clipped_mean._steps(values, 0.0, 1.0) == 1 << 32


@pytest.mark.parametrize("bounds", [None, (-4.0, 9.0)])
@pytest.mark.parametrize("data", [[], [1.0], [math.nan] * 3, [1e308, -1e308] * 9])
def test_every_answer_is_a_finite_number(bounds, data):
    mechanism = m.ClippedMean(2.0, 3.0, bounds=bounds)
    for seed in range(30):
        answer = mechanism.run(data, source=Seeded(seed))
        assert answer.shape == (3,)
        assert np.all(np.isfinite(answer))
        if bounds:
            assert bounds[0] <= answer[0] <= bounds[1]
            assert bounds[0] <= answer[1] <= bounds[1]


def test_noise_is_added_in_units_of_the_released_range(monkeypatch):
    # Both choices are fixed: what is left is the law of the noise, and its width.
    monkeypatch.setattr(m.ClippedMean, "_range", lambda *_: (0.5, 0.1))
    mechanism, data = m.ClippedMean(2.0, 9.0, reach=3.0), [0.0, 0.45, 0.55, 9.0]
    clipped = np.mean(np.clip(data, 0.2, 0.8))
    source = Seeded(5)
    errors = [mechanism.run(data, source=source)[0] - clipped for _ in range(4000)]
    expected = 0.6 / 4 * 2.0 * math.sqrt(2)
    # The variance of 4000 squares of Laplace noise: 9 % is six deviations.
    assert np.std(errors) == pytest.approx(expected, rel=0.11)
    assert abs(np.mean(errors)) < 6.1 * expected / math.sqrt(4000)


@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("records", [50, 1000, 10**6])
def test_a_plan_costs_what_was_asked(dimension, delta, records):
    for epsilon in (0.1, 1.0, 4.0):
        found = m.ClippedMean.planned(
            epsilon, records=records, dimension=dimension, delta=delta
        )
        curve = found.curve()
        assert curve.epsilon_at(delta) <= epsilon
        assert curve.epsilon_at(0.0 if not found.gaussian else delta) >= 0.97 * epsilon
        assert not found.gaussian or (delta and dimension > 1)


def test_delta_tightens_many_coordinates():
    def spread(delta, dimension):
        found = m.ClippedMean.planned(
            1, records=10**4, dimension=dimension, delta=delta
        )
        assert found.gaussian is bool(delta and dimension > 2)
        return found.std

    assert spread(1e-6, 40) < 0.6 * spread(0.0, 40)
    assert spread(1e-6, 2) == spread(0.0, 2)


def test_joint_noise_is_less_than_a_share_of_epsilon_for_each():
    joint = m.ClippedMean.planned(1, records=10**6, dimension=6)
    alone = m.ClippedMean.planned(1 / 6, records=10**6)
    assert joint.std < 0.6 * alone.std
    drawn = joint.perturbation
    noise = [drawn.run([0] * 6, source=Seeded(i))[0] for i in range(3000)]
    # Six deviations of the mean of 3000 squares with kurtosis below 6.
    assert np.std(noise) / 2**32 == pytest.approx(joint.std, rel=0.13)


@pytest.mark.parametrize("people", [1, 2, 3])
def test_the_curve_is_that_of_all_choices_and_the_noise(people):
    mechanism = m.ClippedMean(2.0, 10.0, dimension=3)
    choices = [Pure(Fraction(2 * people, 10))] * 6
    whole = compose(*choices, Pure(people / 2.0))
    assert mechanism.curve(people).epsilon_at(0) == pytest.approx(
        whole.epsilon_at(0), rel=1e-4
    )
    gaussian = m.ClippedMean(20.0, 10.0**6, dimension=4, gaussian=True)
    moved = m.Gaussian(20.0).curve(2 * people)  # √4 in ℓ2
    assert gaussian.curve(people).delta_at(1.0) >= moved.delta_at_lower(1.0)
    assert gaussian.curve(people).mu == pytest.approx(moved.mu, rel=1e-3)


def test_choices_that_leave_nothing_for_the_mean_are_refused():
    with pytest.raises(InvalidArgument, match="rank_scale must be more than 4"):
        m.ClippedMean.for_epsilon(1, rank_scale=4.0)
    with pytest.raises((InvalidArgument, NoBound)):
        m.ClippedMean.for_epsilon(1, rank_scale=40.0, gaussian=True)
    with pytest.raises(InvalidArgument, match="dimension=2"):
        m.ClippedMean(1.0, 9.0, dimension=2).run([1.0, 2.0])
    found = m.ClippedMean.for_curve(Approx(1.0, 1e-6), rank_scale=40.0, gaussian=True)
    assert found.curve().delta_at(1.0) <= 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("center", [0.0, 7.0, -30.0])
def test_the_mean_is_found_without_bounds(center):
    # Noise of standard deviation √2·6.1/(0.84·1000) of that of the records.
    data = center + np.random.default_rng(2).normal(size=1000)
    mechanism = m.ClippedMean.planned(1, records=1000, bounds=None)
    answers = np.array([mechanism.run(data, source=Seeded(i)) for i in range(60)])
    errors = answers[:, 0] - data.mean()
    assert np.abs(answers[:, 1] - center).max() < 0.5
    assert np.abs(errors).max() < 0.12
    assert np.std(errors) < 0.02


@pytest.mark.statistical
def test_several_coordinates_have_ranges_of_their_own():
    rng, source = np.random.default_rng(3), Seeded(6)
    data = rng.normal([0.0, 100.0, -5.0], [1.0, 10.0, 0.01], size=(4000, 3))
    mechanism = m.ClippedMean.planned(3, records=4000, dimension=3)
    mean, middle, spread = mechanism.run(data, source=source)
    assert np.abs((mean - data.mean(axis=0)) / [1.0, 10.0, 0.01]).max() < 0.1
    assert np.abs((middle - np.median(data, axis=0)) / [1.0, 10.0, 0.01]).max() < 0.2
    assert spread / [1.0, 10.0, 0.01] == pytest.approx([0.7] * 3, rel=0.5)
