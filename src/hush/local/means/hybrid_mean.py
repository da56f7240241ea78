"""The hybrid mean: sometimes the piecewise mechanism, otherwise Duchi's bit."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.local.coins import Bytes, Integers
from hush.local.frequency.oracle import Floats
from hush.local.means.duchi_mean import bit_part, bits
from hush.local.means.local_mean import Mean, Part
from hush.local.means.piecewise_mean import CELLS, cell_part, cells, root
from hush.local.randomizer import integers_of, rows_of
from hush.noise import Source, bernoulli

_TURN = 0.61  # below this ε the bit alone is best


@final
@dataclass(frozen=True)
class HybridMean(Mean):
    """Report a cell with chance 1 - e^(-ε/2), else a bit; and which of the two.

    The chance makes the noise the same for every number, so its worst case is the best
    of the three. Three bytes.

    Guarantee: ε-local privacy: the choice is independent of the number, and both
    answers are ε-private.

    Example:
        >>> from hush.local import DuchiMean, PiecewiseMean
        >>> mean = HybridMean(epsilon=2.0, bounds=(0, 1))
        >>> others = DuchiMean(2.0, (0, 1)), PiecewiseMean(2.0, (0, 1))
        >>> all(mean.worst_variance(9) < o.worst_variance(9) for o in others)
        True

    Reference: [WXYZHSSY19] Section 3.3.
    """

    kind: ClassVar[int] = 18
    epsilon: float
    bounds: tuple[float, float] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        self._check()

    @cached_property
    def _share(self) -> Fraction:
        """Chance of a cell."""
        return 1 - 1 / root(self.ratio) if self.epsilon > _TURN else Fraction(0)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Two parts: the bit and the cell."""
        share = self._share
        return bit_part(self.ratio, 1 - share), cell_part(self.ratio, share)

    @property
    def leverage(self) -> float:
        """How far one report, honest or forged, can move people × the mean."""
        ends = [
            float(part.scale * y + part.shift)
            for part, most in zip(self.parts, (1, CELLS - 1), strict=True)
            for y in (0, most)
        ]
        return (self.bounds[1] - self.bounds[0]) * (max(ends) - min(ends))

    @property
    def width(self) -> int:
        """Bytes of one report: which way, and a bit or a cell."""
        return 3

    def valid(self, rows: Bytes) -> NDArray[np.bool_]:
        """Return which rows are a bit or a cell."""
        part, y = self._read(rows)
        possible = (part == 0) & (y < 2)
        return np.asarray(possible | (part == 1) if self._share else possible)

    def _encode(self, values: Floats, source: Source) -> Bytes:
        part = bernoulli(self._share, values.size, source=source)
        y = np.empty(values.size, dtype=np.int64)
        y[part] = cells(values[part], self.ratio, source)
        y[~part] = bits(values[~part], self.ratio, source)
        return np.hstack([part.astype(np.uint8)[:, None], rows_of(y, 2)])

    def _read(self, rows: Bytes) -> tuple[Integers, Integers]:
        y = integers_of(rows[:, 1:]).astype(np.int64)
        return rows[:, 0].astype(np.int64), y
