"""The sum of clamped normal values: its law on cells, convolved by Fourier transforms.

A value x is normal (mean, scale) and clamped to public bounds, so it has atoms at both.
On cells of scale/64 (of scale/4 from 256 values on), the mass of a cell goes to its
middle m and to the two neighbors, with weights that keep the mass, the mean and the
variance of the cell: 1 - r², and (r² ± r)/2 for a value r cells from m. Then the
transform of one value, to the n-th power, is that of the sum.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special

from hush.inference.bayes.noisy_observation import Observation
from hush.mechanisms.error import upper_quantile

Floats = NDArray[np.float64]
_FINE = 64  # cells in the scale of one value; in that of a sum, at least as many
_REACH = 13.0  # standard deviations of the sum inside the window, on either side
_FAR = 9.0  # standard deviations of one value that are laid on cells
_NOTHING = 1e-11
_REST = 1e-40  # noise beyond is taken for none
_BATCH = 1 << 22  # numbers in one batch of transforms


@final
@dataclass(frozen=True)
class ClampedSum:
    """The law of unit·Σ clamp(x) for n independent normal x.

    Guarantee: the likelihood is right to 1e-3 of itself above `least`
    (docs/proofs/posterior.md); the tests compare it with quadrature.
    """

    n: int
    bounds: tuple[float, float]
    scale: float
    unit: float

    def least(self, seen: Observation) -> float:
        """Return the log likelihood below which rounding of transforms may show.

        Transforms err by some 1e-16 of the largest probability of the sum; this is
        1e-11 of the likelihood of a release that is where it is expected.
        """
        spread = self.unit * math.sqrt(self.n) * self.scale
        peak = float(seen.law.log_pmf(0.0)) + math.log(min(1.0, seen.std / spread))
        return peak + math.log(_NOTHING)

    @property
    def _cells(self) -> int:
        """Cells between the bounds; sums of many values are smooth, and need fewer."""
        low, high = self.bounds
        fine = max(math.ceil(_FINE / math.sqrt(self.n)), 4)
        return max(math.ceil(fine * (high - low) / self.scale), 16)

    @property
    def _width(self) -> float:
        return (self.bounds[1] - self.bounds[0]) / self._cells

    def _window(self) -> int:
        """Return the number of cells of the sum, round which the transform wraps."""
        spread = min(self.scale, (self.bounds[1] - self.bounds[0]) / 2)
        inside = 2 * _REACH * math.sqrt(self.n) * spread / self._width + 64
        everything = self.n * (self._cells + 2) + 3
        return int(fft.next_fast_len(min(math.ceil(inside), everything), real=True))

    def _one(self, mean: float, size: int) -> tuple[Floats, float]:
        """Return the law of one clamped value around its cells, and its mean in cells.

        Cells are counted from the lower bound, and wrapped round `size`.
        """
        low = self.bounds[0]
        top, width = self._cells, self._width
        table = np.zeros(size)
        at = (mean - low) / width  # the mean, the scale: in cells
        std = self.scale / width
        below, above = special.ndtr(-at / std), special.ndtr((at - top) / std)
        first = max(math.floor(at - _FAR * std), 0)
        last = min(math.ceil(at + _FAR * std), top)
        middle = 0.0
        if last >= first:
            cell = np.arange(first, last + 1)
            mass, one, two = _moments(cell, at, std, top)
            for shift, part in ((0, mass - two), (1, (two + one) / 2)):
                np.add.at(table, (cell + shift) % size, part)
            np.add.at(table, (cell - 1) % size, (two - one) / 2)
            middle = float(cell @ mass + one.sum())
        table[0] += below
        table[top % size] += above
        total = table.sum()
        return table / total, (middle + top * float(above)) / total

    def log_likelihood(self, seen: Observation, means: Floats) -> Floats:
        """Return log P(release | mean) for each mean of the values.

        It is -∞ where the release is farther from every likely sum than noise reaches.
        """
        size = self._window()
        near = np.flatnonzero(self._near(seen, means, size))
        found = np.full(means.size, -np.inf)
        per = max(_BATCH // size, 1)
        for start in range(0, near.size, per):
            some = near[start : start + per]
            found[some] = self._batch(seen, means[some], size)
        return found

    def _near(self, seen: Observation, means: Floats, size: int) -> NDArray[np.bool_]:
        """Return for which means the window holds a sum that noise may have moved."""
        low, high = self.bounds
        a, b = (low - means) / self.scale, (high - means) / self.scale
        # E clamp(x): both atoms, and the middle of a normal variable.
        inside = special.ndtr(b) - special.ndtr(a)
        bell = (np.exp(-a * a / 2) - np.exp(-b * b / 2)) / math.sqrt(2 * math.pi)
        clamped = low * special.ndtr(a) + high * special.ndtr(-b)
        middle = self.unit * self.n * (clamped + means * inside + self.scale * bell)
        noise = (upper_quantile(seen.law, _REST) + 1) * float(seen.step)
        wide = self.unit * self._width * (size + self.n * 1e-9)
        return np.asarray(np.abs(middle - seen.value) <= noise + wide)

    def _batch(self, seen: Observation, means: Floats, size: int) -> Floats:
        laws = [self._one(float(mean), size) for mean in means]
        tables = np.stack([table for table, _ in laws])
        sums = fft.irfft(fft.rfft(tables, axis=1) ** self.n, size, axis=1)
        # Cell k of the circle is the one of k, k + size, ... in a window around the
        # mean, inside what sums can be: from -n to n·(cells + 1).
        start = np.floor(self.n * np.array([mean for _, mean in laws]) - size // 2)
        most = max(self.n * (self._cells + 1) + 1 - size, -self.n)
        start = np.clip(start, -self.n, most).astype(np.int64)
        first = int(start.min())
        every = first + np.arange(int(start.max()) - first + size, dtype=np.float64)
        truth = self.unit * (self.n * self.bounds[0] + self._width * every)
        chance = seen.around(truth, self.unit * self._width)
        place = start[:, None] + (np.arange(size) - start[:, None]) % size
        found = (sums * chance[place - first]).sum(axis=1)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(found, 0.0)))


def _moments(
    cell: NDArray[np.int64], mean: float, std: float, top: int
) -> tuple[Floats, Floats, Floats]:
    """Return ∫ 1, r and r² over each cell inside the bounds, r = x - cell."""
    low = np.maximum(cell - 0.5, 0.0)
    high = np.minimum(cell + 0.5, float(top))
    a, b = (low - mean) / std, (high - mean) / std
    # From the nearer tail, so that far cells keep their digits.
    flip = a > 0
    mass = np.where(
        flip, special.ndtr(-a) - special.ndtr(-b), special.ndtr(b) - special.ndtr(a)
    )
    # Seven-point Gauss quadrature of r and r² times the density, on cells of std/4.
    node, weight = np.polynomial.legendre.leggauss(7)
    half = (high - low) / 2
    x = (low + high)[:, None] / 2 + half[:, None] * node
    dense = np.exp(-0.5 * ((x - mean) / std) ** 2) / (std * math.sqrt(2 * math.pi))
    r = x - cell[:, None]
    one = ((dense * r) @ weight) * half
    two = ((dense * r * r) @ weight) * half
    return np.asarray(mass), np.asarray(one), np.asarray(two)
