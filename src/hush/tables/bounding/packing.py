"""Packing: people and keys of rows as words, sorted, and words as keys again.

Where the ranges of all columns fit into a word, the engine packs it: each column above
its smallest value, NULL as zero. Where they do not, columns are read as they are, and
the places of their values among all that occur take less room. Both layouts stand for
the same rows, and a hash is taken of values, never of codes.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import ibis
import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray

from hush.tables.bounding.contribution_bounds import UNIT
from hush.tables.engines import engine
from hush.tables.engines.columns import Columns, objects

# -- Sorted words: votes and rows of each key, from one number per row -----------------
#
# A row is a person and a key, both as codes in one 64-bit word: (person)·2^bits +
# key. In sorted words the rows of a person stand together, and among them those of a
# key, so one pass over the words finds what everybody holds. It goes from block to
# block: a person is never in two of them, and what a block needs stays in the
# processor's cache.
#
# Everything is worked out person by person and added up as integers
# (docs/proofs/caps.md, "Sorted words"): it does not matter how rows were ordered, how
# blocks are cut, or which codes people and keys have.

Ints = NDArray[np.int64]
_BLOCK = 1 << 16  # rows; a block of codes takes half a megabyte
_MARK = 32  # bits of a hash, below as many of a person's place


@final
@dataclass(frozen=True)
class Rule:
    """What a person may do: public numbers.

    A person keeps at most `cap` keys and counts for at most `rows` rows. With `cut`,
    rows of keys that are not kept do not count.
    """

    cap: int
    rows: int
    cut: bool

    @cached_property
    def votes(self) -> NDArray[np.float64]:
        """The vote for each key of a person who keeps k of them: ⌊2^20/√k⌋.

        Where everybody keeps one key, votes are people.
        """
        if self.cap == 1:
            return np.array([0.0, 1.0])
        # ⌊√x⌋ = ⌊√⌊x⌋⌋, so these are exact.
        each = (math.isqrt(UNIT * UNIT // k) for k in range(1, self.cap + 1))
        return np.array([0.0, *each])

    def weights(self, held: Ints) -> NDArray[np.float64]:
        """Return the weight of each row of people who hold so many.

        It is that of `row_weight`, by the same operations on doubles.
        """
        return np.floor(float(self.rows * UNIT) / np.maximum(held, self.rows))


@final
@dataclass(frozen=True, eq=False)
class Words:
    """Rows as words: the codes of keys are in their last `bits` bits, below `keys`.

    `mark` returns a public hash of (people, keys) given by codes. It must depend on the
    person and the key alone, not on their codes.
    """

    rows: Ints
    bits: int
    keys: int
    mark: Callable[[Ints, Ints], NDArray[np.uint64]]

    def votes_and_weights(self, rule: Rule) -> tuple[Ints, Ints]:
        """Return the votes and the weighted rows of each key; sorts the words.

        Guarantee: both are sums over people of what that person's rows alone decide.
        A person votes for at most `rule.cap` keys, with ℓ2 at most 2^20 (with 1 where
        the cap is 1), and weighs at most rule.rows·2^20.
        """
        self.rows.sort()
        votes, weighed = np.zeros(self.keys, np.int64), np.zeros(self.keys, np.int64)
        for block in self._blocks():
            key, vote, weight = self._block(block, rule)
            # Sums below 2^53 are exact in doubles: a vote and a weight are at most 2^20
            # for each row of the block.
            votes += np.bincount(key, vote, self.keys).astype(np.int64)
            weighed += np.bincount(key, weight, self.keys).astype(np.int64)
        return votes, weighed

    def _blocks(self) -> Iterator[Ints]:
        """Cut sorted words into blocks, each person in one."""
        words, start = self.rows, 0
        size = max(_BLOCK, self.keys)  # adding up costs as much as there are keys
        while start < len(words):
            stop = min(start + size, len(words))
            last = (int(words[stop - 1]) >> self.bits) + 1
            stop += int(np.searchsorted(words[stop:], last << self.bits))
            yield words[start:stop]
            start = stop

    def _block(self, words: Ints, rule: Rule) -> tuple[Ints, Any, Any]:
        """Return every key of every person in a block, its vote and its weight."""
        at = _edges(words)
        pairs = words[at[:-1]]
        person, key = pairs >> self.bits, pairs & ((1 << self.bits) - 1)
        who = _edges(person)
        held, many = np.diff(at), np.diff(who)
        vote = np.repeat(rule.votes[np.minimum(many, rule.cap)], many)
        counted: Any = held
        if many.max() > rule.cap:
            kept = self._kept_keys(person, key, many, rule.cap)
            vote = vote * kept
            counted = held * kept if rule.cut else held
        rows = np.add.reduceat(counted, who[:-1])
        weight = np.repeat(rule.weights(rows), many) * counted
        return key, vote, weight

    def _kept_keys(
        self, person: Ints, key: Ints, many: Ints, cap: int
    ) -> NDArray[np.bool_]:
        """Return which keys are kept: all, or those with the smallest marks."""
        kept = np.ones(len(person), np.bool_)
        heavy = np.flatnonzero(np.repeat(many > cap, many))
        mark = self.mark(person[heavy], key[heavy]) >> np.uint64(64 - _MARK)
        size = many[many > cap]
        place = np.repeat(np.arange(len(size), dtype=np.uint64), size)
        ordered = np.sort(place << np.uint64(_MARK) | mark)
        # Strictly below the next one: equal marks at the edge are dropped together.
        edge = ordered[np.cumsum(size) - size + cap] & np.uint64((1 << _MARK) - 1)
        kept[heavy] = mark < np.repeat(edge, size)
        return kept


def _edges(values: Ints) -> Ints:
    """Return where a new value starts in sorted ones, and the end."""
    new = np.ones(len(values) + 1, np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:-1])
    return np.flatnonzero(new)


def mixed_words(*values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a public hash of 64 bits of each row of some columns.

    Nothing rests on it but the fairness of what is kept: see `hashes`.
    """
    found = np.zeros(len(values[0]), np.uint64)
    for value in values:
        # The constants of SplitMix64, a permutation that moves every bit.
        found = (found ^ value) + np.uint64(0x9E3779B97F4A7C15)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found ^= found >> np.uint64(31)
    return found


