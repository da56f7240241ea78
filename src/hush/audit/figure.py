"""Figures of the auditor and the attacks; matplotlib is loaded when one is drawn."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hush.audit.finding import Audit

_INK, _ALARM, _CALM = "#334155", "#b91c1c", "#2563eb"


def new_axes(axes: Any = None) -> Any:
    """Return the axes to draw on, new ones without a window if none are given."""
    if axes is not None:
        return axes
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 4.2), layout="constrained")
    return figure.add_subplot()


def roc_figure(found: "Audit", axes: Any = None) -> Any:
    """Draw what the score achieved against what the claim allows."""
    axes = new_axes(axes)
    grid = np.linspace(0, 1, 101)
    axes.fill_between(grid, found.claim.power_at(grid), 1, color=_INK, alpha=0.12)
    axes.plot(
        grid, found.claim.power_at(grid), color=_INK, label="allowed by the claim"
    )
    color = _ALARM if found.violated else _CALM
    axes.plot(*found.roc, color=color, label="reached by the audit")
    axes.set(
        xlabel="false positives (level of the test)",
        ylabel="true positives (power)",
        title=f"{found.verdict}, p = {found.p_value:.2g}",
        xlim=(0, 1),
        ylim=(0, 1),
    )
    axes.legend(loc="lower right", frameon=False)
    return axes
