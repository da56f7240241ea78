"""Measure coverage and type-I error; `python docs/inference_tables.py` prints tables.

Data come from NumPy's generator, noise from a seeded source of hush, so that a table
can be drawn again number by number.
"""

import itertools
import math
import sys
from collections.abc import Callable, Iterator

import numpy as np

from hush import inference
from hush.mechanisms import Canonical, Gaussian, Geometric, Laplace
from hush.noise import Seeded
from hush.privacy import Pure

RUNS = 2_000
Z = 1.959964


def share(hits: list[bool]) -> float:
    """Return the part of the runs that hit."""
    return float(np.mean(hits))


def proportions(n: int, epsilon: float, theta: float, runs: int) -> tuple[float, float]:
    """Return coverage of the naive and of our interval for a proportion."""
    rng, source = np.random.default_rng(1), Seeded(1)
    mechanism = Canonical(Pure(epsilon))
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


def means(
    n: int, epsilon: float, kind: str, runs: int, *, variance: bool = True
) -> tuple[float, float]:
    """Return coverage of the naive and of our interval for a mean in [0, 1].

    Half of ε goes to the mean and half to the variance.
    """
    rng, source = np.random.default_rng(2), Seeded(2)
    draw: Callable[[], np.ndarray] = {
        "uniform": lambda: rng.random(n),
        "beta(2,5)": lambda: rng.beta(2, 5, n),
        "beta(1,9)": lambda: rng.beta(1, 9, n),
    }[kind]
    truth = {"uniform": 0.5, "beta(2,5)": 2 / 7, "beta(1,9)": 0.1}[kind]
    mechanism = Laplace.for_epsilon(epsilon / 2, sensitivity=1 / n)
    naive, ours = [], []
    for _ in range(runs):
        x = draw()
        mean = mechanism.run(float(x.mean()), source=source)
        spread = mechanism.run(float(x.var(ddof=1)), source=source)
        naive.append(abs(mean - truth) <= Z * math.sqrt(max(spread, 0) / n))
        found = inference.mean_interval(
            mean,
            n=n,
            mechanism=mechanism,
            bounds=(0, 1),
            variance=spread if variance else None,
            variance_mechanism=mechanism if variance else None,
        )
        ours.append(found.low <= truth <= found.high)
    return share(naive), share(ours)


def totals(n: int, epsilon: float, kind: str, runs: int) -> tuple[float, float]:
    """Return coverage for a mean from a noisy sum and count, variance unknown/known."""
    rng, source = np.random.default_rng(3), Seeded(3)
    mechanism = Laplace.for_epsilon(epsilon / 2, sensitivity=1)
    a, b = {"beta(2,5)": (2, 5), "uniform": (1, 1)}[kind]
    truth, spread = a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))
    wide, known = [], []
    for _ in range(runs):
        total = mechanism.run(float((2 * rng.beta(a, b, n) - 1).sum()), source=source)
        count = mechanism.run(n, source=source)
        for hits, variance in ((wide, None), (known, spread)):
            low, high = inference.mean_from_totals(
                total,
                count,
                mechanism=mechanism,
                count_mechanism=mechanism,
                bounds=(0, 1),
                variance=variance,
            )
            hits.append(low <= truth <= high)
    return share(wide), share(known)


def variances(n: int, epsilon: float, runs: int) -> tuple[float, float]:
    """Return coverage for the variance of uniform values, naive and ours."""
    rng, source = np.random.default_rng(4), Seeded(4)
    mechanism = Laplace.for_epsilon(epsilon, sensitivity=1 / n)
    naive, ours = [], []
    for _ in range(runs):
        v = mechanism.run(float(rng.random(n).var(ddof=1)), source=source)
        naive.append(abs(v - 1 / 12) <= Z * max(v, 0) * math.sqrt(0.8 / n))
        low, high = inference.variance_interval(
            v, n=n, mechanism=mechanism, bounds=(0, 1), kurtosis=1.8
        )
        ours.append(low <= 1 / 12 <= high)
    return share(naive), share(ours)


def quantiles(n: int, epsilon: float, runs: int) -> tuple[float, float]:
    """Return coverage for a median from 100 noisy cells, without and with noise."""
    rng, source = np.random.default_rng(5), Seeded(5)
    mechanism = Geometric.for_epsilon(epsilon, sensitivity=1)
    edges = np.linspace(0, 1, 101)
    truth = 0.26444998329566005  # the median of beta(2, 5)
    quiet = Geometric(scale=0.01)
    naive, ours = [], []
    for _ in range(runs):
        counts = mechanism.run(np.histogram(rng.beta(2, 5, n), edges)[0], source=source)
        for hits, noise in ((naive, quiet), (ours, mechanism)):
            low, high = inference.quantile_interval(
                counts, edges, at=0.5, n=n, mechanism=noise
            )
            hits.append(low <= truth <= high)
    return share(naive), share(ours)


