"""Statements of hush's SQL, their text and their answer over plain Python rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from seams.rowwise import Node, Row, evaluate, held
from seams.spelling import Speller, literal

STEPS = 2**23  # a row counts as one of at least so many steps between its bounds
CELLS = 2**13  # at least so many places a median or an end may be found at


@dataclass(frozen=True)
class Aggregate:
    """One aggregate; `bounds` clamp what SUM, AVG and their kin add up."""

    name: str
    argument: Node | None = None
    where: Node | None = None
    bounds: tuple[float, float] | None = None
    at: float | None = None
    loose: float = 0.0

    def text(self, speller: Speller) -> str:
        inner = "*" if self.argument is None else speller.write(self.argument)
        if self.bounds:
            inner = f"CLAMP({inner}, {', '.join(map(literal, self.bounds))})"
        if self.name == "COUNT DISTINCT":
            text = f"COUNT(DISTINCT {inner})"
        elif self.at is not None:
            text = f"QUANTILE({inner}, {self.at!r})"
        else:
            text = f"{self.name}({inner})"
        if self.where is not None:
            text += f" FILTER (WHERE {speller.write(self.where)})"
        return text


@dataclass(frozen=True)
class Statement:
    """SELECT groups and aggregates FROM a table, WHERE a condition, GROUP BY them.

    With `within`, the table is a subquery: `columns` of the rows it is true of.
    """

    aggregates: tuple[Aggregate, ...]
    by: tuple[Node, ...] = ()
    where: Node | None = None
    full: bool = True
    within: Node | None = None
    columns: tuple[str, ...] = ()

    def text(self, table: str) -> str:
        speller = Speller(full=self.full)
        items = [f"{speller.write(each)} AS g{i}" for i, each in enumerate(self.by)]
        items += [
            f"{each.text(speller)} AS a{i}" for i, each in enumerate(self.aggregates)
        ]
        if self.within is not None:
            inner = f"SELECT {', '.join(self.columns)} FROM {table}"
            table = f"({inner} WHERE {speller.write(self.within)}) AS q"
        text = f"SELECT {', '.join(items)} FROM {table}"
        if self.where is not None:
            text += f" WHERE {speller.write(self.where)}"
        if self.by:
            text += f" GROUP BY {', '.join(f'g{i}' for i in range(len(self.by)))}"
        return text


@dataclass
class Expected:
    """What an answer must be: between `low` and `high`, or anything at all."""

    low: float = -math.inf
    high: float = math.inf

    def admits(self, value: Any) -> bool:
        if self.low == -math.inf:
            return True
        return self.low <= float(value) <= self.high


@dataclass
class Answers:
    """The expected answer of every group that rows are in, and of an empty one."""

    groups: dict[tuple[Any, ...], list[Expected]] = field(default_factory=dict)
    empty: list[Expected] = field(default_factory=list)


def near(value: float, error: float) -> Expected:
    error += 1e-9 * (1 + abs(value))
    return Expected(value - error, value + error)


def key_of(value: Any) -> Any:
    """Return a key in one spelling: numbers are held, and -0.0 is 0.0."""
    found = held(value) if isinstance(value, float) else value
    return found + 0.0 if isinstance(found, float) else found


def clamped(values: list[Any], bounds: tuple[float, float]) -> list[float]:
    low, high = bounds
    return [min(max(float(value), low), high) for value in values]


def one_answer(aggregate: Aggregate, rows: Sequence[Row]) -> Expected:
    """Return what an aggregate of these rows must be."""
    if aggregate.where is not None:
        rows = [row for row in rows if evaluate(aggregate.where, row) is True]
    if aggregate.argument is None:
        return near(len(rows), 0)
    found = [evaluate(aggregate.argument, row) for row in rows]
    values = [key_of(value) for value in found if value is not None]
    if aggregate.name == "COUNT":
        return near(len(values), 0)
    if aggregate.name == "COUNT_IF":
        return near(values.count(True), 0)
    if aggregate.name == "COUNT DISTINCT":
        return near(len(set(values)), 0)
    bounds = aggregate.bounds or (0.0, 1.0)
    return numeric(aggregate, clamped(values, bounds), bounds)


def numeric(
    aggregate: Aggregate, values: list[float], bounds: tuple[float, float]
) -> Expected:
    """Return what an aggregate of clamped numbers must be, up to the steps of rows."""
    width = bounds[1] - bounds[0]
    step = width / STEPS + aggregate.loose
    count = len(values)
    if aggregate.name == "SUM":
        return near(math.fsum(values), count * step)
    if not count:
        return Expected()
    mean = math.fsum(values) / count
    spread = math.fsum((value - mean) ** 2 for value in values) / count
    if aggregate.name == "AVG":
        return near(mean, step)
    if aggregate.name == "VARIANCE":
        return near(spread, 4 * width * step)
    if aggregate.name == "STDDEV":
        error = 4 * width * step
        return Expected(
            math.sqrt(max(spread - error, 0)) - 1e-9, math.sqrt(spread + error) + 1e-9
        )
    return ranked(aggregate, sorted(values), width / CELLS + aggregate.loose)


def ranked(aggregate: Aggregate, values: list[float], cell: float) -> Expected:
    """Return where a quantile may lie: between the values around its rank."""
    at = {"MIN": 0.0, "MAX": 1.0, "MEDIAN": 0.5}.get(aggregate.name, aggregate.at)
    assert at is not None
    count = len(values)
    low = values[max(math.ceil(at * count) - 1, 0)]
    high = values[min(math.floor(at * count), count - 1)]
    if aggregate.name == "QUANTILE":  # its rank may be missed by one row
        first, last = math.ceil(at * count) - 2, math.floor(at * count) + 1
        if first < 0 or last >= count:
            return Expected()
        low, high = values[first], values[last]
    return Expected(low - cell, high + cell)


def answers(statement: Statement, rows: Sequence[Row]) -> Answers:
    """Return the answer of a statement; NULL is a group like any other."""
    for condition in (statement.within, statement.where):
        if condition is not None:
            rows = [row for row in rows if evaluate(condition, row) is True]
    groups: dict[tuple[Any, ...], list[Row]] = {} if statement.by else {(): []}
    for row in rows:
        key = tuple(key_of(evaluate(each, row)) for each in statement.by)
        groups.setdefault(key, []).append(row)
    aggregates = statement.aggregates
    return Answers(
        {
            key: [one_answer(each, found) for each in aggregates]
            for key, found in groups.items()
        },
        [one_answer(each, []) for each in aggregates],
    )
