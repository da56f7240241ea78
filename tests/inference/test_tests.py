"""Tests of two groups and of tables against enumeration and exchangeability."""

import math

import numpy as np
import pytest
from scipy import stats

from hush import inference
from hush.errors import InvalidArgument
from hush.estimate import Estimate
from hush.inference.two_proportions import equal_shares
from hush.mechanisms import Geometric, Laplace
from hush.noise import Seeded

NOISE = Geometric(scale=1)


def share(z, n, mechanism=NOISE):
    return inference.proportion_interval(z, n=n, mechanism=mechanism, tie=0.5)


@pytest.mark.parametrize(("a", "b"), [(3, 1), (0, 4), (2, 2), (9, -3)])
@pytest.mark.parametrize("tie", [0.0, 0.5, 1.0])
def test_two_shares_by_enumeration(a, b, tie):
    n, m = 6, 4
    theta = min(max((a + b) / (n + m), 0.05), 0.95)
    k = np.arange(-45, 46)
    noise = NOISE.error.law.pmf(k)
    first = np.convolve(stats.binom.pmf(np.arange(n + 1), n, theta), noise)
    second = np.convolve(stats.binom.pmf(np.arange(m + 1), m, theta), noise)
    up = 0.0
    for i, p in enumerate(first):
        for j, q in enumerate(second):
            gap = (i - 45) * m - (j - 45) * n - (a * m - b * n)
            up += p * q * (1 if gap > 0 else tie if gap == 0 else 0)
    pair = share(a, n), share(b, m)
    greater = inference.difference_test(*pair, alternative="greater", tie=tie)
    less = inference.difference_test(*pair, alternative="less", tie=tie)
    both = inference.difference_test(*pair, tie=tie)
    assert greater.p_value == pytest.approx(up, abs=1e-10)
    assert less.p_value == pytest.approx(1 - up, abs=1e-10)
    assert both.p_value == pytest.approx(min(1, 2 * min(up, 1 - up)), abs=1e-10)


def rejected(n, m, mechanism, theta, alpha=0.05):
    """Return the exact level: over both counts, both noises and the tie."""
    k = np.arange(-40, 41)
    noise = mechanism.error.law.pmf(k)
    laws = [
        np.convolve(stats.binom.pmf(np.arange(people + 1), people, theta), noise)
        for people in (n, m)
    ]
    level = 0.0
    for i, p in enumerate(laws[0]):
        for j, q in enumerate(laws[1]):
            if p * q < 1e-7:
                continue
            pair = [
                share(i - 40, n, mechanism).count,
                share(j - 40, m, mechanism).count,
            ]
            low, high = (equal_shares(*pair, tie)[0] for tie in (0.0, 1.0))
            # Two-sided: the p-value is linear in the tie on either side.
            width = max(high - low, 1e-300)
            small = np.clip((alpha / 2 - low) / width, 0, 1)
            large = np.clip((high - 1 + alpha / 2) / width, 0, 1)
            level += p * q * min(small + large, 1.0)
    return level


@pytest.mark.parametrize("theta", [0.05, 0.5])
def test_little_noise_has_the_exact_level(theta):
    quiet = Geometric.for_epsilon(5.0, sensitivity=1)
    assert rejected(10, 14, quiet, theta) == pytest.approx(0.05, abs=0.003)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
@pytest.mark.parametrize("theta", [0.02, 0.1, 0.3])
def test_more_noise_never_rejects_much_more_often(epsilon, theta):
    noise = Geometric.for_epsilon(epsilon, sensitivity=1)
    assert rejected(50, 30, noise, theta) <= 0.054


def test_no_noise_is_fishers_test():
    silent = Geometric(scale=0.02)  # e^-50
    for a, b in ((7, 1), (0, 3), (4, 4)):
        pair = share(a, 12, silent).count, share(b, 9, silent).count
        law = stats.hypergeom(21, 12, a + b)
        for tie in (0.0, 0.4):
            up, down = equal_shares(*pair, tie)
            assert up == pytest.approx(law.sf(a) + tie * law.pmf(a), abs=1e-12)
            assert up + down == pytest.approx(1.0)
    # A total that nobody can have made falls back on the pooled share.
    assert equal_shares(share(-9, 12, silent).count, share(1, 9, silent).count, 0.5)


