"""What an audit reached, against what the claim allows."""

from typing import Any

import numpy as np

from hush.plots.style import COLORS, FAINT, INK, check_drawable, legend, new_axes


def audit(found: Any, *, axes: Any = None) -> Any:
    """Draw the ROC of an audit below the power that its claim allows.

    Example:
        >>> from hush.audit import audit as run
        >>> from hush.mechanisms import Laplace
        >>> from hush.noise import Seeded
        >>> from hush.privacy import Pure
        >>> found = run(Laplace(1.0), 0, 1, claim=Pure(1.0), samples=400,
        ...             source=Seeded(1))
        >>> audit(found).get_ylabel()
        'true positives (power)'
    """
    check_drawable(
        found, "an audit", ("roc", "claim", "violated"), "Give what audit() returned."
    )
    axes = new_axes(axes, wide=4.7, high=4.5)
    alpha = np.linspace(0, 1, 101)
    allowed = np.asarray(found.claim.power_at(alpha))
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, linestyle=":")
    axes.fill_between(alpha, allowed, 1, color=FAINT, alpha=0.25, linewidth=0)
    lines = {
        "allowed by the claim": (alpha, allowed),
        f"reached: {found.verdict}, p = {found.p_value:.2g}": found.roc,
    }
    reached = {"color": COLORS[1 if found.violated else 0], "linestyle": "--"}
    strokes = ({"color": INK}, reached)
    for (label, line), stroke in zip(lines.items(), strokes, strict=True):
        axes.plot(*line, label=label, linewidth=1.6, **stroke)
    axes.set(
        xlabel="false positives (level of the test)",
        ylabel="true positives (power)",
        xlim=(0, 1),
        ylim=(0, 1),
    )
    legend(axes, lines, loc="lower right")
    return axes
