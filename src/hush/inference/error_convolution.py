"""The sum of independent symmetric errors: sampling and noise, convolved."""

import enum
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hush import checks, law
from hush.errors import InvalidArgument
from hush.inference import closed_form
from hush.inference.additive_noise import Additive

Floats = NDArray[np.float64]
_CELLS = 1 << 12
_REACH = 30.0  # standard deviations on either side; Laplace leaves e^-42 beyond
_DUST = 1e-12  # what transforms leave in cells that are empty
_FINE = 1e6  # a lattice of this variance, in steps, is as good as a line


class Shape(enum.Enum):
    """Which closed form an error has."""

    NORMAL = enum.auto()
    LAPLACE = enum.auto()
    OTHER = enum.auto()


class Error(Protocol):
    """Something that becomes a symmetric error once the level is known."""

    def at(self, level: float) -> "Part":
        """Return the error to use in an interval of this level."""


@final
@dataclass(frozen=True)
class Part:
    """One symmetric error: its distribution function and its standard deviation."""

    cdf: Callable[[Any], Any]
    std: float
    shape: Shape = Shape.OTHER

    def at(self, level: float) -> "Part":
        """Return itself: a known law is the same at every level."""
        return self


def normal(std: float) -> Part:
    """Return a normal error."""
    spread = checks.real("std", std, at_least=0)
    if spread == 0:
        return Part(lambda x: (np.asarray(x) >= 0).astype(float), 0.0, Shape.NORMAL)
    return Part(lambda x: special.ndtr(np.asarray(x) / spread), spread, Shape.NORMAL)


def noise(additive: Additive) -> Part:
    """Return the error of known noise."""
    shape = Shape.OTHER
    if additive.law.variance >= _FINE:
        if isinstance(additive.law, law.DiscreteLaplace):
            shape = Shape.LAPLACE
        elif isinstance(additive.law, law.DiscreteGaussian):
            shape = Shape.NORMAL
    return Part(additive.cdf, additive.std, shape)


@final
@dataclass(frozen=True)
class Convolution:
    """The law of a sum of independent symmetric errors.

    Normal errors and up to three Laplace errors have a closed form. Otherwise each
    error is put on a common grid of 4096 cells over ±30 standard deviations by exact
    differences of its distribution function, and the sum is a product of transforms;
    a quantile is right to about a cell squared: 1e-4 standard deviations. Noise of few
    steps without other errors has atoms, each in one cell: it counts to its far end.

    Example:
        >>> both = Convolution((normal(1.0), normal(2.0)))
        >>> round(both.quantile(0.975), 3)
        4.383
    """

    parts: tuple[Part, ...]

    @property
    def std(self) -> float:
        """Standard deviation of the sum."""
        return math.sqrt(math.fsum(part.std**2 for part in self.parts))

    @cached_property
    def _closed(self) -> tuple[float, tuple[float, ...]] | None:
        """The normal standard deviation and the Laplace scales, if that is all."""
        kinds = [part.shape for part in self.parts]
        if Shape.OTHER in kinds or kinds.count(Shape.LAPLACE) > closed_form.MOST:
            return None
        bell = math.hypot(*(p.std for p in self.parts if p.shape is Shape.NORMAL))
        scales = (p.std for p in self.parts if p.shape is Shape.LAPLACE)
        return bell, tuple(each / math.sqrt(2) for each in scales)

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        """Right edges of the cells, and the distribution function there."""
        width = 2 * _REACH * self.std / _CELLS
        edges = (np.arange(_CELLS + 1) - (_CELLS + 1) / 2 + 0.5) * width
        edges = edges - width / 2  # the middle cell is centered at 0
        total = np.ones(_CELLS // 2 + 1, dtype=np.complex128)
        for part, times in Counter(self.parts).items():
            if part.std == 0:
                continue
            mass = np.diff(part.cdf(edges))
            total *= np.fft.rfft(np.roll(mass, -_CELLS // 2)) ** times
        density = np.roll(np.fft.irfft(total, _CELLS), _CELLS // 2)
        density = np.maximum(density, 0.0)
        # The laws are symmetric; averaging with the mirror image removes lattice bias.
        cells = density[1:]
        cells = (cells + cells[::-1]) / 2
        below: Floats = np.cumsum(cells) / cells.sum()
        return np.asarray(edges[2:], np.float64), below

    def cdf(self, x: float) -> float:
        """Return P(error <= x)."""
        if self.std == 0:
            return float(x >= 0)
        if self._closed is not None:
            above = float(closed_form.tail(abs(x), *self._closed)[0])
            return 1 - above if x > 0 else above
        edges, below = self._table
        cell = int(np.searchsorted(edges, x))
        if self._atom(cell):
            return float(below[cell])
        return float(np.interp(x, edges, below))

    def _atom(self, cell: int) -> bool:
        """Whether a cell holds much more than its neighbors: not evenly filled."""
        below = self._table[1]
        if not 2 <= cell < below.size - 1:
            return False
        before, mass, after = np.diff(below[cell - 2 : cell + 2])
        return bool(mass > 2 * max(before, after) and mass > _DUST)

    def quantile(self, p: float) -> float:
        """Return the p-quantile, p >= 1/2."""
        checks.real("p", p, at_least=0.5, below=1)
        if self.std == 0 or p == 0.5:
            return 0.0
        if self._closed is not None:
            return float(closed_form.quantile(p, *self._closed))
        edges, below = self._table
        cell = int(np.searchsorted(below, p))
        if self._atom(cell):
            # Each error was moved to the middle of its cell, the sum by all of these.
            moved = sum(part.shape is Shape.OTHER for part in self.parts) - 1
            return float(edges[cell] + max(moved, 0) * (edges[1] - edges[0]) / 2)
        return float(np.interp(p, below, edges))


def convolve(*parts: Part | Additive) -> Convolution:
    """Return the law of the sum of independent errors.

    Example:
        >>> from hush.mechanisms import Laplace
        >>> laplace = Additive.of(Laplace(scale=1.0), released=0.5)
        >>> round(convolve(laplace).quantile(0.975), 3)  # log 20
        2.996
    """
    if not parts:
        raise InvalidArgument("parts must name at least one error.")
    return Convolution(
        tuple(noise(part) if isinstance(part, Additive) else part for part in parts)
    )
