"""Operators of an expression: arithmetic, comparisons, logic, CASE and their like."""

from collections.abc import Callable
from typing import Any

import ibis
import ibis.expr.types as ir
from sqlglot import expressions as sql

from hush.errors import Unsupported
from hush.tables.expressions import numbers, texts
from hush.tables.expressions.parse import (
    Rule,
    column_rule,
    compile_node,
    date,
    learn,
    number,
    value,
)
from hush.tables.expressions.types import (
    LARGE,
    SMALL,
    Kind,
    Typed,
    number_within,
)


def _binary_rule(combine: Callable[[Typed, Typed], Typed]) -> Rule:
    def rule(table: ir.Table, node: Any) -> Typed:
        left, right = number(table, node.this), number(table, node.expression)
        return combine(left, right)

    return rule


def _comparison(compare: Callable[[Any, Any], Any]) -> Rule:
    def rule(table: ir.Table, node: Any) -> Typed:
        left, right = _pair(table, node.this, node.expression)
        return Typed(Kind.TRUTH, compare(left, right))

    return rule


def _pair(table: ir.Table, left: sql.Expression, right: sql.Expression) -> Any:
    first, second = compile_node(table, left), compile_node(table, right)
    if first.kind is Kind.DATE and isinstance(right, sql.Literal):
        second = date(table, right)
    elif second.kind is Kind.DATE and isinstance(left, sql.Literal):
        first = date(table, left)
    if first.kind is not second.kind:
        raise Unsupported(
            f"cannot compare a {first.kind} with a {second.kind}: "
            f"{left.sql()!r} and {right.sql()!r}.{_type_hint(first, left, second)}"
            f"{_type_hint(second, right, first)}{_truth_hint(first, left)}"
            f"{_truth_hint(second, right)}"
        )
    return first.value, second.value


def _truth_hint(found: Typed, node: sql.Expression) -> str:
    """Return the hint that a truth value is a condition by itself, not 1 or 0."""
    if found.kind is not Kind.TRUTH or not isinstance(node, sql.Column):
        return ""
    name = node.sql()
    return f" A truth value is a condition by itself: write {name}, or NOT {name}."


def _type_hint(found: Typed, node: sql.Expression, other: Typed) -> str:
    """Return the hint to open a column of texts with the type it is compared with."""
    text = found.kind is Kind.TEXT and isinstance(node, sql.Column)
    if not text or other.kind not in (Kind.NUMBER, Kind.DATE):
        return ""
    return f" Open the file with types={{{node.name!r}: {other.kind.value!r}}}."


def _logic(combine: Callable[[Any, Any], Any]) -> Rule:
    def rule(table: ir.Table, node: Any) -> Typed:
        left = value(table, node.this, Kind.TRUTH)
        right = value(table, node.expression, Kind.TRUTH)
        return Typed(Kind.TRUTH, combine(left, right))

    return rule


def _literal(table: ir.Table, node: Any) -> Typed:  # noqa: ARG001
    if node.is_string:
        return Typed(Kind.TEXT, ibis.literal(node.this))
    # Engines read a bare 0.1 as a decimal; a text they all read as the same double.
    value = min(float(node.this), LARGE)
    value = value if value >= SMALL else 0.0
    return number_within(
        ibis.literal(repr(value)).cast("float64"), value or 1.0, value or 1.0
    )


def _boolean(table: ir.Table, node: Any) -> Typed:  # noqa: ARG001
    return Typed(Kind.TRUTH, ibis.literal(bool(node.this)))


def _is(table: ir.Table, node: Any) -> Typed:
    if not isinstance(node.expression, sql.Null):
        raise Unsupported(f"{node.sql()!r}: only IS NULL and IS NOT NULL are allowed.")
    return Typed(Kind.TRUTH, compile_node(table, node.this).value.isnull())


def _in(table: ir.Table, node: Any) -> Typed:
    choices = node.args.get("expressions") or []
    literal = (sql.Literal, sql.Neg)
    if not choices or not all(isinstance(each, literal) for each in choices):
        raise Unsupported(f"{node.sql()!r}: IN takes a list of literals.{_join(node)}")
    result: Any = None
    for each in choices:
        left, right = _pair(table, node.this, each)
        result = (left == right) if result is None else result | (left == right)
    return Typed(Kind.TRUTH, result)


def _join(node: Any) -> str:
    """Return what to write where a SELECT says which values are meant."""
    if node.args.get("query") is None:
        return ""
    return (
        " Join with what the SELECT lists: a public table, by tables= and JOIN ... "
        "USING; or people, by WITH each AS (SELECT ... GROUP BY the unit) and JOIN "
        "each USING (the unit)."
    )


