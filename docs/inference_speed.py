"""Processor time of one interval of each kind."""

import time
from collections.abc import Callable, Iterator

import numpy as np

from hush import inference
from hush.mechanisms import Canonical, Geometric, Laplace
from hush.privacy import Pure


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
