"""Two proportions: exact tests of equality, and intervals for the difference."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from hush import checks
from hush.estimate import Estimate
from hush.inference.binomial import weights
from hush.inference.noisy_proportion import NoisyShare
from hush.inference.proportion import NoisyCount, Proportion
from hush.inference.results import Interval
from hush.mechanisms.error import upper_quantile

Floats = NDArray[np.float64]
_MANY = 1e16  # people times people beyond which whole numbers would overflow
_SMALL = 0.5  # noise of at most this variance leaves the total of both counts nearly
_WIDE = 12.0  # standard deviations of a hypergeometric law that matter


def equal_shares(
    a: NoisyCount, b: NoisyCount, tie: float
) -> tuple[float, float] | None:
    """Return p-values of equal shares against a larger and a smaller first one.

    None where the counts are not whole numbers with whole noise.
    """
    whole = all(
        each.noise.step == 1
        and each.noise.std < 1e4
        and float(each.released).is_integer()
        for each in (a, b)
    )
    if not whole or float(a.n) * b.n > _MANY:
        return None
    if max(a.noise.std, b.noise.std) ** 2 <= _SMALL:
        found = _given_total(a, b, tie)
        if found is not None:
            return found
    return _at_pooled(a, b, tie)


def _given_total(
    a: NoisyCount, b: NoisyCount, tie: float
) -> tuple[float, float] | None:
    """Return p-values from the law of the first count, given the sum of both.

    With the common proportion uniform on (0, 1), X + Y is uniform on 0..n+m, and X is
    hypergeometric given X + Y whatever the proportion: only the noise, which blurs the
    total, makes the answer depend on that choice at all.
    """
    total = int(a.released) + int(b.released)
    far = upper_quantile(a.noise.law, 1e-14), upper_quantile(b.noise.law, 1e-14)
    first = a.noise.equal(np.arange(-far[0], far[0] + 1))
    second = b.noise.equal(np.arange(-far[1], far[1] + 1))
    least = max(0, total - sum(far))
    most = min(a.n + b.n, total + sum(far))
    if least > most:
        return None
    ends = [_window(a.n, b.n, t) for t in (least, most)]
    start, stop = min(ends)[0], max(ends, key=lambda end: end[1])[1]
    law = np.zeros(stop - start + first.size)
    for t in range(least, most + 1):
        # k of the noise is in the first count, the rest of total - t in the second.
        k = np.arange(-far[0], far[0] + 1)
        rest = total - t - k + far[1]
        kernel = np.where(
            (rest >= 0) & (rest < second.size),
            first * second[np.clip(rest, 0, second.size - 1)],
            0.0,
        )
        law += np.convolve(_hypergeometric(a.n, b.n, t, start, stop), kernel)
    at = int(a.released) - (start - far[0])
    whole = float(law.sum())
    if whole <= 0 or not 0 <= at < law.size:
        return None
    up = (float(law[at + 1 :].sum()) + tie * float(law[at])) / whole
    down = (float(law[:at].sum()) + (1 - tie) * float(law[at])) / whole
    return up, down


def _window(n: int, m: int, total: int) -> tuple[int, int]:
    """Return the smallest and largest count that matter, given the total."""
    share = n / (n + m)
    std = math.sqrt(max(total * share * (1 - share), 1.0))
    low = math.floor(total * share - _WIDE * std)
    high = math.ceil(total * share + _WIDE * std)
    return max(0, total - m, low), min(n, total, high)


def _hypergeometric(n: int, m: int, total: int, start: int, stop: int) -> Floats:
    """Return P(X = start..stop | X + Y = total)."""
    x = np.arange(start, stop + 1, dtype=np.float64)
    y = total - x
    possible = (x <= n) & (y >= 0) & (y <= m)
    x, y = np.where(possible, x, 0.0), np.where(possible, y, 0.0)
    logs = -(
        special.gammaln(x + 1)
        + special.gammaln(n - x + 1)
        + special.gammaln(y + 1)
        + special.gammaln(m - y + 1)
    )
    logs = np.where(possible, logs, -np.inf)
    chance = np.exp(logs - logs.max()) if possible.any() else np.zeros_like(x)
    return np.asarray(chance / max(chance.sum(), 1e-300))


def _released_law(count: NoisyCount, theta: float) -> tuple[int, Floats]:
    """Return the first value and the probabilities of a released whole count."""
    first, chance = weights(count.n, theta)
    far = upper_quantile(count.noise.law, 1e-18)
    added = count.noise.equal(np.arange(-far, far + 1))
    size = chance.size + added.size - 1
    transform = np.fft.rfft(chance, size) * np.fft.rfft(added, size)
    return first - far, np.maximum(np.fft.irfft(transform, size), 0.0)


def _at_pooled(a: NoisyCount, b: NoisyCount, tie: float) -> tuple[float, float]:
    """Return p-values from the law of the difference of shares, at the pooled one."""
    pooled = (a.released + b.released) / (a.n + b.n)
    theta = min(max(pooled, 0.5 / (a.n + b.n)), 1 - 0.5 / (a.n + b.n))
    left, p = _released_law(a, theta)
    right, q = _released_law(b, theta)
    gap = int(a.released) * b.n - int(b.released) * a.n
    x = np.arange(left, left + p.size, dtype=np.int64) * b.n - gap
    below = np.concatenate([[0.0], np.cumsum(q)])

    def strictly(bound: Any) -> Any:
        """Return P(b's count < bound) for whole bounds."""
        return below[np.clip(bound - right, 0, q.size)]

    # first share - second share > observed  <=>  z_b·n_a < z_a·n_b - gap.
    more = p @ strictly(-(-x // a.n))
    at_least = p @ strictly(x // a.n + 1)
    up = more + tie * (at_least - more)
    return float(np.clip(up, 0, 1)), float(np.clip(p.sum() - up, 0, 1))


# -- The difference of two shares: the set of differences that a test does not reject --
#
# Under a difference d the two shares are q + d and q, and q is estimated under d. The
# statistic is the difference of the released shares; each released count is spread
# evenly over its step, so that its tie places it exactly.

_FINE = 1_000.0  # steps in a standard deviation from which a coarser lattice does
_CELLS = 64  # cells of one person for noise that is no whole number
_ROUNDS = 4  # of weighing the two groups for the common share
_ZERO = 1e-12  # an end this far away leaves zero out


@final
@dataclass(frozen=True)
class _Spread:
    """A law with an even density in each of its cells of equal width.

    `left` is the left end of the first cell.
    """

    left: float
    width: float
    mass: Floats

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """Distribution function at the edges, and its integral up to there."""
        below = np.concatenate([[0.0], np.cumsum(self.mass)])
        area = np.concatenate([[0.0], np.cumsum((below[1:] + below[:-1]) / 2)])
        return below, area * self.width

    def integral(self, x: NDArray[Any]) -> Floats:
        """Return the integral of the distribution function up to x."""
        below, area = self._sums
        at = (x - self.left) / self.width
        cell = np.clip(np.floor(at), 0, self.mass.size - 1).astype(np.int64)
        part = np.clip(at - cell, 0.0, 1.0) * self.width
        rise = self.mass[cell] / self.width
        beyond = np.maximum(at - self.mass.size, 0.0) * self.width * below[-1]
        inside = area[cell] + part * (below[cell] + rise * part / 2)
        return np.where(at <= 0, 0.0, inside + beyond)


def _spread(count: NoisyCount, theta: float) -> _Spread:
    """Return the law of a released share, each count spread over its step."""
    n, std = count.n, math.sqrt(count.n * theta * (1 - theta))
    whole = count.noise.step == 1
    if whole and max(std, count.noise.std) <= _FINE:
        first, mass = _released_law(count, theta)
        return _Spread((first - 0.5) / n, 1 / n, mass / mass.sum())
    step = max(math.hypot(std, count.noise.std) / _FINE, 1 / _CELLS)
    far = 12.0 * std + 40.0
    low = math.floor(max(n * theta - far, 0.0) / step)
    high = math.ceil(min(n * theta + far, float(n)) / step)
    edges = (np.arange(low, high + 2) - 0.5) * step
    least = np.clip(np.floor(edges), 0, n - 1)
    below = np.where(edges < 0, 0.0, special.betaincc(least + 1, n - least, theta))
    below[edges >= n] = 1.0
    below[-1] = 1.0
    chance = np.diff(below)
    reach = math.ceil(upper_quantile(count.noise.law, 1e-16) * count.noise.step / step)
    reach = min(reach + 1, math.ceil(40 * count.noise.std / step) + 1)
    added = np.diff(count.noise.cdf((np.arange(-reach, reach + 2) - 0.5) * step))
    size = chance.size + added.size - 1
    both = np.fft.irfft(np.fft.rfft(chance, size) * np.fft.rfft(added, size), size)
    mass = np.maximum(both, 0.0)
    return _Spread((low - reach - 0.5) * step / n, step / n, mass / mass.sum())


def _placed(count: NoisyCount) -> float:
    """Return the released share, at the place of its tie inside its step."""
    step = 1.0 if count.noise.step == 1 else 0.0
    return (count.released + (0.5 - count.tie) * step) / count.n


@final
@dataclass(frozen=True)
class DifferenceTest:
    """Tests of every difference of two shares, from their noisy counts.

    Guarantee: exact where the share of one group is known, however few people the other
    has; else the common share is estimated under the difference, and coverage is as
    measured in docs/inference.md. At zero, where `equal_shares` has a law, it decides.
    """

    first: NoisyCount
    second: NoisyCount

    @property
    def tie(self) -> float:
        """One uniform tie of the ties of both counts: ½ of two halves."""
        both = self.first.tie + 1 - self.second.tie
        return both**2 / 2 if both < 1 else 1 - (2 - both) ** 2 / 2

    @cached_property
    def equality(self) -> tuple[float, float] | None:
        """P-values of equal shares against a larger and a smaller first one."""
        return equal_shares(self.first, self.second, self.tie)

    @property
    def equality_p_value(self) -> float:
        """The p-value of equal shares against a larger first one."""
        return self.upper(0.0) if self.equality is None else self.equality[0]

    def shares(self, difference: float) -> tuple[float, float]:
        """Return the two shares under a difference: the second one is weighed.

        Each group weighs by the inverse of the variance of its released share.
        """
        a, b = self.first, self.second
        low, high = max(0.0, -difference), min(1.0, 1 - difference)
        pad = min(0.5 / (a.n + b.n), (high - low) / 2)
        common = (a.released + b.released + a.n * -difference) / (a.n + b.n)
        for _ in range(_ROUNDS):
            common = min(max(common, low + pad), high - pad)
            weight = [
                each.n**2 / max(each.n * p * (1 - p) + each.noise.std**2, 1e-9)
                for each, p in ((a, common + difference), (b, common))
            ]
            seen = a.released / a.n - difference, b.released / b.n
            common = (weight[0] * seen[0] + weight[1] * seen[1]) / sum(weight)
        common = min(max(common, low + pad), high - pad)
        return min(max(common + difference, 0.0), 1.0), common

    def upper(self, difference: float) -> float:
        """Return the p-value of a difference against larger ones."""
        p, q = self.shares(difference)
        left, right = _spread(self.first, p), _spread(self.second, q)
        seen = _placed(self.first) - _placed(self.second)
        # P(A - B > seen) = Σ over cells of A of the mean of P(B < a - seen) there.
        edges = left.left + left.width * np.arange(left.mass.size + 1) - seen
        mean = np.diff(right.integral(edges)) / left.width
        return float(np.clip(left.mass @ mean, 0.0, 1.0))

    def limit(self, wanted: float) -> float:
        """Return the difference with this p-value against larger ones."""
        low, high = -1.0, 1.0
        if self.upper(low) >= wanted:
            return low
        if self.upper(high) <= wanted:
            return high
        aim = float(special.ndtri(wanted))

        def gap(difference: float) -> float:
            p = min(max(self.upper(difference), 1e-300), 1 - 1e-16)
            return float(special.ndtri(p)) - aim

        return float(optimize.brentq(gap, low, high, xtol=1e-9))

    def lower(self, miss: float) -> float:
        """Return the least difference that is not rejected in favor of larger ones."""
        low = self.first.theta(miss), self.second.theta(1 - miss)
        end = _possible(self.limit(miss), *low)
        if self.equality is None:
            return end
        return max(end, _ZERO) if self.equality[0] < miss else min(end, 0.0)

    def higher(self, miss: float) -> float:
        """Return the largest difference not rejected in favor of smaller ones."""
        high = self.first.theta(1 - miss), self.second.theta(miss)
        end = _possible(self.limit(1 - miss), *high)
        if self.equality is None:
            return end
        return min(end, -_ZERO) if self.equality[1] < miss else max(end, 0.0)


def _possible(end: float, first: float, second: float) -> float:
    """Return an end that is possible where the shares are `first` and `second`."""
    return max(min(end, first, 1 - second), first - 1, -second)


# -- A share and something else: the limits of two intervals, combined -----------------
#
# MOVER, the method of variance estimates recovery: the distance of an exact limit
# from its estimate stands for the error on that side, and errors on the sides that
# matter add in squares.

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

    Guarantee: of two noisy counts it is the set of differences that `DifferenceTest`
    does not reject; else each of the two intervals is that of its estimate. Coverage is
    measured in docs/inference.md. No end contradicts one of two shares: the difference
    is at most the upper end of the first, and one less the lower end of the second.

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
        return _possible(end, _inside(first), _inside(second))

    @cached_property
    def tests(self) -> DifferenceTest | None:
        """The tests of every difference, where both shares are of noisy counts."""
        if isinstance(self.first, Proportion) and isinstance(self.second, Proportion):
            return DifferenceTest(self.first.count, self.second.count)
        return None

    def lower(self, miss: float) -> float:
        """Return the end below which the truth lies with chance about `miss`."""
        if self.tests is not None:
            return self.tests.lower(miss)
        a, b = self._middles
        low, high = _limit(self.first, miss), _limit(self.second, 1 - miss)
        return self._cut(a - b - math.hypot(a - low, high - b), low, high)

    def upper(self, miss: float) -> float:
        """Return the end above which the truth lies with chance about `miss`."""
        if self.tests is not None:
            return self.tests.higher(miss)
        a, b = self._middles
        high, low = _limit(self.first, 1 - miss), _limit(self.second, miss)
        return self._cut(a - b + math.hypot(high - a, b - low), high, low)

    def p_values(self) -> tuple[float, float]:
        """Return those of equality against a larger and a smaller first one.

        Those of the law of two counts; else the chance to miss at which an end comes to
        zero, or 1e-12 if that is more.
        """
        if self.tests is not None:
            up = self.tests.equality_p_value
            return up, 1 - up
        a, b = self._middles
        low, high = math.log(_LEAST), math.log(0.5)
        for _ in range(30):
            middle = (low + high) / 2
            miss = math.exp(middle)
            rejects = self.lower(miss) > 0 if a >= b else self.upper(miss) < 0
            low, high = (low, middle) if rejects else (middle, high)
        p = math.exp(high)
        return (p, 1 - p) if a >= b else (1 - p, p)
