"""Least squares over an ℓ1 ball, for all subsets of columns at once and certified."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def all_subsets(columns: int) -> NDArray[np.bool_]:
    """Return every subset of columns, one per row.

    Example:
        >>> all_subsets(1).tolist()
        [[False], [True]]
    """
    return (np.arange(1 << columns)[:, None] >> np.arange(columns) & 1).astype(np.bool_)


def project(points: Floats, radius: float) -> Floats:
    """Return the nearest points of the ℓ1 ball, row by row.

    Example:
        >>> project(np.array([[3.0, 1.0], [0.2, 0.1]]), 2.0)
        array([[2. , 0. ],
               [0.2, 0.1]])
    """
    size = np.abs(points)
    order = -np.sort(-size, axis=1)
    place = np.arange(1, points.shape[1] + 1)
    surplus = (np.cumsum(order, axis=1) - radius) / place
    last = (order > surplus).sum(axis=1) - 1
    cut = np.take_along_axis(surplus, np.maximum(last, 0)[:, None], axis=1)
    inside = size.sum(axis=1, keepdims=True) <= radius
    shrunk = np.where(inside, size, np.maximum(size - cut, 0.0))
    # Rounding may leave the ball by a little; scaling back never does.
    total = np.maximum(shrunk.sum(axis=1, keepdims=True), radius)
    return np.asarray(np.copysign(shrunk * (radius / total), points))


def smallest_squares(
    gram: Floats, subsets: NDArray[np.bool_], radius: float, within: float
) -> Floats:
    """Return min ‖y - xβ‖² over ‖β‖₁ <= radius, for β supported on each subset.

    `gram` holds the moments of (x, y). Guarantee: each value lies between the minimum
    and the minimum + `within`: for a convex f over the ball,
    f(β) - min f <= ∇f·β + radius·‖∇f‖∞ on the subset. The loop goes on until it holds.
    """
    inner, cross, square = gram[:-1, :-1], gram[:-1, -1], gram[-1, -1]
    step = 1 / max(2 * float(np.linalg.eigvalsh(inner)[-1]), 1e-300)
    found = np.empty(len(subsets))
    left = np.arange(len(subsets))
    beta = project(_unbounded(inner, cross, subsets), radius) * subsets
    ahead, speed = beta, 1.0
    while True:
        mask = subsets[left]
        slope = 2 * (beta @ inner - cross) * mask
        gap = (slope * beta).sum(axis=1) + radius * np.abs(slope).max(axis=1)
        done = gap <= within
        value = square + (beta * (beta @ inner - 2 * cross)).sum(axis=1)
        found[left[done]] = value[done]
        if done.all():
            return np.maximum(found, 0.0)
        left, beta, ahead, mask = left[~done], beta[~done], ahead[~done], mask[~done]
        moved = ahead - step * 2 * (ahead @ inner - cross) * mask
        after = project(moved * mask, radius) * mask
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        # Restart where momentum points uphill, so that no problem swings for ever.
        uphill = ((ahead - after) * (after - beta)).sum(axis=1, keepdims=True) > 0
        push = np.where(uphill, 0.0, (speed - 1) / faster)
        ahead, beta, speed = after + push * (after - beta), after, faster


def _unbounded(inner: Floats, cross: Floats, subsets: NDArray[np.bool_]) -> Floats:
    """Return a start: ridge solutions of every subset, without the ball."""
    d = len(cross)
    both = subsets[:, :, None] & subsets[:, None, :]
    lift = 1e-9 * float(np.trace(inner)) + 1e-9
    systems = np.where(both, inner, 0.0) + np.eye(d) * (lift + ~subsets[:, :, None])
    right = (cross * subsets)[:, :, None]
    return np.asarray(np.linalg.solve(systems, right)[:, :, 0])
