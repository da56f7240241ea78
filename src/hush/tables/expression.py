"""Expressions over one row, written as SQL text and total on every engine.

Text is parsed by sqlglot, checked against a list of allowed nodes, and rebuilt as an
Ibis expression that cannot fail whatever the row holds: numbers become doubles, NaN
becomes NULL, magnitudes stay inside 10^±150 so that no product overflows or underflows,
and a division by zero is NULL. What is not on the list is refused before data is read.
"""

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, final

import ibis
import ibis.expr.types as ir
import sqlglot
from sqlglot import expressions as sql

from hush.errors import Unsupported

_LARGE, _SMALL = 1e150, 1e-150


class Kind(StrEnum):
    """What an expression yields."""

    NUMBER = "number"
    TEXT = "text"
    TRUTH = "truth value"
    DATE = "date"


@final
@dataclass(frozen=True)
class Typed:
    """An Ibis value and its kind."""

    kind: Kind
    value: Any


def tame(value: ir.NumericValue, *, floating: bool = True) -> Any:
    """Return a number as a double without NaN and inside 10^±150; NULL stays NULL.

    Guarantee: sums, differences, products and quotients of two tame numbers are finite
    doubles, so no engine raises and none yields NaN.
    """
    number = value.cast("float64") if not value.type().is_float64() else value
    if floating:
        number = ibis.ifelse(number.isnan(), ibis.null("float64"), number)
    return ibis.cases(
        (number > _LARGE, _LARGE),
        (number < -_LARGE, -_LARGE),
        ((number < _SMALL) & (number > -_SMALL), 0.0),
        else_=number,
    )


def column(table: ir.Table, name: str) -> Typed:
    """Return a column of a table, tamed, or say what is wrong with it."""
    if name not in table.columns:
        known = ", ".join(sorted(table.columns))
        raise Unsupported(f"there is no column {name!r}; the columns are {known}.")
    value = table[name]
    dtype = value.type()
    if dtype.is_boolean():
        return Typed(Kind.TRUTH, value)
    if dtype.is_integer() or dtype.is_floating():
        return Typed(Kind.NUMBER, tame(value, floating=dtype.is_floating()))
    if dtype.is_decimal() and dtype.precision is not None:
        return Typed(Kind.NUMBER, tame(value, floating=False))
    if dtype.is_string():
        return Typed(Kind.TEXT, value)
    if dtype.is_date() or dtype.is_timestamp():
        return Typed(Kind.DATE, value)
    raise Unsupported(
        f"column {name!r} has type {dtype}, which no expression may use. "
        "Convert it to a number, a text or a date in a view."
    )


def parse(text: str) -> sql.Expression:
    """Return the parsed text of one expression, or refuse it."""
    try:
        found = sqlglot.parse(text, dialect="duckdb")
    except sqlglot.errors.SqlglotError as problem:
        details = getattr(problem, "errors", None) or [{}]
        column_ = details[0].get("col")
        at = f" at column {column_}" if column_ else ""
        raise Unsupported(f"cannot read the expression {text!r}{at}.") from None
    if len(found) != 1 or found[0] is None:
        raise Unsupported(f"expected one expression; got {text!r}.")
    return found[0]  # type: ignore[return-value]  # sqlglot's root class has no stubs


def truth(table: ir.Table, text: str) -> Any:
    """Return a condition over the rows of a table; NULL counts as not fulfilled."""
    return _as(compile_node(table, parse(text)), Kind.TRUTH, text)


def number(table: ir.Table, text: str) -> Any:
    """Return a tame number for every row; NULL where there is none."""
    return _as(compile_node(table, parse(text)), Kind.NUMBER, text)


def typed(table: ir.Table, text: str) -> Typed:
    """Return any allowed expression with its kind."""
    return compile_node(table, parse(text))


