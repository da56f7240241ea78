"""Counts of distinct values and of people: each person adds a bounded number."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import ibis.expr.types as ir

from hush import checks
from hush.errors import short_traceback
from hush.mechanisms.mechanism import Mechanism
from hush.tables.aggregates.aggregate import Aggregate, Estimate, Released
from hush.tables.bounding.relations import BoundedRows, QueryResult, Relation
from hush.tables.bounding.sensitivity import Additive, Key, Limit, Needs
from hush.tables.engines.columns import Columns
from hush.tables.expressions import expression
from hush.tables.expressions.types import named_apart
from hush.tables.groups import private_keys
from hush.tables.groups.groups import Groups
from hush.units import Neighbors

if TYPE_CHECKING:
    from hush.tables.dataset import Dataset


_VALUE = "_value"  # ours: no column of a data set


@final
@dataclass(frozen=True)
class Different(Relation):
    """How many different values each group has among those that people speak for.

    A person speaks for at most `rows` pairs of group and value: those with the smallest
    keyed hashes of their own, so that nobody else's depend on them.
    """

    text: str

    def table(self, bounded: BoundedRows) -> ir.Table:
        """One row per group."""
        found = expression.typed_value(bounded.table_with_groups, self.text).value
        table = named_apart(
            bounded.table_with_groups.mutate(**{_VALUE: found}), (_VALUE,)
        )
        table = table.filter(table[_VALUE].notnull())
        pair = (*bounded.by, _VALUE)
        if bounded.unit is not None:
            table = private_keys.kept_pairs(table, bounded.unit, pair, cap=bounded.rows)
        different = table.select(*pair).distinct()
        if bounded.by:
            return different.group_by(*bounded.by).agg(_n=different.count())
        return different.agg(_n=different.count())

    def collect(self, rows: Columns, by: tuple[str, ...]) -> Mapping[Key, int]:
        """Return the numbers by group."""
        return dict(zip(rows.tuples(by), rows["_n"].tolist(), strict=True))


@dataclass(frozen=True)
class Whole(Additive):
    """A number of things in each group, none of which is counted in part."""

    counted: Relation

    @property
    def relation(self) -> Relation:
        """Its own relation."""
        return self.counted

    @property
    def weight(self) -> int:
        """Things are counted whole."""
        return 1

    @property
    def row_range(self) -> tuple[int, int]:
        """Each counts for one."""
        return 0, 1

    @property
    def fine_value(self) -> Fraction:
        """One."""
        return Fraction(1)

    def fine_steps(self, found: QueryResult, key: Key) -> int:
        """Return the number of one group."""
        number: int = found[self.counted].get(key, 0)
        return number

    def typical_values(self, cell: float, mechanism: Mechanism) -> list[float]:
        """Return as many as there are rows."""
        return [cell]


@final
@dataclass(frozen=True)
class Number(Whole):
    """The number of different values of each group.

    Guarantee: whoever is added brings at most `rows` new pairs of group and value, and
    nobody else's pairs change: ℓ1 at most `rows`.
    """

    counted: Different

    @property
    def name(self) -> str:
        """What is counted."""
        return f"different {self.counted.text}"


@dataclass(frozen=True)
class Counting(Aggregate):
    """An aggregate that is one whole number for each group."""

    @abstractmethod
    def _part(self, limit: Limit) -> Whole:
        """Return what is noised."""

    def needs(self, limit: Limit) -> Needs:
        """The number."""
        return ((self._part(limit), 1.0),)

    def answer(self, limit: Limit, released: Released) -> Estimate:
        """Return the noisy number."""
        value, bar = released[self._part(limit)]
        return Estimate(value, value - bar, value + bar)


@final
@dataclass(frozen=True)
class CountDistinct(Counting):
    """How many different values an expression has; NULL is none of them."""

    expression: str

    def _part(self, limit: Limit) -> Number:
        return Number(limit, Different(self.expression))


@short_traceback
def count_distinct(expression: str) -> CountDistinct:
    """Count the different values of an expression; of the unit, these are people.

    Example:
        >>> count_distinct("driver")
        CountDistinct(expression='driver')
    """
    return CountDistinct(checks.text("expression", expression))


# -- Counting people: the different values of the unit ---------------------------------
#
# A person is one of them in each group that they are in, so their number moves by
# much less than that of other values.


@final
@dataclass(frozen=True)
class Present(Relation):
    """How many people are in each group, each counted in at most `most` of them."""

    most: int

    def table(self, bounded: BoundedRows) -> ir.Table:
        """One row per group that somebody is in."""
        unit = str(bounded.unit)
        if bounded.keys is None or len(bounded.keys) > self.most:
            found = private_keys.holders(
                bounded.table_with_groups, unit, bounded.by, cap=self.most
            )
            return found.rename(_n="_people")
        known = bounded.table_with_groups.filter(
            bounded.table_with_groups[unit].notnull()
        )
        held = {name: known[name] for name in bounded.by}
        people = known.select(_unit=known[unit], **held).distinct()
        if bounded.by:
            return people.group_by(*bounded.by).agg(_n=people.count())
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

    def _distance(self, norm: int) -> int:
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
