"""Single notions against high-precision truths."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from hush.errors import InvalidArgument
from hush.privacy import GDP, RDP, ZCDP, Approx, Pure, renyi
from hush.privacy.notions import rdp
from privacy import oracles

FAST = settings(max_examples=25, deadline=None)


@pytest.mark.thin(5)
@pytest.mark.parametrize("mu", [1e-6, 0.01, 0.499, 0.5, 1.0, 7.0])
@pytest.mark.parametrize("level", [0.0, 3.0, 18.0])
def test_gaussian_delta_brackets_quadrature(mu, level):
    epsilon = level * mu + mu * mu / 2
    truth = oracles.gaussian_delta(mu, epsilon)
    curve = GDP(mu=mu)
    low, high = curve.delta_at_lower(epsilon), curve.delta_at(epsilon)
    assert low <= truth <= high
    assert high - low <= 2e-12 * high


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("mu", "delta"), [(0.01, 1e-5), (1.0, 0.1), (1.0, 1e-86), (4.0, 1e-30)]
)
def test_gaussian_epsilon_brackets_the_root(mu, delta):
    curve = GDP(mu=mu)
    low, high = curve.epsilon_at_lower(delta), curve.epsilon_at(delta)
    if high == 0:
        assert oracles.gaussian_delta(mu, 0) <= delta
        return
    assert high - low <= 1e-11 * high
    assert oracles.gaussian_delta(mu, low) >= delta
    assert oracles.gaussian_delta(mu, high) <= delta


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0), (1.0, 1e-6), (4.0, 0.2)])
@pytest.mark.parametrize("at", [0.0, 0.05, 0.7, 3.0, 5.0])
def test_approx_is_the_worst_pair(epsilon, delta, at):
    truth = oracles.hockey_by_subsets(*oracles.response(epsilon, delta), at)
    curve = Approx(epsilon=epsilon, delta=delta)
    assert curve.delta_at_lower(at) <= truth <= curve.delta_at(at)
    assert float(curve.delta_at(at) - truth) <= 1e-14
    if delta == 0:
        assert Pure(epsilon=epsilon).delta_at(at) == curve.delta_at(at)


@FAST
@given(
    st.floats(0.01, 3), st.lists(st.floats(0.01, 1), min_size=2, max_size=5), st.data()
)
def test_no_pure_pair_exceeds_pure(epsilon, weights, data):
    q = np.array(weights) / sum(weights)
    tilt = data.draw(st.lists(st.floats(-epsilon / 2, epsilon / 2), min_size=q.size,
                              max_size=q.size))  # fmt: skip
    p = q * np.exp(tilt)
    p /= p.sum()
    loss = np.log(p / q)
    level = float(np.abs(loss).max()) * (1 + 1e-12)
    for at in (0.0, level / 3, level / 2):
        assert oracles.hockey(p, q, at) <= Pure(epsilon=level).delta_at(at) + 1e-15


def test_pure_epsilon_inverts_delta_exactly():
    curve = Pure(epsilon=1.0)
    assert curve.epsilon_at(0.0) == 1.0
    for delta in (1e-12, 1e-3, 0.3, 0.46):
        root = curve.epsilon_at(delta)
        truth = oracles.hockey(*oracles.response(1), root)
        assert truth <= delta
        assert truth >= delta * (1 - 1e-9) - 5e-15


def test_power_bound_is_reached_by_the_best_test():
    # N3.4: every level-α test of an (ε,δ)-private pair, by linear programming.
    epsilon, delta = 0.8, 0.05
    p, q = (
        np.array([float(v) for v in law]) for law in oracles.response(epsilon, delta)
    )
    for alpha in (0.01, 0.1, 0.4, 0.8):
        best = optimize.linprog(-p, A_ub=[q], b_ub=[alpha], bounds=(0, 1))
        bound = Approx(epsilon=epsilon, delta=delta).power_at(alpha)
        assert -best.fun == pytest.approx(bound, abs=1e-9)
        assert bound >= -best.fun - 1e-12


def _best_binary(order: float, divergence: float, epsilon: float) -> float:
    """Largest p - e^ε q over two-outcome pairs with D_α <= r, by brute force."""
    limit = math.exp((order - 1) * divergence)

    def loss(log_q):
        q = math.exp(log_q)

        def moment(p):
            head = p**order * q ** (1 - order)
            return head + (1 - p) ** order * (1 - q) ** (1 - order) - limit

        p = 1.0
        if moment(1 - 1e-15) > 0:
            p = optimize.brentq(moment, q, 1 - 1e-15, xtol=1e-300, rtol=1e-15)
        return -(p - math.exp(epsilon) * q)

    grid = np.linspace(math.log(1e-9), math.log(0.95), 60)
    start = grid[int(np.argmin([loss(x) for x in grid]))]
    best = optimize.minimize_scalar(
        loss, bounds=(start - 0.4, min(start + 0.4, math.log(0.97))), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    return max(0.0, -best.fun)


@pytest.mark.parametrize("order", [1.5, 3.0, 20.0])
@pytest.mark.parametrize("divergence", [0.01, 0.5])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_one_order_conversion_is_tight(order, divergence, epsilon):
    truth = _best_binary(order, divergence, epsilon)
    orders = np.array([order])
    bound = float(
        rdp.delta(
            lambda a: np.full(np.shape(a), divergence), orders, np.asarray(epsilon),
            smooth=False,
        )
    )  # fmt: skip
    shifts = np.append(-1 + np.geomspace(1e-6, 1, 3000), np.geomspace(1e-6, 80, 3000))
    planes = rdp.log_delta(orders, np.array([divergence]), np.asarray(epsilon), shifts)
    best = min(bound, float(np.exp(planes.min())))
    assert truth <= bound * (1 + 1e-12)
    assert best <= truth * 1.001 + 1e-9


@pytest.mark.parametrize("rho", [1e-4, 0.05, 0.5, 3.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_zcdp_lies_between_gaussian_and_textbook(rho, delta):
    curve = ZCDP(rho=rho)
    gaussian = GDP(mu=math.sqrt(2 * rho))
    assert curve.epsilon_at(delta) >= gaussian.epsilon_at_lower(delta)
    assert curve.epsilon_at_lower(delta) <= gaussian.epsilon_at(delta)
    textbook = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert curve.classical_epsilon_at(delta) == pytest.approx(textbook)
    assert curve.epsilon_at(delta) < textbook


def test_zcdp_moments_bound_means_the_tail_bound():
    # Z.def, Z.4.2: a Gaussian loss N(ρ, 2ρ) has exactly these moments, and its tail
    # at the textbook ε is below δ.
    rho, delta = 0.2, 1e-4
    for extra in (0.5, 2, 7):
        moment = oracles.integral(
            lambda x, s=extra: mp.e ** (s * x) * mp.npdf(x, rho, mp.sqrt(2 * rho)),
            [-10, 0, 5, 10, 20],
        )
        assert mp.log(moment) == pytest.approx(
            float(extra * (extra + 1) * rho), rel=1e-9
        )
    at = ZCDP(rho=rho).classical_epsilon_at(delta)
    tail = 1 - mp.ncdf((at - rho) / mp.sqrt(2 * rho))
    assert tail <= delta


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.floats(0.02, 1), min_size=2, max_size=4),
    st.lists(st.floats(0.02, 1), min_size=4, max_size=4),
    st.floats(0, 2),
)
def test_rdp_conversion_covers_every_pair(first, second, epsilon):
    p = np.array(first) / sum(first)
    q = np.array(second[: p.size]) / sum(second[: p.size])
    curve = RDP(
        lambda order: max(renyi(p, q, order), renyi(q, p, order), 0.0) * (1 + 1e-9)
    )
    assert oracles.hockey(p, q, epsilon) <= curve.delta_at(epsilon)
    for event in ([0], [0, 1][: p.size - 1]):
        low, high = curve.probability_bounds(float(q[event].sum()))
        assert low * (1 - 1e-9) <= p[event].sum() <= high * (1 + 1e-9)


def test_rdp_of_pure_mechanisms():
    # N12.1: ε-DP implies (α, αε²/2)-RDP; the exact curve is randomized response's.
    curve = Pure(epsilon=0.7)
    for order in (1.0, 1.5, 2.0, 10.0, 200.0):
        exact = oracles.renyi(*(law[1:3] for law in oracles.response(0.7)), order)
        assert curve.renyi_at(order) == pytest.approx(float(exact), rel=1e-10)
        assert curve.renyi_at(order) >= float(exact)
        assert curve.renyi_at_lower(order) <= exact
        assert exact <= order * 0.7**2 / 2
        assert exact <= order * curve.rho
    assert curve.rho == pytest.approx(0.7 * math.tanh(0.35))
    assert curve.renyi_at(math.inf) == 0.7


def test_rdp_textbook_conversion():
    curve = RDP(lambda order: 0.3 * order)
    by_hand = min(
        0.3 * a + math.log(1e5) / (a - 1) for a in np.linspace(1.01, 60, 20000)
    )
    assert curve.classical_epsilon_at(1e-5) == pytest.approx(by_hand, rel=1e-2)
    assert curve.classical_epsilon_at(1e-5) >= by_hand * (1 - 1e-6)
    assert curve.epsilon_at(1e-5) < curve.classical_epsilon_at(1e-5)


def test_rdp_near_order_one_does_not_vanish():
    # An accountant that offers order 1 + 1e-8 must not report ε = 0.
    curve = RDP.table([1 + 1e-8, 2.0], [0.5, 1.0])
    assert curve.epsilon_at(1e-5) > 1.0


def test_gaussian_renyi_by_quadrature():
    mu = mp.mpf("0.8")
    for order in (2, 5.5):
        value = oracles.integral(
            lambda x, a=order: mp.npdf(x, mu, 1) ** a * mp.npdf(x, 0, 1) ** (1 - a),
            [-12, -4, 0, 4, 8, 12, 20, 30],
        )
        exact = mp.log(value) / (order - 1)
        assert GDP(mu=0.8).renyi_at(order) == pytest.approx(float(exact), rel=1e-12)
    assert GDP(mu=0.8).rho == pytest.approx(0.32)
    assert ZCDP(rho=0.32).renyi_at(5.0) == pytest.approx(1.6)


def test_gdp_of_pure_is_the_smallest():
    # G_μ must lie below f_ε everywhere, and touch it.
    curve = Pure(epsilon=1.3)
    gaussian = GDP(mu=curve.mu)
    alpha = np.linspace(0.001, 0.999, 999)
    gap = np.asarray(curve.tradeoff_at(alpha)) - np.asarray(gaussian.tradeoff_at(alpha))
    assert gap.min() > -1e-12
    corner = 1 / (1 + math.exp(1.3))
    touching = curve.tradeoff_at(corner) - gaussian.tradeoff_at(corner)
    assert touching == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: Pure(epsilon=-1.0),
        lambda: Pure(epsilon=math.nan),
        lambda: Pure(epsilon="1"),
        lambda: Approx(epsilon=1.0, delta=1.0),
        lambda: Approx(epsilon=1.0, delta=-1e-9),
        lambda: ZCDP(rho=-0.1),
        lambda: GDP(mu=math.nan),
        lambda: RDP(lambda order: 1 / order),
        lambda: RDP(lambda _: math.nan),
        lambda: RDP(lambda order: -order),
        lambda: RDP(3.0),
        lambda: RDP.table([2.0, 1.5], [1.0, 2.0]),
        lambda: Pure(epsilon=1.0).delta_at(-0.1),
        lambda: Pure(epsilon=1.0).delta_at(math.nan),
        lambda: Pure(epsilon=1.0).epsilon_at(1.5),
        lambda: Pure(epsilon=1.0).tradeoff_at(2.0),
        lambda: GDP(mu=1.0).renyi_at(0.5),
        lambda: GDP(mu=1.0).delta_at("x"),
    ],
)
def test_bad_input_is_refused(bad):
    with pytest.raises(InvalidArgument):
        bad()


def test_messages_name_argument_value_and_way_out():
    with pytest.raises(InvalidArgument, match=r"epsilon must be .*at least 0; got -1"):
        Pure(epsilon=-1)
    with pytest.raises(InvalidArgument, match=r"must not decrease.*order"):
        RDP(lambda order: 1 / order)


def test_arrays_keep_their_shape():
    curve = GDP(mu=1.0)
    epsilon = np.array([[0.0, 1.0], [2.0, 3.0]])
    assert curve.delta_at(epsilon).shape == (2, 2)
    assert curve.delta_at(1.0) == curve.delta_at(epsilon)[0, 1]
    assert isinstance(curve.delta_at(1.0), float)
    assert curve.epsilon_at([1e-3, 1e-6]).shape == (2,)
    assert curve.tradeoff_at(np.array([0.1, 0.2])).shape == (2,)


@pytest.mark.parametrize("order", [2.0, 8.0, 31.7])
def test_the_orders_of_a_table_are_tried(order):
    curve = RDP.table([order], [0.4])
    by_hand = 0.4 + math.log(1e5) / (order - 1)
    assert curve.classical_epsilon_at(1e-5) == pytest.approx(by_hand, rel=1e-12)
    tighter = by_hand + math.log1p(-1 / order) - math.log(order) / (order - 1)
    assert curve.epsilon_at(1e-5) <= tighter * (1 + 1e-9)  # [CKS20] Proposition 12
