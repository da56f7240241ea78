"""A variance from a noisy variance."""

import math
from typing import Any

from hush import checks
from hush.inference.additive_noise import Additive, number
from hush.inference.error_convolution import convolve
from hush.inference.ratio import Scale
from hush.mechanisms.mechanism import Mechanism


def variance_interval(
    released: Any,
    *,
    n: int,
    mechanism: Mechanism,
    bounds: tuple[float, float] | None = None,
    kurtosis: float = 3.0,
    level: float = 0.95,
) -> Scale:
    """Return the population variance behind a noisy variance of `n` values.

    `kurtosis` is the fourth standardized moment: 3 for normal values, 1.8 for uniform
    ones, and larger for heavy tails; it decides the sampling error and cannot be read
    from the variance. `bounds` of the values cap the variance. Where noise made the
    release so negative that no variance explains it, both ends are 0.

    Example:
        >>> from hush.mechanisms import Laplace
        >>> low, high = variance_interval(2.0, n=1000, mechanism=Laplace(scale=0.05))
        >>> round(low, 2), round(high, 2)
        (1.79, 2.24)

    Reference: [F54]; docs/inference.md has measured coverage.
    """
    people = checks.whole("n", n, at_least=2)
    k = checks.real("kurtosis", kurtosis, at_least=1)
    checks.real("level", level, above=0, below=1)
    found = number("released", released)
    value = max(found, 0.0)
    noise = Additive.of(mechanism, released)
    relative = math.sqrt((k - (people - 3) / (people - 1)) / people)
    std = math.hypot(value * relative, noise.std)
    most = math.inf
    if bounds is not None:
        lower, upper = checks.interval("bounds", bounds)
        most = (upper - lower) ** 2 / 4
    effective = people * (value * relative / std) ** 2 if std > 0 else float(people)
    return Scale(
        min(value, most), std, effective, level, found, convolve(noise), relative, most
    )
