"""How often intervals hold what they estimate: naive, and ours."""

import math

import numpy as np
from inference_samples import BETAS, Z, drawn, samples, share, truth, two_means

from hush import inference
from hush.mechanisms import Canonical, Gaussian, Geometric, Laplace
from hush.mechanisms.mechanism import Mechanism
from hush.noise import Seeded
from hush.privacy import Pure


def proportions(n: int, epsilon: float, theta: float, runs: int) -> tuple[float, float]:
    """Return coverage of the naive and of our interval for a proportion."""
    sources = np.random.default_rng(1), Seeded(1)
    return _shares(Canonical(Pure(epsilon)), sources, n, theta, runs)


def cells(n: int, epsilon: float, theta: float, runs: int) -> tuple[float, float]:
    """Return coverage for a cell of a histogram with geometric noise."""
    mechanism = Geometric.for_epsilon(epsilon, sensitivity=1)
    return _shares(mechanism, drawn("cells", n, epsilon, theta), n, theta, runs)


def _shares(
    mechanism: Mechanism,
    sources: tuple[np.random.Generator, Seeded],
    n: int,
    theta: float,
    runs: int,
) -> tuple[float, float]:
    rng, source = sources
    released = mechanism.run(rng.binomial(n, theta, runs), source=source).tolist()
    naive, ours = [], []
    for z in released:
        p = min(max(z / n, 0.0), 1.0)
        naive.append(abs(z / n - theta) <= Z * math.sqrt(p * (1 - p) / n))
        low, high = inference.proportion_interval(
            z, n=n, mechanism=mechanism, source=source
        )
        ours.append(low <= theta <= high)
    return share(naive), share(ours)


def ratios(n: int, epsilon: float, theta: float, runs: int) -> tuple[float, float]:
    """Return coverage for a share of a noisy number of people, half of ε each."""
    rng, source = drawn("ratios", n, epsilon, theta)
    mechanism = Geometric.for_epsilon(epsilon / 2, sensitivity=1)
    hits = mechanism.run(rng.binomial(n, theta, runs), source=source).tolist()
    people = mechanism.run(np.full(runs, n), source=source).tolist()
    naive, ours = [], []
    for z, k in zip(hits, people, strict=True):
        p = min(max(z / max(k, 1), 0.0), 1.0)
        naive.append(abs(p - theta) <= Z * math.sqrt(p * (1 - p) / max(k, 1)))
        low, high = inference.proportion_from_counts(
            z, k, mechanism=mechanism, people_mechanism=mechanism
        )
        ours.append(low <= theta <= high)
    return share(naive), share(ours)


def expected(n: int, epsilon: float, runs: int) -> tuple[float, float]:
    """Return coverage of the expected count behind a noisy Poisson count."""
    rng, source = drawn("expected", n, epsilon)
    mechanism = Geometric.for_epsilon(epsilon, sensitivity=1)
    naive, ours = [], []
    for z in mechanism.run(rng.poisson(n, runs), source=source).tolist():
        naive.append(abs(z - n) <= Z * math.sqrt(max(z, 0)))
        low, high = inference.total_interval(z, mechanism=mechanism)
        ours.append(low <= n <= high)
    return share(naive), share(ours)


def means(n: int, epsilon: float, kind: str, runs: int) -> tuple[float, float]:
    """Return coverage of the naive and of our interval for a mean in [0, 1].

    Half of ε goes to the mean and half to the variance.
    """
    _, source = drawn("means", n, epsilon, kind)
    mechanism = Laplace.for_epsilon(epsilon / 2, sensitivity=1 / n)
    middle, spread = (
        mechanism.run(each, source=source).tolist() for each in samples(n, kind, runs)
    )
    naive, ours = [], []
    for mean, variance in zip(middle, spread, strict=True):
        naive.append(abs(mean - truth(kind)) <= Z * math.sqrt(max(variance, 0) / n))
        low, high = inference.mean_interval(
            mean,
            n=n,
            mechanism=mechanism,
            bounds=(0, 1),
            variance=variance,
            variance_mechanism=mechanism,
            skewness=0.0,
        )
        ours.append(low <= truth(kind) <= high)
    return share(naive), share(ours)


def totals(n: int, epsilon: float, kind: str, runs: int) -> tuple[float, float]:
    """Return coverage for a mean from a noisy sum and count, naive and ours.

    The variance is known, as from a sample of another year.
    """
    _, source = drawn("totals", n, epsilon, kind)
    mechanism = Laplace.for_epsilon(epsilon / 2, sensitivity=1)
    a, b = BETAS[kind]
    spread = a * b / ((a + b) ** 2 * (a + b + 1))
    naive, ours = [], []
    for mean in samples(n, kind, runs)[0]:
        total = mechanism.run(float(n * (2 * mean - 1)), source=source)
        count = mechanism.run(n, source=source)
        guess = (total / max(count, 1) + 1) / 2
        naive.append(abs(guess - truth(kind)) <= Z * math.sqrt(spread / max(count, 1)))
        low, high = inference.mean_from_totals(
            total,
            count,
            mechanism=mechanism,
            count_mechanism=mechanism,
            bounds=(0, 1),
            variance=spread,
        )
        ours.append(low <= truth(kind) <= high)
    return share(naive), share(ours)


