"""Measure coverage and type-I error; `python docs/inference_tables.py` prints tables.

Data come from NumPy's generator, noise from a seeded source of hush, so that a table
can be drawn again number by number. Samples of one size and law are shared by all ε;
noise is not.
"""

import functools
import itertools
import math
import sys
import time
import zlib
from collections.abc import Callable, Iterator

import numpy as np

from hush import inference
from hush.mechanisms import Canonical, Gaussian, Geometric, Laplace
from hush.mechanisms.mechanism import Mechanism
from hush.noise import Seeded
from hush.privacy import Pure

RUNS = 2_000
Z = 1.959964
BETAS = {"uniform": (1, 1), "beta(2,5)": (2, 5), "beta(1,9)": (1, 9)}


def share(hits: list[bool]) -> float:
    """Return the part of the runs that hit."""
    return float(np.mean(hits))


def drawn(*setting: object) -> tuple[np.random.Generator, Seeded]:
    """Return sources of data and of noise that belong to a setting."""
    seed = zlib.crc32(repr(setting).encode())
    return np.random.default_rng(seed), Seeded(seed)


@functools.lru_cache(maxsize=16)
def samples(n: int, kind: str, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances of samples of n values.

    Large samples are of the law rounded to 2 000 values, by how often each occurs.
    """
    rng, _ = drawn("samples", n, kind)
    if n >= 10_000:
        from scipy.stats import beta

        edges = np.linspace(0, 1, 2_001)
        values, chances = (
            (edges[1:] + edges[:-1]) / 2,
            np.diff(beta.cdf(edges, *BETAS[kind])),
        )
        moments = np.stack([values, values**2], axis=1)
        found = np.array([rng.multinomial(n, chances) @ moments for _ in range(runs)])
        means = found[:, 0] / n
        return means, (found[:, 1] - n * means**2) / (n - 1)
    draw = functools.partial(rng.beta, *BETAS[kind])
    if kind == "uniform":
        draw = rng.random
    means, variances = np.empty(runs), np.empty(runs)
    for i in range(runs):
        x = draw(size=n)
        means[i], variances[i] = x.mean(), x.var(ddof=1)
    return means, variances


def truth(kind: str) -> float:
    """Return the mean of a law."""
    a, b = BETAS[kind]
    return a / (a + b)


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
    for pair, spreads in _two_means(n, epsilon, runs, ("beta(2,5)", "beta(1,9)")):
        found = inference.difference_interval(*pair)
        wanted = truth("beta(2,5)") - truth("beta(1,9)")
        naive.append(abs(found.value - wanted) <= Z * math.sqrt(sum(spreads) / n))
        ours.append(found.low <= wanted <= found.high)
    return share(naive), share(ours)


def _two_means(
    n: int, epsilon: float, runs: int, kinds: tuple[str, str]
) -> Iterator[tuple[list[inference.NoisyInterval], list[float]]]:
    """Yield pairs of mean intervals and their noisy variances."""
    mechanism = Laplace.for_epsilon(epsilon / 2, sensitivity=1 / n)
    _, source = drawn("two means", n, epsilon, kinds)
    columns = []
    for i, kind in enumerate(kinds):
        # Two samples of one law are halves of twice as many.
        data = samples(n, kind, 2 * runs if kinds[0] == kinds[1] else runs)
        start = i * runs if kinds[0] == kinds[1] else 0
        columns.append(
            [
                mechanism.run(each[start : start + runs], source=source).tolist()
                for each in data
            ]
        )
    for i in range(runs):
        pair = [
            inference.mean_interval(
                column[0][i],
                n=n,
                mechanism=mechanism,
                bounds=(0, 1),
                variance=column[1][i],
                variance_mechanism=mechanism,
            )
            for column in columns
        ]
        yield pair, [max(column[1][i], 0.0) for column in columns]


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
    for pair, spreads in _two_means(n, epsilon, runs, ("beta(2,5)", "beta(2,5)")):
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
        "Coverage: cell of a histogram, geometric noise",
        "| n | ε | θ | naive | hush |",
        cells,
        list(itertools.product(SIZES, EPSILONS, (0.01,))),
    ),
    (
        "Coverage: share of a noisy number of people",
        "| n | ε | θ | naive | hush |",
        ratios,
        [
            *itertools.product((50,), EPSILONS, (0.02, 0.5)),
            *itertools.product((1_000,), (0.1,), (0.02, 0.5)),
            (1_000, 1.0, 0.02),
        ],
    ),
    (
        "Coverage: expected count",
        "| expected | ε | naive | hush |",
        expected,
        list(itertools.product((50, 1_000), EPSILONS)),
    ),
    (
        "Coverage: mean in [0, 1], Laplace noise, half of ε for the variance",
        "| n | ε | data | naive | hush |",
        means,
        list(itertools.product(SIZES, EPSILONS, BETAS)),
    ),
    (
        "Coverage: mean from noisy sum and count, variance known",
        "| n | ε | data | naive | hush |",
        totals,
        [
            *itertools.product((50, 1_000), EPSILONS, ("beta(2,5)",)),
            (100_000, 0.1, "beta(2,5)"),
        ],
    ),
    (
        "Coverage: mean whose variance was not released",
        "| n | ε | data | naive | hush |",
        worst,
        list(itertools.product((50, 1_000), EPSILONS, ("0 or 1", "beta(2,5)"))),
    ),
    (
        "Coverage: variance of uniform values",
        "| n | ε | naive | hush |",
        variances,
        list(itertools.product(SIZES, EPSILONS)),
    ),
    (
        "Coverage: median from 100 noisy cells",
        "| n | ε | ends | naive | hush |",
        quantiles,
        list(itertools.product(SIZES, EPSILONS, ("edges", "inside cells"))),
    ),
    (
        "Coverage: difference of two groups",
        "| n each | ε | of | naive | hush |",
        differences,
        [
            *itertools.product(
                (50, 1_000), EPSILONS, ("shares", "rare shares", "means")
            ),
            *itertools.product((100_000,), EPSILONS, ("means",)),
        ],
    ),
    (
        "Coverage: slope from noisy moments, Gaussian noise",
        "| n | std | naive | hush |",
        regressions,
        [
            (50, 0.2),
            (500, 1.0),
            (500, 5.0),
            (5_000, 5.0),
            (5_000, 50.0),
            (100_000, 50.0),
        ],
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


def cell(value: object) -> str:
    """Return a setting as the page shows it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def lines(runs: int = RUNS, only: str = "", having: str = "") -> Iterator[str]:
    """Yield the tables as Markdown: those whose title holds one of `only`, by "|".

    `having` keeps the rows that hold this text.
    """
    for title, heading, measure, settings in TABLES:
        if not any(each in title for each in only.split("|")):
            continue
        yield f"### {title}\n"
        yield heading
        yield "|" + "---|" * (heading.count("|") - 1)
        for setting in settings:
            shown = f"| {' | '.join(map(cell, setting))} |"
            if having in shown:
                naive, ours = measure(*setting, runs)
                yield f"{shown} {naive:.3f} | {ours:.3f} |"
        yield ""


def speed() -> Iterator[str]:
    """Yield processor times of one interval at n = 1 000, as Markdown."""
    n, edges = 1_000, np.linspace(0, 1, 101)
    fine, whole = Laplace.for_epsilon(0.5, sensitivity=1 / n), Geometric(scale=1)
    tulap, laplace = Canonical(Pure(1.0)), Laplace(scale=2.0)
    rng = np.random.default_rng(1)
    counts = whole.run(rng.multinomial(n, np.full(100, 0.01)))

    def mean(i: int) -> inference.NoisyInterval:
        return inference.mean_interval(
            0.3 + i / 1e4,
            n=n,
            mechanism=fine,
            bounds=(0, 1),
            variance=0.02 + i / 1e5,
            variance_mechanism=fine,
        )

    def part(i: int) -> inference.Proportion:
        return inference.proportion_interval(200 + i, n=n, mechanism=whole)

    pairs = [(mean(i), mean(i + 1)) for i in range(100)]
    shares = [(part(i), part(i + 1)) for i in range(100)]
    kinds: dict[str, Callable[[int], object]] = {
        "proportion": lambda i: tuple(
            inference.proportion_interval(200 + i, n=n, mechanism=tulap)
        ),
        "cell of a histogram": lambda i: tuple(part(i)),
        "share of a noisy number": lambda i: tuple(
            inference.proportion_from_counts(
                200 + i, n, mechanism=whole, people_mechanism=whole
            )
        ),
        "expected count": lambda i: tuple(
            inference.total_interval(n + i, mechanism=whole)
        ),
        "mean": lambda i: tuple(mean(i)),
        "mean from totals": lambda i: tuple(
            inference.mean_from_totals(
                -93.0 + i,
                1_000.0,
                mechanism=laplace,
                count_mechanism=laplace,
                bounds=(0, 1),
            )
        ),
        "variance": lambda i: tuple(
            inference.variance_interval(0.08 + i / 1e4, n=n, mechanism=fine)
        ),
        "quantile": lambda i: tuple(
            inference.quantile_interval(
                counts, edges, at=0.3 + i / 1e3, n=n, mechanism=whole
            )
        ),
        "difference of shares": lambda i: tuple(
            inference.difference_interval(*shares[i])
        ),
        "difference of means": lambda i: tuple(
            inference.difference_interval(*pairs[i])
        ),
        "slopes": lambda i: tuple(
            inference.regression_interval(
                [[1000.0, i], [i, 300]],
                [2000.0, 150],
                4500.0,
                n=n,
                gram_std=1.0,
                moment_std=1.0,
            )
        ),
    }
    yield "| interval | ms |\n|---|---|"
    for name, build in kinds.items():
        build(0)
        start = time.process_time()
        for i in range(100):
            build(i)
        yield f"| {name} | {(time.process_time() - start) * 10:.2f} |"


if __name__ == "__main__":
    given = sys.argv[1:]
    if given == ["speed"]:
        print("\n".join(speed()))
        sys.exit()
    for line in lines(int(given[0]) if given else RUNS, *given[1:]):
        print(line, flush=True)
