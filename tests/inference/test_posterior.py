"""Posteriors against enumeration without the code under test, and by calibration.

Simulation-based calibration: a parameter drawn from its prior, data from the parameter,
a release from the data. Then the posterior's distribution function at the parameter is
uniform. Each check fails wrongly with probability 1e-6 over the choice of its seed, and
has a sabotaged twin that must fail it.
"""

import functools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import hush
from hush.errors import InvalidArgument, NoBound
from hush.inference import (
    CountModel,
    MeanModel,
    RateModel,
    ShareModel,
    posterior,
)
from hush.mechanisms import (
    Canonical,
    DiscreteGaussian,
    Gaussian,
    Geometric,
    KNorm,
    Laplace,
    NoisyMax,
    RandomizedResponse,
    Staircase,
    TreeSum,
)
from hush.noise import Seeded
from hush.privacy import Pure

FALSE_ALARM = 1e-6


def laplace_weight(distance, scale):
    """P(noise = distance) up to a constant, for whole Laplace noise."""
    return mpmath.exp(-abs(distance) / mpmath.mpf(scale))


# -- Against sums of Python's own ------------------------------------------------------


@given(z=st.integers(-8, 40), scale=st.floats(0.3, 8), mean=st.floats(0.5, 20))
def test_a_count_has_the_posterior_that_enumeration_gives(z, scale, mean):
    found = posterior(
        z, CountModel(), stats.poisson(mean), mechanism=Geometric(scale=scale)
    )
    weights = [
        mpmath.mpf(mean) ** k / mpmath.factorial(k) * laplace_weight(z - k, scale)
        for k in range(150)
    ]
    total = sum(weights)
    expected = sum(k * w for k, w in enumerate(weights)) / total
    assert found.mean == pytest.approx(float(expected), rel=1e-9)
    for k in (0, 3, 17):
        below = float(sum(weights[: k + 1]) / total)
        assert found.cdf(k) == pytest.approx(below, abs=1e-10)


@settings(max_examples=25)
@given(
    z=st.integers(-12, 18),
    n=st.integers(1, 6),
    scale=st.floats(0.5, 5),
    a=st.floats(0.5, 4),
    b=st.floats(0.5, 4),
)
def test_a_share_has_the_posterior_that_enumeration_gives(z, n, scale, a, b):
    found = posterior(
        z, ShareModel(n=n), stats.beta(a, b), mechanism=Geometric(scale=scale)
    )
    # A mixture of beta laws, one for each count that may have been the true one.
    weights = [
        mpmath.binomial(n, x)
        * mpmath.beta(x + a, n - x + b)
        * laplace_weight(z - x, scale)
        for x in range(n + 1)
    ]
    total = sum(weights)
    mean = sum(w * (x + a) / (n + a + b) for x, w in enumerate(weights)) / total
    assert found.mean == pytest.approx(float(mean), abs=2e-4)
    for theta in (0.1, 0.5, 0.8):
        below = sum(
            w * mpmath.betainc(x + a, n - x + b, 0, theta, regularized=True)
            for x, w in enumerate(weights)
        )
        assert found.cdf(theta) == pytest.approx(float(below / total), abs=3e-4)


@pytest.mark.parametrize("z", [-5, 0, 3, 60])
@pytest.mark.parametrize(("shape", "rate"), [(1.0, 0.1), (0.3, 1.0), (50.0, 20.0)])
def test_a_rate_has_the_posterior_that_enumeration_gives(z, shape, rate):
    exposure, scale = 4.0, 1.5
    found = posterior(
        z,
        RateModel(exposure),
        stats.gamma(shape, scale=1 / rate),
        mechanism=Geometric(scale=scale),
    )
    odds = mpmath.mpf(exposure) / (exposure + rate)
    weights = [
        mpmath.gamma(x + shape)
        / mpmath.factorial(x)
        * odds**x
        * laplace_weight(z - x, scale)
        for x in range(400)
    ]
    total = sum(weights)
    mean = sum(w * (x + shape) / (exposure + rate) for x, w in enumerate(weights))
    assert found.mean == pytest.approx(float(mean / total), rel=1e-3)
    middle = float(mean / total)
    below = sum(
        w * mpmath.gammainc(x + shape, 0, (exposure + rate) * middle, regularized=True)
        for x, w in enumerate(weights)
    )
    assert found.cdf(middle) == pytest.approx(float(below / total), abs=5e-4)


