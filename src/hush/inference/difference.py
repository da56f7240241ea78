"""Two groups: is their difference zero, and how large is it."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.estimate import Estimate
from hush.inference.additive import drawn_tie
from hush.inference.binomial import weights
from hush.inference.convolution import Part, convolve, noise, normal
from hush.inference.interval import NoisyInterval
from hush.inference.proportion import Alternative, NoisyCount, Proportion
from hush.inference.verdict import Test
from hush.mechanisms.error import reach
from hush.noise import SECURE, Source

Floats = NDArray[np.float64]
_MANY = 1e8  # people times people beyond which the exact law gives way to the normal


def _parts(estimate: Estimate) -> tuple[float, Iterable[Part]]:
    """Return an unbiased value and its independent errors."""
    if isinstance(estimate, NoisyInterval):
        return float(estimate.value), estimate.error.parts
    if isinstance(estimate, Proportion):
        count = estimate.count
        return count.released / count.n, [
            normal(_sampling(count)),
            noise(count.noise.scaled(1 / count.n)),
        ]
    return float(estimate.value), [normal(float(estimate.std))]


def _sampling(count: NoisyCount) -> float:
    """Return the standard deviation of a share, with two people added to each side."""
    share = min(max(count.released, 0.0), float(count.n))
    share = (share + 1) / (count.n + 2)
    return float(np.sqrt(share * (1 - share) / (count.n + 2)))


def _bias(estimate: Estimate) -> float:
    return estimate.bias if isinstance(estimate, NoisyInterval) else 0.0


def difference_interval(
    first: Estimate, second: Estimate, *, level: float = 0.95
) -> NoisyInterval:
    """Return first - second for independent estimates, noise by its exact law.

    Example:
        >>> from hush.inference.proportion import proportion_interval
        >>> from hush.mechanisms import Geometric
        >>> a = proportion_interval(300, n=1000, mechanism=Geometric(scale=1))
        >>> b = proportion_interval(250, n=1000, mechanism=Geometric(scale=1))
        >>> low, high = difference_interval(a, b)
        >>> round(low, 3), round(high, 3)
        (0.011, 0.089)
    """
    checks.real("level", level, above=0, below=1)
    a, left = _parts(first)
    b, right = _parts(second)
    error = convolve(*left, *right)
    shares = isinstance(first, Proportion) and isinstance(second, Proportion)
    limits = (-1.0, 1.0) if shares else (-np.inf, np.inf)
    effective = 1 / (1 / float(first.effective) + 1 / float(second.effective))
    return NoisyInterval(
        a - b,
        error.std,
        effective,
        level,
        error=error,
        bias=_bias(first) + _bias(second),
        limits=limits,
    )


def difference_test(
    first: Estimate,
    second: Estimate,
    *,
    alternative: Alternative = "two-sided",
    tie: float | None = None,
    source: Source = SECURE,
) -> Test:
    """Return the p-value of "both groups have the same mean" (or proportion).

    Two proportions from whole noisy counts are tested by the exact law of the
    difference of shares, at the pooled proportion; other estimates by their convolved
    errors. `alternative="greater"` asks whether the first is larger.

    Guarantee: type-I error is `level` up to the plugged-in nuisance parameter; measured
    in docs/inference.md.

    Example:
        >>> from hush.inference.proportion import proportion_interval
        >>> from hush.mechanisms import Geometric
        >>> a = proportion_interval(320, n=1000, mechanism=Geometric(scale=1))
        >>> b = proportion_interval(250, n=1000, mechanism=Geometric(scale=1))
        >>> difference_test(a, b).rejects(0.01)
        True
    """
    if alternative not in ("greater", "less", "two-sided"):
        raise InvalidArgument(
            "alternative must be 'greater', 'less' or 'two-sided'; got "
            f"{alternative!r}."
        )
    found: tuple[float, float] | None = None
    value = _parts(first)[0] - _parts(second)[0]
    if isinstance(first, Proportion) and isinstance(second, Proportion):
        found = _shares(first.count, second.count, drawn_tie(tie, source))
    if found is None:
        both = difference_interval(first, second)
        away = max(abs(value) - both.bias, 0.0) * (1 if value >= 0 else -1)
        found = both.error.cdf(-away), both.error.cdf(away)
    up, down = found
    p = {"greater": up, "less": down, "two-sided": 2 * min(up, down)}[alternative]
    return Test(value, min(p, 1.0), alternative)


def _released_law(count: NoisyCount, theta: float) -> tuple[int, Floats]:
    """Return the first value and the probabilities of a released whole count."""
    first, chance = weights(count.n, theta)
    far = reach(count.noise.law, 1e-18)
    added = count.noise.equal(np.arange(-far, far + 1))
    size = chance.size + added.size - 1
    transform = np.fft.rfft(chance, size) * np.fft.rfft(added, size)
    return first - far, np.maximum(np.fft.irfft(transform, size), 0.0)


def _shares(a: NoisyCount, b: NoisyCount, tie: float) -> tuple[float, float] | None:
    """Return p-values of equal shares against a larger and a smaller first one."""
    whole = all(
        each.noise.step == 1
        and each.noise.std < 1e4
        and float(each.released).is_integer()
        for each in (a, b)
    )
    if not whole or float(a.n) * b.n > _MANY**2:
        return None
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
