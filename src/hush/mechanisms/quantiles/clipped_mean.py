"""The clipped mean: records moved into a private, narrow range, then averaged."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.checks import distance
from hush.errors import InvalidArgument
from hush.mechanisms import lattice_rounding
from hush.mechanisms.gaussian import Gaussian
from hush.mechanisms.k_norm import KNorm
from hush.mechanisms.laplace import Laplace
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import Metric, Records
from hush.mechanisms.quantiles.float_cells import LARGEST, FloatCells
from hush.mechanisms.quantiles.unbounded_quantile import chosen
from hush.mechanisms.queries import clamp, column, total
from hush.mechanisms.selection.selection import bounded_range
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.gdp import GDP
from hush.privacy.rounding import at_least
from hush.privacy.rules.calibrate import calibrate
from hush.privacy.rules.composition import compose, repeat
from hush.serialization import tagged
from hush.units import Neighbors

Floats = NDArray[np.float64]

Pair = tuple[float, float]
Bounds = Pair | tuple[Pair, ...]

_BITS = 32  # a clipped record is one of 2^32 + 1 equally spaced values
_HALF = Fraction(1, 2)
# Cells of a range: so few that a number which all records share outweighs the rest,
# 2^24·e^-24, and so many that a middle is known to 2^-13 of itself.
_DIGITS, _EVEN = 12, 24
_FARTHEST = 2.0**1020  # ends of a range: their difference is a float too
# What both choices of a coordinate are given, each ε = _SURE/records: half of the
# records outweigh the rest of all floats e^(_SURE/4) times. No more than half of ε.
_SURE = 96
_MOST = Fraction(1, 2)
REACH = 4.5  # normal records: 3 standard deviations, which are 0.67 spreads each
_SLOW, _RATE = 0.65, 0.26


def reach_of(records: int) -> float:
    """Return how many spreads from the middle many records are clipped.

    Three standard deviations of normal records, and for more than 1700 of them
    0.65·k^0.26 spreads. What clipping moves, √k·E(|Z| - reach)⁺ <= √k·E|Z|³/reach²,
    falls as k^-0.02 if no more than third moments exist, and the noise, reach/√k, as
    k^-0.24: N Theorem 8.2 asks for both, and the notes' k^0.43 for a range that no
    data need.

    Example:
        >>> reach_of(200), round(reach_of(10**5), 1)
        (4.5, 13.0)
    """
    return max(REACH, _SLOW * math.exp(_RATE * math.log(records)))


class Clipped(NamedTuple):
    """What a clipped mean releases, a number for each coordinate in each."""

    mean: Floats
    middle: Floats  # private median
    spread: Floats  # private median of the distances from it


@final
@tagged("clipped_mean/1")
@dataclass(frozen=True, repr=False)
class ClippedMean(Mechanism):
    """Average records after clipping them to a range that is found privately.

    The range reaches `reach` spreads from the middle: a private median, and a private
    median of the distances from it, each a choice among floats with `rank_scale` as
    in `UnboundedQuantile`. Each clipped record is a share of the range; the sum of the
    shares gets noise of `scale`: Laplace noise for one coordinate, noise of the cube
    (`KNorm`) for several, or `gaussian` noise. Public `bounds`, a pair or one for each
    coordinate, are not needed; they help where few records lie far from zero.

    An answer is an array with three rows: means, middles, spreads. NaN counts as the
    lowest number.

    Guarantee: the composition of two choices of range 2/rank_scale per coordinate and
    of the noise, for one record replaced. The number k of records is public. In the
    noise all coordinates are one vector: one record moves it by 1 in ℓ∞, √d in ℓ2.

    Example:
        >>> m = ClippedMean.planned(epsilon=1, records=1000)
        >>> m
        ClippedMean(scale=1.2376237623776307, rank_scale=20.833333333333336)
        >>> mean, middle, spread = m.run(range(1000))
        >>> bool(480 < mean < 520), bool(400 < middle < 600), bool(150 < spread < 350)
        (True, True, True)

    Reference: [S11]; N8.T2, N8.rate, N8.range; docs/proofs/clipped_mean.md.
    """

    scale: float | Fraction
    rank_scale: float | Fraction
    reach: float | Fraction = REACH
    dimension: int = 1
    gaussian: bool = False
    bounds: Bounds | None = None
    unit: ClassVar[str] = "row"  # one record is one person
    neighbors: ClassVar[Neighbors] = Neighbors.REPLACE_ONE

    @property
    def metric(self) -> Metric:
        """Records: people exchanged."""
        return Records(None, Neighbors.REPLACE_ONE)

    def __post_init__(self) -> None:
        lattice_rounding.drawable("scale", self.scale, most=1 << 400)
        widest = lattice_rounding.WIDEST
        lattice_rounding.drawable("rank_scale", self.rank_scale, most=widest)
        checks.real("reach", self.reach, above=0, at_most=2.0**100)
        checks.whole("dimension", self.dimension, at_least=1, at_most=10**4)
        checks.flag("gaussian", self.gaussian)
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _checked(self.bounds, self.dimension))
        _ = self.perturbation  # what cannot be drawn is refused here

    @cached_property
    def _ranks(self) -> Fraction:
        return checks.rational("rank_scale", self.rank_scale)

    @property
    def pairs(self) -> list[Pair]:
        """The public bounds of each coordinate: all floats where there are none."""
        given: Any = self.bounds or (-LARGEST, LARGEST)
        return [given] * self.dimension if _is_pair(given) else list(given)

    @cached_property
    def perturbation(self) -> Laplace | KNorm | Gaussian:
        """The noise of the sums, in units of 2^-32 of the range."""
        scale = checks.rational("scale", self.scale) * (1 << _BITS)
        if self.gaussian:
            return Gaussian(scale)
        if self.dimension == 1:
            return Laplace(scale)
        return KNorm(scale, dimension=self.dimension, norm=math.inf)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` records are replaced."""
        people = checks.whole("sensitivity", sensitivity, at_least=0)
        steps, d = people << _BITS, self.dimension
        choice = bounded_range(Fraction(2 * people) / self._ranks)
        if isinstance(self.perturbation, Gaussian):
            # √d, rounded up to a fraction: d·s² is a square number of quarters of 2^-40
            far = Fraction(math.isqrt((d << 80) - 1) + 1, 1 << 40) * steps
            noise = self.perturbation.curve(far, dimension=d)
        else:
            noise = self.perturbation.curve(steps)
        return compose(repeat(choice, 2 * d), noise)

    @property
    def error(self) -> Any:
        """Law of the noise of the sums, in units of 2^-32 of the range."""
        return self.perturbation.error

    @property
    def std(self) -> float:
        """Standard deviation of the noise of a sum, in units of the range."""
        d, scale = self.dimension, float(self.scale)
        # Of the cube: a Gamma variable of shape d + 1 times one of -1..1; Laplace noise
        # is that of one dimension.
        return scale if self.gaussian else scale * math.sqrt((d + 1) * (d + 2) / 3)

    def run(self, value: Any, *, source: Source = SECURE) -> Floats:
        """Return means, middles and spreads: three numbers, or three rows of them."""
        found = np.array(self.clipped(value, source=source))
        return found[:, 0] if self.dimension == 1 else found

    def clipped(self, value: Any, *, source: Source = SECURE) -> Clipped:
        """Return the noisy means and the ranges they were clipped to."""
        columns = self._columns(value)
        pairs = zip(columns, self.pairs, strict=True)
        ranges = [self._range(each, pair, source) for each, pair in pairs]
        middle, spread = np.array(ranges).T
        lower, width = self._ends(middle, spread)
        sums = [
            _steps(each, low, wide)
            for each, low, wide in zip(columns, lower, width, strict=True)
        ]
        count = max(len(columns[0]), 1)
        if isinstance(self.perturbation, KNorm):
            noisy = self.perturbation.run(np.array(sums, dtype=object), source=source)
        else:
            noisy = np.array(
                [self.perturbation.run(each, source=source) for each in sums]
            )
        mean = lower + width * (np.ldexp(noisy, -_BITS) / count)
        mean = np.clip(mean, *np.array(self.pairs).T)
        return Clipped(mean, middle, spread)

    def width(self, middle: Floats, spread: Floats) -> Floats:
        """Return how wide the released ranges are."""
        return self._ends(middle, spread)[1]

    def _columns(self, value: Any) -> list[NDArray[Any]]:
        """Return the records of each coordinate; their number is public."""
        if self.dimension == 1:
            return [column(value)]
        array = np.asarray(value)
        if array.ndim != 2 or array.shape[1] != self.dimension:
            raise InvalidArgument(
                f"value must be rows of dimension={self.dimension} numbers."
            )
        return [column(each) for each in array.T]

    def _range(self, values: Any, ends: Pair, source: Source) -> Pair:
        """Return a private median, and that of the distances from it."""
        whole = self.bounds is not None
        low, high = ends
        even = _EVEN if whole else 0
        cells = FloatCells(low, high, _DIGITS, even)
        middle = chosen(values, cells, _HALF, self._ranks, source)
        far = FloatCells(0.0, high - low if whole else LARGEST, _DIGITS, even)
        with np.errstate(over="ignore", invalid="ignore"):
            apart = np.abs(np.nan_to_num(values, nan=low) - middle)
        return middle, chosen(apart, far, _HALF, self._ranks, source)

    def _ends(self, middle: Floats, spread: Floats) -> tuple[Floats, Floats]:
        """Return the lower end and the width of each range, inside the bounds."""
        low, high = np.clip(np.array(self.pairs).T, -_FARTHEST, _FARTHEST)
        with np.errstate(over="ignore"):
            half = float(self.reach) * spread
            lower = np.clip(middle - half, low, high)
            return lower, np.clip(middle + half, low, high) - lower

    @classmethod
    def planned(
        cls,
        epsilon: float,
        *,
        records: int,
        delta: float = 0.0,
        dimension: int = 1,
        bounds: Bounds | None = None,
    ) -> Self:
        """Return the mechanism for so many records: choices just sure, the rest noise.

        A choice needs an ε that falls as 1/records, so with many records nearly all of
        ε is left for the mean. With δ the noise of several coordinates is Gaussian,
        where that is less.

        Example:
            >>> ClippedMean.planned(1, records=10**4, dimension=3).perturbation.norm
            inf
        """
        epsilon = checks.real("epsilon", epsilon, above=0)
        delta = checks.real("delta", delta, at_least=0, below=1)
        k = checks.whole("records", records, at_least=1)
        d = checks.whole("dimension", dimension, at_least=1)
        public: dict[str, Any] = {
            "reach": reach_of(k),
            "dimension": d,
            "bounds": bounds,
        }
        each = min(Fraction(_SURE, k), _MOST * Fraction(epsilon) / (2 * d))
        pure = cls.for_epsilon(epsilon, rank_scale=at_least(2 / each), **public)
        if not delta or d == 1:
            return pure
        target = Approx(epsilon, delta)
        # A choice of range η costs about what Gaussian noise with μ = η/2 costs, and
        # squares of μ add up. The curve that is charged then says how much is missing.
        whole = calibrate(lambda std: GDP(mu=1 / std), target, relative=1e-6) ** -2
        part = min((_SURE / k) ** 2 / 4, float(_MOST) * whole / (2 * d))
        scale, ranks = math.sqrt(d / (whole - 2 * d * part)), 1 / math.sqrt(part)

        def made(factor: float) -> Self:
            found = {"scale": factor * scale, "rank_scale": factor * ranks, **public}
            return cls(gaussian=True, **found)

        factor = calibrate(lambda x: made(x).curve(), target, low=0.5, relative=1e-3)
        found = made(factor)
        return found if found.std <= pure.std else pure

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        one = cls(scale=1, **public)
        if one.gaussian:
            return None
        # Sums of rounded numbers are rounded up once more: leave room for the last bit.
        wanted = checks.rational("epsilon", epsilon) * (1 - Fraction(1, 1 << 40))
        left = wanted - 4 * one.dimension * distance(sensitivity) / one._ranks
        if left <= 0:
            least = 4 * one.dimension * float(distance(sensitivity)) / epsilon
            raise InvalidArgument(
                f"rank_scale must be more than {least:g}, or the choices of the range "
                f"alone cost epsilon={epsilon!r}. Use ClippedMean.planned."
            )
        steps = distance(sensitivity) * (1 << _BITS)
        if one.dimension == 1:
            noise = Laplace.for_epsilon(float(left), steps).scale
        else:
            cube = {"dimension": one.dimension, "norm": math.inf}
            noise = KNorm.for_epsilon(float(left), steps, **cube).scale
        return cls(scale=float(noise) / (1 << _BITS), **public)


def _is_pair(bounds: Any) -> bool:
    return len(bounds) == 2 and not isinstance(bounds[0], (tuple, list))


def _checked(bounds: Any, dimension: int) -> Bounds:
    """Return one pair of bounds, or one for each coordinate."""
    if not isinstance(bounds, (tuple, list)) or _is_pair(bounds):
        return checks.width("bounds", bounds)
    if len(bounds) != dimension:
        raise InvalidArgument(
            f"bounds must be (lower, upper), or {dimension} such pairs."
        )
    return tuple(checks.width("bounds", each) for each in bounds)


def _steps(values: Any, lower: float, width: float) -> int:
    """Return the sum of shares of a range, in units of 2^-32: each within 0..2^32."""
    if width <= 0:  # all that is known lies at one point
        return 0
    share = (clamp(values, lower, lower + width) - lower) / width
    units = np.rint(np.ldexp(np.clip(share, 0, 1), _BITS)).astype(np.int64)
    return total(units)
