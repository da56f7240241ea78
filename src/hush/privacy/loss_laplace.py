"""The continuous Laplace loss, whole or Poisson-sampled: two atoms and a density."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from hush import checks
from hush.errors import NoBound
from hush.privacy.loss_law import ROUNDING, Bracket, Direction, Floats, LossLaw
from hush.privacy.loss_mixture import MixtureLoss, log_likelihood
from hush.privacy.loss_sampled import checked_direction, sampled_delta


@final
@dataclass(frozen=True)
class LaplaceLoss(MixtureLoss):
    """Laplace noise of `scale` times the sensitivity, on a Poisson sample at `rate`.

    Guarantee: "remove" is (1-rate) Lap(0) + rate Lap(1) against Lap(0); "add" is the
    same pair the other way round. At rate 1 both are the Laplace mechanism.

    Example:
        >>> round(float(LaplaceLoss(scale=2.0).delta(0.25)[1]), 6)
        0.117503

    Reference: [SMM19] Table 1; proof in docs/proofs/contour.md
    """

    scale: float
    rate: float = 1.0
    direction: Direction = "remove"

    def __post_init__(self) -> None:
        scale = checks.real("scale", self.scale, above=0.002)
        rate = checks.real("rate", self.rate, above=0, at_most=1)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "rate", rate)
        object.__setattr__(self, "direction", checked_direction(self.direction))

    @property
    def slope(self) -> float:
        """On [0, 1] y = (2x - 1)/scale."""
        return 2 / self.scale

    @property
    def offset(self) -> float:
        """Y at x = 0."""
        return -1 / self.scale

    @property
    def panel_width(self) -> float:
        """One panel, or shorter ones for small scales."""
        return min(1.0, 4 * self.scale)

    @cached_property
    def _peak(self) -> tuple[float, float]:
        """The largest loss and its log P-mass: one of the two atoms."""
        y, log_mass = self.base_atoms
        likelihood = log_likelihood(y, self.rate)
        if self.direction == "remove":
            return float(likelihood[1]), float(log_mass[1] + likelihood[1])
        return -float(likelihood[0]), float(log_mass[0])

    @property
    def largest_loss(self) -> float:
        """The loss on the half line beyond the shifted center."""
        return self._peak[0] * (1 + 1e-14)

    @property
    def log_largest_mass(self) -> float:
        """The probability of that half line."""
        return self._peak[1] - 1e-14 * (1 + abs(self._peak[1]))

    @property
    def base_atoms(self) -> tuple[Floats, Floats]:
        """The half lines x <= 0 and x >= 1."""
        top = 1 / self.scale
        return np.array([-top, top]), np.array([math.log(0.5), math.log(0.5) - top])

    def window(self, log_drop: float) -> tuple[float, float, float]:
        """Return the interval of the density: nothing is outside."""
        return 0.0, 1.0, 0.0

    def log_base(self, x: Floats) -> Floats:
        """Return the log density of Lap(0) on [0, 1]."""
        return -x / self.scale - math.log(2 * self.scale)

    def log_base_above(self, left: Floats, right: Floats, height: Floats) -> Floats:
        """|e^(-(x+iy)/scale)| = e^(-x/scale)."""
        return self.log_base(left)

    def log_base_below(self, left: Floats, right: Floats) -> Floats:
        """The density falls."""
        return self.log_base(right)

    def reversed(self) -> "LaplaceLoss":
        """Return the other direction."""
        if self.rate == 1.0:
            return self
        other: Direction = "add" if self.direction == "remove" else "remove"
        return LaplaceLoss(self.scale, self.rate, other)

    def sampled(self, rate: float, direction: Direction) -> LossLaw:
        """Sampling a sample multiplies the rates."""
        if self.direction == "add" and self.rate < 1:
            raise NoBound(
                "sampled needs the pair (with, without); this law is (without, with). "
                "Call it on the 'remove' law, once for each direction."
            )
        rate = checks.real("rate", rate, above=0, at_most=1)
        return LaplaceLoss(self.scale, self.rate * rate, direction)

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """Return the closed form."""
        if self.rate < 1:
            base = LaplaceLoss(self.scale)
            return sampled_delta(base, self.rate, self.direction, epsilon)
        # 1 - e^((ε - a)/2) on [-a, a], a = 1/scale; 1 - e^ε below.
        epsilon = np.asarray(epsilon, dtype=np.float64)
        top = 1 / self.scale
        blur = ROUNDING * (np.abs(epsilon) + top)
        inside = np.where(epsilon >= -top, (epsilon - top) / 2, epsilon)
        lower = -np.expm1(np.minimum(inside + blur, 0.0)) * (1 - 4 * ROUNDING)
        upper = -np.expm1(np.minimum(inside - blur, 0.0)) * (1 + 4 * ROUNDING)
        return lower, np.where(epsilon > top + 4 * blur, 0.0, np.minimum(upper, 1.0))
