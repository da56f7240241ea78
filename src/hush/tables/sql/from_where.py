"""FROM, JOIN, WHERE and subqueries of a SELECT, as steps of a data set.

Whatever stands in FROM has rows that belong to one person each, so it is a data set
again: the unit column always comes along, selected or not.
"""

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlglot import expressions as sql

from hush.errors import Unsupported
from hush.tables.expressions.parse import (
    mark_read,
    place_of,
    read_whole,
    refuse_other_parts,
    sql_text,
    with_columns_apart,
    without_table_names,
)
from hush.tables.expressions.types import unknown_column

if TYPE_CHECKING:
    from hush.tables.dataset import Dataset

_ROWWISE = "expressions from_ joins where"


def rows(
    statement: sql.Select,
    data: "Dataset",
    tables: Mapping[str, Any],
    bounds: Mapping[str, Any],
) -> tuple["Dataset", set[str]]:
    """Return what FROM, JOIN and WHERE leave of a data set, and the names in scope.

    `tables` holds what else may be named: common table expressions (data sets), and
    the public or private tables that the caller passed.
    """
    named = statement.args.get("from_")
    if named is None:
        raise Unsupported(f"write FROM {data.name}.", code="unknown-table")
    refuse_other_parts(named, "this")
    found, scope = _origin(named.this, data, tables, bounds)
    for each in statement.args.get("joins") or []:
        found, alias = _join(found, each, data.name, tables)
        scope.add(alias)
    where = statement.args.get("where")
    if where is not None:
        refuse_other_parts(where, "this")
        condition = with_columns_apart(
            without_table_names(where.this, scope), found.columns
        )
        found = found.where(sql_text(condition))
    return found, scope