# --------------------------------------------------------------------------------------
# Layouts: how the people and keys of rows become words, and words become keys again.

PERSON = "_unit"
_BITS = 62  # of a word that an engine computes without overflow
_FEW = 1 << 16
_NULL = np.uint64(0x5DEECE66D)  # stands for NULL in a hash


@final
@dataclass(frozen=True, eq=False)
class Column:
    """Whole numbers, and which of them are NULL."""

    values: Ints
    null: NDArray[np.bool_]

    def __getitem__(self, at: Any) -> "Column":
        return Column(self.values[at], self.null[at])

    @property
    def nullable_values(self) -> NDArray[Any]:
        """The same as an engine's column: with None for NULL."""
        if not self.null.any():
            return self.values
        gone = self.null.tolist()
        values = zip(self.values.tolist(), gone, strict=True)
        return objects(None if null else value for value, null in values)

    @property
    def hash_input(self) -> NDArray[np.uint64]:
        """What enters a hash."""
        return np.where(self.null, _NULL, self.values.view(np.uint64))


Keys = tuple[Column, ...]


@final
@dataclass(frozen=True)
class Range:
    """The numbers that a column holds: low..high, and how to code them with NULL.

    Example:
        >>> Range("k", 5, 9).size
        6
    """

    name: str
    low: int
    high: int

    @property
    def size(self) -> int:
        """How many codes there are: one is NULL's."""
        return self.high - self.low + 2

    def code(self, table: ir.Table) -> Any:
        """Return the engine's code of a column: 0 for NULL, 1 for the lowest."""
        above = table[self.name].cast("int64") - ibis.literal(self.low, "int64")
        return ibis.coalesce(above + ibis.literal(1, "int64"), 0)

    def decode(self, codes: Ints) -> Column:
        """Return the numbers of codes."""
        null = codes == 0
        return Column(np.where(null, 0, codes - 1 + self.low), null)

    def holds(self, table: ir.Table) -> Any:
        """Return the condition that a code is inside, should a table change."""
        here = table[self.name]
        return here.isnull() | here.between(self.low, self.high)