def differences(n: int, epsilon: float, kind: str, runs: int) -> tuple[float, float]:
    """Return coverage of a difference of two shares or means, naive and ours."""
    rng, source = np.random.default_rng(6), Seeded(6)
    naive, ours = [], []
    if kind == "shares":
        mechanism = Geometric.for_epsilon(epsilon, sensitivity=1)
        for _ in range(runs):
            pair = [
                inference.proportion_interval(
                    int(mechanism.run(int(rng.binomial(n, p)), source=source)),
                    n=n,
                    mechanism=mechanism,
                    source=source,
                )
                for p in (0.3, 0.2)
            ]
            found = inference.difference_interval(*pair)
            p, q = (min(max(e.count.released / n, 0), 1) for e in pair)
            std = math.sqrt((p * (1 - p) + q * (1 - q)) / n)
            naive.append(abs(found.value - 0.1) <= Z * std)
            ours.append(found.low <= 0.1 <= found.high)
        return share(naive), share(ours)
    mechanism = Laplace.for_epsilon(epsilon / 2, sensitivity=1 / n)
    for _ in range(runs):
        pair, spreads = [], []
        for a, b in ((2, 5), (2, 4)):
            x = rng.beta(a, b, n)
            spread = mechanism.run(float(x.var(ddof=1)), source=source)
            spreads.append(max(spread, 0.0))
            pair.append(
                inference.mean_interval(
                    mechanism.run(float(x.mean()), source=source),
                    n=n,
                    mechanism=mechanism,
                    bounds=(0, 1),
                    variance=spread,
                    variance_mechanism=mechanism,
                )
            )
        found, truth = inference.difference_interval(*pair), 2 / 7 - 1 / 3
        naive.append(abs(found.value - truth) <= Z * math.sqrt(sum(spreads) / n))
        ours.append(found.low <= truth <= found.high)
    return share(naive), share(ours)


def regressions(n: int, std: float, runs: int) -> tuple[float, float]:
    """Return coverage of a slope from noisy moments, naive and ours."""
    rng, source = np.random.default_rng(7), Seeded(7)
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


def level_binomial(
    n: int, epsilon: float, null: float, runs: int
) -> tuple[float, float]:
    """Return type-I errors of the naive z-test and of the most powerful test.

    It takes ten times as many runs as asked for: they are cheap, and seeds differ
    between settings.
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
    rng, source = np.random.default_rng(10), Seeded(10)
    mechanism = Laplace.for_epsilon(epsilon / 2, sensitivity=1 / n)
    naive, ours = [], []
    for _ in range(runs):
        pair, spreads = [], []
        for _ in range(2):
            x = rng.beta(2, 5, n)
            spread = mechanism.run(float(x.var(ddof=1)), source=source)
            spreads.append(max(spread, 0.0))
            pair.append(
                inference.mean_interval(
                    mechanism.run(float(x.mean()), source=source),
                    n=n,
                    mechanism=mechanism,
                    bounds=(0, 1),
                    variance=spread,
                    variance_mechanism=mechanism,
                )
            )
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


SIZES, EPSILONS = (50, 1_000, 100_000), (0.1, 1.0, 5.0)

# title, heading, function, settings
TABLES: list[tuple[str, str, Callable[..., tuple[float, float]], list[tuple]]] = [
    (
        "Coverage: proportion, Tulap noise",
        "| n | ε | θ | naive | hush |",
        proportions,
        list(itertools.product(SIZES, EPSILONS, (0.001, 0.02, 0.5))),
    ),
    (
        "Coverage: mean in [0, 1], Laplace noise, half of ε for the variance",
        "| n | ε | data | naive | hush |",
        means,
        [
            *itertools.product(
                SIZES[:2], EPSILONS, ("uniform", "beta(2,5)", "beta(1,9)")
            ),
            *itertools.product((20_000,), EPSILONS, ("beta(2,5)",)),
        ],
    ),
    (
        "Coverage: mean from noisy sum and count (variance unknown, known)",
        "| n | ε | data | unknown | known |",
        totals,
        list(itertools.product((50, 1_000), EPSILONS, ("beta(2,5)",))),
    ),
    (
        "Coverage: variance of uniform values",
        "| n | ε | naive | hush |",
        variances,
        list(itertools.product((50, 1_000), EPSILONS)),
    ),
    (
        "Coverage: median from 100 noisy cells",
        "| n | ε | naive | hush |",
        quantiles,
        list(itertools.product((200, 5_000), EPSILONS)),
    ),
    (
        "Coverage: difference of two groups",
        "| n each | ε | of | naive | hush |",
        differences,
        list(itertools.product((50, 1_000), EPSILONS, ("shares", "means"))),
    ),
    (
        "Coverage: slope from noisy moments, Gaussian noise",
        "| n | std | naive | hush |",
        regressions,
        [(500, 1.0), (500, 5.0), (5_000, 5.0), (5_000, 50.0)],
    ),
    (
        "Type-I error at 0.05: one proportion, greater, 20 000 runs",
        "| n | ε | θ₀ | naive | hush |",
        level_binomial,
        [(30, 1.0, 0.9), *itertools.product((50, 1_000), EPSILONS, (0.02, 0.5))],
    ),
    (
        "Type-I error at 0.05: two proportions",
        "| n | m | ε | θ | naive | hush |",
        level_difference,
        list(itertools.product((50, 1_000), (100,), EPSILONS, (0.02, 0.3))),
    ),
    (
        "Type-I error at 0.05: two means",
        "| n each | ε | naive | hush |",
        level_means,
        list(itertools.product((50, 1_000), EPSILONS)),
    ),
    (
        "Type-I error at 0.05: χ² on noisy tables",
        "| n | ε | test | naive | hush |",
        level_tables,
        list(itertools.product((100, 2_000), EPSILONS, ("fit", "independence"))),
    ),
]


def lines(runs: int = RUNS, only: str = "") -> Iterator[str]:
    """Yield the tables as Markdown."""
    for title, heading, measure, settings in TABLES:
        if only not in title:
            continue
        yield f"### {title}\n"
        yield heading
        yield "|" + "---|" * (heading.count("|") - 1)
        for setting in settings:
            naive, ours = measure(*setting, runs)
            cells = [f"{v:g}" if isinstance(v, float) else str(v) for v in setting]
            yield f"| {' | '.join(cells)} | {naive:.3f} | {ours:.3f} |"
        yield ""


if __name__ == "__main__":
    for line in lines(
        int(sys.argv[1]) if len(sys.argv) > 1 else RUNS,
        sys.argv[2] if len(sys.argv) > 2 else "",
    ):
        print(line, flush=True)
