"""The value range of an expression: bounds it has by itself, whatever the rows hold."""

from typing import Any

from sqlglot import expressions as sql

from hush.errors import Unsupported
from hush.tables.expressions import expression
from hush.tables.expressions.parse import constant

TRUTH = (0.0, 1.0)  # a truth value as a number

_TRUTHS = (sql.Predicate, sql.Connector, sql.Not, sql.Boolean, sql.Between, sql.In)


def bounds(node: Any) -> tuple[float, float] | None:
    """Return the smallest and the largest value that a node can have, if it says so.

    It does if it is a CASE between literal numbers, or a condition.

    Example:
        >>> bounds(expression.parse("CASE WHEN fare > 9 THEN 2 ELSE -1 END"))
        (-1.0, 2.0)
        >>> bounds(expression.parse("fare > 9"))
        (0.0, 1.0)
        >>> bounds(expression.parse("fare")) is None
        True
    """
    while isinstance(node, sql.Paren):
        node = node.this
    if isinstance(node, _TRUTHS):
        return TRUTH
    if not isinstance(node, sql.Case):
        return None
    branches = [each.args["true"] for each in node.args["ifs"]]
    branches.append(node.args.get("default") or sql.Null())
    try:
        values = [constant(e, "") for e in branches if not isinstance(e, sql.Null)]
    except Unsupported:  # a branch is no number
        return None
    ends = min(values, default=0.0), max(values, default=0.0)
    # One value alone is taken with nothing, so that there is room between them.
    ends = ends if ends[0] < ends[1] else (min(ends[0], 0.0), max(ends[1], 0.0))
    return ends if ends[0] < ends[1] else None


def bounds_of(text: Any) -> tuple[float, float] | None:
    """Return the bounds that a text has by itself; of a column none are known."""
    try:
        return bounds(expression.parse(text))
    except Unsupported:  # it may be a column's name, which no SQL is
        return None
