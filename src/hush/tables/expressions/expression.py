"""Expressions over one row, written as SQL text and total on every engine.

Text is parsed by sqlglot, checked against a list of allowed nodes, and rebuilt as an
Ibis expression that cannot fail whatever the row holds: numbers become doubles without
NaN, magnitudes stay inside public limits so that nothing overflows or underflows, and
what has no value is NULL. What is not on the list is refused before data is read.
"""

from typing import Any

import ibis
import ibis.expr.types as ir
import sqlglot
from sqlglot import expressions as sql

from hush.errors import InvalidArgument, Unsupported
from hush.tables.expressions import functions, operators
from hush.tables.expressions.parse import (
    DROPPED,
    compile_node,
    kept_whole,
    missing_quotes,
    refuse_mixed,
    value_of_kind,
)
from hush.tables.expressions.types import Kind, Typed, column, node_count, of_truth

__all__ = [
    "Kind",
    "Typed",
    "column",
    "condition",
    "is_column",
    "is_truth",
    "number",
    "parse",
    "read",
    "typed_value",
    "unclamped",
]

_MOST_NODES = 4_000
_RULES = (operators, functions)  # importing them is what makes the list


def parse(text: str) -> sql.Expression:
    """Return the parsed text of one expression, or refuse it."""
    if not isinstance(text, str):
        raise InvalidArgument(
            f"an expression is written as text, as in 'fare > 0'; got a "
            f"{type(text).__name__}."
        )
    try:
        found = sqlglot.parse(text, dialect="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError) as problem:
        details = getattr(problem, "errors", None) or [{}]
        place = details[0].get("col")
        at = f" at column {place}" if place else ""
        refusal = Unsupported(f"cannot read the expression {text!r}{at}.")
    else:
        one = found[0] if len(found) == 1 else None
        if isinstance(one, sql.Expression) and kept_whole(text, found):
            refuse_mixed(one)
            return one
        what = "expected one expression." if one is None else DROPPED
        refusal = Unsupported(f"{what} Got {text!r}.")
    raise refusal


def read(table: ir.Table, text: str) -> sql.Expression:
    """Return what a text stands for in a table: a column of that name, or SQL.

    A column's whole name is that column, whatever else the text could mean.
    """
    if isinstance(text, str) and text in table.columns:
        return sql.column(text, quoted=True)
    return parse(text)


def is_column(table: ir.Table, text: str, name: str) -> bool:
    """Whether a text stands for the column of this name, quoted or not."""
    found = read(table, text)
    plain = isinstance(found, sql.Column) and not found.table
    return plain and found.name == name


def condition(table: ir.Table, text: str) -> Any:
    """Return a condition over the rows of a table; NULL counts as not fulfilled."""
    return value_of_kind(
        typed_value(table, text), Kind.TRUTH, _quoted_name(table, text)
    )


def is_truth(table: ir.Table, text: str) -> bool:
    """Whether a text is a truth value, by the types of the columns."""
    return typed_value(table, text).kind is Kind.TRUTH


def _quoted_name(table: ir.Table, text: str) -> str:
    """Return a text as it is written in an expression."""
    plain = text not in table.columns or text.isidentifier()
    return text if plain else f'"{text}"'


def number(table: ir.Table, text: str) -> Any:
    """Return a finite number for every row; NULL where there is none.

    A truth value is 1 or 0.
    """
    found = of_truth(typed_value(table, text))
    return value_of_kind(found, Kind.NUMBER, _quoted_name(table, text))


def unclamped(table: ir.Table, text: str) -> Any:
    """Return a number for a caller that clamps it next: not NaN, perhaps infinite.

    A plain column needs no limits before it is clamped, only its NaN taken away.
    """
    node = read(table, text)
    if isinstance(node, sql.Column) and node.name in table.columns:
        value = table[node.name]
        if value.type().is_float64():
            return ibis.ifelse(value.isnan(), ibis.null("float64"), value)
    return number(table, text)


def typed_value(table: ir.Table, text: str) -> Typed:
    """Return any allowed expression with its kind."""
    try:
        found = compile_node(table, read(table, text))
    except Unsupported as refusal:
        said = f"{refusal}{missing_quotes(text, table.columns)}"
        code = refusal.code
    else:
        return _check_size(found, text)
    raise Unsupported(said, code=code)


def _check_size(found: Typed, text: str) -> Typed:
    if node_count(found.value) > _MOST_NODES:
        raise Unsupported(
            f"the expression {text!r} grows too large once every step is guarded. "
            "Name a part of it first, as in data.select(speed='distance / hours')."
        )
    return found
