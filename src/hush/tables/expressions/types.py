"""Values of one row with their kind, and what is publicly known of their size.

Engines disagree about NaN, infinities, overflow and underflow. A tame number is a
double that is none of these: NULL, zero, or of a magnitude between two public limits.
The limits are carried along, so that a guard is put in only where the next operation
could leave the range of doubles.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, final

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from hush.errors import Unsupported
from hush.tables.expressions.date_range import tame_moment

LARGE, SMALL = 1e70, 1e-70  # a tame number: four of them multiply within range
TOP, BOTTOM = 1e300, 1e-300  # what an operation may reach before it is tamed again
EXACT = 2.0**52  # from here on every double is whole
_USUAL, _DIGITS = 38, 76  # of a decimal, as many as engines and Arrow have


class Kind(StrEnum):
    """What an expression yields."""

    NUMBER = "number"
    TEXT = "text"
    TRUTH = "truth value"
    DATE = "date"


@final
@dataclass(frozen=True)
class Typed:
    """An Ibis value, its kind and, of a number, public limits of its magnitude.

    Guarantee: a number that is neither NULL nor zero lies in ±[`least`, `most`].
    """

    kind: Kind
    value: Any
    least: float = SMALL
    most: float = LARGE


def closed_truth(truth: Any) -> Any:
    """Return a truth value that stays whole wherever it is put.

    Ibis writes NOT, IS NULL, BETWEEN and IN without parentheses, inside of others too:
    (NOT b) IS NULL would be read as NOT (b IS NULL). AND is always in parentheses, and
    with TRUE it changes nothing, NULL included.
    """
    return truth & ibis.literal(value=True)


def number_within(value: Any, least: float, most: float) -> Typed:
    """Return a number whose limits are known; they must stay inside doubles."""
    if not (least >= BOTTOM and most <= TOP):
        raise Unsupported("a number of the expression is too large or too small.")
    return Typed(Kind.NUMBER, value, least, most)


def finite_double(value: ir.NumericValue, *, floating: bool = True) -> Any:
    """Return a number as a double without NaN and inside 10^±70; NULL stays NULL.

    Guarantee: sums, differences, products and quotients of two tame numbers are finite
    doubles, so no engine raises and none yields NaN.
    """
    number = value.cast("float64") if not value.type().is_float64() else value
    if floating:
        number = ibis.ifelse(number.isnan(), ibis.null("float64"), number)
    return ibis.cases(
        (number > LARGE, LARGE),
        (number < -LARGE, -LARGE),
        ((number < SMALL) & (number > -SMALL), 0.0),
        else_=number,
    )


def within_limits(number: Typed) -> Typed:
    """Return the number inside the tame limits, guarded only where it may not be."""
    if number.least >= SMALL and number.most <= LARGE:
        return number
    return Typed(Kind.NUMBER, finite_double(number.value, floating=False))


def unknown_column(name: str, columns: Iterable[str]) -> str:
    """Say that there is no such column, and which there are.

    Example:
        >>> unknown_column("Fair", ["fare", "who"])
        "there is no column 'Fair'; did you mean 'fare'? The columns are fare, who."
    """
    return f"there is no column {name!r}; {near_columns(name, columns)}"


def near_columns(name: object, columns: Iterable[str]) -> str:
    """Return which column a name is near to, and which there are.

    Example:
        >>> near_columns("Fair", ["fare", "who"])
        "did you mean 'fare'? The columns are fare, who."
    """
    known = {each.lower(): each for each in columns}
    word = name.lower() if isinstance(name, str) else ""
    near = difflib.get_close_matches(word, known, 1)
    start = f"did you mean {known[near[0]]!r}? The" if near else "the"
    listed = f"columns are {', '.join(map(list_name, sorted(known.values())))}."
    if word.startswith("_"):
        listed += (
            " Those whose names start with an underscore are left out, because hush "
            "calls its own so: rename it in the data."
        )
    return f"{start} {listed}"


def list_name(name: str) -> str:
    """Return a name for a list of names: in quotes where it has a comma of its own.

    Example:
        >>> list_name("fare"), list_name("income, €")
        ('fare', '"income, €"')
    """
    return f'"{name}"' if "," in name else name


def column(table: ir.Table, name: str) -> Typed:
    """Return a column of a table, tamed, or say what is wrong with it."""
    if name not in table.columns:
        raise Unsupported(unknown_column(name, table.columns), code="unknown-column")
    value = table[name]
    dtype = value.type()
    if dtype.is_boolean():
        return Typed(Kind.TRUTH, closed_truth(value))
    if dtype.is_integer():
        return number_within(value.cast("float64"), 1.0, 2.0**64)
    if dtype.is_floating():
        return Typed(Kind.NUMBER, finite_double(value))
    if dtype.is_decimal() and _is_double(dtype):
        return Typed(Kind.NUMBER, finite_double(value, floating=False))
    if dtype.is_string():
        return Typed(Kind.TEXT, value)
    if dtype.is_date() or _is_plain_timestamp(value):
        return Typed(Kind.DATE, value)
    raise Unsupported(
        f"column {name!r} has type {dtype}, which no expression may use. "
        "Convert it to a number, a text, a date or a timestamp without a zone in a "
        "view."
    )


def _is_double(decimal: Any) -> bool:
    """Whether every value of a decimal type is near a double.

    PostgreSQL has a thousand digits, and fails on those that no double is near.
    """
    digits = (decimal.precision, decimal.scale)
    return all(each is not None and abs(each) <= _DIGITS for each in digits)


def _fetchable(decimal: Any) -> Any:
    """Return a decimal that is what its type says, or NULL.

    PostgreSQL has NaN among them, and DuckDB's largest whole numbers 39 digits.
    """
    limit = 1e38 if decimal.type().precision <= _USUAL else 1e77
    held = decimal.cast("float64").abs() < limit
    return ibis.ifelse(held, decimal, ibis.null(decimal.type()))


def one_zero(number: Any) -> Any:
    """Return a double without the sign of a zero."""
    # Not number + 0.0, which Polars takes for the number.
    return ibis.ifelse(number == 0.0, ibis.literal(0.0, "float64"), number)


def told_apart(table: ir.Table, columns: tuple[str, ...]) -> ir.Table:
    """Return the table with one way to write each value of columns that name things.

    Engines group 0.0 with -0.0 and show the one they met first: a bit of the data that
    no noise covers, and one person or node with two hashes. NaN has no value, as
    everywhere, nor has a day that Python does not know. Types whose values are written
    in ways that cannot be counted, or at all, are refused.
    """
    plain: dict[str, Any] = {}
    for name in columns:
        value, dtype = table[name], table[name].type()
        if dtype.is_boolean():
            plain[name] = closed_truth(value)
        if dtype.is_floating():
            plain[name] = value_where(~value.isnan(), one_zero(value.cast("float64")))
        if dtype.is_date() or _is_plain_timestamp(value):
            plain[name] = tame_moment(value, backend_of(value))
        endless = dtype.is_decimal() and not _is_double(dtype)
        if dtype.is_decimal() and not endless:
            plain[name] = _fetchable(value)
        if dtype.is_unknown():
            raise Unsupported(
                f"column {name!r} has a type that hush does not know. Convert it to a "
                "whole number or a text in a view."
            )
        timed = dtype.is_interval() or dtype.is_time()
        if endless or timed or dtype.is_json() or dtype.is_nested():
            raise Unsupported(
                f"column {name!r} has type {dtype}, in which equal values can be "
                "written differently. Convert it to a whole number or a text in a view."
            )
    return table.mutate(**plain) if plain else table


def named_apart(table: ir.Table, columns: tuple[str, ...]) -> ir.Table:
    """Return the table with columns that name groups: `told_apart`, and held.

    A double is inside 10^±70, as in every expression: infinities are one group with
    what lies beyond.
    """
    told = told_apart(table, columns)
    floats = [name for name in columns if told[name].type().is_floating()]
    held = {
        name: one_zero(finite_double(told[name], floating=False)) for name in floats
    }
    return told.mutate(**held) if held else told


def _is_plain_timestamp(value: Any) -> bool:
    """Whether the day of a timestamp is the same in every session.

    Spark has but one kind of timestamp; Ibis pins its session to UTC.
    """
    dtype = value.type()
    if not dtype.is_timestamp():
        return False
    return dtype.timezone is None or backend_of(value) == "pyspark"


def backend_of(value: Any) -> str:
    """Return the name of the engine that a value lives on; of a literal nothing."""
    tables = [each for each in value.op().find(ops.Relation) if not _is_unbound(each)]
    return str(tables[0].to_expr().get_backend().name) if tables else ""


def _is_unbound(relation: Any) -> bool:
    return bool(relation.find(ops.UnboundTable))


def node_count(value: Any) -> int:
    """Return how many nodes a value has once engines have written it out in full."""
    known: dict[Any, int] = {}

    def count(node: Any) -> int:
        if node not in known:
            values = [
                each for each in node.__children__ if not isinstance(each, ops.Relation)
            ]
            known[node] = 1 + sum(count(each) for each in values)
        return known[node]

    return count(value.op())


def value_where(condition: Any, value: Any) -> Any:
    """Return the engine's number where a condition holds, and NULL elsewhere."""
    return ibis.ifelse(condition, value, ibis.null("float64"))


