"""The convolution accountant: few steps, convolved mass by mass.

Tilts and transforms lose digits where the loss is neither light- nor heavy-tailed. Here
nothing is subtracted: one step becomes a law on a grid, once above it and once below
it, and positive masses are multiplied and added. All digits survive at any delta; the
price is a grid fine enough for epsilon. Derivations are in docs/proofs/direct.md.
"""

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import scipy

from hush.privacy.accountants.contour_quadrature import Components
from hush.privacy.accountants.convolution_step import Steps, above, below, rounding
from hush.privacy.pld.gaussian_loss import GaussianLoss, SubsampledGaussianLoss
from hush.privacy.pld.loss_distribution import ROUNDING, Floats, LossLaw

_FLOOR = 1e-290  # what underflow may take, times e^rise for masses of P


@final
@dataclass(frozen=True)
class Sums:
    """The rise of the total loss on a grid: start + i·spacing, and what lies beyond.

    For "remove", `mass` is that of P, and the outcomes that rise beyond the last
    point x have `gain` = P - e^x Q and `rest` = e^x Q. For "add" nothing beyond the
    last point counts, and both are zero.
    """

    copies: int
    least: float  # the loss that every step has at least: start·copies included
    spacing: float
    mass: Floats
    gain: float
    rest: float
    open_ended: bool  # whether what lies beyond counts

    def curve(self) -> Floats:
        """Return P(S > x) - e^x Q(S > x) at every grid point: only positive terms."""
        decay = np.exp(-self.spacing * np.arange(self.mass.size, dtype=np.float64))
        over = np.zeros_like(self.mass)
        over[:-1] = np.cumsum(self.mass[:0:-1])[::-1]
        over += self.gain + self.rest
        # D_n = e^-h D_(n+1) + (1 - e^-h) P(S > x_n).
        terms = over * decay * -math.expm1(-self.spacing)
        terms[-1] = self.gain * decay[-1]
        return np.asarray(np.cumsum(terms[::-1])[::-1] / decay)

    def then(self, other: "Sums") -> "Sums":
        """Compose, one mass after the other."""
        mass = _product(self.mass, other.mass)
        copies, least = self.copies + other.copies, self.least + other.least
        if not self.open_ended:
            return replace(self, copies=copies, least=least, mass=mass)
        decay = np.exp(-self.spacing * np.arange(self.mass.size, dtype=np.float64))
        # e^x Q(S > x) by the same recursion, e^-h (E_(n+1) + mass_(n+1)).
        terms = np.append(other.mass[1:] * decay[1:], other.rest * decay[-1])
        rest = np.cumsum(terms[::-1])[::-1] / decay
        stay = math.exp(other.least)
        return Sums(
            copies,
            least,
            self.spacing,
            mass,
            float(self.mass @ other.curve()[::-1])
            + self.gain
            - math.expm1(min(other.least, 0.0)) * self.rest,
            float(self.mass @ rest[::-1]) + stay * self.rest,
            open_ended=True,
        )


def _product(first: Floats, second: Floats) -> Floats:
    """Return the first half of a convolution: sums of products, nothing transformed."""
    size = first.size
    if size <= 1024:  # the recursion would cost more than the products it saves
        return np.asarray(np.convolve(first, second)[:size])
    half = (size + 1) // 2
    result = np.convolve(first[:half], second[:half])[:size]
    result = np.append(result, np.zeros(size - result.size))
    rest = size - half
    cross = _product(first[:rest], second[half:])
    same = first is second
    result[half:] += (
        2 * cross if same else cross + _product(first[half:], second[:rest])
    )
    return result


