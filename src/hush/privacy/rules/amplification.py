"""Amplification by sampling: a secret sample hides most people at no cost."""

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hush import checks
from hush.privacy.curve import Bracket, Curve, Direction
from hush.privacy.notions.approx import Approx
from hush.privacy.rounding import ULP, Floats, total_up, up

if TYPE_CHECKING:
    from hush.privacy.curve import Components
    from hush.privacy.pld.loss_distribution import LossLaw


def amplified(epsilon: float, rate: float) -> float:
    """Return log(1 + rate (e^ε - 1)), the ε of an ε-DP mechanism on a sample, tight."""
    epsilon = checks.real("epsilon", epsilon, at_least=0)
    rate = checks.real("rate", rate, at_least=0, at_most=1)
    if epsilon > 30:
        return min(epsilon, float(up(epsilon + math.log(rate + math.exp(-epsilon)))))
    return float(up(math.log1p(rate * math.expm1(epsilon))))


def amplified_approx(epsilon: float, delta: float, rate: float) -> Approx:
    """Return (log(1 + q(e^ε - 1)), qδ): sampling an (ε, δ)-private mechanism.

    Example:
        >>> amplified_approx(1.0, 1e-6, rate=0.5)
        Approx(epsilon=0.62011450695827..., delta=5e-07)

    Reference: [BBG18] Theorem 8 (N11.1).
    """
    delta = checks.real("delta", delta, at_least=0, below=1)
    rate = checks.real("rate", rate, at_least=0, at_most=1)
    shared = total_up([Fraction(delta) * Fraction(rate)])
    return Approx(amplified(epsilon, rate), shared)


def amplified_loose(rate: float) -> tuple[float, float]:
    """Return ((e-1)q, 2q), the textbook bounds for a 1-DP mechanism, for comparison."""
    rate = checks.real("rate", rate, at_least=0, at_most=1)
    return math.expm1(1.0) * rate, 2.0 * rate


def thinned(
    curve: Curve, rate: float, direction: Direction, epsilon: Floats
) -> Bracket:
    """Bracket the hockey-stick after mixing: (1-q)Q + qP against Q, or the reverse.

    remove: q δ(log(1 + (e^ε - 1)/q))
    add: r δ(ε + log(q/r)), r = q - (1-q)(e^ε - 1).

    Reference: [BBG18] Theorem 2; [ZDW22] Theorem 11 (N14.T3).
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if direction is Direction.REMOVE:
            # For large ε the 1 no longer counts.
            at = np.where(
                epsilon > 30,
                epsilon - math.log(rate),
                np.log1p(np.expm1(epsilon) / rate),
            )
            factor = np.full(epsilon.shape, rate)
            shake = 4 * ULP * (1 + np.abs(at))
        else:
            factor = rate - (1 - rate) * np.expm1(epsilon)
            at = np.where(factor > 0, epsilon + math.log(rate) - np.log(factor), np.inf)
            lost = rate / np.maximum(factor, 1e-300)
            shake = 8 * ULP * (1 + np.abs(epsilon) + np.where(factor > 0, lost, 0.0))
    there = np.isfinite(at)
    safe = np.where(there, at, 0.0)
    low = np.asarray(curve.profile(direction, safe + shake)[0])
    high = np.asarray(curve.profile(direction, np.maximum(safe - shake, 0.0))[1])
    # Mass at infinite loss stays, scaled, in the remove direction only.
    end = curve.profile(direction, np.full(epsilon.shape, np.inf))
    scale = np.maximum(factor, 0.0)
    noise = 8 * ULP * (1 + np.where(factor > 0, rate / np.maximum(factor, 1e-300), 0.0))
    beyond = rate if direction is Direction.REMOVE else 0.0
    return (
        np.where(there, scale * low * np.maximum(1 - noise, 0.0), beyond * end[0]),
        np.where(there, np.minimum(scale * high * (1 + noise), 1.0), beyond * end[1]),
    )


class Amplified(Curve):
    """A mechanism on a secret sample: what all ways of sampling share."""

    base: Curve

    @property
    @abstractmethod
    def _rate(self) -> float:
        """The share of people in a sample."""

    @abstractmethod
    def _laws(self, law: "LossLaw") -> "tuple[LossLaw, LossLaw] | None":
        """Return the loss laws of both directions for a base of one law, if known."""

    def _epsilon(self, delta: float) -> float:
        if delta == 0.0:
            top = float(self.base.epsilon_at(0.0))
            return amplified(top, self._rate) if math.isfinite(top) else math.inf
        return super()._epsilon(delta)

    @cached_property
    def rho(self) -> float:
        """A sampled mechanism keeps the ρ of its base; no smaller one is proven."""
        return self.base.rho

    @cached_property
    def mu(self) -> float:
        """A sampled mechanism keeps the μ of its base; no smaller one is proven."""
        return self.base.mu

    def components(self) -> "tuple[Components, Components]":
        """Return the loss laws of both directions, or a pair from dots."""
        return self._sampled(self.base.components()[0]) or super().components()

    def components_lower(self) -> "tuple[Components, Components]":
        """Return the same from below."""
        found = self._sampled(self.base.components_lower()[0])
        return found or super().components_lower()

    def _sampled(self, parts: "Components") -> "tuple[Components, Components] | None":
        if len(parts) != 1 or parts[0][1] != 1:  # a composition is no single law
            return None
        found = self._laws(parts[0][0])
        return found and (((found[0], 1),), ((found[1], 1),))
