"""What a sampled coefficient vector costs: the norm of a gradient, or a risk.

A potential answers for points, and from below for whole boxes of points; both come
with one public bound on their rounding.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from hush.learn.bounded_losses import Risk

Floats = NDArray[np.float64]
_UNIT = 2.0**-53
_ENTRIES = 1 << 21  # of a table of rows by points at once


@dataclass(frozen=True, eq=False)
class Potential(ABC):
    """A function of θ that depends on the data: exact rows, their targets, a ridge.

    Guarantee: predictors are exact, as rows have 14 bits and θ less than 36.
    """

    risk: Risk
    rows: Floats
    targets: Floats
    penalty: float

    @abstractmethod
    def at(self, theta: Floats) -> Floats:
        """Return the potential at each point."""

    @abstractmethod
    def below(self, centre: Floats, half: Floats) -> tuple[Floats, Floats]:
        """Return a lower bound on each cube |θ - centre|∞ <= half, and its centre's."""

    def _in_blocks(
        self, theta: Floats, of: Callable[[Floats, slice], Floats]
    ) -> Floats:
        """Return `of` predictors, some points at a time."""
        count = max(1, _ENTRIES // len(self.rows))
        parts = [slice(i, i + count) for i in range(0, len(theta), count)]
        return np.concatenate([of(self.rows @ theta[p].T, p) for p in parts])

    def _slope(self, z: Floats, theta: Floats) -> Floats:
        slope = self.risk.slope(z, self.targets[:, None])
        return np.asarray(slope.T @ self.rows + self.penalty * theta)


@final
@dataclass(frozen=True, eq=False)
class GradientNorm(Potential):
    """‖Σ slope(x·θ, y)·x + penalty·θ‖ in the ℓ1, ℓ2 or ℓ∞ `norm`."""

    norm: float

    def at(self, theta: Floats) -> Floats:
        """Return the norm of the gradient."""
        found = self._in_blocks(theta, lambda z, p: self._slope(z, theta[p]))
        return np.asarray(np.linalg.norm(found, ord=self.norm, axis=1))

    def below(self, centre: Floats, half: Floats) -> tuple[Floats, Floats]:
        """Return the norm of what is left of each coordinate after its changes."""
        size = np.abs(self.rows)
        reach = size.sum(axis=1)[:, None]

        def both(z: Floats, part: slice) -> Floats:
            change = self.risk.change(z, self.targets[:, None], reach * half[part])
            moved = change.T @ size + self.penalty * half[part, None]
            here = np.abs(self._slope(z, centre[part]))
            return np.stack([np.maximum(here - moved, 0.0), here], axis=1)

        norms = np.linalg.norm(self._in_blocks(centre, both), ord=self.norm, axis=2)
        return norms[:, 0], norms[:, 1]


@final
@dataclass(frozen=True, eq=False)
class TotalRisk(Potential):
    """Σ loss(x·θ, y) + penalty/2·‖θ‖²."""

    def at(self, theta: Floats) -> Floats:
        """Return the risk."""

        def total(z: Floats, part: slice) -> Floats:
            ridge = self.penalty / 2 * (theta[part] ** 2).sum(axis=1)
            loss = self.risk.value(z, self.targets[:, None])
            return np.asarray(loss.sum(axis=0) + ridge)

        return self._in_blocks(theta, total)

    def below(self, centre: Floats, half: Floats) -> tuple[Floats, Floats]:
        """Return the tangent's least value: the risk is convex."""
        slopes = self._in_blocks(centre, lambda z, p: self._slope(z, centre[p]))
        here = self.at(centre)
        return here - np.abs(slopes).sum(axis=1) * half, here


def rounding(
    size: int, dimension: int, top: float, penalty: float, radius: float
) -> float:
    """Return a bound on the rounding of a potential, `top` bounding a row's part.

    `size` + 24 units for the sum of rows of each coordinate, a few for the ridge, the
    coordinates' norm, and all of it twice.
    """
    parts = size * top + penalty * radius * (1 + radius)
    return 2 * _UNIT * (size + dimension + 32) * dimension * parts * math.sqrt(2)
