"""Closed forms from two sides: the notes' formula anew, and an instance that is near.

The first test of each pair evaluates the printed formula with mpmath. The second one
shows data, a law or a mechanism for which the bound is attained within a stated factor:
a constant that is too large fails there, as one that is too small fails elsewhere.
"""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, stats

from hush import bounds
from hush import mechanisms as m

CLOSE = 1e-12


def same(found, printed):
    return found == pytest.approx(float(printed), rel=CLOSE)


# -- Concentration ---------------------------------------------------------------------


@pytest.mark.parametrize(("n", "epsilon"), [(1, 0.3), (40, 0.05), (5000, 0.02)])
def test_concentration_is_the_printed_formula(n, epsilon):
    e = mp.mpf(epsilon)
    assert same(bounds.hoeffding(n, epsilon), mp.exp(-2 * n * e * e))
    for p in (mp.mpf("0.125"), mp.mpf("0.5")):
        q = p + e
        divergence = q * mp.log(q / p) + (1 - q) * mp.log((1 - q) / (1 - p))
        assert same(bounds.chernoff(n, epsilon, float(p)), mp.exp(-n * divergence))
        v = p * (1 - p)
        bernstein = mp.exp(-n * e * e / (2 * v + 2 * e / 3))
        assert same(bounds.bernstein(n, epsilon, float(v)), bernstein)
    assert same(bounds.from_privacy(n, epsilon), min(1, mp.exp(1 - e * e * n / 64)))


@pytest.mark.parametrize("n", [10**5, 3 * 10**6])
def test_c_t1_1_is_the_printed_formula_where_it_says_something(n):
    # e^(1 - ε²n/64) is below one only from ε²n = 64 on.
    e = mp.mpf("0.0625")
    assert same(bounds.from_privacy(n, 0.0625), mp.exp(1 - e * e * n / 64))
    assert bounds.from_privacy(n, 0.0625) < 0.01
    assert bounds.from_privacy(100, 0.0625) == 1.0


def test_concentration_is_attained_by_fair_coins():
    # The exact tail of n coins at εn = 4 standard deviations.
    n, epsilon = 10_000, 0.02
    exact = bounds.binomial_tail(n, epsilon, 0.5)
    assert exact == pytest.approx(stats.binom.sf(5199, n, 0.5), rel=1e-9)
    for bound in (
        bounds.hoeffding(n, epsilon),
        bounds.chernoff(n, epsilon, 0.5),
        bounds.bernstein(n, epsilon, 0.25),
    ):
        assert exact <= bound <= 15 * exact
    # C.T1.1 has 1/64 in the exponent where fair coins have 2, and e as a factor.
    far, e = 212_500, 0.04
    ours, coins = (math.log(f(far, e)) for f in (bounds.from_privacy, bounds.hoeffding))
    assert 128 <= coins / ours <= 160


def test_subgaussian_constants_are_the_printed_ones():
    root = mp.sqrt(mp.pi)
    by_mgf = bounds.subgaussian(mgf=0.75)
    assert same(by_mgf.tail, 1.5)
    assert same(by_mgf.moment, mp.mpf("1.5") * root)
    by_tail = bounds.subgaussian(tail=0.75)
    assert same(by_tail.moment, root * mp.mpf("0.75"))
    assert same(by_tail.mgf, 2 * mp.sqrt(mp.e) * root * mp.mpf("0.75"))
    by_moment = bounds.subgaussian(moment=0.75)
    assert same(by_moment.mgf, mp.sqrt(mp.e) * mp.mpf("1.5"))
    assert same(by_moment.tail, mp.sqrt(mp.e) * 3)


def test_z_sub_is_attained_by_the_normal_law():
    # N(0, 1): mgf² = 1/2 exactly; the tail constant √2 cannot be smaller, and the
    # moments that follow are at most √π times the true ones, (E|X|^p)^(1/p)/√p.
    known = bounds.subgaussian(mgf=math.sqrt(0.5))
    t = mp.mpf(30)
    assert mp.erfc(t / mp.sqrt(2)) > 2 * mp.exp(-((t / (0.99 * known.tail)) ** 2))
    true = float(mp.sqrt(2 / mp.pi))  # p = 1
    assert true <= known.moment <= math.pi * true * (1 + CLOSE)


