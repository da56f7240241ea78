"""Functions of an expression, by the names they have in SQL."""

from collections.abc import Callable
from typing import Any

import ibis.expr.types as ir
from sqlglot import expressions as sql

from hush.errors import Unsupported
from hush.tables.expressions import dates, numbers, texts
from hush.tables.expressions.parse import (
    Rule,
    compile_node,
    constant,
    date,
    learn,
    number,
    value,
    whole_constant,
)
from hush.tables.expressions.types import (
    Kind,
    Typed,
    date_of_text,
    number_of_text,
    of_truth,
)


def _number_rule(apply: Callable[[Typed], Typed]) -> Rule:
    return lambda table, node: apply(number(table, node.this))


def _extreme_rule(*, largest: bool) -> Rule:
    def rule(table: ir.Table, node: Any) -> Typed:
        parts = [number(table, each) for each in [node.this, *node.expressions]]
        return numbers.extreme_value(parts, largest=largest)

    return rule


def _text_rule(apply: Callable[[Any], Any]) -> Rule:
    return lambda table, node: Typed(
        Kind.TEXT, apply(value(table, node.this, Kind.TEXT))
    )


def _log(table: ir.Table, node: Any) -> Typed:
    if node.args.get("expression") is None:
        raise Unsupported("write LN(x), LOG10(x) or LOG2(x): LOG(x) means both.")
    base = whole_constant(node.this, "the base of LOG")
    if base not in (2, 10):
        raise Unsupported("LOG takes the bases 2 and 10; use LN(x) / LN(b).")
    return numbers.logarithm(number(table, node.expression), base)


def _power(table: ir.Table, node: Any) -> Typed:
    exponent = whole_constant(node.expression, "the exponent of POWER")
    return numbers.power(number(table, node.this), exponent)


def _substring(table: ir.Table, node: Any) -> Typed:
    start = whole_constant(node.args.get("start"), "the position of SUBSTRING")
    size_ = node.args.get("length")
    count = None if size_ is None else whole_constant(size_, "the length of SUBSTRING")
    return texts.substring(value(table, node.this, Kind.TEXT), start, count)


def _left(table: ir.Table, node: Any) -> Typed:
    count = whole_constant(node.expression, "the length of LEFT")
    return texts.substring(value(table, node.this, Kind.TEXT), 1, count)


def _bucket(table: ir.Table, node: Any) -> Typed:
    low, high = (
        constant(node.args.get(n), "a bound") for n in ("min_value", "max_value")
    )
    count = whole_constant(node.args.get("num_buckets"), "the number of buckets")
    return numbers.bucket(number(table, node.this), low, high, count)


def _reads_as_function(column: str, function: str) -> bool:
    """Whether a column's name, without its quotes, would be read as this function."""
    head, bracket, _ = column.partition("(")
    return bool(bracket) and head.strip().upper() == function


def _named_function(table: ir.Table, node: Any) -> Typed:
    """Return a function that only hush knows, or that sqlglot has no class for."""
    name, parts = str(node.this).upper(), node.expressions
    if name == "BIN" and len(parts) == 4:
        low, high = (constant(each, "a bound of BIN") for each in parts[1:3])
        count = whole_constant(parts[3], "the number of bins")
        return numbers.bin_start(number(table, parts[0]), low, high, count)
    if name == "DATE_PART" and len(parts) == 2 and isinstance(parts[0], sql.Literal):
        return dates.part(date(table, parts[1]), parts[0].this.upper())
    meant = [each for each in table.columns if _reads_as_function(each, name)]
    if meant:
        raise Unsupported(
            f"{node.sql(dialect='duckdb')!r} is no function that hush knows. In an "
            f"expression, column {meant[0]!r} is written in double quotes."
        )
    raise Unsupported(
        f"{node.sql(dialect='duckdb')!r} is no function that hush knows. BIN takes "
        "an expression, two bounds and a number of bins; CLAMP belongs directly into "
        "an aggregate."
    )


def _part(name: str) -> Rule:
    return lambda table, node: dates.part(date(table, node.this), name)


def _extract(table: ir.Table, node: Any) -> Typed:
    return dates.part(date(table, node.expression), node.this.name.upper())


def _truncate(table: ir.Table, node: Any) -> Typed:
    return dates.date_trunc(date(table, node.this), node.args["unit"].name.upper())