def clamped_likelihood(z, mean, scale, bounds, n, law, step):
    """P(release z | mean) for n <= 2, on a fine net of quantiles of the values."""
    size = 4000 if n == 1 else 600
    p = (np.arange(size) + 0.5) / size
    values = np.clip(stats.norm.ppf(p, mean, scale), *bounds)
    means = values if n == 1 else (values[:, None] + values) / 2
    steps = np.floor(means / step + 0.5)
    return float(law.pmf(round(z / step) - steps).mean())


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("z", [-3.0, 0.5, 4.0])
@pytest.mark.parametrize("step", [0.25, 2**-12])
def test_a_clamped_mean_has_the_likelihood_that_quadrature_gives(n, z, step):
    noise = Laplace(scale=1.0, step=step)
    model = MeanModel(n=n, bounds=(-1, 3), scale=1.5)
    prior = stats.norm(1, 2)
    found = posterior(z, model, prior, mechanism=noise)
    net = np.linspace(-9, 11, 121)
    law = noise.error.law
    weight = prior.pdf(net) * np.array(
        [clamped_likelihood(z, m, 1.5, (-1, 3), n, law, step) for m in net]
    )
    weight /= weight.sum()
    mean = float(weight @ net)
    std = math.sqrt(float(weight @ (net - mean) ** 2))
    assert found.mean == pytest.approx(mean, abs=3e-3 * std)
    assert found.std == pytest.approx(std, rel=3e-3)


@pytest.mark.parametrize("n", [1, 30, 5000])
@pytest.mark.parametrize("added", [False, True])
def test_a_mean_far_from_its_bounds_has_the_normal_posterior(n, added):
    # Gaussian noise and a normal prior: conjugate, where nothing is clamped.
    sampling, noise, prior = 3.0 / math.sqrt(n), 0.7 / math.sqrt(n), 2.0
    z, unit = 10.3, n if added else 1
    found = posterior(
        z * unit,
        MeanModel(n=n, bounds=(-40, 60), scale=3.0, added=added),
        stats.norm(8, prior),
        mechanism=Gaussian(std=noise * unit),
    )
    variance = sampling**2 + noise**2
    precision = 1 / variance + 1 / prior**2
    assert found.mean == pytest.approx(
        (z / variance + 8 / prior**2) / precision, abs=5e-4 / math.sqrt(precision)
    )
    assert found.std == pytest.approx(1 / math.sqrt(precision), rel=5e-4)


def test_a_scale_that_is_only_bounded_lies_between_its_ends():
    noise = Laplace(scale=0.5)

    def width(scale):
        model = MeanModel(n=20, bounds=(-50, 50), scale=scale)
        return posterior(1.0, model, stats.norm(0, 10), mechanism=noise).std

    assert width(2.0) < width((2.0, 8.0)) < width(8.0)
    assert width((2.0, 2.0)) == pytest.approx(width(2.0))


# -- Calibration -----------------------------------------------------------------------

RUNS = 20_000


def uniform_p_value(ranks, cells=20):
    observed, _ = np.histogram(ranks, bins=cells, range=(0, 1))
    return float(stats.chisquare(observed).pvalue)


def ranks(model, prior, noise, told, simulate, seed):
    """Distribution functions at the truth, one run each; posteriors are kept."""
    rng, source = np.random.default_rng(seed), Seeded(seed)
    truth = prior.rvs(RUNS, random_state=rng)
    releases = noise.run(simulate(truth, rng), source=source)
    known = functools.cache(
        lambda z: posterior(z, model, prior, mechanism=told),
    )
    found = np.empty(RUNS)
    for z in np.unique(releases):
        law = known(z)
        at = releases == z
        found[at] = law.cdf(truth[at])
        if law.whole:  # an atom: anywhere in it
            below = law.cdf(truth[at] - 1)
            found[at] = below + rng.uniform(size=at.sum()) * (found[at] - below)
    return found


def count_case(told):
    def simulate(truth, rng):
        return truth

    prior = stats.poisson(6)
    return CountModel(), prior, Geometric(scale=2), told, simulate


def share_case(told):
    def simulate(truth, rng):
        return rng.binomial(12, truth)

    prior = stats.beta(0.7, 2)
    return ShareModel(n=12), prior, Geometric(scale=2), told, simulate


def rate_case(told):
    def simulate(truth, rng):
        return rng.poisson(3 * truth)

    prior = stats.gamma(2)
    return RateModel(3.0), prior, Geometric(scale=2), told, simulate


