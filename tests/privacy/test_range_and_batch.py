"""Loss laws of bounded range and of fixed-size batches, against their definitions."""

import math

import mpmath
import numpy as np
import pytest

from hush.errors import InvalidArgument
from hush.privacy import GDP, Pure, compose, fixed_size, poisson, repeat
from hush.privacy.accountants.characteristic_function import (
    epsilon_bracket as by_contour,
)
from hush.privacy.accountants.fft import delta_bracket as by_lattice
from hush.privacy.accountants.fft import epsilon_bracket as epsilon_by_lattice
from hush.privacy.accountants.tightest import delta_bracket, epsilon_bracket
from hush.privacy.curve import Curve
from hush.privacy.notions.bounded_range import BoundedRange
from hush.privacy.pld import discrete_loss
from hush.privacy.pld.fixed_size_gaussian_loss import MirroredLoss
from hush.privacy.pld.gaussian_loss import SubsampledGaussianLoss
from hush.privacy.pld.laplace_loss import RangeLoss


def two_losses(span, epsilon):
    """The largest hockey-stick of pairs with losses t and t - span, t on a grid."""
    t = np.linspace(0, span, 20_001)[1:-1]
    p = -np.expm1(t - span) / -math.expm1(-span)
    return np.maximum(p * -np.expm1(np.minimum(epsilon - t, 0.0)), 0.0).max()


@pytest.mark.parametrize("span", [1e-9, 0.01, 1.0, 7.0, 90.0])
def test_the_curve_is_the_worst_pair_of_two_losses(span):
    curve = BoundedRange(span)
    for share in (0.0, 0.2, 0.7, 0.99):
        epsilon = share * span
        worst = two_losses(span, epsilon)
        assert curve.delta_at(epsilon) >= worst * (1 - 1e-12)
        assert curve.delta_at_lower(epsilon) <= worst * (1 + 1e-6) + 1e-7 * span
    assert curve.delta_at(span * 1.001) == 0.0
    assert curve.delta_at(math.inf) == 0.0
    assert curve.epsilon_at(0.0) == span


@pytest.mark.parametrize("span", [1e-9, 0.3, 4.0, 50.0])
@pytest.mark.parametrize("share", [1e-12, 1e-3, 0.3, 0.9])
def test_epsilon_inverts_delta(span, share):
    curve = BoundedRange(span)
    delta = share * curve.delta_at(0.0)
    assert curve.delta_at(curve.epsilon_at(delta)) <= delta * (1 + 1e-9)
    assert curve.delta_at_lower(curve.epsilon_at_lower(delta)) >= delta * (1 - 1e-6)
    assert curve.epsilon_at_lower(delta) <= curve.epsilon_at(delta)


def density(span):
    s = mpmath.mpf(span)
    return lambda y: mpmath.exp((y - s) / 2) / (2 * -mpmath.expm1(-s))


@pytest.mark.thin(3)
@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.4, 1.5])
def test_two_rounds_of_bounded_range_are_a_double_integral(epsilon):
    first, second = 1.0, 0.7
    p, q = density(first), density(second)
    with mpmath.workdps(20):

        def inner(y):
            low = min(max(epsilon - y, -second), second)
            return mpmath.quad(
                lambda x: -mpmath.expm1(epsilon - y - x) * q(x), [low, second]
            )

        kinks = sorted({-first, first, *(epsilon + k for k in (-second, second))})
        kinks = [k for k in kinks if -first <= k <= first]
        truth = mpmath.quad(lambda y: p(y) * inner(y), kinks)
    low, high = delta_bracket([(RangeLoss(first), 1), (RangeLoss(second), 1)], epsilon)
    assert low <= truth * (1 + mpmath.mpf(10) ** -12)
    assert truth <= high * (1 + mpmath.mpf(10) ** -12)
    assert high - low <= 1e-5 * high


def test_compositions_of_bounded_range_dominate_enumerated_choices():
    # Ten rounds with losses (t, t - 1), one t for all: binomial sums.
    curve = repeat(BoundedRange(1.0), times=10)
    for t in (0.5, 0.6, 0.75):
        p = -math.expm1(t - 1) / -math.expm1(-1)
        for epsilon in (0.5, 2.0, 4.0):
            truth = sum(
                math.comb(10, k)
                * p**k
                * (1 - p) ** (10 - k)
                * max(-math.expm1(epsilon - 10 * t + (10 - k)), 0.0)
                for k in range(11)
            )
            assert curve.delta_at(epsilon) >= truth
    assert curve.epsilon_at(1e-6) < repeat(Pure(1.0), times=10).epsilon_at(1e-6)
    assert curve.epsilon_at(1e-6) <= 1.000001 * curve.epsilon_at_lower(1e-6)


