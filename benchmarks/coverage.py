"""How often every interval of the package holds the truth, over a grid of designs.

Run `python benchmarks/coverage.py`. Each design is drawn `RUNS` times from a law whose
truth is known; 95 % intervals should hold it in 0.94 to 0.97 of the runs, or more where
a worst case is assumed or counts are discrete. A χ² test counts as an interval of its
null. The Monte-Carlo error of a number near 0.95 from 2 000 runs is 0.005.
"""

import argparse
import itertools
import math
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from hush import inference
from hush.holdout import Holdout
from hush.learn import LinearRegression
from hush.mechanisms import Geometric, Laplace
from hush.noise import Seeded

RUNS = 2_000
LEVEL = 0.95
EPSILONS = (0.2, 1.0, 5.0)
LAWS = {
    "uniform": (lambda rng, n: rng.random(n), 1 / 2, 1 / 12),
    "beta(1,9)": (lambda rng, n: rng.beta(1, 9, n), 1 / 10, 9 / 1100),
    "exponential": (
        lambda rng, n: np.minimum(rng.exponential(0.1, n), 1.0),
        0.1 * (1 - math.exp(-10)),
        0.02 - math.exp(-10) * 0.22 - (0.1 * (1 - math.exp(-10))) ** 2,
    ),
    "spikes 0.02": (lambda rng, n: (rng.random(n) < 0.02) * 1.0, 0.02, 0.0196),
    "spikes 0.1": (lambda rng, n: (rng.random(n) < 0.1) * 1.0, 0.1, 0.09),
}
Draw = tuple[np.random.Generator, Seeded]


def geometric(epsilon, sensitivity=1):
    return Geometric.for_epsilon(epsilon, sensitivity=sensitivity)


def share(draw: Draw, n: int, theta: float, noise) -> inference.Proportion:
    rng, source = draw
    released = int(noise.run(int(rng.binomial(n, theta)), source=source))
    return inference.proportion_interval(released, n=n, mechanism=noise, source=source)


def mean(draw: Draw, n: int, law: str, epsilon: float) -> inference.NoisyInterval:
    rng, source = draw
    noise = Laplace.for_epsilon(epsilon / 2, sensitivity=1 / n)
    x = LAWS[law][0](rng, n)
    found, spread = (
        noise.run(float(each), source=source) for each in (x.mean(), x.var(ddof=1))
    )
    return inference.mean_interval(
        found,
        n=n,
        mechanism=noise,
        bounds=(0, 1),
        variance=spread,
        variance_mechanism=noise,
    )


# -- One run of each family: whether its interval holds the truth ----------------------


def holds(ends, truth: float) -> bool:
    low, high = ends
    return bool(low <= truth <= high)


def proportion(draw, n, theta, epsilon):
    return holds(share(draw, n, theta, geometric(epsilon)), theta)


def proportion_from_counts(draw, n, theta, epsilon):
    rng, source = draw
    noise = geometric(epsilon / 2)
    hits = int(noise.run(int(rng.binomial(n, theta)), source=source))
    people = int(noise.run(n, source=source))
    found = inference.proportion_from_counts(
        hits, people, mechanism=noise, people_mechanism=noise
    )
    return holds(found, theta)


def total(draw, expected, epsilon):
    rng, source = draw
    noise = geometric(epsilon)
    released = int(noise.run(int(rng.poisson(expected)), source=source))
    return holds(inference.total_interval(released, mechanism=noise), expected)


def mean_with_variance(draw, n, law, epsilon):
    return holds(mean(draw, n, law, epsilon), LAWS[law][1])


def mean_from_totals(draw, n, law, epsilon):
    rng, source = draw
    sampler, truth, _ = LAWS[law]
    noise = Laplace.for_epsilon(epsilon / 2, sensitivity=1)
    found = inference.mean_from_totals(
        noise.run(float((2 * sampler(rng, n) - 1).sum()), source=source),
        noise.run(float(n), source=source),
        mechanism=noise,
        count_mechanism=noise,
        bounds=(0, 1),
    )
    return holds(found, truth)


def variance(draw, n, law, epsilon):
    rng, source = draw
    sampler, _, truth = LAWS[law]
    noise = Laplace.for_epsilon(epsilon, sensitivity=1 / n)
    found = noise.run(float(sampler(rng, n).var(ddof=1)), source=source)
    ends = inference.variance_interval(found, n=n, mechanism=noise, bounds=(0, 1))
    return holds(ends, truth)