def mean_case(told, bounds=(-1, 2)):
    def simulate(truth, rng):
        values = rng.normal(truth[:, None], 1.3, (truth.size, 7))
        return np.clip(values, -1, 2).mean(axis=1)

    model = MeanModel(n=7, bounds=bounds, scale=1.3)
    return model, stats.norm(0, 1), Laplace(scale=0.5, step=1 / 4), told, simulate


RIGHT = {
    "count": count_case(Geometric(scale=2)),
    "share": share_case(Geometric(scale=2)),
    "rate": rate_case(Geometric(scale=2)),
    "mean": mean_case(Laplace(scale=0.5, step=1 / 4)),
}
SABOTAGED = {
    "count": count_case(Geometric(scale=1.6)),
    "share": share_case(Geometric(scale=1.6)),
    "rate": rate_case(Geometric(scale=1.4)),
    "mean": mean_case(Laplace(scale=0.35, step=1 / 4)),
    "mean without clamping": mean_case(Laplace(scale=0.5, step=1 / 4), (-8, 8)),
    "continuous for whole": share_case(DiscreteGaussian(std=2.8)),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", RIGHT)
def test_posteriors_are_calibrated(name):
    assert uniform_p_value(ranks(*RIGHT[name], seed=3)) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("name", SABOTAGED)
def test_a_posterior_of_other_noise_is_caught(name):
    assert uniform_p_value(ranks(*SABOTAGED[name], seed=3)) < FALSE_ALARM


# -- What a posterior says, and what it refuses ----------------------------------------


SHARE = posterior(4, ShareModel(n=9), stats.beta(2, 2), mechanism=Geometric(scale=1))


def test_quantiles_and_draws_follow_the_law():
    for p in (1e-6, 0.025, 0.5, 0.975, 1 - 1e-6):
        assert SHARE.cdf(SHARE.quantile(p)) == pytest.approx(p, abs=1e-5)
    low, high = SHARE.interval(0.9)
    assert SHARE.cdf(high) - SHARE.cdf(low) == pytest.approx(0.9, abs=1e-4)
    assert float(SHARE.masses.sum()) == pytest.approx(1)
    assert float(SHARE.density @ np.diff(SHARE.edges)) == pytest.approx(1)


@pytest.mark.statistical
def test_draws_have_the_posterior_as_their_law():
    draws = SHARE.sample(20_000, source=Seeded(2))
    assert stats.kstest(draws, SHARE.cdf).pvalue > FALSE_ALARM
    other = posterior(
        5, ShareModel(n=9), stats.beta(2, 2), mechanism=Geometric(scale=1)
    )
    assert stats.kstest(draws, other.cdf).pvalue < FALSE_ALARM


def test_a_predictive_share_is_a_mixture_of_binomials():
    found = SHARE.predictive(3)
    mixed = [
        float(SHARE.masses @ stats.binom.pmf(k, 3, SHARE.values)) for k in range(4)
    ]
    assert found.masses.tolist() == pytest.approx(mixed, abs=1e-9)
    assert found.mean == pytest.approx(3 * SHARE.mean, abs=1e-6)


def test_a_predictive_rate_and_mean_add_the_spread_of_new_data():
    rate = posterior(
        20, RateModel(2.0), stats.gamma(2, scale=9), mechanism=Geometric(scale=1)
    )
    new = rate.predictive(5)
    assert new.mean == pytest.approx(5 * rate.mean, rel=1e-5)
    assert new.std**2 == pytest.approx(5 * rate.mean + 25 * rate.std**2, rel=1e-3)
    model = MeanModel(n=9, bounds=(-5, 5), scale=1.0)
    mean = posterior(0.5, model, stats.norm(0, 1), mechanism=Laplace(scale=0.2))
    new = mean.predictive(4)
    assert new.std**2 == pytest.approx(mean.std**2 + 1 / 4, rel=1e-3)
    with pytest.raises(InvalidArgument, match="ShareModel"):
        posterior(
            1, CountModel(), stats.poisson(2), mechanism=Geometric(scale=1)
        ).predictive(3)


@pytest.mark.parametrize(
    "mechanism",
    [
        Geometric(scale=2),
        DiscreteGaussian(std=2),
        Laplace(scale=2.0),
        Laplace(scale=2.0, step=1),
        Gaussian(std=2.0),
        Staircase(scale=1.0),
        Canonical(Pure(epsilon=0.7)),
    ],
    ids=repr,
)
def test_the_likelihood_is_the_law_of_the_noise_that_runs(mechanism):
    # The law of hush is trusted here (its own tests sample it); the sum is Python's.
    law, step = mechanism.error.cases[0]
    z = mechanism.run(5, source=Seeded(1))
    found = posterior(z, CountModel(), stats.randint(0, 9), mechanism=mechanism)
    if isinstance(z, int):
        law, step = next(c for c in mechanism.error.cases if c[1] == 1)
    chance = [float(law.pmf(round((z - k) / float(step)))) for k in range(9)]
    expected = sum(k * p for k, p in enumerate(chance)) / sum(chance)
    assert found.mean == pytest.approx(expected, rel=1e-9)


def test_a_release_of_a_ledger_brings_its_noise_and_its_conditions():
    ledger = hush.Ledger.open(
        "memory://", budget=hush.Budget(epsilon=3), dataset="d", rehearsal=True
    )
    ages = [20.0, 35.0, 50.0, 41.0] * 25
    query = hush.mechanisms.mean(bounds=(0, 100), size=100, neighbors="replace-one")
    release = ledger.release(Laplace(scale=1.0), query, ages, source=Seeded(3))
    model = MeanModel(n=100, bounds=(0, 100), scale=12.0)
    found = posterior(release, model, stats.norm(40, 30))
    bare = posterior(
        release.values, model, stats.norm(40, 30), mechanism=Laplace(scale=1.0)
    )
    assert found.mean == pytest.approx(bare.mean, rel=1e-6)
    text = repr(found)
    for said in ("prior norm(40, 30)", "Laplace(scale=1.0)", "clamped to", "SEEDED"):
        assert said in text
    with pytest.raises(InvalidArgument, match="bounds"):
        posterior(
            release, MeanModel(n=100, bounds=(0, 90), scale=9.0), stats.norm(40, 30)
        )
    with pytest.raises(InvalidArgument, match="left out"):
        posterior(release, model, stats.norm(40, 30), mechanism=Laplace(scale=1.0))


def test_a_release_whose_law_depends_on_the_data_is_refused():
    ledger = hush.Ledger.open(
        "memory://", budget=hush.Budget(epsilon=3), dataset="d", rehearsal=True
    )
    query = hush.mechanisms.mean(bounds=(0, 100))  # a quotient of two noisy sums
    release = ledger.release(Laplace(scale=2.0), query, [3.0, 4.0], source=Seeded(3))
    model = MeanModel(n=2, bounds=(0, 100), scale=12.0)
    with pytest.raises(NoBound, match="error"):
        posterior(release, model, stats.norm(40, 30))


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(honesty=0.75),
        NoisyMax(scale=1.0),
        KNorm(scale=1.0, dimension=2),
        TreeSum(horizon=8, scale=1.0),
    ],
    ids=repr,
)
def test_noise_without_a_law_of_its_own_for_every_number_is_refused(mechanism):
    with pytest.raises(NoBound, match="likelihood"):
        posterior(1, ShareModel(n=3), stats.beta(1, 1), mechanism=mechanism)


