"""What to write instead of SQL that cannot be asked: advice by what was written.

It looks at the text alone, so it says the same whatever the data is.
"""

import difflib
from typing import Any

from sqlglot import expressions as sql

_MONTHS = (
    "For months write DATE_TRUNC('month', day), or YEAR(day) and MONTH(day), and group "
    "by that."
)
_TODAY = "Write the day itself, as in DATE '2026-01-31': a question means one thing."
_APART = "Ask for it by itself first, and write the released number here."
_INSIDE: dict[type[sql.Expression], str] = {
    sql.TimeToStr: _MONTHS,
    sql.ToChar: _MONTHS,
    sql.Monthname: _MONTHS,
    sql.CurrentDate: _TODAY,
    sql.CurrentTimestamp: _TODAY,
    sql.Interval: "Write the day itself: DATE '2026-01-31', or DATE_DIFF('day', a, b).",
    sql.ILike: "Write LOWER(x) LIKE 'a%'.",
    sql.Mod: "For x % 5 write x - 5 * FLOOR(x / 5).",
    sql.If: "Write CASE WHEN condition THEN 1 ELSE 0 END.",
    sql.Null: "Write x IS NULL; nothing equals NULL.",
    sql.Subquery: _APART,
    sql.Exists: _APART,
    sql.Window: (
        "OVER looks at rows of other people. Write GROUP BY instead, and compute ranks "
        "and shares with what was released: that is free."
    ),
    sql.DayOfWeek: "Write ISODOW(day), of which Monday is 1.",
    sql.RegexpLike: "Write LIKE 'a%', '%a' or '%a%', or IN ('a', 'b').",
}
_FUNCTIONS = {
    **dict.fromkeys(("NOW", "GETDATE"), _TODAY),
    "DOW": _INSIDE[sql.DayOfWeek],
    "DATE_PART": "Write EXTRACT(MONTH FROM day).",
    **dict.fromkeys(("MEAN", "AVERAGE"), "Write AVG(x)."),
    **dict.fromkeys(("STDEV", "STD"), "Write STDDEV(x)."),
    "PERCENTILE": "Write QUANTILE(x, 0.9).",
}
_ROWS = "Rows are about people and are not shown: ask for COUNT(*), or AVG of a column."


def advice_for_node(node: Any, names: str) -> str:
    """Return advice for a node that may not stand in an expression, or nothing.

    `names` are the functions that are known, apart from each other by spaces.

    Example:
        >>> import sqlglot
        >>> advice_for_node(sqlglot.parse_one("day % 7"), "FLOOR")
        ' For x % 5 write x - 5 * FLOOR(x / 5).'
        >>> advice_for_node(sqlglot.parse_one("FLOORS(x)"), "FLOOR CEIL")
        ' Did you mean FLOOR?'
    """
    found = _INSIDE.get(type(node), "")
    if isinstance(node, sql.Anonymous):
        name = str(node.this).upper()
        near = difflib.get_close_matches(name, names.split(), 1)
        found = _FUNCTIONS.get(name) or (f"Did you mean {near[0]}?" if near else "")
    return f" {found}" if found else ""


def advice_for_output(node: Any, names: str, *, mixed: bool) -> str:
    """Return advice for an output that cannot be released, or nothing.

    `mixed` says that there are aggregates in it, which could be released apart.
    """
    if isinstance(node, sql.Column):
        return f" Add GROUP BY {node.sql(dialect='duckdb')}, or aggregate it."
    if isinstance(node, sql.Star):
        return f" {_ROWS}"
    if isinstance(node, (sql.Window, sql.Anonymous)):
        return advice_for_node(node, names)
    alone = isinstance(node, (sql.AggFunc, sql.IgnoreNulls))
    if mixed and not alone:
        return " Release them apart, and compute with what was released: that is free."
    return ""
