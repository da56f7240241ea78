"""The privacy profile: δ as a function of ε."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from hush import checks
from hush.plots.style import labelled, legend, new, strokes


def profile(
    *curves: Any,
    labels: Iterable[str] | None = None,
    most: float | None = None,
    least_delta: float = 1e-10,
    axes: Any = None,
) -> Any:
    """Draw the upper bound on δ against ε up to `most`; return the axes.

    Without `most` the axis ends where the last curve falls below `least_delta`, or at
    20 if one does not.

    Example:
        >>> from hush.privacy import GDP
        >>> profile(GDP(mu=1.0)).get_yscale()
        'log'
    """
    shown = labelled(curves, labels)
    checks.real("least_delta", least_delta, above=0, below=1)
    ends = {name: float(e.epsilon_at(least_delta)) for name, e in shown.items()}
    if most is None:
        most = min(20.0, max(max(ends.values()) * 1.05, 0.1))
    checks.real("most", most, above=0)
    axes = new(axes)
    grid = np.linspace(0, most, 81)
    for (label, curve), stroke in zip(shown.items(), strokes(len(shown)), strict=True):
        # A curve may fall off a cliff where it ends: both sides of it are drawn.
        cliff = [e for e in (ends[label], ends[label] * (1 + 1e-6)) if e < most]
        epsilon = np.union1d(grid, cliff)
        delta = np.asarray(curve.delta_at(epsilon), dtype=float)
        delta = np.maximum(delta, least_delta / 10)  # zero has no place on this axis
        axes.semilogy(epsilon, delta, label=label, **stroke)
    axes.set(
        xlabel="ε",
        ylabel="δ, an upper bound",
        xlim=(0, most),
        ylim=(least_delta, 1),
    )
    legend(axes, shown, loc="upper right")
    return axes