def test_what_is_no_release_is_refused():
    beta, model, noise = stats.beta(1, 1), ShareModel(n=30), Geometric(scale=2)
    with pytest.raises(InvalidArgument, match="multiple of 1"):
        posterior(3.5, model, beta, mechanism=noise)
    with pytest.raises(InvalidArgument, match="mechanism must say"):
        posterior(3, model, beta)
    with pytest.raises(InvalidArgument, match="one number"):
        posterior([3, 4], model, beta, mechanism=noise)
    with pytest.raises(InvalidArgument, match="scipy"):
        posterior(3, model, 0.5, mechanism=noise)
    with pytest.raises(InvalidArgument, match="whole numbers"):
        posterior(3, CountModel(), stats.norm(0, 1), mechanism=noise)
    with pytest.raises(InvalidArgument, match="model must be"):
        posterior(3, "share", beta, mechanism=noise)
    with pytest.raises(InvalidArgument, match="mechanism must be"):
        posterior(3, model, beta, mechanism="Geometric")


def test_a_prior_that_the_release_contradicts_is_refused():
    model = MeanModel(n=100, bounds=(0, 100), scale=1.0)
    with pytest.raises(NoBound, match="contradict"):
        posterior(90.0, model, stats.norm(10, 0.5), mechanism=Laplace(scale=0.1))
    with pytest.raises(NoBound, match="contradict"):
        posterior(
            10**9, CountModel(), stats.poisson(3), mechanism=DiscreteGaussian(std=2)
        )
