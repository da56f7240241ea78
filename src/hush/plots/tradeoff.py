"""The tradeoff between the errors of any test that looks for one person."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from hush.plots.style import FAINT, labelled, legend, new, strokes

_LINES = 64  # supporting lines of a curve; more cannot be seen


def bound(curve: Any, alpha: Any) -> Any:
    """Return a type II error that no test beats, by lines that lie below the curve.

    Guarantee: at most `curve.tradeoff_at(alpha)`, up to rounding. Each ε gives two
    lines, 1 - δ - e^ε α and e^-ε (1 - δ - α), so all of it is one reading of δ.
    """
    ends = (float(curve.epsilon_at(d)) for d in (1e-4, 1e-3, 1e-2, 0.1, 0.5))
    top = next((min(end, 20.0) for end in ends if math.isfinite(end)), 20.0)
    epsilon = np.linspace(0, top, _LINES)[:, None]
    rest = 1 - np.asarray(curve.delta_at(epsilon.ravel()))[:, None]
    steep = rest - np.exp(epsilon) * alpha
    flat = np.exp(-epsilon) * (rest - alpha)
    return np.maximum(np.maximum(steep, flat).max(axis=0), 0.0)


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
    axes = new(axes, wide=4.7, high=4.5)
    alpha = np.linspace(0, 1, 401)
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
        axes.plot(alpha, bound(curve, alpha), label=label, **stroke)
    axes.set(
        xlabel="type I error: a false alarm",
        ylabel="type II error: a miss, at best",
        xlim=(0, 1),
        ylim=(0, 1),
    )
    legend(axes, shown, loc="upper right")
    return axes
