"""A guarantee known between two finite pairs: what geometry on curves returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from hush.errors import InvalidArgument
from hush.privacy.curve import Bracket, Curve, Direction
from hush.privacy.discrete_pair import GUARD, Atoms
from hush.privacy.rounding import Floats
from hush.serialization import tagged, written_as

Numbers = tuple[float, ...]


@final
@tagged("finite_pair/1")
@dataclass(frozen=True)
class FinitePair:
    """Losses, P masses, and the masses that only P or only Q has; hashable."""

    losses: Numbers
    masses: Numbers
    p_only: float = 0.0
    q_only: float = 0.0

    @classmethod
    def of(cls, pair: Atoms) -> "FinitePair":
        """Return the pair as plain numbers."""
        return cls(
            tuple(pair.losses.tolist()),
            tuple(pair.masses.tolist()),
            float(pair.p_only),
            float(pair.q_only),
        )

    @property
    def atoms(self) -> Atoms:
        """The pair as arrays."""
        return Atoms(
            np.array(self.losses), np.array(self.masses), self.p_only, self.q_only
        )


@final
@tagged("curve_interval/1")
@dataclass(frozen=True, repr=False)
class Between(Curve):
    """A guarantee that lies between two finite pairs.

    Guarantee: `above` dominates every neighbor in the remove direction, and its reverse
    in the add direction; `below` is reached by the worst mechanism.
    """

    above: FinitePair
    below: FinitePair
    name: str = "guarantee"
    both_ways: bool = True

    def __repr__(self) -> str:
        return f"<{self._with_one_answer(self.name)}>"

    @property
    def symmetric(self) -> bool:
        """Whether both directions are the same by construction."""
        return self.both_ways

    @cached_property
    def atoms_above(self) -> Atoms:
        """The dominating pair."""
        return self.above.atoms

    @cached_property
    def atoms_below(self) -> Atoms:
        """The dominated pair."""
        return self.below.atoms

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket δ between the two pairs."""
        high, low = self.atoms_above, self.atoms_below
        if direction is Direction.ADD:
            high, low = high.reversed, low.reversed
        return (
            np.asarray(low.hockey(epsilon)) * (1 - GUARD),
            np.minimum(np.asarray(high.hockey(epsilon)) * (1 + GUARD), 1.0),
        )


@final
@tagged("worst_case/1")
@dataclass(frozen=True, repr=False)
class Worst(Curve):
    """The worst of several guarantees, where it is not known which one applies.

    Guarantee: the largest hockey-stick of all, which is a valid profile again.
    """

    curves: tuple[Curve, ...]

    def __post_init__(self) -> None:
        if not self.curves:
            raise InvalidArgument("curves must not be empty.")

    def __repr__(self) -> str:
        return f"worst of ({', '.join(map(repr, self.curves))})"

    @property
    def symmetric(self) -> bool:
        """Whether every curve is."""
        return all(curve.symmetric for curve in self.curves)

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket the largest δ."""
        found = [curve.profile(direction, epsilon) for curve in self.curves]
        return (
            np.maximum.reduce([np.asarray(low) for low, _ in found]),
            np.maximum.reduce([np.asarray(high) for _, high in found]),
        )

    def _renyi(self, order: float) -> float:
        return max(float(curve.renyi_at(order)) for curve in self.curves)

    def _renyi_lower(self, order: float) -> float:
        return max(float(curve.renyi_at_lower(order)) for curve in self.curves)

    @cached_property
    def rho(self) -> float:
        """Largest ρ."""
        return max(curve.rho for curve in self.curves)

    @cached_property
    def mu(self) -> float:
        """Largest μ."""
        return max(curve.mu for curve in self.curves)


def worst(curves: Sequence[Curve]) -> Curve:
    """Return the worst of several guarantees, in the simplest form it has."""
    from hush.privacy.notions.gdp import GDP
    from hush.privacy.notions.pure import Pure
    from hush.privacy.notions.zcdp import ZCDP

    distinct = tuple(dict.fromkeys(curves))
    if not distinct:
        raise InvalidArgument("curves must not be empty.")
    for kind, key in ((Pure, "epsilon"), (GDP, "mu"), (ZCDP, "rho")):
        if all(isinstance(each, kind) for each in distinct):
            return max(distinct, key=lambda each: float(getattr(each, key)))
    return distinct[0] if len(distinct) == 1 else Worst(distinct)


def between(curve: Curve) -> Between:
    """Return two finite pairs that lie around a curve, as it is stored."""
    above, below = FinitePair.of(curve.atoms_above), FinitePair.of(curve.atoms_below)
    return Between(above, below, type(curve).__name__, curve.symmetric)


# A curve that has no tag is given by a function.
written_as(Curve, between, untagged=True)
