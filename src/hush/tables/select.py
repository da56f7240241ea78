"""SQL in, a query out: one SELECT with aggregates, refused before data is read.

Only `SELECT … FROM table [WHERE …] [GROUP BY …]` exists. Nothing of the text reaches an
engine: it is rebuilt as a query, whose expressions are total.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import sqlglot
from sqlglot import expressions as sql

from hush.errors import Unsupported
from hush.tables.aggregate import Aggregate, Count, mean, sum

if TYPE_CHECKING:
    from hush.tables.dataset import Dataset
    from hush.tables.query import Query
    from hush.tables.ranges import Seeking

_CLAUSES = {"from_", "from", "where", "group", "expressions", "kind", "hint"}


@final
@dataclass(frozen=True)
class Selected:
    """The parts of a SELECT: named outputs, a condition and grouping columns."""

    outputs: Mapping[str, Aggregate]
    where: str | None
    by: tuple[str, ...]


def query(
    data: "Dataset",
    text: str,
    *,
    keys: Mapping[str, Any] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
) -> "Query | Seeking":
    """Return the query that a SELECT statement asks for.

    `keys` gives the public values of the grouping columns (of several columns: under
    their names joined by a comma, as tuples); `bounds` the public bounds of columns
    that the text does not clamp.
    """
    chosen = select(text, data.name, bounds or {})
    asked = data.where(chosen.where) if chosen.where else data
    if not chosen.by:
        return asked.agg(**chosen.outputs)
    name = ", ".join(chosen.by)
    if keys is None or name not in keys:
        raise Unsupported(
            f"GROUP BY {name} needs its public values: pass keys={{{name!r}: [...]}}."
        )
    return asked.group_by(*chosen.by, keys=keys[name]).agg(**chosen.outputs)


def select(
    text: str, table: str, bounds: Mapping[str, tuple[float, float]]
) -> Selected:
    """Return the parts of one SELECT over `table`, or say what is not allowed."""
    try:
        parsed = sqlglot.parse(text, dialect="duckdb")
    except sqlglot.errors.SqlglotError as problem:
        details = getattr(problem, "errors", None) or [{}]
        line, place = details[0].get("line"), details[0].get("col")
        at = f" at line {line}, column {place}" if line else ""
        raise Unsupported(f"cannot read the SQL{at}.") from None
    if len(parsed) != 1 or not isinstance(parsed[0], sql.Select):
        raise Unsupported("write one SELECT statement and nothing else.")
    statement = parsed[0]
    extra = {name for name, value in statement.args.items() if value} - _CLAUSES
    if extra:
        raise Unsupported(
            f"{', '.join(sorted(extra)).upper()} is not supported. Use SELECT, FROM, "
            "WHERE and GROUP BY, and sort or cut the released table."
        )
    source = statement.args.get("from_") or statement.args.get("from")
    named = source.this if source is not None else None
    if (
        not isinstance(named, sql.Table)
        or named.name != table
        or named.args.get("joins")
    ):
        raise Unsupported(f"FROM must name the table {table!r} and nothing else.")
    by = _group(statement)
    where = statement.args.get("where")
    return Selected(
        _outputs(statement, by, bounds),
        None if where is None else where.this.sql(dialect="duckdb"),
        by,
    )


def _group(statement: sql.Select) -> tuple[str, ...]:
    group = statement.args.get("group")
    if group is None:
        return ()
    columns = group.expressions
    if not columns or not all(isinstance(each, sql.Column) for each in columns):
        raise Unsupported("GROUP BY takes columns: put a computed one into a view.")
    return tuple(each.name for each in columns)


def _outputs(
    statement: sql.Select,
    by: tuple[str, ...],
    bounds: Mapping[str, tuple[float, float]],
) -> dict[str, Aggregate]:
    found: dict[str, Aggregate] = {}
    for each in statement.expressions:
        inner = each.this if isinstance(each, sql.Alias) else each
        if isinstance(inner, sql.Column) and inner.name in by:
            continue
        name = each.alias_or_name or inner.sql(dialect="duckdb").lower()
        if name in found:
            raise Unsupported(
                f"two outputs are called {name!r}; give them names by AS."
            )
        found[name] = _aggregate(inner, bounds)
    if not found:
        raise Unsupported("SELECT needs an aggregate: COUNT(*), SUM(x) or AVG(x).")
    return found


def _aggregate(
    node: sql.Expression, bounds: Mapping[str, tuple[float, float]]
) -> Aggregate:
    if isinstance(node, sql.Count) and isinstance(node.this, sql.Star):
        return Count()
    known: dict[type, Callable[..., Aggregate]] = {sql.Sum: sum, sql.Avg: mean}
    make = known.get(type(node))
    if make is None:
        raise Unsupported(
            f"{node.sql(dialect='duckdb')!r} cannot be released: only COUNT(*), "
            "SUM(x), AVG(x) and the columns of GROUP BY can."
        )
    inner, limits = _clamped(node.this, bounds)
    return make(inner.sql(dialect="duckdb"), bounds=limits)


def _clamped(
    node: sql.Expression, bounds: Mapping[str, tuple[float, float]]
) -> tuple[sql.Expression, tuple[float, float]]:
    """Return what is inside CLAMP(x, lower, upper) and its bounds, or known bounds."""
    if isinstance(node, sql.Anonymous) and node.name.upper() == "CLAMP":
        parts = node.expressions
        if len(parts) == 3:
            return parts[0], (_number(parts[1]), _number(parts[2]))
        raise Unsupported("CLAMP takes an expression and two numbers.")
    text = node.sql(dialect="duckdb")
    if text not in bounds:
        raise Unsupported(
            f"{text!r} needs public bounds: write CLAMP({text}, 0, 100), or pass "
            f"bounds={{{text!r}: (0, 100)}}."
        )
    return node, bounds[text]


def _number(node: sql.Expression) -> float:
    sign = 1.0
    if isinstance(node, sql.Neg):
        node, sign = node.this, -1.0
    if not isinstance(node, sql.Literal) or node.is_string:
        raise Unsupported("the bounds of CLAMP must be numbers.")
    return sign * float(node.this)
