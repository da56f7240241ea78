"""The loss of a composition: independent losses add, in each direction by itself."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from hush import checks
from hush.errors import InvalidArgument
from hush.privacy.curve import BOTH, Bracket, Curve, Direction
from hush.privacy.notions import rdp
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.pure import Pure
from hush.privacy.notions.rdp import RDP
from hush.privacy.notions.zcdp import ZCDP
from hush.privacy.rounding import Floats, up
from hush.privacy.rules import optimal_composition
from hush.serialization import tagged

if TYPE_CHECKING:
    from hush.privacy.curve import Components


@final
@tagged("composition/1")
@dataclass(frozen=True, repr=False)
class Loss(Curve):
    """The guarantee of several mechanisms run on the same people.

    `parts` lists curves and how often each is used. Each may be chosen in view of the
    answers before it, as long as its curve was fixed in advance.

    Guarantee: the product of the parts' dominating pairs, direction by direction.

    Example:
        >>> Loss(((Pure(epsilon=0.1), 3),))
        compose(Pure(epsilon=0.1) * 3)

    Reference: [DRS22] Theorem 3.2; [ZDW22] Theorem 10 (N13.T4, N14.P1).
    """

    parts: tuple[tuple[Curve, int], ...]

    def __post_init__(self) -> None:
        for curve, times in self.parts:
            times = checks.whole("times", times, at_least=1)
            if not isinstance(curve, Curve) or isinstance(curve, Loss):
                raise InvalidArgument(f"parts must be single curves; got {curve!r}.")

    def __repr__(self) -> str:
        shown = [f"{c!r} * {k}" if k > 1 else repr(c) for c, k in self.parts]
        return f"compose({', '.join(shown)})"

    @property
    def symmetric(self) -> bool:
        """Whether every part is."""
        return all(curve.symmetric for curve, _ in self.parts)

    @cached_property
    def _above(self) -> "tuple[Components, Components]":
        found = [curve.components() for curve, _ in self.parts]
        return _joined(self.parts, found, 0), _joined(self.parts, found, 1)

    @cached_property
    def _below(self) -> "tuple[Components, Components]":
        found = [curve.components_lower() for curve, _ in self.parts]
        return _joined(self.parts, found, 0), _joined(self.parts, found, 1)

    def components(self) -> "tuple[Components, Components]":
        """Return all parts' loss laws, remove and add."""
        return self._above

    def components_lower(self) -> "tuple[Components, Components]":
        """Return all parts' loss laws from below, remove and add."""
        return self._below

    @cached_property
    def _exact(self) -> bool:
        return self._above == self._below

    @cached_property
    def _copies(self) -> tuple[float, float, int] | None:
        """The (ε, δ, k) of k equal parts with a closed form."""
        # Beyond this the engines, whose cost does not grow with k, are faster.
        if len(self.parts) == 1 and self.parts[0][1] <= 200_000:
            curve, times = self.parts[0]
            if isinstance(curve, Pure):
                return curve.epsilon, 0.0, times
            if isinstance(curve, Approx):
                return curve.epsilon, curve.delta, times
        return None

    @cached_property
    def _by_moments(self) -> bool:
        """Whether a part is known by its moments, so that these may add up better."""
        return any(isinstance(curve, RDP | ZCDP) for curve, _ in self.parts)

    def _moments(self, orders: Floats) -> Floats:
        return np.array([self._renyi(float(order)) for order in orders])

    @cached_property
    def _known_moments(self) -> Floats:
        return self._moments(rdp.ORDERS)

    def _lookup(self, orders: Floats) -> Floats:
        return self._known_moments if orders is rdp.ORDERS else self._moments(orders)

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket δ by the closed form or by the engines."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        if self._copies is not None:
            return optimal_composition.copies(*self._copies, epsilon)
        from hush.privacy.accountants import dispatch

        side = BOTH.index(direction)
        far = np.isinf(epsilon)
        near = np.where(far, 0.0, epsilon)
        low, high = dispatch.delta_bracket(self._above[side], near)
        if not self._exact:
            low = dispatch.delta_bracket(self._below[side], near)[0]
        never = _infinite(self._below[side], lower=True), _infinite(self._above[side])
        low, high = np.where(far, never[0], low), np.where(far, never[1], high)
        if self._by_moments:
            known = rdp.delta(self._lookup, rdp.ORDERS, epsilon, smooth=False)
            high = np.minimum(high, known)
        return low, high

    def _epsilon(self, delta: float) -> float:
        if delta == 0.0:
            return _sum(times * curve.epsilon_at(0.0) for curve, times in self.parts)
        if self._copies is not None:
            return super()._epsilon(delta)
        found = max(0.0, *(high for _, high in self._brackets(self._above, delta)))
        if self._by_moments and found > 0 and self._moments_help(found, delta):
            found = min(found, RDP(self._renyi).epsilon_at(delta))
        return found

    def _moments_help(self, epsilon: float, delta: float) -> bool:
        """Tell whether the sum of the moments may have a smaller ε at this δ."""
        if math.isinf(epsilon):
            return True
        known = rdp.delta(self._lookup, rdp.ORDERS, np.array([epsilon]), smooth=False)
        return bool(known[0] <= 1.1 * delta)

    @cached_property
    def _answered(self) -> "dict[tuple[Components, float], tuple[float, float]]":
        return {}

    def _brackets(
        self, sides: "tuple[Components, Components]", delta: float
    ) -> list[tuple[float, float]]:
        """Bracket ε of each direction; both ends come at once, so they are kept."""
        from hush.privacy.accountants import dispatch

        known = self._answered
        for side in sides[:1] if self.symmetric else sides:
            if (side, delta) not in known:
                known[side, delta] = dispatch.epsilon_bracket(side, delta)
        return [known[side, delta] for side in sides if (side, delta) in known]

    def _epsilon_lower(self, delta: float) -> float:
        if delta == 0.0:  # a composition reveals at least what each part does
            return max(float(curve.epsilon_at_lower(0.0)) for curve, _ in self.parts)
        if self._copies is not None:
            return super()._epsilon_lower(delta)
        return max(0.0, *(low for low, _ in self._brackets(self._below, delta)))

    def _renyi(self, order: float) -> float:
        # Rényi divergences of products add (N12.3).
        known = self._renyi_known
        if order not in known:
            known[order] = _sum(
                times * part._renyi(order) for part, times in self.parts
            )
        return known[order]

    @cached_property
    def _renyi_known(self) -> dict[float, float]:
        return {}

    def _renyi_lower(self, order: float) -> float:
        if not self.symmetric:
            return max(float(c.renyi_at_lower(order)) for c, _ in self.parts)
        each = [k * float(curve.renyi_at_lower(order)) for curve, k in self.parts]
        return math.fsum(each) * (1 - 1e-15)

    @cached_property
    def rho(self) -> float:
        """Sum of the parts' ρ."""
        return _sum(times * curve.rho for curve, times in self.parts)

    @cached_property
    def mu(self) -> float:
        """Root of the sum of the parts' μ² (N13.T4)."""
        return math.sqrt(
            _sum(times * (curve.mu * curve.mu) for curve, times in self.parts)
        )


def _sum(values: object) -> float:
    total = math.fsum(values)  # type: ignore[arg-type]
    return float(up(total, 2)) if total else 0.0


def _joined(
    parts: tuple[tuple[Curve, int], ...],
    found: "list[tuple[Components, Components]]",
    side: int,
) -> "Components":
    """Return one direction of all parts, equal laws counted together."""
    counts: dict[object, int] = {}
    for (_, times), each in zip(parts, found, strict=True):
        for law, count in each[side]:
            counts[law] = counts.get(law, 0) + times * count
    return tuple(counts.items())  # type: ignore[arg-type]


def _infinite(components: "Components", *, lower: bool = False) -> float:
    """Return the chance that some part's loss is infinite."""
    kept = 0.0
    for law, times in components:
        mass = law.infinite_mass_lower if lower else law.infinite_mass
        kept += times * math.log1p(-mass) if mass < 1 else -math.inf
    found = -math.expm1(kept)
    return found * (1 - 1e-14) if lower else float(up(found, 64))