def worst(n: int, epsilon: float, kind: str, runs: int) -> tuple[float, float]:
    """Return coverage of a mean whose variance nobody released, naive and ours.

    The values are 0 or 1, which vary most, or of a law that varies less.
    """
    rng, source = drawn("worst", n, epsilon, kind)
    mechanism = Laplace.for_epsilon(epsilon, sensitivity=1 / n)
    mean = 0.3 if kind == "0 or 1" else truth(kind)
    if kind == "0 or 1":
        data = rng.binomial(n, mean, runs) / n
    else:
        data = samples(n, kind, runs)[0]
    naive, ours = [], []
    for found in mechanism.run(data, source=source).tolist():
        p = min(max(found, 0.0), 1.0)
        naive.append(abs(found - mean) <= Z * math.sqrt(p * (1 - p) / n))
        low, high = inference.mean_interval(
            found, n=n, mechanism=mechanism, bounds=(0, 1)
        )
        ours.append(low <= mean <= high)
    return share(naive), share(ours)


def variances(n: int, epsilon: float, runs: int) -> tuple[float, float]:
    """Return coverage for the variance of uniform values, naive and ours."""
    _, source = drawn("variances", n, epsilon)
    mechanism = Laplace.for_epsilon(epsilon, sensitivity=1 / n)
    naive, ours = [], []
    released = mechanism.run(samples(n, "uniform", runs)[1], source=source)
    for v in released.tolist():
        naive.append(abs(v - 1 / 12) <= Z * max(v, 0) * math.sqrt(0.8 / n))
        low, high = inference.variance_interval(
            v, n=n, mechanism=mechanism, bounds=(0, 1), kurtosis=1.8
        )
        ours.append(low <= 1 / 12 <= high)
    return share(naive), share(ours)


def quantiles(n: int, epsilon: float, ends: str, runs: int) -> tuple[float, float]:
    """Return coverage for a median from 100 noisy cells, blind to noise and ours."""
    from scipy.stats import beta

    rng, source = drawn("quantiles", n, epsilon)
    mechanism = Geometric.for_epsilon(epsilon, sensitivity=1)
    edges = np.linspace(0, 1, 101)
    tables = rng.multinomial(n, np.diff(beta.cdf(edges, 2, 5)), runs)
    median = float(beta.ppf(0.5, 2, 5))
    quiet = Geometric(scale=0.01)
    naive, ours = [], []
    for counts in mechanism.run(tables, source=source):
        for hits, noise in ((naive, quiet), (ours, mechanism)):
            found = inference.quantile_interval(
                counts, edges, at=0.5, n=n, mechanism=noise
            )
            inside = ends == "inside cells"
            low, high = found.interpolated() if inside else found.interval()
            hits.append(low <= median <= high)
    return share(naive), share(ours)


def differences(n: int, epsilon: float, kind: str, runs: int) -> tuple[float, float]:
    """Return coverage of a difference of two shares or means, naive and ours."""
    rng, source = np.random.default_rng(6), Seeded(6)
    naive, ours = [], []
    if kind != "means":
        mechanism = Geometric.for_epsilon(epsilon, sensitivity=1)
        shares = (0.3, 0.2) if kind == "shares" else (0.02, 0.01)
        for _ in range(runs):
            pair = [
                inference.proportion_interval(
                    int(mechanism.run(int(rng.binomial(n, p)), source=source)),
                    n=n,
                    mechanism=mechanism,
                    source=source,
                )
                for p in shares
            ]
            found, wanted = inference.difference_interval(*pair), shares[0] - shares[1]
            p, q = (min(max(e.count.released / n, 0), 1) for e in pair)
            std = math.sqrt((p * (1 - p) + q * (1 - q)) / n)
            naive.append(abs(found.value - wanted) <= Z * std)
            ours.append(found.low <= wanted <= found.high)
        return share(naive), share(ours)
    for pair, spreads in two_means(n, epsilon, runs, ("beta(2,5)", "beta(1,9)")):
        found = inference.difference_interval(*pair)
        wanted = truth("beta(2,5)") - truth("beta(1,9)")
        naive.append(abs(found.value - wanted) <= Z * math.sqrt(sum(spreads) / n))
        ours.append(found.low <= wanted <= found.high)
    return share(naive), share(ours)


def regressions(n: int, std: float, runs: int) -> tuple[float, float]:
    """Return coverage of a slope from noisy moments, naive and ours."""
    rng, source = drawn("regressions", n, std)
    noise = Gaussian(std=std)
    naive, ours = [], []
    for _ in range(runs):
        x = np.stack([np.ones(n), rng.uniform(-1, 1, n)], axis=1)
        y = 0.2 + 0.5 * x[:, 1] + rng.normal(0, 0.2, n)
        gram, upper = x.T @ x, np.triu_indices(2)
        gram[upper] = noise.run(gram[upper], source=source)
        gram[1, 0] = gram[0, 1]
        moment = noise.run(x.T @ y, source=source)
        square = noise.run(float(y @ y), source=source)
        for hits, known in ((naive, 0.0), (ours, std)):
            found = inference.regression_interval(
                gram, moment, square, n=n, gram_std=known, moment_std=known
            )
            hits.append(bool(found.low[1] <= 0.5 <= found.high[1]))
    return share(naive), share(ours)
