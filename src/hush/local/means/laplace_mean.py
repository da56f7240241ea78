"""Laplace noise on every number, added by its owner."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from hush import checks, law
from hush.local.coins import Bytes, Integers
from hush.local.frequency.oracle import Floats
from hush.local.means.local_mean import Mean, Part, randomly_rounded
from hush.noise import Source, discrete_laplace

_REACH = 64  # scales: beyond lies less than e^-64 of the noise


@final
@dataclass(frozen=True)
class LaplaceMean(Mean):
    """Report the number plus Laplace noise of scale (upper - lower)/ε. Four bytes.

    The noise is the same for every number, so the report is also an unbiased answer
    about one person; `PiecewiseMean` and `DuchiMean` err less in the mean.

    Guarantee: ε-local privacy, exactly, for the whole-number noise that runs. Reports
    are cut 64 scales beyond the bounds, so that a forged one has a limit.

    Example:
        >>> from hush.noise import Seeded
        >>> mean = LaplaceMean(epsilon=1.0, bounds=(0, 80))
        >>> found = mean.estimate(mean.encode([20.0] * 10_000, source=Seeded(1)))
        >>> low, high = found.interval(0.99)
        >>> bool(low < 20 < high)
        True

    Reference: [DMNS06]; N4.2def.
    """

    kind: ClassVar[int] = 19
    epsilon: float
    bounds: tuple[float, float] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        self._check()

    @cached_property
    def _steps(self) -> int:
        """Steps between the bounds: coarser for small ε, so that noise fits."""
        power = math.frexp(float(self.epsilon))[1] - 1  # 2^power <= ε
        return int(2 ** min(16, 24 + power))

    @cached_property
    def _scale(self) -> Fraction:
        return self._steps / Fraction(float(self.epsilon))

    @cached_property
    def _ends(self) -> tuple[int, int]:
        """Least and greatest report; below 2^31 in size because steps <= 2^24 ε."""
        beyond = int(_REACH * self._scale)
        return -beyond, self._steps + beyond

    @property
    def loss(self) -> float:
        """The ε that one report spends: the noise has it exactly."""
        return float(self.epsilon)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """One part: the noisy step."""
        scale = Fraction(1, self._steps)
        noise = Fraction(law.DiscreteLaplace(self._scale).variance) * scale**2
        wave = (noise, Fraction(0), Fraction(0))
        return (Part(Fraction(1), scale, Fraction(0), wave, self._steps),)

    @property
    def leverage(self) -> float:
        """How far one report, honest or forged, can move people × the mean."""
        low, high = self._ends
        return (self.bounds[1] - self.bounds[0]) * (high - low) / self._steps

    @property
    def width(self) -> int:
        """Bytes of one report: a signed number, lowest byte first."""
        return 4

    def valid(self, rows: Bytes) -> NDArray[np.bool_]:
        """Return which rows are numbers that noise can reach."""
        y, (low, high) = self._read(rows)[1], self._ends
        return (y >= low) & (y <= high)

    def _encode(self, values: Floats, source: Source) -> Bytes:
        y = randomly_rounded(values, self._steps, source)
        y += discrete_laplace(self._scale, values.size, source=source)
        cut = np.clip(y, *self._ends).astype("<i4")
        return cut.view(np.uint8).reshape(-1, 4)

    def _read(self, rows: Bytes) -> tuple[Integers, Integers]:
        y = np.ascontiguousarray(rows).view("<i4").ravel().astype(np.int64)
        return np.zeros(len(rows), dtype=np.int64), y
