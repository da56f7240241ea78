"""How often tests reject what is true: naive, and ours."""

import math

import numpy as np
from inference_samples import Z, share, two_means

from hush import inference
from hush.mechanisms import Canonical, Geometric
from hush.noise import Seeded
from hush.privacy import Pure


def level_binomial(
    n: int, epsilon: float, null: float, runs: int
) -> tuple[float, float]:
    """Return type-I errors of the naive z-test and of the most powerful test.

    It takes ten times as many runs as asked for: they are cheap.
    """
    seed = int(1000 * null + 10 * epsilon) + n
    rng, source, runs = np.random.default_rng(seed), Seeded(seed), 10 * runs
    mechanism = Canonical(Pure(epsilon))
    naive, ours = [], []
    for z in mechanism.run(rng.binomial(n, null, runs), source=source).tolist():
        std = math.sqrt(n * null * (1 - null))
        naive.append((z - n * null) / std > 1.644854)
        ours.append(
            inference.proportion_test(
                z,
                null=null,
                n=n,
                mechanism=mechanism,
                alternative="greater",
                source=source,
            ).rejects(0.05)
        )
    return share(naive), share(ours)


def level_difference(
    n: int, m: int, epsilon: float, theta: float, runs: int
) -> tuple[float, float]:
    """Return type-I errors of two-sample tests of shares, naive and ours."""
    rng, source = np.random.default_rng(9), Seeded(9)
    mechanism = Geometric.for_epsilon(epsilon, sensitivity=1)
    naive, ours = [], []
    for _ in range(runs):
        z = [
            int(mechanism.run(int(rng.binomial(k, theta)), source=source))
            for k in (n, m)
        ]
        pooled = min(max(sum(z) / (n + m), 0.0), 1.0)
        std = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
        naive.append(abs(z[0] / n - z[1] / m) > Z * std)
        pair = [
            inference.proportion_interval(each, n=k, mechanism=mechanism, source=source)
            for each, k in zip(z, (n, m), strict=True)
        ]
        ours.append(inference.difference_test(*pair, source=source).rejects(0.05))
    return share(naive), share(ours)


def level_means(n: int, epsilon: float, runs: int) -> tuple[float, float]:
    """Return type-I errors of two-sample tests of means, naive and ours."""
    naive, ours = [], []
    for pair, spreads in two_means(n, epsilon, runs, ("beta(2,5)", "beta(2,5)")):
        found = inference.difference_test(*pair)
        naive.append(abs(found.statistic) > Z * math.sqrt(sum(spreads) / n))
        ours.append(found.rejects(0.05))
    return share(naive), share(ours)


def level_tables(n: int, epsilon: float, kind: str, runs: int) -> tuple[float, float]:
    """Return type-I errors of χ² tests of fit (4 cells) or independence (3 x 2)."""
    rng, source = np.random.default_rng(11), Seeded(11)
    mechanism = Geometric.for_epsilon(epsilon, sensitivity=1)
    naive, ours = [], []
    rows, columns = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.4])
    chances = np.array([0.4, 0.3, 0.2, 0.1])
    if kind == "independence":
        chances = np.outer(rows, columns)
    for _ in range(runs):
        counts = rng.multinomial(n, chances.ravel()).reshape(chances.shape)
        z = mechanism.run(counts, source=source)
        if kind == "fit":
            naive.append(((z - n * chances) ** 2 / (n * chances)).sum() > 7.814728)
            test = inference.fit_test(
                z, chances, n=n, mechanism=mechanism, draws=199, source=source
            )
        else:
            first, second = (np.maximum(z.sum(axis), 0.5) for axis in (1, 0))
            mean = np.outer(first, second) / max(z.sum(), 1)
            naive.append(((z - mean) ** 2 / mean).sum() > 5.991465)
            test = inference.independence_test(
                z, n=n, mechanism=mechanism, draws=199, source=source
            )
        ours.append(test.rejects(0.05))
    return share(naive), share(ours)
