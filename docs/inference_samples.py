"""Samples, their noise and two sources that belong to a setting.

Data come from NumPy's generator, noise from a seeded source of hush, so that a table
can be drawn again number by number. Samples of one size and law are shared by all ε;
noise is not.
"""

import functools
import zlib
from collections.abc import Iterator

import numpy as np

from hush import inference
from hush.mechanisms import Laplace
from hush.noise import Seeded

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


def two_means(
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
                skewness=0.0,
            )
            for column in columns
        ]
        yield pair, [max(column[1][i], 0.0) for column in columns]
