"""Relation SQL: parse, say where, and refuse what no rule has looked at."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import sqlglot
from sqlglot import expressions as sql

from hush.errors import Unsupported
from hush.tables.expressions.parse_coverage import (
    kept_whole,
    mark_read,
    nested_test,
    read_whole,
    refuse_mixed,
    track,
)

_KEYWORDS = {
    *("SELECT", "FROM", "WHERE", "GROUP", "ORDER", "BY", "HAVING", "LIMIT", "OFFSET"),
    *("JOIN", "LEFT", "USING", "ON", "AS", "AND", "OR", "NOT", "IN", "BETWEEN"),
    *("CASE", "WHEN", "THEN", "ELSE", "END", "WITH", "DESC"),
}


DROPPED = (
    "a function or clause has more arguments than it takes, and nothing is dropped in "
    "silence."
)


def parse_select(text: str, columns: Iterable[str]) -> sql.Select:
    """Return the one SELECT that a text holds, or refuse it."""
    try:
        found = sqlglot.parse(text, dialect="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError) as problem:
        detail = (getattr(problem, "errors", None) or [{}])[0]
        refusal = _unread(detail) + missing_quotes(text, columns)
    else:
        if len(found) == 1 and isinstance(found[0], sql.Select):
            if kept_whole(text, found, columns):
                refuse_mixed(found[0])
                return track(found[0])
            refusal = DROPPED
        else:
            refusal = (
                "write one SELECT statement and nothing else, as in SELECT COUNT(*) "
                "AS n FROM data."
            )
    raise Unsupported(refusal, code="unreadable-sql")


def _unread(detail: Mapping[str, Any]) -> str:
    """Return where reading stopped, and which word before it may be misspelt.

    A parser takes a misspelt keyword for a name and stumbles over what follows.
    """
    if not detail.get("line"):
        return "cannot read the SQL. Is every quote closed?"
    at = f"at line {detail['line']}, column {detail['col']}"
    before = re.findall(r"[A-Za-z]+", detail["start_context"])[-2:]
    for word in reversed(before):
        meant = difflib.get_close_matches(word.upper(), _KEYWORDS, 1, 0.75)
        if meant and word.upper() not in _KEYWORDS:
            return f"cannot read the SQL {at}. Did you mean {meant[0]} by {word!r}?"
    return f"cannot read the SQL {at}, near {detail['highlight']!r}."


def missing_quotes(text: str, columns: Iterable[str]) -> str:
    """Return how a column is named in SQL, if quotes seem to be missing.

    Example:
        >>> missing_quotes("AVG(wait time)", ["wait time"])
        " In an expression, column 'wait time' is written in double quotes."
    """
    for name in columns:
        bare = name in text and f'"{name}"' not in text
        if bare and not name.isidentifier():
            return f" In an expression, column {name!r} is written in double quotes."
    return ""


def sql_text(node: Any) -> str:
    """Return the text that a node is read from again, or refuse what has none.

    Guarantee: what is read from the text is the node. Parentheses are put in where the
    writer leaves out those that it takes; all of the node counts as read.
    """
    text = node_text(node)
    whole = node_text(_in_parentheses(node))
    read_whole(node)
    return text if _meaning(text) == _meaning(whole) else whole


def node_text(node: Any) -> str:
    """Return a node as text for names and messages, or refuse what has none.

    Left to itself the writer would drop what it cannot say, such as a format of dates,
    and another question would be answered than the one that was asked.
    """
    try:
        return str(
            node.sql(dialect="duckdb", unsupported_level=sqlglot.ErrorLevel.RAISE)
        )
    except sqlglot.errors.UnsupportedError:
        from hush.tables.expressions import sql_suggestions

        inner = next(
            (each for each in node.walk() if sql_suggestions.advice_for_node(each, "")),
            node,
        )
    called = inner.sql_name() if isinstance(inner, sql.Func) else inner.key.upper()
    raise Unsupported(
        f"{called} is not supported here{place_of(node)}."
        f"{sql_suggestions.advice_for_node(inner, '')}"
    )


_OPERATORS = (sql.Binary, sql.Unary, sql.Between, sql.In, sql.Predicate)


def _in_parentheses(node: sql.Expression) -> sql.Expression:
    """Return a copy in which every operator inside of another is in parentheses."""
    found = node.copy()
    inner = [each for each in found.walk() if each is not found and _open(each)]
    for each in reversed(inner):  # the innermost first
        each.replace(sql.Paren(this=each.copy()))
    return found


def _open(node: Any) -> bool:
    """Whether a node is an operator in another one, and no sign of a number."""
    inside = isinstance(node, _OPERATORS) and isinstance(node.parent, _OPERATORS)
    closed = any(isinstance(each, (sql.Paren, sql.Dot)) for each in (node, node.parent))
    signed = isinstance(node, sql.Neg) and isinstance(node.this, sql.Literal)
    return inside and not closed and not signed


def _meaning(text: str) -> Any:
    """Return what a text is read as, without parentheses; None if it cannot be read."""
    try:
        found = sqlglot.parse_one(text, dialect="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError):
        return None
    if nested_test(found) is not None:  # no such text is read again
        return None
    for each in reversed(list(found.walk())):  # the innermost first
        if isinstance(each, sql.Paren) and each is not found:
            each.replace(each.this)
    return found.unnest()


def place_of(node: Any) -> str:
    """Return where a node begins, as far as the parser knows."""
    if isinstance(node, sql.Expression):
        for each in node.walk():
            if "line" in each.meta:
                first = each.meta["col"] - (each.meta["end"] - each.meta["start"])
                return f" (line {each.meta['line']}, column {first})"
    return ""


def refuse_other_parts(node: sql.Expression, allowed: str) -> None:
    """Refuse a node with a part that its rule does not look at; it counts as read."""
    extra = {name for name, value in node.args.items() if value} - set(allowed.split())
    if extra:
        names = ", ".join(sorted(each.strip("_").upper() for each in extra))
        raise Unsupported(
            f"{names} is not supported here{place_of(node)}: {node_text(node)!r}."
        )
    mark_read(node)


def with_columns_apart(node: sql.Expression, columns: Iterable[str]) -> sql.Expression:
    """Return an expression in which nothing but a column reads like a column's name.

    Texts are read as columns first; what SQL means by a - b is in parentheses then.
    """
    strange = {name for name in columns if not name.isidentifier()}

    def told(part: sql.Expression) -> sql.Expression:
        named = isinstance(part, (sql.Column, sql.Identifier, sql.AggFunc))
        return part if named or node_text(part) not in strange else sql.Paren(this=part)

    return node.transform(told) if strange else node


def without_table_names(node: sql.Expression, scope: set[str]) -> sql.Expression:
    """Return an expression without table names, each of which must be in scope.

    Joined tables share no names but those they are joined on, so none is lost.
    """
    found = node.copy()
    for each in found.find_all(sql.Column):
        if each.table:
            if each.table not in scope or each.args.get("db"):
                known = ", ".join(sorted(scope))
                raise Unsupported(
                    f"there is no table {each.table!r} here{place_of(each)}; there is "
                    f"{known}.",
                    code="unknown-table",
                )
            mark_read(each.args["table"])
            each.set("table", None)
    return found
