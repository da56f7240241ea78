"""Values with intervals, one per line: read from the top, labels beside them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hush.errors import InvalidArgument
from hush.plots.style import COLORS, FAINT, new

_MOST = 60


def bars(
    labels: Sequence[Any],
    values: Any,
    low: Any = None,
    high: Any = None,
    *,
    name: str = "",
    axes: Any = None,
) -> Any:
    """Draw released values as dots with their intervals; return the axes.

    Dots, not bars: a noisy count may be below zero, and its interval is what matters.

    Example:
        >>> axes = bars(["a", "b"], [3.0, 4.0], [2.0, 3.5], [4.0, 4.5], name="trips")
        >>> axes.get_xlabel()
        'trips'
    """
    names, centers = _listed(labels), _numbers("values", values)
    if centers.ndim != 1 or len(centers) != len(names):
        raise InvalidArgument("bars need one number per label.")
    if len(centers) > _MOST:
        raise InvalidArgument(
            f"{len(centers)} lines are too many for one picture; draw at most {_MOST}."
        )
    axes = new(axes, high=max(1.6, 0.9 + 0.3 * len(centers)))
    lines = np.arange(len(centers))
    if low is not None and high is not None:
        ends = _numbers("low", low), _numbers("high", high)
        if any(each.shape != centers.shape for each in ends):
            raise InvalidArgument("bars need one low and one high number per label.")
        axes.hlines(lines, *ends, color=COLORS[0], linewidth=2.2, alpha=0.55)
    axes.plot(centers, lines, "o", color=COLORS[0], markersize=5)
    axes.set_yticks(lines, [str(each) for each in names])
    axes.set(ylim=(len(centers) - 0.4, -0.6), xlabel=name)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.grid(visible=True, color=FAINT, alpha=0.4, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)
    return axes


def _listed(labels: Any) -> list[Any]:
    if not isinstance(labels, Iterable):
        raise InvalidArgument(f"labels must be a list; got a {type(labels).__name__}.")
    return list(labels)


def _numbers(name: str, values: Any) -> Any:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"{name} must be numbers; got a {type(values).__name__}."
        ) from None
