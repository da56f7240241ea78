"""The direct engine against quadrature, other engines, sabotaged twins and itself."""

import math
import random
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest

from hush.privacy import GDP, Approx, calibrate, poisson, repeat
from hush.privacy.accountants import (
    characteristic_function,
    convolution,
    fft,
    rare_events,
    tightest,
)
from hush.privacy.accountants.convolution_step import _cells, above, below
from hush.privacy.pld.gaussian_loss import SubsampledGaussianLoss
from privacy.accountants import inversion, repeated
from privacy.accountants.oracles import Mixture

# σ, q, T, δ: where no other engine is sharp in both directions.
HARD = [
    (0.3, 1e-7, 30, 1e-6),
    (0.3, 1e-7, 2, 1e-30),
    (0.3, 0.3, 2, 1e-3),
    (0.68, 5e-4, 5, 3e-30),
    (0.81, 5e-4, 18, 9e-4),
    (4.0, 0.01, 2, 1e-30),
]
SLOW = [
    (0.3, 1e-4, 1000, 1e-100),
    (0.3, 1e-4, 30, 1e-100),
    (0.3, 0.01, 30, 1e-30),
    (1.0, 1e-7, 10**9, 1e-30),
    (0.3, 1e-7, 1000, 1e-6),
]


def ask(std, rate, times, delta, direction):
    law = SubsampledGaussianLoss(std, rate, direction)
    low, high = tightest.epsilon_bracket([(law, times)], delta)
    return float(low), float(high)


@pytest.mark.thin(5)
@pytest.mark.parametrize("direction", ["add", "remove"])
@pytest.mark.parametrize(
    "case", [*HARD, *(pytest.param(case, marks=pytest.mark.slow) for case in SLOW)]
)
def test_hard_cases_are_sharp(case, direction):
    lower, upper = ask(*case, direction)
    assert 0 < lower <= upper <= lower * (1 + 1e-6)


@pytest.mark.parametrize("direction", ["add", "remove"])
@pytest.mark.parametrize("case", [HARD[0], HARD[1]])
def test_delta_brackets_agree_with_epsilon_brackets(case, direction):
    std, rate, times, delta = case
    lower, upper = ask(*case, direction)
    law = SubsampledGaussianLoss(std, rate, direction)
    least, most = tightest.delta_bracket([(law, times)], [lower, upper])
    assert least[1] <= delta <= most[0]
    # Where epsilon is next to the largest loss, delta may move fast below a rounding.
    if direction == "remove":
        assert np.all(most - least <= 2e-6 * most)


def sound(case, direction, fine=1):
    """Tell whether the truth at both ends is on the right side of delta."""
    std, rate, times, delta = case
    lower, upper = ask(*case, direction)
    if not lower > 0:
        return upper == 0.0
    top = -times * math.log1p(-rate)
    ends = [lower, upper if direction == "remove" else min(upper, top * (1 - 1e-15))]
    # Near the largest loss epsilon itself has few digits.
    near = 0.0 if direction == "remove" else 5e-13 * top / max(top - upper, 1e-300)
    slack = 1e-9 + near
    truth = inversion.log_delta(std, rate, direction, times, ends) if fine > 1 else None
    if truth is None:  # losses too spiky for a transform
        rough, truth = (
            repeated.log_delta(std, rate, direction, times, ends, k)
            for k in (max(fine // 2, 1), fine)
        )
        slack = 2e-8 + near + max(abs(a - b) for a, b in zip(rough, truth, strict=True))
    log_target = math.log(delta)
    return truth[0] >= log_target - slack and truth[1] <= log_target + slack


def draw(seed, count, most):
    source = random.Random(seed)
    for i in range(count):
        std = math.exp(source.uniform(math.log(0.3), math.log(3)))
        rate = 10 ** source.uniform(-7, -0.1)
        times = source.randint(2, most)
        exponent = source.uniform(3, 100) if i % 2 else source.uniform(3, 15)
        yield std, rate, times, 10**-exponent


@pytest.mark.parametrize("direction", ["add", "remove"])
@pytest.mark.parametrize("case", list(draw(7, 5, 2)))
def test_two_steps_against_quadrature(case, direction):
    assert sound(case, direction)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["add", "remove"])
def test_many_pairs_of_steps_against_quadrature(direction):
    assert all(sound(case, direction) for case in draw(21, 150, 2))


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["add", "remove"])
@pytest.mark.parametrize("case", list(draw(22, 12, 5)))
def test_few_steps_against_inversion_or_repeated_quadrature(case, direction):
    assert sound(case, direction, fine=4)


