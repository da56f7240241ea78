"""Pictures of a curve: the privacy profile, and the tradeoff of a test's errors."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from hush import checks
from hush.plots.style import FAINT, curves_by_label, legend, line_styles, new_axes


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
    shown = curves_by_label(curves, labels)
    checks.real("least_delta", least_delta, above=0, below=1)
    ends = {name: float(e.epsilon_at(least_delta)) for name, e in shown.items()}
    if most is None:
        most = min(20.0, max(max(ends.values()) * 1.05, 0.1))
    checks.real("most", most, above=0)
    axes = new_axes(axes)
    grid = np.linspace(0, most, 81)
    for (label, curve), stroke in zip(
        shown.items(), line_styles(len(shown)), strict=True
    ):
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


# -- The tradeoff between the errors of any test that looks for one person -------------

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
    shown = curves_by_label(curves, labels)
    axes = new_axes(axes, wide=4.7, high=4.5)
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
    for (label, curve), stroke in zip(
        shown.items(), line_styles(len(shown)), strict=True
    ):
        axes.plot(alpha, bound(curve, alpha), label=label, **stroke)
    axes.set(
        xlabel="type I error: a false alarm",
        ylabel="type II error: a miss, at best",
        xlim=(0, 1),
        ylim=(0, 1),
    )
    legend(axes, shown, loc="upper right")
    return axes
