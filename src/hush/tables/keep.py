"""Which words of each person are kept, worked out of arrays.

A row is a word, a keyed hash above the row itself (`caps`). A person keeps the `rows`
smallest words, and of these the rows in the first `groups` groups, in their order.

One number per row is sorted: the place of its person, as many leading bits of its word
as there is room for, and the row's own number. Where these bits tell a person's first
words apart, their order is the words' order; where they do not, that person's words are
sorted in full. So what is kept is what `caps` keeps, whatever room there is: it depends
on that person's words alone (docs/proofs/caps.md, "Words in arrays").
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.tables.caps import WORD, Caps
from hush.tables.handed import Rows, blocks
from hush.tables.words import Ints

_LEAD = WORD  # leading bits of a word that are sorted by, at most

Keys = NDArray[np.uint64]


def kept(rows: Rows, caps: Caps, group: tuple[int, int]) -> Ints:
    """Return the words (`_word`) that are kept; `group` is a shift and a mask.

    Guarantee: at most caps.rows words of a person, with repetition, of at most
    caps.groups groups; they depend on that person's words alone.
    """
    ordered = _Ordered(rows)
    few = np.minimum(ordered.held, caps.rows)
    words = ordered.least(few)
    if caps.groups is None or not caps.binding:
        return words
    shift, mask = group
    code = ((words >> shift) & mask).astype(np.min_scalar_type(-1 - mask))
    return words[_inside(code, few, caps.groups)]


@final
@dataclass(frozen=True, eq=False)
class _Ordered:
    """Words of people in order: person by person, by the leading bits of words."""

    rows: Rows

    @property
    def words(self) -> Ints:
        """The words, as they were handed over."""
        return self.rows.numbers["_word"]

    @cached_property
    def _number(self) -> int:
        """Bits of a row's number."""
        return max(len(self.words) - 1, 1).bit_length()

    @cached_property
    def _lead(self) -> int:
        """Leading bits of words for which there is room."""
        person = max(self.rows.many - 1, 1).bit_length()
        return min(_LEAD, 64 - self._number - person)

    @cached_property
    def order(self) -> Keys:
        """Person, leading bits and number of each row as one number, in order."""
        words, people = self.words, self.rows.people
        order = np.empty(len(words), np.uint64)
        for some in blocks(len(words)):
            key = people[some].astype(np.uint64) << np.uint64(self._lead)
            key |= words[some].view(np.uint64) >> np.uint64(WORD - self._lead)
            key <<= np.uint64(self._number)
            key |= np.arange(some.start, some.stop, dtype=np.uint64)
            order[some] = key
        order.sort()
        return order

    @cached_property
    def start(self) -> Ints:
        """Where the rows of each person start who has any."""
        order, below = self.order, np.uint64(self._lead + self._number)
        found = [np.zeros(min(len(order), 1), np.int64)]
        for some in blocks(len(order) - 1):
            person = order[some.start : some.stop + 1] >> below
            found.append(np.flatnonzero(person[1:] != person[:-1]) + some.start + 1)
        return np.concatenate(found)

    @cached_property
    def held(self) -> Ints:
        """How many rows each of them has."""
        return np.diff(self.start, append=len(self.order))

    def least(self, few: Ints) -> Ints:
        """Return the `few` smallest words of each person in order, person by person."""
        keys = self.order[_runs(self.start, few)]
        found, begin = self._words(keys), np.cumsum(few) - few
        own = self._unsure(keys, begin, few)
        if len(own):
            held, less = self.held[own], few[own]
            words = self._words(self.order[_runs(self.start[own], held)])
            words = words[np.lexsort((words, np.repeat(own, held)))]
            found[_runs(begin[own], less)] = words[_runs(np.cumsum(held) - held, less)]
        return found

    def _words(self, keys: Keys) -> Ints:
        """Return the words of sorted numbers."""
        number = keys & np.uint64((1 << self._number) - 1)
        return self.words[number.view(np.int64)]

    def _unsure(self, keys: Keys, begin: Ints, few: Ints) -> Ints:
        """Return the people whose first words the leading bits do not tell apart.

        The first one that is left out counts too: it may be smaller than the last.
        """
        lead = keys >> np.uint64(self._number)
        inner = np.flatnonzero(lead[1:] == lead[:-1])  # of one person: that is above
        more = np.flatnonzero(self.held > few)
        left_out = self.order[(self.start + few)[more]] >> np.uint64(self._number)
        edge = more[left_out == lead[(begin + few)[more] - 1]]
        within = np.searchsorted(begin, inner, side="right") - 1
        return np.union1d(within, edge)


def _runs(starts: Ints, lengths: Ints) -> Ints:
    """Return start, start + 1, … for each start, as many as its length."""
    before = np.cumsum(lengths) - lengths
    runs: Ints = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
    return runs


def _inside(code: NDArray[Any], few: Ints, groups: int) -> NDArray[np.bool_]:
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
        _meet(met, now, fresh & free)
    return stays


def _meet(met: NDArray[Any], now: NDArray[Any], fresh: NDArray[np.bool_]) -> None:
    """Enter fresh groups into the first place that is free."""
    for one in met:
        free = fresh & (one < 0)
        one[free] = now[free]
        fresh = fresh & ~free
