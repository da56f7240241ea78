"""Poisson sampling of any pair, through its hockey-stick curve."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from hush import checks
from hush.errors import InvalidArgument
from hush.privacy.pld.loss_distribution import ROUNDING, Bracket, Direction, LossLaw


def checked_direction(direction: object) -> Direction:
    """Return the direction, or name the two there are."""
    if direction == "add":
        return "add"
    if direction == "remove":
        return "remove"
    raise InvalidArgument(f"direction must be 'add' or 'remove'; got {direction!r}.")


def sampled_delta(
    base: LossLaw, rate: float, direction: Direction, epsilon: ArrayLike
) -> Bracket:
    """Bracket the curve of the sampled pair by the curve of the base pair.

    Guarantee: with mixture P' = qP + (1-q)Q, "remove" gives
    H(P'|Q)(ε) = q H(P|Q)(log1p(expm1(ε)/q)) and "add" gives
    H(Q|P')(ε) = e^ε (q + expm1(-ε)) H(Q|P)(-log1p(expm1(-ε)/q)).

    Reference: [ZDW22] Proposition 30, rearranged; proof in docs/proofs/contour.md
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    sign = 1.0 if direction == "remove" else -1.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        v = np.expm1(np.minimum(sign * epsilon, 700.0)) / rate
        inside = 1 + v > 0
        safe = np.where(inside, v, 0.0)
        at = sign * np.log1p(safe)
        blur = ROUNDING * (4 * np.abs(safe) / (1 + safe) + 2 * np.abs(at))
        pair = base if direction == "remove" else base.reversed()
        upper, lower = pair.delta(at - blur)[1], pair.delta(at + blur)[0]
        factor = np.asarray(rate, dtype=np.float64)
        if direction == "add":
            factor = np.exp(epsilon) * rate * (1 + safe)
        slack = ROUNDING * (8 + 4 * np.abs(safe) / (1 + safe) + 2 * np.abs(epsilon))
    # Outside, P' >= e^ε Q everywhere ("remove"), or Q <= e^ε P' ("add").
    outside = np.maximum(-np.expm1(np.minimum(epsilon, 0.0)), 0.0)
    outside = outside if direction == "remove" else np.zeros_like(epsilon)
    lower = np.where(inside, factor * lower * np.maximum(1 - slack, 0), outside)
    upper = np.where(inside, factor * upper * (1 + slack), outside * (1 + 4 * ROUNDING))
    return np.maximum(lower, 0.0) * (1 - ROUNDING), np.clip(upper, 5e-324, 1.0)


@final
@dataclass(frozen=True)
class SampledLoss(LossLaw):
    """Poisson sampling at `rate` of the pair behind `base`.

    Guarantee: exact at the level of the curve; it has no transform, so compositions
    of it go to the lattice engine.

    Example:
        >>> from hush.privacy.pld.gaussian_loss import GaussianLoss
        >>> law = SampledLoss(GaussianLoss(1.0), 0.5, "remove")
        >>> round(float(law.delta(0.0)[1]), 6)
        0.191462
    """

    base: LossLaw
    rate: float
    direction: Direction

    def __post_init__(self) -> None:
        rate = checks.real("rate", self.rate, above=0, at_most=1)
        object.__setattr__(self, "rate", rate)
        object.__setattr__(self, "direction", checked_direction(self.direction))

    @property
    def infinite_mass(self) -> float:
        """Upper bound on P(L = +infinity)."""
        if self.direction == "remove":
            return min(1.0, self.rate * self.base.infinite_mass * (1 + ROUNDING))
        return self.base.reversed().infinite_mass if self.rate == 1.0 else 0.0

    @property
    def infinite_mass_lower(self) -> float:
        """Lower bound on P(L = +infinity)."""
        if self.direction == "remove":
            return self.rate * self.base.infinite_mass_lower * (1 - ROUNDING)
        return self.base.reversed().infinite_mass_lower if self.rate == 1.0 else 0.0

    def reversed(self) -> "SampledLoss":
        """Return the other direction."""
        other: Direction = "add" if self.direction == "remove" else "remove"
        return SampledLoss(self.base, self.rate, other)

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """Return the curve of the base pair at the shifted point."""
        return sampled_delta(self.base, self.rate, self.direction, epsilon)
