"""Values with intervals, one per line, and a release as such a picture."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hush import checks
from hush.errors import InvalidArgument
from hush.plots.style import COLORS, FAINT, check_drawable, new_axes

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
    names, centers = _as_list(labels), _numbers("values", values)
    if centers.ndim != 1 or len(centers) != len(names):
        raise InvalidArgument("bars need one number per label.")
    if len(centers) > _MOST:
        raise InvalidArgument(
            f"{len(centers)} lines are too many for one picture; draw at most {_MOST}."
        )
    axes = new_axes(axes, high=max(1.6, 0.9 + 0.3 * len(centers)))
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


def _as_list(labels: Any) -> list[Any]:
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


# -- A release, as dots with intervals -------------------------------------------------


def release(
    found: Any, name: str | None = None, *, level: float = 0.95, axes: Any = None
) -> Any:
    """Draw what was released, with intervals at `level`; return the axes.

    Of an answer about a table this is the aggregate called `name`, the first one
    unless said; of a release of numbers, all of them.

    Example:
        >>> import hush
        >>> table = {"id": range(100), "age": [30, 40] * 50}
        >>> data = hush.open(table, unit="id", rows=1, budget=hush.Budget(epsilon=1))
        >>> release(data.agg(people=hush.count()).release(epsilon=1)).get_xlabel()
        'people, with 95% intervals'
    """
    checks.real("level", level, above=0, below=1)
    if hasattr(found, "to_dict"):
        return _answer(found, name, level, axes)
    check_drawable(
        found,
        "a release",
        ("values", "interval", "receipt"),
        "Use plots.bars for numbers of your own.",
    )
    values = found.values
    if isinstance(values, (tuple, dict)):
        raise InvalidArgument(
            "this release holds several answers; draw them one by one."
        )
    numbers = np.atleast_1d(np.asarray(values, dtype=float)).ravel()
    low, high = (np.atleast_1d(each).ravel() for each in found.interval(level))
    labels = [""] if numbers.size == 1 else [str(i) for i in range(numbers.size)]
    words = f"released value, with {level:.0%} intervals"
    return bars(labels, numbers, low, high, name=words, axes=axes)


def _answer(found: Any, name: str | None, level: float, axes: Any) -> Any:
    columns = found.to_dict(level)
    known = list(found.values)
    chosen = known[0] if name is None else name
    if chosen not in known:
        raise InvalidArgument(f"name must be one of {', '.join(known)}; got {name!r}.")
    values = np.asarray(columns[chosen])
    cells = found.labels.get(chosen, ())
    one = values.ndim == 1 and values.dtype.kind in "fiu"
    if not one and (values.ndim != 2 or values.shape[1] != len(cells)):
        raise InvalidArgument(
            f"{chosen!r} is not one number per group; read it from to_dict()."
        )
    ends = {f"{each}_{end}" for each in known for end in ("low", "high")}
    by = [column for column in columns if column not in ends and column not in known]
    keys = zip(*(columns[each] for each in by), strict=True) if by else [(chosen,)]
    labels = [", ".join(map(str, key)) for key in keys]
    if not one:
        labels = [
            f"{each}: {cell}" if by else cell for each in labels for cell in cells
        ]
    low, high = columns.get(f"{chosen}_low"), columns.get(f"{chosen}_high")
    words = chosen if low is None else f"{chosen}, with {level:.0%} intervals"
    numbers, low, high = (
        None if each is None else np.ravel(each) for each in (values, low, high)
    )
    return bars(labels, numbers, low, high, name=words, axes=axes)
