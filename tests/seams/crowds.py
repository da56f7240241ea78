"""Random people with awkward rows, and one of them added, removed or replaced."""

import datetime
import math
import random
from decimal import Decimal

import numpy as np
import pyarrow

TEXTS = ["a", "A", "a ", " a", "\u00e9", "e\u0301", "", "\u00df", "ss", "b", None]
NUMBERS = [0, 1, 2, 3, 2, 1, None, 2**53 + 1, -(2**63), 2**63 - 1]
FLOATS = [0.0, -0.0, 0.1, 3.0, 9.99, 10.0, 30.0, 31.0, -5.0, 1e300, -1e300, 5e-324]
FLOATS += [math.nan, math.inf, -math.inf, None, 7.25, 15.5, 22.75, 2.5]
DAYS = [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None]
DAYS += [datetime.date(2020, 2, 29), datetime.date(1969, 12, 31)]
CENTS = [Decimal("0.10"), Decimal("0.20"), Decimal("-99999999.99"), None]
CENTS += [Decimal("99999999.99"), Decimal("0.00")]
SINGLES = [
    float(np.float32(0.1)),
    float(np.float32(0.2)),
    math.nan,
    math.inf,
    None,
    -0.0,
]

POOLS = {
    "g": TEXTS,
    "h": NUMBERS,
    "x": FLOATS,
    "y": FLOATS,
    "b": [True, False, None],
    "d": DAYS,
    "m": CENTS,
    "s": SINGLES,
}
TYPES = {
    "who": pyarrow.int64(),
    "g": pyarrow.string(),
    "h": pyarrow.int64(),
    "x": pyarrow.float64(),
    "y": pyarrow.float64(),
    "b": pyarrow.bool_(),
    "d": pyarrow.date32(),
    "m": pyarrow.decimal128(10, 2),
    "s": pyarrow.float32(),
}
MORE = {"who": pyarrow.int64(), "k": pyarrow.string(), "z": pyarrow.float64()}
PEOPLE = 12  # ids are 0..PEOPLE - 1, so that a schema can map each to something odd
NOBODY = None


def one_row(chance):
    return {name: chance.choice(pool) for name, pool in POOLS.items()}


def one_more(chance):
    return {"k": chance.choice(TEXTS[:4]), "z": chance.choice(FLOATS)}


def person(chance):
    """Rows of one person in both tables: plain, many, all alike, or spread out."""
    kind = chance.choice(["few", "few", "many", "alike", "spread", "empty", "far"])
    count = {"few": chance.randint(1, 4), "alike": 25, "empty": 3}.get(kind, 12)
    rows = [one_row(chance) for _ in range(count)]
    if kind == "alike":
        rows = [rows[0]] * count
    if kind == "empty":
        rows = [dict.fromkeys(POOLS)] * count
    if kind == "spread":
        for i, row in enumerate(rows):
            row["g"], row["h"] = TEXTS[i % len(TEXTS)], NUMBERS[i % len(NUMBERS)]
    if kind == "far":
        end = chance.choice([1e300, -1e300, 30.0])
        rows = [{**row, "x": end, "y": end, "g": "a", "h": 0} for row in rows]
    return rows, [one_more(chance) for _ in range(chance.randint(0, 5))]


def crowd(chance):
    """A table: rows by person, nobody's among them."""
    size = chance.choice([0, 1, 2, 4, 6, 9])
    people = {i: person(chance) for i in chance.sample(range(PEOPLE), size)}
    if chance.random() < 0.5:
        people[NOBODY] = person(chance)
    return people


def _known(people):
    return [each for each in people if each is not NOBODY]


def added(people, chance):
    new = chance.choice([i for i in range(PEOPLE) if i not in people])
    return {**people, new: person(chance)}


def removed(people, chance):
    gone = chance.choice(_known(people))
    return {i: rows for i, rows in people.items() if i != gone}


def others(people, chance):
    """The same people, and other rows of nobody."""
    return {**people, NOBODY: person(chance)}


def neighbor(people, chance, neighbors):
    """Return another table that differs by one person, as the relation has it."""
    if chance.random() < 0.08:
        return others(people, chance)
    if neighbors == "replace-one":
        if not _known(people):
            return others(people, chance)
        if chance.random() < 0.5:  # the same id, and other rows
            return {**people, chance.choice(_known(people)): person(chance)}
        return added(removed(people, chance), chance)
    if _known(people) and chance.random() < 0.4:
        return removed(people, chance)
    return added(people, chance)


def row_neighbor(rows, chance, neighbors):
    """The same where every row is a person."""
    place = chance.randrange(len(rows) + 1)
    new = {"who": chance.randrange(PEOPLE), **one_row(chance)}
    if neighbors == "replace-one":
        return rows[:place] + [new] * (place < len(rows)) + rows[place + 1 :]
    if place < len(rows) and chance.random() < 0.5:
        return rows[:place] + rows[place + 1 :]
    return [*rows[:place], new, *rows[place:]]


def listed(people, at=0):
    """The rows of one of the two tables, in an order that says nothing."""
    rows = [{"who": who, **row} for who, parts in people.items() for row in parts[at]]
    random.Random(len(rows)).shuffle(rows)
    return rows


def arrow(rows, types=TYPES):
    return pyarrow.table(
        {n: pyarrow.array([r[n] for r in rows], kind) for n, kind in types.items()}
    )
