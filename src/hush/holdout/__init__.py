"""Holdout: data that may be asked again and again, and still speak for everybody."""

from typing import TYPE_CHECKING

from hush import suggestions
from hush.holdout import analysts, generalization
from hush.holdout.holdout import Holdout
from hush.holdout.holdout_plan import Plan
from hush.holdout.overfitting import Overfit, monitor
from hush.holdout.population_answer import Answer
from hush.holdout.records import agree
from hush.holdout.sklearn_scorer import Scorer, one_fit
from hush.holdout.thresholdout import ReusableHoldout

__all__ = [
    "Answer",
    "Holdout",
    "Overfit",
    "Plan",
    "ReusableHoldout",
    "Scorer",
    "agree",
    "analysts",
    "generalization",
    "monitor",
    "one_fit",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker shall go on to refuse unknown names
    __getattr__ = suggestions.of_module(__name__)
