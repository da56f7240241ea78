"""Laws that every curve obeys, whatever it is made of."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush.law import DiscreteGaussian, DiscreteLaplace
from hush.privacy import (
    GDP,
    RDP,
    ZCDP,
    Approx,
    Pair,
    Profile,
    Pure,
    Tradeoff,
    compose,
    fixed_size,
    geometric,
    poisson,
    repeat,
    replace_one,
    shuffle,
)
from privacy import oracles

FAST = settings(max_examples=6, deadline=None)


def every_curve():
    return [
        Pure(epsilon=0.7),
        Approx(epsilon=0.4, delta=1e-4),
        ZCDP(rho=0.1),
        RDP(lambda order: 0.05 * order),
        RDP.table([2.0, 8.0, 32.0], [0.1, 0.3, 1.0]),
        GDP(mu=0.6),
        Tradeoff(lambda a: max(0.0, 1 - 1.8 * a, (1 - a) / 1.8)),
        Profile(GDP(mu=0.6).delta_at),
        Pair.laplace(scale=2.0),
        Pair.gaussian(std=1.5),
        Pair.shift(DiscreteGaussian(2), by=1),
        Pair.shift(DiscreteLaplace(3), by=2),
        Pair([0.5, 0.3, 0.2], [0.1, 0.3, 0.6]),
        poisson(GDP(mu=1.0), rate=0.1),
        poisson(Pure(epsilon=1.0), rate=0.3),
        fixed_size(GDP(mu=1.0), batch=1, records=8),
        shuffle(Pure(epsilon=1.0), people=40),
        repeat(Pure(epsilon=0.1), times=20),
        geometric(Pair.laplace(scale=3.0), 2),
        replace_one(poisson(GDP(mu=0.5), rate=0.5)),
        compose(poisson(Pure(epsilon=1.0), rate=0.3), Approx(epsilon=0.1, delta=1e-5)),
    ]


CURVES = every_curve()
# Curves that take an engine for each answer: fewer, wider checks keep the suite fast.
ENGINE = [
    compose(GDP(mu=0.5), Pair.laplace(scale=3.0)),
    repeat(poisson(GDP(mu=1.0), rate=0.01), times=100),
]
# Minima over Rényi orders are pointwise bounds: convex only up to a few percent.
POINTWISE = (RDP, ZCDP)


@pytest.mark.parametrize("curve", CURVES, ids=repr)
@FAST
@given(st.floats(0, 3), st.floats(0.001, 1))
def test_delta_falls_with_epsilon(curve, epsilon, step):
    slack = 1e-5 if isinstance(curve, POINTWISE) else 1e-12
    first, second = curve.delta_at(epsilon), curve.delta_at(epsilon + step)
    assert 0 <= second <= first * (1 + slack) <= 1 + slack
    assert 0 <= curve.delta_at_lower(epsilon) <= first


@pytest.mark.parametrize("curve", CURVES, ids=repr)
@FAST
@given(st.floats(0, 2), st.floats(0.05, 1), st.floats(0.1, 0.9))
def test_delta_is_convex_in_the_ratio(curve, epsilon, step, share):
    low, high = math.exp(epsilon), math.exp(epsilon + step)
    middle = math.log(share * low + (1 - share) * high)
    chord = share * curve.delta_at(epsilon) + (1 - share) * curve.delta_at(
        epsilon + step
    )
    slack = 0.03 if isinstance(curve, POINTWISE) else 1e-6
    assert curve.delta_at(middle) <= chord * (1 + slack) + 1e-13


@pytest.mark.thin(4)
@pytest.mark.parametrize("curve", CURVES, ids=repr)
@FAST
@given(st.floats(-12, -0.5), st.floats(0.01, 2))
def test_epsilon_falls_with_delta_and_inverts_it(curve, log_delta, step):
    delta = 10**log_delta
    epsilon = curve.epsilon_at(delta)
    assert curve.epsilon_at(min(1.0, delta * 10**step)) <= epsilon
    assert curve.epsilon_at_lower(delta) <= epsilon
    if math.isfinite(epsilon):
        assert curve.delta_at(epsilon) <= delta * (1 + 1e-9)
    lower = curve.epsilon_at_lower(delta)
    if 0 < lower < math.inf:
        assert curve.delta_at(lower * (1 - 1e-9)) >= delta * (1 - 1e-6)


@pytest.mark.thin(4)
@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_tradeoff_is_a_tradeoff_function(curve):
    alpha = np.linspace(0, 1, 6)
    value = np.asarray(curve.tradeoff_at(alpha))
    assert np.all(value <= 1 - alpha + 1e-12)
    assert np.all(np.diff(value) <= 1e-12)
    slack = 0.02 if isinstance(curve, POINTWISE) else 1e-6
    assert np.all(value[1:-1] <= (value[:-2] + value[2:]) / 2 + slack)
    assert np.all(value <= np.asarray(curve.tradeoff_at_upper(alpha)) + 1e-12)


@pytest.mark.thin(4)
@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_renyi_rises_and_bounds_the_lower_one(curve):
    orders = [1.0, 1.5, 2.0, 4.0, 16.0, math.inf]
    value = [curve.renyi_at(order) for order in orders]
    for before, after in itertools.pairwise(value):
        assert before <= after * (1 + 1e-5) + 1e-12
    for order, top in zip(orders, value, strict=True):
        assert curve.renyi_at_lower(order) <= top * (1 + 1e-9)
        assert (
            top <= order * curve.rho * (1 + 1e-9)
            or math.isinf(order)
            or math.isinf(curve.rho)
        )
    assert curve.kl_lower() <= curve.kl() * (1 + 1e-9)
    assert curve.total_variation_lower() <= curve.total_variation()


@pytest.mark.thin(4)
@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_other_notions_of_the_same_event_are_never_smaller(curve):
    # ρ and μ, where they exist, are guarantees too, hence never below the curve.
    for delta in (1e-3, 1e-8):
        if math.isfinite(curve.rho):
            assert ZCDP(rho=curve.rho).epsilon_at(delta) >= curve.epsilon_at_lower(
                delta
            ) * (1 - 1e-9)
        if math.isfinite(curve.mu):
            assert GDP(mu=curve.mu).epsilon_at(delta) >= curve.epsilon_at_lower(
                delta
            ) * (1 - 1e-9)


@pytest.mark.parametrize("curve", ENGINE, ids=repr)
def test_engine_curves_obey_the_same_laws(curve):
    epsilon = np.array([0.0, 0.2, 0.5, 0.9])
    delta, lower = (
        np.asarray(curve.delta_at(epsilon)),
        np.asarray(curve.delta_at_lower(epsilon)),
    )
    assert np.all(np.diff(delta) <= 0)
    assert np.all(lower <= delta)
    assert np.all(delta - lower <= 1e-6 * delta)
    ratio = np.exp(epsilon)
    share = (ratio[2] - ratio[1]) / (ratio[2] - ratio[0])
    assert delta[1] <= share * delta[0] + (1 - share) * delta[2]
    found = curve.epsilon_at(1e-6)
    assert curve.epsilon_at_lower(1e-6) <= found <= curve.epsilon_at(1e-7)
    assert curve.delta_at(found) <= 1e-6 * (1 + 1e-6)
    assert found <= RDP(curve.renyi_at).epsilon_at(1e-6) * (1 + 1e-6)
    type_two = curve.tradeoff_at(0.1)
    assert type_two <= 0.9
    assert type_two >= 1 - delta[1] - math.exp(0.2) * 0.1 - 1e-9


TABLES = st.lists(st.integers(1, 9), min_size=3, max_size=3)


@FAST
@given(TABLES, TABLES, st.permutations([0, 1, 2]), st.floats(0, 1.5))
def test_processing_never_increases_the_loss(first, second, order, epsilon):
    # N3.post: merging two outcomes, and a noisy channel.
    p, q = np.array(first) / sum(first), np.array(second) / sum(second)
    merged = [[t[order[0]] + t[order[1]], t[order[2]]] for t in (p, q)]
    channel = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.0, 0.1, 0.9]])
    noisy = [t @ channel for t in (p, q)]
    whole = Pair(p, q).delta_at(epsilon)
    assert Pair(*merged).delta_at_lower(epsilon) <= whole
    assert Pair(*noisy).delta_at_lower(epsilon) <= whole + 1e-12


@FAST
@given(TABLES, TABLES, TABLES, TABLES, st.floats(0, 2))
def test_composition_of_tables_is_the_product(a, b, c, d, epsilon):
    # N13.T4, N13.L12: commutative, and equal to brute force.
    p, q = [v / sum(a) for v in a], [v / sum(b) for v in b]
    r, s = [v / sum(c) for v in c], [v / sum(d) for v in d]
    first, second = Pair(p, q), Pair(r, s)
    both, other = compose(first, second), compose(second, first)
    there = oracles.hockey(oracles.product(p, r), oracles.product(q, s), epsilon)
    back = oracles.hockey(oracles.product(q, s), oracles.product(p, r), epsilon)
    low, high = both.delta_at_lower(epsilon), both.delta_at(epsilon)
    truth = max(there, back)
    assert low <= truth + 1e-15
    assert truth <= high + 1e-15
    assert other.delta_at(epsilon) == pytest.approx(high, rel=1e-6, abs=1e-12)
    assert high >= first.delta_at_lower(epsilon) * (1 - 1e-9)


def test_composition_is_associative_and_monotone():
    a, b, c = Pair.laplace(scale=4.0), GDP(mu=0.3), Pair.shift(DiscreteLaplace(5), by=1)
    left, right = compose(compose(a, b), c), compose(a, compose(b, c))
    for epsilon in (0.1, 0.6):
        assert left.delta_at(epsilon) == pytest.approx(
            right.delta_at(epsilon), rel=1e-9
        )
        assert compose(a, b, c).delta_at(epsilon) >= compose(a, b).delta_at_lower(
            epsilon
        )
        wider = compose(a, GDP(mu=0.5), c)
        assert wider.delta_at(epsilon) >= left.delta_at_lower(epsilon)
    assert compose(a, Pure(epsilon=0.0)) == a
    assert compose() == Pure(epsilon=0.0)


@FAST
@given(st.lists(st.floats(0.05, 2), min_size=1, max_size=4))
def test_gaussians_add_in_squares(values):
    found = compose(*[GDP(mu=v) for v in values])
    assert isinstance(found, GDP)
    assert found.mu == pytest.approx(math.sqrt(sum(v * v for v in values)))
    assert compose(*[ZCDP(rho=v) for v in values]).rho == pytest.approx(sum(values))


def test_metamorphic_accounting():
    # N12: more steps, more sampling, less noise: never a smaller ε; all below Rényi's.
    def epsilon(std, rate, times, delta=1e-6):
        return repeat(poisson(GDP(mu=1 / std), rate=rate), times=times).epsilon_at(
            delta
        )

    base = epsilon(1.0, 0.01, 100)
    assert epsilon(1.0, 0.01, 200) >= base
    assert epsilon(1.0, 0.02, 100) >= base
    assert epsilon(0.9, 0.01, 100) >= base
    assert epsilon(1.0, 0.01, 100, delta=1e-7) >= base
    step = poisson(GDP(mu=1.0), rate=0.01)
    by_moments = RDP(lambda order: 100 * step.renyi_at(order))
    lower = repeat(step, times=100).epsilon_at_lower(1e-6)
    assert by_moments.epsilon_at(1e-6) >= base >= lower > 0


def test_directions_of_two_hundred_steps():
    # S11: k = 200, q = 0.01, σ = 1 at δ = 1e-6 differs by almost two.
    steps = repeat(poisson(GDP(mu=1.0), rate=0.01), times=200)
    add, remove = steps.add.epsilon_at(1e-6), steps.remove.epsilon_at(1e-6)
    assert add == pytest.approx(0.594, abs=0.3)
    assert remove > 1.5 * add
    assert steps.epsilon_at(1e-6) == pytest.approx(remove, rel=1e-6)


@pytest.mark.parametrize(
    "base", [Pair([0.5, 0.3, 0.2], [0.1, 0.3, 0.6]), Pure(epsilon=0.9)], ids=repr
)
@pytest.mark.parametrize("times", [2, 6])
def test_sampled_steps_against_brute_force(base, times):
    rate, p, q = 0.2, [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]
    if isinstance(base, Pure):
        p, q = (law[1:3] for law in oracles.response(0.9))
    mixture = [(1 - rate) * b + rate * a for a, b in zip(p, q, strict=True)]
    curve = repeat(poisson(base, rate=rate), times=times)
    for epsilon in (0.0, 0.3, 0.8):
        for side, first, second in (
            (curve.remove, mixture, q),
            (curve.add, q, mixture),
        ):
            joint = (
                oracles.product(*[first] * times),
                oracles.product(*[second] * times),
            )
            truth = oracles.hockey(*joint, epsilon)
            assert side.delta_at_lower(epsilon) <= truth * (1 + 1e-12) + 1e-15
            assert truth <= side.delta_at(epsilon) * (1 + 1e-12) + 1e-15
            assert side.delta_at(epsilon) <= truth * 1.0001 + 1e-9


def test_rdp_and_zcdp_still_compose_with_the_rest():
    bound = compose(ZCDP(rho=0.05), Pair.laplace(scale=4.0))
    exact = compose(GDP(mu=math.sqrt(0.1)), Pair.laplace(scale=4.0))
    for delta in (1e-5,):
        assert bound.epsilon_at(delta) >= exact.epsilon_at_lower(delta)
        assert bound.epsilon_at(delta) <= 2.0 * exact.epsilon_at(delta)
    both = compose(RDP(lambda order: 0.05 * order), ZCDP(rho=0.05))
    assert both.renyi_at(4.0) == pytest.approx(0.4)


def test_every_part_of_a_composition_is_counted():
    # Randomized response composed ten times is not composed once.
    response = Pair([0.75, 0.25], [0.25, 0.75])
    ten = compose(*[response] * 10)
    assert ten.epsilon_at(0.0) == pytest.approx(10 * math.log(3))
    assert ten.delta_at(2.0) > response.delta_at(0.0)
    assert ten.epsilon_at_lower(1e-6) > 0
