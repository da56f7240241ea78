"""Averages over blocks: a statistic of many small samples, clipped and averaged."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
import scipy.optimize
import scipy.special
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument, NoBound, Withheld
from hush.learn.features import numbers
from hush.mechanisms import ClippedMean, WinsorizedMean
from hush.mechanisms.gaussian import Gaussian
from hush.mechanisms.laplace import Laplace
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source, permutation
from hush.privacy.curve import Curve
from hush.privacy.rules.composition import compose
from hush.serialization import tagged
from hush.units import Neighbors

Floats = NDArray[np.float64]
Statistic = Callable[[Any, Any], Any]
Progress = Callable[[int, int], None]

LEAST = 20  # rows of a block whose halves say how biased the statistic is
# Records for each rank_scale above which a range fails about once in 500 fits:
# without bounds, and with them.
SURE, SURE_BOUNDED = 40, 25


def silent(done: int, total: int) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class Blocks:
    """How a statistic of disjoint random blocks of rows is computed."""

    statistic: Statistic
    size: int
    blocks: int
    middle: tuple[float, ...]  # what a block counts as where the statistic fails
    correct: bool
    progress: Progress
    jobs: int | None

    def found(self, value: Any, source: Source) -> Floats:
        """Return the statistic of every block of a fresh draw of blocks: private."""
        rows, targets = (_rows(each) for each in value)
        if len(rows) != self.size or len(targets) != self.size:
            raise InvalidArgument(f"data must be {self.size} rows and targets.")
        found = np.empty((self.blocks, len(self.middle)))
        # Rows come sorted, by day or by group: position is no chance.
        order = permutation(self.size, source=source)
        parts = (order[block :: self.blocks] for block in range(self.blocks))
        work = (delayed(self._one)(rows, targets, part) for part in parts)
        # Threads share what is to be done with a warning: nothing, for all of them.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pool = Parallel(self.jobs, prefer="threads", return_as="generator")
            for block, answer in enumerate(pool(work)):
                found[block] = answer
                self.progress(block + 1, self.blocks)
        return found

    def _one(self, rows: Any, targets: Any, part: Any) -> Floats:
        """Return the statistic of one block, of its rows alone."""
        whole = self._tried(rows, targets, part)
        if whole is None:
            return np.array(self.middle)
        if self.correct and self.size >= LEAST * self.blocks:
            half = len(part) // 2
            halves = [self._tried(rows, targets, p) for p in (part[:half], part[half:])]
            # E T = θ + a/b + O(b^-2) for b rows: 2(θ + a/b) - (θ + 2a/b) = θ. Of a
            # mean, and of all that is linear in the rows, halves say the same twice.
            if halves[0] is not None and halves[1] is not None:
                with np.errstate(all="ignore"):
                    better = 2 * whole - (halves[0] + halves[1]) / 2
                whole = np.where(np.isfinite(better), better, whole)
        return np.where(np.isnan(whole), self.middle, whole)

    def _tried(self, rows: Any, targets: Any, part: Any) -> Floats | None:
        """Return the statistic of copies of some rows; None where it fails."""
        found = np.empty(0)
        # Copies, so that a statistic that writes cannot reach other blocks.
        with Withheld(), np.errstate(all="ignore"):
            given = _typed(rows[part]), _typed(targets[part])
            found = numbers(self.statistic(*given)).reshape(-1)
        return found if found.shape == (len(self.middle),) else None


def _rows(values: Any) -> Any:
    """Return an array whose first axis is the rows, each value of a list as it is."""
    plain = isinstance(values, (list, tuple))
    return np.asarray(values, dtype=object) if plain else np.asarray(values)


def _typed(rows: Any) -> Any:
    """Return the rows of one block as numbers, if they are nothing else.

    Were all rows made one array, a word in one of them would make words of all.
    """
    if rows.dtype != object:
        return rows
    found = np.asarray(rows.tolist())
    return found if found.dtype.kind in "biuf" else rows


@final
@tagged("learn.block_average/1")
@dataclass(frozen=True, repr=False)
class BlockAverage(Mechanism):
    """The clipped mean of a statistic of disjoint random blocks, all numbers at once.

    Which rows form a block is drawn at random, whatever they hold and however they are
    sorted; sizes differ by one at most. `statistic` maps the rows and targets of one
    block, in random order, to `mean.dimension` numbers; a block where it raises, or
    returns something else, counts as the middle of the bounds, or as zero if there are
    none. With `correct` a block of 20 rows or more counts as 2·T(block) minus the
    average of T over its halves, where a bias of order 1/rows cancels.

    An answer has three rows, of one number for each coordinate: estimates, private
    medians of the blocks, and private medians of the distances from these.

    Guarantee: the draw of blocks sees the number of rows alone. One row replaced
    changes one block, so one record of `mean`: its curve. The statistic must look at
    its arguments alone: no global state, no memory of earlier blocks.

    Reference: [S11]; N8.T2, N8.A1, N8.rate; docs/proofs/learn_blocks.md.
    """

    statistic: Statistic
    size: int
    blocks: int
    mean: ClippedMean
    correct: bool = True
    progress: Progress = field(default=silent, compare=False)
    jobs: int | None = field(default=None, compare=False)
    neighbors = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one row is one person

    def __post_init__(self) -> None:
        checks.whole("size", self.size, at_least=1)
        checks.whole("blocks", self.blocks, at_least=1, at_most=self.size)
        checks.flag("correct", self.correct)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` rows are replaced."""
        return self.mean.curve(sensitivity)

    @property
    def error(self) -> Any:
        """Law of the noise, in units of 2^-32 of the range by `blocks`."""
        return self.mean.error

    @property
    def sure(self) -> bool:
        """Whether there are blocks enough for both choices of a range."""
        least = SURE if self.mean.bounds is None else SURE_BOUNDED
        return self.blocks >= least * float(self.mean.rank_scale) * (1 - 1e-9)

    def of_blocks(self, value: Any, *, source: Source = SECURE) -> Floats:
        """Return the statistic of every block of a fresh draw of blocks: private."""
        middle = tuple(
            0.0 if self.mean.bounds is None else (low / 2 + high / 2)
            for low, high in self.mean.pairs
        )
        plan = (self.correct, self.progress, self.jobs)
        work = Blocks(self.statistic, self.size, self.blocks, middle, *plan)
        return work.found(value, source)

    def run(self, value: Any, *, source: Source = SECURE) -> Floats:
        """Return estimates, middles and spreads: three rows."""
        found = self.of_blocks(value, source=source)
        data = found[:, 0] if self.mean.dimension == 1 else found
        return self.mean.run(data, source=source).reshape(3, -1)

    def interval(self, released: Any, *, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return (lower, upper) around each estimate of an answer of `run`.

        Each holds the parameter, what the statistic tends to on ever more rows, with
        about probability `level`: the blocks vary by chance, and there is noise. That
        blocks are near normal is assumed, as the theorem does; how far their spread is
        known is counted.
        """
        level = checks.real("level", level, above=0, below=1)
        if not self.sure:
            raise NoBound(
                "blocks·epsilon is too small: the private range of the blocks may be "
                "far off, and no interval is known to cover. Use more rows, a larger "
                "epsilon, or public bounds."
            )
        estimate, middle, spread = np.asarray(released, dtype=np.float64)
        least = LEAST * (self.mean.dimension + 1)
        if self.size < least * self.blocks:
            raise NoBound(
                f"blocks of {self.size // self.blocks} rows are too small: what the "
                "statistic makes of so few is not known to be near normal. Give fewer "
                f"blocks=, of {least} rows."
            )
        if np.any(spread <= 0):
            raise NoBound(
                "more than half of the blocks agree: their spread says nothing of "
                "chance. Use larger blocks (fewer of them)."
            )
        width = self.mean.width(middle, spread)
        half = [
            _half_width(self, float(one), float(wide), level)
            for one, wide in zip(spread, width, strict=True)
        ]
        return estimate - half, estimate + half


# -- How far an estimate is from the parameter: chance of sampling, chance of noise ----

_NODES = 400
_SIDE = 24  # of the square of nodes of a product
_FEW = 48  # groups of such nodes


def _noise_nodes(mean: ClippedMean) -> Floats:
    """Return equally likely values of the noise of one sum of shares."""
    p = (np.arange(_NODES) + 0.5) / _NODES
    scale, noise = float(mean.scale), mean.perturbation
    if isinstance(noise, Gaussian):
        return scale * np.asarray(scipy.special.ndtri(p))
    if isinstance(noise, Laplace):
        return np.asarray(-scale * np.sign(p - 0.5) * np.log1p(-np.abs(2 * p - 1)) * -1)
    # The cube: its radius is a Gamma variable of shape d + 1, times a point of -1..1.
    q = (np.arange(_SIDE) + 0.5) / _SIDE
    radius = scale * scipy.special.gammaincinv(mean.dimension + 1, q)
    return np.outer(radius, 2 * q - 1).ravel()


def _ratios(plan: BlockAverage) -> Floats:
    """Return equally likely values of σ over the released spread, for normal blocks.

    The spread is the distance that a share u of the blocks stays within: u is off 1/2
    by the rank error, near Laplace of rank_scale, and as in any sample by √k/2 ranks.
    """
    q = (np.arange(_SIDE) + 0.5) / _SIDE
    side = np.sign(q - 0.5) * -np.log1p(-np.abs(2 * q - 1))
    choice = float(plan.mean.rank_scale) / plan.blocks * side
    sample = scipy.special.ndtri(q) / (2 * math.sqrt(plan.blocks))
    share = np.clip(0.5 + np.add.outer(choice, sample).ravel(), 0.02, 0.98)
    ratio = np.sort(1 / scipy.special.ndtri((1 + share) / 2))
    return np.asarray(ratio.reshape(_FEW, -1).mean(axis=1))


def _half_width(plan: BlockAverage, spread: float, width: float, level: float) -> float:
    """Return h with P(|sampling + noise| <= h) = level."""
    noise = width / plan.blocks * _noise_nodes(plan.mean)[:, None]
    deviation = spread / math.sqrt(plan.blocks) * _ratios(plan)[None, :]

    def short(half: float) -> float:
        inside = scipy.special.ndtr((half - noise) / deviation) - scipy.special.ndtr(
            (-half - noise) / deviation
        )
        return float(inside.mean()) - level

    top = float(np.abs(noise).max() + 40 * deviation.max())
    return float(scipy.optimize.brentq(short, 0.0, top, xtol=1e-9 * top))


# -- What older fits hold: winsorized means, one by one --------------------------------


@final
@tagged("learn.block_mean/1")
@dataclass(frozen=True, repr=False)
class BlockMean(Mechanism):
    """Winsorized means, one per coordinate, of a statistic of disjoint blocks.

    Which rows form a block is drawn at random, whatever they hold and however they are
    sorted; sizes differ by one at most. `statistic` maps the rows and targets of one
    block, in random order, to `len(means)` numbers; a block where it raises, or returns
    something else, counts as the middle of the bounds.

    Guarantee: the draw of blocks sees the number of rows alone. One row replaced
    changes one block, so every mean is taken of records of which one is replaced: the
    composition of `means`. The statistic must look at its arguments alone: no global
    state, no memory of earlier blocks.

    Reference: [S11]; N8.T2, N8.A1; docs/proofs/learn_blocks.md.
    """

    statistic: Statistic
    size: int
    blocks: int
    means: tuple[WinsorizedMean, ...]
    progress: Progress = field(default=silent, compare=False)
    jobs: int | None = field(default=None, compare=False)
    neighbors = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one row is one person

    def __post_init__(self) -> None:
        checks.whole("size", self.size, at_least=1)
        checks.whole("blocks", self.blocks, at_least=1, at_most=self.size)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` rows are replaced."""
        return compose(*(mean.curve(sensitivity) for mean in self.means))

    @property
    def error(self) -> tuple[Any, ...]:
        """Laws of the noise of the means, each in units of its range by `blocks`."""
        return tuple(mean.error for mean in self.means)

    def of_blocks(self, value: Any, *, source: Source = SECURE) -> Floats:
        """Return the statistic of every block of a fresh draw of blocks: private."""
        middle = tuple(sum(mean.bounds) / 2 for mean in self.means)
        plan = (False, self.progress, self.jobs)
        work = Blocks(self.statistic, self.size, self.blocks, middle, *plan)
        return work.found(value, source)

    def run(self, value: Any, *, source: Source = SECURE) -> Floats:
        """Return one private average per coordinate."""
        found = self.of_blocks(value, source=source)
        pairs = zip(self.means, found.T, strict=True)
        return np.array([mean.run(part, source=source) for mean, part in pairs])
