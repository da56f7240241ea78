"""Noisy sums of bounded rows in groups: a row belongs to one group, or to none."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.learn.exact_sums import BITS, MOST
from hush.mechanisms import Gaussian, KNorm
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve
from hush.privacy.notions.pure import Pure
from hush.privacy.rounding import at_least
from hush.serialization import tagged
from hush.units import Neighbors

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
_FINE = 8  # the weight of a count is a multiple of 2^-8: n times it is exact


@final
@tagged("learn.group_sums/1")
@dataclass(frozen=True, repr=False)
class GroupSums(Mechanism):
    """Σ 1, Σ x and, for `degree` 2, Σ x² of every group, for rows x in [-1, 1]^d.

    `inner` adds the noise: for pure ε one ℓ∞ K-norm draw per group, on Σ 1, Σ x and
    Σ(2x² - 1); else Gaussian noise on Σ √d, Σ x and Σ(1 - x²).

    Guarantee: one row replaced moves the ℓ∞ distances of all groups by 2 in total, and
    everything by 2√d in ℓ2; `inner` does the rest.

    Reference: [HT10]; docs/proofs/learn_classics.md.
    """

    groups: int
    columns: int
    degree: int
    inner: KNorm | Gaussian
    neighbors = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one row is one person

    def __post_init__(self) -> None:
        checks.whole("groups", self.groups, at_least=1)
        checks.whole("columns", self.columns, at_least=1)
        checks.whole("degree", self.degree, at_least=1, at_most=2)
        if isinstance(self.inner, KNorm) and (
            self.inner.norm != math.inf or self.inner.dimension != self.width
        ):
            raise InvalidArgument(
                f"inner must be ℓ∞ noise of dimension {self.width}; got {self.inner!r}."
            )

    @property
    def width(self) -> int:
        """How many sums a group has."""
        return 1 + self.degree * self.columns

    @classmethod
    def plan(
        cls,
        epsilon: float,
        *,
        delta: float,
        groups: int,
        columns: int,
        degree: int,
        times: int = 1,
    ) -> Self:
        """Return the least noise with which `times` releases are (ε, δ)-private."""
        checks.real("epsilon", epsilon, above=0)
        checks.real("delta", delta, at_least=0, below=1)
        inner: KNorm | Gaussian
        if delta == 0:
            share = epsilon / (2 * times) * (1 - 2.0**-50)
            width = 1 + degree * columns
            inner = KNorm.for_epsilon(share, 1, dimension=width, norm=math.inf)
        else:
            # Steps of 2^-40 std for rounding are within this factor for ε >= 1e-4.
            far = _distance(columns) * math.sqrt(times) * (1 + 2.0**-16)
            inner = Gaussian.for_epsilon(epsilon, far, delta=delta)
        return cls(groups, columns, degree, inner)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` rows are replaced."""
        people = checks.whole("sensitivity", sensitivity, at_least=0)
        if isinstance(self.inner, KNorm):
            # Two groups at distance 1 each, or one at 2, which costs no more.
            one = self.inner.curve(1).epsilon_at(0.0)
            exact = checks.rational("epsilon", one)
            return Pure(epsilon=at_least(2 * people * exact))
        distance = _distance(self.columns) * people
        return self.inner.curve(distance, dimension=self.groups * self.width)

    @property
    def error(self) -> Any:
        """Law of the noise on one group, or on one weighted sum."""
        return self.inner.error

    @property
    def std(self) -> float:
        """Standard deviation of the noise on each Σ x, and a bound on that of Σ 1."""
        if isinstance(self.inner, Gaussian):
            return float(self.inner.std)
        # A point of a cube whose half-side is Gamma(k + 1): variance (k+1)(k+2)/3.
        k = self.width
        return float(self.inner.scale) * math.sqrt((k + 1) * (k + 2) / 3)

    @property
    def _weight(self) -> float:
        """What a row adds to its group's count: at most √d."""
        if isinstance(self.inner, KNorm):
            return 1.0
        return math.ldexp(math.isqrt(self.columns << 2 * _FINE), -_FINE)

    def exact(self, rows: Floats, places: Places) -> Floats:
        """Return what noise is added to, a line per group: private and exact.

        Rows are clipped to [-1, 1] and rounded to multiples of 2^-14. A place outside
        0..groups-1 is no group, and rows that are not finite have none.
        """
        given, places = np.asarray(rows, dtype=np.float64), np.asarray(places)
        size = len(places)
        if given.shape != (size, self.columns) or not 1 <= size <= MOST:
            raise InvalidArgument(
                f"value must be 1 to {MOST} rows of {self.columns} columns and as many "
                f"places; got shapes {given.shape} and {places.shape}."
            )
        real = np.asarray(np.isfinite(given).all(axis=1))
        inside = np.clip(np.where(real[:, None], given, 0.0), -1, 1)
        x = np.ldexp(np.rint(np.ldexp(inside, BITS)), -BITS)
        parts = [np.full((len(x), 1), self._weight), x]
        if self.degree == 2:
            pure = isinstance(self.inner, KNorm)
            parts.append(2 * x * x - 1 if pure else 1 - x * x)
        entries = np.column_stack(parts)
        member = (np.arange(self.groups)[:, None] == places) & real
        # Multiples of 2^-28 below 2^25, or counts in multiples of 2^-8: exact.
        return np.asarray(member.astype(np.float64) @ entries)

    def run(self, value: Any, *, source: Source = SECURE) -> Floats:
        """Return noisy [Σ 1, Σ x, Σ x²] of (rows, places), a line per group."""
        exact = self.exact(*value)
        if isinstance(self.inner, KNorm):
            lines = [self.inner.run(line, source=source) for line in exact]
            noisy = np.array(lines)
        else:
            noisy = np.asarray(self.inner.run(exact, source=source))
        noisy[:, 0] /= self._weight
        if self.degree == 2:
            count, squares = noisy[:, :1], noisy[:, 1 + self.columns :]
            pure = isinstance(self.inner, KNorm)
            squares[:] = (squares + count) / 2 if pure else count - squares
        return noisy


def _distance(columns: int) -> float:
    return 2 * math.sqrt(columns) * (1 + 2.0**-50)
