"""f-differential privacy: the best type II error of a test, for each type I error."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from hush.errors import InvalidArgument
from hush.privacy.curve import Bracket, Curve, Direction
from hush.privacy.discrete_pair import Atoms
from hush.privacy.rounding import Floats

_ENDS = np.geomspace(1e-15, 1e-2, 500)
_GRID = np.unique(
    np.concatenate([[0.0], _ENDS, np.linspace(0.01, 0.99, 1200), 1 - _ENDS, [1.0]])
)
# The values of a tradeoff function come rounded, and 1 - f keeps no more than this.
_ROUNDING = 4e-16


def check(f: Callable[[float], float]) -> Floats:
    """Return f on a fine grid, or say which property of a tradeoff function fails.

    Reference: [DRS22] Proposition 2.2 (N13.P1).
    """

    def refuse(what: str, at: float) -> InvalidArgument:
        return InvalidArgument(
            f"function is not a tradeoff function: {what} at alpha = {at:.6g}. It must "
            "be convex, continuous, non-increasing and at most 1 - alpha on [0, 1]."
        )

    value = np.array([float(f(float(alpha))) for alpha in _GRID])
    outside = np.isnan(value) | (value < -1e-15) | (value > 1 + 1e-15)
    if outside.any():
        raise refuse(f"it leaves [0, 1] ({value[outside][0]!r})", _GRID[outside][0])
    over = value > 1 - _GRID + 1e-12
    if over.any():
        raise refuse("it exceeds 1 - alpha", _GRID[over][0])
    rising = np.diff(value) > 1e-12
    if rising.any():
        raise refuse("it increases", _GRID[1:][rising][0])
    step = np.diff(_GRID)
    chord = (value[:-2] * step[1:] + value[2:] * step[:-1]) / (step[1:] + step[:-1])
    bent = value[1:-1] > chord + 1e-12
    if bent.any():
        raise refuse("it is not convex", _GRID[1:-1][bent][0])
    if value[0] - float(f(1e-300)) > 0.5:
        raise refuse("it jumps", 0.0)
    return np.asarray(np.clip(value, 0.0, 1.0))


@final
@dataclass(frozen=True, repr=False)
class Tradeoff(Curve):
    """f-DP: no test of level α between neighbors has type II error below f(α).

    Guarantee: T(M(x), M(x')) >= f for neighbors in either order, so max(f, f⁻¹) holds
    as well, and that is what the curve answers with. Functions carry 1 - f to about
    1e-15, so no δ below that is claimed.

    Example:
        >>> c = Tradeoff(lambda alpha: max(0.0, 1 - 2 * alpha, (1 - alpha) / 2))
        >>> f"{c.delta_at(0):.4f} {c.epsilon_at(1e-9):.4f}"
        '0.3333 0.6931'

    Reference: [DRS22].
    """

    function: Callable[[float], float]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidArgument(f"function must be callable; got {self.function!r}.")
        object.__setattr__(self, "_known", check(self.function))

    def __repr__(self) -> str:
        return f"Tradeoff({getattr(self.function, '__name__', 'function')})"

    @cached_property
    def atoms_above(self) -> Atoms:
        """A finite pair with less type II error, symmetrised."""
        value: Floats = getattr(self, "_known")  # noqa: B009 (set in __post_init__)
        x, y = above(_GRID, np.minimum(1 - value + _ROUNDING, 1.0))
        return atoms(lowest((x, y), mirror((x, y))))

    @cached_property
    def atoms_below(self) -> Atoms:
        """A finite pair with more type II error: chords lie above a convex f."""
        value: Floats = getattr(self, "_known")  # noqa: B009 (set in __post_init__)
        corners = hull(_GRID, np.maximum(1 - value - _ROUNDING, _GRID))
        return atoms(lowest(corners, mirror(corners)))

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket δ = 1 + f*(-e^ε) (N13.P9) between two polygons."""
        high = self.atoms_above.hockey(epsilon) * (1 + 1e-12) + _ROUNDING
        low = self.atoms_below.hockey(epsilon) * (1 - 1e-12) - _ROUNDING
        zero = np.isinf(epsilon) & (getattr(self, "_known")[0] == 1.0)  # noqa: B009
        return np.maximum(low, 0.0), np.where(zero, 0.0, np.minimum(high, 1.0))

    def _tradeoff(self, alpha: float) -> float:
        direct = float(self.function(alpha)) - _ROUNDING
        x, y = self.atoms_above.power
        return min(
            1 - alpha, max(0.0, direct, 1 - float(np.interp(alpha, x, y)) - 1e-15)
        )

    def symmetrized(self) -> "Tradeoff":
        """Return max(f, f⁻¹) as a function of its own (N13.P2)."""
        return Tradeoff(lambda alpha: float(self.tradeoff_at(alpha)))


# --------------------------------------------------------------------------------------
# Power polygons: the best power of a test as a concave, piecewise linear function.
#
# A polygon is two rising arrays (x, y) from x = 0 to (1, 1): a test of level x has
# power at most y. Groups, hulls and symmetrisation are plain geometry on it.

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


def mirror(polygon: Polygon) -> Polygon:
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
