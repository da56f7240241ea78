"""Tradeoff functions, profiles, divergences: the same guarantee in every language."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, optimize, special

from hush.errors import InvalidArgument
from hush.law import DiscreteLaplace
from hush.privacy import (
    GDP,
    ZCDP,
    Approx,
    LossVariables,
    Order,
    Pair,
    Profile,
    Pure,
    Tradeoff,
    compare,
    f_divergence,
    from_tail,
    hockey_stick,
    loss_cdf,
    poisson,
    renyi,
    repeat,
    tail_at,
    variables,
)
from privacy import oracles

CURVES = [
    Pure(epsilon=0.8),
    Approx(epsilon=0.5, delta=0.01),
    GDP(mu=0.7),
    ZCDP(rho=0.2),
    Pair.laplace(scale=1.5),
    Pair.shift(DiscreteLaplace(3), by=2),
    Pair([0.5, 0.3, 0.2], [0.1, 0.3, 0.6]),
]


def _gaussian(mu):
    return lambda alpha: float(special.ndtr(special.ndtri(1 - alpha) - mu))


def test_tradeoff_of_two_laws_by_linear_programming():
    # N13.def1: the smallest type II error over all randomized tests.
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
    curve = Pair(p, q)
    for alpha in (0.05, 0.1, 0.25, 0.6):
        errors = []
        for null, other in ((p, q), (q, p)):
            best = optimize.linprog(-other, A_ub=[null], b_ub=[alpha], bounds=(0, 1))
            errors.append(1 + best.fun)
        assert curve.tradeoff_at(alpha) <= min(errors) + 1e-9
        assert curve.tradeoff_at_upper(alpha) >= curve.tradeoff_at(alpha)
    # At a symmetric table the two orders agree and the bound is reached.
    same = Pair([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
    best = optimize.linprog(
        [-0.5, -0.3, -0.2], A_ub=[[0.2, 0.3, 0.5]], b_ub=[0.3], bounds=(0, 1)
    )
    assert same.tradeoff_at(0.3) == pytest.approx(1 + best.fun, abs=1e-8)


@pytest.mark.parametrize(
    "bad",
    [
        lambda alpha: 1 - alpha**2,  # not convex
        lambda _: 1.0,  # above 1 - alpha
        lambda alpha: 0.5 * alpha,  # increasing
        lambda alpha: 1.0 if alpha == 0 else 0.0,  # jumps
        lambda _: -0.1,
        lambda _: math.nan,
    ],
)
def test_what_is_not_a_tradeoff_function_is_refused(bad):
    with pytest.raises(InvalidArgument, match="tradeoff"):
        Tradeoff(bad)


def test_tradeoff_from_function_matches_the_gaussian():
    curve = Tradeoff(_gaussian(1.0))
    for epsilon in (0.0, 0.7, 2.0, 4.0):
        truth = oracles.gaussian_delta(1, epsilon)
        assert curve.delta_at_lower(epsilon) <= truth <= curve.delta_at(epsilon)
        assert curve.delta_at(epsilon) - truth <= 2e-3 * truth
    assert curve.epsilon_at(1e-20) == math.inf  # beyond the digits of 1 - f


def test_symmetrisation_takes_the_larger_of_f_and_its_inverse():
    # N13.P2 on an asymmetric polygon.
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.1, 0.5, 0.4])

    def f(alpha):
        level, power = (
            np.cumsum(np.append(0, p[::-1])),
            np.cumsum(np.append(0, q[::-1])),
        )
        return 1 - float(np.interp(alpha, level, power))

    def inverse(alpha):
        grid = np.linspace(0, 1, 200001)
        level, power = (
            np.cumsum(np.append(0, p[::-1])),
            np.cumsum(np.append(0, q[::-1])),
        )
        values = 1 - np.interp(grid, level, power)
        return float(grid[np.argmax(values <= alpha)])

    curve = Tradeoff(f)
    for alpha in (0.05, 0.2, 0.4, 0.7):
        best = max(f(alpha), inverse(alpha))
        assert curve.tradeoff_at(alpha) == pytest.approx(best, abs=2e-3)
        assert curve.tradeoff_at(alpha) <= best + 1e-5
    again = curve.symmetrized()
    assert again.tradeoff_at(0.3) == pytest.approx(curve.tradeoff_at(0.3), abs=1e-3)


@pytest.mark.thin(7)
@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_tradeoff_and_delta_are_dual_both_ways(curve):
    # N13.P8: f >= every f_{ε,δ(ε)}; N13.P9: δ(ε) = sup_α 1 - f(α) - e^ε α.
    grid = np.linspace(0, 4, 60)
    delta = np.asarray(curve.delta_at(grid))
    few = 12 if isinstance(curve, ZCDP) else 60
    alphas = np.concatenate(
        [np.geomspace(1e-6, 0.05, few), np.linspace(0.05, 1, 2 * few)]
    )
    f = np.asarray(curve.tradeoff_at(alphas))
    for alpha, value in zip(alphas[::20], f[::20], strict=True):
        lines = np.maximum(
            1 - delta - np.exp(grid) * alpha, np.exp(-grid) * (1 - delta - alpha)
        )
        assert value >= lines.max() - 1e-7
    for epsilon, value in zip(grid[::10], delta[::10], strict=True):
        back = float(np.max(1 - f - np.exp(epsilon) * alphas))
        assert back <= value + 1e-9
        # A sampled supremum comes close from below.
        assert back >= value - (0.05 if isinstance(curve, ZCDP) else 0.02)


@pytest.mark.parametrize(
    "curve", [c for c in CURVES if not isinstance(c, ZCDP)], ids=repr
)
def test_profile_round_trip(curve):
    again = Profile(curve.delta_at)
    for epsilon in (0.0, 0.4, 1.3):
        assert again.delta_at(epsilon) == pytest.approx(
            curve.delta_at(epsilon), rel=1e-9, abs=1e-300
        )
    # N14.P3, N14.L16: a finite pair dominates the profile and comes close to it.
    pair = again.atoms_above
    total_p = pair.masses.sum() + pair.p_only
    total_q = (pair.masses * np.exp(-pair.losses)).sum() + pair.q_only
    assert total_p == pytest.approx(1, abs=1e-9)
    assert total_q == pytest.approx(1, abs=1e-9)
    for epsilon in (0.0, 0.11, 0.4, 1.3):
        assert pair.hockey(epsilon) >= curve.delta_at(epsilon) * (1 - 1e-12)
        assert pair.hockey(epsilon) <= curve.delta_at(epsilon) * 1.01 + 1e-5
        below = curve.atoms_below.hockey(epsilon)
        assert below <= curve.delta_at_lower(epsilon) * (1 + 1e-9) + 1e-300


@pytest.mark.parametrize(
    "bad",
    [
        lambda _: 2.0,
        lambda _: -0.1,
        lambda epsilon: min(1.0, epsilon),
        lambda epsilon: 0.5 if epsilon < 1 else 0.0,
        lambda _: math.nan,
    ],
)
def test_what_is_not_a_profile_is_refused(bad):
    with pytest.raises(InvalidArgument):
        Profile(bad)


def test_functionals_of_f_equal_those_of_the_pair():
    # N13.P5 with f' by differentiation of the closed form, against curves.
    mu = 0.8
    f = _gaussian(mu)

    def slope(x):
        h = 1e-6 * min(x, 1 - x)
        return abs(f(x + h) - f(x - h)) / (2 * h)

    def functional(g):
        return integrate.quad(
            g, 1e-9, 1 - 1e-9, points=[1e-4, 0.5, 1 - 1e-4], limit=200
        )[0]

    variation = functional(lambda x: 0.5 * abs(1 - slope(x)))
    kl = functional(lambda x: -math.log(slope(x)))
    second = math.log(functional(lambda x: slope(x) ** (1 - 2)))
    curve = GDP(mu=mu)
    assert curve.total_variation() == pytest.approx(variation, rel=1e-5)
    assert curve.kl() == pytest.approx(kl, rel=1e-4)
    assert curve.renyi_at(2.0) == pytest.approx(second, rel=1e-3)
    known = Pair.laplace(scale=1.25)
    direct = oracles.integral(
        lambda x: mp.e ** (-abs(x - 1) / 1.25) / 2.5 * (abs(x) - abs(x - 1)) / 1.25,
        [-80, 0, 1, 80],
    )
    assert known.kl() == pytest.approx(float(direct), rel=1e-10)


@pytest.mark.parametrize(
    "curve", [c for c in CURVES if not isinstance(c, ZCDP)], ids=repr
)
def test_divergences_bracket_each_other(curve):
    kl = lambda t: t * math.log(t) if t > 0 else 0.0  # noqa: E731
    square = lambda t: (t - 1) ** 2  # noqa: E731
    variation = lambda t: abs(t - 1) / 2  # noqa: E731
    assert curve.divergence_lower(variation) <= curve.total_variation() * (1 + 1e-9)
    assert curve.divergence(variation) >= curve.total_variation_lower() * (1 - 1e-9)
    if math.isfinite(curve.kl()):
        assert curve.divergence_lower(kl) <= curve.kl() * (1 + 1e-9)
        assert curve.divergence(kl) >= curve.kl_lower() * (1 - 1e-9)
        assert curve.divergence(kl) <= curve.kl() * 1.01 + 1e-4
        chi = math.expm1(curve.renyi_at(2.0))
        assert curve.divergence_lower(square) <= chi * (1 + 1e-6)
        assert curve.divergence(square) >= math.expm1(curve.renyi_at_lower(2.0)) * (
            1 - 1e-6
        )
    else:
        assert curve.divergence(kl) == math.inf


def test_divergences_of_tables_by_definition():
    p, q = [0.2, 0.5, 0.3], [0.4, 0.4, 0.2]
    for epsilon in (-0.5, 0.0, 0.3):
        truth = oracles.hockey_by_subsets(p, q, epsilon)
        assert hockey_stick(p, q, epsilon) == pytest.approx(float(truth), rel=1e-12)
    values = [renyi(p, q, order) for order in (0.3, 0.9, 1, 1.001, 2, 50, math.inf)]
    assert values == sorted(values)  # N12.rem: monotone in the order
    for order in (0.3, 1, 2, 50):
        assert renyi(p, q, order) == pytest.approx(
            float(oracles.renyi(p, q, order)), rel=1e-10
        )
    assert renyi(p, q, math.inf) == pytest.approx(math.log(1.5))
    assert renyi([0.5, 0.5], [1.0, 0.0], 1) == math.inf
    assert f_divergence(p, q, lambda t: abs(t - 1) / 2) == pytest.approx(0.2)
    with pytest.raises(InvalidArgument):
        hockey_stick([0.5, 0.6], q[:2], 0.0)
    with pytest.raises(InvalidArgument):
        f_divergence(p, q, lambda t: t)


def test_tail_bound_implies_approximate_privacy():
    # N9.L6 on a Gaussian: the tail of the loss at ε exceeds the hockey-stick there.
    mu, epsilon = 0.5, 1.5
    tail = 1 - mp.ncdf((epsilon - mu**2 / 2) / mu)
    claim = from_tail(epsilon, float(tail))
    assert oracles.gaussian_delta(mu, epsilon) <= claim.delta
    assert claim == Approx(epsilon=epsilon, delta=float(tail))
    assert tail_at(GDP(mu=mu), epsilon) >= tail


def test_privacy_of_curve_by_hypothesis_testing_definition():
    # N9.1: the hockey-stick is the smallest δ for which all events satisfy (ε, δ).
    p, q = [0.1, 0.2, 0.3, 0.4], [0.4, 0.1, 0.2, 0.3]
    delta = Pair(p, q).remove.delta_at(0.4)
    assert delta == pytest.approx(
        float(oracles.hockey_by_subsets(p, q, 0.4)), abs=1e-14
    )


def test_renyi_order_is_weaker_than_blackwell():
    # N13.P7: randomized response against N(ε,1): smaller in every Rényi divergence,
    # yet easier to distinguish by total variation.
    epsilon = 0.5
    response, gaussian = Pure(epsilon=epsilon), GDP(mu=epsilon)
    for order in (1.0, 1.01, 2.0, 10.0, 1e4):
        assert response.renyi_at(order) <= gaussian.renyi_at_lower(order) * (1 + 1e-12)
    assert response.total_variation_lower() > gaussian.total_variation()
    found = compare(response, gaussian)
    assert found.order is Order.NEITHER
    assert gaussian.delta_at(found.second_at) < response.delta_at_lower(found.second_at)
    assert response.delta_at(found.first_at) < gaussian.delta_at_lower(found.first_at)


def test_blackwell_order_of_processed_laws():
    # N13.T2, N13.P3: merging outcomes can only make a pair more private.
    p, q = [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]
    merged = Pair([0.8, 0.2], [0.4, 0.6])
    assert compare(merged, Pair(p, q)).order is Order.FIRST
    assert compare(Pair(p, q), merged).order is Order.SECOND
    assert compare(GDP(mu=1.0), GDP(mu=1.0)).order is Order.EQUAL
    assert compare(Pair.laplace(scale=2.0), Pure(epsilon=0.5)).order is Order.FIRST


@pytest.mark.slow
def test_the_order_is_searched_for_in_the_tail():
    # Sampled steps beat a Gaussian wherever δ matters; at ε = 15 they do not.
    sampled = repeat(poisson(GDP(mu=1 / 1.3), rate=0.01), times=5000)
    gaussian = GDP(mu=0.8)
    found = compare(sampled, gaussian)
    assert found.order is Order.NEITHER
    assert found.first_at < 6 < found.second_at
    at = found.second_at
    assert 0 < gaussian.delta_at(at) < sampled.delta_at_lower(at)
    assert compare(gaussian, sampled).order is Order.NEITHER


def test_an_order_says_where_it_was_looked_for():
    found = compare(GDP(mu=1.0), GDP(mu=2.0))
    assert GDP(mu=2.0).delta_at(found.up_to) <= 1e-300
    assert f"{found.tried} tried up to {found.up_to:.3g}" in str(found)
    forever = compare(Approx(0.1, 0.5), Approx(0.1, 0.6))
    assert (forever.order, forever.up_to) == (Order.FIRST, 700.0)
    assert str(compare(GDP(mu=1.0), GDP(mu=1.0))) == "equal: one and the same guarantee"


def test_loss_variables_determine_the_tradeoff_function():
    # N14.L13, N14.c1: T(P,Q) from the laws of the loss alone, by linear programming.
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
    found = LossVariables.of(Pair(p, q).atoms_above)
    for alpha in (0.05, 0.3, 0.8):
        best = optimize.linprog(-q, A_ub=[p], b_ub=[alpha], bounds=(0, 1))
        assert found.tradeoff(alpha) == pytest.approx(1 + best.fun, abs=1e-9)
    # N14.L14: G(x) = ∫ e^t dF(t).
    inside = np.isfinite(found.values)
    for x in (-1.0, 0.0, 1.2):
        keep = inside & (found.values <= x)
        tilted = float(
            (found.p * np.exp(np.where(inside, found.values, 0)))[keep].sum()
        )
        assert found.under_q(x) == pytest.approx(tilted, abs=1e-12)
    assert variables(Pure(epsilon=1.0)).under_p(2.0) == pytest.approx(1.0)


def test_loss_variables_are_determined_by_the_tradeoff_function():
    # N14.L15: under P = N(0,1), log Q/P of N(μ,1) is N(-μ²/2, μ²).
    mu = 0.9
    for x in (-1.0, -0.3, 0.4, 1.1):
        exact = float(special.ndtr((x + mu * mu / 2) / mu))
        assert loss_cdf(_gaussian(mu), x) == pytest.approx(exact, abs=1e-6)
