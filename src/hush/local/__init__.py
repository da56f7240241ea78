"""The local model: people randomize their answers themselves and trust nobody."""

from hush.local.best import best
from hush.local.hadamard_response import HadamardResponse
from hush.local.local_hashing import LocalHashing
from hush.local.oracle import Frequencies, Oracle, Tally
from hush.local.randomized_response import RandomizedResponse
from hush.local.randomizer import Randomizer
from hush.local.reports import Reports
from hush.local.subset_selection import SubsetSelection
from hush.local.unary_encoding import UnaryEncoding

__all__ = [
    "Frequencies",
    "HadamardResponse",
    "LocalHashing",
    "Oracle",
    "RandomizedResponse",
    "Randomizer",
    "Reports",
    "SubsetSelection",
    "Tally",
    "UnaryEncoding",
    "best",
]
