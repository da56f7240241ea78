"""The Blackwell order: which of two guarantees is more private, or neither."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import final

import numpy as np

from hush.privacy.curve import BOTH, Curve, checked_curve
from hush.privacy.rounding import Floats

_FAR, _LEAST = 700.0, 1e-300  # the ends of floats: of e^ε, and of δ


class Order(StrEnum):
    """The outcome of a comparison."""

    FIRST = "first"
    SECOND = "second"
    EQUAL = "equal"
    NEITHER = "neither"


@final
@dataclass(frozen=True)
class Comparison:
    """Which curve is more private, and where the other one is, if anywhere.

    Guarantee: NEITHER is proven by the two witnesses: at `first_at` the first curve has
    the provably smaller δ, at `second_at` the second one. The other outcomes say that
    no such witness exists among the `tried` values of ε, from 0 to `up_to`; two equal
    values need no trial.

    Example:
        >>> from hush.privacy import GDP
        >>> print(compare(GDP(mu=1.0), GDP(mu=2.0)))
        first: more private at epsilon 0.984; the second nowhere, 178 tried up to 82
    """

    order: Order
    first_at: float | None
    second_at: float | None
    tried: int = 0
    up_to: float = math.inf

    def __str__(self) -> str:
        searched = f"{self.tried} tried up to {self.up_to:.3g}"
        first, second = (_place(each) for each in (self.first_at, self.second_at))
        equal = f"not told apart at any epsilon, {searched}"
        said = {
            Order.FIRST: f"more private at {first}; the second nowhere, {searched}",
            Order.SECOND: f"more private at {second}; the first nowhere, {searched}",
            Order.NEITHER: f"the first is more private at {first}, the second at "
            f"{second}",
            Order.EQUAL: equal if self.tried else "one and the same guarantee",
        }
        return f"{self.order}: {said[self.order]}"


def _place(epsilon: float | None) -> str:
    return "" if epsilon is None else f"epsilon {epsilon:.3g}"


def compare(first: Curve, second: Curve) -> Comparison:
    """Compare two guarantees for every test at once, out to where δ ends as a float.

    Guarantee: a witness is a proof. That there is none is known for the ε tried only,
    which the result counts.

    Example:
        >>> from hush.privacy import GDP, Pure
        >>> compare(GDP(mu=1.0), GDP(mu=2.0)).order
        <Order.FIRST: 'first'>
        >>> compare(Pure(epsilon=0.5), GDP(mu=0.5)).order
        <Order.NEITHER: 'neither'>

    Reference: [B51]; [DRS22] Theorem 2.10 (N13.T2, N13.P7).
    """
    checked_curve("first", first), checked_curve("second", second)
    if first == second:
        return Comparison(Order.EQUAL, None, None)
    tops = [curve.epsilon_at(1e-12) for curve in (first, second)]
    finite = [top for top in tops if np.isfinite(top)]
    top = max(finite) if finite else 50.0
    epsilon = _epsilons_to_try((first, second), max(top, 1e-3), finite)
    where: list[float | None] = [None, None]
    for direction in BOTH[:1] if first.symmetric and second.symmetric else BOTH:
        (low_1, high_1), (low_2, high_2) = (
            curve.profile(direction, epsilon) for curve in (first, second)
        )
        # The smaller ε witnesses a gap most visibly: take the widest.
        for index, (high, low) in enumerate(((high_1, low_2), (high_2, low_1))):
            gap = np.asarray(low) - np.asarray(high)
            best = int(gap.argmax())
            if gap[best] > 0:
                where[index] = float(epsilon[best])
    better = where[0] is not None, where[1] is not None
    order = {
        (True, True): Order.NEITHER,
        (True, False): Order.FIRST,
        (False, True): Order.SECOND,
        (False, False): Order.EQUAL,
    }[better]
    return Comparison(order, where[0], where[1], epsilon.size, float(epsilon[-1]))


def _epsilons_to_try(
    curves: tuple[Curve, Curve], top: float, ends: list[float]
) -> Floats:
    """Return the ε to try: evenly up to `top`, then on until no δ is left.

    A sum of sampled steps may have the smaller δ down to 1e-60 and the larger one
    beyond: its tail is that of the steps without sampling.
    """
    tail = []
    for epsilon in np.geomspace(top, max(_FAR, 2 * top), 40)[1:]:
        tail.append(float(epsilon))
        if all(curve.delta_at(tail[-1]) <= _LEAST for curve in curves):
            break
    return np.unique(np.concatenate([np.linspace(0.0, top, 160), tail, ends]))
