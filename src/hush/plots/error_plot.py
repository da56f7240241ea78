"""Error against ε: what more budget buys, known before anything is spent."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hush import checks
from hush.errors import InvalidArgument
from hush.plots.style import legend, line_styles, new_axes


def _errors(
    asked: Any, epsilon: float, delta: float, level: float, more: Mapping[str, Any]
) -> dict[str, float]:
    if hasattr(asked, "plan"):
        return dict(asked.plan(epsilon, delta, level=level, **more).error)
    found = asked.for_epsilon(epsilon, delta=delta, **more)
    return {asked.__name__: found.error.interval(level)[1]}


def error(
    *asked: Any,
    epsilons: Sequence[float] | None = None,
    delta: float = 0.0,
    level: float = 0.95,
    axes: Any = None,
    **more: Any,
) -> Any:
    """Draw the half-width of intervals against ε; return the axes.

    `asked` are queries, which are planned and not run, or mechanisms by class. What
    else is given goes to `plan` (as `cell`) or `for_epsilon` (as `sensitivity`).

    Example:
        >>> from hush.mechanisms import Geometric, Laplace
        >>> error(Laplace, Geometric, sensitivity=1).get_xscale()
        'log'
    """
    if not asked:
        raise InvalidArgument("give a query or a mechanism's class.")
    for each in asked:
        by_class = isinstance(each, type) and hasattr(each, "for_epsilon")
        if not (hasattr(each, "plan") or by_class):
            raise InvalidArgument(
                f"only queries and classes of mechanisms fit here; got a "
                f"{type(each).__name__}. Give a query on a table, or Laplace itself."
            )
    checks.real("level", level, above=0, below=1)
    grid = np.geomspace(0.05, 5, 25) if epsilons is None else np.asarray(epsilons)
    lines: dict[str, list[float]] = {}
    for each in asked:
        for epsilon in grid:
            for name, width in _errors(
                each, float(epsilon), delta, level, more
            ).items():
                lines.setdefault(name, []).append(width)
    if not lines:
        raise InvalidArgument("nothing of this has an interval to draw.")
    axes = new_axes(axes)
    for (name, widths), stroke in zip(
        lines.items(), line_styles(len(lines)), strict=True
    ):
        # An error of zero has no place on this axis.
        shown = np.where(np.asarray(widths) > 0, widths, np.nan)
        axes.loglog(grid, shown, label=name, **stroke)
    what = next(iter(lines)) if len(lines) == 1 else "the answer"
    axes.set(xlabel="ε spent", ylabel=f"{what}: ± at {level:.0%}")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(visible=True, alpha=0.25, linewidth=0.6)
    legend(axes, lines)
    return axes
