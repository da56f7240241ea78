"""A tree through noisy tables: least squares that agree, then none below zero.

All of it is computed from released numbers, so it costs no privacy.

For a pair of columns with n and m cells, the table nearest to a noisy one that has
given sums r and c (of one total) costs ‖r - row sums‖²/m + ‖c - column sums‖²/n less
(t - total)²/(nm): the columns meet in the total alone. So the least squares of a whole
forest are weighted means, one column at a time, and one quadratic in the total.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from hush.synth.spanning_forest import Edge, Forest

Floats = NDArray[np.float64]
_ROUNDS = 300  # of alternating projections, if it takes so many


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


def fit_tables(sizes: tuple[int, ...], tables: Sequence[Table]) -> Fitted:
    """Return the tables of a forest nearest to noisy ones, none below zero.

    Every column needs a table of its own or a pair; pairs must close no circle.
    """
    own = pool(tables)
    # Cutting noise off at zero adds rows: the total is settled before.
    total = max(common_counts(sizes, own)[0], 0.0)
    found = nearest_tables(sizes, own, total)
    pairs = {t.columns: t.counts for t in found if len(t.columns) == 2}
    forest = Forest(len(sizes), tuple((a, b) for a, b in pairs))
    margins = tuple(simplex(m, total) for m in common_counts(sizes, found, total)[1])
    return Fitted(forest, total, margins, {e: pairs[e] for e in forest.edges})


def pool(tables: Sequence[Table]) -> list[Table]:
    """Return one table for each set of columns: means weighted by precision."""
    found = []
    for columns in dict.fromkeys(table.columns for table in tables):
        own = [table for table in tables if table.columns == columns]
        weight = np.array([table.std**-2.0 for table in own])
        mean = np.tensordot(weight / weight.sum(), [table.counts for table in own], 1)
        found.append(Table(columns, mean, float(weight.sum() ** -0.5)))
    return found


def nearest_tables(
    sizes: tuple[int, ...], tables: Sequence[Table], total: float
) -> list[Table]:
    """Return the non-negative tables of one total nearest to noisy ones, about.

    Alternating projections (Dykstra), in the norm of the noise: onto tables that agree,
    in closed form, and onto tables without negative counts.

    Example:
        >>> pair = Table((0, 1), np.array([[40.0, -3.0], [0.0, 62.0]]), 1.0)
        >>> nearest_tables((2, 2), [pair], 99.0)[0].counts.round(3).tolist()
        [[38.5, 0.0], [0.0, 60.5]]
    """
    found, lost = list(tables), [np.zeros_like(table.counts) for table in tables]
    size = max(1.0, *(float(np.abs(table.counts).max()) for table in tables))
    for _ in range(_ROUNDS):
        found = consistent_tables(sizes, found, total)
        lifted = [
            replace(table, counts=np.maximum(table.counts + more, 0.0))
            for table, more in zip(found, lost, strict=True)
        ]
        moved = [up.counts - t.counts for up, t in zip(lifted, found, strict=True)]
        lost = [more - step for more, step in zip(lost, moved, strict=True)]
        found = lifted
        if max(float(np.abs(step).max()) for step in moved) <= 1e-6 * size:
            break
    return found


def consistent_tables(
    sizes: tuple[int, ...], tables: Sequence[Table], total: float
) -> list[Table]:
    """Return the tables of one total nearest to these, in the norm of the noise."""
    _, margins = common_counts(sizes, tables, total)
    return [
        replace(
            table,
            counts=margins[table.columns[0]]
            if len(table.columns) == 1
            else with_sums(table.counts, *(margins[each] for each in table.columns)),
        )
        for table in tables
    ]


def common_counts(
    sizes: tuple[int, ...], tables: Sequence[Table], known: float | None = None
) -> tuple[float, list[Floats]]:
    """Return the total and the counts of every column by weighted least squares.

    The total is the one that is `known`, or the best one.

    Example:
        >>> two = Table((0,), np.array([10.0, 20.0]), 1.0)
        >>> one = Table((1,), np.array([36.0]), 1.0)
        >>> total, margins = common_counts((2, 1), [two, one])
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
    total = float(slope / curvature) if known is None else known
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
    return np.asarray(np.maximum(values - excess[alive], 0.0))


def with_sums(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return the nearest table with these sums, whatever its signs."""
    n, m = table.shape
    off_rows, off_columns = rows - table.sum(axis=1), columns - table.sum(axis=0)
    shared = off_rows.sum() / (n * m)
    return np.asarray(table + off_rows[:, None] / m + off_columns / n - shared)
