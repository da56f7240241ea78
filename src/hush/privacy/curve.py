"""A curve: what an outsider can learn about one person, at every exchange rate.

Neighbors come in two orders. In the *remove* direction P is the output law with the
person and Q without, in the *add* direction it is the other way round. A curve bounds
the hockey-stick divergence E_Q[(P/Q - e^ε)+] of both, and everything else follows.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from hush import checks, legacy_formats, serialization, suggestions
from hush.display import facts, if_known
from hush.errors import InvalidArgument
from hush.privacy import duality
from hush.privacy.discrete_pair import Atoms, above, below
from hush.privacy.rounding import Floats, crossing_ends, down, numbers, scalar, up

if TYPE_CHECKING:
    from hush.privacy.pld.loss_distribution import Components

Bracket = tuple[Floats, Floats]


class Direction(StrEnum):
    """Which of two neighbors is the true one: the larger or the smaller."""

    REMOVE = "remove"
    ADD = "add"


BOTH = (Direction.REMOVE, Direction.ADD)

_LONG = 120  # letters; a longer curve prints itself by one of its answers
_SHOWN_AT = 1e-6


@dataclass(frozen=True)
class Curve(checks.Spelled, suggestions.Helpful, ABC):
    """A privacy guarantee that answers the question of every notion.

    Guarantee: plain names never understate the loss; names ending in `_lower` never
    overstate that of the worst mechanism with this guarantee.
    """

    @property
    def _hints(self) -> Mapping[str, str]:
        return suggestions.CURVE

    @abstractmethod
    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket the hockey-stick divergence at e^ε, ε >= 0, in one direction."""

    @property
    def symmetric(self) -> bool:
        """Whether both directions are the same."""
        return True

    # -- approximate differential privacy ---------------------------------------

    def delta_at(self, epsilon: ArrayLike) -> Any:
        """Return a δ with (ε, δ)-privacy, the worse of both directions.

        Example:
            >>> from hush.privacy import GDP
            >>> f"{GDP(mu=1.0).delta_at(1.0):.6f}"
            '0.126937'
        """
        epsilon = numbers("epsilon", epsilon)
        chosen = BOTH[:1] if self.symmetric else BOTH
        found = [self.profile(direction, epsilon)[1] for direction in chosen]
        return scalar(np.clip(np.maximum.reduce(found), 0.0, 1.0))

    def delta_at_lower(self, epsilon: ArrayLike) -> Any:
        """Return a δ below which (ε, δ)-privacy is not promised."""
        epsilon = numbers("epsilon", epsilon)
        chosen = BOTH[:1] if self.symmetric else BOTH
        found = [self.profile(direction, epsilon)[0] for direction in chosen]
        return scalar(np.clip(np.maximum.reduce(found), 0.0, 1.0))

    def epsilon_at(self, delta: ArrayLike) -> Any:
        """Return an ε with (ε, δ)-privacy, rounded up; infinity when there is none.

        Example:
            >>> from hush.privacy import GDP
            >>> f"{GDP(mu=1.0).epsilon_at(1e-5):.5f}"
            '4.37718'
        """
        delta = numbers("delta", delta, at_most=1.0)
        found = [self._epsilon(float(value)) for value in delta.flat]
        return scalar(np.array(found, dtype=np.float64).reshape(delta.shape))

    def epsilon_at_lower(self, delta: ArrayLike) -> Any:
        """Return an ε below which (ε, δ)-privacy is not promised."""
        return self._each(self._epsilon_lower, numbers("delta", delta, at_most=1.0))

    def _each(self, function: Callable[[float], float], values: Floats) -> Any:
        found = [function(float(value)) for value in values.flat]
        return scalar(np.array(found, dtype=np.float64).reshape(values.shape))

    def _epsilon(self, delta: float) -> float:
        return crossing_ends(lambda e: float(self.delta_at(e)), delta)[1]

    def _epsilon_lower(self, delta: float) -> float:
        return crossing_ends(lambda e: float(self.delta_at_lower(e)), delta)[0]

    # -- hypothesis testing ------------------------------------------------------

    def tradeoff_at(self, alpha: ArrayLike) -> Any:
        """Return a type II error that no test of level alpha can beat.

        Guarantee: a tradeoff function, for neighbors in either order (N13.P8).

        Example:
            >>> from hush.privacy import Pure
            >>> f"{Pure(epsilon=1.0).tradeoff_at(0.25):.4f}"
            '0.3204'
        """
        return self._each(self._tradeoff, numbers("alpha", alpha, at_most=1.0))

    def _tradeoff(self, alpha: float) -> float:
        return duality.tradeoff(self.delta_at, alpha)

    def tradeoff_at_upper(self, alpha: ArrayLike) -> Any:
        """Return a type II error that some test of level alpha may reach."""
        alpha = numbers("alpha", alpha, at_most=1.0)
        return scalar(np.minimum(self._each(self._tradeoff_upper, alpha), 1.0 - alpha))

    def _tradeoff_upper(self, alpha: float) -> float:
        pair = self.atoms_below
        power = (np.interp(alpha, *each.power) for each in (pair, pair.reversed))
        return float(up(1.0 - max(alpha, *power)) + 1e-15)

    def power_at(self, alpha: ArrayLike) -> Any:
        """Return a bound on the power of every test of level alpha (N3.4)."""
        return scalar(np.minimum(1.0, 1.0 - np.asarray(self.tradeoff_at(alpha))))

    # -- divergences -------------------------------------------------------------

    def renyi_at(self, order: ArrayLike) -> Any:
        """Return a bound on the Rényi divergence, in nats, of an order >= 1.

        Order 1 is the Kullback-Leibler divergence, infinity the largest loss.

        Example:
            >>> from hush.privacy import GDP
            >>> GDP(mu=1.0).renyi_at([1, 2, 8])
            array([0.5, 1. , 4. ])
        """
        return self._each(self._renyi, numbers("order", order, at_least=1.0))

    def renyi_at_lower(self, order: ArrayLike) -> Any:
        """Return a Rényi divergence that the worst mechanism exceeds."""
        return self._each(self._renyi_lower, numbers("order", order, at_least=1.0))

    def _renyi(self, order: float) -> float:
        if math.isinf(order):
            return float(self.epsilon_at(0.0))
        each = [duality.renyi(pair, order) for pair in self._pairs("above")]
        # Moments beyond the floats bound nothing.
        found = math.inf if any(map(math.isnan, each)) else max(each)
        # One rounding of the moment weighs 1/(α-1) in the divergence.
        found = float(up(found, 1e3)) + 1e-15 / max(order - 1, 1e-3)
        return min(found, float(up(order * self.rho)), self._renyi(math.inf))

    def _renyi_lower(self, order: float) -> float:
        if math.isinf(order):
            return float(self.epsilon_at_lower(0.0))
        each = [duality.renyi(pair, order) for pair in self._pairs("below")]
        found = max((value for value in each if not math.isnan(value)), default=0.0)
        return max(0.0, float(down(found, 1e4)) - 1e-15 / max(order - 1, 1e-3))

    def kl(self) -> float:
        """Return a bound on the Kullback-Leibler divergence, in nats."""
        return float(self.renyi_at(1.0))

    def kl_lower(self) -> float:
        """Return a Kullback-Leibler divergence that the worst mechanism exceeds."""
        return float(self.renyi_at_lower(1.0))

    def total_variation(self) -> float:
        """Return a bound on the total variation distance, δ at ε = 0."""
        return float(self.delta_at(0.0))

    def total_variation_lower(self) -> float:
        """Return a total variation distance that the worst mechanism reaches."""
        return float(self.delta_at_lower(0.0))

    def divergence(self, F: Callable[[Any], Any]) -> float:  # noqa: N803 (its name in print)
        """Return a bound on the F-divergence, F convex with F(1) = 0.

        F may grow no faster than some power of its argument.

        Example:
            >>> from hush.privacy import Pure
            >>> f"{Pure(epsilon=1.0).divergence(lambda t: abs(t - 1) / 2):.6f}"
            '0.462117'
        """
        pairs = self._pairs("above")
        return max(duality.divergence(pair, F, self._renyi)[1] for pair in pairs)

    def divergence_lower(self, F: Callable[[Any], Any]) -> float:  # noqa: N803
        """Return an F-divergence that the worst mechanism exceeds."""
        pairs = self._pairs("below")
        return max(duality.divergence(pair, F, self._renyi)[0] for pair in pairs)

    # Cached, not plain properties: a notion may have a field of the same name.

    @cached_property
    def rho(self) -> float:
        """Smallest proven ρ of ρ-zCDP; infinity where none is known."""
        # Every ε-DP pair is randomized response processed, whose D_α/α has its
        # supremum ε tanh(ε/2) at α = 1 (log cosh √s is concave in s).
        epsilon = float(self.epsilon_at(0.0))
        least = math.ulp(0.0) if epsilon else 0.0  # a product may underflow
        return max(least, float(up(epsilon * math.tanh(epsilon / 2))))

    @cached_property
    def mu(self) -> float:
        """Smallest proven μ of μ-GDP; infinity where none is known."""
        # G_μ is convex, so it lies below f_ε when it meets its corner.
        epsilon = float(self.epsilon_at(0.0))
        return duality.mu_of_pure(epsilon)

    # -- finite pairs on either side ---------------------------------------------

    @property
    def _coarse(self) -> int:
        """Every how many knots a pair for composition takes one."""
        return 1

    @property
    def _negligible_at(self) -> float:
        """An ε from which on δ is negligible, where it is known without a search."""
        return math.inf

    @cached_property
    def _known_knots(self) -> dict[int, Floats]:
        return {}

    def _knots(self, thin: int = 1) -> Floats:
        """Return ε from 0 to where δ has become negligible, one in `thin` of them."""
        known = self._known_knots
        if thin in known:
            return known[thin]
        start, floor = float(self.delta_at(0.0)), float(self.delta_at(math.inf))
        top = self._negligible_at if start > floor else 0.0
        if math.isinf(top):
            chosen = BOTH[:1] if self.symmetric else BOTH
            # `delta_at` of one number without its checks: it is asked often.
            top = crossing_ends(
                lambda epsilon: float(
                    np.clip(
                        np.maximum.reduce(
                            [self.profile(d, np.asarray(epsilon))[1] for d in chosen]
                        ),
                        0.0,
                        1.0,
                    )
                ),
                min(max(floor * (1 + 1e-9), duality.NEGLIGIBLE), start),
            )[1]
        found = np.array([0.0, 1.0])
        if top > 0:  # else δ is negligible from the start, or never falls
            found = duality.first_knots(top, thin)
            found = duality.even_knots(found, self.delta_at(found), thin)
        known[thin] = found
        return found

    @cached_property
    def atoms_above(self) -> Atoms:
        """A finite pair that dominates the remove direction."""
        knots = self._knots()
        forward, backward = (self.profile(each, knots)[1] for each in BOTH)
        return above(knots, np.asarray(forward), np.asarray(backward))

    @cached_property
    def atoms_below(self) -> Atoms:
        """A finite pair that the remove direction dominates."""
        knots = self._knots()
        forward, backward = (self.profile(each, knots) for each in BOTH)
        return below(knots, forward, backward)

    def _pairs(self, side: str) -> tuple[Atoms, ...]:
        pair = self.atoms_above if side == "above" else self.atoms_below
        return (pair,) if self.symmetric else (pair, pair.reversed)

    # -- composition ---------------------------------------------------------------

    def components(self) -> "tuple[Components, Components]":
        """Return dominating loss laws, remove and add, for composition."""
        from hush.privacy.pld import discrete_loss

        if self._coarse == 1:
            return discrete_loss.both(self.atoms_above)
        knots = self._knots(thin=self._coarse)
        forward = np.asarray(self.profile(Direction.REMOVE, knots)[1])
        if self.symmetric:
            return discrete_loss.both(above(knots, forward, forward))
        backward = np.asarray(self.profile(Direction.ADD, knots)[1])
        return discrete_loss.both(above(knots, forward, backward))

    def components_lower(self) -> "tuple[Components, Components]":
        """Return dominated loss laws, remove and add, for lower bounds."""
        from hush.privacy.pld import discrete_loss

        return discrete_loss.both(self.atoms_below)

    # -- one direction, text -------------------------------------------------------

    @property
    def remove(self) -> "Side":
        """The guarantee of a person who is in the data, against leaving."""
        return Side(self, Direction.REMOVE)

    @property
    def add(self) -> "Side":
        """The guarantee of a person who is not in the data, against joining."""
        return Side(self, Direction.ADD)

    def plot(self, *, axes: Any = None) -> Any:
        """Draw the tradeoff between the errors of any test; return the axes."""
        from hush import plots

        return plots.tradeoff(self, axes=axes)

    # `repr` stays whole: a ledger knows two curves apart by it.
    def __str__(self) -> str:
        whole = repr(self)
        return (
            whole
            if len(whole) <= _LONG
            else f"<{self._with_one_answer(type(self).__name__)}>"
        )

    def _with_one_answer(self, name: str) -> str:
        """Return a name with one answer; a dash where none is known."""
        epsilon = if_known(partial(self.epsilon_at, _SHOWN_AT), "{:.6g}".format)
        return f"{name}: epsilon {epsilon} at delta {_SHOWN_AT:g}"

    def _repr_html_(self) -> str:
        shown = [
            (f"ε at δ = {d:g}", if_known(partial(self.epsilon_at, d), "{:.6g}".format))
            for d in (1e-5, 1e-9)
        ]
        delta = if_known(lambda: self.delta_at(1.0), "{:.4g}".format)
        most = if_known(self.total_variation, "{:.1%}".format)
        shown += [("δ at ε = 1", delta), ("hits minus false alarms", f"≤ {most}")]
        return facts(str(self), shown)

    def to_json(self) -> str:
        """Return the curve as JSON text.

        A curve given by a function is written as a table that bounds it soundly.

        Example:
            >>> from hush.privacy import GDP
            >>> Curve.from_json(GDP(mu=1.0).to_json())
            GDP(mu=1.0)
        """
        shown = serialization.to_tagged_json(self, "type")
        return json.dumps(shown, allow_nan=False, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> "Curve":
        """Return the curve that `to_json` wrote."""
        shown = serialization.parse(text, "a curve written by to_json")
        if legacy_formats.is_untagged(shown, "type"):
            found = legacy_formats.curve(shown)
        else:
            found = serialization.from_tagged_json(shown, "type")
        if not isinstance(found, Curve):
            raise InvalidArgument("text must hold a curve; it holds something else.")
        return found


@final
@dataclass(frozen=True)
class Side:
    """One direction of a curve; it can be read but not composed."""

    curve: Curve
    direction: Direction

    def delta_at(self, epsilon: ArrayLike) -> Any:
        """Return δ of this direction alone, rounded up."""
        found = self.curve.profile(self.direction, numbers("epsilon", epsilon))[1]
        return scalar(np.clip(found, 0.0, 1.0))

    def delta_at_lower(self, epsilon: ArrayLike) -> Any:
        """Return δ of this direction alone, rounded down."""
        found = self.curve.profile(self.direction, numbers("epsilon", epsilon))[0]
        return scalar(np.clip(found, 0.0, 1.0))

    def epsilon_at(self, delta: float) -> float:
        """Return ε of this direction alone, rounded up."""
        delta = checks.real("delta", delta, at_least=0, at_most=1)
        return crossing_ends(lambda e: float(self.delta_at(e)), delta)[1]

    def epsilon_at_lower(self, delta: float) -> float:
        """Return ε of this direction alone, rounded down."""
        delta = checks.real("delta", delta, at_least=0, at_most=1)
        return crossing_ends(lambda e: float(self.delta_at_lower(e)), delta)[0]


def checked_curve(name: str, value: Any) -> Curve:
    """Return a curve, or say how to make one of what was given.

    Example:
        >>> from hush.privacy import GDP
        >>> checked_curve("claim", GDP(mu=1.0))
        GDP(mu=1.0)
    """
    if isinstance(value, Curve):
        return value
    got, way = type(value).__name__, "Write Pure(epsilon=1.0), or another of its kind."
    if hasattr(value, "curve") and not isinstance(value, type):
        got, way = repr(value), f"Write {value!r}.curve(sensitivity)."
    elif isinstance(value, list | tuple):
        pair = len(value) == 2 and not any(isinstance(x, Curve) for x in value)
        star = "Unpack it with a star: (*curves)."
        way = "Write Approx(epsilon, delta)." if pair else star
    raise InvalidArgument(f"{name} must be a curve; got {got}. {way}")


def checked_curves(name: str, value: Any) -> Any:
    """Return several curves, or say that one is not a list of them."""
    if isinstance(value, Curve):
        raise InvalidArgument(f"{name} must be a list of curves; got one. Write [it].")
    return value


__all__ = [
    "BOTH",
    "Bracket",
    "Curve",
    "Direction",
    "Side",
    "checked_curve",
    "checked_curves",
]
