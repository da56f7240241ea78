"""Pictures of guarantees, budgets and answers; each function draws on one Axes.

matplotlib is loaded when something is drawn. Everybody can tell the colours apart, and
lines by their dashes in print.
"""

from typing import TYPE_CHECKING

from hush import suggestions
from hush.plots.audit_plot import audit
from hush.plots.budget_plot import budget
from hush.plots.curve_plots import profile, tradeoff
from hush.plots.error_plot import error
from hush.plots.interval_plots import bars, release
from hush.plots.posterior_plot import posterior
from hush.plots.style import save

__all__ = [
    "audit",
    "bars",
    "budget",
    "error",
    "posterior",
    "profile",
    "release",
    "save",
    "tradeoff",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker shall go on to refuse unknown names
    __getattr__ = suggestions.of_module(__name__)
