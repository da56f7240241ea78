"""Textbook results on composition and conversion: the formula anew, and how near it is.

The first test of each pair evaluates the printed formula with mpmath; the second one
finds an instance for which the result is needed within a stated factor.
"""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import special

from hush.mechanisms import Gaussian
from hush.privacy import (
    GDP,
    RDP,
    ZCDP,
    Approx,
    Pure,
    advanced,
    amplified,
    amplified_approx,
    amplified_loose,
    clt,
    from_tail,
    group,
    moments,
    per_step,
    repeat,
    sgd_moment_estimate,
    sgd_std_estimate,
)
from privacy import oracles

CLOSE = 1e-12


def same(found, printed):
    return found == pytest.approx(float(printed), rel=CLOSE)


# -- Composition -----------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.003, 0.7])
@pytest.mark.parametrize("times", [1, 30, 10_000])
def test_n10_1_is_the_printed_formula(epsilon, times):
    e, slack = mp.mpf(epsilon), mp.mpf(1e-7)
    printed = mp.sqrt(2 * times * mp.log(1 / slack)) * e + times * e * (mp.exp(e) - 1)
    found = advanced(Approx(epsilon, 1e-9), times=times, slack=1e-7)
    assert same(found.epsilon, printed)
    assert same(found.delta, times * mp.mpf(1e-9) + slack)


def test_n10_1_is_attained_within_a_third_by_coins():
    # Ten thousand randomized responses of ε = 0.01: the optimal ε at the same δ.
    loose = advanced(Pure(epsilon=0.01), times=10_000, slack=1e-9)
    tight = repeat(Pure(epsilon=0.01), times=10_000).epsilon_at(1e-9)
    assert tight <= loose.epsilon <= 1.35 * tight


@pytest.mark.parametrize("times", [1, 50, 10_000])
def test_n10_c1_is_the_printed_formula_and_gives_away_half(times):
    slack = mp.mpf(1e-6)
    step = per_step(0.75, slack=1e-6, times=times)
    printed = mp.mpf("0.75") / (2 * mp.sqrt(2 * times * mp.log(1 / slack)))
    assert same(step.epsilon, printed)
    assert same(step.delta, slack / (2 * times))
    # The first term of advanced composition is then half of the target.
    found = advanced(step, times=times, slack=1e-6).epsilon
    assert 0.5 * 0.75 <= found <= 0.53 * 0.75


def test_n11_2_moments_are_the_sum_and_tails_follow_by_markov():
    # Gaussian: the log moment is order·r = λ(λ+1)μ²/2, so δ is a Chernoff minimum.
    account = moments(GDP(mu=0.25), times=16)
    for order in (2.0, 7.0):
        assert account.renyi_at(order) == pytest.approx(16 * order / 32, rel=1e-9)
    # λ = ε - 1/2 makes λ(λ+1)/2 - λε smallest: e^(-(ε - 1/2)²/2).
    printed = float(mp.exp(-(mp.mpf("2.5") ** 2) / 2))
    assert account.moment_delta_at(3.0) == pytest.approx(printed, rel=1e-3)
    exact = float(oracles.gaussian_delta(1, 3.0))
    assert exact <= account.moment_delta_at(3.0) <= 30 * exact


# -- DP-SGD as first accounted ---------------------------------------------------------


@pytest.mark.parametrize(("std", "rate", "order"), [(1.0, 0.01, 2), (4.0, 1e-3, 12.5)])
def test_n11_l7_is_the_printed_leading_term(std, rate, order):
    q, o, s = mp.mpf(rate), mp.mpf(order), mp.mpf(std)
    found = sgd_moment_estimate(std, rate, order)
    assert same(found, q**2 * o * (o + 1) / ((1 - q) * s**2))


def subsampled_log_moment(std, rate, order):
    """log E_P[(P/Q)^λ] for P = (1-q)N(0, σ²) + qN(1, σ²) and Q = N(0, σ²)."""
    q, s = mp.mpf(rate), mp.mpf(std)

    def term(x):
        ratio = 1 - q + q * mp.exp((2 * x - 1) / (2 * s * s))
        return mp.npdf(x, 0, s) * ratio ** (order + 1)

    return mp.log(mp.quad(term, [-12 * s, 0, 1, 4 * s, 14 * s + order]))


