"""Sums in groups: every pair of neighbours, exact sums, and the noise they get."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hush.audit import distance, replay
from hush.errors import InvalidArgument
from hush.learn import GroupSums
from hush.mechanisms import Gaussian, KNorm
from hush.noise import Seeded
from hush.privacy import repeat

VALUES = (-1.0, -0.6, -0.25, 0.0, 0.3, 0.8, 1.0)


def sums(columns=2, degree=2, delta=0.0, epsilon=1.0, groups=3, **more):
    return GroupSums.plan(
        epsilon, delta=delta, groups=groups, columns=columns, degree=degree, **more
    )


def contributions(mechanism):
    """What each row in each group, and a row in no group, adds."""
    rows = itertools.product(VALUES, repeat=mechanism.columns)
    places = range(-1, mechanism.groups)
    pairs = itertools.product(rows, places)
    return np.array(
        [mechanism.exact(np.array([row]), np.array([place])) for row, place in pairs]
    )


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("columns", [1, 2])
def test_the_sensitivities_cover_every_pair_of_rows(columns, degree):
    pure = contributions(sums(columns, degree, groups=2))
    moved = np.abs(pure[:, None] - pure[None]).max(axis=3).sum(axis=2)
    assert moved.max() == 2  # attained: the ball could not be smaller
    gaussian = contributions(sums(columns, degree, 1e-6, groups=2))
    moved = np.sqrt(((gaussian[:, None] - gaussian[None]) ** 2).sum(axis=(2, 3)))
    assert moved.max() == pytest.approx(2 * math.sqrt(columns), rel=1e-12)
    assert moved.max() <= 2 * math.sqrt(columns) * (1 + 2.0**-50)


def test_random_tables_that_differ_in_one_row_stay_within_the_sensitivity():
    rng = np.random.default_rng(0)
    pure, gaussian = sums(4), sums(4, delta=1e-6)
    for _ in range(300):
        x, place = rng.uniform(-1, 1, (6, 4)), rng.integers(-1, 3, 6)
        other, elsewhere = x.copy(), place.copy()
        other[2] = rng.choice([-1, 0, 1], 4) if rng.random() < 0.5 else -x[2]
        elsewhere[2] = rng.integers(-1, 3)
        a, b = (pure.exact(*each) for each in ((x, place), (other, elsewhere)))
        assert sum(
            distance(pure.inner, one, two).value for one, two in zip(a, b, strict=True)
        ) <= Fraction(2)
        a, b = (gaussian.exact(*each) for each in ((x, place), (other, elsewhere)))
        assert np.linalg.norm(a - b) <= 4 * (1 + 1e-12)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_rows_outside_are_clipped_and_rows_that_are_no_numbers_left_out(delta):
    mechanism = sums(2, delta=delta)
    places = np.array([0])
    far, near, bad = (
        mechanism.exact(np.array([row]), places)
        for row in ([9.0, -1e308], [1.0, -1.0], [0.5, math.inf])
    )
    assert (far == near).all()
    assert not bad.any()
    for rows, where in [(np.zeros((2, 3)), [0, 1]), (np.zeros((2, 2)), [0])]:
        with pytest.raises(InvalidArgument, match="rows of 2 columns"):
            mechanism.exact(rows, np.array(where))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_sums_are_exact(delta):
    rng = np.random.default_rng(1)
    x, place = rng.uniform(-1, 1, (200, 2)), rng.integers(-1, 3, 200)
    mechanism = sums(delta=delta)
    found = mechanism.exact(x, place)
    z = [[Fraction(round(v * 2**14), 2**14) for v in row] for row in x.tolist()]
    for group in range(3):
        own = [row for row, p in zip(z, place, strict=True) if p == group]
        for j in (0, 1):
            assert Fraction(float(found[group, 1 + j])) == sum(r[j] for r in own)
            squares = [2 * r[j] ** 2 - 1 if delta == 0 else 1 - r[j] ** 2 for r in own]
            assert Fraction(float(found[group, 3 + j])) == sum(squares)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_released_sums_are_those_of_rows(delta):
    rng = np.random.default_rng(2)
    x, place = rng.uniform(-1, 1, (500, 3)), rng.integers(0, 3, 500)
    mechanism = sums(3, delta=delta, epsilon=500.0)
    found = mechanism.run((x, place), source=Seeded(1))
    for group in range(3):
        own = x[place == group]
        expected = [len(own), *own.sum(axis=0), *(own**2).sum(axis=0)]
        assert found[group] == pytest.approx(expected, abs=10 * mechanism.std + 0.1)


@pytest.mark.statistical
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_the_noise_has_its_stated_std(delta):
    # 3000 draws per number; within 20 % except with chance below 1e-9.
    mechanism = sums(2, degree=1, delta=delta)
    value = (np.zeros((1, 2)), np.array([-1]))
    source = Seeded(3)
    drawn = np.array([mechanism.run(value, source=source) for _ in range(1000)])
    assert drawn[:, :, 1:].std() == pytest.approx(mechanism.std, rel=0.2)
    counts = mechanism.std / (math.sqrt(2) if delta else 1)
    assert drawn[:, :, 0].std() == pytest.approx(counts, rel=0.2)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 5.0])
@pytest.mark.parametrize("times", [1, 5])
def test_plans_spend_what_they_may(epsilon, times):
    pure = repeat(sums(8, epsilon=epsilon, times=times).curve(), times)
    assert 0.999 * epsilon <= pure.epsilon_at(0) <= epsilon
    curve = repeat(sums(8, delta=1e-6, epsilon=epsilon, times=times).curve(), times)
    assert curve.delta_at(epsilon) <= 1e-6 < curve.delta_at(0.99 * epsilon)


def test_more_people_cost_more_and_nobody_nothing():
    for mechanism in (sums(), sums(delta=1e-6)):
        assert mechanism.curve(0).epsilon_at(0) == 0
        cost = [mechanism.curve(k).epsilon_at(1e-6) for k in (1, 2, 3)]
        assert cost == sorted(cost)
        assert cost[0] < cost[1]


def test_one_row_moved_between_groups_replays():
    for mechanism in (sums(), sums(delta=1e-6)):
        moved = 1 if isinstance(mechanism.inner, KNorm) else 2 * math.sqrt(2)
        x = np.array([[0.5, -1.0], [0.2, 0.1]])

        def run(place, mechanism=mechanism, x=x):
            exact = mechanism.exact(x, np.array(place))
            if isinstance(mechanism.inner, Gaussian):
                return mechanism.inner.run(exact)
            return [mechanism.inner.run(line) for line in exact]

        assert replay(run, [0, 1], [2, 1], sensitivity=moved).passed
        assert not replay(run, [0, 1], [2, 1], sensitivity=moved / 9).passed


def test_noise_that_does_not_fit_is_refused():
    good = sums(2)
    with pytest.raises(InvalidArgument, match="inner must be ℓ∞ noise of dimension 5"):
        replace(good, inner=KNorm(1.0, 4, math.inf))
    with pytest.raises(InvalidArgument, match="inner"):
        replace(good, inner=KNorm(1.0, 5, 2))
    with pytest.raises(InvalidArgument, match="degree"):
        replace(good, degree=3)