# -- The largest of many ---------------------------------------------------------------


def test_n5_l3_is_the_least_of_the_printed_formula():
    # Normal variables: √(2 log k). Exponentials: (log k - log(1 - t))/t at its root.
    for k in (3, 1000, 10**9):
        found = bounds.maximum(k, lambda t: t * t / 2)
        assert found == pytest.approx(math.sqrt(2 * math.log(k)), rel=1e-9)
        slope = lambda t, k=k: t / (1 - t) - mp.log(k) + mp.log(1 - t)  # noqa: E731
        t = mp.findroot(slope, (0.5, 1 - mp.mpf(1) / (10 * k)), solver="anderson")
        found = bounds.maximum(k, lambda t: -math.log1p(-t), below=1.0)
        assert found == pytest.approx(float((mp.log(k) - mp.log(1 - t)) / t), rel=1e-9)


def test_n5_l3_is_attained_within_a_fifth_by_normal_variables():
    k = 1000
    density = lambda x: k * x * stats.norm.pdf(x) * stats.norm.cdf(x) ** (k - 1)  # noqa: E731
    exact = integrate.quad(density, -9, 9, points=[0.0, 3.0])[0]
    assert exact <= bounds.maximum(k, lambda t: t * t / 2) <= 1.2 * exact


@pytest.mark.parametrize("d", [1, 2, 50, 10**4])
def test_l_acc_is_the_printed_formula_and_is_attained(d):
    assert same(bounds.laplace_maximum(d, scale=3.0), 3 * (1 + mp.log(d)))
    # E max |Z_i| is b times the harmonic number.
    exact = 3.0 * math.fsum(1 / i for i in range(1, d + 1))
    assert exact <= bounds.laplace_maximum(d, scale=3.0) * (1 + CLOSE) <= 1.2 * exact
    t = 3.0 * (math.log(d) + 4)
    printed = d * mp.exp(-mp.mpf(t) / 3)
    assert same(bounds.laplace_maximum_tail(d, t, scale=3.0), printed)
    tail = -math.expm1(d * math.log1p(-math.exp(-t / 3)))
    assert tail <= bounds.laplace_maximum_tail(d, t, scale=3.0) * (1 + CLOSE)
    assert bounds.laplace_maximum_tail(d, t, scale=3.0) <= 1.01 * tail


@pytest.mark.parametrize("copies", [1, 7, 5000])
def test_c_l1_2_is_the_printed_formula_and_is_attained(copies):
    found = bounds.tail_from_maximum(copies)
    assert same(found, mp.log(2) / copies)
    # Y = 1 with chance p = 1 - 2^(-1/m), else 0: E max(0, Y¹..Y^m) = 1/2, so that
    # P(Y >= 2·E max) = p, which tends to ln 2/m.
    p = -math.expm1(-math.log(2) / copies)
    top = -math.expm1(copies * math.log1p(-p))
    assert 2 * top == pytest.approx(1.0, rel=1e-12)
    assert p <= found <= p * (1 + 1 / copies)


def test_c_l2_1_is_the_printed_formula():
    for mean, copies, eta in ((50, 10, 1.0), (3, 10**6, 0.25), (0.5, 2, 2.0)):
        printed = mp.exp(eta) * mean + 2 * mp.log(copies) / eta
        assert same(bounds.stable_maximum(mean, copies, eta=eta), printed)
        least = min(
            mp.exp(e) * mean + 2 * mp.log(copies) / e
            for e in (mp.exp(mp.mpf(i) / 400) for i in range(-6000, 2000))
        )
        open_eta = bounds.stable_maximum(mean, copies)
        assert float(least) * (1 - 1e-4) <= open_eta <= float(least) * (1 + 1e-4)


@pytest.mark.parametrize("copies", [10, 1000, 10**9])
def test_c_l2_1_is_attained_within_a_factor_three(copies):
    # One row with a single 1 at a random place: every column has mean 1/m, and the
    # largest sum is always 1.
    assert 1.0 <= bounds.stable_maximum(1 / copies, copies) <= 3.0


