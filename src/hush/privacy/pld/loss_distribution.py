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

from hush import checks
from hush.errors import InvalidArgument, NoBound

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

    def with_slack(self, slack: float) -> "Decay":
        """Return the decay when log E e^(cL) is only known within `slack`."""
        return replace(self, slack=self.slack + slack)

    def log_bound(self, t: float, *, patient: bool = False) -> float:
        """Return log of a bound on the ratio for all |t'| >= t."""
        up = math.exp(min(self.slack, 700.0))
        # The transform of a uniform law of length λ is sin x / x, x = tλ/2. It never
        # exceeds 0.2173 beyond x = π, nor 1/x anywhere, which is less from 4.6 on.
        x = 0.5 * t * self.lengths
        near = np.maximum(np.sinc(np.minimum(x, 3.2) / np.pi), 0.2173)
        envelope = np.where(x < 4.6, near, 1 / np.maximum(x, 4.6))
        # Σ m_r of the mass is in layers, each of which keeps its envelope at most.
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


# A composition: each law, and how many independent copies of it there are.
Components = tuple[tuple[LossLaw, int], ...]


# -- Poisson sampling of any pair, through its hockey-stick curve ----------------------


def checked_direction(direction: object) -> Direction:
    """Return the direction, or name the two there are."""
    if direction == "add":
        return "add"
    if direction == "remove":
        return "remove"
    raise InvalidArgument(f"direction must be 'add' or 'remove'; got {direction!r}.")


def sampled_delta(
    base: LossLaw, rate: float, direction: Direction, epsilon: ArrayLike
) -> Bracket:
    """Bracket the curve of the sampled pair by the curve of the base pair.

    Guarantee: with mixture P' = qP + (1-q)Q, "remove" gives
    H(P'|Q)(ε) = q H(P|Q)(log1p(expm1(ε)/q)) and "add" gives
    H(Q|P')(ε) = e^ε (q + expm1(-ε)) H(Q|P)(-log1p(expm1(-ε)/q)).

    Reference: [ZDW22] Proposition 30, rearranged; proof in docs/proofs/contour.md
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    sign = 1.0 if direction == "remove" else -1.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        v = np.expm1(np.minimum(sign * epsilon, 700.0)) / rate
        inside = 1 + v > 0
        safe = np.where(inside, v, 0.0)
        at = sign * np.log1p(safe)
        blur = ROUNDING * (4 * np.abs(safe) / (1 + safe) + 2 * np.abs(at))
        pair = base if direction == "remove" else base.reversed()
        upper, lower = pair.delta(at - blur)[1], pair.delta(at + blur)[0]
        factor = np.asarray(rate, dtype=np.float64)
        if direction == "add":
            factor = np.exp(epsilon) * rate * (1 + safe)
        slack = ROUNDING * (8 + 4 * np.abs(safe) / (1 + safe) + 2 * np.abs(epsilon))
    # Outside, P' >= e^ε Q everywhere ("remove"), or Q <= e^ε P' ("add").
    outside = np.maximum(-np.expm1(np.minimum(epsilon, 0.0)), 0.0)
    outside = outside if direction == "remove" else np.zeros_like(epsilon)
    lower = np.where(inside, factor * lower * np.maximum(1 - slack, 0), outside)
    upper = np.where(inside, factor * upper * (1 + slack), outside * (1 + 4 * ROUNDING))
    return np.maximum(lower, 0.0) * (1 - ROUNDING), np.clip(upper, 5e-324, 1.0)


@final
@dataclass(frozen=True)
class SampledLoss(LossLaw):
    """Poisson sampling at `rate` of the pair behind `base`.

    Guarantee: exact at the level of the curve; it has no transform, so compositions
    of it go to the lattice engine.

    Example:
        >>> from hush.privacy.pld.gaussian_loss import GaussianLoss
        >>> law = SampledLoss(GaussianLoss(1.0), 0.5, "remove")
        >>> round(float(law.delta(0.0)[1]), 6)
        0.191462
    """

    base: LossLaw
    rate: float
    direction: Direction

    def __post_init__(self) -> None:
        rate = checks.real("rate", self.rate, above=0, at_most=1)
        object.__setattr__(self, "rate", rate)
        object.__setattr__(self, "direction", checked_direction(self.direction))

    @property
    def infinite_mass(self) -> float:
        """Upper bound on P(L = +infinity)."""
        if self.direction == "remove":
            return min(1.0, self.rate * self.base.infinite_mass * (1 + ROUNDING))
        return self.base.reversed().infinite_mass if self.rate == 1.0 else 0.0

    @property
    def infinite_mass_lower(self) -> float:
        """Lower bound on P(L = +infinity)."""
        if self.direction == "remove":
            return self.rate * self.base.infinite_mass_lower * (1 - ROUNDING)
        return self.base.reversed().infinite_mass_lower if self.rate == 1.0 else 0.0

    def reversed(self) -> "SampledLoss":
        """Return the other direction."""
        other: Direction = "add" if self.direction == "remove" else "remove"
        return SampledLoss(self.base, self.rate, other)

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """Return the curve of the base pair at the shifted point."""
        return sampled_delta(self.base, self.rate, self.direction, epsilon)