def _one_step(law: SubsampledGaussianLoss, steps: Steps, side: int) -> Sums:
    """Return one step with the exact law beyond its last cell.

    Beyond its last point x, `rest` = e^x Q(beyond) and `gain` = P(beyond) - rest.
    """
    stay = math.log1p(-law.rate)
    rises = steps.start + steps.spacing * np.arange(steps.mass.size, dtype=np.float64)
    if law.direction == "add":
        least = -stay - steps.start
        return Sums(1, least, steps.spacing, steps.mass, 0.0, 0.0, open_ended=False)
    least, last = stay + steps.start, float(rises[-1])
    sign = 1.0 if side else -1.0
    sure = 1 + sign * (64 + 4 * last) * ROUNDING
    mass = steps.mass * np.exp(rises + stay) * sure
    if steps.end < last:  # only by accident; what is left out only hides
        return Sums(1, least, steps.spacing, mass, 0.0, 0.0, open_ended=True)
    y = math.log(math.expm1(steps.end) * (1 - law.rate) / law.rate)
    z = law.std * y + 0.5 / law.std
    error = rounding(np.array(z), np.array(abs(law.std * y) + 0.5 / law.std + law.std))
    far = float(scipy.special.ndtr(-z) * (1 + sign * error) * sure)
    # The curve at the cell's end, by the Gaussian's; from there to the last point
    # the outcomes beyond keep what they lose.
    blur = sign * 8 * ROUNDING * (1 + abs(y))
    gain = law.rate * float(GaussianLoss(1 / law.std).delta(y - blur)[side])
    rest = math.exp(stay + last) * far
    gain = gain * sure + math.expm1(steps.end - last) * rest
    return Sums(1, least, steps.spacing, mass, gain, rest, open_ended=True)


def _power(step: Sums, times: int) -> Sums:
    """Return the sum of `times` steps, by squaring."""
    total, square = None, step
    while True:
        if times & 1:
            total = square if total is None else total.then(square)
        times >>= 1
        if not times:
            return total if total is not None else step
        square = square.then(square)


@final
@dataclass(frozen=True)
class Polygon:
    """A curve that is linear in e^epsilon between grid points.

    Guarantee: it lies on the stated side of delta for every epsilon on the grid's span.
    """

    loss: Floats  # rising
    value: Floats  # falling

    def epsilon(self, delta: float) -> float:
        """Return where it takes the value delta: nan where it does not."""
        if not self.value[-1] <= delta <= self.value[0]:
            return math.nan
        i = int(np.searchsorted(-self.value, -delta))  # first with value <= delta
        if i == 0:
            return float(self.loss[0])
        high, low = float(self.value[i - 1]), float(self.value[i])
        share = (high - delta) / (high - low)
        step = float(self.loss[i] - self.loss[i - 1])
        return float(self.loss[i - 1]) + math.log1p(share * math.expm1(step))

    def delta(self, epsilon: float) -> float:
        """Return the value at epsilon: nan outside."""
        if not self.loss[0] <= epsilon <= self.loss[-1]:
            return math.nan
        i = max(int(np.searchsorted(self.loss, epsilon)), 1)
        start, step = float(self.loss[i - 1]), float(self.loss[i] - self.loss[i - 1])
        share = min(math.expm1(epsilon - start) / math.expm1(step), 1.0)
        return float(self.value[i - 1] * (1 - share) + self.value[i] * share)


def polygon(
    law: SubsampledGaussianLoss, times: int, rise: float, count: int, side: int
) -> Polygon:
    """Return a bound of the curve (side 0 below, 1 above) up to a rise of the sum."""
    spacing = rise / count
    steps = above(law, spacing, count) if side else below(law, spacing, count)
    sums = _power(_one_step(law, steps, side), times)
    # Positive sums: a rounding for each term and step, and what every step carried; 64
    # covers the masses of a step, 8·rise their exponentials.
    slack = times * (3 * count + 64 + 8 * rise) * ROUNDING * (1 if side else -1)
    floor = _FLOOR * math.exp(rise) if side else 0.0
    points = spacing * np.arange(count + 1, dtype=np.float64)
    # Losses err by roundings of each step's least loss and of the sum.
    drift = 8 * ROUNDING * times * (abs(math.log1p(-law.rate)) + steps.start)
    drift = (drift + 8 * ROUNDING * rise) * (1 if side else -1)
    if law.direction == "remove":
        value = sums.curve() * (1 + slack) + floor
        return Polygon(sums.least + drift + points, np.minimum.accumulate(value))
    # δ at x = top - n h: Σ_(i<n) w_i (1 - e^((i-n)h)), only positive terms.
    decay = np.exp(-spacing * np.arange(count + 1, dtype=np.float64))
    below_sum = np.concatenate([[0.0], np.cumsum(sums.mass)[:-1]])
    value = np.cumsum(below_sum / decay * -math.expm1(-spacing)) * decay
    value = value * (1 + slack) + floor
    return Polygon(
        (sums.least + drift - points)[::-1], np.minimum.accumulate(value[::-1])
    )


