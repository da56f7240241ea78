"""A statistic: one weighted sum per group, as a whole number of public steps."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, final

from hush.mechanisms.mechanism import Mechanism
from hush.tables.bounding.contribution_bounds import UNIT, total
from hush.tables.bounding.relations import Fetched, Term
from hush.tables.bounding.sensitivity import Additive, Key


class Form(StrEnum):
    """What is added up for each row of a person, times the row's weight."""

    ROWS = "rows"  # 1
    PRESENT = "present"  # 1 where the term has a value
    TOTAL = "total"  # the value
    CENTERED = "centered"  # the value minus the middle of the bounds


@final
@dataclass(frozen=True)
class Statistic(Additive):
    """Σ weight·value over the rows of each group.

    Guarantee: one person's weights add up to at most rows·2^20 over all groups
    together, each times a value inside the grid; hence `sensitivity`.

    Example:
        >>> from hush.tables.bounding.sensitivity import Limit
        >>> from hush.units import Neighbors
        >>> limit = Limit(rows=5, neighbors=Neighbors.ADD_REMOVE, groups=9, touched=9)
        >>> Statistic(limit, Form.ROWS).sensitivity(norm=1) == 5 * 2**20
        True
    """

    form: Form
    term: Term | None = None

    @property
    def name(self) -> str:
        """The form and the expressions."""
        texts = [text for text, _ in self.term.factors] if self.term else []
        return " ".join([self.form, " * ".join(texts)]).strip()

    @property
    def weight(self) -> int:
        """A row of weight 1, in units of 2^-20."""
        return UNIT

    @property
    def _counts(self) -> bool:
        return self.form in (Form.ROWS, Form.PRESENT)

    @property
    def span(self) -> tuple[int, int]:
        """What a row of weight 1 adds, in steps of the grid."""
        if self._counts or self.term is None:
            return 0, 1
        grid = self.term.grid
        middle = grid.middle if self.form is Form.CENTERED else 0
        return min(grid.low - middle, 0), max(grid.high - middle, 0)

    @property
    def fine_value(self) -> Fraction:
        """A unit of weight times a step of the grid."""
        plain = self._counts or self.term is None
        return (Fraction(1) if plain else self.term.grid.step) / UNIT  # type: ignore[union-attr]

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Public bounds of what a row adds, for the receipt."""
        return None if self.term is None else self.term.grid.ends

    def fine(self, found: Fetched, key: Key) -> int:
        """Return the exact sum of one group, zero where nobody is in it."""
        row = found.sums(key)
        if row is None:
            return 0
        if self.term is None:
            return int(row["_n"] or 0)
        name = found.column(self.term)
        weight = int(row[f"{name}_w"] or 0)
        if self.form is Form.PRESENT:
            return weight
        grid = self.term.grid
        raw = total(row, name)
        offset = grid.low - (grid.middle if self.form is Form.CENTERED else 0)
        return raw + offset * weight

    def guess(self, cell: float, mechanism: Mechanism) -> list[float]:
        """Return the sum over rows spread evenly over the upper half of the bounds.

        A mean in the very middle is rare, and there alone noise on the count does not
        matter: halfway to an end is what `Mean.needs` supposes, too.
        """
        if self._counts or self.term is None:
            return [cell]
        grid, factors = self.term.grid, self.term.factors
        half = float(grid.half)
        if self.form is Form.CENTERED:
            return [cell * half / 2]
        if len(factors) == 1:
            return [cell * (float(grid.middle * grid.step) + half / 2)]
        return [cell * grid.ends[1] / (3 if factors[0] == factors[1] else 4)]


def rows_of(limit: Any) -> Statistic:
    """Return the weighted number of rows."""
    return Statistic(limit, Form.ROWS)
