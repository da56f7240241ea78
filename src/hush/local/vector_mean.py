"""Means of vectors: a random direction that tends to agree with the own one."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.estimate import Estimate
from hush.local.coins import Bytes, Integers
from hush.local.oracle import Floats
from hush.local.reports import Reports
from hush.local.tally import Collector, Tally
from hush.noise import Source, bernoulli, discrete_gaussian

_STD = 1 << 10  # of the lattice direction, in steps
_UNIT = 1 << 30  # directions are summed as whole numbers of this many parts


@final
@dataclass(frozen=True)
class VectorMean(Collector):
    """The mean of vectors of ℓ2 norm at most `radius`; longer ones are shortened.

    A vector becomes a unit vector on average right, then a lattice direction is drawn
    and mirrored into the half-space of that vector with odds e^ε. 2·dimension bytes.

    Guarantee: ε-local privacy, exactly: a direction and its mirror image are equally
    likely to be drawn, and the mirror is a randomized bit. The mean is unbiased up to
    the lattice, a relative 10⁻⁶.

    Example:
        >>> from hush.noise import Seeded
        >>> mean = VectorMean(epsilon=2.0, dimension=3)
        >>> points = np.tile([0.5, 0.0, -0.5], (20_000, 1))
        >>> found = mean.estimate(mean.encode(points, source=Seeded(1)))
        >>> bool(np.abs(found.value - points[0]).max() < 6 * found.std.max())
        True

    Reference: [DJW18] Section 4.2.3; N4.T1.
    """

    kind: ClassVar[int] = 20
    epsilon: float
    dimension: int
    radius: float = 1.0

    def __post_init__(self) -> None:
        _ = self.ratio
        checks.whole("dimension", self.dimension, at_least=1, at_most=1 << 20)
        checks.real("radius", self.radius, above=0)

    @property
    def width(self) -> int:
        """Bytes of one report: two for each coordinate."""
        return 2 * self.dimension

    def valid(self, rows: Bytes) -> NDArray[np.bool_]:
        """Return which rows are directions: all but the zero vector."""
        return np.asarray(rows.any(axis=1))

    @cached_property
    def _gain(self) -> float:
        """What a unit direction is multiplied by: radius·(R+1)/(R-1)/E|u₁|."""
        d, r = self.dimension, self.ratio
        # E|u₁| = Γ(d/2)/(√π Γ((d+1)/2)) for a uniform direction u.
        log = math.lgamma(d / 2) - math.lgamma((d + 1) / 2) - 0.5 * math.log(math.pi)
        return float(self.radius * (r + 1) / (r - 1)) / math.exp(log)

    @property
    def leverage(self) -> float:
        """How far one report, honest or forged, can move people × the mean, in ℓ2."""
        return 2 * self._gain

    def _clean(self, values: Any) -> Floats:
        array = np.asarray(values)
        shape = array.ndim == 2 and array.shape[1] == self.dimension
        if not shape or array.dtype.kind not in "iufb":
            raise InvalidArgument(
                f"values must be a matrix of numbers with {self.dimension} columns."
            )
        numbers = array.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise InvalidArgument("values must be finite. Leave such people out.")
        return numbers

    def _encode(self, values: Floats, source: Source) -> Bytes:
        most = np.abs(values).max(axis=1, keepdims=True)
        scaled = values / np.where(most > 0, most, 1.0)  # no square overflows
        norm = np.sqrt((scaled * scaled).sum(axis=1))
        # Lengths beyond the radius are cut, even where the product would overflow.
        length = norm * np.minimum(most[:, 0] / self.radius, 1.0)
        length = np.minimum(length, 1.0)
        along = bernoulli((1 + length) / 2, source=source)
        agree = bernoulli(self.ratio / (self.ratio + 1), len(values), source=source)
        drawn = discrete_gaussian(_STD, values.shape, source=source)
        # Zero is not a direction, and int16 has no mirror image of its least number.
        while (bad := _unusable(drawn)).size:
            fresh = (bad.size, self.dimension)
            drawn[bad] = discrete_gaussian(_STD, fresh, source=source)
        # The products of a direction and of its mirror image round alike, so the side
        # is exactly odd in the direction; on the border a fair coin decides.
        side = np.sign((drawn * scaled).sum(axis=1))
        fair = bernoulli(0.5, len(values), source=source)
        side = np.where(side == 0, np.where(fair, 1, -1), side).astype(np.int64)
        turn = side * np.where(along == agree, 1, -1)
        told: NDArray[np.int16] = (drawn * turn[:, None]).astype("<i2")
        return told.view(np.uint8)

    def _zero(self) -> Integers:
        return np.zeros(self.dimension, dtype=np.int64)

    def _count(self, rows: Bytes) -> Integers:
        drawn = np.ascontiguousarray(rows).view("<i2").astype(np.float64)
        norm = np.sqrt((drawn * drawn).sum(axis=1, keepdims=True))
        parts: Integers = np.rint(drawn / norm * _UNIT).astype(np.int64).sum(axis=0)
        return parts

    def estimate(self, reports: Reports | Tally) -> Estimate:
        """Return the mean vector, with the std of the noise in each coordinate.

        Guarantee: the noise of one report has variance gain²/dimension - v², so the
        std, taken at the mean, is at least that of the noise.
        """
        tally = self._tally(reports)
        n = tally.people
        value = tally.totals / _UNIT * (self._gain / n)
        each = self._gain**2 / self.dimension - np.minimum(value**2, self.radius**2)
        std = np.sqrt(each / n)
        # Of vectors on the sphere, the most that people differ.
        return Estimate(value, std, n * self.radius**2 / self._gain**2)

    def worst_variance(self, people: int) -> float:
        """Return the largest expected squared ℓ2 error of the mean."""
        return self._gain**2 / checks.whole("people", people, at_least=1)


def _unusable(drawn: Integers) -> Integers:
    bad = ~drawn.any(axis=1) | (np.abs(drawn) >= 1 << 15).any(axis=1)
    return np.flatnonzero(bad)
