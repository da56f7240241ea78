"""Noisy second moments of bounded rows: all that least squares needs to know."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.learn.exact_sums import MOST, exact_rows
from hush.learn.features import Box
from hush.learn.targets import Response
from hush.mechanisms import Gaussian, KNorm
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve
from hush.serialization import tagged
from hush.units import Neighbors

Floats = NDArray[np.float64]


@final
@tagged("learn.moments/1")
@dataclass(frozen=True, repr=False)
class Moments(Mechanism):
    """Σ z_i z_j for i <= j, z being a row in [-1, 1], its constant and its target.

    `inner` adds the noise: ℓ∞ K-norm for pure ε, or Gaussian. Before K-norm noise
    squares are doubled, so that every coordinate has range 2.

    Guarantee: for one row replaced no coordinate moves by more than 2 and, for m
    entries of z, all of them by √(m² + (m - 1)/2) in ℓ2; `inner` does the rest.

    Reference: N3.8; docs/proofs/learn_moments.md.
    """

    rows: Box
    targets: Response
    size: int
    inner: KNorm | Gaussian
    neighbors = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one row is one person

    def __post_init__(self) -> None:
        checks.whole("size", self.size, at_least=1, at_most=MOST)
        if not self.rows.intercept:
            raise InvalidArgument("rows must have the constant column.")

    @property
    def width(self) -> int:
        """How many entries a row has: columns, constant and target."""
        return len(self.rows.lower) + 2

    @classmethod
    def plan(
        cls, epsilon: float, *, delta: float, rows: Box, targets: Response, size: int
    ) -> Self:
        """Return the mechanism with the least noise that is (ε, δ)-private."""
        width = len(rows.lower) + 2
        inner: KNorm | Gaussian
        if delta == 0:
            inner = KNorm.for_epsilon(
                epsilon, 2, dimension=_count(width), norm=math.inf
            )
        else:
            # √k + 1 steps of 2^-40 std for rounding: within this factor for ε >= 1e-4.
            inner = Gaussian.for_epsilon(
                epsilon, _distance(width) * (1 + 2.0**-16), delta=delta
            )
        return cls(rows, targets, size, inner)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` rows are replaced."""
        people = checks.whole("sensitivity", sensitivity, at_least=0)
        if isinstance(self.inner, KNorm):
            return self.inner.curve(2 * people)
        distance = _distance(self.width) * people
        return self.inner.curve(distance, dimension=_count(self.width))

    @property
    def error(self) -> Any:
        """Law of the noise on the moments."""
        return self.inner.error

    @property
    def squares(self) -> int:
        """The weight of squares, whose range is half that of products."""
        return 2 if isinstance(self.inner, KNorm) else 1

    @property
    def std(self) -> float:
        """Standard deviation of the noise on each sum of products, or a bound on it."""
        if isinstance(self.inner, Gaussian):
            return float(self.inner.std)
        # A point of a cube whose half-side is Gamma(k + 1): variance (k+1)(k+2)/3.
        k = _count(self.width)
        return float(self.inner.scale) * math.sqrt((k + 1) * (k + 2) / 3)

    def exact(self, value: Any) -> Floats:
        """Return the moments without noise, squares with their weight: private."""
        gram = exact_moments(self.rows, self.targets, self.size, value)
        gram[np.diag_indices_from(gram)] *= self.squares
        found: Floats = gram[_places(self.width)]
        return found

    def run(self, value: Any, *, source: Source = SECURE) -> Floats:
        """Return the symmetric matrix of noisy moments; the rows' number is public."""
        noisy = np.asarray(self.inner.run(self.exact(value), source=source))
        gram = np.zeros((self.width, self.width))
        gram[_places(self.width)] = noisy
        gram = gram + gram.T  # squares are added to themselves
        gram[np.diag_indices_from(gram)] /= 2 * self.squares
        gram[-2, -2] = self.size
        return gram


def exact_moments(rows: Box, targets: Response, size: int, value: Any) -> Floats:
    """Return Σ z zᵀ without noise and without rounding, z on a lattice: private."""
    z = np.column_stack(exact_rows(rows, targets, size, value))
    # Multiples of 2^-28 below 2^25: exact in any order.
    return np.asarray(z.T @ z)


def _places(width: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of the upper triangle without that of constant²."""
    i, j = np.triu_indices(width)
    kept = ~((i == width - 2) & (j == width - 2))
    return i[kept], j[kept]


def _count(width: int) -> int:
    return width * (width + 1) // 2 - 1


def _distance(width: int) -> float:
    return math.sqrt(width * width + (width - 1) / 2) * (1 + 2.0**-50)
