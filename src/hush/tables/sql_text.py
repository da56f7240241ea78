"""Reading SQL: parse, say where, and refuse what no rule has looked at."""

from typing import Any

import sqlglot
from sqlglot import expressions as sql

from hush.errors import Unsupported


def parsed(text: str) -> sql.Select:
    """Return the one SELECT that a text holds, or refuse it."""
    try:
        found = sqlglot.parse(text, dialect="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError) as problem:
        details = getattr(problem, "errors", None) or [{}]
        line, column = details[0].get("line"), details[0].get("col")
        at = f" at line {line}, column {column}" if line else ""
        refusal = f"cannot read the SQL{at}."
    else:
        if len(found) == 1 and isinstance(found[0], sql.Select):
            return found[0]
        refusal = "write one SELECT statement and nothing else."
    raise Unsupported(refusal)


def words(node: Any) -> str:
    """Return a node as the text that stands for it."""
    return str(node.sql(dialect="duckdb"))


def place(node: Any) -> str:
    """Return where a node begins, as far as the parser knows."""
    if isinstance(node, sql.Expression):
        for each in node.walk():
            if "line" in each.meta:
                first = each.meta["col"] - (each.meta["end"] - each.meta["start"])
                return f" (line {each.meta['line']}, column {first})"
    return ""


def only(node: sql.Expression, allowed: str) -> None:
    """Refuse a node with a part that its rule does not look at."""
    extra = {name for name, value in node.args.items() if value} - set(allowed.split())
    if extra:
        names = ", ".join(sorted(each.strip("_").upper() for each in extra))
        raise Unsupported(
            f"{names} is not supported here{place(node)}: {words(node)!r}."
        )


def plain(node: sql.Expression, scope: set[str]) -> sql.Expression:
    """Return an expression without table names, each of which must be in scope.

    Joined tables share no names but those they are joined on, so none is lost.
    """
    found = node.copy()
    for each in found.find_all(sql.Column):
        if each.table:
            if each.table not in scope or each.args.get("db"):
                known = ", ".join(sorted(scope))
                raise Unsupported(
                    f"there is no table {each.table!r} here{place(each)}; there is "
                    f"{known}."
                )
            each.set("table", None)
    return found
