"""Losses whose base density falls exponentially on [0, 1], whole or Poisson-sampled.

Laplace noise between the two centers and the pair of bounded range share it: y goes
from -s to s while the density falls by e^-s, s the steepness.
"""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

from numpy.typing import ArrayLike

from hush import checks
from hush.errors import NoBound
from hush.privacy.loss_law import Bracket, Direction, Floats
from hush.privacy.loss_mixture import MixtureLoss
from hush.privacy.loss_sampled import checked_direction, sampled_delta


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
