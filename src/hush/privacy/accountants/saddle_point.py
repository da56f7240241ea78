"""The saddle point: where to put the contour, by a quick, uncertified search.

Any tilt gives a sound answer; a good one gives a sharp one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.privacy.pld.loss_distribution import Floats, LossLaw

Components = Sequence[tuple[LossLaw, int]]


def checked(components: Components) -> Components:
    """Return the components with equal laws joined, or name what is wrong."""
    merged: dict[LossLaw, int] = {}
    for law, times in components:
        count = checks.whole("times", times, at_least=0, at_most=10**15)
        if count:
            plain = law.plain()
            merged[plain] = merged.get(plain, 0) + count
    if not merged:
        raise InvalidArgument("components must hold at least one law; got none.")
    return tuple(merged.items())


@final
@dataclass(frozen=True)
class Sketch:
    """All laws of a composition, side by side."""

    loss: Floats
    log_weight: Floats
    starts: NDArray[np.intp]
    owner: NDArray[np.intp]
    times: Floats
    open_ended: NDArray[np.bool_]  # laws whose largest loss is a cut of the window
    gaussian: float
    log_drop: float  # mass left out of each law

    @classmethod
    def of(cls, components: Components, log_drop: float) -> "Sketch":
        """Sketch every law with about e^log_drop of its mass left out."""
        drawn = [law.sketch(log_drop) for law, _ in components]
        sizes = np.array([loss.size for loss, _ in drawn], dtype=np.intp)
        return cls(
            loss=np.concatenate([loss for loss, _ in drawn]),
            log_weight=np.concatenate([weight for _, weight in drawn]),
            starts=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp),
            owner=np.repeat(np.arange(sizes.size), sizes),
            times=np.array([float(times) for _, times in components]),
            open_ended=np.array(
                [math.isinf(law.largest_loss) for law, _ in components]
            ),
            gaussian=math.fsum(law.gaussian_variance * k for law, k in components),
            log_drop=log_drop,
        )

    def log_masses(self, c: float) -> Floats:
        """Return log E e^(cL) of each law."""
        size = c * self.loss
        exponent = self.log_weight + size
        top = np.maximum.reduceat(exponent, self.starts)
        total = np.add.reduceat(np.exp(exponent - top[self.owner]), self.starts)
        plain = top + np.log(total)
        if size.max() > 30:
            return np.asarray(plain)
        excess = np.add.reduceat(np.exp(self.log_weight) * np.expm1(size), self.starts)
        return np.asarray(np.where(np.abs(plain) < 1e-3, np.log1p(excess), plain))

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K(c), K'(c) and K''(c) of the composition."""
        exponent = self.log_weight + c * self.loss
        top = np.maximum.reduceat(exponent, self.starts)
        p = np.exp(exponent - top[self.owner])
        total = np.add.reduceat(p, self.starts)
        mean = np.add.reduceat(p * self.loss, self.starts) / total
        spread = (self.loss - mean[self.owner]) ** 2
        variance = np.add.reduceat(p * spread, self.starts) / total
        g = self.gaussian
        return (
            float(self.times @ self.log_masses(c)) + g * c * (c + 1) / 2,
            float(self.times @ mean) + g * (c + 0.5),
            float(self.times @ variance) + g,
        )

    def edge(self, c: float) -> float:
        """Return how much of the tilted mass sits on the largest kept loss, in logs."""
        exponent = self.log_weight + c * self.loss
        top = np.maximum.reduceat(exponent, self.starts)
        total = np.add.reduceat(np.exp(exponent - top[self.owner]), self.starts)
        last = np.lexsort((self.loss, self.owner))[
            np.concatenate([self.starts[1:], [self.loss.size]]) - 1
        ]
        share = exponent[last] - top - np.log(total)
        return float(share[self.open_ended].max(initial=-np.inf))

    def calm(self, c: float, epsilon: float, log_value: float) -> float:
        """Lower the tilt where a heavy tail would make the cut of the window dominate.

        Tails that fall slower than exponentially have no saddle: there the tilted law
        leans on the end of the window, whose jump makes the transform decay slowly. A
        smaller tilt costs digits by cancellation instead; sixteen are too many.
        """
        if c <= 0 or self.edge(c) < -30:
            return c
        low, high = c / 100, c
        for _ in range(20):
            middle = (low + high) / 2
            k = self.cumulants(middle)[0]
            lost = k - middle * epsilon - log_value
            low, high = (
                (low, middle)
                if self.edge(middle) > -30 and lost < 18
                else (
                    middle,
                    high,
                )
            )
        return high

    def at_epsilon(
        self, epsilon: float, *, positive: bool = False
    ) -> tuple[float, float]:
        """Return the saddle and log of the saddle-point estimate there.

        A positive tilt measures delta; one in (-1, 0) measures 1 - delta, which is
        not what a part of a law can use: it asks for `positive`.
        """
        _, mean, variance = self.cumulants(0.0)
        positive = positive or epsilon > mean - math.sqrt(variance)

        def place(u: float) -> float:
            return math.exp(u) if positive else -1 / (1 + math.exp(-u))

        low, high = (-60.0, 60.0) if positive else (-40.0, 40.0)
        u = min(max(-0.5 * math.log(variance), low + 1), high - 1) if positive else 0.0
        c = place(u)
        for _ in range(100):
            c = place(u)
            k, slope, bend = self.cumulants(c)
            gradient = slope - epsilon - 1 / c - 1 / (1 + c)
            curvature = bend + 1 / c**2 + 1 / (1 + c) ** 2
            jacobian = c if positive else c * (1 + c)
            if gradient * jacobian > 0:
                high = u
            else:
                low = u
            move = -gradient / max(abs(curvature * jacobian), 1e-300)
            move = move if jacobian > 0 else -move
            if abs(move) < 1e-3 or high - low < 1e-6:
                break
            u = u + max(-3.0, min(3.0, move))
            if not low < u < high:
                u = (low + high) / 2
        return c, _estimate(c, k - c * epsilon, bend)

    def at_delta(self, log_delta: float) -> tuple[float, float]:
        """Return the tilt and epsilon at which the saddle-point estimate is delta."""
        _, _, variance = self.cumulants(0.0)
        low, high = -60.0, 60.0
        u = 0.5 * math.log(2 * max(-log_delta, 0.1) / variance)
        u = min(max(u, low + 1), high - 1)
        c, epsilon = 1.0, 0.0
        for _ in range(100):
            c = math.exp(u)
            k, slope, bend = self.cumulants(c)
            epsilon = slope - 1 / c - 1 / (1 + c)
            excess = _estimate(c, k - c * epsilon, bend) - log_delta
            if excess < 0:
                high = u
            else:
                low = u
            # d/dc of the estimate is -c Φ''(c), up to its slowly varying width.
            move = excess / (c * c * bend + 1 + (c / (1 + c)) ** 2)
            if abs(move) < 1e-3 or high - low < 1e-6:
                break
            u = u + max(-3.0, min(3.0, move))
            if not low < u < high:
                u = (low + high) / 2
        return c, epsilon


def _estimate(c: float, exponent: float, bend: float) -> float:
    curvature = bend + 1 / c**2 + 1 / (1 + c) ** 2
    return (
        exponent - math.log(abs(c * (c + 1))) - 0.5 * math.log(2 * math.pi * curvature)
    )


def log_chernoff(s: float) -> float:
    """Return log sup_x of the hockey stick over e^(sx): s^s / (1+s)^(1+s)."""
    if s <= 0:
        return 0.0
    return -s * math.log1p(1 / s) - math.log1p(s)