def top_of_coins(n, copies):
    """E max(0, Y¹..Y^m) of centered sums of n fair coins, exactly."""
    k = np.arange(n // 2, n + 1)
    below = stats.binom.cdf(k - 1, n, 0.5) ** copies
    return float(np.sum((1 - below)[1:]))


def test_c_p2_5_is_the_printed_formula_and_is_attained_by_coins():
    for n, copies in ((1, 1), (100, 10), (10**6, 10**4)):
        printed = 4 * mp.sqrt(n * mp.log(copies + 1))
        assert same(bounds.maximum_of_sums(n, copies), printed)
    # Coins reach √(n ln(m)/2): a factor 4√2 = 5.66 away, and 6.7 at a thousand copies.
    exact = top_of_coins(10_000, 1000)
    assert 6 * exact <= bounds.maximum_of_sums(10_000, 1000) <= 7 * exact


# -- Utility of private choices --------------------------------------------------------


def worst_gap(tail):
    """The largest t·P(gap >= t): all candidates but one lie t below the best."""
    return max(t * tail(t) for t in np.linspace(0.5, 60, 600))


def test_n5_l2_is_the_printed_sum():
    assert bounds.selection_gap(mean_absolute=2.0, maximum=11.5) == 13.5


@pytest.mark.parametrize(("k", "epsilon", "d"), [(2, 1.0, 1.0), (900, 0.3, 2.5)])
def test_n5_2_is_the_printed_formula(k, epsilon, d):
    unit = 2 * mp.mpf(d) / mp.mpf(epsilon)
    laplace = unit * (2 * mp.log(k - 1) + 1 + 2 * mp.log(2))
    assert same(bounds.noisy_max_gap(k, epsilon, d), laplace)
    for kind in ("gumbel", "exponential"):
        assert same(bounds.noisy_max_gap(k, epsilon, d, kind), unit * mp.log(k))
    assert bounds.noisy_max_gap(1, epsilon, d) == 0.0


@pytest.mark.parametrize(
    ("kind", "factor"), [("laplace", 4.0), ("gumbel", 1.6), ("exponential", 2.2)]
)
def test_n5_2_is_attained_by_one_best_of_a_thousand(kind, factor):
    gap = m.NoisyMax(2.0, kind=kind).error.among(1000)  # ε = 1
    exact = worst_gap(gap.tail)
    assert exact <= bounds.noisy_max_gap(1000, 1.0, kind=kind) <= factor * exact


def test_n7_2_is_the_printed_formula():
    for k, best, epsilon, t in ((2, 1, 1.0, 0.0), (1000, 30, 0.2, 4.0)):
        unit = 2 * mp.mpf(3) / mp.mpf(epsilon)
        found = bounds.exponential_gap(k, epsilon, 3.0, best=best, t=t)
        assert found == pytest.approx(float(unit * (mp.log(mp.mpf(k) / best) + t)))
        assert same(bounds.exponential_gap(k, epsilon, 3.0), unit * mp.log(k))


@pytest.mark.parametrize("best", [1, 20])
def test_n7_2_is_attained_where_all_others_lie_at_the_gap(best):
    k, t = 2000, 5.0
    gap = bounds.exponential_gap(k, 1.0, best=best, t=t)
    weight = (k - best) * mp.exp(-mp.mpf(gap) / 2)  # ε = 1, Δ = 1
    chance = weight / (best + weight)
    assert chance <= mp.exp(-t) <= 1.03 * chance
    # The expected gap at the worst place is at least 0.6 of (2Δ/ε) log k.
    mean = worst_gap(m.Exponential(2.0).error.among(k).tail)
    assert mean <= bounds.exponential_gap(k, 1.0) <= 1.6 * mean


def test_n7_6_is_the_printed_formula_and_is_attained():
    cells, n, epsilon, t = 1 << 20, 1000, 0.5, 4.0
    unit = 2 / mp.mpf(epsilon)
    printed = unit * (mp.log(cells) + t) / (n * mp.mpf(0.25))
    found = bounds.quantile_error(n, epsilon, 0.25, cells=cells, t=t)
    assert same(found, printed)
    assert same(
        bounds.quantile_error(n, epsilon, 0.25), unit * (40 * mp.log(2) + 3) / 250
    )
    # Half of the records in one cell and half in the next: all other cells are wrong
    # by n/2 ranks, and are drawn with chance e^-t if that is the bound.
    rank = found * n * 0.25
    weight = (cells - 1) * mp.exp(-rank * epsilon / 2)
    chance = weight / (1 + weight)
    assert chance <= mp.exp(-t) <= 1.03 * chance


# -- d counts at once ------------------------------------------------------------------


@pytest.mark.parametrize(("d", "epsilon"), [(1, 1.0), (100, 0.3)])
def test_n9_ex1_laplace_counts_have_the_law_of_the_mechanism(d, epsilon):
    found = bounds.laplace_counts(d, epsilon)
    assert same(found, mp.sqrt(2) * d / mp.mpf(epsilon))
    ours = m.Laplace.for_epsilon(epsilon, sensitivity=d)
    assert ours.error.std == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize(("d", "delta"), [(1, 1e-6), (50, 1e-2), (7, 0.9)])
def test_n9_3_gaussian_counts_are_enough_and_within_a_factor(d, delta):
    c = max(mp.sqrt(2 * mp.log(mp.mpf("1.32") / mp.mpf(delta))), mp.mpf("1.5"))
    found = bounds.gaussian_counts(d, 1.0, delta)
    assert same(found, c * mp.sqrt(d))
    if delta < 0.1:
        least = m.Gaussian.for_epsilon(1.0, math.sqrt(d), delta=delta).std
        assert least <= found <= 1.7 * least


@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.3])
def test_n10_ex1_the_crossing_is_where_one_passes_the_other(delta):
    found = bounds.counts_crossing(delta)
    assert found == math.floor(max(mp.log(mp.mpf("1.32") / delta), 1.125)) + 1
    for epsilon in (0.1, 1.0):
        gauss, laplace = (
            [bounds.gaussian_counts(d, epsilon, delta) for d in (found - 1, found)],
            [bounds.laplace_counts(d, epsilon) for d in (found - 1, found)]
            if found > 1
            else [0, bounds.laplace_counts(found, epsilon)],
        )
        assert gauss[1] < laplace[1]
        assert gauss[0] >= laplace[0] * (1 - CLOSE)