def _as(found: Typed, kind: Kind, text: str) -> Any:
    if found.kind is not kind:
        raise Unsupported(f"{text!r} is a {found.kind}; a {kind} is needed here.")
    return found.value


def compile_node(table: ir.Table, node: sql.Expression) -> Typed:
    """Return the Ibis form of one allowed node."""
    rule = _RULES.get(type(node))
    if rule is None:
        raise Unsupported(
            f"{node.sql(dialect='duckdb')!r} is not allowed in an expression: only "
            "columns, literals, arithmetic, comparisons, AND, OR, NOT, IN, BETWEEN, "
            "IS NULL, CASE, COALESCE, ABS, LOWER and UPPER are."
        )
    return rule(table, node)


def _operand(table: ir.Table, node: sql.Expression, kind: Kind) -> Any:
    return _as(compile_node(table, node), kind, node.sql(dialect="duckdb"))


def _arithmetic(combine: Callable[[Any, Any], Any]) -> Callable[..., Typed]:
    def rule(table: ir.Table, node: sql.Expression) -> Typed:
        left = _operand(table, node.this, Kind.NUMBER)
        right = _operand(table, node.expression, Kind.NUMBER)
        return Typed(Kind.NUMBER, tame(combine(left, right), floating=False))

    return rule


def _divide(left: Any, right: Any) -> Any:
    return left / ibis.ifelse(right == 0.0, ibis.null("float64"), right)


def _comparison(compare: Callable[[Any, Any], Any]) -> Callable[..., Typed]:
    def rule(table: ir.Table, node: sql.Expression) -> Typed:
        left, right = _pair(table, node.this, node.expression)
        return Typed(Kind.TRUTH, compare(left, right))

    return rule


def _pair(table: ir.Table, left: sql.Expression, right: sql.Expression) -> Any:
    first, second = compile_node(table, left), compile_node(table, right)
    if first.kind is Kind.DATE and isinstance(right, sql.Literal):
        return first.value, _date(right)
    if first.kind is not second.kind:
        raise Unsupported(
            f"cannot compare a {first.kind} with a {second.kind}: "
            f"{left.sql()!r} and {right.sql()!r}."
        )
    return first.value, second.value


def _date(node: sql.Expression) -> Any:
    """Return a date literal, read here so that no engine has to."""
    try:
        return ibis.literal(datetime.date.fromisoformat(node.this))
    except (TypeError, ValueError):
        raise Unsupported(
            f"{node.sql()!r} is not a date; write it as '2026-01-31'."
        ) from None


def _logic(combine: Callable[[Any, Any], Any]) -> Callable[..., Typed]:
    def rule(table: ir.Table, node: sql.Expression) -> Typed:
        left = _operand(table, node.this, Kind.TRUTH)
        right = _operand(table, node.expression, Kind.TRUTH)
        return Typed(Kind.TRUTH, combine(left, right))

    return rule


def _column(table: ir.Table, node: sql.Expression) -> Typed:
    return column(table, node.name)


def _literal(table: ir.Table, node: sql.Expression) -> Typed:  # noqa: ARG001
    if node.is_string:
        return Typed(Kind.TEXT, ibis.literal(node.this))
    value = min(max(float(node.this), -_LARGE), _LARGE)
    return Typed(Kind.NUMBER, ibis.literal(value, "float64"))


def _boolean(table: ir.Table, node: sql.Expression) -> Typed:  # noqa: ARG001
    return Typed(Kind.TRUTH, ibis.literal(bool(node.this)))


def _inside(table: ir.Table, node: sql.Expression) -> Typed:
    return compile_node(table, node.this)


def _negative(table: ir.Table, node: sql.Expression) -> Typed:
    return Typed(Kind.NUMBER, -_operand(table, node.this, Kind.NUMBER))


def _not(table: ir.Table, node: sql.Expression) -> Typed:
    return Typed(Kind.TRUTH, ~_operand(table, node.this, Kind.TRUTH))


