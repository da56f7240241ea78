"""Transfer: what is private about a sample is nearly true of the population."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hush import checks
from hush.privacy import GDP, Approx, Pure
from hush.privacy.curve import Curve

_LOOSE = 1 + 2.0**-40  # covers the rounding of the few operations below
_CELLS = 400  # of a closed form; compositions are dearer and get fewer


def overfit(curve: Curve, chance: float) -> float:
    """Return γ: how far a query that saw the sample privately can overfit it.

    People are independent; a conversation with their records has the replace-one
    guarantee `curve`. From its transcript somebody picks a mean query with scores in
    [0, 1], and an event of probability at least `chance`.

    Guarantee: given the event, the mean of the query over the sample exceeds its mean
    over the population by at most γ on average; γ = 1 says nothing. For pure ε it is
    tanh(ε/4), which randomized response attains.

    Example:
        >>> from hush.privacy import GDP, Pure
        >>> round(overfit(Pure(epsilon=0.2), 0.05), 4)
        0.05
        >>> round(overfit(GDP(mu=0.1), 0.05), 4)
        0.0647

    Reference: docs/proofs/holdout.md, theorem 1.
    """
    p = checks.real("chance", chance, above=0, at_most=1)
    if isinstance(curve, GDP) and math.isfinite(curve.mu):
        corner = _gaussian_corner(curve.mu, p)
        far = np.geomspace(corner / 50, 30 + 9 * corner, _CELLS)
        return min(1.0, float(_bounds(curve, p, corner + np.append(0.0, far))[0]))
    # Around the loss that a tenth of the chance exceeds, and (ε, δ) in closed form.
    near = float(curve.epsilon_at(p / 10))
    losses = (near if 0 < near < 100 else 1.0) * np.geomspace(0.01, 10, 61)
    return min(1.0, _corner(curve, p), float(_bounds(curve, p, losses).min()))


def _corner(curve: Curve, chance: float) -> float:
    """Return the bound at the corner of an (ε, δ) guarantee, 1 for other curves."""
    if not isinstance(curve, (Approx, Pure)):
        return 1.0
    slope = math.tanh(float(curve.epsilon) / 4)
    delta = float(curve.delta) if isinstance(curve, Approx) else 0.0
    return (slope + (1 - slope) * delta / chance) * _LOOSE


def _bounds(curve: Curve, chance: float, losses: NDArray[Any]) -> NDArray[Any]:
    """Return λ + E[h(x)]/p for every corner: h(x) = (x - 1 - λ(1 + √x)²)+, x = dP/dQ.

    With the corner x0 = e^loss, λ = tanh(loss/4) makes h zero up to x0. It is convex,
    so its expectation is an integral of the profile δ against h″ >= 0:
    h′(x0)·δ(x0) + ∫ (λ/2)·y^(-3/2)·δ(log y) dy. As δ falls, a left sum is above it.
    Each corner gives a bound; a worse one is wider, never wrong.
    """
    delta = np.asarray(curve.delta_at(losses), dtype=np.float64)
    slope, root = np.tanh(losses / 4), np.append(np.exp(-losses / 2), 0.0)
    cells = (root[:-1] - root[1:]) * delta
    rest = np.cumsum(cells[::-1])[::-1] * slope
    first = (1 - slope * (1 + root[:-1])) * delta
    return np.asarray((slope + (first + rest) / chance) * _LOOSE)


def _gaussian_corner(mu: float, chance: float) -> float:
    """Return the loss at the edge of the worst event of a Gaussian pair."""
    z = float(_edge(np.array([mu]), chance)[0])
    return min(max(mu * z - mu * mu / 2, 1e-12), 700.0)


def _edge(mu: NDArray[Any], chance: float) -> NDArray[Any]:
    """Return z with ∫ (√dP + √dQ)² = chance beyond it, P and Q normals mu apart."""
    low, high = mu / 2, mu / 2 + 40.0
    for _ in range(60):
        z = (low + high) / 2
        both = 2 * np.exp(-mu * mu / 8) * special.ndtr(mu / 2 - z)
        above = special.ndtr(-z) + special.ndtr(mu - z) + both > chance
        low, high = np.where(above, z, low), np.where(above, high, z)
    return np.asarray(low)


def gaussian_overfit_estimate(mu: NDArray[Any], chance: float) -> NDArray[Any]:
    """Return γ of many GDP curves at once, unrounded: to choose noise, not to claim.

    Example:
        >>> gaussian_overfit_estimate(np.array([0.1]), 0.05).round(4)
        array([0.0647])
    """
    z = _edge(mu, chance)
    return np.asarray((special.ndtr(mu - z) - special.ndtr(-z)) / chance)


def worst_noise(queries: int, chance: float) -> float:
    """Return the mean of max |N_j| over its worst `chance`, for standard normals.

    Guarantee: E[max |N_j| given A] is no larger, for any event A of probability at
    least `chance`, whatever the dependence of the `queries` variables.

    Example:
        >>> round(worst_noise(1, 0.05), 4), round(worst_noise(100, 0.05), 4)
        (2.3378, 3.7332)

    Reference: docs/proofs/holdout.md, lemma 2.
    """
    k = checks.whole("queries", queries, at_least=1)
    p = checks.real("chance", chance, above=0, at_most=1)
    # P(max > u) <= 2kQ(u), which is `chance` at z; then z + ∫_z 2kQ / p = 2kφ(z)/p.
    z = -float(special.ndtri(p / (2 * k)))
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return 2 * k * density / p * _LOOSE


def noise_beyond(count: int, tail: float) -> tuple[float, float]:
    """Return z with 2·count·Q(z) = tail, and ∫_z^∞ 2·count·Q: for unequal noises."""
    z = -float(special.ndtri(tail / (2 * count)))
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    rest = 2 * count * density - z * tail
    return z * _LOOSE, max(rest, 0.0) * _LOOSE + 1e-12 * tail
