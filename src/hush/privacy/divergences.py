"""Divergences of two finite laws, and what bounds on the loss imply."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hush import checks
from hush.errors import InvalidArgument
from hush.privacy.approx import Approx
from hush.privacy.atoms import Atoms
from hush.privacy.curve import Curve


def _pair(p: Sequence[float], q: Sequence[float]) -> Atoms:
    for name, table in (("p", p), ("q", q)):
        values = np.asarray(table, dtype=np.float64)
        if np.any(~(values >= 0)) or abs(float(values.sum()) - 1) > 1e-9:
            raise InvalidArgument(f"{name} must be probabilities that add up to 1.")
    return Atoms.of(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))


def hockey_stick(p: Sequence[float], q: Sequence[float], epsilon: float) -> float:
    """Return E_Q[(P/Q - e^ε)+], the smallest δ with P(S) <= e^ε Q(S) + δ for all S.

    Example:
        >>> f"{hockey_stick([0.75, 0.25], [0.25, 0.75], 0.5):.6f}"
        '0.337820'

    Reference: [BO13]; [BBG18] Theorem 1 (N9.def, N9.1).
    """
    epsilon = checks.real("epsilon", epsilon)
    pair = _pair(p, q)
    if epsilon >= 0:
        return float(pair.hockey(epsilon))
    # H at -ε in terms of the reversed pair.
    scale = math.exp(epsilon)
    return scale * float(pair.reversed.hockey(-epsilon)) - math.expm1(epsilon)


def renyi(p: Sequence[float], q: Sequence[float], order: float) -> float:
    """Return D_α(P||Q) in nats for any α > 0; α = 1 is KL, ∞ the largest loss.

    Example:
        >>> orders = (0.5, 1, 2, math.inf)
        >>> [round(renyi([0.75, 0.25], [0.25, 0.75], a), 4) for a in orders]
        [0.2877, 0.5493, 0.8473, 1.0986]

    Reference: [R61]; [vEH14] (N12.def, N12.rem).
    """
    order = checks.real("order", order, above=0, infinite=True)
    pair = _pair(p, q)
    if order == 1:
        return pair.kl()
    if math.isinf(order):
        return math.inf if pair.p_only > 0 else float(pair.losses.max(initial=0.0))
    if order > 1:
        return pair.log_moment(order) / (order - 1)
    common = float(pair.masses @ np.exp((order - 1) * pair.losses))
    return math.inf if common == 0 else math.log(common) / (order - 1)


def f_divergence(
    p: Sequence[float],
    q: Sequence[float],
    F: Callable[[Any], Any],  # noqa: N803 (its name in print)
) -> float:
    """Return Σ Q F(P/Q) for F convex with F(1) = 0, limits at 0 and ∞ included."""
    from hush.privacy import duality

    low, high = duality.divergence(_pair(p, q), F, lambda _order: math.inf)
    return high if math.isinf(high) else (low + high) / 2


def from_tail(epsilon: float, probability: float) -> Approx:
    """Return (ε, δ) from P(loss >= ε) <= δ for neighbors in either order.

    Guarantee: sound; the hockey-stick itself is smaller.

    Example:
        >>> from_tail(1.0, 1e-6)
        Approx(epsilon=1.0, delta=1e-06)

    Reference: [DR14] Lemma 3.17 (N9.L6).
    """
    return Approx(epsilon, checks.real("probability", probability, at_least=0, below=1))


def tail_at(curve: Curve, epsilon: float) -> float:
    """Return a bound on P(loss > ε) in either direction, from δ at smaller ε.

    P(L > ε)(1 - e^(x-ε)) <= δ(x) for every x < ε.
    """
    epsilon = checks.real("epsilon", epsilon, above=0)
    x = epsilon * np.linspace(0.0, 1.0, 200)[:-1]
    found = np.asarray(curve.delta_at(x)) / -np.expm1(x - epsilon)
    return min(1.0, float(found.min()) * (1 + 1e-14))
