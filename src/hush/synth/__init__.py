"""Synthetic tables: a tree of noisy marginals, and rows that follow it."""

from typing import TYPE_CHECKING

from hush import suggestions
from hush.synth.domain import Bins, Categories, Domain
from hush.synth.marginals import Marginal
from hush.synth.model import Synthetic, TreeModel
from hush.synth.synthesis_plan import TreePlan
from hush.synth.synthesizer import TreeSynthesizer

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


if not TYPE_CHECKING:  # a type checker shall go on to refuse unknown names
    __getattr__ = suggestions.of_module(__name__)
