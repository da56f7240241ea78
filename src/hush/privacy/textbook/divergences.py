"""Divergences of two finite laws, and what bounds on the loss imply."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from hush import checks
from hush.errors import InvalidArgument
from hush.privacy.curve import Curve
from hush.privacy.discrete_pair import Atoms
from hush.privacy.notions.approx import Approx
from hush.privacy.rounding import Floats, scalar


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


# -- Privacy-loss variables: they determine the tradeoff function, and it them ---------
#
# One convention throughout: Λ = log Q/P. Under P it has distribution function F (it
# is minus the privacy loss of P against Q), under Q it has G (it is the loss of Q
# against P).


@final
@dataclass(frozen=True, eq=False)
class LossVariables:
    """The laws of Λ under P and under Q, on finitely many values.

    Example:
        >>> from hush.privacy import Pure
        >>> v = LossVariables.of(Pure(epsilon=1.0).atoms_above)
        >>> round(v.under_p(0.0), 4), round(v.under_q(0.0), 4)
        (0.7311, 0.2689)

    Reference: N14.L13, N14.c1, N14.L14.
    """

    values: Floats
    p: Floats
    q: Floats

    @classmethod
    def of(cls, pair: Atoms) -> "LossVariables":
        """Return the loss variables of a finite pair."""
        ratio = np.concatenate([[-np.inf], -pair.losses[::-1], [np.inf]])
        p = np.concatenate([[pair.p_only], pair.masses[::-1], [0.0]])
        q = (pair.masses * np.exp(-pair.losses))[::-1]
        return cls(ratio, p, np.concatenate([[0.0], q, [pair.q_only]]))

    def under_p(self, x: ArrayLike) -> Any:
        """Return F(x) = P(Λ <= x)."""
        return self._cdf(self.p, x)

    def under_q(self, x: ArrayLike) -> Any:
        """Return G(x) = Q(Λ <= x)."""
        return self._cdf(self.q, x)

    def _cdf(self, mass: Floats, x: ArrayLike) -> Any:
        total = np.append(0.0, np.cumsum(mass))
        return scalar(total[np.searchsorted(self.values, x, side="right")])

    def tradeoff(self, alpha: ArrayLike) -> Any:
        """Return T(P, Q)(α) = G(F⁻¹(1-α)), with a randomized test on an atom."""
        # Reject P for large Λ: from the top, level accumulates under P, power under Q.
        level = np.append(0.0, np.cumsum(self.p[::-1]))
        power = np.append(0.0, np.cumsum(self.q[::-1]))
        return scalar(
            1.0 - np.interp(np.asarray(alpha, dtype=np.float64), level, power)
        )


def tilted(cdf_values: Floats, at: Floats) -> Floats:
    """Return G(x) = ∫_{-∞}^x e^t dF(t) from F's values on a fine grid (N14.L14)."""
    step = np.diff(cdf_values)
    middle = 0.5 * (at[1:] + at[:-1])
    return np.append(0.0, np.cumsum(step * np.exp(middle)))


def loss_cdf(f: Callable[[float], float], x: float) -> float:
    """Return F(x) = 1 - inf{t : f has a tangent of slope -e^x at t}, P(Λ <= x).

    Where f is convex that t minimises f(t) + e^x t.

    Reference: N14.L15.
    """
    low, high, slope = 0.0, 1.0, math.exp(x)
    golden = (math.sqrt(5) - 1) / 2
    a, b = high - golden * (high - low), low + golden * (high - low)
    fa, fb = f(a) + slope * a, f(b) + slope * b
    for _ in range(120):
        if fa <= fb:
            high, b, fb = b, a, fa
            a = high - golden * (high - low)
            fa = f(a) + slope * a
        else:
            low, a, fa = a, b, fb
            b = low + golden * (high - low)
            fb = f(b) + slope * b
    return 1.0 - 0.5 * (low + high)


def variables(curve: Curve) -> LossVariables:
    """Return loss variables of a pair that dominates the curve's remove direction."""
    return LossVariables.of(curve.atoms_above)
