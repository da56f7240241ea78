"""The privacy loss distribution (PLD): the law of log dP/dQ under P, for one pair.

Every engine reads a pair through this one abstraction: its exact single-mechanism
curve, a certified quadrature of its transform, and how fast that transform decays.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hush.errors import NoBound

Floats = NDArray[np.float64]
Bracket = tuple[Floats, Floats]
Direction = Literal["add", "remove"]

ROUNDING = float(np.finfo(np.float64).eps)  # twice the unit roundoff, used as a bound


@final
@dataclass(frozen=True)
class Rule:
    """A measure on losses as weighted points, with everything that was left out.

    Guarantee: for |Im z| <= b the sum Σ e^(log_weight + z loss) differs from
    E_P[e^(zL); kept, finite] by at most `quadrature(Re z, b)`; `missing` bounds the
    P-mass of finite losses not kept.
    """

    loss: Floats
    log_weight: Floats
    loss_error: Floats  # absolute, of each loss
    weight_error: Floats  # relative, of each weight
    missing: float = 0.0
    top: float = np.inf  # upper bound of the kept losses
    # Σ weights - 1 = defect within mass_error, and Σ weights (1 - e^-loss) = imbalance
    # within balance_error: infinite where that identity is not to be used.
    defect: float = 0.0
    imbalance: float = 0.0
    mass_error: float = 0.0
    balance_error: float = np.inf
    quadrature: Callable[[float, float], float] = field(default=lambda _a, _b: 0.0)


@final
@dataclass(frozen=True)
class Decay:
    """How |E e^((c+it)L)| / E e^(cL) falls for large t.

    Guarantee: the tilted law is at least a mixture of uniform laws on intervals of
    `lengths` with `masses`; its transform is at most `atoms + variation / t`; and
    e^shifted(t) bounds it for all larger t as well.
    """

    lengths: Floats
    masses: Floats
    variation: float
    atoms: float
    shifted: Callable[[float], float] | None = None  # slower to evaluate
    slack: float = 0.0  # of the log of E e^(cL) that all is measured by

    def loosened(self, slack: float) -> "Decay":
        """Return the decay when log E e^(cL) is only known within `slack`."""
        return replace(self, slack=self.slack + slack)

    def log_bound(self, t: float, *, patient: bool = False) -> float:
        """Return log of a bound on the ratio for all |t'| >= t."""
        up = math.exp(min(self.slack, 700.0))
        # |sin x / x| never exceeds 0.2173 beyond x = π, nor 1/x anywhere.
        x = 0.5 * t * self.lengths
        near = np.maximum(np.sinc(np.minimum(x, 3.2) / np.pi), 0.2173)
        envelope = np.where(x < 4.6, near, 1 / np.maximum(x, 4.6))
        layered = 1.0 - float(self.masses @ (1.0 - envelope)) * (1 - 1e-9) / up
        varied = (self.atoms + self.variation / t) * up if t > 0 else 1.0
        bound = math.log(max(min(layered, varied, 1.0), 1e-300))
        if patient and self.shifted is not None:
            bound = min(bound, self.shifted(t) + self.slack)
        return bound


NO_DECAY = Decay(np.empty(0), np.empty(0), np.inf, 1.0)


class LossLaw(ABC):
    """The law of log dP/dQ under P; it may carry mass at +infinity.

    Guarantee: `delta` brackets sup_S P(S) - e^epsilon Q(S), and `rule` and `decay`
    hold as `Rule` and `Decay` state.
    """

    @property
    def infinite_mass(self) -> float:
        """Upper bound on P(L = +infinity)."""
        return 0.0

    @property
    def infinite_mass_lower(self) -> float:
        """Lower bound on P(L = +infinity)."""
        return self.infinite_mass

    @property
    def largest_loss(self) -> float:
        """Upper bound on the finite values of L."""
        return math.inf

    @property
    def log_largest_mass(self) -> float:
        """Lower bound on log P(L = largest_loss)."""
        return -math.inf

    @property
    def gaussian_variance(self) -> float:
        """Variance of an independent Gaussian factor N(v/2, v) of the loss."""
        return 0.0

    @abstractmethod
    def reversed(self) -> "LossLaw":
        """Return the law of log dQ/dP under Q."""

    @abstractmethod
    def delta(self, epsilon: ArrayLike) -> Bracket:
        """Return a bracket of the hockey-stick divergence at any real epsilon."""

    def plain(self) -> "LossLaw":
        """Return the same law in its simplest class."""
        return self

    def sampled(self, rate: float, direction: Direction) -> "LossLaw":
        """Return the Poisson-sampled law: P is replaced by rate P + (1 - rate) Q.

        "remove" is that mixture against Q, "add" is Q against the mixture.
        """
        from hush.privacy.pld.subsampled_loss import SampledLoss

        return SampledLoss(self, rate, direction)

    def sketch(self, log_drop: float) -> tuple[Floats, Floats]:
        """Return points and log weights, uncertified, to search for a good tilt."""
        raise NoBound(
            f"{type(self).__name__} has no transform; use the lattice engine."
        )

    def rule(
        self, tilt: float, reach: float, log_tolerance: float, log_drop: float
    ) -> Rule:
        """Return points certified to about e^log_tolerance at tilt + i reach.

        At most e^log_drop of the P-mass (and of the Q-mass) is left out.
        """
        raise NoBound(
            f"{type(self).__name__} has no transform; use the lattice engine."
        )

    def decay(self, tilt: float, log_mass: float, log_drop: float) -> Decay:
        """Return the decay of the transform; `log_mass` stands for log E e^(tilt L)."""
        return NO_DECAY
