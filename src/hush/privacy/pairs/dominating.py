"""A dominating pair: two laws at least as easy to tell apart as any neighbors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hush import checks
from hush.errors import InvalidArgument, NoBound
from hush.law import DiscreteGaussian, DiscreteLaplace, Finite, Law
from hush.privacy.curve import Bracket, Curve, Direction
from hush.privacy.discrete_pair import Atoms
from hush.privacy.pairs import bracketing
from hush.privacy.pairs.bracketing import Reading
from hush.privacy.pairs.curve_interval import between
from hush.privacy.pairs.densities import ContinuousLaplace, Density, Normal, Shifted
from hush.privacy.rounding import Floats, down, total_up, up
from hush.serialization import freeze, tagged, written_as

if TYPE_CHECKING:
    from hush.privacy.pld.loss_distribution import Components, LossLaw


@final
@tagged("pair/1")
@dataclass(frozen=True, repr=False)
class Pair(Curve):
    """The guarantee of two output laws: `p` with the person, `q` without.

    `p` and `q` are laws on the integers, tables of probabilities over the same outcomes
    (fractions stay exact), or densities; for general densities `breaks` lists the
    points where their ratio turns or jumps.

    Guarantee: the hockey-sticks of (p, q) and of (q, p), for neighbors in the remove
    and in the add direction.

    Example:
        >>> yes, no = Fraction(3, 4), Fraction(1, 4)
        >>> response = Pair([yes, no], [no, yes])
        >>> f"{response.epsilon_at(0):.6f}"
        '1.098612'

    Reference: [ZDW22] Definition 7 (N14.def2).
    """

    p: Any
    q: Any
    breaks: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("p", "q"):
            value = getattr(self, name)
            if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
                object.__setattr__(self, name, tuple(_plain(each) for each in value))
        self._reading  # noqa: B018 (bad laws are refused now, not when first asked)

    @classmethod
    def laplace(cls, scale: float) -> "Pair":
        """Return the idealised continuous Laplace mechanism at sensitivity 1.

        Example:
            >>> f"{Pair.laplace(scale=2.0).delta_at(0.25):.4f}"
            '0.1175'
        """
        scale = checks.real("scale", scale, above=0)
        return cls(ContinuousLaplace(1.0, scale), ContinuousLaplace(0.0, scale))

    @classmethod
    def gaussian(cls, std: float) -> "Pair":
        """Return the idealised Gaussian mechanism at sensitivity 1.

        Example:
            >>> f"{Pair.gaussian(std=1.0).epsilon_at(1e-5):.5f}"
            '4.37718'
        """
        std = checks.real("std", std, above=0)
        return cls(Normal(1.0, std), Normal(0.0, std))

    @classmethod
    def shift(cls, law: Law, by: int) -> "Pair":
        """Return additive integer noise on a value of sensitivity `by`.

        Guarantee: covers every shift up to `by`, which needs a law that is symmetric
        and log-concave; others are refused.

        Example:
            >>> f"{Pair.shift(DiscreteLaplace(2), by=1).delta_at(0.25):.4f}"
            '0.1377'
        """
        by = checks.whole("by", by, at_least=0)
        if isinstance(law, Finite):
            table = law.probabilities
            dips = any(
                table[i] ** 2 < table[i - 1] * table[i + 1]
                for i in range(1, len(table) - 1)
            )
            if table != table[::-1] or dips:
                raise NoBound(
                    "a table can stand for noise only if it is symmetric and "
                    "log-concave; give both output laws, Pair(p, q), for every "
                    "neighbor that may occur."
                )
        elif not isinstance(law, DiscreteLaplace | DiscreteGaussian):
            raise NoBound(
                f"{type(law).__name__} is not known to be symmetric and log-concave; "
                "give both output laws, Pair(p, q), for every neighbor that may occur."
            )
        return cls(Shifted(law, by), law)

    def __repr__(self) -> str:
        p, q = self.p, self.q
        if isinstance(p, ContinuousLaplace) and (p.location, q.location) == (1.0, 0.0):
            return f"Pair.laplace(scale={p.scale!r})"
        if isinstance(p, Normal) and (p.mean, q.mean) == (1.0, 0.0):
            return f"Pair.gaussian(std={p.std!r})"
        if isinstance(p, Shifted) and p.law == q:
            return f"Pair.shift({q!r}, by={p.by})"
        if isinstance(p, tuple) and len(p) > 6:
            return f"<{self._told(f'Pair of {len(p)} outcomes')}>"
        return f"Pair({p!r}, {q!r})"

    @cached_property
    def _reading(self) -> Reading:
        p, q = self.p, self.q
        if isinstance(p, Normal) and isinstance(q, Normal):
            return bracketing.normal(p, q)
        if isinstance(p, ContinuousLaplace) and isinstance(q, ContinuousLaplace):
            return bracketing.laplace(p, q)
        if isinstance(p, Density) and isinstance(q, Density):
            return bracketing.densities(p, q, self.breaks)
        if isinstance(p, tuple) and isinstance(q, tuple):
            return bracketing.table(p, q)
        if isinstance(p, Law) and isinstance(q, Law):
            return bracketing.integers(p, q)
        raise InvalidArgument(
            f"p and q must be two laws of the same kind; got {type(p).__name__} and "
            f"{type(q).__name__}. Use laws on the integers, tables, or densities."
        )

    @cached_property
    def _backward(self) -> "tuple[LossLaw, LossLaw]":
        upper, lower = self._reading.upper, self._reading.lower
        back = upper.reversed()
        return back, back if lower is upper else lower.reversed()

    @property
    def symmetric(self) -> bool:
        """Whether both directions are known to be the same."""
        return self._reading.symmetric

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket the hockey-stick of the two laws."""
        upper, lower = self._reading.upper, self._reading.lower
        if direction is Direction.ADD:
            upper, lower = self._backward
        unbounded = np.isinf(epsilon)
        finite = np.where(unbounded, 0.0, epsilon)
        low = np.where(unbounded, lower.infinite_mass_lower, lower.delta(finite)[0])
        high = np.where(unbounded, upper.infinite_mass, upper.delta(finite)[1])
        return low, high

    @cached_property
    def atoms_above(self) -> Atoms:
        """A finite pair that dominates the remove direction."""
        return self._reading.above or super().atoms_above

    @cached_property
    def atoms_below(self) -> Atoms:
        """A finite pair that the remove direction dominates."""
        return self._reading.below or super().atoms_below

    @cached_property
    def rho(self) -> float:
        """Smallest proven ρ of ρ-zCDP."""
        known = self._reading.rho
        return known if math.isfinite(known) else super().rho

    @cached_property
    def mu(self) -> float:
        """Smallest proven μ of μ-GDP."""
        known = self._reading.mu
        return known if math.isfinite(known) else super().mu

    def _epsilon(self, delta: float) -> float:
        if delta == 0 and isinstance(self.p, Normal):
            return math.inf if self.mu > 0 else 0.0
        if delta == 0 and isinstance(self.p, ContinuousLaplace):
            gap = abs(self.p.location - self.q.location)
            return float(up(gap / self.p.scale, 1))
        if delta == 0 and self._reading.above is not None:
            top = [pair.losses[-1] for pair in self._pairs("above") if pair.losses.size]
            mass = max(pair.p_only for pair in self._pairs("above"))
            return math.inf if mass > 0 else self._largest(top)
        return float(super()._epsilon(delta))

    def _largest(self, losses: list[float]) -> float:
        """Return the largest of some losses, rounded up."""
        if isinstance(self.p, Shifted) and isinstance(self.q, DiscreteLaplace):
            return total_up([self.p.by / self.q.scale])  # exact: the steps count
        return float(up(max(0.0, *losses), 2)) if losses else 0.0

    def _renyi(self, order: float) -> float:
        if isinstance(self.p, Normal):
            return order * float(self.rho)
        if isinstance(self.p, ContinuousLaplace) and math.isfinite(order):
            return float(up(self._laplace_renyi(order), 64)) + 1e-15
        return super()._renyi(order)

    def _renyi_lower(self, order: float) -> float:
        if isinstance(self.p, Normal):
            return float(down(order * self.rho, 8))
        if isinstance(self.p, ContinuousLaplace) and math.isfinite(order):
            return max(0.0, float(down(self._laplace_renyi(order), 64)) - 1e-15)
        return super()._renyi_lower(order)

    def _laplace_renyi(self, order: float) -> float:
        # [M17] Proposition 6: (α e^((α-1)t) + (α-1) e^(-αt))/(2α-1) is the moment.
        t = abs(self.p.location - self.q.location) / self.p.scale
        if order == 1.0:
            return float(t + math.expm1(-t))
        whole = 2 - 1 / order  # (2α-1)/α: 2α may be beyond the floats
        first = -math.log(whole) + (order - 1) * t
        second = math.log((1 - 1 / order) / whole) - order * t
        return float(np.logaddexp(first, second)) / (order - 1)

    def components(self) -> "tuple[Components, Components]":
        """Return the loss laws of both directions, from above."""
        return ((self._reading.upper, 1),), ((self._backward[0], 1),)

    def components_lower(self) -> "tuple[Components, Components]":
        """Return the loss laws of both directions, from below."""
        return ((self._reading.lower, 1),), ((self._backward[1], 1),)


def _plain(value: Any) -> Fraction | float:
    """Return a probability as a fraction where it is one, a float otherwise."""
    if isinstance(value, Fraction | int) and not isinstance(value, bool):
        return Fraction(value)
    return checks.real("probability", value, at_least=0, at_most=1)


def _storable(pair: Pair) -> Curve:
    """Return the pair, or the tables around it where its laws are functions."""
    told = freeze(pair.p) is not None and freeze(pair.q) is not None
    return pair if told else between(pair)


written_as(Pair, _storable)
