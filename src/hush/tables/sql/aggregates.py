"""Aggregates by their names in SQL, as the functions of `hush.tables`."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import expressions as sql

from hush.errors import Unsupported
from hush.tables.expressions import value_range
from hush.tables.expressions.node import constant
from hush.tables.expressions.parse import only, place, spelt, words

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


def bare(outputs: Sequence[sql.Expression]) -> list[str]:
    """Return what stands in aggregates of numbers and may be a truth value by itself.

    That are columns, and what takes its values from one of several expressions.
    """
    kinds: tuple[Any, ...] = (*_OF_ONE, *_OF_TWO, *_QUANTILES)
    found = [node for each in outputs for node in each.find_all(*kinds)]
    inside = [node.this for node in found]
    inside += [node.expression for node in found if type(node) in _OF_TWO]
    alone = [each for each in inside if isinstance(each.unnest(), _CHOICES)]
    return list(dict.fromkeys(spelt(each) for each in alone))


def aggregated(
    node: sql.Expression,
    bounds: Mapping[str, Bounds],
    values: Mapping[str, Sequence[Any]],
) -> Any:
    """Return the aggregate that a node of SELECT asks for, or refuse it.

    `bounds` are public bounds by the text of an expression; `values` the public values
    that a MODE may take.
    """
    node, condition = filtered(node)
    if isinstance(node, sql.WithinGroup):
        only(node, "this expression")
        node = _within(node)
    if isinstance(node, sql.Count):
        return _count(node, condition)
    if isinstance(node, sql.CountIf):
        only(node, "this")
        both = node.this if condition is None else sql.and_(node.this, condition)
        return _made("sum", node, when(both, "1", "0"), bounds=(0, 1))
    kind = type(node)
    if kind in _OF_ONE:
        only(node, "this")
        text, limits = bounded(node.this, bounds, condition, node)
        return _made(_OF_ONE[kind], node, text, bounds=limits)
    if kind in _OF_TWO:
        only(node, "this expression")
        first, one = bounded(node.this, bounds, condition, node)
        second, two = bounded(node.expression, bounds, condition, node)
        return _made(_OF_TWO[kind], node, first, second, bounds=(one, two))
    if isinstance(node, _QUANTILES):
        only(node, "this expression quantile")
        level = constant(
            node.args.get("quantile") or node.args.get("expression"), "the level"
        )
        text, limits = bounded(node.this, bounds, condition, node)
        return _made("quantile", node, text, level, bounds=limits)
    if isinstance(node, sql.Mode) and condition is None:
        only(node, "this")
        text = called(node.this, values)
        if text not in values:
            raise Unsupported(
                f"MODE needs the public values it may have{place(node)}: keys="
                f"{{{text!r}: [...]}} in Python, keys = [...] under [columns.{text}] "
                "in hush.toml.",
                code="keys-missing",
            )
        return _made("mode", node, words(node.this), values=list(values[text]))
    from hush.tables.expressions import sql_suggestions

    mixed = any(is_aggregate(each) for each in node.walk())
    way = sql_suggestions.output(node, NAMES, mixed=mixed)
    raise Unsupported(
        f"{spelt(node)!r} cannot be released{place(node)}. In SELECT may stand columns "
        f"of GROUP BY, and {NAMES}.{way}",
        code="not-an-aggregate",
    )


def filtered(node: Any) -> tuple[Any, Any]:
    """Return an aggregate without FILTER, and the condition, None if there is none."""
    if not isinstance(node, sql.Filter):
        return node, None
    only(node, "this expression")
    only(node.expression, "this")
    return node.this, node.expression.this


def _made(name: str, node: sql.Expression, *given: Any, **more: Any) -> Any:
    import hush.tables

    make = getattr(hush.tables, name, None)
    if make is None:
        raise Unsupported(f"{spelt(node)!r} is not there yet{place(node)}.")
    return make(*given, **more)


def _within(node: sql.WithinGroup) -> sql.Expression:
    """Return PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x) as QUANTILE(x, q)."""
    only(node.expression, "expressions")
    ordered = node.expression.expressions
    inner = node.this
    if len(ordered) != 1 or ordered[0].args.get("desc"):
        raise Unsupported(f"WITHIN GROUP takes ORDER BY one column{place(node)}.")
    only(ordered[0], "this")
    only(inner, "this")
    if isinstance(inner, sql.Mode):
        return sql.Mode(this=ordered[0].this)
    if isinstance(inner, _QUANTILES):
        return sql.Quantile(this=ordered[0].this, quantile=inner.this)
    raise Unsupported(f"{spelt(inner)!r} takes no WITHIN GROUP{place(node)}.")


def _count(node: sql.Count, condition: sql.Expression | None) -> Any:
    only(node, "this big_int")
    inner = node.this
    if isinstance(inner, sql.Star):
        only(inner, "")
        if condition is None:
            return _made("count", node)
        return _made("sum", node, when(condition, "1", "0"), bounds=(0, 1))
    if isinstance(inner, sql.Distinct):
        if len(inner.expressions) != 1 or condition is not None:
            raise Unsupported(
                f"COUNT(DISTINCT x) takes one x and no FILTER{place(node)}."
            )
        only(inner, "expressions")
        return _made("count_distinct", node, words(inner.expressions[0]))
    # A value that is there counts one: the same sensitivity as counting rows.
    known = sql.Not(this=sql.Is(this=inner, expression=sql.Null()))
    both = known if condition is None else sql.and_(known, condition)
    return _made("sum", node, when(both, "1", "0"), bounds=(0, 1))


def when(condition: Any, then: str, other: str = "NULL") -> str:
    """Return the text of `then` where a condition holds; None always does."""
    if condition is None:
        return then
    last = "" if other == "NULL" else f" ELSE {other}"
    return f"CASE WHEN {words(condition)} THEN {then}{last} END"


def bounded(
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
            f"DISTINCT stands in COUNT(DISTINCT x) only{place(whole)}, not in "
            f"{spelt(whole)!r}; MIN and MAX do not need it."
        )
    if isinstance(node, sql.Literal) and node.is_string:
        raise Unsupported(
            f"{spelt(node)} is a text{place(whole)}: single quotes are for texts, and "
            f"a column is in double ones: {spelt(sql.column(node.this, quoted=True))}."
        )
    if isinstance(node, sql.Anonymous) and str(node.this).upper() == "CLAMP":
        if len(node.expressions) != 3:
            raise Unsupported(
                f"CLAMP takes an expression and two numbers{place(node)}."
            )
        only(node, "this expressions")
        node, *ends = node.expressions
        low, high = (constant(each, "a bound of CLAMP") for each in ends)
        limits: Bounds = (low, high)
    else:
        own = bounds.get(called(node, bounds)) or value_range.bounds(node)
        if own is None:
            raise Unsupported(_unbounded(node, whole), code="bounds-missing")
        limits = own
    return when(condition, words(node)), limits


def called(node: sql.Expression, given: Mapping[str, Any]) -> str:
    """Return what an expression is called in what was given: a column by its name."""
    named = isinstance(node, sql.Column) and node.name in given
    return node.name if named else spelt(node)


def _unbounded(node: sql.Expression, whole: sql.Expression) -> str:
    """Say how to give an expression public bounds, and what is steadier than an end."""
    text = spelt(node)
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
        f"{text!r} needs public bounds{place(node)}: write {spelt(inside)}, or give "
        f"them: bounds={{{text!r}: (0, 100)}} in Python, bounds = [0, 100] under "
        f"[columns.{text}] in hush.toml.{more}"
    )
