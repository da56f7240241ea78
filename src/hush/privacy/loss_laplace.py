"""The continuous Laplace loss, whole or Poisson-sampled: two atoms and a density."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from hush import checks
from hush.privacy.loss_falling import FallingLoss
from hush.privacy.loss_law import ROUNDING, Bracket, Direction, Floats
from hush.privacy.loss_mixture import log_likelihood


@final
@dataclass(frozen=True)
class LaplaceLoss(FallingLoss):
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
        self._check(scale=checks.real("scale", self.scale, above=0.002))

    @property
    def steepness(self) -> float:
        """The loss at the shifted center."""
        return 1 / self.scale

    @property
    def log_height(self) -> float:
        """Lap(0) at 0."""
        return -math.log(2 * self.scale)

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
        top = self.steepness
        return np.array([-top, top]), np.array([math.log(0.5), math.log(0.5) - top])

    def whole_delta(self, epsilon: ArrayLike) -> Bracket:
        """Return 1 - e^((ε - a)/2) on [-a, a], a = 1/scale, and 1 - e^ε below."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        top = self.steepness
        blur = ROUNDING * (np.abs(epsilon) + top)
        inside = np.where(epsilon >= -top, (epsilon - top) / 2, epsilon)
        lower = -np.expm1(np.minimum(inside + blur, 0.0)) * (1 - 4 * ROUNDING)
        upper = -np.expm1(np.minimum(inside - blur, 0.0)) * (1 + 4 * ROUNDING)
        return lower, np.where(epsilon > top + 4 * blur, 0.0, np.minimum(upper, 1.0))