@pytest.mark.parametrize("order", [1, 4, 12])
def test_n11_l7_is_near_the_moment_by_quadrature(order):
    # The moment starts with λ(λ+1)q²/2·(e^(1/σ²) - 1): half of the printed term.
    exact = subsampled_log_moment(6.0, 1e-3, order)
    found = sgd_moment_estimate(6.0, 1e-3, order)
    assert exact <= found <= 2.2 * exact


def test_n11_3_is_the_printed_formula():
    found = sgd_std_estimate(0.5, 1e-5, 0.02, 900, constant=3.0)
    printed = 3 * mp.mpf(0.02) * mp.sqrt(900 * mp.log(1 / mp.mpf(1e-5))) / mp.mpf(0.5)
    assert same(found, printed)
    # The default constant is 2.
    assert same(sgd_std_estimate(0.5, 1e-5, 0.02, 900), 2 * printed / 3)


def test_n11_3_the_constant_two_is_enough_and_one_is_not():
    # Many steps of small rate are μ-GDP with μ = q√T·√(e^(1/σ²) - 1), in the limit.
    epsilon, delta, rate, steps = 0.5, 1e-6, 0.01, 100_000

    def lost(constant):
        std = sgd_std_estimate(epsilon, delta, rate, steps, constant=constant)
        mu = rate * math.sqrt(steps) * math.sqrt(math.expm1(1 / std**2))
        return oracles.gaussian_delta(mp.mpf(mu), epsilon)

    assert lost(2.0) <= delta < lost(1.0)


# -- The central limit -----------------------------------------------------------------


def coin_moments(epsilon):
    """Mean, variance and centered third absolute moment of the loss of one response."""
    e = mp.mpf(epsilon)
    p = mp.exp(e) / (1 + mp.exp(e))
    mean = (2 * p - 1) * e
    third = p * (e - mean) ** 3 + (1 - p) * (e + mean) ** 3
    return mean, e * e - mean**2, third


@pytest.mark.parametrize(("epsilon", "times"), [(0.5, 4), (0.02, 2500)])
def test_n13_t5_mu_and_gamma_are_the_printed_ones(epsilon, times):
    mean, variance, third = coin_moments(epsilon)
    limit = clt([Pure(epsilon=epsilon)] * times)
    mu = 2 * times * mean / mp.sqrt(times * variance)
    gamma = mp.mpf("0.56") * times * third / (times * variance) ** mp.mpf(1.5)
    assert limit.mu == pytest.approx(float(mu), rel=1e-9)
    assert limit.gamma == pytest.approx(float(gamma), rel=1e-9)
    low, high = limit.tradeoff_bracket(0.5)
    middle = special.ndtr(-special.ndtri(0.5 + limit.gamma) - limit.mu)
    assert low == pytest.approx(max(float(middle) - limit.gamma, 0.0), rel=1e-9)
    middle = special.ndtr(-special.ndtri(0.5 - limit.gamma) - limit.mu)
    assert high == pytest.approx(min(float(middle) + limit.gamma, 1.0), rel=1e-9)


def test_n13_t5_gamma_is_attained_within_a_factor_two_by_fair_sums():
    # One response: the distribution function of the standardized loss jumps by nearly
    # 1/2 at ±1, and Φ(1) - 1/2 = 0.34 away from it; γ = 0.56 there.
    limit = clt([Pure(epsilon=1e-3)])
    apart = float(special.ndtr(1.0)) - 0.5
    assert apart <= limit.gamma <= 1.7 * apart
    assert limit.gamma == pytest.approx(0.56, rel=1e-3)


# -- Conversions -----------------------------------------------------------------------


