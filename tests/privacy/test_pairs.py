"""Pairs of laws: exact numbers, brackets, and what is refused."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import special

from hush.errors import InvalidArgument, NoBound
from hush.law import DiscreteGaussian, DiscreteLaplace, Finite, Geometric
from hush.privacy import GDP, Density, Pair, Pure, Shifted
from privacy import oracles


def test_integer_laplace_is_randomized_response_and_the_continuous_one_is_not():
    integer, continuous = Pair.shift(DiscreteLaplace(2), by=1), Pair.laplace(scale=2.0)
    assert integer.delta_at(0.25) == pytest.approx(0.1377, abs=5e-5)
    assert continuous.delta_at(0.25) == pytest.approx(0.1175, abs=5e-5)
    for epsilon in (0.0, 0.1, 0.25, 0.49):
        assert integer.delta_at(epsilon) == pytest.approx(
            Pure(epsilon=0.5).delta_at(epsilon), rel=1e-12
        )


@pytest.mark.parametrize("scale", [0.4, 2.0, 9.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_continuous_laplace_by_quadrature(scale, share):
    truth = oracles.laplace_delta(scale, share / scale)
    curve = Pair.laplace(scale=scale)
    low, high = curve.delta_at_lower(share / scale), curve.delta_at(share / scale)
    assert low <= truth <= high
    assert high - low <= 1e-12 * high + 1e-15
    assert curve.epsilon_at(0.0) == pytest.approx(1 / scale)


def _masses(law, low, high):
    """Exact-to-40-digits masses of an integer law, from its definition."""
    if isinstance(law, DiscreteLaplace):
        weight = [
            mp.e ** (-abs(k) / mp.mpf(float(law.scale))) for k in range(low, high)
        ]
        tail = mp.e ** (-1 / mp.mpf(float(law.scale)))
        total = (1 + tail) / (1 - tail)
    else:
        s = mp.mpf(float(law.std))
        weight = [mp.e ** (-(mp.mpf(k) ** 2) / (2 * s * s)) for k in range(low, high)]
        total = mp.jtheta(3, 0, mp.e ** (-1 / (2 * s * s)))
    return [w / total for w in weight]


@pytest.mark.parametrize(
    ("law", "by"),
    [
        (DiscreteLaplace(Fraction(1, 2)), 1),
        (DiscreteLaplace(3), 4),
        (DiscreteGaussian(Fraction(1, 2)), 1),
        (DiscreteGaussian(2), 1),
        (DiscreteGaussian(3), 5),
    ],
)
def test_integer_noise_against_sums(law, by):
    reach = 160
    p = _masses(law, -reach - by, reach - by)  # law shifted up by `by`
    q = _masses(law, -reach, reach)
    curve = Pair.shift(law, by=by)
    for epsilon in (0.0, 0.3, 1.1, 2.5):
        truth = oracles.hockey(p, q, epsilon)
        low, high = curve.delta_at_lower(epsilon), curve.delta_at(epsilon)
        assert low * (1 - 1e-12) <= truth <= high * (1 + 1e-13)
        assert high - low <= 1e-11 * high + 1e-60


def test_integer_gaussian_exceeds_the_continuous_curve():
    integer, continuous = Pair.shift(DiscreteGaussian(2), by=1), GDP(mu=0.5)
    assert integer.delta_at_lower(1.5) > 1.09 * continuous.delta_at(1.5)
    assert integer.rho == pytest.approx(0.125)
    for order in (1.0, 2.0, 7.0):
        assert integer.renyi_at_lower(order) <= order * 0.125 * (1 + 1e-9)


def test_coarse_cells_still_bracket():
    curve = Pair.shift(DiscreteGaussian(3000), by=3000)
    for epsilon in (0.0, 1.0, 4.0):
        low, high = curve.delta_at_lower(epsilon), curve.delta_at(epsilon)
        assert low <= GDP(mu=1.0).delta_at(epsilon) * (1 + 1e-6)
        assert high >= GDP(mu=1.0).delta_at_lower(epsilon) * (1 - 1e-6)
        assert high - low <= 1e-5 * high


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.9, 1.5])
def test_tables_against_all_events(epsilon):
    p = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5), Fraction(0)]
    q = [Fraction(1, 10), Fraction(3, 10), Fraction(1, 2), Fraction(1, 10)]
    curve = Pair(p, q)
    there = oracles.hockey_by_subsets(*_floats(p, q), epsilon)
    back = oracles.hockey_by_subsets(*_floats(q, p), epsilon)
    assert curve.remove.delta_at(epsilon) == pytest.approx(float(there), abs=1e-14)
    assert curve.add.delta_at(epsilon) == pytest.approx(float(back), abs=1e-14)
    assert curve.delta_at(epsilon) >= max(there, back)
    assert curve.delta_at_lower(epsilon) <= max(there, back)


def _floats(*tables):
    return [[mp.mpf(v.numerator) / v.denominator for v in table] for table in tables]


def test_noisy_max_output_law():
    # Two candidates with scores 1, 0 (and 0, 1), exponential noise: index law by hand.
    p = Finite((Fraction(3, 5), Fraction(2, 5)))
    q = Finite((Fraction(2, 5), Fraction(3, 5)))
    assert Pair(p, q).epsilon_at(0.0) == pytest.approx(math.log(1.5))
    assert Pair(p, q).epsilon_at(0.0) >= math.log(1.5)


def test_laws_of_different_support():
    p, q = Geometric(3), Shifted(Geometric(3), 1)
    curve = Pair(p, q)
    # The outcome 0 happens only without the shift.
    assert curve.remove.delta_at(5.0) == pytest.approx(1 - math.exp(-1 / 3), rel=1e-9)
    assert curve.epsilon_at(1e-3) == math.inf


def _normal(mean: float, std: float = 1.0) -> Density:
    return Density(
        lambda x: -0.5 * ((np.asarray(x) - mean) / std) ** 2 - math.log(std),
        lambda x: special.ndtr((np.asarray(x) - mean) / std),
        lambda x: special.ndtr((mean - np.asarray(x)) / std),
    )


def test_densities_bracket_the_gaussian():
    curve = Pair(_normal(1.0), _normal(0.0))
    for epsilon in (0.0, 1.0, 4.0):
        truth = oracles.gaussian_delta(1, epsilon)
        low, high = curve.delta_at_lower(epsilon), curve.delta_at(epsilon)
        assert low <= truth <= high
        assert high - low <= 1e-4 * high


def test_densities_whose_ratio_turns_need_breaks():
    wide, narrow = _normal(0.0, 2.0), _normal(0.0, 1.0)
    with pytest.raises(InvalidArgument, match="breaks"):
        Pair(wide, narrow)
    curve = Pair(wide, narrow, breaks=(0.0,))
    # (p - e^ε q)+ by quadrature, both signs of x.
    for epsilon in (0.0, 0.5):
        gamma = mp.e ** mp.mpf(epsilon)

        def gain(x, gamma=gamma):
            return max(mp.npdf(x, 0, 2) - gamma * mp.npdf(x, 0, 1), 0)

        turn = mp.sqrt(8 * mp.log(2 * gamma) / 3)
        truth = 2 * oracles.integral(gain, [turn, turn + 1, turn + 4, turn + 10, 40])
        assert curve.remove.delta_at_lower(epsilon) <= truth
        assert truth <= curve.remove.delta_at(epsilon)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: Pair([0.5, 0.5], [1.0]),
        lambda: Pair([0.5, 0.6], [0.5, 0.5]),
        lambda: Pair([0.5, math.nan], [0.5, 0.5]),
        lambda: Pair(DiscreteLaplace(2), [0.5, 0.5]),
        lambda: Pair(1.0, 2.0),
        lambda: Pair.laplace(scale=0.0),
        lambda: Pair.gaussian(std=-1.0),
        lambda: Pair.shift(DiscreteLaplace(2), by=0.5),
    ],
)
def test_bad_pairs_are_refused(bad):
    with pytest.raises(InvalidArgument):
        bad()


def test_shift_refuses_laws_for_which_smaller_shifts_may_be_worse():
    # Even outcomes only: a shift of 2 is mild, a shift of 1 gives everything away.
    comb = Finite(
        (Fraction(1, 3), Fraction(0), Fraction(1, 3), Fraction(0), Fraction(1, 3))
    )
    with pytest.raises(NoBound):
        Pair.shift(comb, by=2)
    with pytest.raises(NoBound):
        Pair.shift(Geometric(2), by=1)
