"""Groups whose public values the text itself tells: bins, months, branches of CASE."""

from typing import Any

from sqlglot import expressions as sql

from hush.tables.node import constant, whole_constant
from hush.tables.numbers import bins

_PARTS: dict[type[sql.Expression], int] = {
    sql.Month: 12,
    sql.Quarter: 4,
    sql.Day: 31,
    sql.DayOfWeekIso: 7,
}


def public_keys(node: sql.Expression) -> list[Any] | None:
    """Return every value an expression can have, or None where only data tells."""
    if type(node) in _PARTS:
        return list(range(1, _PARTS[type(node)] + 1))
    if isinstance(node, sql.WidthBucket):
        count = whole_constant(node.args.get("num_buckets"), "the number of buckets")
        return list(range(count + 2))
    if isinstance(node, sql.Anonymous) and str(node.this).upper() == "BIN":
        if len(node.expressions) != 4:
            return None
        _, low, high, count_ = node.expressions
        return list(
            bins(
                constant(low, "a bound of BIN"),
                constant(high, "a bound of BIN"),
                whole_constant(count_, "the number of bins"),
            )
        )
    if isinstance(node, sql.Case) and node.args.get("default") is not None:
        parts = [each.args["true"] for each in node.args["ifs"]]
        parts.append(node.args["default"])
        if all(isinstance(each, sql.Literal) and each.is_string for each in parts):
            return list(dict.fromkeys(each.this for each in parts))
    return None
