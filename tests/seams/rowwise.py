"""Hush's expressions over one plain Python row, by a tree and a reader of our own.

It shares nothing with the code under test: no Ibis, no sqlglot, no engine. The rules
are those of `docs/tables.md`: three truth values, NaN is NULL, numbers are doubles,
held inside 10^±70 where they are read, what has no value is NULL.
"""

import calendar
import datetime
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

NUMBER, TEXT, TRUTH, DATE, TIME = "number", "text", "truth", "date", "time"
LARGEST, SMALLEST = 1e70, 1e-70
SPELLED = re.compile(
    r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?", re.ASCII
)
BLANKS = " \t\n\r\v\f"
DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")


@dataclass(frozen=True)
class Node:
    """An expression; `kind` is the kind of its values."""

    kind: str


@dataclass(frozen=True)
class Column(Node):
    name: str


@dataclass(frozen=True)
class Literal(Node):
    value: Any


@dataclass(frozen=True)
class Call(Node):
    """A function; `options` are literals that stand behind its arguments."""

    name: str
    arguments: tuple[Node, ...]
    options: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Infix(Node):
    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Prefix(Node):
    operator: str
    inner: Node


@dataclass(frozen=True)
class Is(Node):
    """`inner IS NULL`, `IS NOT NULL`, `IS TRUE`, and so on."""

    inner: Node
    what: str


@dataclass(frozen=True)
class Between(Node):
    inner: Node
    low: Node
    high: Node
    negated: bool = False


@dataclass(frozen=True)
class Member(Node):
    inner: Node
    values: tuple[Literal, ...]
    negated: bool = False


@dataclass(frozen=True)
class Like(Node):
    inner: Node
    pattern: str
    negated: bool = False


@dataclass(frozen=True)
class Case(Node):
    branches: tuple[tuple[Node, Node], ...]
    default: Node | None


@dataclass(frozen=True)
class Cast(Node):
    inner: Node
    to: str


Row = Mapping[str, Any]


def held(value: float | None) -> float | None:
    """Return a number by the rule for numbers: NaN is NULL, magnitudes are held."""
    if value is None or value != value:
        return None
    if abs(value) > LARGEST:
        return math.copysign(LARGEST, value)
    return 0.0 if abs(value) < SMALLEST else value


def stored(kind: str, value: Any) -> Any:
    """Return what a cell of a table holds, as a value of its kind."""
    if value is None or kind != NUMBER:
        return value
    return held(float(value))


def negation(value: bool | None) -> bool | None:
    """NOT, which leaves NULL alone."""
    return None if value is None else not value


