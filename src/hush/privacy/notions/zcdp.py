"""Zero-concentrated privacy: the loss is as concentrated as a Gaussian's."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from hush import checks
from hush.privacy import duality
from hush.privacy.curve import Bracket, Curve, Direction
from hush.privacy.discrete_pair import Atoms
from hush.privacy.notions import rdp
from hush.privacy.notions.gdp import GDP
from hush.privacy.rounding import Floats
from hush.serialization import tagged

if TYPE_CHECKING:
    from hush.privacy.pld.loss_distribution import Components


@final
@tagged("zcdp/1")
@dataclass(frozen=True, repr=False)
class ZCDP(Curve):
    """ρ-zero-concentrated differential privacy.

    Guarantee: E e^(λL) <= e^(λ(λ+1)ρ) for every λ >= 0, that is D_α <= αρ for every
    α > 1; δ is the best that these orders imply one at a time.

    Example:
        >>> c = ZCDP(rho=0.1)
        >>> f"{c.epsilon_at(1e-6):.4f} {c.classical_epsilon_at(1e-6):.4f}"
        '2.1419 2.4508'

    Reference: [BS16]; conversion [CKS20] and [ALCKS21].
    """

    rho: float = field()

    def __post_init__(self) -> None:
        value = checks.real("rho", self.rho, at_least=0, infinite=True)
        object.__setattr__(self, "rho", value)
        # A ρ-zCDP mechanism need not be μ-GDP for any finite μ.
        object.__setattr__(self, "mu", math.inf if value > 0 else 0.0)

    def __repr__(self) -> str:
        return f"ZCDP(rho={self.rho!r})"

    @property
    def _gaussian(self) -> GDP:
        """The ρ-zCDP mechanism against which lower bounds are read."""
        return GDP(mu=math.sqrt(2 * self.rho) * (1 - 1e-15))

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket δ between the Gaussian's and the best conversion."""
        low = self._gaussian.profile(direction, epsilon)[0]
        if self.rho == 0 or math.isinf(self.rho):
            return low, np.full(np.shape(epsilon), 0.0 if self.rho == 0 else 1.0)
        found = rdp.delta(self._line, rdp.ORDERS, epsilon, smooth=True)
        return low, np.minimum(found, self._hull.hockey(epsilon))

    @property
    def _coarse(self) -> int:
        return 4  # the conversion is looser than the chords

    @property
    def _negligible_at(self) -> float:
        return self.classical_epsilon_at(duality.NEGLIGIBLE)

    @cached_property
    def _hull(self) -> Atoms:
        return rdp.hull(self._line, smooth=True)

    def _line(self, order: Floats) -> Floats:
        return self.rho * order

    def _epsilon_lower(self, delta: float) -> float:
        return float(self._gaussian.epsilon_at_lower(delta))

    def _renyi(self, order: float) -> float:
        return order * self.rho if self.rho > 0 else 0.0

    def _renyi_lower(self, order: float) -> float:
        return float(self._gaussian.renyi_at_lower(order))

    def classical_epsilon_at(self, delta: float) -> float:
        """Return ρ + 2√(ρ log(1/δ)), the textbook conversion (Z.4.2)."""
        delta = checks.real("delta", delta, at_least=0, at_most=1)
        if delta == 0:
            return math.inf if self.rho > 0 else 0.0
        return self.rho + 2 * math.sqrt(self.rho * math.log(1 / delta))

    @property
    def atoms_below(self) -> Atoms:
        """A finite pair below the Gaussian mechanism with this ρ."""
        return self._gaussian.atoms_below

    def components_lower(self) -> "tuple[Components, Components]":
        """Return the loss laws of the Gaussian mechanism with this ρ."""
        return self._gaussian.components()