def _is(table: ir.Table, node: sql.Expression) -> Typed:
    if not isinstance(node.expression, sql.Null):
        raise Unsupported(f"{node.sql()!r}: only IS NULL and IS NOT NULL are allowed.")
    return Typed(Kind.TRUTH, compile_node(table, node.this).value.isnull())


def _in(table: ir.Table, node: sql.Expression) -> Typed:
    choices = node.args.get("expressions") or []
    if not choices or not all(isinstance(each, sql.Literal) for each in choices):
        raise Unsupported(f"{node.sql()!r}: IN takes a list of literals.")
    result: Any = None
    for each in choices:
        left, right = _pair(table, node.this, each)
        result = (left == right) if result is None else result | (left == right)
    return Typed(Kind.TRUTH, result)


def _between(table: ir.Table, node: sql.Expression) -> Typed:
    low = _pair(table, node.this, node.args["low"])
    high = _pair(table, node.this, node.args["high"])
    return Typed(Kind.TRUTH, (low[0] >= low[1]) & (high[0] <= high[1]))


def _case(table: ir.Table, node: sql.Expression) -> Typed:
    if node.this is not None:
        raise Unsupported("write CASE WHEN condition THEN ..., without an operand.")
    branches = [
        (_operand(table, each.this, Kind.TRUTH), compile_node(table, each.args["true"]))
        for each in node.args["ifs"]
    ]
    last = node.args.get("default")
    other = None if last is None else compile_node(table, last)
    kinds = {each.kind for _, each in branches} | ({other.kind} if other else set())
    if len(kinds) != 1:
        raise Unsupported("the branches of CASE must be of one kind.")
    pairs = [(condition, each.value) for condition, each in branches]
    default = other.value if other else ibis.null(pairs[0][1].type())
    return Typed(kinds.pop(), ibis.cases(*pairs, else_=default))


def _coalesce(table: ir.Table, node: sql.Expression) -> Typed:
    parts = [compile_node(table, each) for each in [node.this, *node.expressions]]
    if len({part.kind for part in parts}) != 1:
        raise Unsupported("the arguments of COALESCE must be of one kind.")
    return Typed(parts[0].kind, ibis.coalesce(*(part.value for part in parts)))


def _function(kind: Kind, apply: Callable[[Any], Any]) -> Callable[..., Typed]:
    def rule(table: ir.Table, node: sql.Expression) -> Typed:
        return Typed(kind, apply(_operand(table, node.this, kind)))

    return rule


_RULES: dict[type[sql.Expression], Callable[..., Typed]] = {
    sql.Column: _column,
    sql.Literal: _literal,
    sql.Boolean: _boolean,
    sql.Paren: _inside,
    sql.Neg: _negative,
    sql.Not: _not,
    sql.Is: _is,
    sql.In: _in,
    sql.Between: _between,
    sql.Case: _case,
    sql.Coalesce: _coalesce,
    sql.Add: _arithmetic(lambda a, b: a + b),
    sql.Sub: _arithmetic(lambda a, b: a - b),
    sql.Mul: _arithmetic(lambda a, b: a * b),
    sql.Div: _arithmetic(_divide),
    sql.EQ: _comparison(lambda a, b: a == b),
    sql.NEQ: _comparison(lambda a, b: a != b),
    sql.GT: _comparison(lambda a, b: a > b),
    sql.GTE: _comparison(lambda a, b: a >= b),
    sql.LT: _comparison(lambda a, b: a < b),
    sql.LTE: _comparison(lambda a, b: a <= b),
    sql.And: _logic(lambda a, b: a & b),
    sql.Or: _logic(lambda a, b: a | b),
    sql.Abs: _function(Kind.NUMBER, lambda value: value.abs()),
    sql.Lower: _function(Kind.TEXT, lambda value: value.lower()),
    sql.Upper: _function(Kind.TEXT, lambda value: value.upper()),
}
