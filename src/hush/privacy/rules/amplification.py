"""Amplification by Poisson sampling, or by a batch of fixed size.

A secret sample hides most people at no cost.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
import scipy

from hush import checks, suggestions
from hush.errors import InvalidArgument
from hush.privacy.curve import Bracket, Curve, Direction, checked_curve
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.pure import Pure
from hush.privacy.pld.fixed_size_gaussian_loss import MirroredLoss
from hush.privacy.pld.gaussian_loss import GaussianLoss
from hush.privacy.rounding import ULP, Floats, total_up, up
from hush.serialization import tagged
from hush.units import Neighbors

if TYPE_CHECKING:
    from hush.privacy.pld.loss_distribution import Components, LossLaw


def amplified(epsilon: float, rate: float) -> float:
    """Return log(1 + rate (e^ε - 1)), the ε of an ε-DP mechanism on a sample, tight."""
    epsilon = checks.real("epsilon", epsilon, at_least=0)
    rate = checks.real("rate", rate, at_least=0, at_most=1)
    if epsilon > 30:
        return min(epsilon, float(up(epsilon + math.log(rate + math.exp(-epsilon)))))
    return float(up(math.log1p(rate * math.expm1(epsilon))))


def amplified_approx(epsilon: float, delta: float, rate: float) -> Approx:
    """Return (log(1 + q(e^ε - 1)), qδ): sampling an (ε, δ)-private mechanism.

    Example:
        >>> amplified_approx(1.0, 1e-6, rate=0.5)
        Approx(epsilon=0.62011450695827..., delta=5e-07)

    Reference: [BBG18] Theorem 8 (N11.1).
    """
    delta = checks.real("delta", delta, at_least=0, below=1)
    rate = checks.real("rate", rate, at_least=0, at_most=1)
    shared = total_up([Fraction(delta) * Fraction(rate)])
    return Approx(amplified(epsilon, rate), shared)


def amplified_loose(rate: float) -> tuple[float, float]:
    """Return ((e-1)q, 2q), the textbook bounds for a 1-DP mechanism, for comparison."""
    rate = checks.real("rate", rate, at_least=0, at_most=1)
    return math.expm1(1.0) * rate, 2.0 * rate


def thinned_profile(
    curve: Curve, rate: float, direction: Direction, epsilon: Floats
) -> Bracket:
    """Bracket the hockey-stick after mixing: (1-q)Q + qP against Q, or the reverse.

    remove: q δ(log(1 + (e^ε - 1)/q))
    add: r δ(ε + log(q/r)), r = q - (1-q)(e^ε - 1).

    Reference: [BBG18] Theorem 2; [ZDW22] Theorem 11 (N14.T3).
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if direction is Direction.REMOVE:
            # For large ε the 1 no longer counts.
            at = np.where(
                epsilon > 30,
                epsilon - math.log(rate),
                np.log1p(np.expm1(epsilon) / rate),
            )
            factor = np.full(epsilon.shape, rate)
            shake = 4 * ULP * (1 + np.abs(at))
        else:
            factor = rate - (1 - rate) * np.expm1(epsilon)
            at = np.where(factor > 0, epsilon + math.log(rate) - np.log(factor), np.inf)
            lost = rate / np.maximum(factor, 1e-300)
            shake = 8 * ULP * (1 + np.abs(epsilon) + np.where(factor > 0, lost, 0.0))
    there = np.isfinite(at)
    safe = np.where(there, at, 0.0)
    low = np.asarray(curve.profile(direction, safe + shake)[0])
    high = np.asarray(curve.profile(direction, np.maximum(safe - shake, 0.0))[1])
    # Mass at infinite loss stays, scaled, in the remove direction only.
    end = curve.profile(direction, np.full(epsilon.shape, np.inf))
    scale = np.maximum(factor, 0.0)
    noise = 8 * ULP * (1 + np.where(factor > 0, rate / np.maximum(factor, 1e-300), 0.0))
    beyond = rate if direction is Direction.REMOVE else 0.0
    return (
        np.where(there, scale * low * np.maximum(1 - noise, 0.0), beyond * end[0]),
        np.where(there, np.minimum(scale * high * (1 + noise), 1.0), beyond * end[1]),
    )


