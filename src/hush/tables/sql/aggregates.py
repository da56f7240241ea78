"""Aggregates by their names in SQL, as the functions of `hush.tables`."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import expressions as sql

from hush.errors import Unsupported
from hush.tables.expressions import value_range
from hush.tables.expressions.parse import (
    constant,
    node_text,
    place_of,
    refuse_other_parts,
    sql_text,
)

Bounds = tuple[float, float] | str

_OF_ONE: dict[type[sql.Expression], str] = {
    sql.Sum: "sum",
    sql.Avg: "mean",
    sql.Variance: "variance",
    sql.VariancePop: "variance",
    sql.Stddev: "std",
    sql.StddevSamp: "std",
    sql.StddevPop: "std",
    sql.Median: "median",
    sql.Min: "min",
    sql.Max: "max",
}
_OF_TWO: dict[type[sql.Expression], str] = {
    sql.CovarSamp: "covariance",
    sql.CovarPop: "covariance",
    sql.Corr: "correlation",
}
_QUANTILES = (sql.Quantile, sql.PercentileCont, sql.PercentileDisc)
NAMES = "COUNT SUM AVG VARIANCE STDDEV MEDIAN QUANTILE MIN MAX COVAR_SAMP CORR MODE"


def is_aggregate(node: Any) -> bool:
    """Whether a node aggregates rows."""
    kinds = (sql.AggFunc, sql.Filter, sql.WithinGroup)
    return isinstance(node, kinds) or type(node) in {*_OF_ONE, *_OF_TWO}


_CHOICES = (sql.Column, sql.Coalesce, sql.Nullif, sql.Case)


def bare_truth_values(outputs: Sequence[sql.Expression]) -> list[str]:
    """Return what stands in aggregates of numbers and may be a truth value by itself.

    That are columns, and what takes its values from one of several expressions.
    """
    kinds: tuple[Any, ...] = (*_OF_ONE, *_OF_TWO, *_QUANTILES)
    found = [node for each in outputs for node in each.find_all(*kinds)]
    inside = [node.this for node in found]
    inside += [node.expression for node in found if type(node) in _OF_TWO]
    alone = [each for each in inside if isinstance(each.unnest(), _CHOICES)]
    return list(dict.fromkeys(node_text(each) for each in alone))


def aggregate_of(
    node: sql.Expression,
    bounds: Mapping[str, Bounds],
    values: Mapping[str, Sequence[Any]],
) -> Any:
    """Return the aggregate that a node of SELECT asks for, or refuse it.

    `bounds` are public bounds by the text of an expression; `values` the public values
    that a MODE may take.
    """
    node, condition = split_filter(node)
    if isinstance(node, sql.WithinGroup):
        refuse_other_parts(node, "this expression")
        node = _percentile_as_quantile(node)
    if isinstance(node, sql.Count):
        return _count(node, condition)
    if isinstance(node, sql.CountIf):
        refuse_other_parts(node, "this")
        both = node.this if condition is None else sql.and_(node.this, condition)
        return _call_aggregate("sum", node, value_when(both, "1", "0"), bounds=(0, 1))
    kind = type(node)
    if kind in _OF_ONE:
        refuse_other_parts(node, "this")
        text, limits = bounded_expression(node.this, bounds, condition, node)
        return _call_aggregate(_OF_ONE[kind], node, text, bounds=limits)
    if kind in _OF_TWO:
        refuse_other_parts(node, "this expression")
        first, one = bounded_expression(node.this, bounds, condition, node)
        second, two = bounded_expression(node.expression, bounds, condition, node)
        return _call_aggregate(_OF_TWO[kind], node, first, second, bounds=(one, two))
    if isinstance(node, _QUANTILES):
        refuse_other_parts(node, "this expression quantile")
        level = constant(
            node.args.get("quantile") or node.args.get("expression"), "the level"
        )
        text, limits = bounded_expression(node.this, bounds, condition, node)
        return _call_aggregate("quantile", node, text, level, bounds=limits)
    if isinstance(node, sql.Mode) and condition is None:
        refuse_other_parts(node, "this")
        text = given_name(node.this, values)
        if text not in values:
            raise Unsupported(
                f"MODE needs the public values it may have{place_of(node)}: keys="
                f"{{{text!r}: [...]}} in Python, keys = [...] under [columns.{text}] "
                "in hush.toml.",
                code="keys-missing",
            )
        return _call_aggregate(
            "mode", node, sql_text(node.this), values=list(values[text])
        )
    from hush.tables.expressions import sql_suggestions

    mixed = any(is_aggregate(each) for each in node.walk())
    way = sql_suggestions.advice_for_output(node, NAMES, mixed=mixed)
    raise Unsupported(
        f"{node_text(node)!r} cannot be released{place_of(node)}. In SELECT may stand "
        f"columns of GROUP BY, and {NAMES}.{way}",
        code="not-an-aggregate",
    )


def split_filter(node: Any) -> tuple[Any, Any]:
    """Return an aggregate without FILTER, and the condition, None if there is none."""
    if not isinstance(node, sql.Filter):
        return node, None
    refuse_other_parts(node, "this expression")
    refuse_other_parts(node.expression, "this")
    return node.this, node.expression.this


def _call_aggregate(name: str, node: sql.Expression, *given: Any, **more: Any) -> Any:
    import hush.tables

    make = getattr(hush.tables, name, None)
    if make is None:
        raise Unsupported(f"{node_text(node)!r} is not there yet{place_of(node)}.")
    return make(*given, **more)


def _percentile_as_quantile(node: sql.WithinGroup) -> sql.Expression:
    """Return PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x) as QUANTILE(x, q)."""
    refuse_other_parts(node.expression, "expressions")
    ordered = node.expression.expressions
    inner = node.this
    if len(ordered) != 1 or ordered[0].args.get("desc"):
        raise Unsupported(f"WITHIN GROUP takes ORDER BY one column{place_of(node)}.")
    refuse_other_parts(ordered[0], "this")
    refuse_other_parts(inner, "this")
    if isinstance(inner, sql.Mode):
        return sql.Mode(this=ordered[0].this)
    if isinstance(inner, _QUANTILES):
        return sql.Quantile(this=ordered[0].this, quantile=inner.this)
    raise Unsupported(f"{node_text(inner)!r} takes no WITHIN GROUP{place_of(node)}.")


def _count(node: sql.Count, condition: sql.Expression | None) -> Any:
    refuse_other_parts(node, "this big_int")
    inner = node.this
    if isinstance(inner, sql.Star):
        refuse_other_parts(inner, "")
        if condition is None:
            return _call_aggregate("count", node)
        return _call_aggregate(
            "sum", node, value_when(condition, "1", "0"), bounds=(0, 1)
        )
    if isinstance(inner, sql.Distinct):
        if len(inner.expressions) != 1 or condition is not None:
            raise Unsupported(
                f"COUNT(DISTINCT x) takes one x and no FILTER{place_of(node)}."
            )
        refuse_other_parts(inner, "expressions")
        return _call_aggregate("count_distinct", node, sql_text(inner.expressions[0]))
    # A value that is there counts one: the same sensitivity as counting rows.
    known = sql.Not(this=sql.Is(this=inner, expression=sql.Null()))
    both = known if condition is None else sql.and_(known, condition)
    return _call_aggregate("sum", node, value_when(both, "1", "0"), bounds=(0, 1))


def value_when(condition: Any, then: str, other: str = "NULL") -> str:
    """Return the text of `then` where a condition holds; None always does."""
    if condition is None:
        return then
    last = "" if other == "NULL" else f" ELSE {other}"
    return f"CASE WHEN {sql_text(condition)} THEN {then}{last} END"


def bounded_expression(
    node: sql.Expression,
    bounds: Mapping[str, Bounds],
    condition: sql.Expression | None,
    whole: sql.Expression,
) -> tuple[str, Bounds]:
    """Return an expression and its public bounds: of CLAMP(x, 0, 80), or known ones.

    `whole` is the aggregate that it stands in.
    """
    if isinstance(node, sql.Distinct):
        raise Unsupported(
            f"DISTINCT stands in COUNT(DISTINCT x) only{place_of(whole)}, not in "
            f"{node_text(whole)!r}; MIN and MAX do not need it."
        )
    if isinstance(node, sql.Literal) and node.is_string:
        raise Unsupported(
            f"{node_text(node)} is a text{place_of(whole)}: single quotes are for "
            "texts, and a column is in double ones: "
            f"{node_text(sql.column(node.this, quoted=True))}."
        )
    if isinstance(node, sql.Anonymous) and str(node.this).upper() == "CLAMP":
        if len(node.expressions) != 3:
            raise Unsupported(
                f"CLAMP takes an expression and two numbers{place_of(node)}."
            )
        refuse_other_parts(node, "this expressions")
        node, *ends = node.expressions
        low, high = (constant(each, "a bound of CLAMP") for each in ends)
        limits: Bounds = (low, high)
    else:
        own = bounds.get(given_name(node, bounds)) or value_range.bounds(node)
        if own is None:
            raise Unsupported(_unbounded(node, whole), code="bounds-missing")
        limits = own
    return value_when(condition, sql_text(node)), limits


def given_name(node: sql.Expression, given: Mapping[str, Any]) -> str:
    """Return what an expression is called in what was given: a column by its name."""
    named = isinstance(node, sql.Column) and node.name in given
    return node.name if named else node_text(node)


def _unbounded(node: sql.Expression, whole: sql.Expression) -> str:
    """Say how to give an expression public bounds, and what is steadier than an end."""
    text = node_text(node)
    clamped = f"CLAMP({text}, 0, 100)"
    inside = whole.transform(
        lambda each: sql.Column(this=clamped) if each == node else each
    )
    more = ""
    if isinstance(whole, (sql.Min, sql.Max)):
        at = 0.99 if isinstance(whole, sql.Max) else 0.01
        more = (
            " The very end rests on few people, so noise moves it far; QUANTILE("
            f"{clamped}, {at}) is steadier."
        )
    return (
        f"{text!r} needs public bounds{place_of(node)}: write {node_text(inside)}, or "
        f"give them: bounds={{{text!r}: (0, 100)}} in Python, bounds = [0, 100] under "
        f"[columns.{text}] in hush.toml.{more}"
    )
