"""Means, variances, quantiles and slopes against quadrature and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from hush import inference
from hush.errors import InvalidArgument
from hush.inference.additive_noise import Additive
from hush.inference.error_convolution import Part, convolve, normal
from hush.inference.ratio import fieller
from hush.mechanisms import Gaussian, Geometric, Laplace
from hush.noise import Seeded


@pytest.mark.parametrize("ratio", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("p", [0.6, 0.975, 0.9999])
def test_normal_and_laplace_together(ratio, p):
    noise = Additive.of(Laplace(scale=1.0), 0.5)
    found = convolve(normal(ratio), noise).quantile(p)
    below = integrate.quad(
        lambda u: stats.norm.pdf(u) * stats.laplace.cdf(found - ratio * u),
        -9,
        9,
        points=[found / ratio] if abs(found / ratio) < 9 else None,
        limit=200,
    )[0]
    assert below == pytest.approx(p, abs=(1 - p) * 2e-3)


def test_two_and_three_laplaces():
    one = Additive.of(Laplace(scale=1.0), 0.5)
    both = convolve(one, one)
    # P(L + L' > x) = e^-x (2 + x)/4.
    for x in (0.5, 2.0, 6.0):
        assert 1 - both.cdf(x) == pytest.approx(math.exp(-x) * (2 + x) / 4, rel=2e-3)
    # P(L + L' + L'' > x) = e^-x (x² + 5x + 8)/16.
    three = convolve(one, one, one)
    for x in (0.5, 2.0, 6.0):
        exact = math.exp(-x) * (x * x + 5 * x + 8) / 16
        assert 1 - three.cdf(x) == pytest.approx(exact, rel=2e-3)
    # The grid, which serves lattices and sums of four, agrees with the closed form.
    grid = convolve(Part(normal(2.0).cdf, 2.0), one, one)
    closed = convolve(normal(2.0), one, one)
    for p in (0.6, 0.975, 0.999):
        assert grid.quantile(p) == pytest.approx(closed.quantile(p), rel=2e-3)
    assert convolve(normal(0.0)).quantile(0.9) == 0.0
    with pytest.raises(InvalidArgument):
        convolve()


def test_a_lattice_keeps_its_std():
    noise = Additive.of(Geometric(scale=2), 3)
    assert noise.step == 1
    assert noise.std == pytest.approx(math.sqrt(7.835), abs=1e-3)
    assert Additive.of(Laplace(scale=2.0), 0.5).std == pytest.approx(math.sqrt(8))
    assert noise.scaled(0.1).std == pytest.approx(noise.std / 10)
    assert noise.above(2) + noise.equal(2) + noise.below(2) == pytest.approx(1)


def test_clamping_moves_a_mean_no_further():
    # Two points attain the bound: X = kT/(k-1) with the probability the moment allows.
    for clamp, moment, k in [(10.0, 1.0, 2.0), (3.0, 2.0, 4.0)]:
        bound = inference.clipping_bias(clamp, moment=moment, order=k)
        far = k * clamp / (k - 1)
        assert bound == pytest.approx(moment / far**k * (far - clamp))
        for x in np.linspace(clamp, 10 * clamp, 50):
            assert moment / x**k * (x - clamp) <= bound * (1 + 1e-12)


def test_a_bias_moves_both_ends():
    plain = inference.mean_interval(
        0.4, n=100, mechanism=Laplace(scale=0.01), bounds=(0, 1)
    )
    biased = inference.mean_interval(
        0.4, n=100, mechanism=Laplace(scale=0.01), bounds=(0, 1), bias=0.1
    )
    assert biased.low == pytest.approx(plain.low - 0.1)
    assert biased.high == pytest.approx(plain.high + 0.1)
    assert plain.effective < 100


def spikes(n, theta):
    return (lambda rng: (rng.random(n) < theta).astype(float)), theta


SKEWED = {
    "rare spikes": spikes(200, 0.02),
    "very rare spikes": spikes(1000, 0.005),
    "uniform": (lambda rng: rng.random(200), 0.5),
}


@pytest.mark.statistical
@pytest.mark.parametrize("law", SKEWED)
def test_means_of_skewed_values_are_covered_on_either_side(law):
    # 700 runs at 0.94 to 0.985; each side fails wrongly with a chance below 1e-9. The
    # twin that takes them for symmetric is caught: 0.91, nearly all misses above.
    draw, truth = SKEWED[law]
    rng, source, hits, blind = np.random.default_rng(8), Seeded(8), 0, 0
    for _ in range(700):
        x = draw(rng)
        noise = Laplace.for_epsilon(2.5, sensitivity=1 / x.size)
        mean = noise.run(float(x.mean()), source=source)
        spread = noise.run(float(x.var(ddof=1)), source=source)
        for known in (None, 0.0):
            low, high = inference.mean_interval(
                mean, n=x.size, mechanism=noise, bounds=(0, 1),
                variance=spread, variance_mechanism=noise, skewness=known,
            )  # fmt: skip
            if known is None:
                hits += low <= truth <= high
            else:
                blind += low <= truth <= high
    floor, top = stats.binom.ppf(1e-9, 700, 0.94), stats.binom.isf(1e-9, 700, 0.985)
    assert floor <= hits <= top
    if "spikes" in law:
        assert hits - blind >= 25


def test_the_skewness_of_bounded_values_is_no_larger_than_assumed():
    # The largest third moment of a given mean and variance, by linear programming.
    x = np.linspace(0, 1, 201)
    for mean, variance in ((0.1, 0.05), (0.5, 0.02), (0.3, 0.2)):
        near = np.vstack([np.ones_like(x), x, (x - mean) ** 2])
        found = optimize.linprog(
            -((x - mean) ** 3), A_eq=near, b_eq=[1, mean, variance], method="highs"
        )
        most = variance * ((1 - mean) - variance / (1 - mean))
        assert most * 0.98 <= -found.fun <= most * (1 + 1e-9)
        each = inference.mean_interval(
            mean, n=100, mechanism=Laplace(scale=1e-9), bounds=(0, 1), variance=variance
        )
        assert each.skew[1] == pytest.approx(most / variance / 600, rel=1e-6)


def test_a_known_skewness_moves_one_end():
    public = {"n": 100, "mechanism": Laplace(scale=1e-3), "bounds": (-9, 9)}
    plain, right, left = (
        inference.mean_interval(0.5, **public, variance=1.0, skewness=each)
        for each in (0.0, 2.0, -2.0)
    )
    assert (right.low, left.high) == (plain.low, plain.high)
    moved = 2.0 * (2 * stats.norm.ppf(0.975) ** 2 + 1) / 600
    assert right.high - plain.high == pytest.approx(moved, rel=0.03)
    assert plain.low - left.low == pytest.approx(right.high - plain.high)


VARYING = {
    "exponential": (lambda rng: np.minimum(rng.exponential(0.1, 300), 1.0), 0.01),
    "spikes": (spikes(300, 0.03)[0], 0.03 * 0.97),
    "uniform": (lambda rng: rng.random(300), 1 / 12),
}


@pytest.mark.statistical
@pytest.mark.parametrize("law", VARYING)
def test_a_variance_is_covered_whatever_the_law(law):
    # 600 runs at 0.94 or more: fewer hits come with a chance below 1e-9. The twin takes
    # exponential values for normal ones, covers below 0.9 and is caught.
    draw, truth = VARYING[law]
    rng, source, hits, normal = np.random.default_rng(9), Seeded(9), 0, 0
    noise = Laplace.for_epsilon(5.0, sensitivity=1 / 300)
    floor = stats.binom.ppf(1e-9, 600, 0.94)
    for _ in range(600):
        found = noise.run(float(draw(rng).var(ddof=1)), source=source)
        public = {"n": 300, "mechanism": noise, "bounds": (0, 1)}
        low, high = inference.variance_interval(found, **public)
        hits += low <= truth <= high
        low, high = inference.variance_interval(found, **public, kurtosis=3)
        normal += low <= truth <= high
    assert hits >= floor
    assert (normal < floor) == (law != "uniform")


def test_two_values_have_the_largest_kurtosis():
    # E(X - m)⁴ <= v(R² - 3v), by linear programming over laws and their means.
    x = np.linspace(0, 1, 101)
    for v in (0.02, 0.1, 0.2):
        most = 0.0
        for mean in np.linspace(0.01, 0.99, 99):
            if mean * (1 - mean) < v:
                continue
            near = np.vstack([np.ones_like(x), x, (x - mean) ** 2])
            found = optimize.linprog(
                -((x - mean) ** 4), A_eq=near, b_eq=[1, mean, v], method="highs"
            )
            most = max(most, -found.fun if found.status == 0 else 0.0)
        assert 0.97 * v * (1 - 3 * v) <= most <= v * (1 - 3 * v) * (1 + 1e-9)


def test_a_variance_of_unlimited_values_asks_for_bounds_or_kurtosis():
    with pytest.raises(InvalidArgument, match="kurtosis"):
        inference.variance_interval(2.0, n=10, mechanism=Laplace(scale=0.1))


def test_an_unknown_variance_is_the_largest():
    known = inference.mean_interval(
        0.5, n=100, mechanism=Laplace(scale=0.01), bounds=(0, 1), variance=0.25
    )
    unknown = inference.mean_interval(
        0.5, n=100, mechanism=Laplace(scale=0.01), bounds=(0, 1)
    )
    assert unknown.high == pytest.approx(known.high, abs=2e-3)


@pytest.mark.parametrize("released", [-1e9, 0.0, 1e9])
def test_ends_stay_inside_the_bounds(released):
    found = inference.mean_interval(
        released,
        n=10,
        mechanism=Laplace(scale=1.0),
        bounds=(0, 1),
        variance=-5.0,
        variance_mechanism=Laplace(scale=1.0),
    )
    assert 0 <= found.low <= found.high <= 1


def test_fieller_solves_its_inequality():
    rng = np.random.default_rng(3)
    for _ in range(200):
        top, bottom = rng.normal(0, 3), rng.uniform(0.1, 4)
        fixed, slope = rng.uniform(0, 2), rng.uniform(-4, 4)
        limits = (-3.0, 2.0)
        low, high = fieller(top, bottom, fixed=fixed, slope=slope, limits=limits)
        u = np.linspace(*limits, 2001)
        inside = u[(top - u * bottom) ** 2 <= fixed**2 + slope * u**2]
        if inside.size:
            assert (low, high) == pytest.approx((inside[0], inside[-1]), abs=3e-3)
        else:
            assert high - low <= 3e-3


def test_a_count_near_zero_says_nothing():
    noise = Laplace(scale=5.0)
    found = inference.mean_from_totals(
        3.0, -2.0, mechanism=noise, count_mechanism=noise, bounds=(10, 20)
    )
    assert tuple(found) == (10.0, 20.0)
    with pytest.raises(InvalidArgument, match="bounds"):
        inference.mean_from_totals(
            3.0, 5.0, mechanism=noise, count_mechanism=noise, bounds=(1, 1)
        )


@given(st.floats(-300, 300), st.floats(-300, 300), st.sampled_from([0.5, 0.95]))
def test_a_mean_from_totals_holds_its_value(total, count, level):
    # A negative count once put the interval at one bound and the value at the other.
    noise = Laplace(scale=20.0)
    found = inference.mean_from_totals(
        total, count, mechanism=noise, count_mechanism=noise, bounds=(10, 20)
    )
    low, high = found.interval(level)
    assert 10 <= low <= found.value <= high <= 20


def test_without_noise_or_variance_a_mean_is_wilsons():
    quiet = Laplace(scale=1e-9)
    for ones, n in ((0, 30), (3, 30), (15, 30), (30, 30)):
        found = inference.mean_from_totals(
            2.0 * ones - n,
            float(n),
            mechanism=quiet,
            count_mechanism=quiet,
            bounds=(0, 1),
        )
        wilson = stats.binomtest(ones, n).proportion_ci(0.95, method="wilson")
        assert tuple(found) == pytest.approx(tuple(wilson), abs=1e-5)


def test_a_variance_without_sampling_has_the_noise_alone():
    noise = Laplace(scale=0.1)
    found = inference.variance_interval(2.0, n=10**12, mechanism=noise, kurtosis=3)
    assert found.high - 2 == pytest.approx(0.1 * math.log(20), rel=1e-2)
    assert (
        inference.variance_interval(-4.0, n=10, mechanism=noise, bounds=(0, 1)).low == 0
    )
    assert (
        inference.variance_interval(9.0, n=10, mechanism=noise, bounds=(0, 1)).high
        == 0.25
    )


@pytest.mark.statistical
def test_a_quantile_walks_in_from_both_ends():
    # 200 runs at level 0.95 cover at least 170 times but for 1e-9 or less.
    rng, source = np.random.default_rng(5), Seeded(5)
    noise, edges = Geometric(scale=2), np.linspace(0, 1, 41)
    hits = 0
    for _ in range(200):
        counts = noise.run(np.histogram(rng.random(2000), edges)[0], source=source)
        found = inference.quantile_interval(
            counts, edges, at=0.3, n=2000, mechanism=noise
        )
        low, high = found
        assert 0 <= high - low < 0.3
        hits += low <= 0.3 <= high
    assert stats.binom.cdf(169, 200, 0.95) < 1e-7
    assert hits >= 170
    with pytest.raises(InvalidArgument, match="edges"):
        inference.quantile_interval([1, 2], [0, 1], at=0.5, n=3, mechanism=noise)


def test_a_slope_without_noise_is_least_squares():
    rng = np.random.default_rng(6)
    x = np.stack([np.ones(200), rng.normal(size=200)], axis=1)
    y = x @ [1.0, 2.0] + rng.normal(size=200)
    found = inference.regression_interval(
        x.T @ x, x.T @ y, float(y @ y), n=200, gram_std=0.0, moment_std=0.0
    )
    line = stats.linregress(x[:, 1], y)
    assert found.value[1] == pytest.approx(line.slope)
    assert found.std[1] == pytest.approx(line.stderr)
    noisy = inference.regression_interval(
        x.T @ x, x.T @ y, float(y @ y), n=200, gram_std=2.0, moment_std=2.0
    )
    assert (noisy.std > found.std).all()
    with pytest.raises(InvalidArgument, match="eigenvalue"):
        inference.regression_interval(
            x.T @ x, x.T @ y, float(y @ y), n=200, gram_std=100.0, moment_std=2.0
        )


def test_the_noise_of_a_slope_by_simulation():
    # The covariance of mirrored noise times β, against 40 000 draws (error below 3%).
    rng = np.random.default_rng(7)
    gram, beta = np.array([[500.0, 40.0], [40.0, 170.0]]), np.array([0.7, -1.3])
    moment = gram @ beta
    square = float(beta @ moment)
    found = inference.regression_interval(
        gram, moment, square, n=500, gram_std=1.0, moment_std=0.5
    )
    draws = []
    for _ in range(40_000):
        a, b, c = rng.normal(0, 1.0, 3)
        noisy = gram + np.array([[a, b], [b, c]])
        draws.append(np.linalg.solve(noisy, moment + rng.normal(0, 0.5, 2)))
    assert np.std(draws, axis=0) == pytest.approx(found.std, rel=0.03)


def test_other_noise_is_read_too():
    low, high = inference.mean_interval(
        0.3, n=10**6, mechanism=Gaussian(std=0.1), bounds=(-5, 5), variance=0.0
    )
    assert high - low == pytest.approx(2 * 1.96 * 0.1, rel=1e-2)
