"""SQL in, a query out: one SELECT with aggregates, refused before data is read.

    [WITH …] SELECT … FROM … [JOIN …] [WHERE …] [GROUP BY …]
    [HAVING …] [ORDER BY …] [LIMIT …]

Nothing of the text reaches an engine: it is rebuilt as a query, whose expressions are
total. The last three clauses look at released values and are free.
"""

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from sqlglot import expressions as sql

from hush.errors import InvalidArgument, Unsupported, methods
from hush.tables.expressions import expression, value_range
from hush.tables.expressions.numbers import bins
from hush.tables.expressions.parse import (
    constant,
    node_text,
    parse_select,
    place_of,
    read_whole,
    refuse_other_parts,
    refuse_unread,
    sql_text,
    whole_constant,
    with_columns_apart,
    without_table_names,
)
from hush.tables.expressions.types import column
from hush.tables.queries.answer import Answer, Presented, View
from hush.tables.queries.table_query import Query
from hush.tables.sql import aggregates, from_where

if TYPE_CHECKING:
    from hush.tables.dataset import Dataset
    from hush.tables.queries.private_bounds import PrivateBoundsQuery
    from hush.tables.queries.query_plan import Planned


_CLAUSES = "with_ expressions from_ joins where group having order limit offset"
Keys = Mapping[str, Any] | str | None


@methods
@final
@dataclass(frozen=True, eq=False)
class Statement:
    """A SELECT as a query, and how its answer is shown."""

    query: "Query | PrivateBoundsQuery"
    view: View | None

    def plan(
        self, epsilon: float | None = None, delta: float = 0.0, **more: Any
    ) -> "Planned":
        """Return cost and expected error without reading the data."""
        return self.query.plan(epsilon, delta, **more)

    def explain(self) -> str:
        """Return in plain words what one person can do; `sql_text` shows the SQL."""
        return self.query.explain()

    def sql_text(self) -> str:
        """Return the SQL that will run; it reads nothing."""
        return self.query.sql_text()

    def release(
        self, epsilon: float, delta: float = 0.0, **more: Any
    ) -> Answer | Presented:
        """Release the answer and show what HAVING, ORDER BY and LIMIT leave of it."""
        return self._view_of(self.query.release(epsilon, delta, **more))

    def answer(self, stored: Any) -> Answer | Presented:
        """Return the answer that a stored release gave to this statement."""
        if not isinstance(self.query, Query):
            raise Unsupported(
                "bounds were found in the data: write those of answer.bounds, and read "
                "the stored answer with them."
            )
        return self._view_of(self.query.answer(stored))

    def stored(self, key: str) -> Answer | Presented:
        """Return the answer that was released under a key; see `Query.stored`."""
        return self.answer(self.query.dataset.ledger.stored(key))

    def _view_of(self, answer: Answer) -> Answer | Presented:
        return answer if self.view is None else Presented(answer, self.view)


def query(data: "Dataset", text: str, **more: Any) -> "Query | PrivateBoundsQuery":
    """Return the query behind a SELECT, whatever is shown of its answer."""
    return statement(data, text, **more).query


def statement(
    data: "Dataset",
    text: str,
    *,
    keys: Keys = None,
    bounds: Mapping[str, Any] | None = None,
    tables: Mapping[str, Any] | None = None,
) -> Statement:
    """Return what a SELECT asks of a data set, or say what is not allowed.

    `keys` gives the public values of each grouping column (of several at once: under
    their names joined by a comma, as tuples), or is "private"; `bounds` the public
    bounds of expressions that the text does not clamp; `tables` what JOIN may name.
    """
    _check_names_columns("keys", keys, "{'sex': ['f', 'm']}, or \"private\"", "private")
    _check_names_columns("bounds", bounds, "{'age': (0, 100)}")
    _check_names_columns("tables", tables, "{'zones': 'zones.csv'}")
    root = parse_select(text, data.columns)
    written = root.copy()
    _no_distinct(root, data)
    refuse_other_parts(root, _CLAUSES)
    given = bounds or {}
    named = from_where.with_names(root, data, tables or {}, given)
    found, scope = from_where.rows(root, data, named, given)
    for each in [*root.expressions, root.args.get("group")]:
        if each is not None:
            each.replace(
                with_columns_apart(without_table_names(each, scope), found.columns)
            )
    groups = _groups(root)
    derived = {
        name: sql_text(node)
        for name, node in groups.items()
        if not _is_column(name, node)
    }
    for name in groups.keys() - derived.keys():
        column(found._table, name)  # refuses a name that no keys would help
    for name in derived:
        _check_free_name(name, found)
    if derived:
        found = found.select(**derived)
    for name in _names(root.expressions) - {*groups, *found._table.columns}:
        column(found._table, name)  # refuses it, before a bound is asked for
    for text in aggregates.bare_truth_values(root.expressions):
        expression.number(found._table, text)  # no bounds would help a text or a date
        if expression.is_truth(found._table, text):
            given = {text: value_range.TRUTH, **given}
    outputs = _outputs(root, groups, given, keys)
    if groups:
        values = _keys(groups, keys, found)
        asked = found.group_by(*groups, keys=values).agg(**outputs)
    else:
        asked = found.agg(**outputs)
    view = _view(root, found, groups, outputs, scope)
    refuse_unread(written, place_of)
    return Statement(asked, view)


