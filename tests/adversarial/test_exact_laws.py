"""Attempts by enumeration: the law that runs against the curve that is claimed."""

import itertools
import random
from fractions import Fraction

import mpmath
import pytest

from hush import mechanisms as m
from hush.local import HadamardResponse, RandomizedResponse, SubsetSelection


def hockey(p, q, epsilon):
    """Return the larger hockey-stick of two lists of probabilities."""
    e = mpmath.exp(mpmath.mpf(epsilon))
    return max(
        mpmath.fsum(max(mpmath.mpf(0), a - e * b) for a, b in zip(x, y, strict=True))
        for x, y in ((p, q), (q, p))
    )


def gaussian(std, shift, reach):
    """Return the discrete Gaussian moved by `shift`, on -reach..reach."""
    s = mpmath.mpf(std)
    weight = [
        mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s * s)) for k in range(-reach, reach)
    ]
    total = mpmath.fsum(weight)
    moved = [mpmath.mpf(0)] * shift + weight
    return [w / total for w in moved]


@pytest.mark.parametrize("std", [0.05, 0.3, 0.7, 1.5, 12.0])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_integer_gaussian_noise_never_claims_less_than_its_law(std, shift):
    with mpmath.workdps(60):
        reach = max(30, int(14 * std)) + shift
        q = [*gaussian(std, 0, reach), *[mpmath.mpf(0)] * shift]
        p = gaussian(std, shift, reach)
        curve = m.DiscreteGaussian(std=std).curve(shift)
        # What the window leaves out is an error of the oracle, below 1e-40.
        for epsilon in (0.0, 1e-6, 0.1, 1.0, 5.0, 50.0):
            assert (
                curve.delta_at(epsilon) >= hockey(p, q, epsilon) - mpmath.mpf(10) ** -40
            )


def softmax(utilities, scale):
    weight = [mpmath.exp(mpmath.mpf(u) / mpmath.mpf(scale)) for u in utilities]
    total = mpmath.fsum(weight)
    return [w / total for w in weight]


def flips(utilities, scale):
    """Return the law of permute and flip, by all orders of the candidates."""
    top = max(utilities)
    heads = [mpmath.exp((mpmath.mpf(u) - top) / mpmath.mpf(scale)) for u in utilities]
    found = [mpmath.mpf(0)] * len(utilities)
    orders = list(itertools.permutations(range(len(utilities))))
    for order in orders:
        rest = mpmath.mpf(1) / len(orders)
        for i in order:
            found[i] += rest * heads[i]
            rest *= 1 - heads[i]
    return found


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 20.0, 50.0])
@pytest.mark.parametrize(
    ("mechanism", "law"),
    [(m.Exponential, softmax), (m.PermuteAndFlip, flips)],
    ids=["exponential", "permute-and-flip"],
)
def test_choices_stay_below_their_curve_on_random_neighbors(mechanism, law, epsilon):
    rng = random.Random(7)
    chosen = mechanism.for_epsilon(epsilon)
    curve, scale = chosen.curve(1), chosen.scale
    with mpmath.workdps(60):
        for _ in range(25):
            size = rng.choice([2, 3, 4])
            spread = rng.choice([0, 1, 5, 5 / epsilon])
            first = [rng.uniform(-spread, spread) for _ in range(size)]
            second = [u + rng.choice([-1, 0, 1, 1]) for u in first]
            p, q = law(first, scale), law(second, scale)
            # Utilities are floats: a move of 1 is 1 + 1e-15 after their rounding.
            slack = mpmath.mpf(10) ** -12
            worst = max(abs(mpmath.log(a / b)) for a, b in zip(p, q, strict=True))
            assert worst <= mpmath.mpf(epsilon) * (1 + slack) + slack * spread
            for share in (0.0, 0.3, 0.8):
                truth = hockey(p, q, epsilon * share)
                assert truth <= curve.delta_at(epsilon * share) * (1 + slack) + slack


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 8.0, 25.0])
def test_local_randomizers_keep_their_epsilon_exactly(epsilon):
    with mpmath.workdps(60):
        for size in (2, 3, 10):
            for kind in (RandomizedResponse, SubsetSelection, HadamardResponse):
                claimed = kind(epsilon, size).curve().epsilon_at(0.0)
                assert 0 < claimed <= epsilon
    # Randomized response: honesty and lies are rationals, their odds are the loss.
    for size in (2, 3, 10):
        oracle = m.RandomizedResponse.for_epsilon(epsilon, categories=size)
        honest = Fraction(oracle.honesty)
        lie = (1 - honest) / (size - 1)
        with mpmath.workdps(60):
            odds = honest / lie
            loss = mpmath.log(mpmath.mpf(odds.numerator) / odds.denominator)
            assert oracle.curve().epsilon_at(0.0) >= loss