def of_truth(x: Typed) -> Typed:
    """A truth value as 1 or 0; whatever else is given stays."""
    if x.kind is not Kind.TRUTH:
        return x
    return number_within(
        ibis.cases((x.value, 1.0), (~x.value, 0.0), else_=ibis.null("float64")),
        1.0,
        1.0,
    )


# -- What a text spells, in a file or where it is cast.

# Engines accept different spellings of numbers, and some fail on '1e999'. Only these
# are read, of at most 10^129. The end is checked by a second pattern, because `$` also
# stands before a last newline on some engines.
_NUMBER = r"^[+-]?([0-9]{1,30}([.][0-9]{0,30})?|[.][0-9]{1,30})([eE][+-]?[0-9]{1,2})?$"
_NOT_NUMBER = r"[^0-9eE.+-]"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_NOT_DATE = r"[^0-9-]"
_BLANKS = "[ \t\n\r\v\f]+"


def stripped_text(text: Any) -> Any:
    """Return a text without blanks at either end: a file may have them behind commas.

    They are spaces, tabs and line ends. Ibis has a function for this, which on Spark
    also strips the letters n, r, t and f.
    """
    if backend_of(text) == "duckdb":
        return text.strip()
    return text.re_replace(f"^{_BLANKS}|{_BLANKS}$", "")


