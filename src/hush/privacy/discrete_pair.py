"""A finite pair of laws: the form into which every guarantee can be bracketed.

A pair (P, Q) on finitely many outcomes is a list of loss values log P/Q with their
masses, and two masses that only one law has. Its hockey-stick profile is a polygon in
e^ε, so a polygon above a profile is a pair that dominates it, and a polygon below one
is a pair that it dominates (the construction behind every valid privacy profile).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from hush.errors import InvalidArgument
from hush.privacy.rounding import ULP, Floats, up

# More than the rounding of a sum of a few thousand positive terms.
GUARD = 1e-13


@final
@dataclass(frozen=True, eq=False)
class Atoms:
    """Losses log P/Q in ascending order, P's mass on each, and the one-sided masses.

    Example:
        >>> float(Atoms.of([0.75, 0.25], [0.25, 0.75]).hockey(0.0))
        0.5
    """

    losses: Floats
    masses: Floats
    p_only: float = 0.0
    q_only: float = 0.0

    @classmethod
    def of(cls, p: ArrayLike, q: ArrayLike) -> "Atoms":
        """Return the pair of two probability vectors over the same outcomes."""
        p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
        if p.ndim != 1 or p.shape != q.shape:
            raise InvalidArgument(
                f"p and q must list the same outcomes; got shapes {p.shape}, {q.shape}."
            )
        common = (p > 0) & (q > 0)
        losses = np.log(p[common]) - np.log(q[common])
        order = np.argsort(losses, kind="stable")
        return cls(
            losses[order],
            p[common][order],
            float(p[q == 0].sum()),
            float(q[p == 0].sum()),
        )

    @cached_property
    def reversed(self) -> "Atoms":
        """The pair (Q, P)."""
        return Atoms(
            -self.losses[::-1],
            (self.masses * np.exp(-self.losses))[::-1],
            self.q_only,
            self.p_only,
        )

    def hockey(self, epsilon: ArrayLike) -> Any:
        """Return E_Q[(P/Q - e^ε)+], a sum of non-negative terms only."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        flat = np.atleast_1d(epsilon).ravel()
        result = np.full(flat.shape, self.p_only)
        block = max(1, 2_000_000 // max(1, self.losses.size))
        for start in range(0, flat.size, block):
            part = flat[start : start + block, None]
            # -expm1(ε - loss) where loss > ε, so that nothing cancels.
            gain = -np.expm1(np.minimum(part - self.losses, 0.0))
            result[start : start + block] += gain @ self.masses
        return result.reshape(epsilon.shape)[()]

    def divergence(self, slopes: tuple[float, float], terms: Floats) -> float:
        """Return Σ Q·F(P/Q) with F's values `terms` and its (F(0), F(t)/t at ∞)."""
        q = self.masses * np.exp(-self.losses)
        total = float(q @ terms)
        for mass, slope in ((self.q_only, slopes[0]), (self.p_only, slopes[1])):
            total += mass * slope if mass > 0 else 0.0
        return total

    def log_moment(self, order: float) -> float:
        """Return log E_P[e^((order-1) L)] (order > 1); infinite with one-sided mass."""
        if self.p_only > 0:
            return float("inf")
        exponent = np.log(self.masses) + (order - 1) * self.losses
        top = float(exponent.max(initial=-np.inf))
        if not np.isfinite(top):
            return top
        return top + float(np.log(np.exp(exponent - top).sum()))

    def kl(self) -> float:
        """Return E_P[L], as a sum of non-negative terms (t log t - t + 1 form)."""
        if self.p_only > 0:
            return float("inf")
        # p(L + e^-L - 1) >= 0 each; the correction adds back 1 - Q(common) = q_only.
        x = self.losses
        return float(self.masses @ (x + np.expm1(-x))) + self.q_only

    @cached_property
    def power(self) -> tuple[Floats, Floats]:
        """Corners (Q mass, P mass) of the best tests, from the highest loss down."""
        q = (self.masses * np.exp(-self.losses))[::-1]
        x = np.concatenate([[0.0], np.cumsum(q)])
        y = self.p_only + np.concatenate([[0.0], np.cumsum(self.masses[::-1])])
        return np.append(np.minimum(x, 1.0), 1.0), np.append(np.minimum(y, 1.0), 1.0)


def _hull(epsilon: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return the lower convex hull in e^ε of the points (ε, value)."""
    keep: list[int] = []
    for j in range(epsilon.size):
        while len(keep) >= 2:
            i, k = keep[-2], keep[-1]
            # Point k is a corner when it lies below the chord from i to j.
            share = np.expm1(epsilon[k] - epsilon[i]) / np.expm1(
                epsilon[j] - epsilon[i]
            )
            if values[k] < values[i] + share * (values[j] - values[i]):
                break
            keep.pop()
        keep.append(j)
    return epsilon[keep], values[keep]


def _side(epsilon: Floats, values: Floats) -> tuple[Floats, Floats, float]:
    """Return the losses, P masses and P-only mass of a convex polygon, ε from 0 up."""
    if epsilon.size == 1:
        return epsilon[:0], values[:0], float(values[0])
    step, drop = np.diff(epsilon), -np.diff(values)
    before = drop / -np.expm1(-step)
    after = np.append((drop / np.expm1(step))[1:], 0.0)
    mass = np.maximum(before - after, 0.0)
    keep = mass > 0
    return epsilon[1:][keep], mass[keep], float(values[-1])


def corners_of(
    epsilon: Floats, values: Floats
) -> tuple[tuple[Floats, Floats, float], Floats]:
    """Return one side through a profile's corners, and how far it falls short there.

    The quotients of what was wanted and what sums of its masses reach are near 1.
    """
    knots, corners = _hull(epsilon, values)
    side = _side(knots, corners)
    reached = Atoms(side[0], side[1], side[2]).hockey(knots[:-1])
    short = corners[:-1] / np.maximum(reached, 5e-324)
    return side, short[corners[:-1] > 0]


def pair_of_sides(
    upper: tuple[Floats, Floats, float],
    lower: tuple[Floats, Floats, float],
    scale: float,
) -> Atoms:
    """Return the pair with positive losses `upper` and, reversed, `lower`."""
    (x, p, p_only), (y, q, q_only) = upper, lower
    p, q, p_only, q_only = p * scale, q * scale, p_only * scale, q_only * scale
    neutral = 1.0 - p.sum() - (q * np.exp(-y)).sum() - p_only
    if neutral < 0:  # only by rounding, or because `scale` asked for more than there is
        neutral = 0.0
    middle = ([0.0], [neutral]) if neutral > 0 else ([], [])
    losses = np.concatenate([-y[::-1], middle[0], x])
    masses = np.concatenate([(q * np.exp(-y))[::-1], middle[1], p])
    return Atoms(losses, masses, p_only, q_only)


def above(epsilon: Floats, forward: Floats, backward: Floats) -> Atoms:
    """Return a pair that dominates any pair with hockey-sticks at most these values.

    `epsilon` rises from 0; `forward` bounds H(P||Q) and `backward` H(Q||P) from above.
    Guarantee: the polygon through the values lies above a convex profile.

    Reference: [ZDW22] Proposition 8; connect-the-dots of [DGKKM22].
    """
    total = min(1.0, max(forward[0], backward[0]))
    # The chord across γ = 1, where H(P||Q) at 1/γ is (H(Q||P) at γ + γ - 1)/γ.
    small = np.exp(-epsilon[1:])
    # 1 - small keeps its digits: δ may be as small as the ε at which the chord ends.
    across = (small * (forward[1:] + backward[1:]) - np.expm1(-epsilon[1:])) / (
        1 + small
    )
    total = min(total, float(across.min(initial=1.0)) * (1 + 16 * ULP))
    sides, scale = [], 1.0
    for values in (forward, backward):
        values = np.minimum.accumulate(np.append(total, np.minimum(values[1:], total)))
        side, short = corners_of(epsilon, values)
        scale = max(scale, float(short.max(initial=1.0)))
        sides.append(side)
    return pair_of_sides(sides[0], sides[1], scale * (1 + GUARD))


def _vertices(epsilon: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return corners of a polygon below a convex function bracketed at the knots."""
    points = [(epsilon[j], low[j]) for j in range(epsilon.size)]
    for j in range(1, epsilon.size - 1):
        end = np.exp(epsilon[j + 1] - epsilon[j])
        # Chords of a convex function, drawn on beyond their ends, lie below it.
        left = (low[j] - high[j - 1]) / -np.expm1(epsilon[j - 1] - epsilon[j])
        right = 0.0
        if j + 2 < epsilon.size:
            right = (low[j + 1] - high[j + 2]) / np.expm1(
                epsilon[j + 2] - epsilon[j + 1]
            )
            right = max(right / end, 0.0)
        if left + right >= 0:
            continue
        x = 1 + (low[j + 1] - low[j] + right * (end - 1)) / (left + right)
        if 1 < x < end:
            points.append((epsilon[j] + np.log(x), low[j] + left * (x - 1)))
    points.sort()
    array = np.array(points)
    return array[:, 0], np.maximum(array[:, 1], 0.0)


def _start(epsilon: Floats, low: Floats, high: Floats) -> float:
    """Return the second cell's chord drawn on to ε = 0, where it lies below."""
    if epsilon.size < 3:
        return float(low[1])
    fall = max((low[1] - high[2]) / np.expm1(epsilon[2] - epsilon[1]), 0.0)
    return float(low[1] - fall * np.expm1(-epsilon[1]))


def below(
    epsilon: Floats, forward: tuple[Floats, Floats], backward: tuple[Floats, Floats]
) -> Atoms:
    """Return a pair dominated by every pair whose hockey-sticks lie in these brackets.

    `forward` and `backward` are (lower, upper) at the knots `epsilon`, which rise from
    0.
    """
    # Both sides meet at γ = 1: a value there that each side's slope supports.
    total = min(forward[0][0], backward[0][0])
    total = min(total, _start(epsilon, *forward), _start(epsilon, *backward))
    sides = []
    for low, high in (forward, backward):
        low = np.minimum.accumulate(np.append(total, np.minimum(low[1:], total)))
        knots, corners = _vertices(epsilon, low, high)
        fall = (high[-2] - low[-1]) / -np.expm1(epsilon[-2] - epsilon[-1])
        if corners[-1] > 0 and fall > 0:
            # Beyond the last knot only the last chord and zero bound it from below.
            knots = np.append(knots, knots[-1] + np.log1p(corners[-1] / fall) + 1e-300)
            corners = np.append(corners, 0.0)
        sides.append(_side(*_hull(knots, corners)))
    (_, p, p_only), (y, q, _) = sides
    mass = float(p.sum() + (q * np.exp(-y)).sum() + p_only)
    return pair_of_sides(
        sides[0], sides[1], (1 - GUARD) * min(1.0, 1.0 / max(mass, 1e-300))
    )


def reduced_delta(epsilon_0: float, delta_0: float, epsilon: Floats) -> Floats:
    """Return the hockey-stick of that pair: δ₀ + (1-δ₀)(e^ε₀ - e^ε)/(1 + e^ε₀).

    To eight roundings.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        gain = -np.expm1(np.minimum(epsilon - epsilon_0, 0.0)) / (
            1 + np.exp(-epsilon_0)
        )
        if math.isinf(epsilon_0):
            gain = np.ones_like(epsilon)
    return np.asarray(delta_0 + (1 - delta_0) * gain)


def randomized_response(epsilon: float, delta: float = 0.0) -> Atoms:
    """Return the pair to which every (ε, δ)-private pair reduces by processing.

    Reference: [KOV15] Theorem 3.1.
    """
    kept = 1.0 - delta
    large = kept / (1.0 + math.exp(-epsilon))
    small = kept * math.exp(-epsilon) / (1.0 + math.exp(-epsilon))
    if epsilon == 0.0:
        return Atoms(np.zeros(1), np.array([kept]), delta, delta)
    return Atoms(np.array([-epsilon, epsilon]), np.array([small, large]), delta, delta)


def reduced_tradeoff(epsilon: float, delta: float, alpha: Floats) -> Floats:
    """Return f_{ε,δ}(α) = max(0, 1-δ-e^ε α, e^-ε (1-δ-α)), rounded down.

    Reference: [WZ10]; [KOV15] (N13.rem3, N3.4).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        steep = np.where(alpha == 0, 1 - delta, 1 - delta - np.exp(epsilon) * alpha)
        flat = np.exp(-epsilon) * (1 - delta - alpha)
    found = np.maximum(steep, flat) - 1e-15 * np.abs(flat) - 2.3e-16
    return np.asarray(np.maximum(found, 0.0))


def pure_epsilon(
    epsilon_0: float, delta_0: float, delta: float, *, side: object
) -> float:
    """Return ε with reduced hockey-stick δ, in closed form, rounded by `side`."""
    if delta < delta_0:
        return math.inf
    if delta == delta_0 or math.isinf(epsilon_0):
        return epsilon_0 if delta < 1 else 0.0
    # 1 - e^(ε-ε₀) = (δ-δ₀)/(1-δ₀) · (1+e^-ε₀)
    share = (delta - delta_0) / (1 - delta_0) * (1 + math.exp(-epsilon_0))
    if share >= 1:
        return 0.0
    found = epsilon_0 + math.log1p(-share)
    slack = 8 * 2.0**-52 * (epsilon_0 + share / (1 - share))
    found = found + slack if side is up else found - slack
    return min(max(found, 0.0), epsilon_0)
