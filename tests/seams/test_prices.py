"""What is charged, against a price list that shares nothing with the implementation.

Each price is asked with its numbers in the clothes people have them in. It is never
below the truth, and where the law of the noise is exact it is no higher either.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from hush import mechanisms as m
from hush.errors import HushError
from seams import price_list as prices
from seams.oddities import twins

SLACK = 1e-9  # of a price that is said to be exact
EPSILONS = (0.0, 0.25, 1.0)
SCALES = (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3))


def dressed(value):
    """Return (name, twin) for a number, its plain self first."""
    return [("plain", value), *twins(value)]


def pairs(one, two, *, every=False):
    """Return pairs of twins of two numbers: all, or each with the other one plain."""
    first, second = dressed(one), dressed(two)
    if every:
        return list(itertools.product(first, second))
    plain = first[0], second[0]
    return [*((each, plain[1]) for each in first), *((plain[0], x) for x in second[1:])]


def wrong(curve, truth, *, tight=True):
    """Return what is wrong with a curve, against δ by ε."""
    for epsilon, exact in truth.items():
        found = float(curve.delta_at(epsilon))
        if found < exact * (1 - 1e-12) - 1e-15:
            return f"δ({epsilon}) = {found!r} is below {float(exact)!r}"
        if tight and found > exact * (1 + SLACK) + 1e-12:
            return f"δ({epsilon}) = {found!r} is above {float(exact)!r}"
    return None


def truths(pair):
    """Return δ of two tables at the ε that are tried."""
    return {each: prices.hockey(*pair, each) for each in EPSILONS}


# name, constructor, how far neighbors are, the tables of the law, whether it is exact
ADDITIVE = {
    "geometric": (m.Geometric, (1, 2, 3), prices.laplace, 1),
    "laplace, whole": (lambda x: m.Laplace(x, step=1), (1, 2, 3), prices.laplace, 1),
    "laplace, quarters": (
        lambda x: m.Laplace(x, step=0.25),
        (Fraction(1, 4), Fraction(3, 8), 1),
        prices.laplace,
        Fraction(1, 4),
    ),
    "discrete gaussian": (m.DiscreteGaussian, (1, 2), prices.gaussian, 1),
    "gaussian, quarters": (
        lambda x: m.Gaussian(x, step=0.25),
        (Fraction(1, 4), 1),
        prices.gaussian,
        Fraction(1, 4),
    ),
}


def _additive(name, scales, distances, *, every=False):
    make, moved, law, step = ADDITIVE[name]
    for scale, distance in itertools.product(scales, moved[:distances]):
        steps = prices.lattice_steps(distance, step)
        truth = truths(law(scale / step, steps))
        for (one, noise), (two, far) in pairs(scale, distance, every=every):
            try:
                curve = make(noise).curve(far)
            except HushError:
                continue
            yield f"{name}, {one} {scale}, {two} {distance}", wrong(curve, truth)


@pytest.mark.parametrize("name", ADDITIVE)
def test_noise_costs_what_its_law_says(name):
    found = [each for each in _additive(name, SCALES[3:4], 1) if each[1]]
    assert not found, found[:5]


@pytest.mark.slow
@pytest.mark.parametrize("name", ADDITIVE)
def test_noise_costs_what_its_law_says_in_every_type(name):
    cases = list(_additive(name, SCALES, 3, every=True))
    assert len(cases) > 1000
    found = [each for each in cases if each[1]]
    assert not found, (len(found), found[:5])


def _staircases(scales, widths):
    for scale, width in itertools.product(scales, widths):
        inner = Fraction(1, 2)
        steps = max(1, round(inner * width))
        truth = truths(prices.staircase(1 / scale, width, steps, width))
        for (one, noise), (two, wide) in pairs(scale, width):
            try:
                curve = m.Staircase(noise, width=wide, inner=inner).curve(width)
            except HushError:
                continue
            # Two chances near one half are rounded up by 2e-14 each.
            yield f"{one} {scale}, {two} {width}", wrong(curve, truth)


def test_stairs_cost_what_their_law_says():
    found = [each for each in _staircases(SCALES[3:4], (4,)) if each[1]]
    assert not found, found[:5]


@pytest.mark.slow
def test_stairs_cost_what_their_law_says_in_every_type():
    found = [each for each in _staircases(SCALES, (1, 2, 4)) if each[1]]
    assert not found, found[:5]


def test_a_randomized_response_costs_what_its_law_says():
    for honesty, categories in (
        (Fraction(3, 4), 2),
        (Fraction(1, 2), 5),
        (Fraction(7, 8), 3),
    ):
        truth = truths(prices.response(honesty, categories))
        for (_, share), (_, k) in pairs(honesty, categories):
            try:
                curve = m.RandomizedResponse(share, k).curve(1)
            except HushError:
                continue
            assert wrong(curve, truth) is None


CHOICES = {
    "exponential": (m.Exponential, prices.exponential),
    "permute and flip": (m.PermuteAndFlip, prices.permute_and_flip),
    "noisy max": (lambda *a: m.NoisyMax(a[0], "laplace", a[1]), prices.noisy_max),
}


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_costs_no_less_than_its_worst_scores(name, monotone):
    """Loss of the worst of all small score vectors, each score moved by 1 at most."""
    make, law = CHOICES[name]
    scale, count = Fraction(2), 2 if name == "noisy max" else 3
    truth = {
        e: prices.choices(law, scale, e, monotone=monotone, count=count)
        for e in (0.0, 0.25)
    }
    for (_, noise), (_, far) in pairs(scale, 1):
        try:
            curve = make(noise, monotone).curve(far)
        except HushError:
            continue
        assert wrong(curve, truth, tight=False) is None
        assert curve.epsilon_at(0) == pytest.approx((1 if monotone else 2) / 2)


VALUES = (-5, Fraction(-1, 2), 0, Fraction(1, 3), 1, 2, Fraction(5, 2), 9)
BOUNDS = ((0, 1), (-3, 5), (0.0, 0.5), (-0.25, 2.0), (2, 2))


def _moves(sizes=(1, 2)):
    for bounds in BOUNDS:
        ends = (*VALUES, *map(Fraction, bounds))
        for size in sizes:
            for name in ("mean", "variance"):
                asked = getattr(m, name)
                truth = prices.sensitivity(name, ends, bounds, "replace-one", size)
                for _, many in dressed(size):
                    yield (
                        f"{name} {bounds} of {size}",
                        lambda a=asked, b=bounds, n=many: a(
                            b, size=n, neighbors="replace-one"
                        ),
                        truth,
                    )
        for neighbors in ("add-remove", "replace-one"):
            truth = prices.sensitivity("sum", ends, bounds, neighbors, 2)
            kind = "whole" if isinstance(bounds[0], int) else "real"
            for (_, low), (_, high) in itertools.product(
                twins(bounds[0], kind=kind), twins(bounds[1], kind=kind)
            ):
                yield (
                    f"sum {bounds} {neighbors}",
                    lambda b=(low, high), n=neighbors: m.sum(b, neighbors=n),
                    truth,
                )


@pytest.mark.parametrize(
    "sizes", [(1, 2), pytest.param((3, 4), marks=pytest.mark.slow)], ids=str
)
def test_a_query_states_the_largest_move_of_all_small_data_sets(sizes):
    seen = 0
    for name, make, truth in _moves(sizes):
        try:
            query = make()
        except HushError:
            continue
        stated = Fraction(query.sensitivity(1))
        seen += 1
        # A whole sum of fractions is rounded once: a move of 1/2 may become 1.
        assert stated >= truth, name
        assert stated <= truth * (1 + Fraction(1, 2**30)), name
    assert seen > 300


# -- sabotage ----------------------------------------------------------------------


def test_a_wrapped_fraction_is_caught():
    """As it was: a Fraction of 64-bit parts multiplied without looking."""

    class Wrapped:
        def __init__(self, scale):
            self.scale = scale

        def curve(self, distance):
            with np.errstate(all="ignore"):
                ratio = float(np.int8(distance * 100) / np.int8(self.scale))
            return m.Geometric(2).curve(1 if ratio > 40 else 0)

    truth = truths(prices.laplace(Fraction(2), 2))
    assert wrong(Wrapped(2).curve(1), truth) is not None


@pytest.mark.parametrize("factor", [Fraction(101, 100), Fraction(99, 100)])
def test_a_scale_that_is_one_percent_off_is_caught(factor):
    for name in ADDITIVE:
        make, moved, law, step = ADDITIVE[name]
        steps = prices.lattice_steps(moved[0], step)
        truth = truths(law(2 / Fraction(step), steps))
        assert wrong(make(2 * factor).curve(moved[0]), truth) is not None


def test_the_kinder_continuous_curve_is_caught():
    from hush.privacy import Pair

    truth = truths(prices.laplace(Fraction(2), 1))
    assert "below" in wrong(Pair.laplace(scale=2.0), truth)
