"""Losses of a linear predictor: value, slope and curvature, with public bounds.

A loss is a convex function of the predictor z = x·θ for each target y. Its slope is
bounded and Lipschitz; both bounds are part of the privacy guarantee.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hush import checks
from hush.serialization import tagged

Floats = NDArray[np.float64]


class Loss(ABC):
    """A convex loss of one number, its slope bounded and Lipschitz in that number.

    Guarantee: |slope| <= `slope_bound` and 0 <= curvature <= `curvature_bound` at
    every predictor and every target that `hush.learn.targets` produces.
    """

    @property
    @abstractmethod
    def slope_bound(self) -> float:
        """The largest absolute slope."""

    @property
    @abstractmethod
    def curvature_bound(self) -> float:
        """The largest second derivative: the Lipschitz constant of the slope."""

    @abstractmethod
    def value(self, z: Floats, y: Floats) -> Floats:
        """Return the loss of each row."""

    @abstractmethod
    def slope(self, z: Floats, y: Floats) -> Floats:
        """Return the first derivative in z, within 16 units of 2^-53·slope_bound."""

    @abstractmethod
    def curvature(self, z: Floats, y: Floats) -> Floats:
        """Return the second derivative in z where it exists."""

    @abstractmethod
    def precise_slope(self, z: Decimal, y: Decimal) -> Decimal:
        """Return the first derivative to the precision of the decimal context."""


@final
@tagged("learn.logistic/1")
@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(-yz)) for targets ±1; a straight line where yz < -`tail`.

    A row that lies further on the wrong side than `tail` pulls no harder than there,
    so that less noise hides it.

    Example:
        >>> Logistic().slope(np.array([0.0]), np.array([1.0]))
        array([-0.5])
        >>> Logistic(tail=1.0).slope(np.array([-9.0]), np.array([1.0])).round(3)
        array([-0.731])
    """

    tail: float = math.inf

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        checks.real("tail", self.tail, at_least=0, infinite=True)

    @property
    def slope_bound(self) -> float:
        """1/(1 + exp(-tail)), at the beginning of the line."""
        return 1 / (1 + math.exp(-self.tail))

    @property
    def curvature_bound(self) -> float:
        """A quarter, at z = 0."""
        return 0.25

    def value(self, z: Floats, y: Floats) -> Floats:
        """Return log(1 + exp(-yz)), or the line."""
        near = np.maximum(y * z, -self.tail)
        line = self.slope_bound * (near - y * z)
        return np.asarray(np.logaddexp(0.0, -near) + line)

    def slope(self, z: Floats, y: Floats) -> Floats:
        """Return -y/(1 + exp(yz)), or that of the line."""
        return -y * np.minimum(special.expit(-y * z), self.slope_bound)

    def curvature(self, z: Floats, y: Floats) -> Floats:
        """Return p(1 - p) before the line."""
        bend = special.expit(z) * special.expit(-z)
        return np.where(y * z > -self.tail, bend, 0.0)

    def precise_slope(self, z: Decimal, y: Decimal) -> Decimal:
        """Return -y/(1 + exp(yz)), or that of the line."""
        power = y * z
        if power > 0:
            small = (-power).exp()
            return -y * small / (1 + small)
        return -y * min(1 / (1 + power.exp()), Decimal(self.slope_bound))


