"""Rows handed over: a person and a few whole numbers of each, counted in this process.

An embedded engine hands columns over without moving them far, and arrays of people and
numbers are counted several times faster than an engine joins and groups such rows.

How rows are handed over depends on the data: in how many parts, and what numbers stand
for people. Nothing that is worked out of them may: each user of rows adds up, person by
person, what that person's rows decide.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray

from hush.tables import engine
from hush.tables.hashes import embedded
from hush.tables.layout import PERSON

PART = 1 << 25  # rows that are handed over at once; more come in several parts
_FEW = 1 << 16
_NEAR = 1 << 32

Places = NDArray[Any]  # of unsigned or signed whole numbers, none of them below zero


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """The person of each row, as a place in 0..many - 1, and its numbers by name."""

    people: Places
    many: int
    numbers: Mapping[str, NDArray[Any]]


def fits(table: ir.Table, unit: str | None) -> bool:
    """Return whether rows can be handed over: from public types alone."""
    if unit is None or not embedded(table):
        return False
    kind = table[unit].type()
    return bool(kind.is_integer() and not kind.is_uint64())


def handed(relation: ir.Table, kinds: Mapping[str, str]) -> Iterator[Rows]:
    """Return the rows of a relation of people (`_unit`, 64 bits, no NULL) and numbers.

    `kinds` are the numbers' types in SQL: each must hold every number that can occur.

    Guarantee: every row is in one part, and all rows of a person are in the same one,
    with one place that nobody else has there.
    """
    text = engine.written(relation)
    ends = f"count(*) AS held, min({PERSON}) AS low, max({PERSON}) AS high"
    (facts,) = engine.asked(relation, f"SELECT {ends} FROM ({text}) AS r").to_pylist()
    parts = -(-facts["held"] // PART)
    for part in range(parts):
        yield _part(relation, text, kinds, (facts["low"], facts["high"]), part, parts)


def _part(
    relation: ir.Table,
    text: str,
    kinds: Mapping[str, str],
    ends: tuple[int, int],
    part: int,
    parts: int,
) -> Rows:
    low, high = ends
    span = high - low + 1
    person = f"CAST({PERSON} - ({low}) AS UINTEGER)" if span <= _NEAR else PERSON
    numbers = "".join(f", CAST({n} AS {kind}) AS {n}" for n, kind in kinds.items())
    # Ends were read first: should a table change meanwhile, nobody takes a place of
    # somebody else.
    inside = f"{PERSON} BETWEEN {low} AND {high}"
    mine = f" AND hash({PERSON}) % {parts} = {part}" if parts > 1 else ""
    found = engine.asked(
        relation,
        f"SELECT {person} AS {PERSON}{numbers} FROM ({text}) AS r WHERE {inside}{mine}",
    )
    people, many = found[PERSON], span
    if span > _NEAR or span > _FEW + 2 * len(people):  # too far apart to count by place
        different, people = np.unique(people, return_inverse=True)
        many = len(different)
    return Rows(people, many, {name: found[name] for name in kinds})
