"""Contribution bounding in process: rows handed over by an engine, kept and added up.

An embedded engine hands columns over without moving them far, and arrays of people and
numbers are counted several times faster than an engine joins and groups such rows.

How rows are handed over depends on the data: in how many parts, and what numbers stand
for people. Nothing that is worked out of them may: each user of rows adds up, person by
person, what that person's rows decide.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray

from hush.tables.bounding import contribution_caps
from hush.tables.bounding.contribution_bounds import UNIT
from hush.tables.bounding.contribution_caps import WORD, Caps, runs_on_duckdb
from hush.tables.bounding.packing import PERSON, Ints
from hush.tables.bounding.relations import BoundedRows, Relation, Sums
from hush.tables.engines import engine
from hush.tables.engines.columns import Columns, objects

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


def can_be_fetched(table: ir.Table, unit: str | None) -> bool:
    """Return whether rows can be handed over: from public types alone."""
    if unit is None or not runs_on_duckdb(table):
        return False
    kind = table[unit].type()
    return bool(kind.is_integer() and not kind.is_uint64())


def fetched_rows(relation: ir.Table, kinds: Mapping[str, str]) -> Iterator[Rows]:
    """Return the rows of a relation of people (`_unit`, 64 bits, no NULL) and numbers.

    `kinds` are the numbers' types in SQL: each must hold every number that can occur.

    Guarantee: every row is in one part, and all rows of a person are in the same one,
    with one place that nobody else has there.
    """
    text = engine.sql_of(relation)
    ends = f"count(*) AS held, min({PERSON}) AS low, max({PERSON}) AS high"
    (facts,) = engine.run_sql(relation, f"SELECT {ends} FROM ({text}) AS r").to_pylist()
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
        found = engine.run_sql(relation, f"{chosen} WHERE {mine}", values)
        people, many = found[PERSON], high - low + 1
        if not near:
            people, many = _dense_places(people, found["_slot"], 1 << slots)
        yield Rows(people, many, {name: found[name] for name in kinds})


def _dense_places(people: Places, slot: Places, slots: int) -> tuple[Places, int]:
    """Return dense places for people with scattered identifiers, and their number.

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


# -- Which words of each person are kept, worked out of arrays -------------------------
#
# A row is a word, a keyed hash above the row itself (`caps`). A person keeps the
# `rows` smallest words, and of these the rows in the first `groups` groups, in their
# order.
#
# One number per row is sorted: the place of its person, as many leading bits of its
# word as there is room for, and the row's own number. Where these bits tell a
# person's first words apart, their order is the words' order; where they do not, that
# person's words are sorted in full. So what is kept is what `caps` keeps, whatever
# room there is: it depends on that person's words alone (docs/proofs/caps.md, "Words
# in arrays").

_LEAD = WORD  # leading bits of a word that are sorted by, at most

Keys = NDArray[np.uint64]


def kept_words(rows: Rows, caps: Caps, group: tuple[int, int]) -> Ints:
    """Return the words (`_word`) that are kept; `group` is a shift and a mask.

    Guarantee: at most caps.rows words of a person, with repetition, of at most
    caps.groups groups; they depend on that person's words alone.
    """
    ordered = _Ordered(rows)
    few = np.minimum(ordered.row_counts, caps.rows)
    words = ordered.smallest_words(few)
    if caps.groups is None or not caps.limits_groups:
        return words
    shift, mask = group
    code = ((words >> shift) & mask).astype(np.min_scalar_type(-1 - mask))
    return words[_in_first_groups(code, few, caps.groups)]


