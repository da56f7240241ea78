"""From Rényi divergences to (ε, δ): the best that one order at a time allows.

All pairs with D_α(P||Q) <= r have hockey-stick at most sup {p - γq : G(p, q) <= M} with
G(p, q) = p^α q^(1-α) + (1-p)^α (1-q)^(1-α), M = e^((α-1)r), γ = e^ε (two outcomes
suffice). G is convex, so planes below it, touching where the ratios are u and t = wu,
give for every w in [0, 1), with u = γ α/(α-1) (1-w^(α-1))/(1-w^α),

    δ <= u^(1-α) (M - αt^(α-1) + (α-1)t^α) / (α (1-w^(α-1))),

and strong duality makes the best w exact, but for r >= ε + log(α/(α-1)), where p = 1 is
best. At w = 0 it is the bound of [CKS20].
"""

import math
from collections.abc import Callable

import numpy as np

from hush.privacy.atoms import Atoms, above
from hush.privacy.rounding import ULP, Floats

Renyi = Callable[[Floats], Floats]

ORDERS = 1 + np.geomspace(1e-4, 1e6, 401)
# Planes, by w = e^-v: v = v₀(1 + z) for z < 0 and v₀ + z above, v₀ = ε + log(α/(α-1)).
_SHIFTS = np.concatenate(
    [-1 + np.geomspace(1e-4, 0.98, 24), [0.0], np.geomspace(0.02, 60, 26), [np.inf]]
)


def log_delta(
    order: Floats, divergence: Floats, epsilon: Floats, shift: Floats
) -> Floats:
    """Return log of the bound above on the plane `shift`, rounded up."""
    s = order - 1
    with np.errstate(all="ignore"):
        base = epsilon - np.log1p(-1 / order)
        v = np.where(shift < 0, base * (1 + shift), base + np.maximum(shift, 0.0))
        narrow = -np.expm1(-s * v)
        log_u = base + np.log(narrow / -np.expm1(-order * v))
        x = log_u - v  # log t
        power = np.exp(s * x)
        rest = -np.expm1(s * x) + power * s * np.expm1(x)
        rest = np.where(np.isinf(v), 1.0, np.maximum(rest, 0.0))
        blur = 16 * ULP * power * s * np.abs(x)
        rest += np.where(np.isinf(v), 0.0, 2 * blur)
        grown = s * divergence
        moment = np.where(
            grown > 40,
            grown + np.log1p(rest * np.exp(-grown)),
            np.log(np.expm1(grown) + rest),
        )
        found = moment - s * log_u - np.log(order) - np.log(narrow)
        slack = 16 * ULP * (np.abs(grown) + np.abs(s * log_u) + np.abs(moment) + 4)
        # Where the best p is 1, q = e^-r: the bound is 1 - e^(ε-r).
        corner = np.log(-np.expm1(epsilon - divergence)) + 8 * ULP
        found = np.where(
            divergence >= base, np.fmin(found + slack, corner), found + slack
        )
    return np.where(np.isnan(found), np.inf, np.minimum(found, 0.0))


def delta(renyi: Renyi, orders: Floats, epsilon: Floats, *, smooth: bool) -> Floats:
    """Return the smallest δ over orders and planes found, for each ε; any is sound.

    `smooth` allows orders between those listed; `renyi` then takes arrays cheaply.
    """
    flat = np.atleast_1d(np.asarray(epsilon, dtype=np.float64)).ravel()
    known = renyi(orders)
    orders, known = orders[np.isfinite(known)], known[np.isfinite(known)]
    best = np.zeros(flat.size)
    block = 256
    for start in range(0, flat.size, block):
        part = flat[start : start + block, None]
        best[start : start + block] = _search(renyi, orders, known, part, smooth=smooth)
    # Underflow must not turn an unbounded loss into a bounded one.
    result = np.minimum(np.exp(best) * (1 + 4 * ULP) + 5e-324, 1.0)
    result[np.isinf(flat)] = 0.0 if orders.size else 1.0
    return result.reshape(np.shape(epsilon))


def _search(
    renyi: Renyi, orders: Floats, known: Floats, epsilon: Floats, *, smooth: bool
) -> Floats:
    """Return log δ for a column of ε: orders and planes in turn, then both closer."""
    rows = np.arange(epsilon.shape[0])
    if orders.size == 0:
        return np.zeros(rows.size)
    best, at, plane = np.zeros(rows.size), np.zeros(rows.size, dtype=int), 60.0 + rows
    for start in (
        np.inf,
        -0.95,
    ):  # the best plane is far out for small δ, near for large
        shift = np.full_like(epsilon, start)
        for _ in range(3):
            table = log_delta(orders, known, epsilon, shift)
            pick = table.argmin(axis=1)
            planes = log_delta(
                orders[pick][:, None], known[pick][:, None], epsilon, _SHIFTS
            )
            shift = _SHIFTS[planes.argmin(axis=1)][:, None]
        found = planes.min(axis=1)
        better = found <= best
        at, plane = np.where(better, pick, at), np.where(better, shift[:, 0], plane)
        best = np.minimum(np.minimum(best, found), table[rows, pick])
    order, divergence = orders[at][:, None], known[at][:, None]
    # Log distance between neighboring orders, then zoom by 2.5 a time.
    reach = math.log((orders[-1] - 1) / (orders[0] - 1)) / max(orders.size - 1, 1)
    centre, plane, spread = np.log(order - 1), np.minimum(plane, 60.0)[:, None], 0.3
    offsets = np.linspace(-1, 1, 7)
    for _ in range(7):
        near = 1 + np.exp(centre + reach * offsets) if smooth else order
        values = renyi(near) if smooth else divergence
        size = spread * np.where(plane < 0, 1 + plane, 0.1 + plane)
        shifts = np.maximum(plane + size * offsets, -1 + 1e-9)
        cube = log_delta(
            near[:, :, None],
            values[:, :, None],
            epsilon[:, :, None],
            shifts[:, None, :],
        )
        i, j = np.unravel_index(
            cube.reshape(rows.size, -1).argmin(axis=1), cube.shape[1:]
        )
        best = np.minimum(best, cube[rows, i, j])
        centre = np.log(near[rows, i] - 1)[:, None]
        plane = shifts[rows, j][:, None]
        reach, spread = reach / 2.5, spread / 2.5
    return best


def hull(renyi: Renyi, *, smooth: bool) -> Atoms:
    """Return a pair above the convex hull of the bound.

    True profiles are convex in e^ε, but the best order at each ε need not give a convex
    bound: chords between good points are sound as well, and better.
    """
    top = min(classical_epsilon(renyi, ORDERS, 1e-9), 500.0)
    knots = (
        np.append(0.0, np.geomspace(1e-3 * top, top, 60)) if top > 0 else np.zeros(1)
    )
    values = delta(renyi, ORDERS, knots, smooth=smooth)
    return above(knots, values, values)


def classical_epsilon(renyi: Renyi, orders: Floats, delta: float) -> float:
    """Return min over orders of r(α) + log(1/δ)/(α-1), the textbook conversion."""
    if delta <= 0:
        return math.inf
    found = renyi(orders) + math.log(1 / delta) / (orders - 1)
    return max(0.0, float(np.min(found)) * (1 + 8 * ULP))
