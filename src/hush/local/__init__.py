"""The local model: people randomize their answers themselves and trust nobody."""

from hush.local.best import best
from hush.local.conversation import Conversation, Turn
from hush.local.duchi_mean import DuchiMean
from hush.local.hadamard_response import HadamardResponse
from hush.local.heavy_hitters import HeavyHitters, Hitters
from hush.local.hybrid_mean import HybridMean
from hush.local.laplace_mean import LaplaceMean
from hush.local.local_hashing import LocalHashing
from hush.local.mean import Average, Mean
from hush.local.oracle import Frequencies, Oracle
from hush.local.piecewise_mean import PiecewiseMean
from hush.local.randomized_response import RandomizedResponse
from hush.local.randomizer import Randomizer
from hush.local.reports import Reports
from hush.local.subset_selection import SubsetSelection
from hush.local.tally import Collector, Tally
from hush.local.unary_encoding import UnaryEncoding
from hush.local.vector_mean import VectorMean

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
