"""Bounds against exact tails, quadrature and simulation; each can fail."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from hush import bounds
from hush.errors import InvalidArgument


@pytest.mark.parametrize("n", [10, 100, 1000])
@pytest.mark.parametrize("mean", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.19])
def test_c_t1_1_every_bound_covers_the_exact_tail(n, mean, epsilon):
    least = math.ceil(n * (mean + epsilon) - 1e-9)
    exact = math.fsum(
        math.comb(n, k) * mean**k * (1 - mean) ** (n - k) for k in range(least, n + 1)
    )
    assert bounds.binomial_tail(n, epsilon, mean) == pytest.approx(exact, rel=1e-9)
    assert exact <= bounds.chernoff(n, epsilon, mean) * (1 + 1e-12)
    assert exact <= bounds.bernstein(n, epsilon, mean * (1 - mean))
    assert bounds.chernoff(n, epsilon, mean) <= bounds.hoeffding(n, epsilon) * (
        1 + 1e-12
    )
    assert bounds.hoeffding(n, epsilon) <= bounds.from_privacy(n, epsilon)
    # A constant 8 times better would be wrong somewhere: the test has power.
    assert bounds.from_privacy(10**6, 0.01) >= bounds.binomial_tail(10**6, 0.01, 0.5)


def test_c_t1_1_a_sharper_constant_is_refuted():
    n, epsilon = 400, 0.1
    twin = math.exp(-8 * epsilon**2 * n)
    assert bounds.binomial_tail(n, epsilon, 0.5) > twin


def test_bernstein_knows_the_variance():
    # Rare events: far below Hoeffding, still above the exact tail; a twin with half
    # the variance is refuted.
    n, epsilon, mean = 2000, 0.01, 0.01
    bound = bounds.bernstein(n, epsilon, mean * (1 - mean))
    exact = bounds.binomial_tail(n, epsilon, mean)
    assert exact <= bound < bounds.hoeffding(n, epsilon) / 100
    n, epsilon = 40_000, 0.01
    assert bounds.binomial_tail(n, epsilon, 0.5) > bounds.bernstein(n, epsilon, 0.125)
    assert bounds.bernstein(10, 0.0, 0.25) == 1.0


@pytest.mark.statistical
@pytest.mark.parametrize("copies", [1, 5, 50])
def test_c_l1_2_and_c_p2_5_maxima_of_centered_sums(copies):
    rng, n, runs = np.random.default_rng(2), 60, 20_000
    y = rng.binomial(n, 0.5, size=(runs, copies)) - n / 2
    top = np.maximum(y.max(axis=1), 0)
    level = top.mean() + 6 * top.std() / math.sqrt(runs)
    exact = stats.binom.sf(math.ceil(n / 2 + 2 * (2 * top.mean() - level)) - 1, n, 0.5)
    assert exact <= bounds.tail_from_maximum(copies)
    assert level <= bounds.maximum_of_sums(n, copies)


@pytest.mark.statistical
@pytest.mark.parametrize("eta", [None, 0.1, 0.5])
def test_c_l2_1_the_main_lemma(eta):
    rng, n, m, runs = np.random.default_rng(3), 40, 20, 5000
    sums = rng.binomial(n, 0.3, size=(runs, m)).max(axis=1)
    limit = bounds.stable_maximum(0.3 * n, m, eta=eta)
    assert sums.mean() - 6 * sums.std() / math.sqrt(runs) <= limit
    assert sums.mean() > 0.3 * n  # the maximum does exceed the mean


@pytest.mark.parametrize("k", [1, 10, 1000])
def test_n5_l3_the_maximum_of_exponentials_and_normals(k):
    # E max of k exponentials is the harmonic number; of normals by quadrature.
    harmonic = sum(1 / i for i in range(1, k + 1))
    found = bounds.maximum(k, lambda t: -math.log1p(-t), below=1.0)
    assert harmonic <= found <= 1 + 2.2 * math.log(max(k, 2)) + 1
    fixed = (math.log(k) + math.log(2)) / 0.5  # the notes' choice t = 1/2
    assert found <= fixed + 1e-9 or k == 1
    if k > 1:
        density = lambda x: k * x * stats.norm.pdf(x) * stats.norm.cdf(x) ** (k - 1)  # noqa: E731
        top = integrate.quad(density, -9, 9, points=[0.0])[0]
        assert top <= bounds.maximum(k, lambda t: t * t / 2)
        assert bounds.maximum(k, lambda t: t * t / 2) == pytest.approx(
            math.sqrt(2 * math.log(k)), rel=1e-6
        )
    with pytest.raises(InvalidArgument):
        bounds.maximum(k, lambda t: t * math.inf)


def test_n5_2_is_lemma_3_at_the_notes_choice():
    # μ = 2/ε: E|L| = μ, E max <= 2μ log(k-1) + 2μ log 2; the printed sum.
    for k, epsilon in ((2, 1.0), (100, 0.3)):
        mu = 2 / epsilon
        printed = mu + 2 * mu * math.log(k - 1) + 2 * mu * math.log(2)
        assert bounds.noisy_max_gap(k, epsilon) == pytest.approx(printed)


SYMMETRIC = [
    (stats.norm(), math.sqrt(0.5)),
    (stats.uniform(-1, 2), math.sqrt(1 / 6)),
    (stats.rv_discrete(values=([-1, 1], [0.5, 0.5])), math.sqrt(0.5)),
]


@pytest.mark.thin(3)
@pytest.mark.parametrize(("law", "mgf"), SYMMETRIC, ids=["normal", "uniform", "sign"])
def test_z_sub_the_three_forms_imply_each_other(law, mgf):
    grid = np.linspace(-4, 4, 41)

    def expect(f):
        if hasattr(law, "dist") and isinstance(law.dist, stats.rv_continuous):
            low, high = np.clip(law.support(), -30, 30)
            return integrate.quad(lambda x: f(x) * law.pdf(x), low, high, limit=200)[0]
        return 0.5 * f(1.0) + 0.5 * f(-1.0)

    # The given constant is right, and so are the two that follow from it.
    for start in ("mgf", "tail", "moment"):
        known = bounds.subgaussian(mgf=mgf)
        if start != "mgf":
            known = bounds.subgaussian(**{start: getattr(known, start)})
        for x in grid:
            grown = expect(lambda y, x=x: math.exp(x * y))
            assert math.log(grown) <= (known.mgf * x) ** 2 + 1e-4
        for t in np.linspace(0.1, 3, 20):
            both = law.sf(t - 1e-12) + law.cdf(-t)
            assert both <= 2 * math.exp(-((t / known.tail) ** 2)) + 1e-9
        for p in (1.0, 2.0, 5.0, 20.0):
            moment = expect(lambda y, p=p: abs(y) ** p) ** (1 / p)
            assert moment <= known.moment * math.sqrt(p) * 1.0001
    with pytest.raises(InvalidArgument):
        bounds.subgaussian(tail=1.0, mgf=1.0)


def test_n4_t1_n4_t2_rates():
    for k in (2, 4, math.inf):
        a, b = (bounds.minimax_mean(n, 0.1, k, "local") for n in (10**5, 10**7))
        power = 1 - 1 / k
        assert math.log(a / b) / math.log(100) == pytest.approx(power)
        a, b = (bounds.minimax_mean(n, 1e-4, k) - 1 / n for n in (10**5, 10**7))
        assert math.log(a / b) / math.log(100) == pytest.approx(2 * power, rel=1e-6)
    assert bounds.minimax_mean(100, 1.0, model="none") == 0.01
    # N4: at k = 2 the central rate is (1 + 1/ε)/n; the clamp balances bias and noise.
    assert bounds.minimax_mean(1000, 0.5, 2) == pytest.approx(3 / 1000)
    clip = bounds.minimax_clip(1000, 0.1, 2)
    assert clip ** (1 - 2) == pytest.approx(clip / (1000 * 0.1), rel=1e-9)
    with pytest.raises(InvalidArgument):
        bounds.minimax_mean(10, 1.0, model="shuffled")
