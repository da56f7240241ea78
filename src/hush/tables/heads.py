"""Counting people: the different values of the unit.

A person is one of them in each group that they are in, so their number moves by much
less than that of other values.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import ibis.expr.types as ir

from hush.tables import expression, votes
from hush.tables.columns import Columns
from hush.tables.distinct import CountDistinct, Counting, Whole
from hush.tables.groups import Groups
from hush.tables.part import Key, Limit
from hush.tables.reading import Reading, View
from hush.units import Neighbors

if TYPE_CHECKING:
    from hush.tables.dataset import Dataset


@final
@dataclass(frozen=True)
class Present(Reading):
    """How many people are in each group, each counted in at most `most` of them."""

    most: int

    def relation(self, view: View) -> ir.Table:
        """One row per group that somebody is in."""
        unit = str(view.unit)
        if view.keys is None or len(view.keys) > self.most:
            found = votes.holders(view.placed, unit, view.by, cap=self.most)
            return found.rename(_n="_people")
        known = view.placed.filter(view.placed[unit].notnull())
        held = {name: known[name] for name in view.by}
        people = known.select(_unit=known[unit], **held).distinct()
        if view.by:
            return people.group_by(*view.by).agg(_n=people.count())
        return people.agg(_n=people.count())

    def collect(self, rows: Columns, by: tuple[str, ...]) -> Mapping[Key, int]:
        """Return the numbers by group."""
        return dict(zip(rows.tuples(by), rows["_n"].tolist(), strict=True))


@final
@dataclass(frozen=True)
class Heads(Whole):
    """The number of people in each group.

    Guarantee: whoever is added is one more in at most `most` groups, and whoever is
    replaced leaves some of as many for others: ℓ1 is the number of groups that change,
    and ℓ2 its root (docs/proofs/caps.md, "People").
    """

    counted: Present

    @property
    def name(self) -> str:
        """What is counted."""
        return "people"

    def _reach(self, norm: int) -> int:
        both = 1 if self.limit.neighbors is Neighbors.ADD_REMOVE else 2
        changed = min(both * self.counted.most, self.limit.groups)
        return changed if norm == 1 else math.isqrt(changed - 1) + 1


@final
@dataclass(frozen=True)
class CountPeople(Counting):
    """How many people there are, each of them in at most `most` groups."""

    most: int

    def _part(self, limit: Limit) -> Heads:
        return Heads(limit, Present(self.most))


def counting_people(data: "Dataset", groups: Groups, aggregate: Any) -> Any:
    """Return an aggregate as it is, or the count of people that it amounts to.

    Public groups and `groups=` limit in how many of them a person is counted. Of keys
    found in the data a person may be in any, and counts in `rows` of them.
    """
    if not isinstance(aggregate, CountDistinct) or data.unit is None:
        return aggregate
    if not expression.is_column(data._table, aggregate.expression, data.unit):
        return aggregate
    if groups.keys is None:
        return CountPeople(data.rows)
    return CountPeople(min(data.rows, groups.number, data.groups or data.rows))
