"""Bounds: concentration, utility of private choices, minimax rates."""

from typing import TYPE_CHECKING

from hush import suggestions
from hush.bounds.concentration import (
    Subgaussian,
    bernstein,
    binomial_tail,
    chernoff,
    from_privacy,
    hoeffding,
    subgaussian,
)
from hush.bounds.maximum import (
    laplace_maximum,
    laplace_maximum_tail,
    maximum,
    maximum_of_sums,
    stable_maximum,
    tail_from_maximum,
)
from hush.bounds.minimax import minimax_clip, minimax_mean
from hush.bounds.utility import (
    counts_crossing,
    exponential_gap,
    gaussian_counts,
    laplace_counts,
    noisy_max_gap,
    quantile_error,
    selection_gap,
)

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


if not TYPE_CHECKING:  # a type checker shall go on to refuse unknown names
    __getattr__ = suggestions.of_module(__name__)
