"""Exact composition of few atoms: all joint losses, listed."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hush.privacy.duality import crossing, crossing_lower
from hush.privacy.pld.discrete_loss import AtomsLoss
from hush.privacy.pld.loss_distribution import Bracket
from hush.privacy.rounding import ULP, Floats

if TYPE_CHECKING:
    from hush.privacy.curve import Components

_MOST = 20_000
_MOST_STEPS = 64


class Enumeration:
    """Joint losses and masses of a composition, equal losses put together.

    Losses closer than a tolerance are merged; every answer allows for it on both sides.
    """

    def __init__(
        self, losses: Floats, masses: Floats, infinite: float, blur: float
    ) -> None:
        self.losses, self.masses = losses, masses
        self.infinite, self.blur = infinite, blur

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """Bracket the sum of the non-negative gains."""
        epsilon = np.asarray(epsilon, dtype=np.float64)[..., None]
        slack = 64 * ULP + self.losses.size * ULP
        low = (
            -np.expm1(np.minimum(epsilon + self.blur - self.losses, 0.0)) @ self.masses
        )
        high = (
            -np.expm1(np.minimum(epsilon - self.blur - self.losses, 0.0)) @ self.masses
        )
        low, high = low + self.infinite, high + self.infinite
        return low * (1 - slack), np.minimum(high * (1 + slack), 1.0)

    def epsilon(self, delta: float) -> tuple[float, float]:
        """Bracket the smallest ε >= 0 with this δ."""
        low = crossing_lower(lambda e: float(self._end(e)[0]), delta)
        return low, crossing(lambda e: float(self._end(e)[1]), delta)

    def _end(self, epsilon: float) -> Bracket:
        if np.isinf(epsilon):
            infinite = np.asarray(self.infinite)
            return infinite * (1 - 64 * ULP), infinite * (1 + 64 * ULP)
        return self.delta(epsilon)


def enumerate_losses(components: "Components") -> Enumeration | None:
    """Return the joint law, or None where it has too many outcomes."""
    steps = sum(times for _, times in components)
    atoms = [law for law, _ in components if isinstance(law, AtomsLoss)]
    if len(atoms) < len(components) or steps > _MOST_STEPS:
        return None
    spans = [max(map(abs, law.losses), default=0.0) for law in atoms]
    span = sum(s * times for s, (_, times) in zip(spans, components, strict=True))
    tolerance = 1e-14 * span or 1e-300
    losses, masses, log_finite = np.zeros(1), np.ones(1), 0.0
    for law, (_, times) in zip(atoms, components, strict=True):
        each = np.array(law.losses)
        weight = np.exp(np.array(law.log_probabilities))
        for _ in range(times):
            if losses.size * each.size > 4 * _MOST:
                return None
            sums = np.add.outer(losses, each).ravel()
            joint = np.multiply.outer(masses, weight).ravel()
            keys, at = np.unique(np.round(sums / tolerance), return_inverse=True)
            losses = keys * tolerance
            masses = np.bincount(at, weights=joint).astype(np.float64)
            # A product of 1 - δ would forget a δ of 1e-17.
            log_finite += _log_rest(law.infinite_mass)
            if losses.size > _MOST:
                return None
    blur = (steps + 1) * tolerance * 2 + 8 * ULP * span
    return Enumeration(losses, masses, abs(math.expm1(log_finite)), blur)


def _log_rest(mass: float) -> float:
    return math.log1p(-mass) if mass < 1 else -math.inf
