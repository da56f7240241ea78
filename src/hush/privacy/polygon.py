"""Power polygons: the best power of a test as a concave, piecewise linear function.

A polygon is two rising arrays (x, y) from x = 0 to (1, 1): a test of level x has power
at most y. Groups, hulls and symmetrisation are plain geometry on it.
"""

import numpy as np

from hush.privacy.atoms import Atoms
from hush.privacy.rounding import Floats

Polygon = tuple[Floats, Floats]


def atoms(polygon: Polygon) -> Atoms:
    """Return the pair whose best tests are the corners; slopes are its ratios."""
    x, y = polygon
    width, rise = np.diff(x), np.diff(y)
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.log(rise) - np.log(width)
    inside = (width > 0) & (rise > 0)
    only_p = float(y[0]) + float(rise[(width <= 0) & (rise > 0)].sum())
    only_q = float(width[(width > 0) & (rise <= 0)].sum())
    order = np.argsort(losses[inside], kind="stable")
    return Atoms(losses[inside][order], rise[inside][order], only_p, only_q)


def hull(x: Floats, y: Floats) -> Polygon:
    """Return the smallest concave polygon above the points."""
    order = np.lexsort((-y, x))
    keep: list[int] = []
    for j in order:
        if keep and x[j] == x[keep[-1]]:
            continue
        while len(keep) >= 2:
            i, k = keep[-2], keep[-1]
            left = (y[k] - y[i]) * (x[j] - x[k])
            if left > (y[j] - y[k]) * (x[k] - x[i]):
                break
            keep.pop()
        keep.append(int(j))
    return x[keep], y[keep]


def lowest(first: Polygon, second: Polygon) -> Polygon:
    """Return the smaller of two powers, concave again: both guarantees hold at once."""
    x = np.union1d(first[0], second[0])
    a, b = np.interp(x, *first), np.interp(x, *second)
    gap = a - b
    cross = np.nonzero(gap[:-1] * gap[1:] < 0)[0]
    share = gap[cross] / (gap[cross] - gap[cross + 1])
    new = x[cross] + share * (x[cross + 1] - x[cross])
    x = np.union1d(x, new)
    return x, np.minimum(np.interp(x, *first), np.interp(x, *second))


def mirrored(polygon: Polygon) -> Polygon:
    """Return the polygon with null and alternative exchanged (f becomes f⁻¹)."""
    x, y = polygon
    x, y = np.append(0.0, x), np.append(0.0, y)
    return hull(np.append((1 - y)[::-1], 1.0), np.append((1 - x)[::-1], 1.0))


def above(x: Floats, y: Floats) -> Polygon:
    """Return a polygon above a concave function known exactly at x, y.

    Between two points the function lies below the chords of the neighboring cells,
    drawn on, and below its next value.
    """
    corners = [(0.0, y[0])]
    slope = np.append(np.diff(y) / np.diff(x), 0.0)
    for j in range(x.size - 1):
        # The line of the cell before, through (x_j, y_j); the first cell has none.
        after = slope[j + 1] if j + 2 < x.size else 0.0
        if j == 0:
            corners.append((x[0], min(y[1], y[1] - after * (x[1] - x[0]))))
        else:
            fall = slope[j - 1] - after
            if fall > 0:
                step = (y[j + 1] - y[j] - after * (x[j + 1] - x[j])) / fall
                if 0 < step < x[j + 1] - x[j]:
                    corners.append((x[j] + step, y[j] + slope[j - 1] * step))
        corners.append((x[j + 1], y[j + 1]))
    array = np.array(corners)
    return hull(array[:, 0], np.minimum(array[:, 1], 1.0))
