"""Transfer: what is private about a sample is nearly true of the population."""

import math

import numpy as np
from scipy import special

from hush import checks
from hush.privacy.curve import Curve

_LOOSE = 2.0**-50  # covers the rounding of the few operations below


def overfit(curve: Curve, chance: float) -> float:
    """Return γ: how far a query that saw the sample privately can overfit it.

    People are independent; a conversation with their records has the replace-one
    guarantee `curve`. From its transcript somebody picks a mean query with scores in
    [0, 1], and an event of probability at least `chance`.

    Guarantee: given the event, the mean of the query over the sample exceeds its mean
    over the population by at most γ on average. With F = 1 - tradeoff, γ = 1 - 2a/p
    where a + F(a) = p = `chance`; γ = 1 says nothing.

    Example:
        >>> from hush.privacy import GDP, Pure
        >>> round(overfit(Pure(epsilon=0.2), 0.05), 4)  # tanh(ε/2)
        0.0997
        >>> round(overfit(GDP(mu=0.1), 0.05), 4)
        0.1165

    Reference: [JLNRSS20] for the idea; docs/proofs/holdout.md, theorem 1.
    """
    p = checks.real("chance", chance, above=0, at_most=1)
    # A point below the root errs upwards: so does a tradeoff bounded from below.
    low, high = 0.0, p / 2
    for _ in range(52):
        middle = (low + high) / 2
        power = 1 - float(curve.tradeoff_at(middle)) + _LOOSE
        low, high = (middle, high) if middle + power <= p else (low, middle)
    return min(1.0, (1 - 2 * low / p) * (1 + _LOOSE) + _LOOSE)


def gaussian_overfit_estimate(mu: np.ndarray, chance: float) -> np.ndarray:
    """Return γ of many GDP curves at once, unrounded: to choose noise, not to claim.

    Example:
        >>> gaussian_overfit_estimate(np.array([0.1]), 0.05).round(4)
        array([0.1165])
    """
    low, high = np.full_like(mu, -40.0), np.full_like(mu, 9.0)
    for _ in range(60):
        z = (low + high) / 2
        above = special.ndtr(z) + special.ndtr(z + mu) > chance
        low, high = np.where(above, low, z), np.where(above, z, high)
    return np.asarray(1 - 2 * special.ndtr(low) / chance)


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
    return 2 * k * density / p * (1 + 2.0**-40)


def noise_beyond(count: int, tail: float) -> tuple[float, float]:
    """Return z with 2·count·Q(z) = tail, and ∫_z^∞ 2·count·Q: for unequal noises."""
    z = -float(special.ndtri(tail / (2 * count)))
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    rest = 2 * count * density - z * tail
    return z * (1 + 2.0**-40), max(rest, 0.0) * (1 + 2.0**-40) + 1e-12 * tail
