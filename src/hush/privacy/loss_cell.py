"""A cell of a subsampled Gaussian: the part of its law with x between two soft edges.

The density is multiplied by Φ((x - left)/w) - Φ((x - right)/w). Cells with shared edges
add up to the whole law, each is analytic, and the masses have closed forms.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import scipy
from numpy.typing import ArrayLike

from hush.errors import NoBound
from hush.privacy.loss_law import ROUNDING, Bracket, Decay, Floats, Rule
from hush.privacy.loss_part import PartLoss
from hush.privacy.shifted import shifted_decay
from hush.privacy.subsampled_gaussian import SubsampledGaussianLoss


@final
@dataclass(frozen=True)
class CellLoss(PartLoss):
    """The part of `whole` between soft edges, divided by e^log_unit.

    Guarantee: a measure, not a law: `rule` and `decay` hold for it, `delta` is not
    defined. Only cells that reach down to minus infinity have log_unit zero.
    """

    left: float
    right: float
    softness: float
    log_unit: float = 0.0

    @property
    def std(self) -> float:
        """The std of the whole."""
        return self.whole.std

    @property
    def panel_width(self) -> float:
        """Two standard deviations, or two widths of the edges of a narrow cell."""
        narrow = math.isfinite(self.left) and math.isfinite(self.right)
        return 2 * min(self.std, self.softness) if narrow else 2 * self.std

    def window(self, log_drop: float) -> tuple[float, float, float]:
        """Return where all but e^log_drop of the cell lies, under P and under Q."""
        # Beyond u widths from an edge the factor is below Φ(-u) <= e^(-u²/2)/2, and
        # what it multiplies is a probability.
        log_drop = log_drop + self.log_unit
        left, right, _ = self.whole.window(log_drop - math.log(4))
        u = math.sqrt(2 * max(math.log(4) - log_drop, 1.0))
        left = max(left, self.left - u * self.softness)
        right = min(right, self.right + u * self.softness)
        return left, max(right, left), math.exp(log_drop - self.log_unit)

    def _log_factor(self, x: Floats) -> Floats:
        upper, lower = (x - self.left) / self.softness, (x - self.right) / self.softness
        # Φ(a) - Φ(b) = Φ(-b) - Φ(-a): the side on which both are small keeps digits.
        flip = upper + lower > 0
        first = scipy.special.log_ndtr(np.where(flip, -lower, upper))
        second = scipy.special.log_ndtr(np.where(flip, -upper, lower))
        return np.asarray(first + np.log1p(-np.exp(np.minimum(second - first, -1e-9))))

    def log_base(self, x: Floats) -> Floats:
        """Return the log density under N(0, std²)."""
        return self.whole.log_base(x) + self._log_factor(x) - self.log_unit

    def log_base_above(self, left: Floats, right: Floats, height: Floats) -> Floats:
        """|Φ(a + iv) - Φ(b + iv)| <= e^(v²/2) (Φ(a) - Φ(b)): integrate φ sideways."""
        factor = np.minimum(
            scipy.special.log_ndtr((right - self.left) / self.softness),
            scipy.special.log_ndtr((self.right - left) / self.softness),
        )
        lift = 0.5 * (height / self.softness) ** 2 + 1e-12
        base = self.whole.log_base_above(left, right, height)
        return np.asarray(base + factor + lift - self.log_unit)

    def log_base_below(self, left: Floats, right: Floats) -> Floats:
        """The density is log-concave, so smallest at an end."""
        return np.asarray(np.minimum(self.log_base(left), self.log_base(right)) - 1e-9)

    def _points(self, ends: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        y, loss, log_weight, sizes = super()._points(ends)
        x = (y - self.offset) / self.slope
        score = np.zeros_like(x)
        for edge in (self.left, self.right):
            if math.isfinite(edge):
                # The score is known within the rounding of x and of the edge.
                u = np.abs(x - edge) / self.softness
                score += (1 + u) * (u + (np.abs(x) + abs(edge)) / self.softness)
        return y, loss, log_weight, sizes + score

    def rule(
        self, tilt: float, reach: float, log_tolerance: float, log_drop: float
    ) -> Rule:
        """Return the points of the cell; the lowest cell knows what it lacks."""
        rule = super().rule(tilt, reach, log_tolerance, log_drop)
        if math.isfinite(self.left) or self.log_unit:
            return replace(rule, mass_error=math.inf, balance_error=math.inf)
        above = outside(self.whole, self.right, self.softness)
        return replace(
            rule,
            defect=-above.p,
            imbalance=-above.gain,
            mass_error=rule.mass_error + above.p * above.error,
            balance_error=rule.balance_error + above.drift,
        )

    def decay(self, tilt: float, log_mass: float, log_drop: float) -> Decay:
        """Return layers and the shifted path; variation is not bounded."""
        decay = super().decay(tilt, log_mass, log_drop)
        return replace(decay, variation=math.inf, atoms=1.0)

    def _shifted(
        self, power: float, log_mass: float, log_drop: float
    ) -> Callable[[float], float]:
        left, right, _ = self.window(log_drop)
        return shifted_decay(self, power, log_mass, left, right, self.softness)

    def reversed(self) -> "CellLoss":
        """Return the same cell of the reversed pair."""
        return replace(self, whole=self.whole.reversed())

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """A part of a law has no curve."""
        raise NoBound("a cell is a part of a law and has no curve; ask the whole law.")


@final
@dataclass(frozen=True)
class Outside:
    """What is above a soft edge, for the direction "remove".

    Guarantee: p and q, its masses under P and Q, err by `error` relatively, and their
    difference `gain` by at most `drift`.
    """

    p: float
    q: float
    gain: float
    error: float
    drift: float


def outside(law: SubsampledGaussianLoss, edge: float, softness: float) -> Outside:
    """Return what is above an edge: x plus softness times a normal exceeds it."""
    width = math.hypot(law.std, softness)
    far = float(scipy.special.ndtr(-edge / width))
    near = float(scipy.special.ndtr((1 - edge) / width))
    rate, size = law.rate, (abs(edge) + 1) / width
    error = ROUNDING * (64 + 8 * size * size)
    return Outside(
        p=(1 - rate) * far + rate * near,
        q=far,
        gain=rate * (near - far),
        error=error,
        drift=error * rate * (near + far),
    )
