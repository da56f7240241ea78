"""Pictures of guarantees, budgets and answers; each function draws on one Axes.

matplotlib is loaded when something is drawn. Colours are told apart by everybody, and
lines by their dashes in print.
"""

from hush.plots.audit_plot import audit
from hush.plots.budget_plot import budget
from hush.plots.curve_plots import profile, tradeoff
from hush.plots.error_plot import error
from hush.plots.interval_plots import bars, release
from hush.plots.style import save

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
