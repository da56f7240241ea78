"""One node of an expression: checked against the list, then built by its rule.

The rules stand in `operators` and `functions`; this file holds what they share.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ibis.expr.types as ir
from sqlglot import expressions as sql

from hush.errors import Unsupported
from hush.tables.expressions import dates
from hush.tables.expressions.parse_coverage import mark_read
from hush.tables.expressions.types import Kind, Typed, closed_truth

Rule = Callable[[ir.Table, Any], Typed]
Rules = dict[type[sql.Expression], tuple[Rule, str]]

_RULES: Rules = {}
_OPERATORS = (
    "columns, literals, arithmetic, comparisons, AND OR NOT IN BETWEEN LIKE IS NULL "
    "CASE COALESCE NULLIF CAST"
)
_FUNCTIONS = (
    "ABS SIGN FLOOR CEIL ROUND SQRT LN LOG2 LOG10 EXP POWER LEAST GREATEST BIN "
    "WIDTH_BUCKET LOWER UPPER TRIM LENGTH SUBSTRING LEFT YEAR QUARTER MONTH DAY ISODOW "
    "EXTRACT DATE_TRUNC DATE_DIFF"
)
_ALLOWED = f"{_OPERATORS}; and {_FUNCTIONS}"


def learn(rules: Rules) -> None:
    """Add rules: the class of a node, what builds it, and the arguments it may have."""
    _RULES.update(rules)


def expect(found: Typed, kind: Kind, text: str) -> Any:
    """Return the value of an expression that must be of a kind."""
    if found.kind is not kind:
        hint = ""
        if found.kind is Kind.TEXT and kind in (Kind.NUMBER, Kind.DATE):
            name = {Kind.NUMBER: "DOUBLE", Kind.DATE: "DATE"}[kind]
            hint = (
                f" Write CAST({text} AS {name}), or open the file with types=, as in "
                f"types={{{text.strip(chr(34))!r}: {kind.value!r}}}."
            )
        if found.kind is Kind.DATE and kind is Kind.NUMBER:
            hint = (
                " Count days from a public one: DATE_DIFF('day', DATE '2020-01-01', "
                f"{text})."
            )
        raise Unsupported(f"{text!r} is a {found.kind}; a {kind} is needed here.{hint}")
    return found.value


def compile_node(table: ir.Table, node: sql.Expression) -> Typed:
    """Return the Ibis form of one allowed node."""
    known = _RULES.get(type(node))
    if known is None:
        from hush.tables.expressions import sql_suggestions

        advice = sql_suggestions.advice_for_node(node, _FUNCTIONS)
        raise Unsupported(
            f"{node.sql(dialect='duckdb')!r} is not allowed in an expression."
            f"{advice or f' Allowed are {_ALLOWED}.'}"
        )
    rule, allowed = known
    # An argument that a rule does not look at would change the meaning unseen.
    extra = {name for name, given in node.args.items() if given} - set(allowed.split())
    if extra:
        raise Unsupported(
            f"{node.sql(dialect='duckdb')!r} uses {', '.join(sorted(extra))}, which is "
            "not supported."
        )
    found = rule(table, node)
    if found.kind is not Kind.TRUTH or isinstance(node, sql.Column):
        return found
    return replace(found, value=closed_truth(found.value))


def value(table: ir.Table, node: sql.Expression, kind: Kind) -> Any:
    """Return the value of a node that must be of a kind."""
    return expect(compile_node(table, node), kind, node.sql(dialect="duckdb"))


def number(table: ir.Table, node: sql.Expression) -> Typed:
    """Return a node that must be a number."""
    found = compile_node(table, node)
    expect(found, Kind.NUMBER, node.sql(dialect="duckdb"))
    return found


def date(table: ir.Table, node: sql.Expression) -> Typed:
    """Return a node that must be a date; a text literal is read as one."""
    if isinstance(node, sql.Literal) and node.is_string:
        return dates.literal(node.this)
    found = compile_node(table, node)
    expect(found, Kind.DATE, node.sql(dialect="duckdb"))
    return found


def constant(node: sql.Expression | None, what: str) -> float:
    """Return the number that a literal stands for, or say what should have been one."""
    sign = 1.0
    mark_read(node)
    if isinstance(node, sql.Neg):
        node, sign = node.this, -1.0
    if not isinstance(node, sql.Literal) or node.is_string:
        raise Unsupported(f"{what} must be a literal number.")
    mark_read(node)
    return sign * float(node.this)


def whole_constant(node: sql.Expression | None, what: str) -> int:
    """Return the whole number that a literal stands for."""
    found = constant(node, what)
    if found != int(found):
        raise Unsupported(f"{what} must be a whole number; got {found!r}.")
    return int(found)
