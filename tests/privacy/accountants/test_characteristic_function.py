from fractions import Fraction

import numpy as np
import pytest

from hush.errors import InvalidArgument, NoBound
from hush.privacy.accountants import characteristic_function, fft, tightest
from hush.privacy.accountants.contour_quadrature import Sketch, prepare
from hush.privacy.pld.discrete_loss import AtomsLoss
from hush.privacy.pld.gaussian_loss import GaussianLoss, SubsampledGaussianLoss
from hush.privacy.pld.laplace_loss import LaplaceLoss
from hush.privacy.pld.loss_distribution import SampledLoss
from privacy.accountants.oracles import Mixture, enumerate_delta, gaussian_delta

# (std, rate, times), delta, and the true epsilon to the digits that are known.
TABLE = [
    (1.1, 256 / 60000, 14062, 1e-5, 2.381597, 5e-7),
    (0.8, 0.01, 1000, 1e-12, 6.99203, 5e-6),
    (4.0, 0.1, 10000, 1e-12, 20.72704, 5e-6),
    (0.5, 0.01, 5000, 1e-5, 28.93864, 5e-6),
    (2.0, 1e-4, 10**6, 1e-5, 0.1717539, 5e-8),
    (2.0, 1e-4, 10**6, 1e-12, 0.3392324, 5e-8),
    (1.1, 256 / 60000, 14062, 1e-30, 7.796468, 5e-7),
]


def dp_sgd(std, rate, times, direction="remove"):
    return [(SubsampledGaussianLoss(std, rate, direction), times)]


@pytest.mark.parametrize(("std", "rate", "times", "delta", "truth", "digits"), TABLE)
def test_published_epsilons(std, rate, times, delta, truth, digits):
    lower, upper = tightest.epsilon_bracket(dp_sgd(std, rate, times), delta)
    assert truth - digits <= lower <= upper <= truth + digits
    assert upper - lower <= 1e-6 * upper
    add = tightest.epsilon_bracket(dp_sgd(std, rate, times, "add"), delta)
    assert add[1] < lower
    assert add[1] - add[0] <= 1e-6 * add[1]


def test_add_and_remove_differ_as_published():
    add = tightest.epsilon_bracket(dp_sgd(1.0, 0.01, 200, "add"), 1e-6)
    remove = tightest.epsilon_bracket(dp_sgd(1.0, 0.01, 200, "remove"), 1e-6)
    assert add[0] == pytest.approx(0.594, abs=5e-4)
    assert remove[0] == pytest.approx(1.150, abs=5e-4)


@pytest.mark.parametrize("score", [0.5, 4.0, 12.0, 20.0])
@pytest.mark.parametrize(("mu", "times"), [(0.01, 400), (1.0, 3), (2.0, 30)])
def test_gaussians_down_to_the_smallest_deltas(score, mu, times):
    total = mu * times**0.5
    epsilon = total * score + total**2 / 2
    truth = gaussian_delta(epsilon, np.float64(mu) * np.sqrt(times))
    lower, upper = characteristic_function.delta_bracket(
        [(GaussianLoss(mu), times)], epsilon
    )
    assert lower <= truth * (1 + 1e-9)
    assert truth * (1 - 1e-9) <= upper
    assert upper - lower <= 1e-6 * float(truth)


@pytest.mark.thin(5)
@pytest.mark.parametrize("direction", ["add", "remove"])
@pytest.mark.parametrize(
    ("std", "rate", "epsilon"), [(1.0, 0.1, 0.1), (2.0, 0.5, 0.6), (3.0, 0.01, 0.004)]
)
def test_two_steps_match_quadrature(std, rate, epsilon, direction):
    truth = Mixture(std, rate, direction).delta_of_two(epsilon)
    for engine in (characteristic_function, fft, tightest):
        lower, upper = engine.delta_bracket(dp_sgd(std, rate, 2, direction), epsilon)
        assert lower <= truth <= upper
    assert upper - lower <= 2e-4 * float(truth)


P = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
Q = [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]
R, S = [Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]
LEAKY, SAFE = [Fraction(1, 100), Fraction(99, 100)], [Fraction(0), Fraction(1)]


@pytest.mark.parametrize("engine", [characteristic_function, fft, tightest])
@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.31, 1.4, 2.7, 5.0])
def test_products_of_tables_match_enumeration(engine, epsilon):
    truth = enumerate_delta([(P, Q)] * 3 + [(R, S)] * 2 + [(LEAKY, SAFE)], epsilon)
    laws = [
        (AtomsLoss.of(P, Q), 3),
        (AtomsLoss.of(R, S), 2),
        (AtomsLoss.of(LEAKY, SAFE), 1),
    ]
    lower, upper = engine.delta_bracket(laws, epsilon)
    assert lower <= truth <= upper
    if engine is tightest:
        assert upper - lower <= 1e-3 * float(truth)


def test_randomized_response_counts_every_repetition():
    one = AtomsLoss.of(R, S)
    lower, upper = tightest.epsilon_bracket([(one, 10)], 1e-9)
    assert lower > 9.99 * np.log(3)
    assert upper <= 10 * np.log(3) * (1 + 1e-9)


def response(honesty):
    return AtomsLoss.of([honesty, 1 - honesty], [1 - honesty, honesty])


MIXED = [
    *[(LaplaceLoss(5 + 0.5 * i), 1) for i in range(50)],
    *[(GaussianLoss(0.05 + 0.01 * i), 1) for i in range(20)],
    *[(response(0.5 + 0.01 * i), 1) for i in range(1, 11)],
    (SubsampledGaussianLoss(1.0, 0.01, "remove"), 500),
]


