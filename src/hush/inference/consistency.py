"""Consistent tables: released numbers made to add up, and none below zero."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.estimate import Estimate
from hush.inference import inputs
from hush.inference.results import Interval

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Consistent(Interval):
    """Released sums after least squares; `cells` are what they are sums of.

    `effective` is how many releases of its old precision each sum is worth now.
    """

    cells: Estimate


def consistent(
    released: Any, design: Any, *, std: Any, level: float = 0.95
) -> Consistent:
    """Return the numbers nearest to `released` that are sums of the same cells.

    Row i of `design` says which cells the i-th number adds up; `std` is the noise of
    each number. Weighted least squares: every variance falls, or stays.

    Guarantee: unbiased; `std` afterwards is exact for independent noise. Intervals are
    normal ones, about the true sums of the data.

    Example:
        >>> design = [[1, 1], [1, 0], [0, 1]]  # a total and its two parts
        >>> found = consistent([100.0, 61.0, 42.0], design, std=1.0)
        >>> [round(float(v), 3) for v in found.value]
        [101.0, 60.0, 41.0]
        >>> [round(float(s), 3) for s in found.std]
        [0.816, 0.816, 0.816]

    Reference: [HRMS10]; docs/proofs/inference.md.
    """
    a = inputs.numbers("design", design)
    y = inputs.numbers("released", released)
    if a.ndim != 2 or y.shape != a.shape[:1]:
        raise InvalidArgument(
            f"design must have one row for each released number; got shapes {a.shape} "
            f"and {y.shape}."
        )
    noise = _each("std", std, y)
    if not (np.isfinite(noise).all() and (noise > 0).all()):
        raise InvalidArgument("std must be positive and finite for every number.")
    checks.real("level", level, above=0, below=1)
    left, singular, right = np.linalg.svd(a / noise[:, None], full_matrices=False)
    if singular[-1] <= 1e-10 * singular[0] or singular.size < a.shape[1]:
        raise InvalidArgument(
            "design must determine every cell; some cells appear only together. Merge "
            "them, or release one of them."
        )
    cells = right.T @ ((left.T @ (y / noise)) / singular)
    root = right.T / singular  # covariance of the cells is root·rootᵀ
    before, after = _spread(root), _spread(a @ root)
    return Consistent(
        a @ cells,
        after,
        (noise / np.maximum(after, 1e-300)) ** 2,
        level,
        Estimate(cells, before, np.ones(cells.size)),
    )


def _spread(root: Floats) -> Floats:
    return np.asarray(np.sqrt((root**2).sum(axis=1)))


def _each(name: str, value: Any, numbers: Floats) -> Floats:
    """Return one value for every number: its own, or one for all."""
    found = inputs.numbers(name, value)
    if found.ndim and found.shape != numbers.shape:
        raise InvalidArgument(
            f"{name} must be one number, or one for each of {numbers.size}; got shape "
            f"{found.shape}."
        )
    return np.broadcast_to(found, numbers.shape)


def tree(leaves: int, branching: int = 2) -> Floats:
    """Return the design of a hierarchy: root first, then each level, leaves last.

    Example:
        >>> tree(4).astype(int).tolist()[:3]
        [[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]]
    """
    count = checks.whole("leaves", leaves, at_least=1)
    split = checks.whole("branching", branching, at_least=2)
    width = split ** math.ceil(math.log(count, split) - 1e-9) if count > 1 else 1
    rows: list[Floats] = []
    while width >= 1:
        for start in range(0, count, width):
            row = np.zeros(count)
            row[start : start + width] = 1
            rows.append(row)
        width //= split
    return np.array(rows)


def marginals(shape: Sequence[int], keep: Sequence[Sequence[int]]) -> Floats:
    """Return the design of several margins of one table, each with the axes it keeps.

    Example:
        >>> marginals((2, 2), keep=[(0,), (1,)]).astype(int).tolist()
        [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    """
    sizes = tuple(
        checks.whole("shape", size, at_least=1)
        for size in inputs.listed("shape", shape)
    )
    for axis in (a for axes in inputs.listed("keep", keep) for a in _axes(axes)):
        checks.whole("keep", axis, at_least=0, at_most=len(sizes) - 1)
    cells = list(product(*(range(size) for size in sizes)))
    rows = []
    for axes in keep:
        for levels in product(*(range(sizes[axis]) for axis in axes)):
            rows.append(
                [
                    float(all(cell[a] == k for a, k in zip(axes, levels, strict=True)))
                    for cell in cells
                ]
            )
    return np.array(rows)


def _axes(axes: Any) -> list[Any]:
    return inputs.listed("each margin in keep", axes)


def nonnegative(values: Any, *, std: Any = 1.0, total: float | None = None) -> Floats:
    """Return the non-negative numbers nearest to `values`, in units of their noise.

    With `total` they also add up to it. This is post-processing: it costs no privacy.
    It is biased near zero, so intervals should come from the values before it.

    Example:
        >>> nonnegative([5.0, -2.0, 3.0], total=6.0).tolist()
        [4.0, 0.0, 2.0]

    Reference: docs/proofs/inference.md.
    """
    z = inputs.numbers("values", values)
    if z.ndim != 1 or z.size == 0 or not np.isfinite(z).all():
        raise InvalidArgument(
            f"values must be a finite list of numbers; got shape {z.shape}."
        )
    if total is None:
        return np.maximum(z, 0.0)
    goal = checks.real("total", total, at_least=0)
    weight = _each("std", std, z) ** 2
    if not (weight > 0).all():
        raise InvalidArgument("std must be positive for every value.")
    # x = max(z - λ·weight, 0); the total falls in λ, straight between breakpoints.
    order = np.argsort(-z / weight)
    sums, weights = np.cumsum(z[order]), np.cumsum(weight[order])
    shifts = (sums - goal) / weights
    alive = int(np.flatnonzero(z[order] / weight[order] >= shifts)[-1]) if goal else 0
    return np.maximum(z - shifts[alive] * weight, 0.0) if goal else np.zeros(z.size)
