"""A mean of clamped values: sampling, noise and clamping in one interval."""

import math
from typing import Any

from hush import checks
from hush.errors import InvalidArgument
from hush.inference.additive_noise import Additive, number
from hush.inference.error_convolution import Error, Part, Shape, convolve, noise, normal
from hush.inference.ratio import Ratio
from hush.inference.results import NoisyInterval
from hush.inference.sampling_error import Sampled
from hush.mechanisms.mechanism import Mechanism

Bounds = tuple[float, float]


def clipping_bias(clamp: float, *, moment: float, order: float = 2.0) -> float:
    """Return the largest bias of clamping to ±clamp when E|X|^order <= moment.

    Guarantee: E(|X| - T)₊ <= moment·sup_x (x - T)/x^k, which is attained.

    Example:
        >>> round(clipping_bias(10.0, moment=1.0), 6)
        0.025

    Reference: N4.T2; docs/proofs/inference.md.
    """
    t = checks.real("clamp", clamp, above=0)
    m = checks.real("moment", moment, at_least=0)
    k = checks.real("order", order, above=1)
    log_best = (k - 1) * math.log((k - 1) / t) - k * math.log(k)
    return min(m * math.exp(log_best), float(m ** (1 / k)))


def _sampling(
    middle: float,
    n: int,
    bounds: Bounds,
    released: Any,
    mechanism: Mechanism | None,
    mean: Part,
) -> tuple[float, Error]:
    """Return the variance of one value, and the error that sampling makes of it.

    Without a released variance it is the largest one that bounds and mean allow.
    """
    lower, upper = bounds
    most = max((upper - lower) ** 2 / 4, 1e-300)
    if released is None:
        inside = min(max(middle, lower), upper)
        largest = (upper - inside) * (inside - lower)  # Bhatia and Davis
        spread = max(largest, most / n)
        return spread, normal(math.sqrt(spread / n))
    found = number("variance", released)
    doubt = None if mechanism is None else noise(Additive.of(mechanism, released))
    noisy = 0.0 if doubt is None else doubt.std
    bell = doubt is not None and doubt.shape is Shape.NORMAL
    error = Sampled(
        found / n,
        max(n - 1, 1),
        most / n,
        noisy / n,
        mean.std,
        (bell, mean.shape is Shape.NORMAL),
    )
    # The first is a guess for `std` and `effective`; the ends do not use it.
    return min(max(found, most * 1e-12, noisy / 2), most), error


def mean_interval(
    released: Any,
    *,
    n: int,
    mechanism: Mechanism,
    bounds: Bounds,
    variance: Any = None,
    variance_mechanism: Mechanism | None = None,
    skewness: float | None = None,
    bias: float = 0.0,
    level: float = 0.95,
) -> NoisyInterval:
    """Return the population mean behind a noisy mean of `n` clamped values.

    `mechanism` added its noise to the mean. `variance` is a released variance of the
    values, `variance_mechanism` its noise; without it the largest variance that bounds
    and mean allow is taken, and the interval is wide but valid. `skewness` is the third
    standardized moment of the values, 0 for symmetric ones; left out, the largest and
    smallest that bounds, mean and variance allow. `bias` is what clamping
    may have moved the mean by (`clipping_bias`); at 0 the interval is for the mean of
    the clamped values.

    Guarantee: noise enters with its exact law, sampling by the central limit theorem
    with Student's correction for the estimated variance, and the first-order correction
    for skewness: rare values far from the others are covered for. For shares use
    `proportion_interval`, which is exact.

    Example:
        >>> from hush.mechanisms import Laplace
        >>> low, high = mean_interval(41.3, n=500, mechanism=Laplace(scale=0.4),
        ...                           bounds=(0, 100), variance=210.0)
        >>> round(low, 2), round(high, 2)
        (39.49, 43.17)

    Reference: [H92]; docs/proofs/inference.md, docs/inference.md has measured coverage.
    """
    value = number("released", released)
    people = checks.whole("n", n, at_least=1)
    lower, upper = checks.interval("bounds", bounds)
    moved = checks.real("bias", bias, at_least=0)
    checks.real("level", level, above=0, below=1)
    known = None if skewness is None else checks.real("skewness", skewness)
    added = noise(Additive.of(mechanism, float(value)))
    spread, error = _sampling(
        value, people, (lower, upper), variance, variance_mechanism, added
    )
    sampling = math.sqrt(spread / people)
    total = math.hypot(sampling, added.std)
    effective = people * (sampling / total) ** 2 if total > 0 else float(people)
    return NoisyInterval(
        value,
        total,
        effective,
        level,
        errors=(error, added),
        bias=moved,
        limits=(lower - moved, upper + moved),
        skew=_skew(value, (lower, upper), people, error, known),
    )


