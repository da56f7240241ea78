"""Noise for objectives: lattice vectors that stand for a continuous law.

Objective perturbation is proved for noise with a density. A lattice vector moved
uniformly inside its cell has one; the move is never drawn, its length is added to the
solver's tolerance instead, and both are hidden by the last noise of the release.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hush import checks
from hush.errors import InvalidArgument
from hush.noise import (
    SECURE,
    Body,
    Lattice,
    Source,
    discrete_gaussian,
    discrete_laplace,
    radial,
)
from hush.noise.ball import cube
from hush.privacy.rounding import at_least
from hush.serialization import tagged

_BITS = 32  # lattice points per scale, as a power of two
_SMOOTH = 2  # steps of hidden Gaussian noise, as in docs/proofs/gaussian_lattices.md
_REACH = 60  # steps; 30 of those standard deviations, left with chance < 1e-195
_LARGEST = 150.0  # δ of a larger ε is bounded by the one at this ε
_UP = 1 + 2.0**-48


class Perturbation(ABC):
    """A lattice law close to one with a density: how close, and how private."""

    @abstractmethod
    def lattice_error(self, dimension: int) -> float:
        """Return how far, in ℓ2, a drawn vector lies from the continuous one."""

    @abstractmethod
    def delta(self, epsilon: float, distance: float, dimension: int) -> float:
        """Return δ(ε) of the continuous law at gradients `distance` apart."""

    @abstractmethod
    def draw(self, dimension: int, source: Source = SECURE) -> NDArray[np.float64]:
        """Return one noise vector, exact as floats."""

    @abstractmethod
    def typical_size(self, dimension: int) -> float:
        """Return a size in ℓ2 that the noise seldom exceeds; no guarantee."""

    @abstractmethod
    def quantile(self, p: float, dimension: int) -> float:
        """Return a bound on the ℓ2 norm that holds with probability p."""

    @abstractmethod
    def stds(self, dimension: int) -> NDArray[np.float64]:
        """Return the standard deviation of each coordinate, up to the lattice."""


class PureNoise(Perturbation):
    """Noise whose log-ratio is bounded: no δ is needed."""

    norm: float

    @abstractmethod
    def epsilon(self, distance: Any, dimension: int) -> float:
        """Return the log-ratio at `distance` in the norm, rounding included."""

    def delta(self, epsilon: float, distance: float, dimension: int) -> float:
        """Return 0 from the pure ε on; no use is made of what lies below."""
        return 0.0 if epsilon >= self.epsilon(distance, dimension) else 1.0


@final
@tagged("learn.k_norm_noise/1")
@dataclass(frozen=True)
class KNormNoise(PureNoise):
    """Density ∝ exp(-‖v‖/scale) in the ℓ1, ℓ2 or ℓ∞ `norm`, on a fine lattice.

    There are 2^32 lattice points per scale or more.

    Guarantee: `epsilon(D, d)` bounds the log-ratio of the densities, of the lattice
    vector or of the one moved inside its cell, at any two points D apart.

    Example:
        >>> KNormNoise(scale=2.0).draw(3).shape
        (3,)
    """

    scale: float
    norm: float = 2

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        checks.real("scale", self.scale, above=0)
        if self.norm not in (1, 2, math.inf):
            raise InvalidArgument(f"norm must be 1, 2 or infinity; got {self.norm!r}.")

    @cached_property
    def grid(self) -> Lattice:
        """The public lattice."""
        return Lattice.under(self.scale, bits=_BITS)

    def epsilon(self, distance: Any, dimension: int) -> float:
        """Return the log-ratio at `distance` in the norm, rounding included."""
        if distance == 0:
            return 0.0
        root = math.isqrt(dimension - 1) + 1
        ones = {1: dimension, 2: root, math.inf: 1}[self.norm]
        steps = math.ceil(Fraction(distance) / self.grid.step + ones)
        return at_least(steps * self.grid.step / Fraction(self.scale))

    def lattice_error(self, dimension: int) -> float:
        """Return half the diagonal of a cell."""
        return float(self.grid.step) * math.sqrt(dimension) / 2 * _UP

    def steps(self, dimension: int, source: Source = SECURE) -> NDArray[np.int64]:
        """Return one noise vector, counted in lattice steps."""
        rate = Fraction(self.scale) / self.grid.step
        if dimension == 1 or self.norm == 1:  # on a line one law whatever the norm
            drawn: NDArray[np.int64] = discrete_laplace(rate, dimension, source=source)
            return drawn
        body = Body(cube, box=1, ones=1) if self.norm == math.inf else None
        return radial(body, dimension, rate, source=source)

    def draw(self, dimension: int, source: Source = SECURE) -> NDArray[np.float64]:
        """Return one noise vector."""
        return self.grid.floats(self.steps(dimension, source))

    def typical_size(self, dimension: int) -> float:
        """Return four times the expected ℓ2 norm or more."""
        shape = math.sqrt(dimension) if self.norm == math.inf else 1.0
        return 4 * (dimension + 1) * self.scale * shape

    def quantile(self, p: float, dimension: int) -> float:
        """Return the Gamma quantile of the norm, and ℓ2 <= √d·ℓ∞."""
        shape = math.sqrt(dimension) if self.norm == math.inf else 1.0
        radius = float(special.gammaincinv(dimension, p)) * self.scale
        return radius * shape + self.lattice_error(dimension)

    def stds(self, dimension: int) -> NDArray[np.float64]:
        """Return those of Laplace noise, of a ball's points or of a cube's."""
        if self.norm == math.inf:
            return np.full(dimension, cube_std(self.scale, dimension))
        square = 2 if self.norm == 1 or dimension == 1 else dimension + 1
        return np.full(dimension, self.scale * math.sqrt(square))


def cube_std(scale: float, dimension: int) -> float:
    """Return the standard deviation of each coordinate of ℓ∞ K-norm noise.

    It is Gamma(d + 1) times a point of the cube; in one dimension Laplace noise.
    """
    return scale * math.sqrt((dimension + 1) * (dimension + 2) / 3)


@final
@tagged("learn.gaussian_noise/1")
@dataclass(frozen=True)
class GaussianNoise(Perturbation):
    """Gaussian noise of `std` per coordinate, on a lattice of 2^-32 std.

    Guarantee: drawn vectors are a continuous Gaussian of variance std² - 4 step², plus
    a move of at most 60 steps per coordinate, up to a chance below 1e-195 for each.

    Example:
        >>> GaussianNoise(std=2.0).draw(3).shape
        (3,)
    """

    std: float

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        checks.real("std", self.std, above=0)

    @cached_property
    def grid(self) -> Lattice:
        """The public lattice."""
        return Lattice.under(self.std, bits=_BITS)

    def lattice_error(self, dimension: int) -> float:
        """Return the length of 60 steps in every coordinate."""
        return float(self.grid.step) * _REACH * math.sqrt(dimension) * _UP

    def delta(self, epsilon: float, distance: float, dimension: int) -> float:
        """Return E(1 - exp(ε - loss))₊ for the largest loss that GLM gradients allow.

        The loss is at most b²/2 + b·R, b = distance/std and R the length of the noise
        in the plane of two rows: P(R > r) <= exp(-r²/2). Integrating by parts,
        δ = b·e^(a + b²/2)·√(2π)·Φ(-a/b - b) with a = ε - b²/2, for a >= 0.
        """
        if distance == 0:
            return 0.0
        step = float(self.grid.step)
        b = distance / math.sqrt(self.std**2 - (_SMOOTH * step) ** 2) * _UP
        a = min(epsilon, _LARGEST) - b * b / 2
        low = max(a, 0.0)
        log = a + b * b / 2 + special.log_ndtr(-low / b - b)
        tail = b * math.sqrt(2 * math.pi) * math.exp(log)
        first = -math.expm1(a) if a < 0 else 0.0
        # Moves beyond 60 steps, for both data sets: (1 + e^200)·1e-195 or less, each.
        return (first + tail) * (1 + 1e-9) + dimension * 1e-100

    def draw(self, dimension: int, source: Source = SECURE) -> NDArray[np.float64]:
        """Return one noise vector."""
        rate = Fraction(self.std) / self.grid.step
        return self.grid.floats(discrete_gaussian(rate, dimension, source=source))

    def typical_size(self, dimension: int) -> float:
        """Return four times the expected ℓ2 norm or more."""
        return 4 * self.std * math.sqrt(dimension + 1)

    def quantile(self, p: float, dimension: int) -> float:
        """Return the chi quantile of the norm."""
        square = 2 * float(special.gammaincinv(dimension / 2, p))
        return self.std * math.sqrt(square) + self.lattice_error(dimension)

    def stds(self, dimension: int) -> NDArray[np.float64]:
        """Return `std` for each."""
        return np.full(dimension, self.std)
