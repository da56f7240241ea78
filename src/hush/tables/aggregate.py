"""Aggregates: what a user asks for, made of statistics.

An aggregate names the statistics it needs and turns their released values into an
answer and an interval. Nothing here sees data.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.tables.bounding import Grid
from hush.tables.statistic import Form

Floats = NDArray[np.float64]
Released = Mapping[tuple[Form, str], tuple[Floats, float]]  # values and their ± bars


@dataclass(frozen=True)
class Aggregate(ABC):
    """A question about the rows of each group."""

    @property
    @abstractmethod
    def needs(self) -> tuple[tuple[Form, str, Grid | None], ...]:
        """The statistics it is made of: (form, expression, grid)."""

    @abstractmethod
    def answer(self, released: Released) -> tuple[Floats, Floats, Floats]:
        """Return values, lower and upper ends from released statistics and bars."""


@final
@dataclass(frozen=True)
class Count(Aggregate):
    """How many rows, each person counted at most `rows` times."""

    @property
    def needs(self) -> tuple[tuple[Form, str, Grid | None], ...]:
        """Rows."""
        return ((Form.ROWS, "", None),)

    def answer(self, released: Released) -> tuple[Floats, Floats, Floats]:
        """Return the noisy count."""
        value, bar = released[Form.ROWS, ""]
        return value, value - bar, value + bar


@final
@dataclass(frozen=True)
class Sum(Aggregate):
    """The total of a clamped expression; rows without a value add nothing."""

    expression: str
    bounds: tuple[float, float]

    @property
    def needs(self) -> tuple[tuple[Form, str, Grid | None], ...]:
        """The total."""
        return ((Form.TOTAL, self.expression, Grid.of(self.bounds)),)

    def answer(self, released: Released) -> tuple[Floats, Floats, Floats]:
        """Return the noisy total."""
        value, bar = released[Form.TOTAL, self.expression]
        return value, value - bar, value + bar


@final
@dataclass(frozen=True)
class Mean(Aggregate):
    """The mean of a clamped expression over the rows that have a value.

    The total is taken around the middle of the bounds, which halves its sensitivity.
    """

    expression: str
    bounds: tuple[float, float]

    @property
    def needs(self) -> tuple[tuple[Form, str, Grid | None], ...]:
        """The centered total and the number of values."""
        grid = Grid.of(self.bounds)
        return (
            (Form.CENTERED, self.expression, grid),
            (Form.PRESENT, self.expression, grid),
        )

    def answer(self, released: Released) -> tuple[Floats, Floats, Floats]:
        """Return the ratio; its interval holds for all totals and counts in theirs.

        Where the count may be zero the interval is all of the bounds.
        """
        grid = Grid.of(self.bounds)
        lower, upper = self.bounds
        middle = float((grid.low + grid.high) // 2 * grid.step)
        sums, sum_bar = released[Form.CENTERED, self.expression]
        counts, count_bar = released[Form.PRESENT, self.expression]
        least, most = counts - count_bar, counts + count_bar
        known = least > 0
        safe_least, safe_most = np.where(known, least, 1.0), np.where(known, most, 1.0)
        ends = [
            (sums + side * sum_bar) / count
            for side in (-1, 1)
            for count in (safe_least, safe_most)
        ]
        low = np.where(known, middle + np.minimum.reduce(ends), lower)
        high = np.where(known, middle + np.maximum.reduce(ends), upper)
        value = middle + sums / np.maximum(counts, 1.0)
        return tuple(np.clip(each, lower, upper) for each in (value, low, high))  # type: ignore[return-value]


def count() -> Count:
    """Count rows.

    Example:
        >>> count()
        Count()
    """
    return Count()


def sum(expression: str, bounds: Any) -> Sum:
    """Add up an expression clamped to public `bounds`.

    Example:
        >>> sum("fare", bounds=(0, 80))
        Sum(expression='fare', bounds=(0.0, 80.0))
    """
    return Sum(expression, _bounds(bounds))


def mean(expression: str, bounds: Any) -> Mean:
    """Average an expression clamped to public `bounds`.

    Example:
        >>> mean("fare", bounds=(0, 80))
        Mean(expression='fare', bounds=(0.0, 80.0))
    """
    return Mean(expression, _bounds(bounds))


def _bounds(bounds: Any) -> tuple[float, float]:
    Grid.of(bounds)  # refuses what cannot be bounds
    return float(bounds[0]), float(bounds[1])
