"""Losses of Laplace noise and of bounded range, whole or Poisson-sampled."""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from hush import checks
from hush.errors import NoBound
from hush.privacy.pld.loss_distribution import (
    ROUNDING,
    Bracket,
    Direction,
    Floats,
    checked_direction,
    sampled_delta,
)
from hush.privacy.pld.mixture_loss import MixtureLoss, log_likelihood

# --------------------------------------------------------------------------------------
# Losses whose base density falls exponentially on [0, 1], whole or Poisson-sampled.
#
# Laplace noise between the two centers and the pair of bounded range share it: y goes
# from -s to s while the density falls by e^-s, s the steepness.


class FallingLoss(MixtureLoss):
    """Shared analysis; subclasses say how steep and how high, and are dataclasses."""

    @property
    @abstractmethod
    def steepness(self) -> float:
        """Y at x = 1, and by how much log b falls until there."""

    @property
    @abstractmethod
    def log_height(self) -> float:
        """Log b at x = 0."""

    @abstractmethod
    def whole_delta(self, epsilon: ArrayLike) -> Bracket:
        """Return a bracket of the curve without sampling."""

    def _check(self, **shape: float) -> None:
        """Store checked fields: the subclass's own, the rate and the direction."""
        shape["rate"] = checks.real("rate", self.rate, above=0, at_most=1)
        for name, value in shape.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "direction", checked_direction(self.direction))

    def _at(self, rate: float, direction: Direction) -> Self:
        changed: dict[str, Any] = {"rate": rate, "direction": direction}
        return replace(self, **changed)  # type: ignore[type-var]

    @property
    def slope(self) -> float:
        """On [0, 1] y = (2x - 1) s."""
        return 2 * self.steepness

    @property
    def offset(self) -> float:
        """Y at x = 0."""
        return -self.steepness

    @property
    def panel_width(self) -> float:
        """One panel, or shorter ones where it is steep."""
        return min(1.0, 4 / self.steepness)

    def window(self, log_drop: float) -> tuple[float, float, float]:
        """Return the interval of the density: nothing is outside."""
        return 0.0, 1.0, 0.0

    def log_base(self, x: Floats) -> Floats:
        """Return log b on [0, 1]."""
        return self.log_height - self.steepness * x

    def log_base_above(self, left: Floats, right: Floats, height: Floats) -> Floats:
        """|e^(-s(x+iy))| = e^(-sx)."""
        return self.log_base(left)

    def log_base_below(self, left: Floats, right: Floats) -> Floats:
        """The density falls."""
        return self.log_base(right)

    def reversed(self) -> Self:
        """Return the other direction."""
        if self.rate == 1.0:
            return self
        return self._at(self.rate, "add" if self.direction == "remove" else "remove")

    def sampled(self, rate: float, direction: Direction) -> Self:
        """Sampling a sample multiplies the rates."""
        if self.direction == "add" and self.rate < 1:
            raise NoBound(
                "sampled needs the pair (with, without); this law is (without, with). "
                "Call it on the 'remove' law, once for each direction."
            )
        rate = checks.real("rate", rate, above=0, at_most=1)
        return self._at(self.rate * rate, direction)

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """Return the closed form."""
        if self.rate == 1.0:
            return self.whole_delta(epsilon)
        whole = self._at(1.0, "remove")
        return sampled_delta(whole, self.rate, self.direction, epsilon)


# -- The continuous Laplace loss, whole or Poisson-sampled: two atoms and a density ----


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
        # e to the largest loss, 1/scale, must be a float.
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


# -- The loss of bounded range, whole or Poisson-sampled: one exponential density ------


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
        # e to the largest loss, the span, must be a float.
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
