"""How well the best of some random directions agree with a given one."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CELLS = (
    1 << 14
)  # of the trapezoid rule: errors below 10^-7, those of the lattice 10^-6
_REACH = 14.0  # standard deviations of one coordinate of a direction


def _sums(values: Floats, step: float) -> Floats:
    """Return the running trapezoid sums from 0."""
    return np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) * (step / 2))])


@lru_cache(maxsize=256)
def agreement(dimension: int, pairs: int, near: int, power: int) -> float:
    """Return E Σ b^power over the `near` largest of `pairs` independent b = |u₁|.

    u is a uniform direction. With u₁ = sin θ the density of θ is proportional to
    cos^(dimension-2) θ; b is among the largest if fewer than `near` others exceed it.

    Example:
        >>> round(agreement(3, 1, 1, 1), 6), round(agreement(3, 1, 1, 2), 6)
        (0.5, 0.333333)
        >>> round(agreement(3, 4, 4, 1), 6)
        2.0
    """
    if dimension == 1:
        return float(near)
    top = min(math.pi / 2, _REACH / math.sqrt(dimension))
    angle, step = np.linspace(0.0, top, _CELLS + 1, retstep=True)
    weight = np.cos(angle) ** (dimension - 2)
    below = _sums(weight, float(step))
    density = weight / below[-1]
    above = np.maximum(1 - below / below[-1], 0.0)
    others = pairs - 1
    few = np.zeros_like(angle)
    for j in range(min(near, pairs)):
        few += math.comb(others, j) * above**j * (1 - above) ** (others - j)
    terms = np.sin(angle) ** power * density * few
    return pairs * float(_sums(terms, float(step))[-1])
