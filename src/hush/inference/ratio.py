"""Ratios and scales: intervals where the error grows with the answer."""

import math
from dataclasses import dataclass
from typing import final

from hush import checks
from hush.inference.error_convolution import Convolution, convolve, normal
from hush.inference.results import Interval


def fieller(
    top: float,
    bottom: float,
    *,
    fixed: float,
    slope: float,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> tuple[float, float]:
    """Return the range of u in `limits` with |top - u·bottom|² <= fixed² + slope·u².

    The slope may be negative: a share that is near 1 varies less. Where no u does, the
    nearest one of `limits` (or between) stands for both ends.

    Example:
        >>> fieller(2.0, 1.0, fixed=1.0, slope=0.0)
        (1.0, 3.0)
        >>> fieller(2.0, 1.0, fixed=1.0, slope=4.0, limits=(-5.0, 5.0))
        (-5.0, 5.0)
        >>> fieller(9.0, 1.0, fixed=1.0, slope=0.0, limits=(-5.0, 5.0))
        (5.0, 5.0)

    Reference: [F54].
    """
    lead = bottom**2 - slope
    middle, rest = top * bottom, top**2 - fixed**2

    def excess(u: float) -> float:
        if math.isinf(u):
            return math.copysign(math.inf, lead) if lead else -u * middle
        return lead * u * u - 2 * middle * u + rest

    low, high = limits
    inside = [u for u in limits if excess(u) <= 0]
    room = middle**2 - lead * rest
    if lead != 0 and room >= 0:
        roots = [(middle + sign * math.sqrt(room)) / lead for sign in (-1, 1)]
        inside += [u for u in roots if low <= u <= high]
    if not inside:
        best = min(max(middle / lead if lead > 0 else low, low), high)
        return best, best
    return min(inside), max(inside)


@final
@dataclass(frozen=True)
class Ratio(Interval):
    """A ratio top/bottom, both noisy, put on the scale middle + half·ratio.

    `fixed` is the error of top - u·bottom at u = 0, `growing` that at |u| = 1.
    """

    top: float
    bottom: float
    fixed: Convolution
    growing: Convolution
    middle: float = 0.0
    half: float = 1.0
    bias: float = 0.0
    limits: tuple[float, float] = (-1.0, 1.0)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ratios that the release does not contradict, inside `limits`.

        The value is always among them: noise can make the bottom negative, and then
        value and Fieller's set may lie at opposite limits though neither is known.
        """
        p = (1 + checks.real("level", level, above=0, below=1)) / 2
        fixed, whole = self.fixed.quantile(p), self.growing.quantile(p)
        low, high = fieller(
            self.top,
            self.bottom,
            fixed=fixed,
            slope=whole**2 - fixed**2,
            limits=self.limits,
        )
        return (
            min(self.middle + self.half * low, self.value) - self.bias,
            max(self.middle + self.half * high, self.value) + self.bias,
        )


@final
@dataclass(frozen=True)
class Scale(Interval):
    """A positive number whose sampling error is `relative` times itself, plus noise.

    `released` is what came out, which noise may have made negative.
    """

    released: float
    noise: Convolution
    relative: float
    most: float = math.inf

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the numbers v with |released - v| within noise and v·relative."""
        p = (1 + checks.real("level", level, above=0, below=1)) / 2
        fixed = self.noise.quantile(p)
        # Quantiles add up like standard deviations, nearly; exactly at `value`.
        at = max(self.value, fixed / 8)
        both = convolve(normal(at * self.relative), *self.noise.parts).quantile(p)
        slope = max(both**2 - fixed**2, 0.0) / at**2 if at > 0 else 0.0
        return fieller(
            self.released, 1.0, fixed=fixed, slope=slope, limits=(0.0, self.most)
        )
