"""A tree through noisy tables: least squares that agree, then none below zero.

All of it is computed from released numbers, so it costs no privacy.

For a pair of columns with n and m cells, the table nearest to a noisy one that has
given sums r and c (of one total) costs ‖r - row sums‖²/m + ‖c - column sums‖²/n less
(t - total)²/(nm): the columns meet in the total alone. So the least squares of a whole
forest are weighted means, one column at a time, and one quadratic in the total.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from hush.synth.forest import Edge, Forest

Floats = NDArray[np.float64]
_ROUNDS = 60  # of alternating projections; the scaling after them has the last word
_SCALINGS = 200


@final
@dataclass(frozen=True, eq=False)
class Table:
    """Noisy counts of the cells of one or two columns, and the std of each."""

    columns: tuple[int, ...]
    counts: Floats
    std: float


@final
@dataclass(frozen=True, eq=False)
class Fitted:
    """Tables that agree on the columns they share, none below zero, of one total."""

    forest: Forest
    total: float
    margins: tuple[Floats, ...]
    pairs: dict[Edge, Floats]


def fitted(sizes: tuple[int, ...], tables: Sequence[Table]) -> Fitted:
    """Return the tables of a forest nearest to noisy ones.

    Every column needs a table of its own or a pair; pairs must close no circle.
    """
    edges = [(t.columns[0], t.columns[1]) for t in tables if len(t.columns) == 2]
    forest = Forest(len(sizes), tuple(dict.fromkeys(edges)))
    total, margins = agreed(sizes, tables)
    total = max(total, 0.0)
    margins = [simplex(each, total) for each in margins]
    pairs = {}
    for edge in forest.edges:
        own = [t for t in tables if t.columns == edge]
        weight = np.array([t.std**-2.0 for t in own])
        noisy = np.tensordot(weight / weight.sum(), [t.counts for t in own], 1)
        pairs[edge] = transported(noisy, margins[edge[0]], margins[edge[1]])
    return Fitted(forest, total, tuple(margins), pairs)


def agreed(
    sizes: tuple[int, ...], tables: Sequence[Table]
) -> tuple[float, list[Floats]]:
    """Return the total and the counts of every column by weighted least squares.

    Example:
        >>> two = Table((0,), np.array([10.0, 20.0]), 1.0)
        >>> one = Table((1,), np.array([36.0]), 1.0)
        >>> total, margins = agreed((2, 1), [two, one])
        >>> round(total, 6), [each.round(6).tolist() for each in margins]
        (34.0, [[12.0, 22.0], [34.0]])
    """
    weight = np.zeros(len(sizes))
    means: list[Floats] = [np.zeros(size) for size in sizes]
    curvature = slope = 0.0  # of the cost as a function of the total
    for table in tables:
        precision = table.std**-2.0
        for axis, column in enumerate(table.columns):
            share = precision / (table.counts.size / sizes[column])
            others = tuple(a for a in range(table.counts.ndim) if a != axis)
            weight[column] += share
            means[column] += share * table.counts.sum(axis=others)
        if len(table.columns) == 2:
            common = precision / table.counts.size
            curvature -= common
            slope -= common * float(table.counts.sum())
    for column, size in enumerate(sizes):
        means[column] /= weight[column]
        curvature += weight[column] / size
        slope += weight[column] / size * float(means[column].sum())
    total = slope / curvature
    return total, [m + (total - m.sum()) / m.size for m in means]


def simplex(values: Floats, total: float) -> Floats:
    """Return the non-negative numbers nearest to `values` that add up to `total`.

    Example:
        >>> simplex(np.array([5.0, -2.0, 3.0]), 6.0).tolist()
        [4.0, 0.0, 2.0]
    """
    if total <= 0:
        return np.zeros_like(values)
    falling = np.sort(values, axis=None)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    alive = int(np.flatnonzero(falling >= excess)[-1])
    return np.maximum(values - excess[alive], 0.0)


def transported(noisy: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return a table near to a noisy one with these sums, and nothing below zero.

    Alternating projections (Dykstra) come close to the nearest one; scaling rows and
    columns then makes the sums exact.
    """
    total = float(rows.sum())
    if total <= 0:
        return np.zeros_like(noisy)
    found, lost = noisy, np.zeros_like(noisy)
    for _ in range(_ROUNDS):
        found = _with_sums(found, rows, columns)
        lifted = np.maximum(found + lost, 0.0)
        lost = found + lost - lifted
        if np.abs(lifted - found).max() <= 1e-9 * total:
            break
        found = lifted
    # A trace of independence keeps every row and column in reach of its sum.
    found = np.maximum(found, 0.0) + 1e-9 * np.outer(rows, columns) / total
    return scaled(found, rows, columns)


def _with_sums(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return the nearest table with these sums, whatever its signs."""
    n, m = table.shape
    off_rows, off_columns = rows - table.sum(axis=1), columns - table.sum(axis=0)
    shared = off_rows.sum() / (n * m)
    return np.asarray(table + off_rows[:, None] / m + off_columns / n - shared)


def scaled(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return the table with rows and columns scaled in turn until the sums are right.

    The columns' sums are exact, up to rounding; those of the rows to 1e-9 of the total.
    """
    found, total = table, float(rows.sum())
    for _ in range(_SCALINGS):
        found = found * _ratio(rows, found.sum(axis=1))[:, None]
        sums = found.sum(axis=0)
        found = found * _ratio(columns, sums)
        if np.abs(found.sum(axis=1) - rows).max() <= 1e-9 * total:
            break
    return found


def _ratio(wanted: Floats, found: Floats) -> Floats:
    return np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)