def both(left: bool | None, right: bool | None) -> bool | None:
    """AND: one false is enough, else one NULL is."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def either(left: bool | None, right: bool | None) -> bool | None:
    """OR: one true is enough, else one NULL is."""
    return negation(both(negation(left), negation(right)))


def ordered(value: Any) -> Any:
    """Return what values of one comparison are compared by: a date is a midnight."""
    if isinstance(value, datetime.datetime):
        return value
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day)
    return value.encode() if isinstance(value, str) else value


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda one, two: one == two,
    "<>": lambda one, two: one != two,
    "<": lambda one, two: one < two,
    "<=": lambda one, two: one <= two,
    ">": lambda one, two: one > two,
    ">=": lambda one, two: one >= two,
}


def compared(operator: str, left: Any, right: Any) -> bool | None:
    """One comparison; NULL makes it NULL, but not that of IS DISTINCT FROM."""
    if operator.endswith("DISTINCT FROM"):
        same = left is right if None in (left, right) else left == right
        return bool(same) == ("NOT" in operator)
    if left is None or right is None:
        return None
    return bool(COMPARISONS[operator](ordered(left), ordered(right)))


CROSSINGS: list[str] = []  # steps that may hold an operand; see `asking.excused`
ROOM = 1e280


def entering(operator: str, *values: float) -> None:
    """Note whether a step may have to hold one of its operands."""
    if any(held(value) != value for value in values):
        CROSSINGS.append(operator)


def computed(operator: str, left: float | None, right: float | None) -> float | None:
    """One step of arithmetic in doubles."""
    if left is None or right is None:
        return None
    entering(operator, left, right)
    found = STEPS[operator](left, right)
    if found is None or found == 0 or 1 / ROOM < abs(found) < ROOM:
        return found
    return STEPS[operator](held(left), held(right))


STEPS: dict[str, Callable[[Any, Any], float | None]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right if right else None,
}


def rounded(value: float) -> float:
    """Return the nearest whole number, halves away from zero."""
    whole = math.floor(abs(Fraction(value)) + Fraction(1, 2))
    return math.copysign(float(whole), value)


def power(value: float, exponent: int) -> float | None:
    """Return a whole power, NULL for one over zero: several steps."""
    found = _power(value, abs(exponent))
    entering("POWER", float(found))
    if exponent < 0:
        return None if found == 0 else float(1 / found)
    return float(found)


def _power(value: float, exponent: int) -> Fraction:
    largest = Fraction(10) ** 300
    return max(-largest, min(largest, Fraction(value) ** exponent))


def bin_of(value: float, lower: float, upper: float, parts: int) -> float | None:
    """Return the lower end of the bin that holds `value`, the last one both ends."""
    low, high, exact = Fraction(lower), Fraction(upper), Fraction(value)
    if not low <= exact <= high:
        return None
    place = min(math.floor((exact - low) * parts / (high - low)), parts - 1)
    return float(low + place * (high - low) / parts)


def bucket_of(value: float, lower: float, upper: float, parts: int) -> float:
    """WIDTH_BUCKET of the SQL standard: 0 below, one more than `parts` above."""
    low, high, exact = Fraction(lower), Fraction(upper), Fraction(value)
    if exact < low:
        return 0.0
    if exact >= high:
        return float(parts + 1)
    return float(math.floor((exact - low) * parts / (high - low)) + 1)


def logarithm(function: Callable[[float], float]) -> Callable[[float], float | None]:
    return lambda value: function(value) if value > 0 else None


NUMERIC: dict[str, Callable[..., float | None]] = {
    "ABS": abs,
    "SIGN": lambda value: float((value > 0) - (value < 0)),
    "FLOOR": lambda value: float(math.floor(value)),
    "CEIL": lambda value: float(math.ceil(value)),
    "ROUND": rounded,
    "SQRT": lambda value: math.sqrt(value) if value >= 0 else None,
    "LN": logarithm(math.log),
    "LOG2": logarithm(math.log2),
    "LOG10": logarithm(math.log10),
    "EXP": lambda value: math.exp(max(-300.0, min(300.0, value))),
    "POWER": power,
    "BIN": bin_of,
    "WIDTH_BUCKET": bucket_of,
}


def quarter(day: datetime.date) -> int:
    return (day.month + 2) // 3


def truncated(day: datetime.date, unit: str) -> datetime.date:
    """Return the first day of the year, quarter, month or week of `day`."""
    day = datetime.date(day.year, day.month, day.day)
    if unit == "week":
        return day - datetime.timedelta(days=day.weekday())
    if unit == "day":
        return day
    month = {"year": 1, "quarter": 3 * quarter(day) - 2, "month": day.month}[unit]
    return datetime.date(day.year, month, 1)


def days(one: datetime.date, two: datetime.date) -> float:
    return float(two.toordinal() - one.toordinal())


OTHERS: dict[str, Callable[..., Any]] = {
    "LENGTH": lambda text: float(len(text)),
    "TRIM": lambda text: text.strip(" "),
    "SUBSTRING": lambda text, at, size: text[at - 1 : at - 1 + size],
    "LEFT": lambda text, size: text[:size],
    "LOWER": str.lower,
    "UPPER": str.upper,
    "YEAR": lambda day: float(day.year),
    "QUARTER": lambda day: float(quarter(day)),
    "MONTH": lambda day: float(day.month),
    "DAY": lambda day: float(day.day),
    "ISODOW": lambda day: float(day.isoweekday()),
    "DATE_TRUNC": truncated,
    "DATE_DIFF": days,
}


def called(name: str, values: list[Any], options: tuple[Any, ...]) -> Any:
    """Return the value of a function; but for four of them NULL makes it NULL."""
    if name == "COALESCE":
        return next((value for value in values if value is not None), None)
    if name == "NULLIF":
        return None if compared("=", *values) else values[0]
    if name == "IF":
        return values[1] if values[0] is True else values[2]
    if name in ("LEAST", "GREATEST"):
        known = [value for value in values if value is not None]
        return (min if name == "LEAST" else max)(known, default=None)
    if None in values:
        return None
    if name in NUMERIC:
        return NUMERIC[name](*values, *options)
    return OTHERS[name](*values, *options)


def cast(value: Any, kind: str, to: str) -> Any:
    """Return a value of another kind, NULL where a text does not spell one.

    Blanks around what a text spells do not count.
    """
    if value is None:
        return None
    if kind == TEXT:
        value = value.strip(BLANKS)
    if to == "DATE":
        return day_of(value) if kind == TEXT else truncated(value, "day")
    if kind == TEXT:
        value = held(float(value)) if SPELLED.fullmatch(value) else None
    number = float(value) if value is not None else None
    if number is None or to == "DOUBLE":
        return number
    return rounded(number)


def day_of(text: str) -> datetime.date | None:
    """Return the day that a text spells as 2026-01-31."""
    found = DAY.fullmatch(text)
    if not found or not text.isascii():
        return None
    year, month, day = map(int, found.groups())
    if year < 1 or not 1 <= month <= 12:
        return None
    if not 1 <= day <= calendar.monthrange(year, month)[1]:
        return None
    return datetime.date(year, month, day)


def matches(text: str | None, pattern: str) -> bool | None:
    """LIKE with % alone."""
    if text is None:
        return None
    parts = [re.escape(part) for part in pattern.split("%")]
    return re.fullmatch(".*".join(parts), text, re.DOTALL) is not None


def is_what(value: Any, what: str) -> bool:
    """IS NULL, IS TRUE, IS FALSE and their opposites: never NULL."""
    wanted = {"NULL": None, "TRUE": True, "FALSE": False}[what.removeprefix("NOT ")]
    return (value is wanted) != what.startswith("NOT ")


def evaluate(node: Node, row: Row) -> Any:
    """Return the value of an expression in one row."""
    match node:
        case Column(kind, name):
            return stored(kind, row[name])
        case Literal(kind, value):
            return held(float(value)) if kind == NUMBER else value
        case Call(_, name, arguments, options):
            return called(name, [evaluate(each, row) for each in arguments], options)
        case Infix(_, "AND", left, right):
            return both(evaluate(left, row), evaluate(right, row))
        case Infix(_, "OR", left, right):
            return either(evaluate(left, row), evaluate(right, row))
        case Infix(kind, operator, left, right):
            work = compared if kind == TRUTH else computed
            return work(operator, evaluate(left, row), evaluate(right, row))
        case Prefix(_, "NOT", inner):
            return negation(evaluate(inner, row))
        case Prefix(_, _, inner):
            value = evaluate(inner, row)
            return None if value is None else 0.0 - value
        case Is(_, inner, what):
            return is_what(evaluate(inner, row), what)
        case Cast(_, inner, to):
            return cast(evaluate(inner, row), inner.kind, to)
        case _:
            return evaluate_more(node, row)


def evaluate_more(node: Node, row: Row) -> Any:
    """Return the value of what tests ranges, lists and patterns, and of CASE."""
    match node:
        case Between(_, inner, low, high, negated):
            value = evaluate(inner, row)
            above = compared(">=", value, evaluate(low, row))
            inside = both(above, compared("<=", value, evaluate(high, row)))
        case Member(_, inner, values, negated):
            value, inside = evaluate(inner, row), False
            for each in values:
                inside = either(inside, compared("=", value, evaluate(each, row)))
        case Like(_, inner, pattern, negated):
            inside = matches(evaluate(inner, row), pattern)
        case Case(_, branches, default):
            for condition, result in branches:
                if evaluate(condition, row) is True:
                    return evaluate(result, row)
            return evaluate(default, row) if default is not None else None
        case _:
            raise TypeError(type(node).__name__)
    return negation(inside) if negated else inside