def test_floats_are_tested_by_their_convolution():
    fine = Laplace(scale=1.0)
    pair = share(30.0, 100, fine), share(20.0, 100, fine)
    found = inference.difference_test(*pair)
    whole = inference.difference_test(share(30, 100), share(20, 100), tie=0.5)
    assert found.p_value == pytest.approx(whole.p_value, rel=0.1)
    assert found.statistic == pytest.approx(0.1)


def test_any_two_estimates_have_a_difference():
    a, b = (
        Estimate(1.0, std=0.3, effective=10.0),
        Estimate(0.0, std=0.4, effective=10.0),
    )
    low, high = inference.difference_interval(a, b)
    assert (low, high) == pytest.approx((1 - 0.98, 1 + 0.98), abs=1e-3)
    p = inference.difference_test(a, b).p_value
    assert p == pytest.approx(2 * stats.norm.sf(2), rel=1e-3)
    with pytest.raises(InvalidArgument, match="alternative"):
        inference.difference_test(a, b, alternative="unequal")


@pytest.mark.statistical
@pytest.mark.parametrize("n", [5, 400])
def test_a_fit_is_rejected_as_often_as_stated(n):
    # 400 tests at 0.05 are valid by exchangeability at any n; more than 50 rejections
    # have probability 2e-9.
    rng, source, chances = np.random.default_rng(1), Seeded(1), [0.5, 0.3, 0.2]
    rejections = 0
    for _ in range(400):
        z = NOISE.run(rng.multinomial(n, chances), source=source)
        rejections += inference.fit_test(
            z, chances, n=n, mechanism=NOISE, draws=99, source=source
        ).rejects(0.05)
    assert stats.binom.sf(50, 400, 0.05) < 1e-8
    assert rejections <= 50
    assert rejections >= 2


@pytest.mark.statistical
def test_tables_tell_dependence_from_independence():
    rng, source = np.random.default_rng(2), Seeded(2)
    null = np.outer([0.5, 0.5], [0.3, 0.7])
    other = np.array([[0.25, 0.25], [0.05, 0.45]])
    count = {}
    for name, chances in (("null", null), ("other", other)):
        hits = 0
        for _ in range(200):
            z = NOISE.run(
                rng.multinomial(500, chances.ravel()).reshape(2, 2), source=source
            )
            hits += inference.independence_test(
                z, n=500, mechanism=NOISE, draws=99, source=source
            ).rejects(0.05)
        count[name] = hits
    assert count["null"] <= 32  # binomial(200, 0.05) exceeds it with 1e-8
    assert count["other"] >= 190
    # The naive twin, blind to noise, rejects a true null far more often.
    loud, naive = Geometric(scale=20), 0
    for _ in range(100):
        z = loud.run(rng.multinomial(500, null.ravel()).reshape(2, 2), source=source)
        naive += (
            stats.chi2_contingency(np.maximum(z, 1), correction=False).pvalue < 0.05
        )
    assert naive > 32


def test_wrong_tables_are_named():
    with pytest.raises(InvalidArgument, match="counts"):
        inference.fit_test([1], [1.0], n=3, mechanism=NOISE)
    with pytest.raises(InvalidArgument, match="probabilities"):
        inference.fit_test([1, 2], [0.1, 0.2, 0.7], n=3, mechanism=NOISE)
    with pytest.raises(InvalidArgument, match="table"):
        inference.independence_test([1, 2], n=3, mechanism=NOISE)
    with pytest.raises(InvalidArgument, match="draws"):
        inference.fit_test([1, 2], [0.5, 0.5], n=3, mechanism=NOISE, draws=3)
    assert math.isfinite(
        inference.fit_test([1.5, 2], [0.0, 1.0], n=3, mechanism=NOISE).statistic
    )


def test_a_group_of_people_who_are_all_alike_has_a_difference():
    alike = Estimate(1.0, 0.0, 0.0)  # no spread among them: worth nobody
    other = Estimate(0.2, 0.01, 100.0)
    for first, second in ((alike, other), (other, alike), (alike, alike)):
        assert inference.difference_interval(first, second).effective == 0
