"""Ratios and scales: intervals where the error grows with the answer."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import final

from hush import checks
from hush.inference.convolution import Convolution
from hush.inference.interval import Interval


def fieller(
    top: float, bottom: float, *, fixed: float, growing: float
) -> tuple[float, float] | None:
    """Return the u with (top - u·bottom)² <= fixed² + u²·growing², if bounded.

    Example:
        >>> fieller(2.0, 1.0, fixed=1.0, growing=0.0)
        (1.0, 3.0)
        >>> fieller(2.0, 1.0, fixed=1.0, growing=2.0) is None
        True

    Reference: [F54].
    """
    lead = bottom**2 - growing**2
    if lead <= 0 or bottom <= 0:
        return None
    root = (top * bottom) ** 2 - lead * (top**2 - fixed**2)
    if root < 0:
        return None
    reach = math.sqrt(root)
    return (top * bottom - reach) / lead, (top * bottom + reach) / lead


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

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the Fieller set inside [middle - half, middle + half]."""
        p = (1 + checks.real("level", level, above=0, below=1)) / 2
        fixed, whole = self.fixed.quantile(p), self.growing.quantile(p)
        growing = math.sqrt(max(whole**2 - fixed**2, 0.0))
        found = fieller(self.top, self.bottom, fixed=fixed, growing=growing)
        low, high = (-1.0, 1.0) if found is None else found
        low, high = (min(max(each, -1.0), 1.0) for each in (low, high))
        return (
            self.middle + self.half * low - self.bias,
            self.middle + self.half * high + self.bias,
        )


@final
@dataclass(frozen=True)
class Scale(Interval):
    """A positive number whose sampling error is `relative` times itself, plus noise."""

    noise: Convolution
    relative: float
    most: float = math.inf

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the numbers v with |value - v| within noise and v·relative."""
        p = (1 + checks.real("level", level, above=0, below=1)) / 2
        z = NormalDist().inv_cdf(p)
        found = fieller(
            self.value, 1.0, fixed=self.noise.quantile(p), growing=z * self.relative
        )
        low, high = (0.0, self.most) if found is None else found
        return min(max(low, 0.0), self.most), max(min(high, self.most), 0.0)