def quantile(draw, n, at, epsilon):
    rng, source = draw
    noise, edges = geometric(epsilon, 2), np.linspace(0, 1, 31)
    # Uniform values: every quantile is its own rank.
    counts = noise.run(rng.multinomial(n, np.full(30, 1 / 30)), source=source)
    found = inference.quantile_interval(counts, edges, at=at, n=n, mechanism=noise)
    return holds(found, at)


def difference_of_shares(draw, n, m, p, q, epsilon):
    noise = geometric(epsilon)
    pair = share(draw, n, p, noise), share(draw, m, q, noise)
    return holds(inference.difference_interval(*pair), p - q)


def difference_of_means(draw, n, m, epsilon):
    pair = mean(draw, n, "beta(1,9)", epsilon), mean(draw, m, "uniform", epsilon)
    return holds(inference.difference_interval(*pair), 0.1 - 0.5)


def paired(draw, n, first, second, epsilon):
    rng, source = draw
    noise = geometric(epsilon, 2)
    cells = rng.multinomial(n, [first, second, 1 - first - second])[:2]
    a, b = (int(each) for each in noise.run(cells, source=source))
    found = inference.paired_difference(a, b, n=n, mechanism=noise)
    return holds(found, first - second)


def ratio(draw, n, m, p, q, epsilon):
    noise = geometric(epsilon)
    pair = share(draw, n, p, noise), share(draw, m, q, noise)
    return holds(inference.ratio_interval(*pair), p / q)


def weighted_mean(draw, n, epsilon):
    noise, shares = geometric(epsilon), (0.5, 0.2, 0.05)
    strata = [share(draw, n, p, noise) for p in shares]
    weights = (0.2, 0.3, 0.5)
    truth = math.fsum(w * p for w, p in zip(weights, shares, strict=True))
    return holds(inference.weighted_interval(strata, weights), truth)


def simultaneous(draw, groups, n, epsilon):
    noise, shares = geometric(epsilon), np.linspace(0.05, 0.6, groups)
    found = [share(draw, n, p, noise) for p in shares]
    ends = inference.simultaneous(found, independent=True)
    return all(holds(each, p) for each, p in zip(ends, shares, strict=True))


def regression(draw, n, columns, epsilon, delta):
    rng, _ = draw
    x = rng.uniform(-1, 1, (n, columns))
    beta = np.array([0.32, -0.24, 0.08])[:columns]
    y = x @ beta + rng.uniform(-0.15, 0.15, n)
    model = LinearRegression(
        epsilon, delta=delta, bounds=(-1, 1), y_bounds=(-1, 1), method="statistics"
    ).fit(x, y, source=Seeded(int(rng.integers(1 << 60))))
    low, high = model.estimate_.interval(LEVEL)
    return holds((low[0], high[0]), beta[0])


def fit(draw, n, epsilon):
    rng, source = draw
    noise, shares = geometric(epsilon, 2), [0.5, 0.3, 0.15, 0.05]
    counts = noise.run(rng.multinomial(n, shares), source=source)
    test = inference.fit_test(
        counts, shares, n=n, mechanism=noise, draws=99, source=source
    )
    return not test.rejects(1 - LEVEL)


def independence(draw, n, epsilon):
    rng, source = draw
    noise = geometric(epsilon, 2)
    shares = np.outer([0.6, 0.4], [0.5, 0.3, 0.2])
    table = noise.run(rng.multinomial(n, shares.ravel()).reshape(2, 3), source=source)
    test = inference.independence_test(
        table, n=n, mechanism=noise, draws=99, source=source
    )
    return not test.rejects(1 - LEVEL)


def holdout_fixed(draw, n, queries):
    rng, source = draw
    labels = rng.integers(0, 2, n)
    held = Holdout.fixed(labels, queries=queries, source=source)
    answers = held.submit_all([np.ones(n) * (i % 2) for i in range(queries)])
    return all(0.5 in each for each in answers)


