"""Packed votes: who holds which key, read as words from an engine in this process.

An embedded engine hands a column over without moving it far, and sorting one number per
row is several times cheaper than grouping rows by person and key. So where people and
keys are whole numbers, each row becomes a word, and `words` works votes and counts out
of them. Other engines and types answer by the relations of `votes`.

Which of the two is used depends on public types alone: they need not keep the same keys
of a person who has too many. How words are laid out, and in how many parts rows are
read, depends on the data, but no number does: each way gives the same votes and counts.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import ibis
import ibis.expr.types as ir
import numpy as np

from hush.tables.bounding.contribution_caps import hash_of, runs_on_duckdb
from hush.tables.bounding.packing import (
    PERSON,
    Column,
    Ints,
    Keys,
    Layout,
    Packed,
    Range,
    Ranked,
    Rule,
    rank_codes,
)
from hush.tables.bounding.relations import BoundedRows, Relation, Sums
from hush.tables.engines import engine
from hush.tables.engines.columns import Columns
from hush.tables.groups import votes
from hush.tables.groups.votes import Ballot

_PART = 1 << 25  # rows that are sorted at once; more are read in several parts
Tally = tuple[Keys, Ints, Ints]  # keys, their votes, their weighted rows


def can_be_packed(table: ir.Table, unit: str | None, by: tuple[str, ...]) -> bool:
    """Return whether votes can be packed: from public types alone."""
    if unit is None or not runs_on_duckdb(table):
        return False
    kinds = [table[name].type() for name in (unit, *by)]
    return all(kind.is_integer() and not kind.is_uint64() for kind in kinds)


@final
@dataclass(frozen=True)
class PackedVotes(Relation):
    """A ballot, and the rows of each key, from sorted words.

    Guarantee: that of `Words.tallied`. Parts that are read apart hold different people.
    """

    note: ClassVar[str] = (
        "The engine hands over people and keys; they are counted in this process."
    )
    ballot: Ballot
    sums: Sums | None  # of no terms: rows are counted
    cut: bool

    @property
    def answers(self) -> tuple[Relation, ...]:
        """Both."""
        return (self.ballot, self.sums) if self.sums else (self.ballot,)

    def table(self, bounded: BoundedRows) -> ir.Table:
        """One row per row with a person: the person and the key."""
        ballot = self.ballot
        by = votes.checked_columns(bounded.whole, ballot.unit, ballot.by, ballot.cap)
        known = bounded.whole.filter(bounded.whole[str(ballot.unit)].notnull())
        keys = {name: known[name] for name in by}
        return known.select(known[str(ballot.unit)].cast("int64").name(PERSON), **keys)

    def fetch(self, relation: ir.Table, bounded: BoundedRows) -> Columns:
        """Return one row per key that somebody holds, as `VotesWithSums` does."""
        keys, vote, weighed = self._tally(relation, bounded.rows)
        named = zip(
            self.ballot.by, (each.nullable_values for each in keys), strict=True
        )
        return Columns({**dict(named), self.ballot.column: vote, "_n": weighed})

    def _tally(self, relation: ir.Table, rows: int) -> Tally:
        held, layout = _layout(relation, self.ballot.by)
        rule = Rule(self.ballot.cap, rows, self.cut)
        parts = -(-held // _PART)
        found = [_part(relation, layout, rule, i, parts) for i in range(parts)]
        return _merge_tallies(found, len(self.ballot.by))

    def collect(self, rows: Columns, by: tuple[str, ...]) -> Any:
        """Return both answers; `QueryResult` asks each of them itself."""
        return tuple(each.collect(rows, by) for each in self.answers)


def _layout(relation: ir.Table, by: tuple[str, ...]) -> tuple[int, Layout]:
    """Return the number of rows, and how they become words."""
    ends: dict[str, Any] = {}
    for name in (PERSON, *by):
        column = relation[name].cast("int64")
        ends |= {f"low {name}": column.min(), f"high {name}": column.max()}
    (found,) = engine.fetch(relation.agg(rows=relation.count(), **ends)).to_pylist()
    ranges = [
        Range(name, found[f"low {name}"] or 0, found[f"high {name}"] or 0)
        for name in (PERSON, *by)
    ]
    rows, packed = found["rows"], Packed(ranges[0], tuple(ranges[1:]))
    return rows, packed if packed.fits(rows) else Ranked(by)


def _part(
    relation: ir.Table, layout: Layout, rule: Rule, part: int, parts: int
) -> Tally:
    """Return the keys of the people of one part."""
    if parts > 1:
        left = hash_of(relation[PERSON]) % ibis.literal(parts, "int64")
        relation = relation.filter(left == ibis.literal(part, "int64"))
    words, decoded = layout.read(relation)
    vote, weighed = words.votes_and_weights(rule)
    held = np.flatnonzero(vote + weighed)
    return decoded(held), vote[held], weighed[held]


def _merge_tallies(found: list[Tally], width: int) -> Tally:
    """Add up the parts, key by key."""
    if len(found) == 1:
        return found[0]
    if not found:
        none = np.zeros(0, np.int64)
        return (Column(none, none.astype(np.bool_)),) * width, none, none
    columns = tuple(
        Column(
            np.concatenate([keys[i].values for keys, _, _ in found]),
            np.concatenate([keys[i].null for keys, _, _ in found]),
        )
        for i in range(width)
    )
    code, keys = rank_codes(columns)
    totals = np.zeros((2, len(keys[0].values)), np.int64)
    for total, each in zip(totals, (1, 2), strict=True):
        np.add.at(total, code, np.concatenate([tally[each] for tally in found]))
    return keys, totals[0], totals[1]
