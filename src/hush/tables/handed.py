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
_BLOCK = 1 << 16
_FEW = 1 << 16  # people whose numbers are this far apart are counted by place

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
    held, low, high = facts["held"], facts["low"], facts["high"]
    parts = -(-held // PART)
    numbers = "".join(f", CAST({n} AS {kind}) AS {n}" for n, kind in kinds.items())
    for part in range(parts):
        near = high - low < _FEW + held // parts
        slots = (held // parts).bit_length()
        # $1, $2: the ends, which were read first: should a table change meanwhile,
        # nobody takes a place of somebody else. $3: one of $4 parts. $5: bits of a
        # slot. None of them is in the text, which an engine may log.
        values = [low, high, part, parts, *([] if near else [64 - slots])]
        person = f"CAST({PERSON} - CAST($1 AS BIGINT) AS UINTEGER) AS {PERSON}"
        slot = f"hash({PERSON}) >> CAST($5 AS UBIGINT)"
        far = f"{PERSON}, CAST({slot} AS UINTEGER) AS _slot"
        mine = (
            f"{PERSON} BETWEEN CAST($1 AS BIGINT) AND CAST($2 AS BIGINT) AND "
            f"hash({PERSON}) % CAST($4 AS UBIGINT) = CAST($3 AS UBIGINT)"
        )
        chosen = f"SELECT {person if near else far}{numbers} FROM ({text}) AS r"
        found = engine.asked(relation, f"{chosen} WHERE {mine}", values)
        people, many = found[PERSON], high - low + 1
        if not near:
            people, many = _placed(people, found["_slot"], 1 << slots)
        yield Rows(people, many, {name: found[name] for name in kinds})


def _placed(people: Places, slot: Places, slots: int) -> tuple[Places, int]:
    """Return places of people who are far apart, and how many places there are.

    Somebody has the slot of their hash. Where several people have one slot, one of them
    keeps it, and the others have places behind all slots.
    """
    owner = np.zeros(slots, np.int64)
    owner[slot] = people
    away = np.zeros(len(people), np.bool_)
    for some in blocks(len(people)):
        np.not_equal(owner[slot[some]], people[some], out=away[some])
    others = np.flatnonzero(away)
    different, rank = np.unique(people[others], return_inverse=True)
    place = slot.copy()
    place[others] = slots + rank
    return place, slots + len(different)


def blocks(size: int) -> Iterator[slice]:
    """Cut so many rows into blocks; what one needs stays in the processor's cache."""
    for start in range(0, size, _BLOCK):
        yield slice(start, min(start + _BLOCK, size))
