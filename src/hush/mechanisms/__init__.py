"""Mechanisms: public values that know their privacy, their error and their answer."""

from typing import TYPE_CHECKING

from hush import suggestions
from hush.mechanisms.canonical import Canonical
from hush.mechanisms.error import Error
from hush.mechanisms.gaussian import DiscreteGaussian, Gaussian
from hush.mechanisms.histogram import Histogram
from hush.mechanisms.k_norm import KNorm
from hush.mechanisms.laplace import Geometric, Laplace
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import L1, L2, Hamming, LInf, Metric, Records
from hush.mechanisms.optimal_partition_selection import (
    OptimalKeySelection,
    choose_key_selection,
)
from hush.mechanisms.partition_selection import KeySelection
from hush.mechanisms.quantiles.clipped_mean import ClippedMean
from hush.mechanisms.quantiles.grouped_histograms import Cells
from hush.mechanisms.quantiles.grouped_interval import CellInterval
from hush.mechanisms.quantiles.grouped_quantile import CellQuantile
from hush.mechanisms.quantiles.grouped_top_k import CellTop
from hush.mechanisms.quantiles.quantile import Quantile
from hush.mechanisms.quantiles.unbounded_quantile import UnboundedQuantile
from hush.mechanisms.quantiles.winsorized_mean import WinsorizedMean
from hush.mechanisms.queries import count, mean, proportion, sum, variance
from hush.mechanisms.query import Query
from hush.mechanisms.randomized_response import RandomizedResponse
from hush.mechanisms.selection.base_measure import StepDensity
from hush.mechanisms.selection.exponential import Exponential
from hush.mechanisms.selection.noisy_max import NoisyMax
from hush.mechanisms.selection.permute_and_flip import PermuteAndFlip
from hush.mechanisms.selection.top_k import TopK
from hush.mechanisms.sparse_vector import SparseVector
from hush.mechanisms.staircase import Staircase
from hush.mechanisms.tree_sum import TreeSum
from hush.serialization import tagged

__all__ = [
    "L1",
    "L2",
    "Canonical",
    "CellInterval",
    "CellQuantile",
    "CellTop",
    "Cells",
    "ClippedMean",
    "DiscreteGaussian",
    "Error",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Hamming",
    "Histogram",
    "KNorm",
    "KeySelection",
    "LInf",
    "Laplace",
    "Mechanism",
    "Metric",
    "NoisyMax",
    "OptimalKeySelection",
    "PermuteAndFlip",
    "Quantile",
    "Query",
    "RandomizedResponse",
    "Records",
    "SparseVector",
    "Staircase",
    "StepDensity",
    "TopK",
    "TreeSum",
    "UnboundedQuantile",
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


if not TYPE_CHECKING:  # a type checker shall go on to refuse unknown names
    __getattr__ = suggestions.of_module(__name__)