def test_a_mix_of_everything_is_sharp():
    lower, upper = characteristic_function.epsilon_bracket(MIXED, 1e-6)
    assert 0 < upper - lower <= 1e-6 * upper
    low, high = characteristic_function.delta_bracket(MIXED, float(upper))
    assert low <= 1e-6 * (1 + 1e-6)
    assert high <= 1e-6 * (1 + 1e-9)


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    "laws",
    [
        dp_sgd(1.0, 0.01, 100),
        dp_sgd(1.0, 0.01, 100, "add"),
        dp_sgd(0.5, 0.1, 8),
        dp_sgd(3.0, 0.3, 40),
        [(LaplaceLoss(2.0), 12)],
        [(LaplaceLoss(1.0, 0.1, "remove"), 20)],
        [(LaplaceLoss(1.0, 0.1, "add"), 20)],
        [(AtomsLoss.of(R, S).sampled(0.2, "remove"), 25)],
        [(GaussianLoss(0.3), 4), (LaplaceLoss(3.0), 3), (AtomsLoss.of(P, Q), 2)],
    ],
    ids=str,
)
@pytest.mark.parametrize("delta", [1e-3, 1e-8])
def test_engines_agree(laws, delta):
    first = characteristic_function.epsilon_bracket(laws, delta)
    second = fft.epsilon_bracket(laws, delta)
    assert max(first[0], second[0]) <= min(first[1], second[1])
    assert min(first[1], second[1]) - max(first[0], second[0]) <= 5e-3 * first[1]


def test_nodes_do_not_grow_with_the_number_of_steps():
    counts = []
    for times in (10**3, 10**6, 10**9, 10**12):
        rate = min(1.0, 0.1 / times**0.5)
        laws = dp_sgd(1.0, rate, times)
        sketch = Sketch.of(laws, -80.0)
        c, epsilon = sketch.at_delta(np.log(1e-6))
        counts.append(prepare(laws, sketch, c, epsilon, np.log(1e-6)).logs.size)
    assert max(counts[1:]) <= counts[0]


@pytest.mark.parametrize("times", [10**8, 10**12])
def test_many_tiny_steps_become_gaussian(times):
    # Central limit: μ = q √(T (e^(1/σ²) - 1)), with corrections of order 1/√T.
    rate = 1e-3 * (10**8 / times) ** 0.5
    mu = rate * np.sqrt(times * np.expm1(1.0))
    lower, upper = tightest.epsilon_bracket(dp_sgd(1.0, rate, times), 1e-6)
    limit = tightest.epsilon_bracket([(GaussianLoss(mu), 1)], 1e-6)[0]
    assert upper - lower <= 1e-6 * upper
    assert lower == pytest.approx(float(limit), rel=20 / times**0.5 + 1e-4)


def test_infinite_losses_add_up():
    leaky = AtomsLoss.of(LEAKY, SAFE)
    lower, upper = tightest.delta_bracket([(leaky, 3)], 1.0)
    truth = 1 - 0.99**3
    assert lower <= truth * (1 + 1e-9)
    assert truth * (1 - 1e-9) <= upper <= truth * (1 + 1e-6)
    assert tightest.epsilon_bracket([(leaky, 3)], 1e-3) == (np.inf, np.inf)


def test_laws_without_transform_use_the_lattice():
    law = SampledLoss(AtomsLoss.of(P, Q), 0.25, "remove")
    with pytest.raises(NoBound, match="lattice"):
        characteristic_function.epsilon_bracket([(law, 3)], 1e-3)
    exact = AtomsLoss.of(P, Q).sampled(0.25, "remove")
    lower, upper = tightest.epsilon_bracket([(law, 3)], 1e-3)
    low, high = tightest.epsilon_bracket([(exact, 3)], 1e-3)
    assert max(lower, low) <= min(upper, high)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, float("nan")])
def test_impossible_deltas_are_named(delta):
    with pytest.raises(InvalidArgument, match="delta"):
        tightest.epsilon_bracket([(GaussianLoss(1.0), 1)], delta)


@pytest.mark.parametrize("times", [-1, 1.5, 10**16])
def test_impossible_times_are_named(times):
    with pytest.raises(InvalidArgument, match="times"):
        tightest.epsilon_bracket([(GaussianLoss(1.0), times)], 0.1)


def test_nothing_to_compose_is_named():
    with pytest.raises(InvalidArgument, match="at least one"):
        tightest.delta_bracket([], 1.0)


def test_bounded_losses_are_sharp_next_to_their_top():
    # Below P(all three honest) the answer is top + log(1 - δ / that probability).
    truth = 3 * np.log(3) + np.log1p(-1e-20 / 0.75**3)
    lower, upper = tightest.epsilon_bracket([(AtomsLoss.of(R, S), 3)], 1e-20)
    assert lower <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= upper <= lower * (1 + 1e-9)


def test_deltas_below_every_float_are_not_claimed_to_be_zero():
    laws = dp_sgd(2.0, 0.001, 1062, "add")
    top = -1062 * np.log1p(-0.001)
    lower, upper = tightest.delta_bracket(laws, top * (1 - 1e-9))
    assert lower == 0.0
    assert 0.0 < upper < 1e-300
    assert tightest.delta_bracket(laws, top * 1.001) == (0.0, 0.0)
