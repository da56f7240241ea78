"""Laws every composition obeys, on random ones."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hush.privacy.accountants import tightest
from hush.privacy.pld.gaussian_loss import GaussianLoss, SubsampledGaussianLoss
from hush.privacy.pld.laplace_loss import LaplaceLoss

stds = st.floats(0.7, 10.0)
rates = st.floats(1e-3, 0.9)
directions = st.sampled_from(["add", "remove"])
counts = st.integers(20, 10**7)
log_deltas = st.floats(-40.0, -3.0)
SOME = settings(max_examples=8, deadline=None)


@SOME
@given(stds, rates, directions, counts, log_deltas, st.floats(0.01, 20.0))
def test_epsilon_falls_as_delta_grows(std, rate, direction, times, log_delta, more):
    laws = [(SubsampledGaussianLoss(std, rate, direction), times)]
    small = tightest.epsilon_bracket(laws, np.exp(log_delta - more))
    large = tightest.epsilon_bracket(laws, np.exp(log_delta))
    assert large[0] <= small[1]
    assert small[0] <= small[1]


@SOME
@given(stds, rates, directions, counts, log_deltas, st.floats(1.01, 3.0))
def test_epsilon_grows_with_steps_and_rate(
    std, rate, direction, times, log_delta, more
):
    delta = np.exp(log_delta)
    base = tightest.epsilon_bracket(
        [(SubsampledGaussianLoss(std, rate, direction), times)], delta
    )
    longer = tightest.epsilon_bracket(
        [(SubsampledGaussianLoss(std, rate, direction), 2 * times)], delta
    )
    denser = tightest.epsilon_bracket(
        [(SubsampledGaussianLoss(std, min(1.0, rate * more), direction), times)], delta
    )
    noisier = tightest.epsilon_bracket(
        [(SubsampledGaussianLoss(std * more, rate, direction), times)], delta
    )
    assert base[0] <= longer[1]
    assert base[0] <= denser[1]
    assert noisier[0] <= base[1]


@SOME
@given(stds, rates, directions, counts, st.lists(st.floats(0.0, 6.0), min_size=3))
def test_delta_falls_and_is_convex(std, rate, direction, times, epsilons):
    laws = [(SubsampledGaussianLoss(std, rate, direction), min(times, 10**4))]
    points = np.sort(epsilons)[:3]
    lower, upper = tightest.delta_bracket(laws, points)
    assert (lower <= upper).all()
    assert (lower[1:] <= upper[:-1]).all()
    x = np.exp(points)
    if x[2] > x[0] * (1 + 1e-6):
        share = (x[2] - x[1]) / (x[2] - x[0])
        chord = share * upper[0] + (1 - share) * upper[2]
        assert lower[1] <= chord * (1 + 1e-9)


@SOME
@given(st.floats(0.05, 1.0), st.floats(1.0, 20.0), st.integers(1, 30), log_deltas)
def test_order_and_grouping_do_not_matter(mu, scale, times, log_delta):
    delta = np.exp(log_delta)
    a, b = (GaussianLoss(mu), times), (LaplaceLoss(scale), 3)
    first = tightest.epsilon_bracket([a, b], delta)
    second = tightest.epsilon_bracket([b, (GaussianLoss(mu), 0), a], delta)
    split = tightest.epsilon_bracket([b, (GaussianLoss(mu * times**0.5), 1)], delta)
    assert first == second
    assert max(first[0], split[0]) <= min(first[1], split[1])


@SOME
@given(stds, rates, counts, st.floats(0.01, 5.0))
def test_the_roundtrip_is_consistent(std, rate, times, epsilon):
    laws = [(SubsampledGaussianLoss(std, rate, "remove"), times)]
    lower, upper = tightest.delta_bracket(laws, epsilon)
    if lower > 1e-280 and upper < 0.9:
        low, high = tightest.epsilon_bracket(laws, float(upper))
        assert low <= epsilon * (1 + 1e-9)
        low, high = tightest.epsilon_bracket(laws, float(lower))
        assert high >= epsilon * (1 - 1e-9)