class Amplified(Curve):
    """A mechanism on a secret sample: what all ways of sampling share."""

    base: Curve

    @property
    @abstractmethod
    def _rate(self) -> float:
        """The share of people in a sample."""

    @abstractmethod
    def _laws(self, law: "LossLaw") -> "tuple[LossLaw, LossLaw] | None":
        """Return the loss laws of both directions for a base of one law, if known."""

    def _epsilon(self, delta: float) -> float:
        if delta == 0.0:
            top = float(self.base.epsilon_at(0.0))
            return amplified(top, self._rate) if math.isfinite(top) else math.inf
        return super()._epsilon(delta)

    @cached_property
    def rho(self) -> float:
        """A sampled mechanism keeps the ρ of its base; no smaller one is proven."""
        return self.base.rho

    @cached_property
    def mu(self) -> float:
        """A sampled mechanism keeps the μ of its base; no smaller one is proven."""
        return self.base.mu

    def components(self) -> "tuple[Components, Components]":
        """Return the loss laws of both directions, or a pair from dots."""
        return (
            self._sampled_components(self.base.components()[0]) or super().components()
        )

    def components_lower(self) -> "tuple[Components, Components]":
        """Return the same from below."""
        found = self._sampled_components(self.base.components_lower()[0])
        return found or super().components_lower()

    def _sampled_components(
        self, parts: "Components"
    ) -> "tuple[Components, Components] | None":
        if len(parts) != 1 or parts[0][1] != 1:  # a composition is no single law
            return None
        found = self._laws(parts[0][0])
        return found and (((found[0], 1),), ((found[1], 1),))


# -- Poisson sampling: each person takes part by an independent, secret coin -----------


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
        return thinned_profile(self.base, self.rate, direction, epsilon)

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
    checked_curve("curve", curve)
    rate = checks.real("rate", rate, at_least=0, at_most=1)
    if rate == 0:
        return Pure(epsilon=0.0)
    return curve if rate == 1 else Sampled(curve, rate)


# -- Sampling without replacement: a secret batch of fixed size ------------------------


@final
@tagged("fixed_size_sampled/1")
@dataclass(frozen=True, repr=False)
class Subset(Amplified):
    """A mechanism on a random batch, under replacement of one record.

    Guarantee: C_p(f), p = batch/records: the convex hull of min(f_p, f_p⁻¹), the same
    for both orders of neighbors, since either record may be the one that was replaced.

    Reference: [DRS22] Theorem 4.2 (N13.T7, N13.c2).
    """

    base: Curve
    batch: int
    records: int

    def __repr__(self) -> str:
        return f"fixed_size({self.base!r}, batch={self.batch}, records={self.records})"

    @property
    def rate(self) -> float:
        """The share of records in a batch, rounded up."""
        return total_up([Fraction(self.batch, self.records)])

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket δ = p δ_base(log(1 + (e^ε - 1)/p)), the larger mixture."""
        return thinned_profile(_Level(self.base), self.rate, Direction.REMOVE, epsilon)

    @property
    def _rate(self) -> float:
        return self.rate

    def _laws(self, law: "LossLaw") -> "tuple[LossLaw, LossLaw] | None":
        if not isinstance(law, GaussianLoss):
            return None
        both = MirroredLoss(1 / law.mu, self.rate)
        return both, both


@final
@dataclass(frozen=True)
class _Level(Curve):
    """A curve's worse direction in both places."""

    curve: Curve

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket the worse δ."""
        return self.curve.delta_at_lower(epsilon), self.curve.delta_at(epsilon)


@suggestions.with_argument_hints({})
def fixed_size(
    curve: Curve,
    batch: int,
    records: int,
    *,
    neighbors: str | Neighbors = Neighbors.REPLACE_ONE,
) -> Curve:
    """Return the guarantee on a secret batch of `batch` out of `records` records.

    Guarantee: for replace-one neighbors (or add/remove, directions apart), given a
    curve for replacing one record *of the batch*; from one for add/remove take
    `replace_one(curve)` first.

    Example:
        >>> c = fixed_size(Pure(epsilon=1.0), batch=10, records=100)
        >>> f"{c.epsilon_at(0):.6f}"
        '0.158565'

    Reference: [DRS22] Theorem 4.2; [ZDW22] Theorem 11 (N13.T7, N14.T3).
    """
    checked_curve("curve", curve)
    batch = checks.whole("batch", batch, at_least=0)
    records = checks.whole("records", records, at_least=1)
    if batch > records:
        raise InvalidArgument(
            f"batch must be at most records; got {batch} of {records}."
        )
    if batch == 0:
        return Pure(epsilon=0.0)
    if batch == records:
        return curve
    if Neighbors.of(neighbors) is Neighbors.ADD_REMOVE:
        return Sampled(curve, total_up([Fraction(batch, records)]))
    return Subset(curve, batch, records)
