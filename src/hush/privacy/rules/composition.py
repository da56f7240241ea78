"""Composition: what several releases about the same people reveal together.

Independent losses add, in each direction by itself.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from hush import checks, suggestions
from hush.errors import InvalidArgument
from hush.privacy.curve import BOTH, Bracket, Curve, Direction, checked_curve
from hush.privacy.notions import rdp
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.gdp import GDP
from hush.privacy.notions.pure import Pure
from hush.privacy.notions.rdp import RDP
from hush.privacy.notions.zcdp import ZCDP
from hush.privacy.rounding import Floats, total_up, up
from hush.privacy.rules import optimal_composition
from hush.serialization import tagged

if TYPE_CHECKING:
    from hush.privacy.pld.loss_distribution import Components


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
        return _all_laws(self.parts, found, 0), _all_laws(self.parts, found, 1)

    @cached_property
    def _below(self) -> "tuple[Components, Components]":
        found = [curve.components_lower() for curve, _ in self.parts]
        return _all_laws(self.parts, found, 0), _all_laws(self.parts, found, 1)

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
        side = BOTH.index(direction)
        far = np.isinf(epsilon)
        near = np.where(far, 0.0, epsilon)
        low, high = _delta_bracket(self._above[side], near)
        if not self._exact:
            low = _delta_bracket(self._below[side], near)[0]
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
    def _epsilon_brackets(
        self,
    ) -> "dict[tuple[Components, float], tuple[float, float]]":
        return {}

    def _brackets(
        self, sides: "tuple[Components, Components]", delta: float
    ) -> list[tuple[float, float]]:
        """Bracket ε of each direction; both ends come at once, so they are kept."""
        from hush.privacy.accountants import tightest

        known = self._epsilon_brackets
        for side in sides[:1] if self.symmetric else sides:
            if (side, delta) not in known:
                silent = not side or delta >= 1
                found = (0.0, 0.0) if silent else tightest.epsilon_bracket(side, delta)
                known[side, delta] = found
        return [known[side, delta] for side in sides if (side, delta) in known]

    def _epsilon_lower(self, delta: float) -> float:
        if delta == 0.0:  # a composition reveals at least what each part does
            return max(float(curve.epsilon_at_lower(0.0)) for curve, _ in self.parts)
        if self._copies is not None:
            return super()._epsilon_lower(delta)
        return max(0.0, *(low for low, _ in self._brackets(self._below, delta)))

    def _renyi(self, order: float) -> float:
        # Rényi divergences of products add (N12.3).
        known = self._renyi_cache
        if order not in known:
            known[order] = _sum(
                times * part._renyi(order) for part, times in self.parts
            )
        return known[order]

    @cached_property
    def _renyi_cache(self) -> dict[float, float]:
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


def _delta_bracket(components: "Components", epsilon: Floats) -> Bracket:
    """Bracket δ of independent losses; without any, nothing is lost."""
    from hush.privacy.accountants import tightest

    if not components:
        zero = np.zeros(np.shape(epsilon))
        return zero, zero
    return tightest.delta_bracket(components, epsilon)


def _sum(values: object) -> float:
    total = math.fsum(values)  # type: ignore[arg-type]
    return float(up(total, 2)) if total else 0.0


def _all_laws(
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


# -- Curves of several curves ----------------------------------------------------------

Counts = dict[Curve, int]
_MOST = 1 << 63  # runs: more than can ever be made, and few enough for floats


def compose(*curves: Curve) -> Curve:
    """Return the guarantee of all mechanisms together, as tight as it is known.

    Each mechanism may depend on the answers before it; its curve may not.

    Guarantee: closed forms for Gaussian, zero-concentrated and Rényi curves among
    themselves; otherwise products of dominating pairs, bracketed by the engines.

    Example:
        >>> compose(GDP(mu=3.0), GDP(mu=4.0))
        GDP(mu=5.0)
        >>> compose(Pure(epsilon=0.5), Pure(epsilon=0.5))
        compose(Pure(epsilon=0.5) * 2)

    Reference: [DRS22] Theorem 3.2; [BS16] Lemma 1.7; [M17] Proposition 1.
    """
    return _compose([(checked_curve("each part", each), 1) for each in curves])


@suggestions.with_argument_hints({})
def repeat(curve: Curve, times: int) -> Curve:
    """Return the guarantee of `times` runs of mechanisms with this curve.

    Example:
        >>> repeat(GDP(mu=0.5), times=16)
        GDP(mu=2.0)
        >>> f"{repeat(Pure(epsilon=0.1), times=100).epsilon_at(1e-6):.4f}"
        '4.7746'
    """
    checked_curve("curve", curve)
    times = checks.whole("times", times, at_least=0, at_most=_MOST)
    return _compose([(curve, times)] if times else [])


def _compose(listed: list[tuple[Curve, int]]) -> Curve:
    counts: dict[Curve, int] = {}
    for curve, times in listed:
        inner = curve.parts if isinstance(curve, Loss) else ((curve, 1),)
        for part, count in inner:
            counts[part] = counts.get(part, 0) + count * times
    counts = {c: k for c, k in counts.items() if not _silent(c)}
    if not counts:
        return Pure(epsilon=0.0)
    gaussian: Counts = {c: k for c, k in counts.items() if isinstance(c, GDP)}
    moments: Counts = {c: k for c, k in counts.items() if isinstance(c, ZCDP | RDP)}
    parts = [(c, k) for c, k in counts.items() if not isinstance(c, GDP | ZCDP | RDP)]
    if gaussian:
        parts.append((_gaussian(gaussian), 1))
    if moments:
        parts.append((_moments(moments), 1))
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    return Loss(tuple(parts))


def _silent(curve: Curve) -> bool:
    return isinstance(curve, Pure | Approx) and curve.epsilon_at(0.0) == 0.0


def _gaussian(counts: dict[Curve, int]) -> GDP:
    """Return √(Σ k μ²), the smallest float that is not below it."""
    if any(math.isinf(c.mu) for c in counts):
        return GDP(mu=math.inf)
    total = sum((k * Fraction(c.mu) ** 2 for c, k in counts.items()), Fraction())
    root = math.sqrt(float(total))
    while Fraction(root) ** 2 < total:
        root = math.nextafter(root, math.inf)
    return GDP(mu=root)


def _moments(counts: dict[Curve, int]) -> Curve:
    """Return Σ k D_α: as ρ-zCDP while all parts are, as a Rényi curve otherwise."""
    if any(math.isinf(c.rho) for c in counts if isinstance(c, ZCDP)):
        return ZCDP(rho=math.inf)
    if all(isinstance(c, ZCDP) for c in counts):
        return ZCDP(rho=total_up([k * Fraction(c.rho) for c, k in counts.items()]))
    if len(counts) == 1 and next(iter(counts.values())) == 1:
        return next(iter(counts))
    pairs = tuple(counts.items())

    def total(order: float) -> float:
        found = math.fsum(k * float(c.renyi_at(order)) for c, k in pairs)
        return found * (1 + 2.0**-50)

    return RDP(total)


def basic(*curves: Curve) -> Curve:
    """Return (Σε, Σδ): basic composition, valid even for parameters chosen on the way.

    Example:
        >>> basic(Pure(epsilon=0.5), Approx(epsilon=1.0, delta=1e-6))
        Approx(epsilon=1.5, delta=1e-06)

    Reference: [DR14] Theorem 3.16 (N3.3, L.comp).
    """
    for each in curves:
        if not isinstance(each, Pure | Approx):
            raise InvalidArgument(
                f"basic adds (ε, δ); got {each!r}. Give Approx(c.epsilon_at(δ), δ)."
            )
    losses = [each.epsilon for each in curves if isinstance(each, Pure | Approx)]
    failures = [each.delta for each in curves if isinstance(each, Approx)]
    if any(math.isinf(value) for value in losses):
        return Pure(epsilon=math.inf)
    delta = total_up([Fraction(value) for value in failures])
    epsilon = total_up([Fraction(value) for value in losses])
    if delta >= 1:
        return Pure(epsilon=math.inf)
    return Approx(epsilon, delta) if failures else Pure(epsilon)
