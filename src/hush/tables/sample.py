"""Sums over a literal sample, counted in this process from words.

An engine's smallest-n aggregate keeps a list for every person; sorting one number per
row is cheaper. The words are those of `caps`, and so are the rows that are kept and the
sums over them, to the last bit.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import ibis.expr.types as ir
import numpy as np

from hush.tables import caps
from hush.tables.bounding import UNIT
from hush.tables.columns import Columns, objects
from hush.tables.handed import fits, handed
from hush.tables.keep import kept
from hush.tables.reading import Reading, Sums, View
from hush.tables.words import Ints


@final
@dataclass(frozen=True)
class Sample(Reading):
    """Sums of the rows that people keep under literal caps, per public group.

    Guarantee: that of `caps.capped`: one person adds at most caps.rows rows of weight
    2^20, in at most caps.groups groups, and changes nobody else's.
    """

    note: ClassVar[str] = (
        "The engine hands over, row by row, a number for the person and a word; which "
        "rows a person keeps is decided, and they are added up, in this process."
    )
    sums: Sums

    @property
    def answers(self) -> tuple[Reading, ...]:
        """The sums."""
        return (self.sums,)

    @classmethod
    def serves(cls, sums: Sums, view: View) -> bool:
        """Return whether it can be taken: from public numbers and types alone."""
        if not view.sampled or not fits(view.table, view.unit):
            return False
        places = not view.caps.binding or view.rows <= caps.PLACES
        return places and caps.narrow(sum(view.widths(sums.codes).values()))

    def relation(self, view: View) -> ir.Table:
        """One row per row that is somebody's: the person, and a word."""
        fields = view.fields(self.sums.codes)
        words = caps.packed(view.table, str(view.unit), fields)
        return words.mutate(_unit=words["_unit"].cast("int64"))

    def fetch(self, relation: ir.Table, view: View) -> Columns:
        """Return a row for each group that has rows, as `bounding.sums` does."""
        widths = view.widths(self.sums.codes)
        number = len(view.keys or ((),))
        # Terms are below 2^25, so that no sum comes near the end of 64 bits.
        total = np.zeros((1 + 2 * len(self.sums.terms), number), np.int64)
        for rows in handed(relation, {"_word": "BIGINT"}):
            words = kept(rows, view.caps, caps.within(widths, "_g"))
            group = _part(words, caps.within(widths, "_g"))
            total[0] += np.bincount(group, minlength=number)
            for i in range(len(self.sums.terms)):
                code = _part(words, caps.within(widths, f"_v{i}"))
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
