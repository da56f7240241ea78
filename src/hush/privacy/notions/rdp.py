"""Rényi privacy (RDP): a bound on the Rényi divergence for every order."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from hush import checks
from hush.errors import InvalidArgument
from hush.privacy import duality
from hush.privacy.curve import Bracket, Curve, Direction
from hush.privacy.discrete_pair import Atoms, above
from hush.privacy.rounding import ULP, Floats, up
from hush.serialization import tagged, written_as

_WAY_OUT = "Give a bound on D_α for every order α > 1, in nats; infinity is allowed."


@final
@tagged("rdp/1")
@dataclass(frozen=True, repr=False)
class RDP(Curve):
    """(α, ε(α))-Rényi differential privacy, `function` mapping α > 1 to ε(α).

    Guarantee: D_α(M(x)||M(x')) <= function(α) for neighbors in either order.

    Example:
        >>> c = RDP(lambda order: order / 2)
        >>> f"{c.epsilon_at(1e-5):.2f} {c.classical_epsilon_at(1e-5):.2f}"
        '4.73 5.30'

    Reference: [M17]; conversion [CKS20] and [ALCKS21].
    """

    function: Callable[[float], float]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidArgument(
                "function must map an order to ε, as in lambda order: order / 2; got a "
                f"{type(self.function).__name__}. For a list of orders and one of "
                "epsilons use RDP.table."
            )
        values = self._known
        bad = np.isnan(values) | (values < 0)
        if bad.any():
            order, value = self._orders[bad][0], values[bad][0]
            raise InvalidArgument(
                f"function(order) must be non-negative; at {order:g} it is {value!r}. "
                + _WAY_OUT
            )
        finite = values[np.isfinite(values)]
        fall = np.diff(values[: finite.size]) < -1e-9 * np.abs(finite[1:]) - 1e-300
        if finite.size < values.size and not np.all(np.isinf(values[finite.size :])):
            fall = np.append(fall, True)
        if fall.any():
            order = self._orders[1:][fall.argmax()]
            raise InvalidArgument(
                f"function must not decrease with the order; it falls before order "
                f"{order:g}. Rényi divergence rises with its order. " + _WAY_OUT
            )

    @classmethod
    def table(cls, orders: Sequence[float], epsilons: Sequence[float]) -> "RDP":
        """Return the guarantee known at some orders only.

        Between them (α-1)ε(α) is convex, so chords bound it; below the first the first
        value holds, above the last nothing does.

        Example:
            >>> RDP.table([2, 4, 8], [1.0, 2.0, 4.0]).renyi_at([1.5, 3, 16])
            array([1. , 1.75, inf])
        """
        return cls(OrderTable(tuple(map(float, orders)), tuple(map(float, epsilons))))

    def __repr__(self) -> str:
        if isinstance(self.function, OrderTable):
            return f"RDP.table({self.function.orders}, {self.function.epsilons})"
        return f"RDP({getattr(self.function, '__name__', 'function')})"

    def _evaluate(self, orders: Floats) -> Floats:
        found = [_number(self.function(float(order))) for order in orders]
        return np.array(found, dtype=np.float64)

    @cached_property
    def _orders(self) -> Floats:
        """Orders that are tried: those of a table are among them."""
        if isinstance(self.function, OrderTable):
            return np.union1d(ORDERS, self.function.orders)
        return ORDERS

    @cached_property
    def _known(self) -> Floats:
        return self._evaluate(self._orders)

    def _values(self, orders: Floats) -> Floats:
        return self._known if orders is self._orders else self._evaluate(orders)

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket δ; no lower bound is known for a general function."""
        found = delta(self._values, self._orders, epsilon, smooth=False)
        return np.zeros(np.shape(epsilon)), np.minimum(
            found, self._hull.hockey(epsilon)
        )

    @property
    def _coarse(self) -> int:
        return 4  # the conversion is looser than the chords

    @property
    def _negligible_at(self) -> float:
        return self.classical_epsilon_at(duality.NEGLIGIBLE)

    @cached_property
    def _hull(self) -> Atoms:
        return hull(self._values, smooth=False)

    @property
    def atoms_below(self) -> Atoms:
        """The pair of a mechanism that says nothing: no better is known."""
        return Atoms(np.zeros(1), np.ones(1))

    def _renyi_lower(self, order: float) -> float:
        return 0.0

    def _renyi(self, order: float) -> float:
        if order == 1.0:
            order = 1 + 1e-6  # the divergence rises with its order
        return _number(self.function(order)) if math.isfinite(order) else self._limit

    @cached_property
    def _limit(self) -> float:
        known = _finite_at_infinity(self)
        return _number(self.function(math.inf)) if known else math.inf

    @cached_property
    def rho(self) -> float:
        """Unknown from values at points: infinity."""
        return math.inf

    @cached_property
    def mu(self) -> float:
        """Rényi bounds never imply a tradeoff curve of Gaussian shape: infinity."""
        return math.inf

    def classical_epsilon_at(self, delta: float) -> float:
        """Return min over α of ε(α) + log(1/δ)/(α-1), for comparison (N12.2).

        The orders that are tried are those of a table and a fixed grid: any is sound.

        Example:
            >>> c = RDP.table([8], [0.4])
            >>> f"{c.classical_epsilon_at(1e-5):.5f}"  # 0.4 + log(1e5)/7
            '2.04470'
        """
        delta = checks.real("delta", delta, at_least=0, at_most=1)
        return classical_epsilon(self._values, self._orders, delta)

    def moment_delta_at(self, epsilon: float) -> float:
        """Return min over λ of e^(λ(ε(λ+1) - ε)), the moments accountant (N11.2)."""
        epsilon = checks.real("epsilon", epsilon, at_least=0)
        exponent = (self._orders - 1) * (self._known - epsilon)
        return min(1.0, float(np.exp(np.minimum(exponent.min(), 0.0))))

    def probability_bounds(self, probability: float) -> tuple[float, float]:
        """Bound P(M(x) in S) when P(M(x') in S) is `probability` (N12.P1).

        Example:
            >>> low, high = RDP(lambda order: 0.01 * order).probability_bounds(0.1)
            >>> f"{low:.3f} {high:.3f}"
            '0.073 0.134'
        """
        p = checks.real("probability", probability, at_least=0, at_most=1)
        if p == 0:
            return 0.0, 0.0
        a, r = self._orders, self._known
        with np.errstate(invalid="ignore"):
            high = (a - 1) / a * (r + math.log(p))
            low = -r + a / (a - 1) * math.log(p)
        return float(np.exp(low.max())), min(1.0, float(up(np.exp(high.min()))))


@final
@tagged("rdp_table/1")
@dataclass(frozen=True)
class OrderTable:
    """Rényi bounds at finitely many orders, carried to all others soundly."""

    orders: tuple[float, ...]
    epsilons: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.orders) != len(self.epsilons) or not self.orders:
            raise InvalidArgument(
                "orders and epsilons must be lists of one length >= 1."
            )
        if self.orders[0] <= 1 or any(np.diff(self.orders) <= 0):
            raise InvalidArgument(f"orders must rise from above 1; got {self.orders}.")

    def __call__(self, order: float) -> float:
        """Return the bound at `order`."""
        if order <= self.orders[0]:
            return self.epsilons[0]
        if order > self.orders[-1]:
            return math.inf
        a, e = np.array(self.orders), np.array(self.epsilons)
        if np.any(a == order):
            return float(e[a == order][0])
        j = int(np.searchsorted(a, order))
        share = (order - a[j - 1]) / (a[j] - a[j - 1])
        chord = (1 - share) * (a[j - 1] - 1) * e[j - 1] + share * (a[j] - 1) * e[j]
        return min(float(chord / (order - 1)), float(e[j]))


def _number(value: Any) -> float:
    """Return what a function gave as a float; NaN where it is no number."""
    array = isinstance(value, np.ndarray) and value.ndim == 0
    try:
        return checks.real(
            "function(order)", value[()] if array else value, infinite=True
        )
    except InvalidArgument:
        return math.nan


def _finite_at_infinity(curve: RDP) -> bool:
    try:
        value: Any = curve.function(math.inf)
        return math.isfinite(_number(value))
    except (ArithmeticError, ValueError):
        return False


def _as_table(curve: RDP) -> RDP:
    """Return the guarantee at the orders where it is known, as it is stored."""
    if isinstance(curve.function, OrderTable):
        return curve
    known = zip(ORDERS.tolist(), curve._known.tolist(), strict=True)
    kept = [(order, epsilon) for order, epsilon in known if math.isfinite(epsilon)]
    return RDP.table([order for order, _ in kept], [epsilon for _, epsilon in kept])


written_as(RDP, _as_table)


# -- From Rényi divergences to (ε, δ): the best that one order at a time allows --------
#
# All pairs with D_α(P||Q) <= r have hockey-stick at most sup {p - γq : G(p, q) <= M}
# with G(p, q) = p^α q^(1-α) + (1-p)^α (1-q)^(1-α), M = e^((α-1)r), γ = e^ε (two
# outcomes suffice). G is convex, so planes below it, touching where the ratios are u
# and t = wu, give for every w in [0, 1), with u = γ α/(α-1) (1-w^(α-1))/(1-w^α),
#
#     δ <= u^(1-α) (M - αt^(α-1) + (α-1)t^α) / (α (1-w^(α-1))),
#
# and strong duality makes the best w exact, but for r >= ε + log(α/(α-1)), where p =
# 1 is best. At w = 0 it is the bound of [CKS20].

Renyi = Callable[[Floats], Floats]

# Orders that are tried, forty for each power of ten of α-1: small ones serve a large δ,
# large ones losses that are nearly pure.
ORDERS = 1 + np.geomspace(1e-4, 1e6, 401)
# Planes, by w = e^-v: v = v₀(1 + z) for z < 0 and v₀ + z above, v₀ = ε + log(α/(α-1)).
_SHIFTS = np.concatenate(
    [-1 + np.geomspace(1e-4, 0.98, 24), [0.0], np.geomspace(0.02, 60, 26), [np.inf]]
)


def log_delta(
    order: Floats, divergence: Floats, epsilon: Floats, shift: Floats
) -> Floats:
    """Return log of the bound above on the plane `shift`, rounded up."""
    s = order - 1
    with np.errstate(all="ignore"):
        base = epsilon - np.log1p(-1 / order)
        v = np.where(shift < 0, base * (1 + shift), base + np.maximum(shift, 0.0))
        narrow = -np.expm1(-s * v)
        log_u = base + np.log(narrow / -np.expm1(-order * v))
        x = log_u - v  # log t
        power = np.exp(s * x)
        rest = -np.expm1(s * x) + power * s * np.expm1(x)
        rest = np.where(np.isinf(v), 1.0, np.maximum(rest, 0.0))
        blur = 16 * ULP * power * s * np.abs(x)
        rest += np.where(np.isinf(v), 0.0, 2 * blur)
        grown = s * divergence
        moment = np.where(
            grown > 40,  # e^-40 = 4e-18: the other form would overflow farther out
            grown + np.log1p(rest * np.exp(-grown)),
            np.log(np.expm1(grown) + rest),
        )
        found = moment - s * log_u - np.log(order) - np.log(narrow)
        slack = 16 * ULP * (np.abs(grown) + np.abs(s * log_u) + np.abs(moment) + 4)
        # Where the best p is 1, q = e^-r: the bound is 1 - e^(ε-r).
        corner = np.log(-np.expm1(epsilon - divergence)) + 8 * ULP
        found = np.where(
            divergence >= base, np.fmin(found + slack, corner), found + slack
        )
    return np.where(np.isnan(found), np.inf, np.minimum(found, 0.0))


def delta(renyi: Renyi, orders: Floats, epsilon: Floats, *, smooth: bool) -> Floats:
    """Return the smallest δ over orders and planes found, for each ε; any is sound.

    `smooth` allows orders between those listed; `renyi` then takes arrays cheaply.
    """
    flat = np.atleast_1d(np.asarray(epsilon, dtype=np.float64)).ravel()
    known = renyi(orders)
    orders, known = orders[np.isfinite(known)], known[np.isfinite(known)]
    best = np.zeros(flat.size)
    block = 256  # values of ε at once, to keep the tables of all orders small
    for start in range(0, flat.size, block):
        part = flat[start : start + block, None]
        best[start : start + block] = _search(renyi, orders, known, part, smooth=smooth)
    # Underflow must not turn an unbounded loss into a bounded one.
    result = np.minimum(np.exp(best) * (1 + 4 * ULP) + 5e-324, 1.0)
    result[np.isinf(flat)] = 0.0 if orders.size else 1.0
    return result.reshape(np.shape(epsilon))


def _search(
    renyi: Renyi, orders: Floats, known: Floats, epsilon: Floats, *, smooth: bool
) -> Floats:
    """Return log δ for a column of ε: orders and planes in turn, then both closer."""
    rows = np.arange(epsilon.shape[0])
    if orders.size == 0:
        return np.zeros(rows.size)
    best, at, plane = np.zeros(rows.size), np.zeros(rows.size, dtype=int), 60.0 + rows
    for start in (
        np.inf,
        -0.95,
    ):  # the best plane is far out for small δ, near for large
        shift = np.full_like(epsilon, start)
        for _ in range(3):  # orders and planes hardly move after the second turn
            table = log_delta(orders, known, epsilon, shift)
            pick = table.argmin(axis=1)
            planes = log_delta(
                orders[pick][:, None], known[pick][:, None], epsilon, _SHIFTS
            )
            shift = _SHIFTS[planes.argmin(axis=1)][:, None]
        found = planes.min(axis=1)
        better = found <= best
        at, plane = np.where(better, pick, at), np.where(better, shift[:, 0], plane)
        best = np.minimum(np.minimum(best, found), table[rows, pick])
    order, divergence = orders[at][:, None], known[at][:, None]
    # Log distance between neighboring orders, then zoom by 2.5 a time: seven zooms make
    # it 600 times smaller. On the way planes move by 0.3 of themselves at most. Seven
    # points for each, so that the best one is seen between two others.
    reach = math.log((orders[-1] - 1) / (orders[0] - 1)) / max(orders.size - 1, 1)
    centre, plane, spread = np.log(order - 1), np.minimum(plane, 60.0)[:, None], 0.3
    offsets = np.linspace(-1, 1, 7)
    for _ in range(7):
        near = 1 + np.exp(centre + reach * offsets) if smooth else order
        values = renyi(near) if smooth else divergence
        size = spread * np.where(plane < 0, 1 + plane, 0.1 + plane)
        shifts = np.maximum(plane + size * offsets, -1 + 1e-9)
        cube = log_delta(
            near[:, :, None],
            values[:, :, None],
            epsilon[:, :, None],
            shifts[:, None, :],
        )
        i, j = np.unravel_index(
            cube.reshape(rows.size, -1).argmin(axis=1), cube.shape[1:]
        )
        best = np.minimum(best, cube[rows, i, j])
        centre = np.log(near[rows, i] - 1)[:, None]
        plane = shifts[rows, j][:, None]
        reach, spread = reach / 2.5, spread / 2.5
    return best


def hull(renyi: Renyi, *, smooth: bool) -> Atoms:
    """Return a pair above the convex hull of the bound.

    True profiles are convex in e^ε, but the best order at each ε need not give a convex
    bound: chords between good points are sound as well, and better.
    """
    # Sixty points over three powers of ten, to a δ of 1e-9: the hull helps large δ.
    top = min(classical_epsilon(renyi, ORDERS, 1e-9), 500.0)
    knots = (
        np.append(0.0, np.geomspace(1e-3 * top, top, 60)) if top > 0 else np.zeros(1)
    )
    values = delta(renyi, ORDERS, knots, smooth=smooth)
    return above(knots, values, values)


def classical_epsilon(renyi: Renyi, orders: Floats, delta: float) -> float:
    """Return min over orders of r(α) + log(1/δ)/(α-1), the textbook conversion."""
    if delta <= 0:
        return math.inf
    found = renyi(orders) + math.log(1 / delta) / (orders - 1)
    return max(0.0, float(np.min(found)) * (1 + 8 * ULP))