class Layout(ABC):
    """Reads the words of some rows, and knows what their keys are."""

    @abstractmethod
    def read(self, rows: ir.Table) -> tuple[Words, Callable[[Ints], Keys]]:
        """Return the words of rows, and the columns of keys by their codes."""


@final
@dataclass(frozen=True)
class Packed(Layout):
    """Words that the engine packs, for columns of known ranges."""

    person: Range
    keys: tuple[Range, ...]

    @cached_property
    def _codes(self) -> int:
        return math.prod(each.size for each in self.keys)

    def fits(self, rows: int) -> bool:
        """Return whether words have room, and codes of keys are not scattered."""
        wide = (self._codes - 1).bit_length() + self.person.size.bit_length()
        return wide <= _BITS and self._codes <= _FEW + 4 * rows

    def read(self, rows: ir.Table) -> tuple[Words, Callable[[Ints], Keys]]:
        """Return the words and the inverse of packing."""
        for each in (self.person, *self.keys):
            rows = rows.filter(each.holds(rows))
        bits = (self._codes - 1).bit_length()
        code: Any = self.keys[0].code(rows)
        for each in self.keys[1:]:
            code = code * ibis.literal(each.size, "int64") + each.code(rows)
        person = self.person.code(rows) * ibis.literal(1 << bits, "int64")
        found = engine.fetch(rows.select(_word=person + code))
        words = Words(_numbers(found, "_word"), bits, self._codes, self._marks)
        return words, self._decode_keys

    def _decode_keys(self, codes: Ints) -> Keys:
        found: list[Column] = []
        for each in reversed(self.keys):
            codes, code = np.divmod(codes, each.size)
            found.append(each.decode(code))
        return tuple(reversed(found))

    def _marks(self, people: Ints, keys: Ints) -> NDArray[np.uint64]:
        columns = (self.person.decode(people), *self._decode_keys(keys))
        return mixed_words(*(each.hash_input for each in columns))


@final
@dataclass(frozen=True)
class Ranked(Layout):
    """Words of places among the values that occur, for any ranges."""

    keys: tuple[str, ...]

    def read(self, rows: ir.Table) -> tuple[Words, Callable[[Ints], Keys]]:
        """Return the words and the values that occur."""
        zero, one = ibis.literal(0, "int64"), ibis.literal(1, "int64")
        values = {k: ibis.coalesce(rows[k].cast("int64"), zero) for k in self.keys}
        nulls = {
            f"_null{i}": ibis.ifelse(rows[k].isnull(), one, zero)
            for i, k in enumerate(self.keys)
        }
        found = engine.fetch(rows.select(PERSON, **values, **nulls))
        columns = tuple(
            Column(_numbers(found, k), _numbers(found, f"_null{i}").astype(np.bool_))
            for i, k in enumerate(self.keys)
        )
        people, person = np.unique(_numbers(found, PERSON), return_inverse=True)
        code, listed = rank_codes(columns)
        bits = max(len(listed[0].values) - 1, 1).bit_length()

        def marks(who: Ints, keys: Ints) -> NDArray[np.uint64]:
            person = people[who].view(np.uint64)
            return mixed_words(person, *(each[keys].hash_input for each in listed))

        words = Words((person << bits) + code, bits, len(listed[0].values), marks)
        return words, lambda codes: tuple(each[codes] for each in listed)


def rank_codes(columns: Keys) -> tuple[Ints, Keys]:
    """Return a code for each row of columns, and the different rows by their codes."""
    code = np.zeros(len(columns[0].values), np.int64)
    for each in columns:
        for part in (each.values, each.null):
            different, place = np.unique(part, return_inverse=True)
            # Both are below the number of rows, so the product stays inside 64 bits.
            code = code * len(different) + place
            _, first, code = np.unique(code, return_index=True, return_inverse=True)
    return code, tuple(each[first] for each in columns)


def _numbers(found: Columns, name: str) -> Ints:
    column: Ints = found[name]
    return column if column.flags.writeable else column.copy()  # it will be sorted
