"""Random statements: many expressions row by row, or few over groups."""

from dataclasses import replace
from typing import Any

from seams.generator import Generator
from seams.rows import COLUMNS, SIZE, rows
from seams.rowwise import (
    DATE,
    NUMBER,
    TEXT,
    TRUTH,
    Call,
    Case,
    Column,
    Infix,
    Literal,
    Node,
    evaluate,
)
from seams.statements import Aggregate, Statement, key_of

BOUNDS = [(-8.0, 8.0), (0.0, 4.0), (-1024.0, 1024.0), (0.0, 1.0)]
RANKED = ["MEDIAN", "MIN", "MAX", "QUANTILE"]
DEPTHS = [1, 1, 1, 1, 2, 2, 2, 2, 2, 3]  # deep ones cost seconds each
ROW = Column(NUMBER, "k")
ROW_KEYS = {"g0": [*range(SIZE), SIZE + 7]}


def one_value(make: Generator, node: Node) -> Node:
    """Return a test whether an expression has, to the bit, its value in some row."""
    known = [evaluate(node, row) for row in rows()]
    values = [each for each in known if each is not None]
    value = make.pick.choice(values or [make.literal(node.kind).value])
    return Infix(TRUTH, "=", node, Literal(node.kind, value))


def over_truth(make: Generator, depth: int) -> Aggregate:
    node = make.truth(depth)
    name = make.pick.choice(["COUNT", "FILTER", "COUNT_IF", "AVG", "SUM"])
    if name == "FILTER":
        return Aggregate("COUNT", None, node)
    return Aggregate(name, node)


def over_number(make: Generator, depth: int) -> Aggregate:
    node = make.number(depth)
    name = make.pick.choice(["COUNT", "SUM", "SUM", "AVG", "TEST", "TEST", "LOOSE"])
    bounds = make.pick.choice(BOUNDS)
    if name == "TEST":
        return Aggregate("COUNT", None, one_value(make, node))
    if name == "LOOSE" and not make.plain:
        loose = 1e-9 * (bounds[1] - bounds[0])
        node = make.inexact(depth - 1)
        return Aggregate("SUM", node, None, bounds, loose=loose)
    if name in ("COUNT", "LOOSE"):
        return Aggregate("COUNT", node)
    where = make.truth(1) if make.pick.random() < 0.2 else None
    return Aggregate(name, node, where, bounds)


def over_other(make: Generator, kind: str, depth: int) -> Aggregate:
    node = make.any(kind, depth)
    name = make.pick.choice(["COUNT", "TEST", "TEST", "COUNT DISTINCT"])
    if name == "TEST":
        return Aggregate("COUNT", None, one_value(make, node))
    return Aggregate(name, node)


def aggregate(make: Generator, depth: int) -> Aggregate:
    kind = make.pick.choice([TRUTH, TRUTH, TRUTH, NUMBER, NUMBER, TEXT, DATE])
    if kind == TRUTH:
        return over_truth(make, depth)
    if kind == NUMBER:
        return over_number(make, depth)
    return over_other(make, kind, depth)


def by_row(make: Generator, size: int = 8) -> Statement:
    """Return a statement that shows `size` aggregates of every single row."""
    pick = make.pick
    found = [aggregate(make, pick.choice(DEPTHS)) for _ in range(size)]
    where = make.truth(pick.choice(DEPTHS)) if pick.random() < 0.2 else None
    return Statement(tuple(found), (ROW,), where, pick.random() < 0.5)


def telling(make: Generator) -> Node:
    """Return a group whose keys hush knows by itself: truth values and few texts."""
    pick = make.pick
    choice = pick.randint(0, 4)
    if choice == 0:
        words = Literal(TEXT, "one"), Literal(TEXT, "two")
        return Case(TEXT, ((make.truth(2), words[0]),), words[1])
    if choice == 1:
        bins = pick.choice([(-3, 3, 6), (0, 8, 4)])
        return Call(
            NUMBER, pick.choice(["BIN", "WIDTH_BUCKET"]), (make.number(1),), bins
        )
    if choice == 2:
        parts = ["MONTH", "QUARTER", "DAY", "ISODOW"]
        return Call(NUMBER, pick.choice(parts), (make.date(1),))
    return make.truth(pick.randint(0, 3))


def ranked(make: Generator) -> Aggregate:
    """Return a median, a quantile or an end of numbers."""
    name = make.pick.choice(RANKED)
    at = make.pick.choice([0.1, 0.25, 0.9]) if name == "QUANTILE" else None
    return Aggregate(name, make.number(1), None, make.pick.choice(BOUNDS), at)


def grouped(make: Generator, size: int = 5) -> tuple[Statement, Any]:
    """Return a statement over computed groups, and its keys."""
    pick = make.pick
    mode = pick.choice(["telling", "private", "public", "public"])
    by = [telling(make)]
    if mode != "telling":
        by = [make.any(pick.choice([NUMBER, TEXT, DATE, TRUTH]), pick.randint(0, 2))]
    if pick.random() < 0.25:
        by.append(telling(make) if mode == "telling" else COLUMNS["b"])
    found = [Aggregate("COUNT")]
    found += [aggregate(make, pick.randint(0, 2)) for _ in range(size - 2)]
    spread = pick.choice(["VARIANCE", "STDDEV", "AVG"])
    found.append(Aggregate(spread, make.number(1), None, pick.choice(BOUNDS)))
    if mode != "private" and pick.random() < 0.2:
        found.append(ranked(make))
    where = make.truth(pick.randint(1, 2)) if pick.random() < 0.4 else None
    statement = Statement(tuple(found), tuple(by), where, pick.random() < 0.5)
    if pick.random() < 0.2:
        inner = make.truth(pick.randint(0, 2))
        statement = replace(statement, within=inner, columns=("u", "k", *COLUMNS))
    if mode == "public":
        return statement, public_keys(make, by)
    return statement, "private" if mode == "private" else None


def public_keys(make: Generator, by: list[Node]) -> dict[str, list[Any]]:
    """Return keys for every group: some that occur, an absent one, at times NULL."""
    keys = {}
    for i, node in enumerate(by):
        found = {key_of(evaluate(node, row)) for row in rows()}
        named = sorted((each for each in found if each is not None), key=repr)
        named = make.pick.sample(named, min(len(named), 6))
        absent = {NUMBER: 123.0, TEXT: "nowhere", TRUTH: True}.get(node.kind)
        if absent is not None and absent not in named:
            named.append(absent)
        if make.pick.random() < 0.6 or not named:
            named.append(None)
        keys[f"g{i}"] = named
    return keys
