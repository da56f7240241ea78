"""Counting different values: each person speaks for a bounded number of them."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import ibis.expr.types as ir

from hush import checks
from hush.brief import brief
from hush.mechanisms.mechanism import Mechanism
from hush.tables import expression, votes
from hush.tables.aggregate import Aggregate, Estimate, Released
from hush.tables.columns import Columns
from hush.tables.part import Additive, Key, Limit, Needs
from hush.tables.reading import Fetched, Reading, View
from hush.tables.typed import named_apart

_VALUE = "_value"  # ours: no column of a data set


@final
@dataclass(frozen=True)
class Different(Reading):
    """How many different values each group has among those that people speak for.

    A person speaks for at most `rows` pairs of group and value: those with the smallest
    keyed hashes of their own, so that nobody else's depend on them.
    """

    text: str

    def relation(self, view: View) -> ir.Table:
        """One row per group."""
        found = expression.typed(view.placed, self.text).value
        table = named_apart(view.placed.mutate(**{_VALUE: found}), (_VALUE,))
        table = table.filter(table[_VALUE].notnull())
        pair = (*view.by, _VALUE)
        if view.unit is not None:
            table = votes.kept_pairs(table, view.unit, pair, cap=view.rows)
        different = table.select(*pair).distinct()
        if view.by:
            return different.group_by(*view.by).agg(_n=different.count())
        return different.agg(_n=different.count())

    def collect(self, rows: Columns, by: tuple[str, ...]) -> Mapping[Key, int]:
        """Return the numbers by group."""
        return dict(zip(rows.tuples(by), rows["_n"].tolist(), strict=True))


@dataclass(frozen=True)
class Whole(Additive):
    """A number of things in each group, none of which is counted in part."""

    counted: Reading

    @property
    def reading(self) -> Reading:
        """Its own relation."""
        return self.counted

    @property
    def weight(self) -> int:
        """Things are counted whole."""
        return 1

    @property
    def span(self) -> tuple[int, int]:
        """Each counts for one."""
        return 0, 1

    @property
    def fine_value(self) -> Fraction:
        """One."""
        return Fraction(1)

    def fine(self, found: Fetched, key: Key) -> int:
        """Return the number of one group."""
        number: int = found[self.counted].get(key, 0)
        return number

    def guess(self, cell: float, mechanism: Mechanism) -> list[float]:
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


@brief
def count_distinct(expression: str) -> CountDistinct:
    """Count the different values of an expression; of the unit, these are people.

    Example:
        >>> count_distinct("driver")
        CountDistinct(expression='driver')
    """
    return CountDistinct(checks.text("expression", expression))