# -- Asking the direct engine: which window of losses, and how fine a grid -------------

_MOST_COPIES = 4096  # beyond, a tilt fits the sum, and the contour is sharp
_LARGEST_RISE = 600.0  # e^600 is still a float, with room for products
_SMALLEST = 1e-290  # a δ below it may be nothing but the floor
# Relative widths: one below that which `tightest` asks for, and what grids aim at.
_SHARP = 8e-7
_AIM = 3e-7
_TURNS = 60  # never reached: windows shrink to fit, then grids get finer
# Sizes of grids: up to the middle one they cost less than other engines.
COARSE, FINE, FINEST = 768, 6144, 1 << 14


def applies(components: Components) -> bool:
    """Tell whether the composition is one that this engine can convolve."""
    if len(components) != 1:
        return False
    law, times = components[0]
    return (
        isinstance(law, SubsampledGaussianLoss)
        and law.rate < 1
        and 1 < times <= _MOST_COPIES
    )


def epsilon_bracket(
    step: tuple[LossLaw, int],
    delta: float,
    lower: float,
    upper: float,
    grids: tuple[int, int] = (COARSE, FINEST),
) -> tuple[float, float]:
    """Improve a bracket of epsilon, on grids from the first size to the last.

    Guarantee: as that of the given bracket.

    Example:
        >>> step = SubsampledGaussianLoss(std=0.3, rate=1e-7, direction="remove")
        >>> with np.errstate(all="ignore"):
        ...     low, high = epsilon_bracket((step, 30), 1e-6, 0.0, math.inf)
        ...
        >>> round(low, 9), round(high, 9)
        (4.2201e-05, 4.2201e-05)

    Reference: docs/proofs/direct.md
    """
    law, times = step
    if not isinstance(law, SubsampledGaussianLoss):
        return lower, upper
    search = _add if law.direction == "add" else _remove
    return search(law, times, delta, (lower, upper), grids)


def delta_bracket(
    step: tuple[LossLaw, int],
    epsilon: float,
    lower: float,
    upper: float,
    grids: tuple[int, int] = (COARSE, FINEST),
) -> tuple[float, float]:
    """Improve a bracket of delta, on grids from the first size to the last.

    Guarantee: as that of the given bracket.

    Reference: docs/proofs/direct.md
    """
    law, times = step
    if not isinstance(law, SubsampledGaussianLoss):
        return lower, upper
    base = times * math.log1p(-law.rate)
    # The window ends a little beyond ε, which then lies inside of its last cell.
    rise = 1.001 * (epsilon - base if law.direction == "remove" else -base - epsilon)
    count = grids[0]
    while count and 0 < rise <= _LARGEST_RISE:
        most = polygon(law, times, rise, count, 1).delta(epsilon)
        least = polygon(law, times, rise, count, 0).delta(epsilon)
        upper = min(upper, most) if most >= 0 else upper
        lower = max(lower, least) if least >= 0 else lower
        # A grid's own rounding is far above what is still smaller.
        if upper - lower <= _SHARP * upper or upper < _SMALLEST:
            break
        count = _finer(count, (most - least) / upper, grids)
    return min(lower, upper), upper


