"""Noisy Σ x and Σ x xᵀ of rows in a public ball or box: what PCA needs to know."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.learn.exact_sums import BITS, MOST
from hush.learn.features import Ball, Box
from hush.mechanisms import Gaussian, KNorm
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve
from hush.serialization import tagged
from hush.units import Neighbors

Floats = NDArray[np.float64]
_HALF_ROOT = math.sqrt(0.5)


@final
@tagged("learn.scatter/1")
@dataclass(frozen=True, repr=False)
class Scatter(Mechanism):
    """Σ z_i z_j for i <= j, z being a row x and a constant: c² is left out.

    A box is moved to [-1, 1] and a ball to radius 1. Pure noise on a box is ℓ∞, with
    c = 1 and squares doubled; other noise is ℓ2, K-norm or Gaussian, with c half the
    longest row and squares shrunk by √2, so that ℓ2 is half of Frobenius' norm squared.

    Guarantee: one row replaced moves no coordinate by more than 2; or all of them in ℓ2
    by R² + c² for rows of length R, plus rounding; `inner` does the rest.

    Reference: [DTTZ14]; docs/proofs/learn_classics.md.
    """

    rows: Ball | Box
    columns: int
    size: int
    inner: KNorm | Gaussian
    neighbors = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one row is one person

    def __post_init__(self) -> None:
        checks.whole("size", self.size, at_least=1, at_most=MOST)
        checks.whole("columns", self.columns, at_least=1)
        if self.rows.intercept:
            raise InvalidArgument("rows must have no constant column.")
        if isinstance(self.rows, Box) and len(self.rows.lower) != self.columns:
            raise InvalidArgument(
                f"rows must have columns={self.columns} columns; got {self.rows!r}."
            )
        if isinstance(self.inner, KNorm):
            norm = math.inf if isinstance(self.rows, Box) else 2
            if (self.inner.norm, self.inner.dimension) != (norm, self.count):
                raise InvalidArgument(
                    f"inner must be K-norm noise for norm={norm} and dimension="
                    f"{self.count}; got {self.inner!r}."
                )

    @property
    def count(self) -> int:
        """How many sums there are."""
        return _count(self.columns)

    @classmethod
    def plan(
        cls, epsilon: float, *, delta: float, rows: Ball | Box, columns: int, size: int
    ) -> Self:
        """Return the mechanism with the least noise that is (ε, δ)-private."""
        checks.real("delta", delta, at_least=0, below=1)
        size = checks.whole("size", size, at_least=1, at_most=MOST)
        count, moved = _count(columns), _sensitivity_of_row(rows, columns, size)
        inner: KNorm | Gaussian
        if delta > 0:
            # √k + 1 steps of 2^-40 std for rounding: within this factor for ε >= 1e-4.
            far = moved * (1 + 2.0**-16)
            inner = Gaussian.for_epsilon(epsilon, far, delta=delta)
        elif isinstance(rows, Box):
            inner = KNorm.for_epsilon(epsilon, 2, dimension=count, norm=math.inf)
        else:
            inner = KNorm.for_epsilon(epsilon, moved, dimension=count, norm=2)
        return cls(rows, columns, size, inner)

    @property
    def _cube(self) -> bool:
        return isinstance(self.inner, KNorm) and isinstance(self.rows, Box)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` rows are replaced."""
        people = checks.whole("sensitivity", sensitivity, at_least=0)
        if self._cube:
            return self.inner.curve(2 * people)
        moved = _sensitivity_of_row(self.rows, self.columns, self.size) * people
        if isinstance(self.inner, KNorm):
            return self.inner.curve(moved)
        return self.inner.curve(moved, dimension=max(self.count, 2))

    @property
    def error(self) -> Any:
        """Law of the noise."""
        return self.inner.error

    @property
    def std(self) -> float:
        """Standard deviation of the noise on each Σ x_i x_j, i < j."""
        if isinstance(self.inner, Gaussian):
            return float(self.inner.std)
        k, scale = self.count, float(self.inner.scale)
        # Gamma(k + 1) times a cube's or sphere's point: (k+1)(k+2)/3, or (k+1).
        return scale * math.sqrt((k + 1) * (k + 2) / 3 if self._cube else k + 1)

    @property
    def _constant(self) -> float:
        return 1.0 if self._cube else _constant(self.rows, self.columns)

    @property
    def _squares(self) -> float:
        return 2.0 if self._cube else _HALF_ROOT

    def exact(self, value: Any) -> Floats:
        """Return what noise is added to: private, and exact up to weights."""
        x = self.rows.map(value)
        if x.shape != (self.size, self.columns):
            raise InvalidArgument(
                f"data must be {self.size} rows of {self.columns} columns; got shape "
                f"{np.shape(value)}."
            )
        if isinstance(self.rows, Ball):
            x = x / self.rows.norm
        # Towards zero, so that no row gets longer. Sums of multiples of 2^-28: exact.
        x = np.ldexp(np.trunc(np.ldexp(x, BITS)), -BITS)
        gram, total = x.T @ x, x.sum(axis=0)
        gram[np.diag_indices_from(gram)] *= self._squares
        return np.concatenate(
            [gram[np.triu_indices(self.columns)], self._constant * total]
        )

    def run(self, value: Any, *, source: Source = SECURE) -> Floats:
        """Return noisy [Σ x xᵀ | Σ x], symmetric but for its last column."""
        noisy = np.asarray(self.inner.run(self.exact(value), source=source))
        d = self.columns
        gram = np.zeros((d, d))
        gram[np.triu_indices(d)] = noisy[:-d]
        gram = gram + gram.T  # squares are added to themselves
        gram[np.diag_indices(d)] /= 2 * self._squares
        return np.column_stack([gram, noisy[-d:] / self._constant])


def _count(columns: int) -> int:
    return columns * (columns + 1) // 2 + columns


def _length(rows: Ball | Box, columns: int) -> float:
    """Return the longest row after it is moved."""
    long = rows.length(columns)
    return long / rows.norm if isinstance(rows, Ball) else long


def _constant(rows: Ball | Box, columns: int) -> float:
    return _length(rows, columns) / 2


def _sensitivity_of_row(rows: Ball | Box, columns: int, size: int) -> float:
    """Return how far one row moves everything in ℓ2, rounded weights included."""
    square = _length(rows, columns) ** 2 + _constant(rows, columns) ** 2
    # A weighted sum below n is rounded by n·2^-53, in each of two data sets.
    rounded = math.sqrt(2 * columns) * max(size, 1) * columns * 2.0**-51
    return (square + rounded) * (1 + 2.0**-49)
