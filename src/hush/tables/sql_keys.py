"""Groups whose public values the text itself tells: bins, months, branches of CASE.

Of a truth value they are false and true. Whatever may have no value for a row has NULL
among its groups, so that no row is left out which nobody has asked to leave out.
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
NEVER_NULL = (sql.Is, sql.Boolean)


def truth_keys(node: sql.Expression) -> tuple[bool | None, ...]:
    """Return the values of a truth value: NULL too, but of IS NULL and its like."""
    inner = node
    while isinstance(inner, (sql.Paren, sql.Not)):
        inner = inner.this
    return TRUTHS if isinstance(inner, NEVER_NULL) else (*TRUTHS, None)


def public_keys(node: sql.Expression) -> list[Any] | None:
    """Return every value an expression can have, or None where only data tells.

    NULL is one of them wherever a row may have no value.
    """
    found = _numbers(node)
    if found is not None:
        return [*found, None]
    branches = _branches(node)
    texts = [each for each in branches if not isinstance(each, sql.Null)]
    if not texts or not all(each.is_string for each in texts):
        return None
    keys: list[Any] = list(dict.fromkeys(each.this for each in texts))
    return keys if len(texts) == len(branches) else [*keys, None]


def _numbers(node: sql.Expression) -> list[Any] | None:
    """Return the numbers of parts of dates and of bins."""
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
    return None


def _branches(node: sql.Expression) -> list[sql.Expression]:
    """Return what CASE or IF may yield; a branch that is left out yields NULL."""
    if isinstance(node, sql.If):
        found = [node.args.get("true"), node.args.get("false")]
    elif isinstance(node, sql.Case):
        found = [each.args["true"] for each in node.args["ifs"]]
        found.append(node.args.get("default"))
    else:
        found = []
    return [sql.Null() if each is None else each for each in found]
