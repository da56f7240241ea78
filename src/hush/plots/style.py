"""One quiet style: few lines, safe colours, text that survives printing."""

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from hush.errors import InvalidArgument, Unsupported

# Okabe and Ito's colours, darkest first; with dashes they also differ in grey.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
INK, FAINT = "#333333", "#b8b8b8"
FORMATS = (".png", ".svg", ".pdf")


def new_axes(axes: Any = None, *, wide: float = 5.6, high: float = 3.8) -> Any:
    """Return the axes to draw on, quiet; new ones without a window if none given."""
    if axes is None:
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise Unsupported(
                "plots need matplotlib. Install it with: pip install 'hush[plots]'",
                code="extra-missing",
            ) from None
        figure = Figure(figsize=(wide, high), layout="constrained", dpi=150)
        axes = figure.add_subplot()
    return without_clutter(axes)


def without_clutter(axes: Any) -> Any:
    """Take away what does not carry information."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)
    axes.tick_params(color=FAINT, labelcolor=INK, labelsize=9)
    axes.xaxis.label.set(color=INK, fontsize=9.5)
    axes.yaxis.label.set(color=INK, fontsize=9.5)
    axes.title.set(color=INK, fontsize=10.5)
    return axes


def line_styles(count: int) -> Iterator[dict[str, Any]]:
    """Yield a colour and a dash for each of `count` lines."""
    for i in range(count):
        color, dash = COLORS[i % len(COLORS)], DASHES[i % len(DASHES)]
        yield {"color": color, "linestyle": dash, "linewidth": 1.6}


def curves_by_label(
    curves: Iterable[Any], labels: Iterable[str] | None
) -> dict[str, Any]:
    """Return curves by label: the given ones, or how each prints itself."""
    listed = list(curves)
    if not listed:
        raise InvalidArgument("give at least one curve to draw.")
    for each in listed:
        out = "Unpack a list with a star: (*curves)."
        if hasattr(each, "curve") and hasattr(each, "run"):
            out = "Draw its guarantee: .curve(sensitivity)."
        check_drawable(each, "a curve", ("delta_at", "epsilon_at"), out)
    if labels is None:
        return _distinct_labels([_short_label(str(each)) for each in listed], listed)
    names = list(labels)
    if len(names) != len(listed) or len(set(names)) < len(names):
        raise InvalidArgument(
            f"labels must be {len(listed)} different texts; got {names!r}."
        )
    return dict(zip(names, listed, strict=True))


def check_drawable(
    value: Any, what: str, having: tuple[str, ...], way_out: str
) -> None:
    """Refuse what cannot be drawn, by its kind and never by its value."""
    if not all(hasattr(value, each) for each in having):
        raise InvalidArgument(
            f"only {what} fits here; got a {type(value).__name__}. {way_out}"
        )


def _distinct_labels(names: list[str], curves: list[Any]) -> dict[str, Any]:
    """Return curves by name; of two that print alike the second is numbered."""
    found: dict[str, Any] = {}
    for name, curve in zip(names, curves, strict=True):
        again = sum(each == name for each in names[: len(found)])
        found[f"{name} ({again + 1})" if again else name] = curve
    return found


def _short_label(text: str) -> str:
    return text if len(text) <= 48 else text[:45] + "…"


def legend(axes: Any, shown: Mapping[str, Any], **more: Any) -> None:
    """Name the lines, where there is more than one."""
    if len(shown) < 2:
        return
    found = axes.legend(
        fontsize=8.5, labelcolor=INK, edgecolor="none", framealpha=0.85, **more
    )
    found.set_zorder(5)


def save(axes: Any, path: str | PathLike[str]) -> Path:
    """Write the figure of some axes as PNG, SVG or PDF, the same bytes every time."""
    check_drawable(
        axes, "axes, as the other functions return them,", ("figure",), "Draw first."
    )
    if not isinstance(path, (str, PathLike)):
        raise InvalidArgument(
            f"path must be the name of a file; got a {type(path).__name__}."
        )
    place = Path(path)
    if place.suffix not in FORMATS:
        raise InvalidArgument(
            f"a picture must end in one of {', '.join(FORMATS)}; got {place.name!r}."
        )
    import matplotlib

    date = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with matplotlib.rc_context({"svg.hashsalt": "hush", "svg.fonttype": "none"}):
        axes.figure.savefig(place, metadata=date.get(place.suffix))
    return place
