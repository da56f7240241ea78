"""The tradeoff between the errors of any test that looks for one person."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from hush.plots.style import FAINT, labelled, legend, new, strokes


def tradeoff(
    *curves: Any, labels: Iterable[str] | None = None, axes: Any = None
) -> Any:
    """Draw the least type II error against the type I error; return the axes.

    The closer to the dotted line, the less any test can tell.

    Example:
        >>> from hush.privacy import GDP, Pure
        >>> axes = tradeoff(Pure(epsilon=1.0), GDP(mu=1.0))
        >>> axes.get_xlabel()
        'type I error: a false alarm'
    """
    shown = labelled(curves, labels)
    axes = new(axes, wide=4.6, high=4.4)
    alpha = np.linspace(0, 1, 201)
    axes.plot([0, 1], [1, 0], color=FAINT, linewidth=1, linestyle=":")
    axes.annotate(
        "perfect privacy",
        (0.72, 0.28),
        xytext=(4, 4),
        textcoords="offset points",
        fontsize=8,
        color="#777777",
    )
    for (label, curve), stroke in zip(shown.items(), strokes(len(shown)), strict=True):
        axes.plot(alpha, curve.tradeoff_at(alpha), label=label, **stroke)
    axes.set(
        xlabel="type I error: a false alarm",
        ylabel="type II error: a miss, at best",
        xlim=(0, 1),
        ylim=(0, 1),
        aspect="equal",
    )
    legend(axes, shown, loc="upper right")
    return axes