def _date_difference(table: ir.Table, node: Any) -> Typed:
    unit = node.args.get("unit")
    if unit is not None and unit.name.upper() != "DAY":
        raise Unsupported("DATE_DIFF counts days: write DATE_DIFF('day', start, end).")
    end, start = date(table, node.this), date(table, node.expression)
    return numbers.difference(dates.days(end), dates.days(start))


_CASTS = {
    "DOUBLE": "number",
    **dict.fromkeys(("INT", "BIGINT"), "whole"),
    **dict.fromkeys(("TEXT", "VARCHAR"), "text"),
    "DATE": "date",
}


def _cast(table: ir.Table, node: Any) -> Typed:
    kind = node.args["to"]
    target = _CASTS.get(kind.this.value)
    if any(given for name, given in kind.args.items() if name not in ("this", "kind")):
        raise Unsupported(
            f"{node.sql(dialect='duckdb')!r}: CAST takes no size. Write DOUBLE, BIGINT,"
            " VARCHAR or DATE, and ROUND(x * 100) / 100 or LEFT(x, 3) where digits or "
            "letters are to go."
        )
    if target is None:
        raise Unsupported(
            f"{node.sql(dialect='duckdb')!r}: CAST takes DOUBLE, INTEGER, BIGINT, "
            "VARCHAR and DATE, and no narrower type, whose rounding and limits engines "
            "do not share."
        )
    if target == "date" and isinstance(node.this, sql.Literal):
        return dates.literal(node.this.this)
    found = compile_node(table, node.this)
    if target == "text" and found.kind is Kind.TEXT:
        return found
    if target == "date" and found.kind is Kind.DATE:
        return Typed(Kind.DATE, dates.tame_date(found.value))
    if target == "date" and found.kind is Kind.TEXT:
        return date_of_text(found.value)
    if target in ("number", "whole"):
        result = found
        if found.kind is Kind.TEXT:
            result = number_of_text(found.value)
        elif found.kind is Kind.TRUTH:
            result = of_truth(found)
        if result.kind is Kind.NUMBER:
            return numbers.nearest_integer(result) if target == "whole" else result
    raise Unsupported(
        f"{node.sql(dialect='duckdb')!r}: engines write numbers and dates differently, "
        "so CAST takes texts and truth values to numbers, and texts to dates."
    )


_AT = "this expression"
learn(
    {
        sql.Cast: (_cast, "this to _type"),
        sql.TryCast: (_cast, "this to _type safe"),
        sql.Abs: (_number_rule(numbers.absolute), "this"),
        sql.Sign: (_number_rule(numbers.sign), "this"),
        sql.Floor: (_number_rule(numbers.floor), "this"),
        sql.Ceil: (_number_rule(numbers.ceil), "this"),
        sql.Round: (_number_rule(numbers.nearest_integer), "this"),
        sql.Sqrt: (_number_rule(numbers.square_root), "this"),
        sql.Ln: (_number_rule(numbers.logarithm), "this"),
        sql.Log: (_log, _AT),
        sql.Exp: (_number_rule(numbers.exponential), "this"),
        sql.Pow: (_power, _AT),
        sql.Least: (_extreme_rule(largest=False), "this expressions ignore_nulls"),
        sql.Greatest: (_extreme_rule(largest=True), "this expressions ignore_nulls"),
        sql.WidthBucket: (_bucket, "this min_value max_value num_buckets"),
        sql.Lower: (_text_rule(lambda value: value.lower()), "this"),
        sql.Upper: (_text_rule(lambda value: value.upper()), "this"),
        sql.Trim: (_text_rule(texts.trim), "this"),
        sql.Length: (
            lambda table, node: texts.length(value(table, node.this, Kind.TEXT)),
            "this",
        ),
        sql.Substring: (_substring, "this start length"),
        sql.Left: (_left, _AT),
        sql.Year: (_part("YEAR"), "this"),
        sql.Quarter: (_part("QUARTER"), "this"),
        sql.Month: (_part("MONTH"), "this"),
        sql.Day: (_part("DAY"), "this"),
        sql.DayOfWeekIso: (_part("ISODOW"), "this"),
        sql.Extract: (_extract, _AT),
        sql.TimestampTrunc: (_truncate, "this unit"),
        sql.DateTrunc: (_truncate, "this unit"),
        sql.DateDiff: (_date_difference, "this expression unit date_part_boundary"),
        sql.Anonymous: (_named_function, "this expressions"),
    }
)
