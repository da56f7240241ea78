"""Many releases: textbook and optimal composition, moments, sums of losses."""

import math

import mpmath as mp
import numpy as np
import pytest

from hush.errors import InvalidArgument
from hush.privacy import (
    GDP,
    Approx,
    Pair,
    Pure,
    advanced,
    basic,
    calibrate,
    compose,
    mixed,
    moments,
    per_step,
    poisson,
    repeat,
    sgd_moment_estimate,
    sgd_std_estimate,
)
from hush.privacy.rules import optimal_composition
from privacy import oracles


@pytest.mark.parametrize(("epsilon", "times"), [(0.1, 100), (0.01, 5000), (0.5, 10)])
def test_textbook_composition_is_looser_than_optimal(epsilon, times):
    loose = advanced(Pure(epsilon=epsilon), times=times, slack=1e-6)
    tight = repeat(Pure(epsilon=epsilon), times=times)
    assert tight.delta_at(loose.epsilon) <= 1e-6
    assert tight.epsilon_at(1e-6) < min(loose.epsilon, times * epsilon)
    assert basic(*[Pure(epsilon=epsilon)] * 3).epsilon == pytest.approx(3 * epsilon)
    step = per_step(0.9, slack=1e-6, times=times)
    assert advanced(step, times=times, slack=1e-6).epsilon <= 0.9


def test_optimal_composition_by_enumeration():
    # N10.2: all outcomes of k copies, with failures.
    for epsilon, delta, times in ((0.5, 0.0, 4), (0.7, 0.02, 3), (0.05, 1e-4, 5)):
        p, q = oracles.response(epsilon, delta)
        joint = oracles.product(*[p] * times), oracles.product(*[q] * times)
        curve = repeat(Approx(epsilon=epsilon, delta=delta), times=times)
        for at in (0.0, 0.4 * epsilon, 1.3 * epsilon, (times - 0.5) * epsilon):
            truth = oracles.hockey(*joint, at)
            assert curve.delta_at_lower(at) <= truth <= curve.delta_at(at)
            assert curve.delta_at(at) == pytest.approx(float(truth), rel=1e-11)


def test_ten_randomized_responses_count_ten_times():
    once, ten = Pure(epsilon=0.5), repeat(Pure(epsilon=0.5), times=10)
    assert ten.epsilon_at(0.0) == pytest.approx(5.0)
    assert ten.delta_at(1.0) > once.delta_at(0.0)
    p, q = oracles.response(0.5)
    total = mp.fsum(
        mp.binomial(10, i)
        * max(p[1] ** (10 - i) * p[2] ** i - mp.e * q[1] ** (10 - i) * q[2] ** i, 0)
        for i in range(11)
    )
    assert ten.delta_at(1.0) == pytest.approx(float(total), rel=1e-12)


def test_many_copies_keep_relative_accuracy():
    # Far in the tail, against an exact sum in 40 digits.
    epsilon, times, at = 0.1, 2000, 25.0
    e = mp.mpf(epsilon)
    p = mp.e**e / (1 + mp.e**e)
    total = mp.fsum(
        mp.binomial(times, m)
        * (p**m * (1 - p) ** (times - m) - mp.e**at * p ** (times - m) * (1 - p) ** m)
        for m in range(1126, 1500)
    )
    curve = repeat(Pure(epsilon=epsilon), times=times)
    low, high = curve.delta_at_lower(at), curve.delta_at(at)
    assert low * (1 - 1e-13) <= total <= high
    assert high - low <= 1e-11 * high


def test_different_parameters_within_a_requested_error():
    curves = [Pure(0.1), Pure(0.25), Approx(0.4, 1e-3), Pure(0.3), Approx(0.2, 1e-4)]
    laws = [oracles.response(c.epsilon, getattr(c, "delta", 0.0)) for c in curves]
    p, q = (
        oracles.product(*[law[0] for law in laws]),
        oracles.product(*[law[1] for law in laws]),
    )
    for relative in (1e-2, 1e-4):
        low, high = mixed(curves, 0.5, relative=relative)
        assert low <= oracles.hockey(p, q, 0.5) <= high
        assert high - low <= relative * high
    with pytest.raises(InvalidArgument):
        mixed([GDP(mu=1.0)], 0.5)


def test_moments_accountant():
    # N11.2 on a Gaussian: moments add, and the tail bound covers the hockey-stick.
    account = moments(GDP(mu=0.2), times=25)
    for epsilon in (1.0, 3.0, 6.0):
        truth = oracles.gaussian_delta(1, epsilon)
        assert truth <= account.delta_at(epsilon) <= account.moment_delta_at(epsilon)
    by_hand = min(math.exp(s * (s + 1) / 2 - 3 * s) for s in np.linspace(0.01, 8, 4000))
    assert account.moment_delta_at(3.0) == pytest.approx(by_hand, rel=2e-2)


