"""Poisson sampling: each person takes part by an independent, secret coin."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
import scipy

from hush import checks, suggestions
from hush.privacy.curve import Bracket, Curve, Direction, curved
from hush.privacy.notions.pure import Pure
from hush.privacy.rounding import Floats, up
from hush.privacy.rules.amplification import Amplified, thinned
from hush.serialization import tagged

if TYPE_CHECKING:
    from hush.privacy.pld.loss_distribution import LossLaw


@final
@tagged("poisson_sampled/1")
@dataclass(frozen=True, repr=False)
class Sampled(Amplified):
    """A mechanism on a Poisson sample, its two directions apart.

    Guarantee: for a person added and for a person removed; the worse is reported.

    Reference: [ZDW22] Theorem 11; [LRKS24] on directions (N14.T3, N14.rem6).
    """

    base: Curve
    rate: float

    def __repr__(self) -> str:
        return f"poisson({self.base!r}, rate={self.rate!r})"

    @property
    def symmetric(self) -> bool:
        """Sampling breaks the symmetry of add and remove."""
        return False

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket δ through the base curve at a larger ε."""
        return thinned(self.base, self.rate, direction, epsilon)

    def _renyi(self, order: float) -> float:
        if not self.base.symmetric or math.isinf(order):
            return super()._renyi(order)
        # Moments at whole orders are binomial sums; (α-1)D_α is convex in between. The
        # add moment lies below a mixture of remove moments of the pair and its reverse
        # (for symmetric pairs [MTZ19] Thm 5; tests/privacy/test_sampled_moments.py).
        if order > 256:  # sampling never adds: D_α is quasi-convex in its mixture
            return float(self.base.renyi_at(order))
        low, high = math.floor(order), math.ceil(order)
        if low == high:
            found = self._moment(int(order)) / (order - 1) if order > 1 else self._first
        else:
            share = order - low
            found = (1 - share) * self._moment(low) + share * self._moment(high)
            found /= order - 1
        # The chord is poor close to 1; but the divergence only rises with its order.
        return min(float(up(found, 1e3)), self._renyi(2.0) if order < 2 else math.inf)

    @property
    def _first(self) -> float:
        return min(self._moment(2), self.rate * float(self.base.renyi_at(1.0)))

    def _moment(self, order: int) -> float:
        """Return log Σ_j C(α,j) (1-q)^(α-j) q^j e^((j-1)D_j), for whole orders."""
        if order <= 1:
            return 0.0
        j = np.arange(order + 1)
        known = [0.0, 0.0] + [
            (i - 1) * self._base_renyi[i] for i in range(2, order + 1)
        ]
        terms = (
            scipy.special.gammaln(order + 1)
            - scipy.special.gammaln(j + 1)
            - scipy.special.gammaln(order - j + 1)
            + j * math.log(self.rate)
            + (order - j) * math.log1p(-self.rate)
            + np.array(known)
        )
        return max(0.0, float(scipy.special.logsumexp(terms)) + 1e-12)

    @cached_property
    def _base_renyi(self) -> "_Memo":
        return _Memo(self.base)

    @property
    def _rate(self) -> float:
        return self.rate

    def _laws(self, law: "LossLaw") -> "tuple[LossLaw, LossLaw]":
        return law.sampled(self.rate, "remove"), law.sampled(self.rate, "add")


class _Memo(dict[int, float]):
    """Rényi divergences of a base curve, each computed once."""

    def __init__(self, base: Curve) -> None:
        super().__init__()
        self.base = base

    def __missing__(self, order: int) -> float:
        self[order] = float(self.base.renyi_at(float(order)))
        return self[order]


@suggestions.with_argument_hints({})
def poisson(curve: Curve, rate: float) -> Curve:
    """Return the guarantee on a secret sample that takes each with chance `rate`.

    Guarantee: for add/remove neighbors, given one for add/remove neighbors. The sample
    must stay secret and its coins must be independent.

    Example:
        >>> c = poisson(Pure(epsilon=1.0), rate=0.1)
        >>> f"{c.epsilon_at(0):.6f}"
        '0.158565'
        >>> f"{c.remove.delta_at(0.05):.4f} {c.add.delta_at(0.05):.4f}"
        '0.0324 0.0111'

    Reference: [ZDW22] Theorem 11 (N11.1, N14.T3).
    """
    curved("curve", curve)
    rate = checks.real("rate", rate, at_least=0, at_most=1)
    if rate == 0:
        return Pure(epsilon=0.0)
    return curve if rate == 1 else Sampled(curve, rate)
