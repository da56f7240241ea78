"""Bounded range: any two log-ratios of neighbors' probabilities differ by at most s."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from hush import checks
from hush.privacy.curve import Bracket, Curve, Direction
from hush.privacy.pld.laplace_loss import RangeLoss
from hush.privacy.rounding import Floats
from hush.serialization import tagged

if TYPE_CHECKING:
    from hush.privacy.pld.loss_distribution import Components


@final
@tagged("bounded_range/1")
@dataclass(frozen=True, repr=False)
class BoundedRange(Curve):
    """The guarantee of a mechanism whose losses lie within `span` of each other.

    Guarantee: at each ε the largest hockey-stick of all pairs of range `span`, which
    have two losses t and t - span. It is `span`-DP, and at ε = 0 about half as far from
    perfect privacy as randomized response. Composition uses the one pair that has this
    whole curve.

    Example:
        >>> c = BoundedRange(span=1.0)
        >>> f"{c.delta_at(0):.4f} {c.epsilon_at(0):.1f}"
        '0.2449 1.0'

    Reference: [DDR20] Lemma 3.2; proof in docs/proofs/bounded_range.md
    """

    span: float

    def __post_init__(self) -> None:
        span = checks.real("span", self.span, above=0, at_most=500)
        object.__setattr__(self, "span", span)

    def __repr__(self) -> str:
        return f"BoundedRange(span={self.span!r})"

    @cached_property
    def _law(self) -> RangeLoss:
        return RangeLoss(self.span)

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket δ in closed form."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        far = np.isinf(epsilon)
        low, high = self._law.delta(np.where(far, 0.0, epsilon))
        return np.where(far, 0.0, low), np.where(far, 0.0, high)

    def _epsilon(self, delta: float) -> float:
        # (1 - e^(-(s-ε)/2))² = δ(1 - e^-s), moved up by what rounding may do.
        root = math.sqrt(delta * -math.expm1(-self.span))
        if delta >= float(self.delta_at(0.0)):
            return 0.0
        found = self.span + 2 * math.log1p(-root)
        found = max(0.0, found) + 16 * 2.0**-52 * self.span
        return min(found, self.span)

    def _epsilon_lower(self, delta: float) -> float:
        if delta >= float(self.delta_at_lower(0.0)):
            return 0.0
        root = math.sqrt(delta * -math.expm1(-self.span))
        found = self.span + 2 * math.log1p(-root)
        return max(0.0, found - 16 * 2.0**-52 * self.span)

    def components(self) -> "tuple[Components, Components]":
        """Return the loss law of the one pair with this curve."""
        return ((self._law, 1),), ((self._law, 1),)

    def components_lower(self) -> "tuple[Components, Components]":
        """Return the same laws as `components`: the pair is exact."""
        return self.components()
