"""Groups and exchanges of asymmetric pairs against fractions: no δ is too small."""

import math
import random
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from hush.privacy import Pair, Pure, geometric, group, poisson, replace_one, worst
from hush.privacy.discrete_pair import Atoms
from hush.privacy.rules.group import chain, profile_corners, symmetric
from privacy import truths
from privacy.truths import Truth

HALF = Fraction(1, 2)
EPSILONS = (0.0, 1e-12, 1e-3, 0.1, 0.7, 2.0, 5.0, 20.0, 60.0, 650.0)


@pytest.fixture(autouse=True)
def fifty_digits():
    with mp.workdps(50):
        yield


@pytest.mark.parametrize("digits", [4, 9, 14, 20, 34])
def test_a_tiny_distance_is_doubled_not_rounded(digits):
    h = Fraction(1, 3 * 10**digits)
    more, even, less = ([HALF + h, HALF - h], [HALF, HALF], [HALF - h, HALF + h])
    steps = worst([Pair(more, even), Pair(even, less)])
    exchange = replace_one(worst([Pair(more, even), Pair(less, even)]))
    for curve in (geometric(steps, 2), group(steps, size=2), exchange):
        for side in (curve.remove, curve.add):
            above, below = (
                Fraction(x(0.0)) for x in (side.delta_at, side.delta_at_lower)
            )
            assert 2 * h <= above <= 2 * h * (1 + Fraction(1, 10**11))
            assert 2 * h * (1 - Fraction(1, 10**11)) <= below <= 2 * h


@pytest.mark.parametrize("rare", [1e-3, 1e-12, 1e-20, 1e-39])
def test_a_rare_outcome_is_seen_in_both_directions(rare):
    """Chances s, 2s, 4s of one outcome: δ(log 2) of the ends is 2s."""
    s = Fraction(rare)
    ends = [[x * s, 1 - x * s] for x in (4, 2, 1)]
    steps = worst([Pair(ends[0], ends[1]), Pair(ends[1], ends[2])])
    curve = geometric(steps, 2)
    for side in (curve.remove, curve.add):
        assert 2 * s <= Fraction(side.delta_at(math.log(2))) <= 3 * s


def random_table(rng, size):
    weights = [
        rng.choice([0, 1, 10 ** rng.randrange(40), rng.randrange(1, 1000)])
        for _ in range(size)
    ]
    weights[rng.randrange(size)] += 10 ** rng.randrange(30)
    return [Fraction(w, sum(weights)) for w in weights]


def check_chain(seed):
    rng = random.Random(seed)
    size = rng.choice([2, 3, 4])
    between, one, two = (random_table(rng, size) for _ in range(3))
    if rng.random() < 0.5:
        one, two = (truths.near(rng, between, rng.choice([0.01, 2.0])) for _ in "12")
    ends = Truth(truths.atoms(one, two))
    steps = worst([Pair(one, between), Pair(between, two)])
    curves = [
        replace_one(worst([Pair(one, between), Pair(two, between)])),
        group(steps, size=2),
    ]
    for curve in curves:
        remove, add = (
            side.delta_at(np.array(EPSILONS)) for side in (curve.remove, curve.add)
        )
        for k, x in enumerate(EPSILONS):
            assert remove[k] >= ends.hockey(x), (seed, x)
            assert add[k] >= ends.flipped.hockey(x), (seed, x)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_chains_of_fractions_are_never_understated(seed):
    check_chain(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 60))
def test_many_chains_of_fractions_are_never_understated(seed):
    check_chain(seed)


def test_a_chain_is_the_best_test_of_a_test():
    """outer(inner(x)) from the corners of both, in fractions."""
    outer = ([0, Fraction(1, 8), 1], [0, Fraction(1, 2), 1])
    inner = ([0, Fraction(1, 5), 1], [0, Fraction(3, 5), 1])

    def power(polygon, x):
        for (a, b), (c, d) in zip(
            zip(*polygon, strict=True),
            list(zip(*polygon, strict=True))[1:],
            strict=False,
        ):
            if x <= c:
                return b + (d - b) * (x - a) / (c - a)
        return Fraction(1)

    def atoms(polygon):
        width, rise = (np.diff([float(v) for v in side]) for side in polygon)
        order = np.argsort(rise / width)
        return Atoms(np.log(rise / width)[order], rise[order])

    made = chain(atoms(outer), atoms(inner), upper=True)
    x, y = made.power
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        assert abs(b - float(power(outer, power(inner, Fraction(a))))) < 1e-14
    knots, delta = profile_corners(made)
    assert np.allclose(delta, made.hockey(knots), rtol=1e-14)
    twice = symmetric(made, upper=True)
    assert np.allclose(twice.hockey(knots), twice.reversed.hockey(knots), rtol=1e-13)


def test_losses_beyond_floats_stay_an_upper_bound():
    """An outcome of chance 1e-305 against 1e-5: its ratio is no float once squared."""
    tiny = Fraction(1, 10**305)
    one, two = [Fraction(1, 10**5), 1 - Fraction(1, 10**5)], [tiny, 1 - tiny]
    curve = geometric(worst([Pair(one, two), Pure(0.1)]), 3)
    assert curve.remove.delta_at(690.0) >= 1e-5 * (1 - 1e-9)


def test_a_curve_that_is_negligible_from_the_start_has_a_group():
    h = Fraction(1, 10**45)
    curve = poisson(Pair([HALF + h, HALF - h], [HALF, HALF]), rate=0.5)
    for found in (replace_one(curve), group(curve, size=3)):
        assert h / 2 <= Fraction(found.delta_at(0.0)) <= 1e-40
