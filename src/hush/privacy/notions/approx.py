"""Approximate differential privacy: pure, but for an event of probability δ."""

import math
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
@tagged("approx/1")
@dataclass(frozen=True, repr=False)
class Approx(Curve):
    """(ε, δ)-differential privacy.

    Guarantee: P(M(x) in S) <= e^ε P(M(x') in S) + δ for all neighbors and all S.

    Example:
        >>> c = Approx(epsilon=1, delta=1e-6)
        >>> c.epsilon_at(1e-6), c.epsilon_at(1e-7)
        (1.0, inf)
        >>> f"{c.tradeoff_at(0.1):.6f}"
        '0.728171'

    Reference: [DKMMN06]; f_{ε,δ} of [WZ10], tight by [KOV15].
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        epsilon = checks.real("epsilon", self.epsilon, at_least=0, infinite=True)
        object.__setattr__(self, "epsilon", epsilon)
        delta = checks.real("delta", self.delta, at_least=0, below=1)
        object.__setattr__(self, "delta", delta)

    def __repr__(self) -> str:
        return f"Approx(epsilon={self.epsilon!r}, delta={self.delta!r})"

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket δ of the worst (ε, δ)-private mechanism."""
        exact = reduced_delta(self.epsilon, self.delta, epsilon)
        return down(exact, 8), np.minimum(up(exact, 8), 1.0)

    def _epsilon(self, delta: float) -> float:
        return pure_epsilon(self.epsilon, self.delta, delta, side=up)

    def _epsilon_lower(self, delta: float) -> float:
        return pure_epsilon(self.epsilon, self.delta, delta, side=down)

    def _tradeoff(self, alpha: float) -> float:
        return float(reduced_tradeoff(self.epsilon, self.delta, np.asarray(alpha)))

    def _renyi(self, order: float) -> float:
        return math.inf if self.delta > 0 else super()._renyi(order)

    @property
    def atoms_above(self) -> Atoms:
        """Randomized response that gives the truth away with probability δ."""
        return randomized_response(self.epsilon, self.delta)

    @property
    def atoms_below(self) -> Atoms:
        """The same: the pair is exact."""
        return randomized_response(self.epsilon, self.delta)

    def components_lower(self) -> "tuple[Components, Components]":
        """Return the same laws as `components`: the pair is exact."""
        return self.components()
