"""Pure differential privacy: no output is e^ε times likelier for a neighbor."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from hush import checks
from hush.privacy.curve import Bracket, Curve, Direction
from hush.privacy.discrete_pair import Atoms
from hush.privacy.rounding import Floats, down, up
from hush.serialization import tagged

if TYPE_CHECKING:
    from hush.privacy.pld.loss_distribution import Components


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


def reduced_bracket(epsilon_0: float, delta_0: float, epsilon: Floats) -> Bracket:
    """Bracket the hockey-stick of that pair: δ₀ + (1-δ₀)(e^ε₀ - e^ε)/(1 + e^ε₀)."""
    with np.errstate(over="ignore", invalid="ignore"):
        gain = -np.expm1(np.minimum(epsilon - epsilon_0, 0.0)) / (
            1 + np.exp(-epsilon_0)
        )
        if math.isinf(epsilon_0):
            gain = np.ones_like(epsilon)
    exact = delta_0 + (1 - delta_0) * gain
    return down(exact, 8), np.minimum(up(exact, 8), 1.0)


def reduced_tradeoff(epsilon: float, delta: float, alpha: Floats) -> Floats:
    """Return f_{ε,δ}(α) = max(0, 1-δ-e^ε α, e^-ε (1-δ-α)), rounded down.

    Reference: [WZ10]; [KOV15] (N13.rem3, N3.4).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        steep = np.where(alpha == 0, 1 - delta, 1 - delta - np.exp(epsilon) * alpha)
        flat = np.exp(-epsilon) * (1 - delta - alpha)
    found = np.maximum(steep, flat) - 1e-15 * np.abs(flat) - 2.3e-16
    return np.asarray(np.maximum(found, 0.0))


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
        return reduced_bracket(self.epsilon, 0.0, epsilon)

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
