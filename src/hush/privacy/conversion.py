"""From Rényi divergences to (ε, δ): the best that one order at a time allows.

All pairs with D_α(P||Q) <= r have hockey-stick at most sup {p - γq : G(p, q) <= M} with
G(p, q) = p^α q^(1-α) + (1-p)^α (1-q)^(1-α), M = e^((α-1)r), γ = e^ε (two outcomes
suffice). G is convex, so planes below it, touching where the ratios are u and t = wu,
give for every w in [0, 1), with u = γ α/(α-1) (1-w^(α-1))/(1-w^α),

    δ <= u^(1-α) (M - αt^(α-1) + (α-1)t^α) / (α (1-w^(α-1))),

and strong duality makes the best w exact. At w = 0 it is the bound of [CKS20].
"""

import math
from collections.abc import Callable

import numpy as np

from hush.privacy.rounding import ULP, Floats

Renyi = Callable[[Floats], Floats]

ORDERS = 1 + np.geomspace(1e-4, 1e6, 200)
_SHIFTS = np.concatenate([np.geomspace(1e-5, 60, 45), [np.inf]])


def log_delta(
    order: Floats, divergence: Floats, epsilon: Floats, shift: Floats
) -> Floats:
    """Return log of the bound above at t ≈ e^-shift, rounded up; all broadcast."""
    s = order - 1
    with np.errstate(all="ignore"):
        v = epsilon - np.log1p(-1 / order) + shift  # w = e^-v
        narrow = -np.expm1(-s * v)
        log_u = epsilon - np.log1p(-1 / order) + np.log(narrow / -np.expm1(-order * v))
        x = log_u - v  # log t
        power = np.exp(s * x)
        rest = -np.expm1(s * x) + power * s * np.expm1(x)
        rest = np.where(np.isinf(v), 1.0, np.maximum(rest, 0.0))
        rest += (
            16 * ULP * (np.abs(s * x) * power + power * s * np.abs(x)) * np.isfinite(v)
        )
        grown = s * divergence
        moment = np.where(
            grown > 40,
            grown + np.log1p(rest * np.exp(-grown)),
            np.log(np.expm1(grown) + rest),
        )
        found = moment - s * log_u - np.log(order) - np.log(narrow)
        slack = 16 * ULP * (np.abs(grown) + np.abs(s * log_u) + np.abs(moment) + 4)
    return np.where(np.isnan(found), np.inf, np.minimum(found + slack, 0.0))


def delta(renyi: Renyi, orders: Floats, epsilon: Floats, *, polish: bool) -> Floats:
    """Return the smallest δ over orders and planes found, for each ε; any is sound."""
    flat = np.atleast_1d(np.asarray(epsilon, dtype=np.float64)).ravel()[:, None]
    known = renyi(orders)
    orders, known = orders[np.isfinite(known)], known[np.isfinite(known)]
    if orders.size == 0:
        return np.ones(np.shape(epsilon))
    rows = np.arange(flat.shape[0])
    shift = np.full_like(flat, np.inf)
    best = np.zeros(flat.shape[0])
    for _ in range(3):
        table = log_delta(orders, known, flat, shift)
        pick = table.argmin(axis=1)
        order, divergence = orders[pick][:, None], known[pick][:, None]
        planes = log_delta(order, divergence, flat, _SHIFTS)
        shift = _SHIFTS[planes.argmin(axis=1)][:, None]
        best = np.minimum(best, np.minimum(planes.min(axis=1), table[rows, pick]))
    if polish:
        for i in range(flat.shape[0]):
            best[i] = min(
                best[i], _polish(renyi, orders, flat[i, 0], pick[i], shift[i, 0])
            )
    # Underflow must not turn an unbounded loss into a bounded one.
    result = np.minimum(np.exp(best) * (1 + 4 * ULP) + 5e-324, 1.0)
    result[np.isinf(flat[:, 0])] = 0.0
    return result.reshape(np.shape(epsilon))


def _polish(
    renyi: Renyi, orders: Floats, epsilon: float, at: int, shift: float
) -> float:
    """Zoom in on the best order and plane around the best of the grid."""
    low, high = (
        math.log(orders[max(at - 1, 0)] - 1),
        orders[min(at + 1, orders.size - 1)],
    )
    high = math.log(high - 1)
    plane = math.log(shift) if math.isfinite(shift) else math.log(60.0)
    spread, best, here = 0.4, 0.0, np.asarray(epsilon)
    for _ in range(6):
        s = np.linspace(low, high, 9)
        order = 1 + np.exp(s)
        shifts = np.exp(plane + spread * np.linspace(-1, 1, 9))
        table = log_delta(order[:, None], renyi(order)[:, None], here, shifts)
        i, j = np.unravel_index(int(table.argmin()), table.shape)
        best = min(best, float(table[i, j]))
        width = (high - low) / 6
        low, high = s[i] - width, s[i] + width
        plane, spread = math.log(shifts[j]), spread / 2.5
    return best


def classical_epsilon(renyi: Renyi, orders: Floats, delta: float) -> float:
    """Return min over orders of r(α) + log(1/δ)/(α-1), the textbook conversion."""
    if delta <= 0:
        return math.inf
    found = renyi(orders) + math.log(1 / delta) / (orders - 1)
    return max(0.0, float(np.min(found)) * (1 + 8 * ULP))
