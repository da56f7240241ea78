"""Are two shares equal? Exact laws of two noisy counts under a common proportion."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hush.inference.binomial import weights
from hush.inference.proportion import NoisyCount
from hush.mechanisms.error import reach

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
    far = reach(a.noise.law, 1e-14), reach(b.noise.law, 1e-14)
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
    far = reach(count.noise.law, 1e-18)
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
