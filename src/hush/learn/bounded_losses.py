"""Losses of one row while the predictor stays within a public radius.

Sampling mechanisms search a bounded set of coefficients, so that |x·θ| <= radius for
every row, and need less than minimisation does: no curvature, only bounds.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.learn.losses import Logistic
from hush.serialization import tagged

Floats = NDArray[np.float64]
_UP = 1 + 2.0**-48


class Risk(ABC):
    """A convex loss of the predictor z for targets in [-1, 1], while |z| <= radius."""

    @abstractmethod
    def steepest(self, radius: float) -> float:
        """Return a bound on the absolute slope."""

    @abstractmethod
    def loss_range(self, radius: float) -> float:
        """Return a bound on the largest loss minus the least."""

    @property
    @abstractmethod
    def curvature(self) -> float:
        """The Lipschitz constant of the slope, infinite if it has none."""

    @abstractmethod
    def value(self, z: Floats, y: Floats) -> Floats:
        """Return the loss of each row, within 16 units of 2^-53·(spread + 1)."""

    @abstractmethod
    def slope(self, z: Floats, y: Floats) -> Floats:
        """Return a subgradient in z, within 16 units of 2^-53·steepest."""

    @abstractmethod
    def change(self, z: Floats, y: Floats, reach: Floats) -> Floats:
        """Return how much the slope may differ at predictors up to `reach` away."""


@final
@tagged("learn.logistic_risk/1")
@dataclass(frozen=True)
class LogisticRisk(Risk):
    """log(1 + exp(-yz)) for targets ±1.

    Example:
        >>> round(LogisticRisk().steepest(2.0), 3)
        0.881
    """

    @property
    def curvature(self) -> float:
        """A quarter."""
        return 0.25

    def steepest(self, radius: float) -> float:
        """1/(1 + exp(-radius)), on the wrong side."""
        return 1 / (1 + math.exp(-radius)) * _UP

    def loss_range(self, radius: float) -> float:
        """The radius: log(1 + exp(R)) - log(1 + exp(-R)) = R."""
        return radius

    def value(self, z: Floats, y: Floats) -> Floats:
        """Return log(1 + exp(-yz))."""
        return Logistic().value(z, y)

    def slope(self, z: Floats, y: Floats) -> Floats:
        """Return -y/(1 + exp(yz))."""
        return Logistic().slope(z, y)

    def change(self, z: Floats, y: Floats, reach: Floats) -> Floats:
        """Return a quarter of the reach: the largest curvature."""
        return np.broadcast_to(reach / 4, z.shape)


@final
@tagged("learn.square_risk/1")
@dataclass(frozen=True)
class SquareRisk(Risk):
    """(z - y)²/2.

    Example:
        >>> SquareRisk().loss_range(1.0)
        2.0
    """

    @property
    def curvature(self) -> float:
        """One."""
        return 1.0

    def steepest(self, radius: float) -> float:
        """1 + radius, the largest residual."""
        return (1 + radius) * _UP

    def loss_range(self, radius: float) -> float:
        """(1 + radius)²/2."""
        return (1 + radius) ** 2 / 2

    def value(self, z: Floats, y: Floats) -> Floats:
        """Return half the square."""
        return (z - y) ** 2 / 2

    def slope(self, z: Floats, y: Floats) -> Floats:
        """Return the residual."""
        return z - y

    def change(self, z: Floats, y: Floats, reach: Floats) -> Floats:
        """Return the reach."""
        return np.broadcast_to(reach, z.shape)


@final
@tagged("learn.pinball/1")
@dataclass(frozen=True)
class Pinball(Risk):
    """quantile·(y - z) above the predictor, (1 - quantile)·(z - y) below it.

    Example:
        >>> Pinball(0.9).slope(np.array([0.0, 0.0]), np.array([1.0, -1.0]))
        array([-0.9,  0.1])
    """

    quantile: float = 0.5

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        checks.real("quantile", self.quantile, above=0, below=1)

    @property
    def _largest_slope(self) -> float:
        return max(self.quantile, 1 - self.quantile)

    @property
    def curvature(self) -> float:
        """None: the slope jumps."""
        return math.inf

    def steepest(self, radius: float) -> float:
        """The larger of the two slopes, at any radius."""
        return self._largest_slope * _UP

    def loss_range(self, radius: float) -> float:
        """The larger slope times the largest residual."""
        return self._largest_slope * (1 + radius) * _UP

    def value(self, z: Floats, y: Floats) -> Floats:
        """Return the loss of each row."""
        return np.maximum(self.quantile * (y - z), (1 - self.quantile) * (z - y))

    def slope(self, z: Floats, y: Floats) -> Floats:
        """Return 1 - quantile at targets up to z, and -quantile above."""
        return np.where(y <= z, 1 - self.quantile, -self.quantile)

    def change(self, z: Floats, y: Floats, reach: Floats) -> Floats:
        """Return one where the target may be crossed."""
        return (np.abs(z - y) <= reach).astype(np.float64)
