"""The loss of bounded range, whole or Poisson-sampled: one exponential density."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from hush import checks
from hush.errors import NoBound
from hush.privacy.loss_law import ROUNDING, Bracket, Direction, Floats, LossLaw
from hush.privacy.loss_mixture import MixtureLoss
from hush.privacy.loss_sampled import checked_direction, sampled_delta


@final
@dataclass(frozen=True)
class RangeLoss(MixtureLoss):
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
        span = checks.real("span", self.span, above=0, at_most=500)
        rate = checks.real("rate", self.rate, above=0, at_most=1)
        object.__setattr__(self, "span", span)
        object.__setattr__(self, "rate", rate)
        object.__setattr__(self, "direction", checked_direction(self.direction))

    @property
    def slope(self) -> float:
        """On [0, 1] y = (2x - 1) span."""
        return 2 * self.span

    @property
    def offset(self) -> float:
        """Y at x = 0."""
        return -self.span

    @property
    def panel_width(self) -> float:
        """One panel, or shorter ones for wide spans."""
        return min(1.0, 4 / self.span)

    @property
    def largest_loss(self) -> float:
        """The loss at one end."""
        if self.rate == 1.0:
            return self.span
        sign = 1.0 if self.direction == "remove" else -1.0
        kept = 1 - self.rate
        return sign * math.log(kept + self.rate * math.exp(sign * self.span)) + 1e-14

    def window(self, log_drop: float) -> tuple[float, float, float]:
        """Return the interval of the density: nothing is outside."""
        return 0.0, 1.0, 0.0

    def log_base(self, x: Floats) -> Floats:
        """Return the log density of Q."""
        return -self.span * x + math.log(self.span / -math.expm1(-self.span))

    def log_base_above(self, left: Floats, right: Floats, height: Floats) -> Floats:
        """|e^(-s(x+iy))| = e^(-sx)."""
        return self.log_base(left)

    def log_base_below(self, left: Floats, right: Floats) -> Floats:
        """The density falls."""
        return self.log_base(right)

    def reversed(self) -> "RangeLoss":
        """Return the other direction."""
        if self.rate == 1.0:
            return self
        other: Direction = "add" if self.direction == "remove" else "remove"
        return RangeLoss(self.span, self.rate, other)

    def sampled(self, rate: float, direction: Direction) -> LossLaw:
        """Sampling a sample multiplies the rates."""
        if self.direction == "add" and self.rate < 1:
            raise NoBound(
                "sampled needs the pair (with, without); this law is (without, with). "
                "Call it on the 'remove' law, once for each direction."
            )
        rate = checks.real("rate", rate, above=0, at_most=1)
        return RangeLoss(self.span, self.rate * rate, direction)

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """Return the closed form."""
        if self.rate < 1:
            base = RangeLoss(self.span)
            return sampled_delta(base, self.rate, self.direction, epsilon)
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