def test_bounded_range_is_a_curve_like_others():
    curve = BoundedRange(1.0)
    assert Curve.from_json(curve.to_json()) == curve
    assert repr(curve) == "BoundedRange(span=1.0)"
    assert curve.rho <= Pure(1.0).rho
    mixed = compose(curve, GDP(0.5), Pure(0.1))
    assert mixed.epsilon_at_lower(1e-6) <= mixed.epsilon_at(1e-6)
    sampled = poisson(curve, rate=0.1)
    for side in (sampled.remove, sampled.add):
        assert side.delta_at(0.01) <= Pure(1.0).delta_at(0.0)
    thinned = repeat(sampled, times=20)
    low, high = thinned.epsilon_at_lower(1e-6), thinned.epsilon_at(1e-6)
    assert low <= high <= 1.001 * low
    with pytest.raises(InvalidArgument, match="span"):
        BoundedRange(0.0)


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_sampled_bounded_range_by_two_engines(direction):
    law = RangeLoss(2.0, 0.3, direction)
    for times in (1, 6):
        for epsilon in (0.05, 0.4):
            low, high = delta_bracket([(law, times)], epsilon)
            other = by_lattice([(law, times)], epsilon)
            assert max(low, other[0]) <= min(high, other[1])


@pytest.mark.thin(4)
@pytest.mark.parametrize(("std", "rate"), [(1.0, 0.01), (0.6, 0.3), (5.0, 0.5)])
@pytest.mark.parametrize("z", [0.7, 2 + 3j, -0.4 + 11j])
def test_the_transform_of_a_batch(std, rate, z):
    law = MirroredLoss(std, rate)
    rule = law.rule(z.real, 20.0, -30.0, -60.0)
    found = np.exp(rule.log_weight + z * rule.loss).sum()
    with mpmath.workdps(30):
        s, q = mpmath.mpf(std), mpmath.mpf(rate)

        def likelihood(x):
            return 1 - q + q * mpmath.exp((2 * x - 1) / (2 * s * s))

        def integrand(x):
            ratio = likelihood(x)
            return mpmath.npdf(x, 0, s) * (ratio ** (z + 1) + ratio ** (-z))

        cuts = [mpmath.mpf(1) / 2 + s * k for k in range(0, 17)]
        truth = mpmath.quad(integrand, cuts)
        truth += (1 - q) * (1 - 2 * mpmath.ncdf(-1 / (2 * s)))
        bound = rule.quadrature(float(z.real), abs(z.imag)) + 1e-12 * abs(truth)
        assert abs(found - truth) <= bound
        assert bound <= 1e-9 * abs(truth)


def test_one_batch_has_the_curve_of_the_mixture():
    law, mixture = MirroredLoss(1.0, 0.1), SubsampledGaussianLoss(1.0, 0.1, "remove")
    epsilon = np.array([0.0, 0.1, 1.0, 3.0])
    for side in (0, 1):
        assert law.delta(epsilon)[side] == pytest.approx(mixture.delta(epsilon)[side])
    back = -np.expm1(-epsilon) + np.exp(-epsilon) * mixture.delta(epsilon)[1]
    assert law.delta(-epsilon)[1] == pytest.approx(back)


@pytest.mark.parametrize("times", [3, 30, 400])
def test_batches_by_contour_lattice_and_dots(times):
    curve = fixed_size(GDP(1.0), batch=10, records=100)
    parts = [(curve.components()[0][0][0], times)]
    low, high = by_contour(parts, 1e-6)
    coarse = epsilon_by_lattice(parts, 1e-6)
    assert max(low, coarse[0]) <= min(high, coarse[1])
    above, below = (
        discrete_loss.of(curve.atoms_above),
        discrete_loss.of(curve.atoms_below),
    )
    assert low <= epsilon_bracket([(above, times)], 1e-6)[1]
    assert high >= epsilon_bracket([(below, times)], 1e-6)[0]
    if times >= 30:
        assert high - low <= 1e-6 * high