def _skew(
    middle: float, bounds: Bounds, n: int, error: Error, known: float | None
) -> tuple[float, float]:
    """Return m₃/(6·n·variance) below and above, from the skewness or at most.

    A law on [l, u] with mean m and variance s has E(X - m)³ <= s·(u - m - s/(u - m)), a
    law on two values, u one of them; the same mirrored. A noisy variance enters by what
    it is at least: s larger makes this smaller.
    """
    if not isinstance(error, Sampled):  # two values: no variance was estimated
        return 0.0, 0.0
    if known is not None:
        third = known * math.sqrt(error.used(0.95) * n) / (6 * n)
        return max(-third, 0.0), max(third, 0.0)
    lower, upper = bounds
    inside = min(max(middle, lower), upper)
    least = max(error.variance - 2 * error.doubt, 0.0) * n
    ends = inside - lower, upper - inside
    far = [end - least / end if end > 0 else 0.0 for end in ends]
    return max(far[0], 0.0) / (6 * n), max(far[1], 0.0) / (6 * n)


def mean_from_totals(
    total: Any,
    count: Any,
    *,
    mechanism: Mechanism,
    count_mechanism: Mechanism,
    bounds: Bounds,
    variance: float | None = None,
    bias: float = 0.0,
    units: tuple[float, float] = (1.0, 1.0),
    most: float = 1.0,
    level: float = 0.95,
) -> Ratio:
    """Return the population mean behind a noisy sum and a noisy count.

    The sum is of (x - middle)/half, as `hush.mechanisms.mean` adds it up: each value in
    [-1, 1]. `variance` is of the values themselves; left out, the largest that each
    mean allows (1 - u² at the mean u, as in Wilson's interval for shares).
    `units` are what a step of the noise of either is worth, where the mechanisms added
    whole numbers to whole multiples; `most` is what one person may weigh in the count.

    Guarantee: a Fieller set and the value itself; a count that may be near zero gives
    most or all of `bounds`.

    Example:
        >>> from hush.mechanisms import Laplace
        >>> noise = Laplace(scale=2.0)
        >>> low, high = mean_from_totals(-93.0, 512.0, mechanism=noise, variance=200.0,
        ...                              count_mechanism=noise, bounds=(0, 100))
        >>> round(low, 1), round(high, 1)
        (39.6, 42.3)

    Reference: [F54]; docs/inference.md.
    """
    lower, upper = checks.interval("bounds", bounds)
    half = (upper - lower) / 2
    if half == 0:
        raise InvalidArgument("bounds must have lower < upper; a constant is known.")
    top, bottom = number("total", total), number("count", count)
    people = max(bottom, 1.0)
    ratio = min(max(top / people, -1.0), 1.0)
    at_middle, at_ends = 1.0, 0.0  # the variance of a value whose mean is there
    here = max(1 - ratio**2, 0.0)
    if variance is not None:
        known = checks.real("variance", variance, at_least=0) / half**2
        at_middle = at_ends = here = known
    first, second = (
        Additive.of(each, round(value / step) if step != 1 else value).scaled(step)
        for each, value, step in (
            (mechanism, total, units[0]),
            (count_mechanism, count, units[1]),
        )
    )
    heavy = people * checks.real("most", most, above=0)
    sampling = math.sqrt(heavy * here)
    std = math.sqrt(sampling**2 + first.std**2 + (ratio * second.std) ** 2)
    return Ratio(
        lower + half * (1 + ratio),
        half * std / people,
        people * sampling**2 / std**2 if std > 0 else people,
        level,
        top=top,
        bottom=bottom,
        fixed=convolve(normal(math.sqrt(heavy * at_middle)), first),
        growing=convolve(normal(math.sqrt(heavy * at_ends)), first, second),
        middle=lower + half,
        half=half,
        bias=checks.real("bias", bias, at_least=0),
    )
