"""Groups whose public values the text itself tells: bins, months, branches of CASE.

Of a truth value they are false and true.
"""

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
_EXTRACTED = {"MONTH": 12, "QUARTER": 4, "DAY": 31, "ISODOW": 7}
TRUTHS = (False, True)


def public_keys(node: sql.Expression) -> list[Any] | None:
    """Return every value an expression can have, or None where only data tells."""
    if type(node) in _PARTS:
        return list(range(1, _PARTS[type(node)] + 1))
    if isinstance(node, sql.Extract) and node.name.upper() in _EXTRACTED:
        return list(range(1, _EXTRACTED[node.name.upper()] + 1))
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
    branches = _branches(node)
    if all(isinstance(each, sql.Literal) and each.is_string for each in branches):
        return list(dict.fromkeys(each.this for each in branches)) or None
    return None


def _branches(node: sql.Expression) -> list[Any]:
    """Return what CASE or IF may yield; nothing where a branch is left out."""
    if isinstance(node, sql.If):
        found = [node.args.get("true"), node.args.get("false")]
    elif isinstance(node, sql.Case):
        found = [each.args["true"] for each in node.args["ifs"]]
        found.append(node.args.get("default"))
    else:
        found = []
    return [] if None in found else found