def _check_names_columns(what: str, given: Any, example: str, *words: str) -> None:
    """Refuse options that do not name their column; a statement may have several."""
    if given is None or isinstance(given, Mapping):
        return
    if isinstance(given, str) and given in words:
        return
    raise InvalidArgument(
        f"{what} must name each column, as in {what}={example}; got a "
        f"{type(given).__name__}."
    )


def _no_distinct(root: sql.Select, data: "Dataset") -> None:
    if root.args.get("distinct"):
        listed = ", ".join(node_text(each) for each in root.expressions)
        raise Unsupported(
            f"DISTINCT lists values, and counts nobody. Write SELECT {listed}, "
            f"COUNT(*) AS n FROM {data.name} GROUP BY {listed}, or COUNT(DISTINCT x)."
        )


def _check_free_name(name: str, data: "Dataset") -> None:
    if name in data.columns and name != data.unit:  # whose refusal says more
        raise InvalidArgument(
            f"there is a column {name!r} already. Give the expression another name, as "
            f"in AS {name}_group."
        )


def _is_column(name: str, node: sql.Expression) -> bool:
    return isinstance(node, sql.Column) and node.name == name


def _groups(root: sql.Select) -> dict[str, sql.Expression]:
    """Return the grouping expressions by the names they have in the answer."""
    clause = root.args.get("group")
    if clause is None:
        return {}
    refuse_other_parts(clause, "expressions")
    found: dict[str, sql.Expression] = {}
    for i, each in enumerate(clause.expressions):
        read_whole(each)
        name, node = _grouping(root, each, i)
        if name in found:
            raise Unsupported(f"two grouping columns are called {name!r}; use AS.")
        found[name] = node
    if not found:
        raise Unsupported("GROUP BY needs a column.")
    return found


def _grouping(root: sql.Select, node: Any, i: int) -> tuple[str, sql.Expression]:
    if isinstance(node, sql.Literal) and not node.is_string:  # GROUP BY 1
        position = whole_constant(node, "the position in GROUP BY")
        if not 1 <= position <= len(root.expressions):
            raise Unsupported(f"GROUP BY {position}: there is no such output.")
        node = root.expressions[position - 1]
        node = node.this if isinstance(node, sql.Alias) else node
    for each in root.expressions:
        if isinstance(each, sql.Alias) and (
            each.this == node or _is_column(each.alias, node)
        ):
            return each.alias, each.this
    if isinstance(node, sql.Column):
        return node.name, node
    return f"group{i + 1}", node


def _names(outputs: list[sql.Expression]) -> set[str]:
    """Return the columns that outputs are made of."""
    return {node.name for each in outputs for node in each.find_all(sql.Column)}


def _output_name(node: sql.Expression) -> str:
    """Return the name of an output that was given none: its words in small letters.

    What is in double quotes is the name of a column, and stays as it is.
    """
    parts = re.findall(r'"[^"]*"|[^"]+', node_text(node))
    return "".join(p if p.startswith('"') else p.lower() for p in parts)


