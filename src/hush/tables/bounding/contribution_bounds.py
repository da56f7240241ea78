"""Contribution bounding: what one person can move, before anything is added up.

A person with c rows gives each row the weight min(1, rows/c), as an integer number of
2^-20, so that their weights add up to at most `rows`. The weight depends on that
person's rows alone: removing somebody else changes nothing (stability), and there is no
sampling, no order and no window, so every engine computes the same integers.

Values are clamped to public bounds and turned into whole steps of a power of two.
Weighted values are added up in two halves of 22 bits, each inside 64-bit integers for
up to 2^40 rows: exact, in any order, on any number of threads.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import ibis
import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument

UNIT = 1 << 20  # the weight of a whole row
_HALF = 1 << 22  # products below 2^44 split into two halves of 22 bits
_WIDE = ("duckdb", "postgres")  # their sums of 64-bit integers do not overflow
_LEVELS = 1 << 23  # steps between the bounds, at most twice as many


@final
@dataclass(frozen=True)
class Grid:
    """Public bounds of a column as whole steps of a power of two.

    Guarantee: every row counts as an integer in `low`..`high`, whatever it holds.

    Example:
        >>> grid = Grid.of((0, 80))
        >>> grid.low, grid.high, float(grid.step)
        (0, 10485760, 7.62939453125e-06)
    """

    low: int
    high: int
    step: Fraction

    @classmethod
    def of(cls, bounds: Any) -> "Grid":
        """Return the grid for public bounds, rounded outwards by less than a step."""
        lower, upper = checks.interval("bounds", bounds)
        if max(abs(lower), abs(upper)) > 1e100:
            raise InvalidArgument(f"bounds must be within ±1e100; got {bounds!r}.")
        width = max(upper - lower, abs(lower) * 2.0**-20, abs(upper) * 2.0**-20, 1e-100)
        exponent = math.frexp(width / _LEVELS)[1] - 1
        step = Fraction(2) ** exponent
        low = math.floor(Fraction(lower) / step)
        return cls(low, max(low, math.ceil(Fraction(upper) / step)), step)

    @property
    def middle(self) -> int:
        """Middle of the bounds, in steps."""
        return (self.low + self.high) // 2

    @property
    def half(self) -> Fraction:
        """Largest distance from the middle, in the column's own units."""
        return max(self.high - self.middle, self.middle - self.low) * self.step

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds, in the column's own units."""
        return float(self.low * self.step), float(self.high * self.step)

    def steps(self, value: Any) -> Any:
        """Return the engine's expression for steps above `low`: 0..high - low.

        `value` is not NaN; where it is NULL the result is any number in that range.
        """
        lower, upper = self.ends
        # Engines turn NULL into a bound here; the caller masks those rows.
        inside = ibis.least(ibis.greatest(value, lower), upper)
        # Both bounds are multiples of the step with few bits, so the difference stays
        # in 0..top after rounding, and the scaling by a power of two is exact.
        apart = inside - lower
        if self.step > 1:  # less than half a step is none: see `centered`
            apart = ibis.ifelse(apart < float(self.step / 2), 0.0, apart)
        return (apart * float(1 / self.step) + 0.5).floor().cast("int64")

    def centered(self, value: Any) -> Any:
        """Return the engine's expression for a clamped value minus the middle.

        Next to the middle it is 0: PostgreSQL fails on a product that is smaller than
        the smallest double, and products of these have less than 2^-20 of a step.
        """
        lower, upper = self.ends
        inside = ibis.least(ibis.greatest(value, lower), upper)
        apart = inside - float(self.middle * self.step)
        tiny = float(self.half / (1 << 64))
        return ibis.ifelse((apart < tiny) & (apart > -tiny), 0.0, apart)


@final
@dataclass(frozen=True)
class Moment:
    """A column to add up: its name, which rows count, and their steps above `low`."""

    name: str
    present: Any
    steps: Any

    @classmethod
    def of(cls, name: str, value: Any, grid: Grid) -> "Moment":
        """Return the moment of a row's number; NULL does not count."""
        return cls(name, value.notnull(), grid.steps(value))


def with_weights(table: ir.Table, unit: str | None, rows: int) -> ir.Table:
    """Return the table with a column `_w`: each row's weight in units of 2^-20.

    Guarantee: the weights of one person add up to at most rows·2^20 and depend on that
    person's rows alone. Rows without a unit (NULL) belong to nobody and are dropped.
    """
    if unit is None:
        return table.mutate(_w=ibis.literal(UNIT, "int64"))
    known = table.filter(table[unit].notnull())
    counts = known.group_by(_unit=known[unit]).agg(_rows=known.count())
    # Worked out once per person. Joining everybody, not only those who have too many
    # rows, spares engines an outer join.
    shares = counts.select("_unit", _w=row_weight(counts["_rows"], rows))
    return known.inner_join(shares, known[unit] == shares["_unit"]).drop("_unit")


def row_weight(held: Any, rows: int) -> Any:
    """Return the weight of each row of a person who holds so many: ⌊2^20·rows/held⌋.

    A person who holds fewer than `rows` has the weight 2^20. Both rows·2^20 and the
    quotient are exact in doubles far beyond any number of rows.
    """
    most = ibis.literal(rows * UNIT, "int64")
    least = ibis.greatest(held, ibis.literal(rows, "int64"))
    return (most / least).floor().cast("int64")


def row_weights(held: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Return `share` in this process: the same numbers, by the same operations."""
    most = np.floor(float(rows * UNIT) / np.maximum(held, rows))
    return most.astype(np.int64)


def has_wide_sums(table: ir.Table) -> bool:
    """Return whether the engine adds 64-bit integers up in wider ones."""
    return table.get_backend().name in _WIDE


def sums(table: ir.Table, by: tuple[str, ...], moments: tuple[Moment, ...]) -> ir.Table:
    """Return one row per group: `_n` and, per moment, its weights and its sum.

    DuckDB and PostgreSQL add 64-bit integers up in wider ones: `_sum`. Elsewhere two
    halves stay inside 64 bits: `_low` and `_high`. The integers are the same.
    """
    roomy = has_wide_sums(table)
    columns: dict[str, Any] = {"_n": table["_w"].sum()}
    for moment in moments:
        zero = ibis.literal(0, "int64")
        weight = ibis.ifelse(moment.present, table["_w"], zero)
        product = weight * moment.steps
        columns[f"{moment.name}_w"] = weight.sum()
        if roomy:
            columns[f"{moment.name}_sum"] = product.sum().cast("decimal(38, 0)")
            continue
        columns[f"{moment.name}_low"] = (product % _HALF).sum()
        columns[f"{moment.name}_high"] = (
            (product / ibis.literal(_HALF, "int64")).floor().cast("int64").sum()
        )
    if by:
        return table.group_by(*by).agg(**columns)
    return table.agg(**columns)


def exact_total(row: Any, name: str) -> int:
    """Return the exact sum of a moment from a row of `sums`."""
    if f"{name}_sum" in row:
        return int(row[f"{name}_sum"] or 0)
    return int(row[f"{name}_high"] or 0) * _HALF + int(row[f"{name}_low"] or 0)
