"""A difference of shares covers as often as it says, and is not wider than it must."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from hush import inference
from hush.inference.two_proportions import DifferenceTest
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


@pytest.mark.parametrize("noise", [Geometric(scale=0.2), Geometric(scale=2)], ids=repr)
def test_interval_and_test_agree_on_zero_whatever_the_ties(noise):
    rng, outside = np.random.default_rng(7), 0
    for _ in range(60):
        pair = [
            inference.proportion_interval(
                int(rng.binomial(n, theta)), n=n, mechanism=noise, tie=rng.random()
            )
            for n, theta in ((20, 0.3), (300, 0.12))
        ]
        low, high = inference.difference_interval(*pair).interval(0.9)
        rejects = inference.difference_test(*pair).rejects(0.1)
        assert rejects == (low > 0 or high < 0)
        outside += rejects
    assert 10 < outside < 50


def enumerated(tests, difference):
    """Return P(A - B > seen) over both counts, noises and 400 places of each tie."""
    p, q = tests.shares(difference)
    k, places = np.arange(-40, 41), (np.arange(400) + 0.5) / 400
    laws, values = [], []
    for count, theta in ((tests.first, p), (tests.second, q)):
        law = stats.binom.pmf(np.arange(count.n + 1), count.n, theta)
        laws.append(np.convolve(law, count.noise.equal(k)))
        values.append(np.arange(-40, count.n + 41))
    a, b = tests.first, tests.second
    seen = (a.released + 0.5 - a.tie) / a.n - (b.released + 0.5 - b.tie) / b.n
    found = 0.0
    for x, chance in zip(values[0], laws[0], strict=True):
        if chance > 1e-13:
            left = (x + places - 0.5) / a.n - seen
            room = np.clip(left[:, None] * b.n - (values[1] - 0.5), 0.0, 1.0)
            found += chance * float((room @ laws[1]).mean())
    return found


@pytest.mark.parametrize("difference", [-0.4, 0.0, 0.25])
def test_the_law_of_a_difference_is_that_of_enumeration(difference):
    noise = Geometric(scale=0.6)
    for released in ((2, 9), (-1, 0), (7, 12)):
        pair = share(released[0], 7, noise).count, share(released[1], 11, noise).count
        tests = DifferenceTest(replace(pair[0], tie=0.2), pair[1])
        wanted = enumerated(tests, difference)
        assert tests.upper(difference) == pytest.approx(wanted, abs=2e-5)
        # A law that forgets the noise would be told apart.
        silent = DifferenceTest(
            replace(pair[0], noise=share(1, 7, Geometric(scale=0.05)).count.noise),
            pair[1],
        )
        assert abs(silent.upper(difference) - wanted) > 2e-5


def test_fine_noise_and_whole_noise_of_one_scale_have_nearly_one_interval():
    whole, fine = Geometric(scale=3), Laplace(scale=3.0)
    for hits in ((40, 500), (70, 300)):
        one = inference.difference_interval(
            share(hits[0], 100, whole), share(hits[1], 2000, whole)
        )
        two = inference.difference_interval(
            share(float(hits[0]), 100, fine), share(float(hits[1]), 2000, fine)
        )
        assert np.allclose(one.interval(0.95), two.interval(0.95), atol=0.003)


def test_a_difference_of_very_many_people_is_the_normal_one():
    noise = Geometric(scale=5)
    pair = share(3 * 10**9, 10**10, noise), share(2 * 10**7, 10**8, noise)
    low, high = inference.difference_interval(*pair)
    reach = Z * math.sqrt(0.21e-10 + 0.16e-8)
    assert (low, high) == pytest.approx((0.1 - reach, 0.1 + reach), abs=reach / 100)


def test_a_share_and_a_share_of_a_noisy_number_have_a_difference():
    noise = Geometric(scale=1)
    other = inference.proportion_from_counts(
        30, 100, mechanism=noise, people_mechanism=noise
    )
    one = share(30, 100, noise)
    low, high = inference.difference_interval(one, other)
    assert low < 0 < high
    assert 0.2 < high - low < 0.3
