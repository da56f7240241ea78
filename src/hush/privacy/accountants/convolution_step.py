"""One step of DP-SGD on a grid of losses: a law above it and a law below it.

With y = (x - 1/2)/σ² and κ = q/(1-q) the likelihood ratio is (1-q)(1 + κe^y): its log
rises from log(1-q) by t = log(1 + κe^y) >= 0. Splitting an outcome between two grid
points, keeping both its probabilities, reveals more; merging a cell of outcomes into
one reveals less. Derivations are in docs/proofs/direct.md.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy

from hush.privacy.pld.gaussian_loss import SubsampledGaussianLoss
from hush.privacy.pld.loss_distribution import ROUNDING, Floats

# Gauss-Legendre with six points, correctly rounded.
_NODES = np.array([0.2386191860831969, 0.6612093864662645, 0.932469514203152])
_WEIGHTS = np.array([0.46791393457269104, 0.3607615730481386, 0.17132449237917036])
_NODES = np.concatenate([-_NODES[::-1], _NODES])
_WEIGHTS = np.concatenate([_WEIGHTS[::-1], _WEIGHTS])
_HEAD = 64  # cells laid together: the bulk is there, and their matrix costs little
_TURNS = 8  # of Newton, which doubles its digits in each
_RHO = 64.0  # of the ellipse that bounds the error of a narrow cell
_ALONG = (_RHO + 1 / _RHO) / 2


@final
@dataclass(frozen=True)
class Steps:
    """Masses at rises start + i·spacing under the law without the record.

    Guarantee: together with the exact law beyond `end`, the curve of the pair lies on
    the side that was asked for.
    """

    start: float
    spacing: float
    mass: Floats
    end: float  # outcomes with a larger rise are not in `mass`


@final
@dataclass(frozen=True)
class _Cells:
    """Integrals over cells of y: mass W, and moments about the two ends."""

    mass: Floats  # ∫ dN
    mean: Floats  # ∫ κe^y dN / mass
    left: Floats  # ∫ (κe^y - s_left) dN
    right: Floats  # ∫ (s_right - κe^y) dN
    mass_error: Floats  # relative
    mean_error: Floats
    left_error: Floats  # absolute
    right_error: Floats


def rounding(z: Floats, size: Floats) -> Floats:
    """Bound the relative error of a normal density or tail at z, a sum of this size.

    Its exponent z²/2 is rounded, and z is known within a rounding of its summands.
    """
    return np.asarray(ROUNDING * (64 + 8 * (1 + np.abs(z)) * (1 + size)))


def _normal_masses(z: Floats, size: Floats) -> tuple[Floats, Floats]:
    """Return Φ(z_(i+1)) - Φ(z_i) and a bound on its error."""
    a, b = z[:-1], z[1:]
    flip = a > 0
    low = scipy.special.ndtr(np.where(flip, -b, a))
    high = scipy.special.ndtr(np.where(flip, -a, b))
    error = np.where(np.isinf(z), 0.0, rounding(z, size))
    return high - low, np.maximum(error[:-1], error[1:]) * (high + low)


def _cells(law: SubsampledGaussianLoss, rises: Floats) -> _Cells:
    """Integrate over the cells between rises; the first rise may be zero."""
    odds = law.rate / (1 - law.rate)
    s = np.expm1(rises)
    gap = np.exp(rises[:-1]) * np.expm1(np.diff(rises))  # s_right - s_left
    y = np.log(s / odds)
    shift = 0.5 / law.std
    z = law.std * y
    size = np.abs(z) + shift + law.std
    mass, mass_error = _normal_masses(z + shift, size)
    part, part_error = _normal_masses(z - shift, size)
    left = odds * part - s[:-1] * mass
    right = s[1:] * mass - odds * part
    left_error = odds * part_error + s[:-1] * mass_error + 8 * ROUNDING * odds * part
    right_error = odds * part_error + s[1:] * mass_error + 8 * ROUNDING * odds * part
    mean = odds * part / np.maximum(mass, 1e-300)
    mass_error = mass_error / np.maximum(mass, 1e-300)
    mean_error = mass_error + part_error / np.maximum(part, 1e-300) + 8 * ROUNDING
    # Narrow cells: no difference of large numbers, by quadrature. On half-widths up to
    # 0.01/σ and 0.03 six points err by less than rounding (docs/proofs/direct.md §3).
    width = np.log1p(gap / s[:-1])
    narrow = np.flatnonzero(width <= 0.02 * min(1 / law.std, 3.0))
    if narrow.size:
        begin, half = y[:-1][narrow], width[narrow] / 2
        step = half[:, None] * (1 + _NODES)
        back = half[:, None] * (1 - _NODES)
        at = law.std * (begin[:, None] + step) + shift
        weight = _WEIGHTS * half[:, None] * law.std / math.sqrt(2 * math.pi)
        density = np.exp(-0.5 * at * at) * weight
        middle = np.abs(law.std * (begin + half) + shift)
        # The ellipse against the least value on the cell (docs/proofs/direct.md §3).
        reach = law.std * half * (_ALONG + 1)
        error = 8 * _RHO**-9 * np.exp(reach * (middle + reach))
        error += rounding(middle, size[:-1][narrow])
        mass[narrow] = density.sum(axis=1)
        left[narrow] = s[:-1][narrow] * (density * np.expm1(step)).sum(axis=1)
        right[narrow] = s[1:][narrow] * (density * -np.expm1(-back)).sum(axis=1)
        rise = (density * np.expm1(step)).sum(axis=1) / mass[narrow]
        mean[narrow] = s[:-1][narrow] * (1 + rise)
        mass_error[narrow] = mean_error[narrow] = error
        left_error[narrow] = error * left[narrow]
        right_error[narrow] = error * right[narrow]
    return _Cells(
        mass, mean, left, right, mass_error, mean_error, left_error, right_error
    )


def above(law: SubsampledGaussianLoss, spacing: float, count: int) -> Steps:
    """Split every outcome up to rise count·spacing between the ends of its cell."""
    rises = spacing * np.arange(count + 1, dtype=np.float64)
    cells = _cells(law, rises)
    gap = np.exp(rises[:-1]) * np.expm1(np.diff(rises))
    mass = np.zeros(count + 1)
    mass[1:] += (np.maximum(cells.left, 0.0) + cells.left_error) / gap
    mass[:-1] += (np.maximum(cells.right, 0.0) + cells.right_error) / gap
    return Steps(0.0, spacing, mass * (1 + 16 * ROUNDING), float(rises[-1]))


@final
@dataclass
class _Merging:
    """Cells on their way to having their means on the grid."""

    law: SubsampledGaussianLoss
    spacing: float
    ends: Floats
    start: float = 0.0

    @property
    def sign(self) -> float:
        """Where a mean misses the grid it is moved to less loss."""
        return 1.0 if self.law.direction == "remove" else -1.0

    @property
    def grid(self) -> Floats:
        return self.start + self.spacing * np.arange(self.ends.size, dtype=np.float64)

    def cells(self) -> _Cells:
        return _cells(self.law, np.concatenate([[0.0], self.ends]))

    def begin(self, cells: _Cells) -> None:
        """Let the grid start at the mean of the first cell."""
        mean = float(cells.mean[0] * (1 - self.sign * cells.mean_error[0]))
        self.start = math.log1p(mean) * (1 - self.sign * 4 * ROUNDING)

    def misses(self, cells: _Cells) -> Floats:
        """Return how far the means are beyond the grid, towards more loss."""
        s = np.expm1(self.grid)
        far = self.sign * (cells.mean - s) - cells.mean_error * cells.mean
        far = (far - 8 * ROUNDING * s) / (1 + s)
        far[0] = 0.0
        return np.where(cells.mass > 0, far, 0.0)

    def aim(self, cells: _Cells) -> None:
        """Move the ends but the first: a mean moves about as far as both its ends.

        A fifth of the spacing at once keeps cells in their order.
        """
        miss = np.clip(self.misses(cells), -0.2 * self.spacing, 0.2 * self.spacing)
        miss[:-1] = (miss[:-1] + miss[1:]) / 2
        self.ends[1:] -= self.sign * miss[1:]

    def solve(self, cells: _Cells) -> None:
        """Move all ends by the least that puts the means on the grid, by Newton.

        A mean m = ∫ s dN/W of a cell moves with its right end by (s_right - m) N'/W and
        with its left end by (m - s_left) N'/W.
        """
        law, s = self.law, np.expm1(self.ends)
        odds = law.rate / (1 - law.rate)
        z = law.std * np.log(s / odds) + 0.5 / law.std
        density = law.std * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        density = density * (1 + s) / s / np.maximum(cells.mass, 1e-300)
        ahead = (s - cells.mean) * density
        density[:-1] *= cells.mass[:-1] / np.maximum(cells.mass[1:], 1e-300)
        behind = (cells.mean[1:] - s[:-1]) * density[:-1]
        scale = 1 / (1 + np.expm1(self.grid))[1:]
        size = self.ends.size
        matrix = np.zeros((size - 1, size))
        rows = np.arange(size - 1)
        matrix[rows, rows + 1] = ahead[1:] * scale
        matrix[rows, rows] = behind * scale
        matrix[:, 0] -= ahead[0] / (1 + cells.mean[0])  # the grid moves as well
        matrix = np.where(np.isfinite(matrix), matrix, 0.0)
        miss = self.sign * self.misses(cells)[1:]
        move = np.linalg.lstsq(matrix, -miss, rcond=1e-9)[0]
        self.ends += np.clip(move, -0.3 * self.spacing, 0.3 * self.spacing)

    def steps(self) -> Steps:
        """Put every cell where it is certainly not more than it was."""
        self.ends = np.maximum.accumulate(self.ends)  # cells must not overlap
        cells, grid = self.cells(), self.grid
        mass = cells.mass * (1 - cells.mass_error - 16 * ROUNDING)
        mass = np.maximum(np.nan_to_num(mass), 0.0)
        good = self.misses(cells) >= 0
        kept = np.where(good, mass, 0.0)
        # What misses goes to the next point of less loss, if all its outcomes are
        # beyond that, or else nowhere: leaving outcomes out only hides.
        if self.sign > 0:
            beyond = self.ends[:-1] >= grid[:-1]
            kept[:-1] += np.where(~good[1:] & beyond, mass[1:], 0.0)
        else:
            beyond = self.ends[:-1] <= grid[1:]
            kept[1:] += np.where(~good[:-1] & beyond, mass[:-1], 0.0)
        return Steps(self.start, self.spacing, kept, float(self.ends[-1]))

    def lift(self, cells: _Cells) -> bool:
        """Move both ends by what either side lacks; tell whether any lacked."""
        short = np.clip(-self.misses(cells), 0.0, 0.2 * self.spacing)
        # A tenth more than is short: a mean moves by less than its ends.
        lift = 1.1 * np.maximum(short, np.append(short[1:], 0.0))
        if short.any():
            self.ends += self.sign * (lift + 1e-9 * self.spacing)
        return bool(short.any())


def below(law: SubsampledGaussianLoss, spacing: float, count: int) -> Steps:
    """Merge cells into outcomes on the grid, whose start is the mean of the first."""
    halves = spacing * (np.arange(count + 1, dtype=np.float64) + 0.5)
    # The first cells hold the bulk, and their shape is rough: they are laid first.
    head = _Merging(law, spacing, halves[:_HEAD].copy())
    head.begin(head.cells())
    head.ends[1:] += head.start
    for _ in range(_TURNS):
        cells = head.cells()
        head.begin(cells)
        if not np.abs(head.misses(cells)).max() > 1e-9 * spacing:
            break
        head.solve(cells)
    head.begin(head.cells())
    # Then the others, first those next to the seam.
    ends = halves + head.start
    ends[: head.ends.size] = head.ends
    for size, turns in ((4 * _HEAD, 8), (ends.size, 3)):
        part = _Merging(law, spacing, ends[:size], head.start)
        for _ in range(turns):
            part.aim(part.cells())
    merging = _Merging(law, spacing, ends, head.start)
    cells = merging.cells()
    for _ in range(6):  # what is still short then is left out, which only hides
        if not merging.lift(cells):
            break
        cells = merging.cells()
    return merging.steps()
