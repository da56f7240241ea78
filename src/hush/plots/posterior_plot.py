"""A posterior: its density, and the interval between its quantiles."""

from typing import Any

import numpy as np

from hush import checks
from hush.errors import InvalidArgument
from hush.plots.style import COLORS, check_drawable, new_axes

_CELLS = 40  # of a histogram of draws
_POINTS = 200  # of a density that is drawn as a line


def posterior(
    found: Any, name: str | None = None, *, level: float = 0.95, axes: Any = None
) -> Any:
    """Draw a posterior of `hush.inference`, its interval shaded; return the axes.

    Of draws of several parameters this is the one called `name`.

    Example:
        >>> from scipy import stats
        >>> from hush.inference import ShareModel
        >>> from hush.inference import posterior as infer
        >>> from hush.mechanisms import Geometric
        >>> found = infer(4, ShareModel(n=9), stats.beta(1, 1),
        ...               mechanism=Geometric(scale=1))
        >>> posterior(found).get_xlabel()
        'share, with its 95% interval'
    """
    share = checks.real("level", level, above=0, below=1)
    if hasattr(found, "draws"):
        return _draws(found, name, share, axes)
    check_drawable(
        found,
        "a posterior of one number",
        ("edges", "masses", "interval"),
        "Draw what hush.inference.posterior returns.",
    )
    if name is not None:
        raise InvalidArgument("name must be left out: this is a law of one number.")
    axes = new_axes(axes)
    low, high = found.interval(share)
    if found.whole:
        inside = (found.values >= low) & (found.values <= high)
        shown = found.masses > found.masses.max() * 1e-4
        for some, alpha in ((shown & inside, 0.9), (shown & ~inside, 0.35)):
            axes.bar(
                found.values[some], found.masses[some], color=COLORS[0], alpha=alpha
            )
        axes.set_ylabel("probability")
    else:
        first, last = (found.quantile(p) for p in (1e-4, 1 - 1e-4))
        edges = np.linspace(first, last, _POINTS + 1)
        dense = np.diff(found.cdf(edges)) / np.diff(edges)
        middle = (edges[1:] + edges[:-1]) / 2
        axes.plot(middle, dense, color=COLORS[0], linewidth=1.6)
        inside = (middle >= low) & (middle <= high)
        axes.fill_between(middle, dense, where=inside, color=COLORS[0], alpha=0.2)
        axes.set_ylabel("density")
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"{found.name}, with its {share:.0%} interval")
    return axes


def _draws(found: Any, name: str | None, level: float, axes: Any) -> Any:
    if name is None:
        raise InvalidArgument(f"name must be one of {', '.join(found.names)}.")
    numbers = found[name]
    axes = new_axes(axes)
    axes.hist(numbers, bins=_CELLS, density=True, color=COLORS[0], alpha=0.35)
    for end in found.interval(name, level):
        axes.axvline(end, color=COLORS[0], linewidth=1.6)
    axes.set(xlabel=f"{name}, with its {level:.0%} interval", ylabel="density")
    return axes
