"""Holdout: data that may be asked again and again, and still speak for everybody."""

from hush.holdout import analysts, generalization
from hush.holdout.answer import Answer
from hush.holdout.holdout import Holdout
from hush.holdout.monitoring import Overfit, monitor
from hush.holdout.people import agree
from hush.holdout.plans import Plan
from hush.holdout.reusable import ReusableHoldout
from hush.holdout.scorer import Scorer, one_fit

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