@final
@tagged("learn.log_cosh/1")
@dataclass(frozen=True)
class LogCosh(Loss):
    """width²·log cosh((z - y)/width): squares near zero, slopes of ±width far away.

    Example:
        >>> LogCosh(width=0.5).slope(np.array([9.0]), np.array([0.0]))
        array([0.5])
    """

    width: float = 1.0

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        checks.real("width", self.width, above=0)

    @property
    def slope_bound(self) -> float:
        """The width."""
        return self.width

    @property
    def curvature_bound(self) -> float:
        """One, at a residual of zero."""
        return 1.0

    def value(self, z: Floats, y: Floats) -> Floats:
        """Return width²·log cosh(residual/width)."""
        t = np.abs(z - y) / self.width
        return self.width**2 * (t + np.log1p(np.exp(-2 * t)) - math.log(2))

    def slope(self, z: Floats, y: Floats) -> Floats:
        """Return width·tanh(residual/width)."""
        return self.width * np.tanh((z - y) / self.width)

    def curvature(self, z: Floats, y: Floats) -> Floats:
        """Return 1/cosh²(residual/width)."""
        return 1 - np.tanh((z - y) / self.width) ** 2

    def precise_slope(self, z: Decimal, y: Decimal) -> Decimal:
        """Return width·tanh(residual/width)."""
        width = Decimal(self.width)
        t = (z - y) / width
        small = (-2 * abs(t)).exp()
        return (width * (1 - small) / (1 + small)).copy_sign(t)


@final
@tagged("learn.huber_hinge/1")
@dataclass(frozen=True)
class HuberHinge(Loss):
    """The hinge max(0, 1 - yz) for targets ±1, with its corner rounded over ±width.

    Example:
        >>> HuberHinge(width=0.5).slope(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
        array([-1. , -0.5])
    """

    width: float = 0.5

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        checks.real("width", self.width, above=0)

    @property
    def slope_bound(self) -> float:
        """One."""
        return 1.0

    @property
    def curvature_bound(self) -> float:
        """1/(2·width), in the corner."""
        return 1 / (2 * self.width)

    def value(self, z: Floats, y: Floats) -> Floats:
        """Return the rounded hinge."""
        gap = 1 - y * z
        inside = np.clip(gap + self.width, 0, 2 * self.width)
        return inside**2 / (4 * self.width) + np.maximum(gap - self.width, 0)

    def slope(self, z: Floats, y: Floats) -> Floats:
        """Return -y times a ramp from 0 to 1."""
        ramp = (1 - y * z + self.width) / (2 * self.width)
        return -y * np.clip(ramp, 0, 1)

    def curvature(self, z: Floats, y: Floats) -> Floats:
        """Return 1/(2·width) in the corner and 0 elsewhere."""
        return np.where(np.abs(1 - y * z) < self.width, self.curvature_bound, 0.0)

    def precise_slope(self, z: Decimal, y: Decimal) -> Decimal:
        """Return -y times a ramp from 0 to 1."""
        width = Decimal(self.width)
        ramp = (1 - y * z + width) / (2 * width)
        return -y * min(max(ramp, Decimal(0)), Decimal(1))


@final
@tagged("learn.poisson/1")
@dataclass(frozen=True)
class Poisson(Loss):
    """exp(z) - yz for counts y in [0, top]; a straight line where exp(z) > top.

    Example:
        >>> Poisson(top=20.0).slope(np.array([0.0, 99.0]), np.array([3.0, 3.0]))
        array([-2., 17.])
    """

    top: float

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        checks.real("top", self.top, at_least=1, at_most=1e9)

    @property
    def slope_bound(self) -> float:
        """The largest count, or the largest rate."""
        return self.top

    @property
    def curvature_bound(self) -> float:
        """The largest rate, where the line begins."""
        return self.top

    def rate(self, z: Floats) -> Floats:
        """Return the expected count, at most `top`."""
        return np.asarray(np.minimum(np.exp(np.minimum(z, 30.0)), self.top))

    def value(self, z: Floats, y: Floats) -> Floats:
        """Return the loss of each row."""
        return self.rate(z) + self.top * np.maximum(z - math.log(self.top), 0.0) - y * z

    def slope(self, z: Floats, y: Floats) -> Floats:
        """Return rate - y."""
        return self.rate(z) - y

    def curvature(self, z: Floats, y: Floats) -> Floats:
        """Return the rate below the line and 0 on it."""
        rate = self.rate(z)
        return np.where(rate < self.top, rate, 0.0)

    def precise_slope(self, z: Decimal, y: Decimal) -> Decimal:
        """Return rate - y."""
        rate = min(z, Decimal(30)).exp()
        return min(rate, Decimal(self.top)) - y
