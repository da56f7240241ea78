"""Bounds: concentration, utility of private choices, minimax rates."""

from hush.bounds.concentration import (
    bernstein,
    binomial_tail,
    chernoff,
    from_privacy,
    hoeffding,
)
from hush.bounds.counts import counts_crossing, gaussian_counts, laplace_counts
from hush.bounds.maximum import (
    laplace_maximum,
    laplace_maximum_tail,
    maximum,
    maximum_of_sums,
    stable_maximum,
    tail_from_maximum,
)
from hush.bounds.minimax import minimax_clip, minimax_mean
from hush.bounds.selection import (
    exponential_gap,
    noisy_max_gap,
    quantile_error,
    selection_gap,
)
from hush.bounds.subgaussian import Subgaussian, subgaussian

__all__ = [
    "Subgaussian",
    "bernstein",
    "binomial_tail",
    "chernoff",
    "counts_crossing",
    "exponential_gap",
    "from_privacy",
    "gaussian_counts",
    "hoeffding",
    "laplace_counts",
    "laplace_maximum",
    "laplace_maximum_tail",
    "maximum",
    "maximum_of_sums",
    "minimax_clip",
    "minimax_mean",
    "noisy_max_gap",
    "quantile_error",
    "selection_gap",
    "stable_maximum",
    "subgaussian",
    "tail_from_maximum",
]


def __dir__() -> list[str]:
    return sorted(__all__)
