"""Functions of one text that no row can make fail."""

from typing import Any

import ibis

from hush.errors import Unsupported
from hush.tables.expressions.types import (
    Kind,
    Typed,
    backend_of,
    number_within,
)


def _length(text: Any) -> Any:
    # Ibis counts bytes on Polars; there every character is first made one byte. A text
    # without a column has no engine yet, and Polars may be the one that it meets.
    if backend_of(text) in ("polars", ""):
        return text.re_replace("[^ -~]", "x").length()
    return text.length()


def length(text: Any) -> Typed:
    """Return the number of characters (code points)."""
    return number_within(_length(text).cast("float64"), 1.0, 2.0**40)


def trim(text: Any) -> Any:
    """Return the text without spaces at either end; other blanks stay.

    Ibis has a function for this, which on Spark also strips the letters n, r, t and f.
    """
    left = text.re_replace("^ +", "")
    # Where the last character is a space, `$` can only be the very end.
    return ibis.ifelse(left.endswith(" "), left.re_replace(" +$", ""), left)


def substring(text: Any, start: int, count: int | None) -> Typed:
    """Return a part of the text from a position, counted from 1."""
    if start < 1 or (count is not None and count < 0) or max(start, count or 0) > 1e6:
        raise Unsupported("SUBSTRING takes a position from 1 on and a length, literal.")
    found = text.substr(start - 1) if count is None else text.substr(start - 1, count)
    return Typed(Kind.TEXT, found)


def like(text: Any, pattern: str) -> Typed:
    """Return whether a text has a pattern's pieces: % stands for any characters."""
    if "\\" in pattern or "_" in pattern:
        raise Unsupported(
            "a LIKE pattern may use % only: engines read _ and \\ differently."
        )
    pieces = pattern.split("%")
    if len(pieces) == 1:
        return Typed(Kind.TRUTH, text == pattern)
    first, *middle, last = pieces
    inner = [each for each in middle if each]
    if len(inner) > 1 or (inner and (first or last)):
        raise Unsupported(
            "a LIKE pattern may be 'a%', '%a', '%a%' or 'a%b'; join more by AND."
        )
    conditions = []
    if inner:
        conditions.append(text.contains(inner[0]))
    if first:
        conditions.append(text.startswith(first))
    if last:
        conditions.append(text.endswith(last))
    if first and last:
        conditions.append(_length(text) >= len(first) + len(last))
    result: Any = ibis.ifelse(
        text.isnull(), ibis.null("boolean"), ibis.literal(value=True)
    )
    for each in conditions:
        result = result & each
    return Typed(Kind.TRUTH, result)
