"""Pictures of guarantees, budgets and answers; each function draws on one Axes.

matplotlib is loaded when something is drawn. Colours are told apart by everybody, and
lines by their dashes in print.
"""

from hush.plots.audit import audit
from hush.plots.bars import bars
from hush.plots.budget import budget
from hush.plots.error import error
from hush.plots.profile import profile
from hush.plots.release import release
from hush.plots.style import save
from hush.plots.tradeoff import tradeoff

__all__ = [
    "audit",
    "bars",
    "budget",
    "error",
    "profile",
    "release",
    "save",
    "tradeoff",
]


def __dir__() -> list[str]:
    return sorted(__all__)