def _between(table: ir.Table, node: Any) -> Typed:
    low = _pair(table, node.this, node.args["low"])
    high = _pair(table, node.this, node.args["high"])
    return Typed(Kind.TRUTH, (low[0] >= low[1]) & (high[0] <= high[1]))


def _like(table: ir.Table, node: Any) -> Typed:
    pattern = node.expression
    if not isinstance(pattern, sql.Literal) or not pattern.is_string:
        raise Unsupported("LIKE takes a literal pattern.")
    found = texts.like(value(table, node.this, Kind.TEXT), pattern.this)
    negated = node.args.get("negate")
    return Typed(Kind.TRUTH, ~found.value) if negated else found


def _one_of(parts: list[Typed], name: str, value: Any) -> Typed:
    """Return a value that equals one of the parts, with the widest of their limits."""
    if len({part.kind for part in parts}) != 1:
        raise Unsupported(f"the arguments of {name} must be of one kind.")
    least, most = min(p.least for p in parts), max(p.most for p in parts)
    return Typed(parts[0].kind, value, least, most)


def _case(table: ir.Table, node: Any) -> Typed:
    if node.this is not None:
        raise Unsupported("write CASE WHEN condition THEN ..., without an operand.")
    conditions = [value(table, each.this, Kind.TRUTH) for each in node.args["ifs"]]
    written = [each.args["true"] for each in node.args["ifs"]]
    branches = [*written, node.args.get("default") or sql.Null()]
    known = [
        None if isinstance(each, sql.Null) else compile_node(table, each)
        for each in branches
    ]
    parts = [each for each in known if each is not None]
    if len({each.kind for each in parts}) != 1:
        raise Unsupported("the branches of CASE must be of one kind, and not all NULL.")
    nothing = ibis.null(parts[0].value.type())
    *values, default = (nothing if each is None else each.value for each in known)
    pairs = zip(conditions, values, strict=True)
    return _one_of(parts, "CASE", ibis.cases(*pairs, else_=default))


def _coalesce(table: ir.Table, node: Any) -> Typed:
    parts = [compile_node(table, each) for each in [node.this, *node.expressions]]
    kinds = {part.kind for part in parts}
    if len(kinds) != 1:
        raise Unsupported("the arguments of COALESCE must be of one kind.")
    value = ibis.coalesce(*(part.value for part in parts))
    return _one_of(parts, "COALESCE", value)


def _nullif(table: ir.Table, node: Any) -> Typed:
    found = compile_node(table, node.this)
    left, right = _pair(table, node.this, node.expression)
    value = ibis.ifelse(left == right, ibis.null(left.type()), left)
    return Typed(found.kind, value, found.least, found.most)


_AT = "this expression"
learn(
    {
        sql.Column: (column_rule, "this table"),
        sql.Literal: (_literal, "this is_string"),
        sql.Boolean: (_boolean, "this"),
        sql.Paren: (lambda table, node: compile_node(table, node.this), "this"),
        sql.Neg: (
            lambda table, node: numbers.negative(number(table, node.this)),
            "this",
        ),
        sql.Not: (
            lambda table, node: Typed(Kind.TRUTH, ~value(table, node.this, Kind.TRUTH)),
            "this",
        ),
        sql.Is: (_is, _AT),
        sql.In: (_in, "this expressions query"),
        sql.Between: (_between, "this low high"),
        sql.Like: (_like, "this expression negate"),
        sql.Case: (_case, "ifs default"),
        sql.Coalesce: (_coalesce, "this expressions"),
        sql.Nullif: (_nullif, _AT),
        sql.Add: (_binary_rule(numbers.total), _AT),
        sql.Sub: (_binary_rule(numbers.difference), _AT),
        sql.Mul: (_binary_rule(numbers.product), _AT),
        sql.Div: (_binary_rule(numbers.quotient), "this expression typed safe"),
        sql.EQ: (_comparison(lambda a, b: a == b), _AT),
        sql.NEQ: (_comparison(lambda a, b: a != b), _AT),
        sql.GT: (_comparison(lambda a, b: a > b), _AT),
        sql.GTE: (_comparison(lambda a, b: a >= b), _AT),
        sql.LT: (_comparison(lambda a, b: a < b), _AT),
        sql.LTE: (_comparison(lambda a, b: a <= b), _AT),
        sql.And: (_logic(lambda a, b: a & b), _AT),
        sql.Or: (_logic(lambda a, b: a | b), _AT),
    }
)
