"""Pure differential privacy: no output is e^ε times likelier for a neighbor."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from hush import checks
from hush.privacy.curve import Bracket, Curve, Direction
from hush.privacy.discrete_pair import (
    Atoms,
    pure_epsilon,
    randomized_response,
    reduced_delta,
    reduced_tradeoff,
)
from hush.privacy.rounding import Floats, down, up
from hush.serialization import tagged

if TYPE_CHECKING:
    from hush.privacy.pld.loss_distribution import Components


@final
@tagged("pure/1")
@dataclass(frozen=True, repr=False)
class Pure(Curve):
    """ε-differential privacy; its worst mechanism is randomized response.

    Guarantee: P(M(x) in S) <= e^ε P(M(x') in S) for all neighbors x, x' and all S.

    Example:
        >>> c = Pure(epsilon=0.5)
        >>> f"{c.delta_at(0.25):.4f}", c.epsilon_at(0)
        ('0.1377', 0.5)

    Reference: [DMNS06]; tightness [KOV15].
    """

    epsilon: float

    def __post_init__(self) -> None:
        value = checks.real("epsilon", self.epsilon, at_least=0, infinite=True)
        object.__setattr__(self, "epsilon", value)

    def __repr__(self) -> str:
        return f"Pure(epsilon={self.epsilon!r})"

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket δ: the hockey-stick of randomized response."""
        exact = reduced_delta(self.epsilon, 0.0, epsilon)
        return down(exact, 8), np.minimum(up(exact, 8), 1.0)

    def _epsilon(self, delta: float) -> float:
        return pure_epsilon(self.epsilon, 0.0, delta, side=up)

    def _epsilon_lower(self, delta: float) -> float:
        return pure_epsilon(self.epsilon, 0.0, delta, side=down)

    def _tradeoff(self, alpha: float) -> float:
        return float(reduced_tradeoff(self.epsilon, 0.0, np.asarray(alpha)))

    def _renyi(self, order: float) -> float:
        return min(self.epsilon, super()._renyi(order)) if self.epsilon else 0.0

    @property
    def atoms_above(self) -> Atoms:
        """Randomized response itself."""
        return randomized_response(self.epsilon)

    @property
    def atoms_below(self) -> Atoms:
        """Randomized response itself."""
        return randomized_response(self.epsilon)

    def components_lower(self) -> "tuple[Components, Components]":
        """Return the same laws as `components`: the pair is exact."""
        return self.components()
