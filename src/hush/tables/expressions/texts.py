"""Functions of one text that no row can make fail."""

from typing import Any

import ibis

from hush.errors import Unsupported
from hush.tables.expressions.types import (
    Kind,
    Typed,
    backend_of,
    finite_double,
    number_within,
)

# Engines accept different spellings of numbers, and some fail on '1e999'. Only these
# are read, of at most 10^129. The end is checked by a second pattern, because `$` also
# stands before a last newline on some engines.
_NUMBER = r"^[+-]?([0-9]{1,30}([.][0-9]{0,30})?|[.][0-9]{1,30})([eE][+-]?[0-9]{1,2})?$"
_NOT_NUMBER = r"[^0-9eE.+-]"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_NOT_DATE = r"[^0-9-]"
_BLANKS = "[ \t\n\r\v\f]+"


def _stripped(text: Any) -> Any:
    """Return a text without blanks at either end: a file may have them behind commas.

    They are spaces, tabs and line ends. Ibis has a function for this, which on Spark
    also strips the letters n, r, t and f.
    """
    if backend_of(text) == "duckdb":
        return text.strip()
    return text.re_replace(f"^{_BLANKS}|{_BLANKS}$", "")


def number(text: Any) -> Typed:
    """Return the number that a text spells, as '-12.5' or '3e8'; of others NULL.

    Blanks around it do not count.
    """
    text = _stripped(text)
    fine = text.re_search(_NUMBER) & ~text.re_search(_NOT_NUMBER)
    read = ibis.ifelse(fine, text, ibis.literal("0")).cast("float64")
    return Typed(
        Kind.NUMBER,
        finite_double(ibis.ifelse(fine, read, ibis.null("float64")), floating=False),
    )


def date(text: Any) -> Typed:
    """Return the date that a text spells as '2026-01-31'; of others NULL.

    Blanks around it do not count.
    """
    text = _stripped(text)
    shaped = text.re_search(_DATE) & ~text.re_search(_NOT_DATE)
    safe = ibis.ifelse(shaped, text, ibis.literal("0000-00-00"))
    year = safe.substr(0, 4).cast("int64")
    month = safe.substr(5, 2).cast("int64")
    day = safe.substr(8, 2).cast("int64")
    leap = ((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0)
    last = ibis.cases(
        (month == 2, ibis.ifelse(leap, 29, 28)),
        ((month == 4) | (month == 6) | (month == 9) | (month == 11), 30),
        else_=31,
    )
    real = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= last)
    fine = shaped & real
    read = ibis.ifelse(fine, text, ibis.literal("2000-01-01")).cast("date")
    return Typed(Kind.DATE, ibis.ifelse(fine, read, ibis.null("date")))


def truth(text: Any) -> Typed:
    """Return the truth value that 'true' or 'false' spells; of other texts NULL.

    Blanks around it do not count.
    """
    text = _stripped(text)
    value = ibis.cases(
        (text == "true", ibis.literal(value=True)),
        (text == "false", ibis.literal(value=False)),
        else_=ibis.null("boolean"),
    )
    return Typed(Kind.TRUTH, value)


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
