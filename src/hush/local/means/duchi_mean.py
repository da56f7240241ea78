"""Duchi's mean: round to an end of the bounds, then one randomized bit."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.local.coins import Bytes, Integers
from hush.local.frequency.generalized_randomized_response import respond
from hush.local.frequency.oracle import Floats
from hush.local.means.local_mean import Mean, Part
from hush.noise import Source, bernoulli


def bit_part(ratio: Fraction, share: Fraction) -> Part:
    """Return how a randomized bit tells a number of [0, 1]."""
    scale = (ratio + 1) / (ratio - 1)
    noise = ratio / (ratio - 1) ** 2
    # Rounding to a bit adds u(1-u).
    wave = (noise, Fraction(1), Fraction(-1))
    return Part(share, scale, -1 / (ratio - 1), wave, None)


def bits(units: Floats, ratio: Fraction, source: Source) -> Integers:
    """Return randomized bits whose chance of 1 is linear in u."""
    ends = bernoulli(units, source=source).astype(np.int64)
    return respond(ends, ratio, 2, source)


@final
@dataclass(frozen=True)
class DuchiMean(Mean):
    """Report one bit: the best mean for small ε (below about 1.3). One byte.

    Guarantee: ε-local privacy; attained between the two ends of the bounds.

    Example:
        >>> from hush.noise import Seeded
        >>> mean = DuchiMean(epsilon=0.5, bounds=(0, 80))
        >>> found = mean.estimate(mean.encode([20.0] * 10_000, source=Seeded(1)))
        >>> low, high = found.interval(0.99)
        >>> bool(low < 20 < high)
        True

    Reference: [DJW18]; N4.T1.
    """

    kind: ClassVar[int] = 16
    epsilon: float
    bounds: tuple[float, float] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        self._check()

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """One part: the bit."""
        return (bit_part(self.ratio, Fraction(1)),)

    @property
    def leverage(self) -> float:
        """How far one report, honest or forged, can move people × the mean."""
        return (self.bounds[1] - self.bounds[0]) * float(self.parts[0].scale)

    @property
    def width(self) -> int:
        """Bytes of one report: a bit."""
        return 1

    def valid(self, rows: Bytes) -> NDArray[np.bool_]:
        """Return which rows are bits."""
        return np.asarray(rows[:, 0] < 2)

    def _encode(self, values: Floats, source: Source) -> Bytes:
        return bits(values, self.ratio, source).astype(np.uint8)[:, None]

    def _read(self, rows: Bytes) -> tuple[Integers, Integers]:
        return np.zeros(len(rows), dtype=np.int64), rows[:, 0].astype(np.int64)