def with_names(
    statement: sql.Select,
    data: "Dataset",
    tables: Mapping[str, Any],
    bounds: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the tables that may be named, those of WITH included."""
    known = dict(tables)
    clause = statement.args.get("with_")
    if clause is None:
        return known
    refuse_other_parts(clause, "expressions")
    for each in clause.expressions:
        _check_plain_alias(each)
        if each.alias in known or each.alias == data.name:
            raise Unsupported(f"the name {each.alias!r} is taken{place_of(each)}.")
        known[each.alias] = _subquery(each.this, data, known, bounds)
    return known


def _origin(
    node: Any, data: "Dataset", tables: Mapping[str, Any], bounds: Mapping[str, Any]
) -> tuple["Dataset", set[str]]:
    from hush.tables.dataset import Dataset

    if isinstance(node, sql.Subquery):
        _check_plain_alias(node)
        return _subquery(node.this, data, tables, bounds), {node.alias}
    if not isinstance(node, sql.Table):
        raise Unsupported(
            f"FROM must name the table {data.name!r}{place_of(node)}.",
            code="unknown-table",
        )
    _check_plain_alias(node)
    if not isinstance(node.this, sql.Identifier):
        raise Unsupported(f"FROM takes tables, not functions{place_of(node)}.")
    scope = {node.alias or node.name}
    found = tables.get(node.name)
    if found is None and _is_table(node, data.name):
        return data, scope if node.alias else {node.name, data.name}
    if isinstance(found, Dataset):
        return found, scope
    raise Unsupported(
        f"FROM must start with the private table {data.name!r}, or with a name that "
        f"WITH defines from it; got {node.name!r}{place_of(node)}.",
        code="unknown-table",
    )


def _join(
    data: "Dataset", node: sql.Join, private: str, tables: Mapping[str, Any]
) -> tuple["Dataset", str]:
    refuse_other_parts(node, "this side kind using on")
    table = node.this
    if not isinstance(table, sql.Table) or not isinstance(table.this, sql.Identifier):
        raise Unsupported(f"JOIN takes the name of a table{place_of(node)}.")
    _check_plain_alias(table)
    side, kind = node.args.get("side") or "", node.args.get("kind") or ""
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER"):
        raise Unsupported(
            f"only JOIN and LEFT JOIN are supported{place_of(node)}: "
            f"every row must belong to a person of {private!r}."
        )
    if table.name == private and private not in tables:
        raise Unsupported(_self_join(data.unit, private, place_of(table)))
    if table.name not in tables:
        near = difflib.get_close_matches(table.name, tables, 1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise Unsupported(
            f"JOIN names {table.name!r}{place_of(table)}, which is not known.{meant} "
            f"Pass tables={{{table.name!r}: ...}} with a public frame or a data set.",
            code="unknown-table",
        )
    alias = table.alias or table.name
    on = _common(node, alias)
    how = "left" if side else "inner"
    return data.join(tables[table.name], on=on, how=how), alias


def _self_join(unit: str | None, private: str, where: str) -> str:
    refusal = f"JOIN names the private table {private!r} itself{where}. "
    if unit is None:
        return refusal + "Without unit= every row is a person, and people do not join."
    return refusal + (
        f"Sum up each person first: WITH each AS (SELECT {unit}, COUNT(*) AS n FROM "
        f"{private} GROUP BY {unit}) SELECT ... FROM {private} JOIN each USING "
        f"({unit})."
    )


def _common(node: sql.Join, alias: str) -> list[str]:
    """Return the columns of USING, or of ON a.x = b.x AND ..."""
    using = node.args.get("using")
    if using:
        mark_read(*using)
        return [each.name for each in using]
    condition = node.args.get("on")
    parts = list(condition.flatten()) if isinstance(condition, sql.And) else [condition]
    names = []
    for each in parts:
        sides = (each.this, each.expression) if isinstance(each, sql.EQ) else ()
        if (
            len(sides) != 2
            or not all(isinstance(side, sql.Column) for side in sides)
            or sides[0].name != sides[1].name
            or alias not in (sides[0].table, sides[1].table)
        ):
            raise Unsupported(
                f"JOIN needs USING (column), or ON a.x = b.x AND ... over columns of "
                f"the same name{place_of(node)}."
            )
        mark_read(each)
        for side in sides:
            refuse_other_parts(side, "this table")
        if sides[0].name in names:
            raise Unsupported(f"JOIN names {sides[0].name!r} twice{place_of(node)}.")
        names.append(sides[0].name)
    if isinstance(condition, sql.And):
        mark_read(condition, *condition.find_all(sql.And))
    return names


def _subquery(
    node: Any, data: "Dataset", tables: Mapping[str, Any], bounds: Mapping[str, Any]
) -> "Dataset":
    """Return a SELECT that stays with each person as a data set."""
    if not isinstance(node, sql.Select):
        raise Unsupported(f"a subquery must be a SELECT{place_of(node)}.")
    extra = {name for name, value in node.args.items() if value}
    if not extra <= {*_ROWWISE.split(), "group"}:
        raise Unsupported(
            "a subquery must answer row by row, SELECT columns FROM ... [WHERE ...], "
            "or person by person, with GROUP BY "
            f"{data.unit or 'the unit'}{place_of(node)}. COUNT(DISTINCT x) counts what "
            "differs."
        )
    mark_read(node)
    found, scope = rows(node, data, tables, bounds)
    if node.args.get("group") is None:
        return _select_columns(node, found, scope)
    return _people(node, found, scope, bounds)


def _people(
    node: sql.Select, data: "Dataset", scope: set[str], bounds: Mapping[str, Any]
) -> "Dataset":
    """Return SELECT ... GROUP BY unit, ...: one row per person and group."""
    clause = node.args["group"]
    refuse_other_parts(clause, "expressions")
    groups = [without_table_names(each, scope) for each in clause.expressions]
    read_whole(*groups)
    names = [each.name for each in groups if isinstance(each, sql.Column)]
    if len(names) < len(groups) or data.unit is None or data.unit not in names:
        raise Unsupported(
            f"GROUP BY in a subquery must name the unit {data.unit or ''!r} and plain "
            f"columns: each of its rows belongs to one person{place_of(clause)}."
        )
    measures: dict[str, str] = {}
    kept: dict[str, str] = {}
    for each in node.expressions:
        inner = without_table_names(_without_alias(each), scope)
        name = each.alias or (inner.name if isinstance(inner, sql.Column) else "")
        if not name:
            raise Unsupported(f"name the column by AS{place_of(each)}.")
        if isinstance(inner, sql.Column) and inner.name in names:
            if inner.name == data.unit and name != data.unit:
                raise Unsupported(
                    f"{data.unit!r} is the unit and keeps its name{place_of(each)}."
                )
            read_whole(inner)
            _check_one_name(name, inner.name, kept, each)
            kept[name] = inner.name
        else:
            _check_one_name(name, "", kept, each)
            measures[name] = sql_text(inner)
            kept[name] = name
    by = [name for name in names if name != data.unit]
    return data.per_person(*by, bounds=bounds, **measures).keep(kept)


def _select_columns(node: sql.Select, data: "Dataset", scope: set[str]) -> "Dataset":
    kept: dict[str, str] = {}  # output name: column or derived column
    derived: dict[str, str] = {}
    for i, each in enumerate(node.expressions):
        if isinstance(each, sql.Star):
            refuse_other_parts(each, "")
            for name in data._table.columns:
                _check_one_name(name, name, kept, each)
                kept[name] = name
            continue
        inner = without_table_names(_without_alias(each), scope)
        name = each.alias_or_name
        if not name:
            raise Unsupported(f"name the column by AS{place_of(each)}.")
        if name == data.unit and not _is_column(inner, name):
            raise Unsupported(
                f"{name!r} is the unit and stays as it is{place_of(each)}."
            )
        if isinstance(inner, sql.Column):
            read_whole(inner)
            _check_one_name(name, inner.name, kept, each)
            kept[name] = inner.name
        else:
            _check_one_name(name, "", kept, each)
            derived[f"derived{i}"] = sql_text(with_columns_apart(inner, data.columns))
            kept[name] = f"derived{i}"
    whole = data.select(**derived) if derived else data
    for name in kept.values():
        if name not in whole._table.columns:
            raise Unsupported(
                unknown_column(name, data._table.columns), code="unknown-column"
            )
    return whole.keep(kept)


def _check_plain_alias(node: Any) -> None:
    """Take a table, a subquery or a name of WITH, with a plain alias or none."""
    refuse_other_parts(node, "this alias")
    alias = node.args.get("alias")
    if isinstance(alias, sql.TableAlias):
        refuse_other_parts(alias, "this")


def _without_alias(node: sql.Expression) -> sql.Expression:
    """Return what stands in SELECT, without its AS."""
    if not isinstance(node, sql.Alias):
        return node
    refuse_other_parts(node, "this alias")
    inner: sql.Expression = node.this
    return inner


def _check_one_name(name: str, held: str, taken: Mapping[str, str], node: Any) -> None:
    """Refuse a second column of one name, which would take the place of the first."""
    if taken.get(name, held) != held:
        raise Unsupported(
            f"two columns are called {name!r}{place_of(node)}; name them by AS."
        )


def _is_table(node: sql.Table, name: str) -> bool:
    """Whether FROM means a table: names without quotes have no case in SQL."""
    quoted = node.this.args.get("quoted")
    return node.name == name or (not quoted and node.name.casefold() == name.casefold())


def _is_column(node: Any, name: str) -> bool:
    return isinstance(node, sql.Column) and node.name == name
