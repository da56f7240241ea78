"""The direct engine: few steps, convolved mass by mass.

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

from hush.privacy.direct_step import Steps, above, below, rounding
from hush.privacy.loss_gaussian import GaussianLoss
from hush.privacy.loss_law import ROUNDING, Floats
from hush.privacy.subsampled_gaussian import SubsampledGaussianLoss

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
    if size <= 1024:
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


def _one(law: SubsampledGaussianLoss, steps: Steps, side: int) -> Sums:
    """Return one step with the exact law beyond its last cell."""
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
    sums = _power(_one(law, steps, side), times)
    # Positive sums: a rounding for each term and step, and what every step carried.
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
