"""Synthetic tables: a tree of noisy marginals, and rows that follow it."""

from hush.synth.bins import Bins
from hush.synth.categories import Categories
from hush.synth.domain import Domain
from hush.synth.marginal import Marginal
from hush.synth.model import TreeModel
from hush.synth.plan import TreePlan
from hush.synth.synthesizer import TreeSynthesizer
from hush.synth.synthetic import Synthetic

__all__ = [
    "Bins",
    "Categories",
    "Domain",
    "Marginal",
    "Synthetic",
    "TreeModel",
    "TreePlan",
    "TreeSynthesizer",
]


def __dir__() -> list[str]:
    return sorted(__all__)