def test_sgd_asymptotics_next_to_exact_numbers():
    # N11.L7: the leading term is close to the exact log moment for small rates.
    std, rate = 4.0, 1e-3
    for order in (2, 5, 12):
        estimate = sgd_moment_estimate(std, rate, order)
        exact = order * poisson(GDP(mu=1 / std), rate=rate).renyi_at(order + 1)
        assert 0.4 * estimate < exact < 1.2 * estimate
    with pytest.raises(InvalidArgument):
        sgd_moment_estimate(4.0, 0.1, 2)
    # N11.3: the estimated noise grows as √T.
    ratio = sgd_std_estimate(1.0, 1e-5, 0.01, 40000) / sgd_std_estimate(
        1.0, 1e-5, 0.01, 10000
    )
    assert ratio == pytest.approx(2.0)


def test_copies_of_enormous_numbers_stay_cheap_to_describe():
    assert "1000000000000" in repr(repeat(Pure(epsilon=1e-6), times=10**12))
    low, high = optimal_composition.copies(0.001, 0.0, 100_000, np.array([1.0]))
    assert high[0] - low[0] <= 1e-9 * high[0]


def test_noise_grows_as_the_count_and_as_its_root():
    # N2.take: for q answers at a fixed total, Laplace noise grows as q, Gaussian as √q.
    def laplace(times):
        return calibrate(
            lambda s: Pure(epsilon=times / s), target=Pure(epsilon=1.0), relative=1e-6
        )

    def gaussian(times):
        return calibrate(
            lambda s: repeat(GDP(mu=1 / s), times=times), target=Approx(1.0, 1e-6)
        )

    assert laplace(400) / laplace(100) == pytest.approx(4.0, rel=1e-3)
    assert gaussian(400) / gaussian(100) == pytest.approx(2.0, rel=1e-6)


def test_basic_composition_covers_the_product():
    # N3.3: (Σε, Σδ) on enumerated products, also when the second depends on the first.
    first, second = oracles.response(0.3, 0.01), oracles.response(0.5, 0.02)
    bound = basic(Approx(0.3, 0.01), Approx(0.5, 0.02))
    p, q = oracles.product(first[0], second[0]), oracles.product(first[1], second[1])
    assert oracles.hockey(p, q, bound.epsilon) <= bound.delta
    # The second answer's truth is flipped after one outcome of the first.
    p = [a * b for i, a in enumerate(first[0]) for b in second[i % 2]]
    q = [a * b for i, a in enumerate(first[1]) for b in second[1 - i % 2]]
    assert oracles.hockey(p, q, bound.epsilon) <= bound.delta
    assert bound.epsilon == pytest.approx(0.8)


def test_renyi_divergences_of_products_add():
    # N12.3, by the definition on the product space.
    p, q, r, s = [0.5, 0.5], [0.4, 0.6], [0.2, 0.8], [0.3, 0.7]
    both = compose(Pair(p, q), Pair(r, s))
    joint = oracles.product(p, r), oracles.product(q, s)
    for order in (1, 2, 5.5):
        truth = max(oracles.renyi(*joint, order), oracles.renyi(*joint[::-1], order))
        assert both.renyi_at(order) >= truth
        assert both.renyi_at(order) <= truth * 1.2


def test_gaussian_losses_through_the_transform():
    # N14.P2: a Gaussian with a Laplace through characteristic functions, against a
    # two-dimensional integral done by hand.
    mu, b, epsilon = 0.5, 3.0, 0.4
    both = compose(GDP(mu=mu), Pair.laplace(scale=b))

    def inner(y):
        # Laplace outcome y has loss ℓ; the Gaussian must bring the rest.
        loss = (abs(y) - abs(y - 1)) / mp.mpf(b)
        rest = mp.mpf(epsilon) - loss
        a = rest / mu - mp.mpf(mu) / 2
        density = mp.e ** (-abs(y - 1) / mp.mpf(b)) / (2 * mp.mpf(b))
        return density * (mp.ncdf(-a) - mp.e**rest * mp.ncdf(-a - mu))

    truth = oracles.integral(inner, [-200, -20, 0, 1, 20, 200])
    assert both.delta_at_lower(epsilon) <= truth <= both.delta_at(epsilon)
    assert both.delta_at(epsilon) == pytest.approx(float(truth), rel=1e-6)
