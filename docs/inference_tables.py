"""Coverage and type-I error: `python docs/inference_tables.py` prints the tables."""

import itertools
import sys
from collections.abc import Callable, Iterator

from inference_coverage import (
    cells,
    differences,
    expected,
    means,
    proportions,
    quantiles,
    ratios,
    regressions,
    totals,
    variances,
    worst,
)
from inference_levels import level_binomial, level_difference, level_means, level_tables
from inference_samples import BETAS
from inference_speed import speed

RUNS = 2_000
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


if __name__ == "__main__":
    given = sys.argv[1:]
    if given == ["speed"]:
        print("\n".join(speed()))
        sys.exit()
    for line in lines(int(given[0]) if given else RUNS, *given[1:]):
        print(line, flush=True)
