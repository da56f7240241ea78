"""The loss of bounded range, whole or Poisson-sampled: one exponential density."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from hush import checks
from hush.privacy.loss_falling import FallingLoss
from hush.privacy.loss_law import ROUNDING, Bracket, Direction


@final
@dataclass(frozen=True)
class RangeLoss(FallingLoss):
    """The pair above all pairs of range `span`, on a Poisson sample at `rate`.

    Guarantee: Q has density s e^(-sx)/(1 - e^-s) on [0, 1], s = `span`, and P that of
    1 - x, so the loss has density proportional to e^(y/2) on [-s, s] and the curve
    (1 - e^(-(s-ε)/2))²/(1 - e^-s), the largest of all pairs with two losses s apart.

    Example:
        >>> round(float(RangeLoss(1.0).delta(0.0)[1]), 6)
        0.244919

    Reference: [DDR20] Lemma 3.2; proof in docs/proofs/bounded_range.md
    """

    span: float
    rate: float = 1.0
    direction: Direction = "remove"

    def __post_init__(self) -> None:
        self._check(span=checks.real("span", self.span, above=0, at_most=500))

    @property
    def steepness(self) -> float:
        """The largest loss without sampling."""
        return self.span

    @property
    def log_height(self) -> float:
        """Q at 0."""
        return math.log(self.span / -math.expm1(-self.span))

    @property
    def largest_loss(self) -> float:
        """The loss at one end."""
        if self.rate == 1.0:
            return self.span
        sign = 1.0 if self.direction == "remove" else -1.0
        kept = 1 - self.rate
        return sign * math.log(kept + self.rate * math.exp(sign * self.span)) + 1e-14

    def whole_delta(self, epsilon: ArrayLike) -> Bracket:
        """Return the closed form of the guarantee, and 1 - e^ε below -s."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        s, low = self.span, np.minimum(epsilon, 0.0)
        blur = 2 * ROUNDING * (np.abs(epsilon) + s)
        found = []
        for sign in (1.0, -1.0):
            half = -np.expm1(np.minimum((epsilon - s + sign * blur) / 2, 0.0))
            found.append(half * half / -math.expm1(-s))
        inside = epsilon > -s
        lower = np.where(inside, found[0], -np.expm1(low)) * (1 - 8 * ROUNDING)
        upper = np.where(inside, found[1], -np.expm1(low)) * (1 + 8 * ROUNDING)
        return lower, np.where(epsilon > s + blur, 0.0, np.minimum(upper, 1.0))
