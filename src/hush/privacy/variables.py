"""Privacy-loss variables: they determine the tradeoff function, and it them.

One convention throughout: Λ = log Q/P. Under P it has distribution function F (it is
minus the privacy loss of P against Q), under Q it has G (it is the loss of Q against
P).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from hush.privacy.atoms import Atoms
from hush.privacy.curve import Curve
from hush.privacy.rounding import Floats, scalar


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
