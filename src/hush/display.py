"""Text for people: escaped tables, and as many digits as the noise leaves meaning."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from html import escape
from typing import Any, final

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


# -- How many digits of a released number are worth showing: what its noise leaves -----

_KNOWN = 15  # digits that a float has
_WHOLE = 5.0  # the half-width above which a count is shown without decimals
_EXACT = 2.0**53  # below it every whole number is a float
_PLAIN = 6  # significant digits where there is no interval
_CONTEXT = Context(prec=400)  # the largest float has 309 digits


@final
@dataclass(frozen=True)
class Digits:
    """Decimals that all numbers of a column share."""

    decimals: int

    @classmethod
    def of_half_widths(
        cls, halves: Iterable[float], largest: float, *, count: bool = False
    ) -> "Digits":
        """Return two significant digits of the smallest half-width.

        Example:
            >>> Digits.of_half_widths([0.52, 2.2], 22.6).text(9.88642)
            '9.89'
            >>> Digits.of_half_widths([7.5], 850.0, count=True).text(854.021)
            '854'
        """
        known = [each for each in halves if 0 < each < math.inf]
        if not known:
            return cls.of_numbers(largest)
        half = min(known)
        if count and half > _WHOLE:
            return cls(0)
        return cls(_known_decimals(1 - _power(half), largest))

    @classmethod
    def of_numbers(cls, largest: float) -> "Digits":
        """Return six significant digits of the largest number."""
        return cls(_known_decimals(_PLAIN - 1 - _power(largest), largest))

    @classmethod
    def of_column(
        cls, columns: Mapping[str, Sequence[Any]], name: str, *, count: bool = False
    ) -> "Digits":
        """Return the decimals of a column, by its interval if it has one beside it.

        Whole numbers without one, such as the months of a group, have none.

        Example:
            >>> Digits.of_column({"month": [1.0, 2.0]}, "month").text(2.0)
            '2'
        """
        known = numbers(columns[name])
        largest = max(map(abs, known), default=0.0)
        if f"{name}_low" not in columns:
            whole = largest < _EXACT and all(each.is_integer() for each in known)
            return cls(0) if whole else cls.of_numbers(largest)
        low, high = numbers(columns[f"{name}_low"]), numbers(columns[f"{name}_high"])
        if len(low) != len(high):  # some ends are infinite
            return cls.of_numbers(largest)
        halves = ((b - a) / 2 for a, b in zip(low, high, strict=True))
        return cls.of_half_widths(halves, largest, count=count)

    def text(self, value: float) -> str:
        """Return a number rounded to the nearest."""
        return self._text(value, ROUND_HALF_EVEN)

    def interval(self, low: float, high: float) -> str:
        """Return ends that are rounded outwards: what they held, they hold.

        Example:
            >>> Digits(0).interval(11475.02, 12105.3)
            '11,475 to 12,106'
        """
        return f"{self.low(low)} to {self.high(high)}"

    def low(self, value: float) -> str:
        """Return a lower end, rounded down."""
        return self._text(value, ROUND_FLOOR)

    def high(self, value: float) -> str:
        """Return an upper end, rounded up."""
        return self._text(value, ROUND_CEILING)

    def _text(self, value: float, rounding: str) -> str:
        grain = Decimal(1).scaleb(-self.decimals)
        exact = Decimal(repr(value))
        found = exact.quantize(grain, rounding=rounding, context=_CONTEXT)
        return f"{found if found else abs(found):,f}"  # no minus before a zero


def _power(number: float) -> int:
    return math.floor(math.log10(number)) if number > 0 else 0


def _known_decimals(decimals: int, largest: float) -> int:
    """Return decimals of which none is beyond what a float knows."""
    return max(0, min(decimals, _KNOWN - 1 - _power(largest)))


def numbers(values: Sequence[Any]) -> list[float]:
    """Return the finite floats among values, of lists too."""
    found: list[float] = []
    for each in values:
        if isinstance(each, list):
            found += numbers(each)
        elif isinstance(each, float) and math.isfinite(each):
            found.append(each)
    return found
