"""Weighted histograms per group, computed by the engine: what quantiles are found in.

A column with public bounds is cut into cells around multiples of a power of two, so
that whole numbers stay what they are wherever the cells are narrow enough. Engines add
up integer weights per group and cell; only these histograms come back.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import ibis
import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.mechanisms.cells import Cells
from hush.tables.columns import Columns

MOST = 1 << 16  # cells of one group
_ALL = 1 << 22  # cells of all groups together
_FEWEST = 1 << 6

Key = tuple[Any, ...]


def fitting(groups: int) -> int:
    """Return how many cells each of so many groups may have, from public numbers.

    Example:
        >>> fitting(50), fitting(1000)
        (65536, 4194)
    """
    checks.whole("groups", groups, at_least=1)
    return max(_FEWEST, min(MOST, _ALL // groups))


@final
@dataclass(frozen=True)
class Axis:
    """Public bounds of a column, cut into `size` cells of width `step`.

    Cell k holds what rounds to (first + k)·step, inside the bounds.

    Guarantee: every row that has a value belongs to one cell of 0..size-1, the same on
    every engine, whatever it holds.

    Example:
        >>> axis = Axis.of((0, 80), 1000)
        >>> axis.size, float(axis.step), axis.values([0, 1, 640]).tolist()
        (641, 0.125, [0.0, 0.125, 80.0])
    """

    lower: float
    upper: float
    step: Fraction
    first: int
    size: int

    @classmethod
    def of(cls, bounds: Any, size: int = MOST) -> "Axis":
        """Return the narrowest power-of-two cells of which at most `size` suffice."""
        lower, upper = checks.interval("bounds", bounds)
        checks.whole("size", size, at_least=2, at_most=MOST)
        largest = max(abs(lower), abs(upper))
        if largest > 1e100:
            raise InvalidArgument(f"bounds must be within ±1e100; got {bounds!r}.")
        # Places stay below 2^36, so that adding a half to one is exact where it counts.
        width = max(upper - lower, largest * 2.0**-20, 1e-100)
        step = Fraction(2) ** (math.frexp(width / size)[1] - 1)
        while True:
            first, last = _place(lower, step), _place(upper, step)
            if last - first < size:
                return cls(lower, upper, step, first, last - first + 1)
            step *= 2

    def cell(self, value: Any) -> Any:
        """Return the engine's expression for the cell of a tame number, not NULL."""
        last = self.first + self.size - 1
        # A cell too far on either side: it only keeps the cast from overflowing, so
        # that it does not matter how an engine reads these numbers.
        low, high = float((self.first - 1) * self.step), float((last + 1) * self.step)
        inside = ibis.least(ibis.greatest(value, low), high)
        if self.step > 1:  # PostgreSQL fails on a product below the smallest double
            near = float(self.step / 4)
            inside = ibis.ifelse((inside < near) & (inside > -near), 0.0, inside)
        # Scaling by a power of two is exact; adding and flooring are IEEE operations.
        place = (inside * float(1 / self.step) + 0.5).floor().cast("int64")
        lowest, highest = (ibis.literal(x, "int64") for x in (self.first, last))
        return ibis.least(ibis.greatest(place, lowest), highest) - lowest

    def values(self, cells: Any) -> NDArray[np.float64]:
        """Return the middle of each cell, inside the bounds."""
        return self._at(cells, 0.0)

    def low_edges(self, cells: Any) -> NDArray[np.float64]:
        """Return the lower edge of each cell, inside the bounds."""
        return self._at(cells, -0.5)

    def high_edges(self, cells: Any) -> NDArray[np.float64]:
        """Return the upper edge of each cell, inside the bounds."""
        return self._at(cells, 0.5)

    def _at(self, cells: Any, shift: float) -> NDArray[np.float64]:
        place = np.asarray(cells, dtype=np.int64) + self.first + shift
        return np.clip(place * float(self.step), self.lower, self.upper)


def _place(number: float, step: Fraction) -> int:
    """Return the place of a number as every engine computes it."""
    return math.floor(number * float(1 / step) + 0.5)


def cells(weighted: ir.Table, by: tuple[str, ...], value: Any, axis: Axis) -> ir.Table:
    """Return rows (by…, `_cell`, `_n`): the weight of each cell that has rows.

    `weighted` has integer weights `_w` (`bounding.weighted`); `value` is a tame number
    of its rows. Rows without a value belong to no cell.

    Guarantee: one person moves the `_n` of all groups and cells together by no more
    than the sum of their weights (ℓ1): a row is in one group and one cell.
    """
    here = weighted.mutate(_v=value)
    here = here.filter(here["_v"].notnull())
    placed = here.mutate(_cell=axis.cell(here["_v"]))
    return placed.group_by(*by, "_cell").agg(_n=placed["_w"].sum().cast("int64"))


def read(table: Columns, by: tuple[str, ...], keys: Sequence[Key], axis: Axis) -> Cells:
    """Return the histograms of the public `keys`, in their order.

    Keys without rows are empty groups; rows of other keys are dropped.
    """
    place = np.asarray(table["_cell"], dtype=np.int64)
    weight = np.asarray(table["_n"], dtype=np.int64)
    if "_place" in table.column_names:  # of public keys, which are these
        group = np.asarray(table["_place"], dtype=np.int64)
    else:
        group = _groups(table, by, keys)
    known = np.flatnonzero(group >= 0)
    # A group has a cell once, so no two of these are equal.
    order = known[np.argsort(group[known] * axis.size + place[known])]
    return _sliced(group[order], place[order], weight[order], len(keys), axis)


def _sliced(group: Any, place: Any, weight: Any, groups: int, axis: Axis) -> Cells:
    """Return the histograms of cells in order, group after group."""
    cuts = np.searchsorted(group, np.arange(groups + 1))
    return Cells.listed(
        axis.size,
        [
            (place[start:stop], weight[start:stop])
            for start, stop in itertools.pairwise(cuts.tolist())
        ],
    )


def _groups(
    table: Columns, by: tuple[str, ...], keys: Sequence[Key]
) -> NDArray[np.int64]:
    """Return the place of each row's key in `keys`, or -1."""
    found = np.zeros(table.num_rows, dtype=np.int64)
    listed: list[Key] = [()]
    for name in by:
        joint, values = _coded(table[name])
        # Renumber what occurs, so that codes never exceed the number of rows.
        joint += found * max(len(values), 1)
        codes, found = np.unique(joint, return_inverse=True)
        listed = [
            (*listed[code // max(len(values), 1)], values[code % max(len(values), 1)])
            for code in codes.tolist()
        ]
    places = {key: place for place, key in enumerate(keys)}
    lookup = np.array([places.get(key, -1) for key in listed], dtype=np.int64)
    return lookup[found] if table.num_rows else found


def _coded(column: NDArray[Any]) -> tuple[NDArray[np.int64], Sequence[Any]]:
    """Return a code for each value of a column, and the values by their codes."""
    if column.dtype.kind == "i" and column.size:
        low, high = int(column.min()), int(column.max())
        if high - low <= _FEWEST + column.size:  # counting is cheaper than a look-up
            return column.astype(np.int64) - low, range(low, high + 1)
    numbers: defaultdict[Any, int] = defaultdict(itertools.count().__next__)
    coded = map(numbers.__getitem__, column.tolist())
    return np.fromiter(coded, np.int64, column.size), list(numbers)
