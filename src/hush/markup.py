"""Tables for people: aligned text, and plain HTML in which every text is escaped."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from hush.errors import HushError

_SHOWN = 60  # rows of a text; of more the first and the last


def facts(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return names and texts, one pair per line.

    Example:
        >>> "<td style='text-align:left'>&lt;b&gt;</td>" in facts("x", [("a", "<b>")])
        True
    """
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(text)}</td></tr>"
        for name, text in rows
    )
    return f"<table><caption>{escape(caption)}</caption>{cells}</table>"


def grid(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with headings; numbers are the reader's to align."""
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{lines}</tbody></table>"
    )


def remarks(texts: Iterable[str]) -> str:
    """Return remarks below a table, one per line.

    Example:
        >>> remarks(["(a < b)", "(c)"])
        '<p>(a &lt; b)</p><p>(c)</p>'
    """
    return "".join(f"<p>{escape(each)}</p>" for each in texts)


def aligned(columns: Mapping[str, Sequence[str]]) -> str:
    """Return texts in columns, aligned on the right; of many rows some.

    Example:
        >>> print(aligned({"region": ["Hills", "Lakes"], "trips": ["8", "1,204"]}))
        region  trips
         Hills      8
         Lakes  1,204
    """
    rows = list(zip(*columns.values(), strict=True))
    hidden = len(rows) - _SHOWN
    if hidden > 0:
        half = _SHOWN // 2
        rows = [*rows[:half], ("…",) * len(columns), *rows[-half:]]
    lines = [tuple(columns), *rows]
    widths = [max(map(len, each)) for each in zip(*lines, strict=True)]
    shown = [
        "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True))
        for line in lines
    ]
    if hidden > 0:
        shown.append(f"({len(rows) - 1 + hidden:,} rows, {hidden:,} not shown)")
    return "\n".join(shown)


def if_known(read: Callable[[], Any], form: Callable[[Any], str] = str) -> str:
    """Return what `read` finds as text; a dash where nothing is known.

    A notebook shows every value, so one that has no bound must not raise.
    """
    try:
        return form(read())
    except (HushError, TypeError, AttributeError):
        return "–"