def number_of_text(text: Any) -> Typed:
    """Return the number that a text spells, as '-12.5' or '3e8'; of others NULL.

    Blanks around it do not count.
    """
    text = stripped_text(text)
    fine = text.re_search(_NUMBER) & ~text.re_search(_NOT_NUMBER)
    read = ibis.ifelse(fine, text, ibis.literal("0")).cast("float64")
    return Typed(
        Kind.NUMBER,
        finite_double(ibis.ifelse(fine, read, ibis.null("float64")), floating=False),
    )


def date_of_text(text: Any) -> Typed:
    """Return the date that a text spells as '2026-01-31'; of others NULL.

    Blanks around it do not count.
    """
    text = stripped_text(text)
    shaped = text.re_search(_DATE) & ~text.re_search(_NOT_DATE)
    safe = ibis.ifelse(shaped, text, ibis.literal("0000-00-00"))
    year = safe.substr(0, 4).cast("int64")
    month = safe.substr(5, 2).cast("int64")
    day = safe.substr(8, 2).cast("int64")
    leap = ((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0)
    last = ibis.cases(
        (month == 2, ibis.ifelse(leap, 29, 28)),
        ((month == 4) | (month == 6) | (month == 9) | (month == 11), 30),
        else_=31,
    )
    real = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= last)
    fine = shaped & real
    read = ibis.ifelse(fine, text, ibis.literal("2000-01-01")).cast("date")
    return Typed(Kind.DATE, ibis.ifelse(fine, read, ibis.null("date")))


def truth_of_text(text: Any) -> Typed:
    """Return the truth value that 'true' or 'false' spells; of other texts NULL.

    Blanks around it do not count.
    """
    text = stripped_text(text)
    value = ibis.cases(
        (text == "true", ibis.literal(value=True)),
        (text == "false", ibis.literal(value=False)),
        else_=ibis.null("boolean"),
    )
    return Typed(Kind.TRUTH, value)