def compare(cases, direction):
    """Count cases in which two engines are sharp; all brackets must meet."""
    sharp = 0
    for std, rate, times, delta in cases:
        step = SubsampledGaussianLoss(std, rate, direction), times
        with np.errstate(all="ignore"):
            found = [
                convolution.epsilon_bracket(step, delta, 0.0, math.inf, (1500, 1500)),
                [
                    float(x)
                    for x in characteristic_function.epsilon_bracket([step], delta)
                ],
                [float(x) for x in fft.epsilon_bracket([step], delta)],
            ]
        low, high = max(pair[0] for pair in found), min(pair[1] for pair in found)
        assert low <= high * (1 + 1e-13), (std, rate, times, delta, found)
        sharp += sum(pair[1] - pair[0] <= 1e-4 * pair[1] for pair in found) > 1
    return sharp


@pytest.mark.parametrize("direction", ["add", "remove"])
def test_engines_meet(direction):
    assert compare(draw(1, 3, 60), direction) > 0


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["add", "remove"])
def test_engines_meet_on_many_cases(direction):
    assert compare(draw(2, 150, 2000), direction) > 10


@pytest.mark.slow
def test_the_rare_engine_meets_the_direct_one():
    for std, rate, times, delta in draw(3, 20, 300):
        step = SubsampledGaussianLoss(std, rate, "remove"), times
        with np.errstate(all="ignore"):
            low, high = convolution.epsilon_bracket(
                step, delta, 0.0, math.inf, (2000, 2000)
            )
            if not 0 < low <= high < math.inf:
                continue
            # A wrong bracket is not to be hidden by the right one.
            lower, upper = rare_events.epsilon_bracket(step, delta, 0.5 * low, 2 * high)
        assert max(low, lower) <= min(high, upper) * (1 + 1e-13)


@pytest.mark.parametrize("direction", ["add", "remove"])
@pytest.mark.parametrize(("std", "rate"), [(0.3, 1e-4), (1.0, 0.1), (5.0, 0.5)])
def test_grid_laws_enclose_one_step(std, rate, direction):
    law = SubsampledGaussianLoss(std, rate, direction)
    count = 200
    rise = 8 * rate / std if direction == "remove" else -math.log1p(-rate)
    with np.errstate(all="ignore"):
        high = convolution.polygon(law, 1, rise, count, 1)
        low = convolution.polygon(law, 1, rise, count, 0)
    oracle = Mixture(std, rate, direction)
    start, end = max(high.loss[0], low.loss[0]), min(high.loss[-1], low.loss[-1])
    for epsilon in np.linspace(start, end, 7)[1:-1]:
        truth = oracle._curve(mp.mpf(float(epsilon)))
        assert low.delta(epsilon) <= truth * (1 + 1e-11)
        assert high.delta(epsilon) >= truth * (1 - 1e-11)


@pytest.mark.parametrize(
    ("std", "rate", "spacing"), [(0.3, 1e-7, 2e-8), (1.0, 0.1, 1e-3), (4.0, 0.01, 2e-5)]
)
def test_integrals_over_cells_keep_their_promises(std, rate, spacing):
    law = SubsampledGaussianLoss(std, rate, "remove")
    rises = spacing * np.arange(2001)
    with np.errstate(all="ignore"):
        cells = _cells(law, rises)
    with mp.workdps(80):
        odds, sigma = mp.mpf(rate) / (1 - mp.mpf(rate)), mp.mpf(std)

        def place(rise):
            return sigma * mp.log(mp.expm1(rise) / odds) if rise > 0 else -mp.inf

        for i in (0, 1, 5, 18, 60, 100, 300, 1999):
            low, high = mp.mpf(rises[i]), mp.mpf(rises[i + 1])
            a, b, shift = place(low), place(high), 1 / (2 * sigma)
            mass = mp.ncdf(b + shift) - mp.ncdf(a + shift)
            part = odds * (mp.ncdf(b - shift) - mp.ncdf(a - shift))
            left, right = part - mp.expm1(low) * mass, mp.expm1(high) * mass - part
            assert abs(cells.mass[i] - mass) <= cells.mass_error[i] * mass
            assert abs(cells.mean[i] * mass - part) <= cells.mean_error[i] * part
            assert abs(cells.left[i] - left) <= cells.left_error[i]
            assert abs(cells.right[i] - right) <= cells.right_error[i]


