"""Mechanisms: public values that know their privacy, their error and their answer."""

from hush.mechanisms.canonical import Canonical
from hush.mechanisms.cell_interval import CellInterval
from hush.mechanisms.cell_quantile import CellQuantile
from hush.mechanisms.cell_top import CellTop
from hush.mechanisms.cells import Cells
from hush.mechanisms.discrete_gaussian import DiscreteGaussian
from hush.mechanisms.error import Error
from hush.mechanisms.exponential import Exponential
from hush.mechanisms.gaussian import Gaussian
from hush.mechanisms.geometric import Geometric
from hush.mechanisms.histogram import Histogram
from hush.mechanisms.k_norm import KNorm
from hush.mechanisms.key_selection import KeySelection
from hush.mechanisms.laplace import Laplace
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.noisy_max import NoisyMax
from hush.mechanisms.optimal_key_selection import (
    OptimalKeySelection,
    choose_key_selection,
)
from hush.mechanisms.permute_and_flip import PermuteAndFlip
from hush.mechanisms.quantile import Quantile
from hush.mechanisms.queries import count, mean, proportion, sum, variance
from hush.mechanisms.query import Query
from hush.mechanisms.randomized_response import RandomizedResponse
from hush.mechanisms.sparse_vector import SparseVector
from hush.mechanisms.staircase import Staircase
from hush.mechanisms.top_k import TopK
from hush.mechanisms.tree_sum import TreeSum
from hush.mechanisms.winsorized_mean import WinsorizedMean
from hush.serialization import tagged

__all__ = [
    "Canonical",
    "CellInterval",
    "CellQuantile",
    "CellTop",
    "Cells",
    "DiscreteGaussian",
    "Error",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Histogram",
    "KNorm",
    "KeySelection",
    "Laplace",
    "Mechanism",
    "NoisyMax",
    "OptimalKeySelection",
    "PermuteAndFlip",
    "Quantile",
    "Query",
    "RandomizedResponse",
    "SparseVector",
    "Staircase",
    "TopK",
    "TreeSum",
    "WinsorizedMean",
    "choose_key_selection",
    "count",
    "mean",
    "proportion",
    "sum",
    "tagged",
    "variance",
]


def __dir__() -> list[str]:
    return sorted(__all__)
