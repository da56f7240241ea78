"""The Poisson-subsampled Gaussian: one step of DP-SGD."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from hush import checks
from hush.errors import NoBound
from hush.privacy.loss_gaussian import GaussianLoss
from hush.privacy.loss_law import Bracket, Direction, Floats, LossLaw
from hush.privacy.loss_mixture import MixtureLoss
from hush.privacy.loss_sampled import checked_direction, sampled_delta
from hush.privacy.shifted import shifted_decay


@final
@dataclass(frozen=True)
class SubsampledGaussianLoss(MixtureLoss):
    """Gaussian noise of `std` times the sensitivity, on a Poisson sample at `rate`.

    Guarantee: "remove" is (1-rate) N(0, std²) + rate N(1, std²) against N(0, std²),
    "add" is the same pair the other way round: the two directions of add/remove.

    Example:
        >>> step = SubsampledGaussianLoss(std=1.0, rate=0.5, direction="remove")
        >>> round(float(step.delta(0.0)[1]), 6)
        0.191462

    Reference: [ZDW22] Theorem 11; proof in docs/proofs/contour.md
    """

    std: float
    rate: float
    direction: Direction

    def __post_init__(self) -> None:
        std = checks.real("std", self.std, above=0)
        rate = checks.real("rate", self.rate, above=0, at_most=1)
        object.__setattr__(self, "std", std)
        object.__setattr__(self, "rate", rate)
        object.__setattr__(self, "direction", checked_direction(self.direction))

    @property
    def slope(self) -> float:
        """dy/dx = 1/std²."""
        return 1 / self.std**2

    @property
    def offset(self) -> float:
        """Y at x = 0."""
        return -0.5 / self.std**2

    @property
    def panel_width(self) -> float:
        """Two standard deviations."""
        return 2 * self.std

    def window(self, log_drop: float) -> tuple[float, float, float]:
        """Return where N(0, std²) and N(1, std²) have all but e^log_drop of mass."""
        # Φ(-z) <= e^(-z²/2)/2, so both tails of both laws hold under e^log_drop / 4.
        z = math.sqrt(2 * (math.log(4) - log_drop))
        return -self.std * z, 1 + self.std * z, math.exp(log_drop)

    def log_base(self, x: Floats) -> Floats:
        """Return the log density of N(0, std²)."""
        return -0.5 * (x / self.std) ** 2 - math.log(self.std * math.sqrt(2 * math.pi))

    def log_base_above(self, left: Floats, right: Floats, height: Floats) -> Floats:
        """|e^(-(x+iy)²/2s²)| = e^((y²-x²)/2s²)."""
        nearest = np.maximum(np.maximum(left, -right), 0.0)
        return np.asarray(self.log_base(nearest) + 0.5 * (height / self.std) ** 2)

    def log_base_below(self, left: Floats, right: Floats) -> Floats:
        """The density is smallest at an end."""
        return self.log_base(np.maximum(np.abs(left), np.abs(right)))

    def _shifted(
        self, power: float, log_mass: float, log_drop: float
    ) -> Callable[[float], float]:
        """Integrate along x + iτ, where |ℓ^(w)| = |ℓ|^power e^(-t arg ℓ), arg ℓ > 0."""
        left, right, _ = self.window(log_drop)
        return shifted_decay(self, power, log_mass, left, right)

    def plain(self) -> LossLaw:
        """At rate one this is the Gaussian mechanism."""
        return GaussianLoss(1 / self.std) if self.rate == 1.0 else self

    def reversed(self) -> "SubsampledGaussianLoss":
        """Return the other direction."""
        other: Direction = "add" if self.direction == "remove" else "remove"
        return SubsampledGaussianLoss(self.std, self.rate, other)

    def sampled(self, rate: float, direction: Direction) -> LossLaw:
        """Sampling a sample multiplies the rates."""
        if self.direction == "add":
            raise NoBound(
                "sampled needs the pair (with, without); this law is (without, with). "
                "Call it on the 'remove' law, once for each direction."
            )
        rate = checks.real("rate", rate, above=0, at_most=1)
        return SubsampledGaussianLoss(self.std, self.rate * rate, direction)

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """Return the closed form."""
        base = GaussianLoss(1 / self.std)
        return sampled_delta(base, self.rate, self.direction, epsilon)
