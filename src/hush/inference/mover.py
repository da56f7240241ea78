"""The difference of two shares: the limits of two exact intervals, combined.

MOVER, the method of variance estimates recovery: the distance of an exact limit from
its estimate stands for the error on that side, and errors on the sides that matter add
in squares.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self, final

import numpy as np

from hush import checks
from hush.estimate import Estimate
from hush.inference.interval import Interval
from hush.inference.noisy_share import NoisyShare
from hush.inference.proportion import NoisyCount, Proportion

_LEAST = 1e-12  # p-values below are not told apart


def _beyond(count: NoisyCount, upper: float) -> float:
    """Return the limit where no share has it: of the count itself, by its noise alone.

    At shares of 0 and 1 everybody is alike and noise is all there is, so the limits
    that leave [0, 1] go on as those of a count with noise: without a jump.
    """
    low = high = count.released
    wide = max(count.noise.std, count.noise.step)
    while _tail(count, low) >= upper:
        low, wide = low - wide, 2 * wide
    while _tail(count, high) < upper:
        high, wide = high + wide, 2 * wide
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(count, middle) < upper else (low, middle)
    return low / count.n


def _tail(count: NoisyCount, x: float) -> float:
    """Return P(noise > z - x) + tie·P(noise = z - x), which rises in x."""
    away = np.array([count.released - x])
    found = count.noise.above(away) + count.tie * count.noise.equal(away)
    return float(found[0])


def _limit(estimate: Estimate, upper: float) -> float:
    """Return what has this p-value against larger ones; of shares beyond [0, 1] too."""
    if isinstance(estimate, NoisyShare):
        return estimate.theta(upper)
    if isinstance(estimate, Proportion):
        found = estimate.count.theta(upper)
        return found if 0 < found < 1 else _beyond(estimate.count, upper)
    if upper == 0.5:
        return float(estimate.value)
    return float(estimate.interval(abs(1 - 2 * upper))[0 if upper < 0.5 else 1])


def is_share(estimate: Estimate) -> bool:
    """Return whether an estimate is a share with an exact interval of its own."""
    return isinstance(estimate, (Proportion, NoisyShare))


def _inside(share: float) -> float:
    return min(max(share, 0.0), 1.0)


@final
@dataclass(frozen=True)
class ShareDifference(Interval):
    """A difference of two estimates, of which one is a share, or both.

    Guarantee: each of the two intervals is that of its estimate, of a share the exact
    one; coverage of both together is measured in docs/inference.md. Of two shares no
    end contradicts one of them: the difference is at most the upper end of the first,
    and one less the lower end of the second.

    Reference: [N98], [ZD08]; docs/proofs/inference.md.
    """

    first: Estimate = field(repr=False)
    second: Estimate = field(repr=False)

    @classmethod
    def of(cls, first: Estimate, second: Estimate, **public: float) -> Self:
        """Return the difference; its value lies in the interval of every level."""
        made = cls(math.nan, **public, first=first, second=second)
        return replace(made, value=made.lower(0.5))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return ends that hold the truth with probability about `level`."""
        miss = (1 - checks.real("level", level, above=0, below=1)) / 2
        return self.lower(miss), self.upper(miss)

    @cached_property
    def _middles(self) -> tuple[float, float]:
        return _limit(self.first, 0.5), _limit(self.second, 0.5)

    def _cut(self, end: float, first: float, second: float) -> float:
        """Return an end that is possible where the shares are `first` and `second`."""
        if not (is_share(self.first) and is_share(self.second)):
            return end
        first, second = _inside(first), _inside(second)
        return max(min(end, first, 1 - second), first - 1, -second)

    def lower(self, miss: float) -> float:
        """Return the end below which the truth lies with chance about `miss`."""
        a, b = self._middles
        low, high = _limit(self.first, miss), _limit(self.second, 1 - miss)
        return self._cut(a - b - math.hypot(a - low, high - b), low, high)

    def upper(self, miss: float) -> float:
        """Return the end above which the truth lies with chance about `miss`."""
        a, b = self._middles
        high, low = _limit(self.first, 1 - miss), _limit(self.second, miss)
        return self._cut(a - b + math.hypot(high - a, b - low), high, low)

    def p_values(self) -> tuple[float, float]:
        """Return those of equality against a larger and a smaller first one.

        The chance to miss at which an end comes to zero, or 1e-12 if that is more.
        """
        a, b = self._middles
        low, high = math.log(_LEAST), math.log(0.5)
        for _ in range(30):
            middle = (low + high) / 2
            miss = math.exp(middle)
            rejects = self.lower(miss) > 0 if a >= b else self.upper(miss) < 0
            low, high = (low, middle) if rejects else (middle, high)
        p = math.exp(high)
        return (p, 1 - p) if a >= b else (1 - p, p)
