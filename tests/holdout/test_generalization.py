"""Planners: the printed theorem, what implies it, and the tools around it."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

from hush.errors import InvalidArgument, NoBound
from hush.holdout import generalization
from hush.mechanisms import Gaussian
from hush.privacy import GDP, Approx, Pure


@pytest.mark.parametrize("size", [800, 3000, 10**4, 10**6])
def test_g_t0_2_as_printed_follows_from_the_proven_bound(size):
    for epsilon in np.linspace(math.sqrt(12 / size), 1 / 8, 6):
        for delta in (0.0, 1e-9, epsilon / 2000, epsilon / 16):
            chance = generalization.printed(float(epsilon), float(delta), size)
            assert chance == max(
                4 * delta / epsilon, math.exp(-(epsilon**2) * size / 8)
            )
            if chance == 0.0:
                continue
            within = generalization.selection(
                float(epsilon), float(delta), size, max(chance, 1e-300)
            )
            assert within <= 6 * epsilon


def test_the_printed_theorem_refuses_outside_its_range():
    for epsilon, delta, size in [(0.2, 0, 10**4), (0.01, 0, 10**4), (0.1, 0.01, 10**4)]:
        with pytest.raises(NoBound, match="selection"):
            generalization.printed(epsilon, delta, size)
    with pytest.raises(NoBound):
        generalization.printed_epsilon(100, 0.05)


def test_the_printed_theorem_is_evaluated_as_printed():
    # max(4δ/ε, e^(-ε²m/8)), each of the two where it is the larger one.
    for epsilon, delta, size in ((0.1, 0.0, 10_000), (0.1, 1e-3, 10_000)):
        e = mp.mpf(epsilon)
        wanted = max(4 * delta / e, mp.exp(-e * e * size / 8))
        found = generalization.printed(epsilon, delta, size)
        assert found == pytest.approx(float(wanted), rel=1e-12)
    wanted = 8 * mp.log(1 / mp.mpf(0.01)) / mp.mpf(0.1) ** 2
    assert generalization.printed_size(0.1, 0.01) == math.ceil(wanted)
    assert generalization.printed_size(0.1, 0.9) == 1200  # 12/ε², from ε >= √(12/m)
    wanted = mp.sqrt(8 * mp.log(20) / mp.mpf(20_000))
    assert generalization.printed_epsilon(20_000, 0.05) == pytest.approx(float(wanted))


def test_the_printed_theorem_turned_around():
    size = generalization.printed_size(0.1, 0.01)
    assert generalization.printed(0.1, 0.0, size) <= 0.01
    assert generalization.printed(0.1, 0.0, size - 1) > 0.01
    epsilon = generalization.printed_epsilon(20_000, 0.01)
    assert generalization.printed(epsilon * (1 + 1e-12), 0.0, 20_000) <= 0.01 * 1.001


def test_selection_covers_an_exact_private_choice():
    # n coins, the exponential mechanism picks the heads or the tails query.
    n, epsilon = 200, 0.5
    heads = np.arange(n + 1)
    chance = (
        np.exp(
            [
                math.lgamma(n + 1) - math.lgamma(h + 1) - math.lgamma(n - h + 1)
                for h in heads
            ]
        )
        * 0.5**n
    )
    pick = 1 / (1 + np.exp(-epsilon / 2 * (2 * heads - n)))  # sensitivity 1 per query
    for p in (0.2, 0.05, 0.01):
        within = generalization.selection(epsilon, 0.0, n, p)
        gap = np.abs(heads / n - 0.5)
        missed = (chance * (pick + (1 - pick)))[gap > within].sum()
        assert missed <= p


def test_g_l0_6_covers_every_event_and_the_curve_form_is_no_worse():
    for epsilon, delta in [(0.1, 0.0), (0.5, 0.01), (2.0, 0.1)]:
        # The worst pair: a δ of disjoint mass, randomized response on the rest.
        q = (1 - delta) / (1 + math.exp(epsilon))
        p_law = [delta, q * math.exp(epsilon), q, 0.0]
        q_law = [0.0, q, q * math.exp(epsilon), delta]
        for values in itertools.product((0.0, 0.5, 1.0), repeat=4):
            on_p = float(np.dot(values, p_law))
            on_q = float(np.dot(values, q_law))
            curve = Approx(epsilon, delta) if delta else Pure(epsilon)
            loose = generalization.expectation(on_q, epsilon, delta)
            tight = generalization.expectation_under(curve, min(on_q, 1.0))
            assert on_p <= tight + 1e-12
            assert tight <= loose + 1e-9


def test_g_l0_4_as_printed_and_tighter():
    for epsilon, delta, samples in [(0.1, 0.0, 1), (0.1, 1e-4, 50), (1.0, 1e-6, 10)]:
        printed = generalization.expected_overfit(epsilon, delta, samples)
        assert printed == pytest.approx(math.expm1(epsilon) + samples * delta)
        curve = Approx(epsilon, delta) if delta else Pure(epsilon)
        assert generalization.expected_overfit_under(curve, samples) <= printed


def test_planners_turn_each_other_around():
    people = generalization.records_for(0.1, queries=50, level=0.9)
    assert generalization.best(people, 50, 0.9).radius <= 0.1
    assert generalization.queries_for(people, 0.1, 0.9) >= 50
    level = generalization.level_for(people, 50, 0.1)
    assert level >= 0.9 - 1e-3
    assert generalization.best(people, 50, level).radius <= 0.1
    assert generalization.queries_for(100, 0.01) == 0
    assert generalization.level_for(100, 100, 0.01) == 0.0


@pytest.mark.thin(3)
@pytest.mark.parametrize("queries", [1, 5, 20, 100, 2000])
def test_the_best_plan_is_named_and_beats_a_published_one(queries):
    n = 20_000
    plan = generalization.best(n, queries)
    others = [generalization.gaussian(n, queries), generalization.split(n, queries)]
    assert plan.radius == min(each.radius for each in others)
    assert plan.method == ("split" if queries <= 5 else "transfer")
    assert plan.radius < generalization.published_radius(n, queries)


def test_a_vacuous_plan_says_so():
    assert generalization.best(100, 100).vacuous
    assert not generalization.best(10_000, 100).vacuous


def test_the_chosen_noise_is_near_the_best():
    plan = generalization.gaussian(5000, 200)
    for factor in (0.8, 0.95, 1.05, 1.25):
        other = Gaussian(float(plan.mechanism.std) * factor)
        other_plan = generalization.transferred(other, 5000, 200, 0.95)
        assert other_plan.radius >= plan.radius * (1 - 1e-3)


def test_radii_scale_with_the_range():
    one, ten = generalization.best(5000, 50), generalization.best(5000, 50, width=10.0)
    assert ten.radius == pytest.approx(10 * one.radius, rel=1e-6)
    assert ten.curve.mu == pytest.approx(one.curve.mu, rel=1e-6)


def test_the_curve_of_a_plan_is_that_of_its_noise():
    plan = generalization.gaussian(1000, 64)
    truth = 8 / (1000 * float(plan.mechanism.std))
    assert truth <= plan.curve.mu <= truth * (1 + 1e-6)
    part = generalization.split(1000, 4)
    assert part.people == 250
    assert part.curve.mu == pytest.approx(1 / (250 * float(part.mechanism.std)))
    assert isinstance(plan.curve, GDP)


def test_refusals():
    with pytest.raises(InvalidArgument, match="queries"):
        generalization.split(10, 11)
    with pytest.raises(InvalidArgument, match="level"):
        generalization.best(10, 1, level=1.0)
