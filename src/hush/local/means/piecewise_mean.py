"""The piecewise mechanism: a number near the own one, on a public lattice."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.local.coins import Bytes, Integers
from hush.local.frequency.oracle import Floats
from hush.local.means.local_mean import Mean, Part, randomly_rounded
from hush.local.randomizer import integers_of, rows_of
from hush.noise import Source, bernoulli, integers

CELLS = 1 << 16


def root(ratio: Fraction) -> Fraction:
    """Return a rational just below the square root of the odds, e^(ε/2)."""
    return Fraction(math.isqrt(ratio.numerator * ratio.denominator), ratio.denominator)


def window(ratio: Fraction) -> int:
    """Return how many cells are likely: the share 1/(e^(ε/2) + 1) of all."""
    return max(1, int(CELLS / (root(ratio) + 1) + Fraction(1, 2)))


@lru_cache(maxsize=64)
def cell_part(ratio: Fraction, share: Fraction) -> Part:
    """Return how a cell tells a number of [0, 1], from exact sums over all cells."""
    w, n, gain = window(ratio), CELLS, ratio - 1
    steps, weight = n - w, w * ratio + n - w
    # E y = (gain·w·(s + (w-1)/2) + n(n-1)/2)/weight for a window that begins at s.
    slope = gain * w / weight
    base = (gain * w * Fraction(w - 1, 2) + Fraction(n * (n - 1), 2)) / weight
    squares = (
        Fraction((w - 1) * w * (2 * w - 1), 6),
        Fraction((n - 1) * n * (2 * n - 1), 6),
    )
    # E y² = (gain·(w·s² + w(w-1)·s + Σj²) + Σy²)/weight
    v0 = (gain * squares[0] + squares[1]) / weight - base**2
    v1 = gain * w * (w - 1) / weight - 2 * slope * base
    v2 = slope - slope**2
    scale = 1 / (slope * steps)
    noise = (v0 * scale**2, v1 * steps * scale**2, v2 * steps**2 * scale**2)
    return Part(share, scale, -base * scale, noise, steps)


def cells(units: Floats, ratio: Fraction, source: Source) -> Integers:
    """Return a cell: each of the window's is `ratio` times likelier than another."""
    w = window(ratio)
    near = bernoulli(
        (ratio - 1) * w / (w * ratio + CELLS - w), units.size, source=source
    )
    place = randomly_rounded(units, CELLS - w, source)
    place += integers(w, units.size, source=source)
    far = np.flatnonzero(~near)
    place[far] = integers(CELLS, far.size, source=source)
    return place


@final
@dataclass(frozen=True)
class PiecewiseMean(Mean):
    """Report one of 2¹⁶ cells, those around the own number e^ε times likelier.

    Better than `DuchiMean` for large ε, and for numbers in the middle of the bounds.
    Two bytes.

    Guarantee: ε-local privacy of the lattice law that runs; attained.

    Example:
        >>> from hush.noise import Seeded
        >>> mean = PiecewiseMean(epsilon=3.0, bounds=(0, 80))
        >>> found = mean.estimate(mean.encode([20.0] * 10_000, source=Seeded(1)))
        >>> low, high = found.interval(0.99)
        >>> bool(low < 20 < high)
        True

    Reference: [WXYZHSSY19].
    """

    kind: ClassVar[int] = 17
    epsilon: float
    bounds: tuple[float, float] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        self._check()

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """One part: the cell."""
        return (cell_part(self.ratio, Fraction(1)),)

    @property
    def leverage(self) -> float:
        """How far one report, honest or forged, can move people × the mean."""
        reach = (CELLS - 1) * float(self.parts[0].scale)
        return (self.bounds[1] - self.bounds[0]) * reach

    @property
    def width(self) -> int:
        """Bytes of one report: a cell."""
        return 2

    def valid(self, rows: Bytes) -> NDArray[np.bool_]:
        """Return which rows are cells: all of them."""
        return np.ones(len(rows), dtype=np.bool_)

    def _encode(self, values: Floats, source: Source) -> Bytes:
        return rows_of(cells(values, self.ratio, source), 2)

    def _read(self, rows: Bytes) -> tuple[Integers, Integers]:
        return np.zeros(len(rows), dtype=np.int64), integers_of(rows).astype(np.int64)