@pytest.mark.parametrize("direction", ["add", "remove"])
def test_merged_cells_lose_no_more_than_they_had(direction):
    law = SubsampledGaussianLoss(0.4, 1e-3, direction)
    with np.errstate(all="ignore"):
        steps = below(law, 1e-5, 3000)
    grid = steps.start + steps.spacing * np.arange(steps.mass.size)
    odds = law.rate / (1 - law.rate)
    z = law.std * math.log(math.expm1(steps.end) / odds)
    with mp.workdps(40):
        mass = float(mp.ncdf(z + 0.5 / law.std))
        mean = odds * float(mp.ncdf(z - 0.5 / law.std))
    kept = float(steps.mass @ np.expm1(grid))
    assert 0 <= 1 - float(steps.mass.sum()) / mass <= 1e-9
    gap = 1 - kept / mean
    # Rises are losses for "remove" and the opposite for "add".
    assert 0 <= (gap if direction == "remove" else -gap) <= 1e-5


def test_a_split_that_forgets_one_side_is_caught():
    # The twin rounds to the nearer point, which reveals less here and more there.
    law, spacing, count = SubsampledGaussianLoss(1.0, 0.1, "remove"), 0.05, 60
    with np.errstate(all="ignore"):
        steps = above(law, spacing, count)
        cells = _cells(law, spacing * np.arange(count + 1))
    nearest = np.zeros(count + 1)
    nearest[:-1] += cells.mass
    twin = replace(steps, mass=nearest)
    oracle = Mixture(1.0, 0.1, "remove")

    def excess(candidate):
        sums = convolution._one_step(law, candidate, 1)
        curve, least = sums.curve(), sums.least
        return min(
            float(curve[i] - oracle._curve(mp.mpf(least + spacing * i)))
            for i in (2, 5, 9, 20)
        )

    assert excess(steps) >= -1e-13
    assert excess(twin) < -1e-4


def test_epsilon_is_zero_where_total_variation_is_below_delta():
    assert ask(0.55, 2.7e-6, 2, 3.2e-6, "remove") == (0.0, 0.0)
    assert ask(0.55, 2.7e-6, 2, 3.2e-6, "add") == (0.0, 0.0)
    assert ask(0.7515, 2.731e-7, 28368, 5.69e-5, "remove") == (0.0, 0.0)


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("std", "rate", "times", "epsilon"),
    [(300.0, 4096 / 6000, 120, 1.0), (1000.0, 0.9, 120, 1.0), (1e8, 0.1, 1000, 0.3)],
)
def test_a_delta_below_all_floats_is_bracketed_and_not_divided_by(
    std, rate, times, epsilon
):
    # A calibration passes here on its way from very large noise to what is wanted.
    for direction in ("add", "remove"):
        law = SubsampledGaussianLoss(std, rate, direction)
        low, high = tightest.delta_bracket([(law, times)], [epsilon])
        assert 0 <= low[0] <= high[0] < 1e-280


@pytest.mark.parametrize("rate", [pytest.param(0.1, marks=pytest.mark.slow), 0.7])
def test_noise_is_found_for_large_batches(rate):
    def steps(std):
        return repeat(poisson(GDP(mu=1 / std), rate=rate), times=120)

    std = calibrate(steps, target=Approx(1.0, 1e-6), relative=1e-3)
    assert 1.0 >= steps(std).epsilon_at(1e-6) >= 0.99