def _outputs(
    root: sql.Select,
    groups: Mapping[str, sql.Expression],
    bounds: Mapping[str, Any],
    keys: Keys,
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    seen: set[str] = set()
    values = keys if isinstance(keys, Mapping) else {}
    for each in root.expressions:
        inner = each.this if isinstance(each, sql.Alias) else each
        if isinstance(each, sql.Alias):
            refuse_other_parts(each, "this alias")
        shown = _group_shown(each, inner, groups)
        if shown in seen:
            raise Unsupported(
                f"{node_text(each)!r} shows the grouping column {shown!r} a second time"
                f"{place_of(each)}. It has one column in the answer: leave one out."
            )
        if shown is not None:
            seen.add(shown)
            read_whole(each)
            continue
        name = each.alias or _output_name(inner)
        if name in found or name in groups:
            raise Unsupported(
                f"two outputs are called {name!r}{place_of(each)}; name them by AS."
            )
        found[name] = aggregates.aggregate_of(inner, bounds, values)
    if not found:
        raise Unsupported(
            "SELECT needs an aggregate, such as COUNT(*) or AVG(x).",
            code="not-an-aggregate",
        )
    return found


def _group_shown(
    output: Any, inner: Any, groups: Mapping[str, sql.Expression]
) -> str | None:
    """Return which grouping column an output shows, None where it shows none."""
    same = [name for name, node in groups.items() if inner == node]
    if output.alias in same:
        return str(output.alias)
    named = [name for name in groups if _is_column(name, inner)]
    return next(iter(same + named), None)


def _keys(groups: Mapping[str, sql.Expression], keys: Keys, data: "Dataset") -> Any:
    """Return the public keys: given together, given apart, or plain from the text."""
    if isinstance(keys, str):
        return keys
    given = keys or {}
    together = ", ".join(groups)
    if together in given:
        listed = given[together]
        several = len(groups) > 1 and not isinstance(listed, str)
        return [tuple(key) for key in listed] if several else listed
    lists = []
    for name, node in groups.items():
        values = given.get(name, given.get(node_text(node), public_keys(node)))
        if values is None and data._table[name].type().is_boolean():
            values = truth_keys(node)
        if values is None and name == data.unit:
            raise Unsupported(_per_person(data.name, name, place_of(node)))
        if values is None:
            raise Unsupported(
                f"GROUP BY {name} needs its public values{place_of(node)}: keys="
                f"{{{name!r}: [...]}} in Python, keys = [...] under [columns.{name}] "
                "in hush.toml.",
                code="keys-missing",
            )
        if isinstance(values, str):
            return values
        lists.append(list(values))
    return lists[0] if len(lists) == 1 else list(itertools.product(*lists))


def _per_person(table: str, unit: str, where: str) -> str:
    return (
        f"GROUP BY {unit} would list people{where}. A number of each person is asked "
        f"about like a column: SELECT AVG(CLAMP(n, 0, 100)) AS n FROM (SELECT {unit}, "
        f"COUNT(*) AS n FROM {table} GROUP BY {unit})."
    )


def _view(
    root: sql.Select,
    data: "Dataset",
    groups: Mapping[str, sql.Expression],
    outputs: Mapping[str, Any],
    scope: set[str],
) -> View | None:
    """Return what is shown of the released table, checked against its columns."""
    having, order = root.args.get("having"), root.args.get("order")
    limit, offset = root.args.get("limit"), root.args.get("offset")
    if not any((having, order, limit, offset)):
        return None
    for clause, parts in ((having, "this"), (order, "expressions")):
        if clause is not None:
            refuse_other_parts(clause, parts)
    by = []
    for each in order.expressions if order is not None else []:
        refuse_other_parts(each, "this desc nulls_first")
        text = _released_expression(root, each.this, scope, groups)
        first = bool(each.args.get("nulls_first"))
        by.append((text, bool(each.args.get("desc")), first))
    types = {name: str(data._table[name].type()) for name in groups}
    types |= {name: _type(each) for name, each in outputs.items()}
    view = View(
        None
        if having is None
        else _released_expression(root, having.this, scope, groups),
        tuple(by),
        None if limit is None else _row_limit(limit, "LIMIT"),
        0 if offset is None else _row_limit(offset, "OFFSET"),
        tuple(types.items()),
    )
    if (view.limit or 0) < 0 or view.offset < 0:
        raise Unsupported("LIMIT and OFFSET must not be negative.")
    return view


def _row_limit(clause: sql.Expression, what: str) -> int:
    """Return how many rows LIMIT, OFFSET or FETCH FIRST n ROWS ONLY says."""
    if not isinstance(clause, sql.Fetch):
        refuse_other_parts(clause, "expression")
        return whole_constant(clause.expression, what)
    refuse_other_parts(clause, "direction count limit_options")
    options = clause.args.get("limit_options")
    if options is not None:
        refuse_other_parts(options, "rows")
    return whole_constant(clause.args.get("count"), what)


def _type(aggregate: Any) -> str:
    values = getattr(aggregate, "values", ())
    return "string" if any(isinstance(each, str) for each in values) else "float64"


def _released_expression(
    root: sql.Select, node: Any, scope: set[str], groups: Mapping[str, Any]
) -> str:
    """Return an expression over the names of released columns."""
    read_whole(node)
    if isinstance(node, sql.Literal) and not node.is_string:  # ORDER BY 1
        position = whole_constant(node, "the position in ORDER BY")
        if not 1 <= position <= len(root.expressions):
            raise Unsupported(f"ORDER BY {position}: there is no such output.")
        node = root.expressions[position - 1]
        node = node.this if isinstance(node, sql.Alias) else node
    names = {}
    for each in root.expressions:
        inner = each.this if isinstance(each, sql.Alias) else each
        names[inner] = each.alias_or_name or _output_name(inner)

    def output_column(part: sql.Expression) -> sql.Expression:
        if part in names:
            return sql.column(names[part], quoted=True)
        return part

    found = without_table_names(node, scope).transform(output_column)
    hidden = [each for each in found.walk() if aggregates.is_aggregate(each)]
    shown = {*names.values(), *groups}
    unknown = [e for e in found.find_all(sql.Column) if e.name not in shown]
    if hidden or unknown:
        raise Unsupported(
            f"{node_text((hidden or unknown)[0])!r} is not among the outputs"
            f"{place_of(node)}: HAVING and ORDER BY look at released values. Add it to "
            "SELECT."
        )
    return sql_text(with_columns_apart(found, names.values()))


# --------------------------------------------------------------------------------------
# Groups whose public values the text itself tells: bins, months, branches of CASE.
#
# Of a truth value they are false and true. Whatever may have no value for a row has
# NULL among its groups, so that no row is left out which nobody has asked to leave
# out.

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
