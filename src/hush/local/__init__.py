"""The local model: people randomize their answers themselves and trust nobody."""

from typing import TYPE_CHECKING

from hush import suggestions
from hush.local.aggregation import Collector, Tally
from hush.local.frequency.best import best
from hush.local.frequency.generalized_randomized_response import RandomizedResponse
from hush.local.frequency.hadamard import HadamardResponse
from hush.local.frequency.heavy_hitters import HeavyHitters, Hitters
from hush.local.frequency.local_hashing import LocalHashing
from hush.local.frequency.oracle import Frequencies, Oracle
from hush.local.frequency.subset_selection import SubsetSelection
from hush.local.frequency.unary_encoding import UnaryEncoding
from hush.local.interactive import Conversation, Turn
from hush.local.means.duchi_mean import DuchiMean
from hush.local.means.hybrid_mean import HybridMean
from hush.local.means.laplace_mean import LaplaceMean
from hush.local.means.local_mean import Average, Mean
from hush.local.means.piecewise_mean import PiecewiseMean
from hush.local.means.vector_mean import VectorMean
from hush.local.randomizer import Randomizer, Reports

__all__ = [
    "Average",
    "Collector",
    "Conversation",
    "DuchiMean",
    "Frequencies",
    "HadamardResponse",
    "HeavyHitters",
    "Hitters",
    "HybridMean",
    "LaplaceMean",
    "LocalHashing",
    "Mean",
    "Oracle",
    "PiecewiseMean",
    "RandomizedResponse",
    "Randomizer",
    "Reports",
    "SubsetSelection",
    "Tally",
    "Turn",
    "UnaryEncoding",
    "VectorMean",
    "best",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker shall go on to refuse unknown names
    __getattr__ = suggestions.of_module(__name__)