@final
@dataclass(frozen=True, eq=False)
class _Ordered:
    """Words of people in order: person by person, by the leading bits of words."""

    rows: Rows

    @property
    def words(self) -> Ints:
        """The words, in the order of the rows."""
        return self.rows.numbers["_word"]

    @cached_property
    def _number_bits(self) -> int:
        """Bits of a row's number."""
        return max(len(self.words) - 1, 1).bit_length()

    @cached_property
    def _leading_bits(self) -> int:
        """Leading bits of words for which there is room."""
        person = max(self.rows.many - 1, 1).bit_length()
        return min(_LEAD, 64 - self._number_bits - person)

    @cached_property
    def order(self) -> Keys:
        """Person, leading bits and number of each row as one number, in order."""
        words, people = self.words, self.rows.people
        order = np.empty(len(words), np.uint64)
        for some in blocks(len(words)):
            key = people[some].astype(np.uint64) << np.uint64(self._leading_bits)
            key |= words[some].view(np.uint64) >> np.uint64(WORD - self._leading_bits)
            key <<= np.uint64(self._number_bits)
            key |= np.arange(some.start, some.stop, dtype=np.uint64)
            order[some] = key
        order.sort()
        return order

    @cached_property
    def starts(self) -> Ints:
        """Where the rows of each person with rows start."""
        order, below = self.order, np.uint64(self._leading_bits + self._number_bits)
        found = [np.zeros(min(len(order), 1), np.int64)]
        for some in blocks(len(order) - 1):
            person = order[some.start : some.stop + 1] >> below
            found.append(np.flatnonzero(person[1:] != person[:-1]) + some.start + 1)
        return np.concatenate(found)

    @cached_property
    def row_counts(self) -> Ints:
        """How many rows each of them has."""
        return np.diff(self.starts, append=len(self.order))

    def smallest_words(self, few: Ints) -> Ints:
        """Return the `few` smallest words of each person in order, person by person."""
        keys = self.order[_runs(self.starts, few)]
        found, begin = self._words_of(keys), np.cumsum(few) - few
        own = self._tied_people(keys, begin, few)
        if len(own):
            held, less = self.row_counts[own], few[own]
            words = self._words_of(self.order[_runs(self.starts[own], held)])
            words = words[np.lexsort((words, np.repeat(own, held)))]
            found[_runs(begin[own], less)] = words[_runs(np.cumsum(held) - held, less)]
        return found

    def _words_of(self, keys: Keys) -> Ints:
        """Return the words of sorted numbers."""
        number = keys & np.uint64((1 << self._number_bits) - 1)
        return self.words[number.view(np.int64)]

    def _tied_people(self, keys: Keys, begin: Ints, few: Ints) -> Ints:
        """Return the people whose first words the leading bits do not tell apart.

        The first one that is left out counts too: it may be smaller than the last.
        """
        lead = keys >> np.uint64(self._number_bits)
        inner = np.flatnonzero(lead[1:] == lead[:-1])  # of one person: that is above
        more = np.flatnonzero(self.row_counts > few)
        left_out = self.order[(self.starts + few)[more]] >> np.uint64(self._number_bits)
        edge = more[left_out == lead[(begin + few)[more] - 1]]
        within = np.searchsorted(begin, inner, side="right") - 1
        return np.union1d(within, edge)


def _runs(starts: Ints, lengths: Ints) -> Ints:
    """Return start, start + 1, … for each start, as many as its length."""
    before = np.cumsum(lengths) - lengths
    runs: Ints = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
    return runs


def _in_first_groups(code: NDArray[Any], few: Ints, groups: int) -> NDArray[np.bool_]:
    """Return which rows are in the first groups of their person.

    Rows are in order, `few` of each person.
    """
    stays = np.ones(len(code), np.bool_)
    many = few > groups  # nobody else can be in too many
    start, few = (np.cumsum(few) - few)[many], few[many]
    met = np.full((groups, len(few)), -1, code.dtype)
    for place in range(int(few.max(initial=0))):
        here = few > place
        if not here.all():
            start, few, met = start[here], few[here], met[:, here]
        now = code[start + place]
        fresh = np.logical_and.reduce(met != now)
        free = met[-1] < 0
        stays[(start + place)[fresh & ~free]] = False
        _add_new_groups(met, now, fresh & free)
    return stays


