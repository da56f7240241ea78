"""A census: weighted cells of public groups, counted in this process from rows.

An engine joins every row with the weight of its person and groups by all cells that
occur, which are many. Here a row is its person and one code of group and cell, and two
passes suffice: count the rows of everybody, then add each row's weight to its cell.

Stability: a person's weight is that of `bounding.share`, by the same operations on
doubles, so it depends on the number of that person's rows alone; and what is added up
are whole numbers, so the census has the cells of the engine's relation to the last bit,
in whatever order and in however many parts rows come.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import ibis
import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray

from hush.tables import bounding
from hush.tables.columns import Columns
from hush.tables.handed import Rows, blocks, fits, handed
from hush.tables.layout import PERSON
from hush.tables.reading import Reading, View

if TYPE_CHECKING:
    from hush.tables.rank import Cut

_CODES = 1 << 23  # groups times cells: one number is held for each


@final
@dataclass(frozen=True)
class Census(Reading):
    """The weights of a cut's cells, per public group.

    Guarantee: that of `cells.cells`. One person moves all weights together by at most
    rows·2^20 (ℓ1), and nobody else's.
    """

    note: ClassVar[str] = (
        "The engine hands over, row by row, a number for the person and one for the "
        "group and cell; rows are weighed and added up in this process."
    )
    cut: "Cut"

    @property
    def answers(self) -> tuple[Reading, ...]:
        """The cut."""
        return (self.cut,)

    @property
    def _codes(self) -> int:
        """Codes of one group: its cells, and 0 for a row without a value."""
        return self.cut.axis.size + 1

    @classmethod
    def serves(cls, cut: "Cut", view: View) -> bool:
        """Return whether it can be taken: from public numbers and types alone."""
        if view.keys is None or view.sampled or not fits(view.table, view.unit):
            return False
        few = len(view.keys) * cls(cut)._codes <= _CODES
        return few and view.near

    def relation(self, view: View) -> ir.Table:
        """One row per row that is somebody's: the person, and a code."""
        known = view.table.filter(view.table[str(view.unit)].notnull())
        group = view.place(known) * ibis.literal(self._codes, "int64")
        person = known[str(view.unit)].cast("int64")
        return known.select(person.name(PERSON), _code=group + self.cut.code(known))

    def fetch(self, relation: ir.Table, view: View) -> Columns:
        """Return the cells that have rows: the place of their group, and weights."""
        groups = len(view.keys or ())
        total = np.zeros(groups * self._codes, np.int64)
        for rows in handed(relation, {"_code": "INTEGER"}):
            _count(rows, view.rows, total)
        total[:: self._codes] = 0  # rows without a value are in no cell
        held = np.flatnonzero(total != 0)
        place, code = np.divmod(held, self._codes)
        return Columns({"_place": place, "_cell": code - 1, "_n": total[held]})

    def collect(self, rows: Columns, by: tuple[str, ...]) -> Any:
        """Return what the cut would."""
        return self.cut.collect(rows, by)


def _count(rows: Rows, most: int, total: NDArray[np.int64]) -> None:
    """Add the weight of each row to the total of its code."""
    people, code = rows.people, rows.numbers["_code"]
    weight = bounding.shares(np.bincount(people, minlength=rows.many), most)
    for some in blocks(len(people)):
        np.add.at(total, code[some], weight[people[some]])
