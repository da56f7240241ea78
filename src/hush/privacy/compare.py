"""The Blackwell order: which of two guarantees is more private, or neither."""

from dataclasses import dataclass
from enum import StrEnum
from typing import final

import numpy as np

from hush.privacy.curve import BOTH, Curve


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
    no such witness exists among the ε tried.
    """

    order: Order
    first_at: float | None
    second_at: float | None


def compare(first: Curve, second: Curve) -> Comparison:
    """Compare two guarantees for every test at once.

    Example:
        >>> from hush.privacy import GDP, Pure
        >>> compare(GDP(mu=1.0), GDP(mu=2.0)).order
        <Order.FIRST: 'first'>
        >>> compare(Pure(epsilon=0.5), GDP(mu=0.5)).order
        <Order.NEITHER: 'neither'>

    Reference: [B51]; [DRS22] Theorem 2.10 (N13.T2, N13.P7).
    """
    if first == second:
        return Comparison(Order.EQUAL, None, None)
    tops = [curve.epsilon_at(1e-12) for curve in (first, second)]
    finite = [top for top in tops if np.isfinite(top)]
    top = max(finite) if finite else 50.0
    epsilon = np.union1d(np.linspace(0.0, max(top, 1e-3), 160), [0.0, *finite])
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
    return Comparison(order, where[0], where[1])