def _add_new_groups(
    met: NDArray[Any], now: NDArray[Any], fresh: NDArray[np.bool_]
) -> None:
    """Enter fresh groups into the first place that is free."""
    for one in met:
        free = fresh & (one < 0)
        one[free] = now[free]
        fresh = fresh & ~free


# -- Sums over a literal sample, counted in this process from words --------------------
#
# An engine's smallest-n aggregate keeps a list for every person; sorting one number
# per row is cheaper. The words are those of `caps`, and so are the rows that are kept
# and the sums over them, to the last bit.


@final
@dataclass(frozen=True)
class SampledSums(Relation):
    """Sums of the rows that people keep under literal caps, per public group.

    Guarantee: that of `capped_rows`: one person adds at most caps.rows rows of weight
    2^20, in at most caps.groups groups, and changes nobody else's.
    """

    note: ClassVar[str] = (
        "The engine hands over, row by row, a number for the person and a word; which "
        "rows a person keeps is decided, and they are added up, in this process."
    )
    sums: Sums

    @property
    def answers(self) -> tuple[Relation, ...]:
        """The sums."""
        return (self.sums,)

    @classmethod
    def can_replace(cls, sums: Sums, bounded: BoundedRows) -> bool:
        """Return whether it can be taken: from public numbers and types alone."""
        if not can_be_fetched(bounded.table, bounded.unit):
            return False
        places = (
            not bounded.caps.limits_groups or bounded.rows <= contribution_caps.PLACES
        )
        return places and contribution_caps.has_room_for_hash(
            sum(bounded.widths(sums.codes).values())
        )

    def table(self, bounded: BoundedRows) -> ir.Table:
        """One row per row with a person: the person, and a word."""
        fields = bounded.fields(self.sums.codes)
        words = contribution_caps.packed_words(bounded.table, str(bounded.unit), fields)
        return words.mutate(_unit=words["_unit"].cast("int64"))

    def fetch(self, relation: ir.Table, bounded: BoundedRows) -> Columns:
        """Return a row for each group that has rows, as `bounding.sums` does."""
        widths = bounded.widths(self.sums.codes)
        number = len(bounded.keys or ((),))
        # Terms are below 2^25, so that no sum comes near the end of 64 bits.
        total = np.zeros((1 + 2 * len(self.sums.terms), number), np.int64)
        for rows in fetched_rows(relation, {"_word": "BIGINT"}):
            words = kept_words(
                rows, bounded.caps, contribution_caps.shift_and_mask(widths, "_g")
            )
            group = _part(words, contribution_caps.shift_and_mask(widths, "_g"))
            total[0] += np.bincount(group, minlength=number)
            for i in range(len(self.sums.terms)):
                code = _part(words, contribution_caps.shift_and_mask(widths, f"_v{i}"))
                counts = code > 0
                total[2 * i + 1] += np.bincount(group[counts], minlength=number)
                np.add.at(total[2 * i + 2], group, np.maximum(code - 1, 0))
        return _columns(total)

    def collect(self, rows: Columns, by: tuple[str, ...]) -> Any:
        """Return what the sums would."""
        return self.sums.collect(rows, by)


def _part(words: Ints, within: tuple[int, int]) -> Ints:
    shift, mask = within
    return (words >> shift) & mask


def _columns(total: Ints) -> Columns:
    """Return totals of whole rows as sums of weights, which may exceed 64 bits."""
    held = np.flatnonzero(total[0])
    names = [f"_m{i // 2}_{('w', 'sum')[i % 2]}" for i in range(len(total) - 1)]
    sums = ([UNIT * each for each in row[held].tolist()] for row in total)
    named = zip(["_n", *names], map(objects, sums), strict=True)
    return Columns({"_g": held, **dict(named)})
