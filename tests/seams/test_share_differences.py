"""A difference of shares covers as often as it says, and is not wider than it must."""

import math

import numpy as np
import pytest
from scipy import stats

from hush import inference
from hush.mechanisms import Geometric, Laplace
from hush.noise import Seeded

RUNS = 600
Z = stats.norm.ppf(0.975)


def agresti_caffo(pair, noise):
    """Return the width of the whole method, centre and variance, with noise added."""
    total = 0.0
    for each in pair:
        n = each.count.n + 2
        share = min(max((each.count.released + 1) / n, 0.0), 1.0)
        total += share * (1 - share) / n + (noise.error.std / n) ** 2
    return min(2 * Z * math.sqrt(total), 2.0)


SETTINGS = [
    (10, 200, 0.5, 0.5, 0.2),
    (20, 2000, 0.3, 0.2, 0.2),
    (20, 2000, 0.9, 0.1, 1.0),
    (20, 20, 0.9, 0.1, 5.0),
    (300, 60, 0.05, 0.5, 1.0),
]


@pytest.mark.statistical
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_a_difference_of_shares_covers_as_stated_from_both_sides(setting):
    """Of 600 runs at 0.94 to 0.98; each side fails wrongly with chance below 1e-9."""
    n, m, p, q, scale = setting
    noise, rng, source = Geometric(scale=scale), np.random.default_rng(5), Seeded(5)
    hits, width, whole = 0, 0.0, 0.0
    for _ in range(RUNS):
        pair = [
            inference.proportion_interval(
                int(noise.run(int(rng.binomial(k, r)), source=source)),
                n=k, mechanism=noise, source=source,
            )
            for k, r in ((n, p), (m, q))
        ]  # fmt: skip
        low, high = inference.difference_interval(*pair)
        hits += low <= p - q <= high
        width += high - low
        whole += agresti_caffo(pair, noise)
    assert (
        stats.binom.ppf(1e-9, RUNS, 0.94) <= hits <= stats.binom.isf(1e-9, RUNS, 0.98)
    )
    assert width <= 1.04 * whole


def share(released, n, noise):
    return inference.proportion_interval(released, n=n, mechanism=noise, tie=0.5)


@pytest.mark.parametrize("noise", [Geometric(scale=0.3), Geometric(scale=8)], ids=repr)
@pytest.mark.parametrize("released", [(-3, 2), (0, 50), (25, 10), (22, 49), (60, -9)])
def test_ends_are_nested_possible_and_mirrored(noise, released):
    one, two = share(released[0], 20, noise), share(released[1], 50, noise)
    found = inference.difference_interval(one, two)
    turned = inference.difference_interval(two, one)
    last = (found.value, found.value)
    for level in (0.01, 0.5, 0.9, 0.99):
        low, high = found.interval(level)
        assert -1 <= low <= last[0] <= last[1] <= high <= 1
        assert np.allclose((-high, -low), turned.interval(level), atol=1e-6)
        assert high <= one.interval(level)[1] + 1e-12
        assert high <= 1 - two.interval(level)[0] + 1e-12
        last = low, high


def test_a_test_of_shares_rejects_where_the_interval_leaves_zero_out():
    fine = Laplace(scale=1.0)
    for hits in (8.0, 11.0, 14.0, 18.0):
        pair = share(hits, 20, fine), share(500.0, 2000, fine)
        p = inference.difference_test(*pair).p_value
        low, high = inference.difference_interval(*pair).interval(0.95)
        assert (p < 0.05) == (low > 0 or high < 0)


def test_a_share_and_a_share_of_a_noisy_number_have_a_difference():
    noise = Geometric(scale=1)
    other = inference.proportion_from_counts(
        30, 100, mechanism=noise, people_mechanism=noise
    )
    one = share(30, 100, noise)
    low, high = inference.difference_interval(one, other)
    assert low < 0 < high
    assert 0.2 < high - low < 0.3