# -- Minimax rates ---------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 8])
def test_n4_t1_n4_t2_are_the_printed_rates(k):
    n, e = 10_000, mp.mpf("0.25")
    power = mp.mpf(k - 1) / k
    assert same(
        bounds.minimax_mean(n, 0.25, k), mp.mpf(1) / n + (n * e) ** (-2 * power)
    )
    local = (n * e * e) ** -power
    assert same(bounds.minimax_mean(n, 0.25, k, model="local"), local)
    assert same(bounds.minimax_mean(n, 4.0, k, model="local"), mp.mpf(n) ** -power)
    assert same(bounds.minimax_mean(n, 0.25, k, model="none"), mp.mpf(1) / n)
    assert same(bounds.minimax_clip(n, 0.25, k), (n * e) ** (mp.mpf(1) / k))


@pytest.mark.parametrize("k", [2, 4])
def test_n4_t2_is_attained_by_two_points(k):
    # X = T with chance T^-k, else 0: E|X|^k = 1. Clamped at the balance, bias and noise
    # are of one order, and their sum of squares is the rate within a factor 4.
    n, epsilon = 10**6, 0.01
    clip = bounds.minimax_clip(n, epsilon, k)
    noise = m.Laplace(2 * clip / (n * epsilon)).error.std  # replace-one, ±clip
    lost = clip ** (1 - k)
    error = 1 / n + lost**2 + noise**2
    rate = bounds.minimax_mean(n, epsilon, k)
    assert rate / 4 <= error <= 10 * rate
    # Twice or half of the clamp is no better than the balance by a factor 2.
    assert lost == pytest.approx(clip / (n * epsilon), rel=1e-9)