def _remove(
    law: SubsampledGaussianLoss,
    times: int,
    delta: float,
    bracket: tuple[float, float],
    grids: tuple[int, int],
) -> tuple[float, float]:
    lower, upper = bracket
    base = times * math.log1p(-law.rate)
    # A bracket within ten percent says where the window ends; else one jump does.
    known = lower > 0.9 * upper
    end = 1.005 * upper if known else 1.2 * single_jump(law, times, delta)
    rise, count = end - base, grids[0]
    for _ in range(_TURNS):
        if not count or not 0 < rise <= _LARGEST_RISE:
            break
        above = polygon(law, times, rise, count, 1)
        if above.value[-1] > delta:  # the window ends too early
            rise *= 1.5
            continue
        most = above.epsilon(delta)
        if not most > 0:  # δ(0) is below delta
            return 0.0, 0.0
        upper = min(upper, most)
        if most - base < 0.8 * rise:  # a fifth of the grid is wasted: closer
            rise = 1.05 * (most - base)
            continue
        least = polygon(law, times, rise, count, 0).epsilon(delta)
        lower = max(lower, least) if least > 0 else lower
        if upper - lower <= _SHARP * upper:
            break
        count = _finer(count, (most - least) / upper, grids)
        rise = 1.005 * (most - base)
    return min(lower, upper), upper


def _add(
    law: SubsampledGaussianLoss,
    times: int,
    delta: float,
    bracket: tuple[float, float],
    grids: tuple[int, int],
) -> tuple[float, float]:
    lower, upper = bracket
    top = -times * math.log1p(-law.rate)
    rise = 1.01 * min(_depth(law, times, delta), top - lower)
    count = grids[0]
    for _ in range(_TURNS):
        if not count or not 0 < rise <= _LARGEST_RISE:
            break
        least = polygon(law, times, rise, count, 0).epsilon(delta)
        if math.isfinite(least):
            lower = max(lower, least)
            if top - least < 0.8 * rise:
                rise = 1.05 * (top - least)
                continue
        above = polygon(law, times, rise, count, 1)
        if above.delta(0.0) <= delta:
            return 0.0, 0.0
        most = above.epsilon(delta)
        upper = min(upper, most) if math.isfinite(most) else upper
        if upper - lower <= _SHARP * upper:
            break
        count = _finer(count, (most - least) / upper, grids)
        rise = 1.005 * (top - lower)
    return min(lower, upper), upper


def _finer(count: int, width: float, grids: tuple[int, int]) -> int:
    """Return a grid that should be fine enough; zero where it is, or none is.

    Grids at least double, lest there be many turns, and grow by five at most, since
    what a coarse one promises is rough.
    """
    last = grids[1]
    if not width >= 0:  # the window missed: try again, closer
        return min(2 * count, last) if count < last else 0
    need = count * math.sqrt(width / _AIM)  # both sides are second order
    # A coarse grid promises little, so hope is lost on a later one only.
    if count >= last or (count > COARSE and need > 2 * last):
        return 0
    return min(max(math.ceil(min(need, last)), 2 * count), 5 * count, last)


def single_jump(law: SubsampledGaussianLoss, times: int, delta: float) -> float:
    """Guess epsilon as if one step made it all: δ(ε) = delta / times, by halving."""
    low, high = 0.0, 1e-9
    while times * float(law.delta(high)[1]) > delta and high < 1e6:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        if times * float(law.delta(middle)[1]) > delta:
            low = middle
        else:
            high = middle
    return high


def _depth(law: SubsampledGaussianLoss, times: int, delta: float) -> float:
    """Guess how far below the largest loss epsilon is: all steps lose nearly all."""
    # δ >= P(all rises <= r) (1 - e^(T r - depth)), for the best r.
    # Φ(-38) is the smallest positive float, and 1 - Φ(12) below every rounding.
    z = np.linspace(-38.0, 12.0, 501)
    y = (z - 0.5 / law.std) / law.std
    rise = np.log1p(law.rate / (1 - law.rate) * np.exp(np.minimum(y, 700.0)))
    share = np.exp(math.log(delta) - times * scipy.special.log_ndtr(z))
    depth = np.where(share < 1, times * rise - np.log1p(-share), np.inf)
    return float(depth.min())
