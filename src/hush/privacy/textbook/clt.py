"""The central limit theorem of privacy: many small losses look Gaussian."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy
from numpy.typing import ArrayLike

from hush.errors import InvalidArgument, NoBound
from hush.privacy.curve import Curve, checked_curve, checked_curves
from hush.privacy.notions.gdp import GDP
from hush.privacy.rounding import numbers, scalar


def _gaussian(mu: float, alpha: Any) -> Any:
    return scipy.special.ndtr(-scipy.special.ndtri(np.clip(alpha, 0.0, 1.0)) - mu)


@final
@dataclass(frozen=True)
class Limit:
    """The Gaussian limit of a composition: an estimate, not a curve, never charged.

    `gamma` is the Berry-Esseen error; the composed tradeoff function lies between
    G_μ(α+γ) - γ and G_μ(α-γ) + γ up to the rounding of the moments.
    """

    mu: float
    gamma: float

    def tradeoff_estimate(self, alpha: ArrayLike) -> Any:
        """Return G_μ(α)."""
        return scalar(_gaussian(self.mu, numbers("alpha", alpha, at_most=1.0)))

    def tradeoff_bracket(self, alpha: ArrayLike) -> tuple[Any, Any]:
        """Return G_μ(α+γ) - γ and G_μ(α-γ) + γ, for α in [γ, 1-γ]."""
        alpha = numbers("alpha", alpha, at_most=1.0)
        low = np.maximum(_gaussian(self.mu, alpha + self.gamma) - self.gamma, 0.0)
        high = np.minimum(_gaussian(self.mu, alpha - self.gamma) + self.gamma, 1.0)
        return scalar(low), scalar(high)

    def delta_estimate(self, epsilon: ArrayLike) -> Any:
        """Return the δ of μ-GDP."""
        return GDP(mu=self.mu).delta_at(epsilon)

    def epsilon_estimate(self, delta: ArrayLike) -> Any:
        """Return the ε of μ-GDP."""
        return GDP(mu=self.mu).epsilon_at(delta)


def functionals(curve: Curve) -> tuple[float, float, float]:
    """Return kl, κ₂ and the centered κ₃ of a curve: moments of its loss."""
    pair = curve.atoms_above
    if pair.p_only > 1e-12:
        raise NoBound(
            f"{curve!r} has infinite loss with chance {pair.p_only:.3g}; the central "
            "limit theorem needs three moments."
        )
    mean = float(pair.masses @ pair.losses)
    square = float(pair.masses @ pair.losses**2)
    cube = float(pair.masses @ np.abs(pair.losses - mean) ** 3)
    return mean, square, cube


def clt(curves: Sequence[Curve]) -> Limit:
    """Return the Gaussian limit of a composition and its Berry-Esseen error.

    Example:
        >>> from hush.privacy import Pure
        >>> limit = clt([Pure(epsilon=0.02)] * 2500)
        >>> f"{limit.mu:.4f} {limit.gamma:.4f}"
        '1.0000 0.0112'

    Reference: [DRS22] Theorem 3.4 (N13.T5, N13.T6).
    """
    if not checked_curves("curves", curves):
        raise InvalidArgument("curves must not be empty.")
    for each in curves:
        if not checked_curve("each part", each).symmetric:
            raise NoBound(
                f"{each!r} differs between add and remove; the theorem is proven for "
                "symmetric curves. Use compose."
            )
    counts: dict[Curve, int] = {}
    for each in curves:
        counts[each] = counts.get(each, 0) + 1
    known = [(functionals(each), times) for each, times in counts.items()]
    kl = math.fsum(k * m[0] for m, k in known)
    variance = math.fsum(k * (m[1] - m[0] ** 2) for m, k in known)
    third = math.fsum(k * m[2] for m, k in known)
    if variance <= 0:
        return Limit(0.0, 0.0)
    return Limit(2 * kl / math.sqrt(variance), 0.56 * third / variance**1.5)
