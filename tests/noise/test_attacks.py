"""Attacks on the numbers themselves (HAZARDS N1, N2, N4): holes, precision, timing."""

import gc
import math
import time

import numpy as np
import pytest
from scipy import stats

from goodness import FALSE_ALARM
from hush import noise
from hush.noise import Lattice, Seeded

DRAWS = 200_000


def float_laplace(value, scale, source, count=DRAWS):
    """A float release as mechanisms make it: snapped, noised and returned on a grid."""
    grid = Lattice.under(scale)
    draws = noise.discrete_laplace(scale / grid.step, count, source=source)
    return grid, grid.floats(grid.integers(value) + draws)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("draw", "epsilon"),
    [
        (lambda n, s: noise.discrete_laplace(2, n, source=s), 0.5),
        (lambda n, s: noise.discrete_laplace(1, n, source=s), 1.0),
        (lambda n, s: noise.discrete_laplace(10, n, source=s), 0.1),
    ],
    ids=["scale 2", "scale 1", "scale 10"],
)
def test_n1_both_inputs_reach_the_same_points(draw, epsilon):
    # Under x and x+1 each point's counts stay within e^ε, at 1e-9 for each point.
    zero, one = draw(DRAWS, Seeded(31)), 1 + draw(DRAWS, Seeded(32))
    points = np.union1d(zero, one)
    a = np.array([np.count_nonzero(zero == p) for p in points])
    b = np.array([np.count_nonzero(one == p) for p in points])
    often = np.maximum(a, b) >= 25
    limit = math.exp(epsilon) / (1 + math.exp(epsilon))
    for x, y in ((a, b), (b, a)):
        p = stats.binom.sf(x[often] - 1, (x + y)[often], limit)
        assert p.min() > FALSE_ALARM
    # The twin with half the noise is caught.
    loud = 1 + noise.discrete_laplace(0.5 / epsilon, DRAWS, source=Seeded(33))
    c = np.array([np.count_nonzero(loud == p) for p in points])
    p = stats.binom.sf(c - 1, a + c, limit)
    assert p[(a + c) > 0].min() < FALSE_ALARM


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -3.7e5, 1e-300])
def test_n1_floats_stay_on_the_declared_grid(value):
    grid, y = float_laplace(value, 1.0, Seeded(34))
    steps = np.ldexp(y, -grid.exponent)
    assert np.array_equal(steps, np.rint(steps))


def test_n2_the_grid_depends_on_public_numbers_alone():
    for value in (1.0, 2.0**29, -5.0):
        assert float_laplace(value, 3.0, Seeded(35), 1)[0] == Lattice(exponent=-29)


def precision_event(y):
    """The event of the precision attack: small values finer than 2^-53."""
    fine = np.abs(y) < 0.25
    scaled = np.ldexp(y[fine], 53)
    return np.count_nonzero(scaled != np.rint(scaled))


def test_n2_low_bits_do_not_tell_inputs_apart():
    zero = precision_event(float_laplace(0.0, 1.0, Seeded(36))[1])
    one = precision_event(float_laplace(1.0, 1.0, Seeded(37))[1])
    assert (zero, one) == (0, 0)


def test_n2_power_textbook_floats_are_told_apart():
    generator = np.random.default_rng(38)
    zero = precision_event(0.0 + generator.laplace(size=20_000))
    one = precision_event(1.0 + generator.laplace(size=20_000))
    assert zero > 25
    assert one == 0


def rank_correlation(draw, count):
    times, sizes = np.empty(count), np.empty(count)
    gc.disable()
    try:
        for i in range(count):
            start = time.perf_counter_ns()
            value = draw()
            times[i] = time.perf_counter_ns() - start
            sizes[i] = abs(value)
    finally:
        gc.enable()
    usual = times <= np.quantile(times, 0.99)
    return stats.spearmanr(sizes[usual], times[usual]).statistic


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    "draw",
    [
        lambda: noise.discrete_laplace(10**4),
        lambda: noise.discrete_laplace(3),
        lambda: noise.discrete_gaussian(10**4),
        lambda: noise.discrete_gaussian(3),
    ],
    ids=["laplace wide", "laplace", "gaussian wide", "gaussian"],
)
def test_n4_time_does_not_tell_the_noise(draw):
    # 0.035 is 4.9 standard errors at 20 000 draws: fails wrongly below 1e-6.
    draw()
    assert abs(rank_correlation(draw, 20_000)) < 0.035


@pytest.mark.slow
def test_n4_power_a_loop_that_counts_is_caught():
    def looping():
        value = noise.geometric(50)
        for _ in range(value * 20):
            pass
        return value

    assert rank_correlation(looping, 20_000) > 0.035
