"""Layouts: how the people and keys of rows become words, and words become keys again.

Where the ranges of all columns fit into a word, the engine packs it: each column above
its smallest value, NULL as zero. Where they do not, columns are read as they are, and
the places of their values among all that occur take less room. Both layouts stand for
the same rows, and a hash is taken of values, never of codes.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import ibis
import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray

from hush.tables import engine
from hush.tables.columns import Columns, objects
from hush.tables.words import Ints, Words, mixed

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
    def listed(self) -> NDArray[Any]:
        """The same as an engine's column: with None for NULL."""
        if not self.null.any():
            return self.values
        gone = self.null.tolist()
        values = zip(self.values.tolist(), gone, strict=True)
        return objects(None if null else value for value, null in values)

    @property
    def hashed(self) -> NDArray[np.uint64]:
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

    def decoded(self, codes: Ints) -> Column:
        """Return the numbers of codes."""
        null = codes == 0
        return Column(np.where(null, 0, codes - 1 + self.low), null)

    def inside(self, table: ir.Table) -> Any:
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
            rows = rows.filter(each.inside(rows))
        bits = (self._codes - 1).bit_length()
        code: Any = self.keys[0].code(rows)
        for each in self.keys[1:]:
            code = code * ibis.literal(each.size, "int64") + each.code(rows)
        person = self.person.code(rows) * ibis.literal(1 << bits, "int64")
        found = engine.fetch(rows.select(_word=person + code))
        words = Words(_numbers(found, "_word"), bits, self._codes, self._mark)
        return words, self._decoded

    def _decoded(self, codes: Ints) -> Keys:
        found: list[Column] = []
        for each in reversed(self.keys):
            codes, code = np.divmod(codes, each.size)
            found.append(each.decoded(code))
        return tuple(reversed(found))

    def _mark(self, people: Ints, keys: Ints) -> NDArray[np.uint64]:
        columns = (self.person.decoded(people), *self._decoded(keys))
        return mixed(*(each.hashed for each in columns))


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
        code, listed = ranked(columns)
        bits = max(len(listed[0].values) - 1, 1).bit_length()

        def mark(who: Ints, keys: Ints) -> NDArray[np.uint64]:
            person = people[who].view(np.uint64)
            return mixed(person, *(each[keys].hashed for each in listed))

        words = Words((person << bits) + code, bits, len(listed[0].values), mark)
        return words, lambda codes: tuple(each[codes] for each in listed)


def ranked(columns: Keys) -> tuple[Ints, Keys]:
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
