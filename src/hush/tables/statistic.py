"""A statistic: one bounded integer per group, what it can move by, and its noise.

Aggregates are made of statistics: a mean is two of them. Each is noised by itself, so
that an aggregate is a function of released numbers alone.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.tables.bounding import UNIT, Grid, total
from hush.units import Neighbors

_FINE = 1 << 30  # sensitivities are brought down to about this many steps


class Form(StrEnum):
    """What is added up for each row of a person, times the row's weight."""

    ROWS = "rows"  # 1
    PRESENT = "present"  # 1 where the column has a value
    TOTAL = "total"  # the value
    CENTERED = "centered"  # the value minus the middle of the bounds


@final
@dataclass(frozen=True)
class Partials:
    """Exact sums per group as the engine returned them: never leaves the process."""

    rows: Mapping[tuple[Any, ...], Mapping[str, Any]]

    def __repr__(self) -> str:
        return "Partials(...)"


@final
@dataclass(frozen=True)
class Statistic:
    """Σ weight·value over the rows of each public group, in public units.

    Guarantee: between neighbors the vector over all groups moves by at most
    `sensitivity` in ℓ1, in steps of `unit_value`. One person's weights add up to at
    most rows·2^20 over all groups together, each times a value inside the grid.

    Example:
        >>> relation = Neighbors.ADD_REMOVE
        >>> Statistic(Form.ROWS, "", None, 5, relation, (("a",),)).sensitivity
        5242880
    """

    form: Form
    column: str
    grid: Grid | None
    rows: int
    neighbors: Neighbors
    keys: tuple[tuple[Any, ...], ...]
    grouped: bool = True

    @property
    def _span(self) -> tuple[int, int]:
        """Smallest and largest value of a row of weight 1, zero (no row) included."""
        if self.form in (Form.ROWS, Form.PRESENT) or self.grid is None:
            return 0, 1
        low, high = self.grid.low, self.grid.high
        if self.form is Form.CENTERED:
            low, high = low - self.middle, high - self.middle
        return min(low, 0), max(high, 0)

    @property
    def middle(self) -> int:
        """Middle of the bounds, in steps."""
        return 0 if self.grid is None else (self.grid.low + self.grid.high) // 2

    @property
    def _reach(self) -> int:
        low, high = self._span
        if self.neighbors is Neighbors.ADD_REMOVE:
            each = max(-low, high)
        elif self.grouped:  # one person leaves some groups, another enters others
            each = 2 * max(-low, high)
        else:
            each = high - low
        return self.rows * UNIT * each

    @property
    def _coarse(self) -> int:
        """Fine steps per released step: a power of two from public numbers."""
        return 1 << max(0, (self._reach // _FINE).bit_length() - 1)

    @property
    def sensitivity(self) -> int:
        """Largest ℓ1 distance between neighbors, in released steps.

        Rounding down to m fine steps turns a distance d into at most d/m + 1 in every
        group that changes, and all of them may.
        """
        coarse = self._coarse
        rounding = len(self.keys) if coarse > 1 else 0
        steps = math.ceil(Fraction(self._reach, coarse)) + rounding
        # A multiple of 1024 has an exact curve of 1024 atoms; a millionth is lost.
        return -(-steps // 1024) * 1024

    @property
    def unit_value(self) -> Fraction:
        """What one released step is worth, in the column's own units."""
        step = Fraction(1) if self.grid is None else self.grid.step
        counts = self.form in (Form.ROWS, Form.PRESENT)
        return (Fraction(1) if counts else step) * self._coarse / UNIT

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Public bounds of the column, for the receipt."""
        if self.grid is None:
            return None
        grid = self.grid
        return float(grid.low * grid.step), float(grid.high * grid.step)

    def __call__(self, partials: Partials) -> NDArray[np.int64]:
        """Return the exact integer of every public group; absent groups are zero."""
        found = [self._exact(partials.rows.get(key)) for key in self.keys]
        return np.array([each // self._coarse for each in found], dtype=np.int64)

    def _exact(self, row: Mapping[str, Any] | None) -> int:
        if row is None:
            return 0
        if self.form is Form.ROWS:
            return int(row["_n"] or 0)
        weight = int(row[f"{self.column}_w"] or 0)
        if self.form is Form.PRESENT or self.grid is None:
            return weight
        raw = total(row[f"{self.column}_low"] or 0, row[f"{self.column}_high"] or 0)
        offset = self.grid.low - (self.middle if self.form is Form.CENTERED else 0)
        return raw + offset * weight


def distinct(statistics: Sequence[Statistic]) -> tuple[Statistic, ...]:
    """Return each statistic once: aggregates that share one pay for it once."""
    return tuple(dict.fromkeys(statistics))