@pytest.mark.parametrize(("rho", "delta"), [(0.01, 1e-9), (2.0, 0.01)])
def test_z_4_2_is_the_printed_conversion_and_is_near(rho, delta):
    r = mp.mpf(rho)
    found = ZCDP(rho=rho).classical_epsilon_at(delta)
    assert same(found, r + 2 * mp.sqrt(r * mp.log(1 / mp.mpf(delta))))
    tight = ZCDP(rho=rho).epsilon_at(delta)
    gaussian = GDP(mu=math.sqrt(2 * rho)).epsilon_at(delta)
    assert gaussian <= tight <= found <= 1.5 * gaussian


def test_n12_2_is_the_least_of_the_printed_conversions_and_is_near():
    # (α, α·ρ) for all α: min α·ρ + log(1/δ)/(α - 1) = ρ + 2√(ρ log(1/δ)).
    rho, delta = mp.mpf("0.05"), mp.mpf(1e-6)
    found = RDP(lambda order: 0.05 * order).classical_epsilon_at(1e-6)
    printed = float(rho + 2 * mp.sqrt(rho * mp.log(1 / delta)))
    assert found == pytest.approx(printed, rel=1e-3)
    assert found >= printed * (1 - CLOSE)


@pytest.mark.parametrize("delta", [1e-9, 0.05, 0.8])
def test_n9_3_the_classical_constant_is_the_printed_one(delta):
    found = Gaussian.for_epsilon(0.5, 3, delta=delta, classical=True).std
    c = max(mp.sqrt(2 * mp.log(mp.mpf("1.32") / mp.mpf(delta))), mp.mpf("1.5"))
    assert same(found, c * 3 / mp.mpf("0.5"))
    least = Gaussian.for_epsilon(0.5, 3, delta=delta).std
    assert least <= found
    assert delta > 1e-3 or found <= 1.25 * least


@pytest.mark.parametrize(("epsilon", "rate"), [(0.1, 0.5), (3.0, 0.01), (40.0, 0.25)])
def test_n11_1_is_the_printed_formula_and_is_attained(epsilon, rate):
    e, q = mp.mpf(epsilon), mp.mpf(rate)
    printed = mp.log(1 + q * (mp.exp(e) - 1))
    assert same(amplified(epsilon, rate), printed)
    assert same(amplified_approx(epsilon, 1e-6, rate).delta, q * mp.mpf(1e-6))
    # A response that is sampled: its likelihood ratio is the printed one exactly.
    truth, other = mp.exp(e) / (1 + mp.exp(e)), 1 / (1 + mp.exp(e))
    assert same(mp.log((q * truth + (1 - q) * other) / other), printed)
    loose = amplified_loose(rate)
    assert same(loose[0], (mp.e - 1) * q)
    assert same(loose[1], 2 * q)
    assert amplified(1.0, rate) <= loose[0] <= loose[1]


def test_n3_2g_is_the_printed_formula():
    found = group(Approx(0.3, 1e-7), 5)
    e = mp.mpf(0.3)
    # Never worse than the notes' bound, and within a factor two of it.
    printed = mp.mpf(1e-7) * (mp.exp(5 * e) - 1) / (mp.exp(e) - 1)
    assert found.delta_at(1.5) <= float(printed) * (1 + CLOSE)
    assert found.delta_at(1.5) >= float(printed) / 2
    assert group(Pure(0.3), 5).epsilon == pytest.approx(1.5)


def test_n9_l6_the_tail_is_the_delta_and_is_attained_within_a_factor():
    # The loss of N(1, 1) against N(0, 1) is N(1/2, 1).
    tail = float(special.ndtr(-(3.0 - 0.5)))
    found = from_tail(3.0, tail)
    assert found == Approx(3.0, tail)
    exact = float(oracles.gaussian_delta(1, 3.0))
    assert exact <= found.delta <= 4.1 * exact


def test_the_bracket_of_the_limit_is_symmetric_in_its_errors():
    limit = clt([Pure(epsilon=0.05)] * 400)
    low, high = limit.tradeoff_bracket(np.array([0.2, 0.5]))
    middle = limit.tradeoff_estimate(np.array([0.2, 0.5]))
    assert np.all(low + limit.gamma < middle + 1e-12)
    assert np.all(middle < high - limit.gamma + 1e-12)
