"""Quotients of noisy numbers: exact laws, coverage, and what they must not do."""

import math

import numpy as np
import pytest
from scipy import stats

import hush
from hush.mechanisms import DiscreteGaussian, Geometric, Laplace
from hush.noise import Seeded, discrete_gaussian, discrete_laplace
from hush.tables.aggregates.aggregate import Noise, quotient, quotient_noise
from hush.tables.bounding.sensitivity import Limit, rows_of
from hush.units import Neighbors

LEVELS = [0.5, 0.9, 0.95, 0.999]


def masses(gaussian, width):
    """The law of whole noise, to far beyond any tail that is asked for."""
    k = np.arange(-math.ceil(60 * width), math.ceil(60 * width) + 1)
    power = -(k**2) / (2 * width**2) if gaussian else -np.abs(k) / width
    found = np.exp(power)
    return k, found / found.sum()


def missed(gaussian, widths, u, bar):
    """P(|Z - uW| > bar), by adding up both laws."""
    z, p = masses(gaussian, widths[0])
    w, q = masses(gaussian, widths[1])
    upto = np.concatenate([[0.0], np.cumsum(p)])
    inside = upto[np.searchsorted(z, u * w + bar, side="right")]
    inside -= upto[np.searchsorted(z, u * w - bar, side="left")]
    return float(np.sum(q * (1 - inside)))


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(
    "widths", [(300.0, 300.0), (300.0, 40.0), (40.0, 300.0), (300.0, 299.9)]
)
@pytest.mark.parametrize("level", LEVELS)
def test_the_noise_of_a_quotient_is_bounded_at_its_level_and_hardly_more(
    gaussian, widths, level
):
    one, other = (Noise(gaussian, each, 1.0) for each in widths)
    bars = quotient_noise(one, other, level)
    assert np.all(np.diff(bars) >= 0)
    for place in (0, 1, 256, 700, 1024):
        rate = missed(gaussian, widths, place / 1024, bars[place])
        assert rate <= (1 - level) * (1 + 1e-6)
        assert rate >= (1 - level) * 0.75  # four steps of at least forty


@pytest.mark.parametrize("gaussian", [False, True])
def test_small_noise_keeps_its_level_too(gaussian):
    for width in (4.0, 7.3):
        one = Noise(gaussian, width, 1.0)
        for level in LEVELS:
            bars = quotient_noise(one, one, level)
            for place in (0, 512, 1024):
                assert missed(gaussian, (width, width), place / 1024, bars[place]) <= (
                    1 - level
                )


def test_bars_of_each_number_by_itself_would_be_much_wider():
    noise = Noise(False, 1e6, 1.0)
    both = quotient_noise(noise, noise, 0.95)[-1]
    assert both < 0.65 * 2 * 1e6 * math.log(40)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(
    ("total", "number"), [(0, 0), (5, 9), (300, 400), (-950, 1000)]
)
def test_the_true_quotient_is_held_at_the_level(gaussian, total, number):
    runs, source = 20_000, Seeded(total + number + gaussian)
    draw = discrete_gaussian if gaussian else discrete_laplace
    noise = Noise(gaussian, 60.0, 1.0)
    sums = total + np.asarray(draw(60, runs, source=source), dtype=np.float64)
    numbers = number + np.asarray(draw(60, runs, source=source), dtype=np.float64)
    value, low, high = quotient((sums, noise), (numbers, noise), 1.0, 0.9)
    assert np.all((low <= value) & (value <= high))
    assert np.all((low >= -1) & (high <= 1))
    truth = total / number if number else 0.3  # of nobody any mean is true
    held = int(np.sum((low <= truth) & (truth <= high)))
    assert stats.binom.cdf(held, runs, 0.9) > 1e-9


def test_a_number_that_is_not_above_zero_leaves_all_open():
    noise = Noise(False, 1.0, 0.01)
    numbers = np.array([0.0, -5.0, 1e-9])
    value, low, high = quotient((np.ones(3), noise), (numbers, noise), 2.0, 0.95)
    assert low.tolist() == [-2.0] * 3
    assert high.tolist() == [2.0] * 3
    assert np.all(np.abs(value) <= 2)


def test_bounds_without_room_have_one_quotient():
    noise = Noise(False, 1.0, 0.01)
    found = quotient((np.zeros(1), noise), (np.ones(1), noise), 0.0, 0.95)
    assert [each.tolist() for each in found] == [[0.0]] * 3


def test_noise_is_in_the_units_of_what_is_read():
    part = rows_of(Limit(3, Neighbors.ADD_REMOVE, 1, 1))
    unit = float(part.unit_value)
    assert Noise.of(part, Geometric(scale=500)) == Noise(False, 500 * unit, unit)
    assert Noise.of(part, DiscreteGaussian(std=9)) == Noise(True, 9 * unit, unit)
    with pytest.raises(hush.errors.Unsupported):
        Noise.of(part, Laplace(scale=1.0))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_covering_sampling_as_well_is_not_narrower(delta):
    rng = np.random.default_rng(5)
    table = {"who": range(4000), "x": rng.uniform(0, 30, 4000)}
    stage = hush.Ledger.open(
        "memory://",
        budget=hush.Budget(epsilon=9, delta=1e-5),
        dataset="data",
        rehearsal=True,
    )
    data = hush.open(table, unit="who", rows=5, ledger=stage)
    query = data.agg(m=hush.mean("x", bounds=(0, 60)))
    answer = query.release(epsilon=1, delta=delta, source=Seeded(1))
    widths = [
        float(high[0] - low[0])
        for low, high in (
            answer.interval(0.95)["m"],
            answer.interval(0.95, population=True)["m"],
        )
    ]
    assert widths[0] <= widths[1]