_product = itertools.product
FAMILIES: dict[str, tuple[Callable[..., bool], list[tuple]]] = {
    "proportion": (
        proportion,
        [*_product((20, 100, 1_000, 100_000), (0.01, 0.1, 0.5), EPSILONS)],
    ),
    "share of a noisy number": (
        proportion_from_counts,
        [*_product((100, 1_000), (0.1, 0.5), (1.0, 5.0))],
    ),
    "total": (total, [*_product((3, 30, 1_000), EPSILONS)]),
    "mean": (
        mean_with_variance,
        [*_product((50, 200, 1_000), LAWS, EPSILONS)],
    ),
    "mean from totals": (
        mean_from_totals,
        [*_product((50, 1_000), ("uniform", "spikes 0.02", "spikes 0.1"), EPSILONS)],
    ),
    "variance": (variance, [*_product((50, 300, 2_000), LAWS, EPSILONS)]),
    "quantile": (quantile, [*_product((100, 1_000), (0.5, 0.9), (1.0, 5.0))]),
    "difference of shares": (
        difference_of_shares,
        [
            (20, 2_000, 0.1, 0.1, 5.0),
            (40, 4_000, 0.05, 0.05, 5.0),
            (15, 15, 0.5, 0.9, 5.0),
            (10, 200, 0.5, 0.5, 5.0),
            (50, 50, 0.02, 0.01, 1.0),
            (300, 60, 0.05, 0.5, 1.0),
            (1_000, 1_000, 0.3, 0.2, 0.2),
        ],
    ),
    "difference of means": (
        difference_of_means,
        [*_product((50, 500), (100, 1_000), (1.0, 5.0))],
    ),
    "paired difference": (
        paired,
        [*_product((50, 1_000), (0.02, 0.2), (0.02, 0.1), (1.0, 5.0))],
    ),
    "ratio": (
        ratio,
        [
            (n, m, *pair, e)
            for n, m, pair, e in _product(
                (100, 1_000), (500,), ((0.1, 0.2), (0.5, 0.4)), (1.0, 5.0)
            )
        ],
    ),
    "weighted mean": (weighted_mean, [*_product((50, 1_000), EPSILONS)]),
    "simultaneous": (simultaneous, [(5, 100, 1.0), (20, 100, 1.0)]),
    "regression": (
        regression,
        [
            *_product((2_000,), (1, 2), (1.0, 5.0), (0.0, 1e-6)),
            (500, 1, 1.0, 0.0),
            (400, 2, 1.0, 0.0),
            (10_000, 3, 0.5, 1e-6),
        ],
    ),
    "χ² fit": (fit, [*_product((50, 2_000), EPSILONS)]),
    "χ² independence": (independence, [*_product((50, 2_000), EPSILONS)]),
    "holdout, fixed questions": (holdout_fixed, [(500, 1), (500, 10), (5_000, 10)]),
}


def coverage(family: str, design: tuple, runs: int = RUNS) -> float:
    """Return the share of runs in which the interval of a design holds the truth."""
    once = FAMILIES[family][0]
    seed = zlib.crc32(repr((family, design)).encode())
    draw = np.random.default_rng(seed), Seeded(seed)
    return sum(once(draw, *design) for _ in range(runs)) / runs


def measured(runs: int, only: str = "") -> Iterator[tuple[str, tuple, float]]:
    """Yield every design with its coverage, on two cores."""
    cells = [
        (family, design)
        for family, (_, designs) in FAMILIES.items()
        for design in designs
        if only in family
    ]
    with ProcessPoolExecutor(2) as pool:
        jobs = [pool.submit(coverage, *cell, runs) for cell in cells]
        for (family, design), job in zip(cells, jobs, strict=True):
            yield family, design, job.result()


def cell(value: object) -> str:
    """Return a number of a design as the page shows it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Print a line for each family, with its worst designs."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--runs", type=int, default=RUNS)
    options.add_argument("--only", default="")
    options.add_argument("--all", action="store_true", help="every design, as drawn")
    given = options.parse_args()
    found: dict[str, list[tuple[float, tuple]]] = {}
    for family, design, share_held in measured(given.runs, given.only):
        found.setdefault(family, []).append((share_held, design))
        if given.all:
            print(family, *design, share_held, sep="\t", flush=True)
    print("| interval | designs | least | largest | below 0.94 | worst design |")
    print("|---|---|---|---|---|---|")
    for family, cells in found.items():
        least, design = min(cells)
        below = sum(each < 0.94 for each, _ in cells)
        largest = max(each for each, _ in cells)
        print(
            f"| {family} | {len(cells)} | {least:.3f} | {largest:.3f} | {below} | "
            f"{', '.join(map(cell, design))} |"
        )


if __name__ == "__main__":
    main()
