"""Sample size: how many people, or how much budget, an accuracy needs."""

import math
from collections.abc import Callable

from hush import bounds as limits
from hush import checks
from hush.errors import InvalidArgument
from hush.inference.additive_noise import Additive
from hush.inference.error_convolution import convolve, normal
from hush.inference.proportion import proportion_power
from hush.mechanisms import Canonical, Laplace
from hush.privacy import Approx, Pure

Bounds = tuple[float, float]
_MOST = 1 << 50


def mean_reach(
    n: int, epsilon: float, *, bounds: Bounds, std: float | None = None, level: float
) -> float:
    """Return the half-width of a private mean's interval, sampling and noise together.

    The mean of `n` values inside `bounds` gets Laplace noise for replace-one neighbors.
    `std` is that of one value; left out, the largest possible.

    Example:
        >>> round(mean_reach(1000, 1.0, bounds=(0, 1), level=0.95), 4)
        0.0311
    """
    people = checks.whole("n", n, at_least=1)
    lower, upper = checks.interval("bounds", bounds)
    wide = upper - lower
    if wide == 0:
        return 0.0
    spread = wide / 2 if std is None else checks.real("std", std, at_least=0)
    scale = wide / (people * checks.real("epsilon", epsilon, above=0))
    noise = Additive.of(Laplace(scale=scale), 0.5)
    p = (1 + checks.real("level", level, above=0, below=1)) / 2
    return convolve(normal(spread / math.sqrt(people)), noise).quantile(p)


def people_for_mean(
    within: float,
    *,
    epsilon: float,
    bounds: Bounds,
    std: float | None = None,
    level: float = 0.95,
) -> int:
    """Return how many people make a private mean right `within`, with `level`.

    Example:
        >>> people_for_mean(0.01, epsilon=1.0, bounds=(0, 1))
        9612
    """
    wanted = checks.real("within", within, above=0)
    return _first(
        lambda n: mean_reach(n, epsilon, bounds=bounds, std=std, level=level) <= wanted
    )


def epsilon_for_mean(
    within: float,
    *,
    n: int,
    bounds: Bounds,
    std: float | None = None,
    level: float = 0.95,
) -> float:
    """Return the ε with which the mean of `n` people is right `within`.

    It refuses where sampling alone is wider: no budget helps there, only more people.

    Example:
        >>> round(epsilon_for_mean(0.05, n=1000, bounds=(0, 1)), 3)
        0.073
    """
    wanted = checks.real("within", within, above=0)

    def reach(epsilon: float) -> float:
        return mean_reach(n, epsilon, bounds=bounds, std=std, level=level)

    if reach(1e6) > wanted:
        raise InvalidArgument(
            f"within={within!r} is below the sampling error of n={n} people at level "
            f"{level!r}. Ask more people, or accept {reach(1e6):.3g}."
        )
    low, high = 1e-9, 1e6
    while high > low * (1 + 1e-9):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reach(middle) <= wanted else (middle, high)
    return high


def people_for_power(
    power: float,
    *,
    null: float,
    theta: float,
    epsilon: float,
    delta: float = 0.0,
    alpha: float = 0.05,
) -> int:
    """Return how many people the most powerful private test needs to find `theta`.

    The test is of `null` against larger proportions, with Tulap noise, and rejects it
    falsely with chance `alpha`. For a smaller `theta`, count the others: 1 - null and
    1 - theta.

    Example:
        >>> people_for_power(0.8, null=0.5, theta=0.6, epsilon=1.0)
        160
    """
    wanted = checks.real("power", power, above=0, below=1)
    if checks.real("theta", theta, above=0, below=1) <= checks.real("null", null):
        raise InvalidArgument(
            f"theta must be above null; got {theta!r} and {null!r}. Count the others."
        )
    target = Approx(epsilon, delta) if delta else Pure(epsilon)
    noise = Canonical(target)

    def enough(n: int) -> bool:
        found = proportion_power(theta, null=null, n=n, mechanism=noise, alpha=alpha)
        return found >= wanted

    return _first(enough)


def _first(enough: Callable[[int], bool]) -> int:
    """Return the first number of people that is enough."""
    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
        if high > _MOST:
            raise InvalidArgument(
                "no number of people up to 2^50 is enough. Ask for less, or allow a "
                "larger epsilon."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def price_of_privacy(
    n: int, epsilon: float, *, moments: float = math.inf
) -> dict[str, float]:
    """Return how many people each model needs for one person's worth without privacy.

    The ratio of minimax rates of a mean: `central` (a trusted curator) and `local`
    (noise before collection), each against no privacy; constants are left out.

    Example:
        >>> found = price_of_privacy(10_000, epsilon=0.1, moments=2)
        >>> round(found["central"], 1), round(found["local"])
        (11.0, 1000)

    Reference: N4.T1 N4.T2.
    """
    free = limits.minimax_mean(n, epsilon, moments, model="none")
    central = limits.minimax_mean(n, epsilon, moments, model="central")
    local = limits.minimax_mean(n, epsilon, moments, model="local")
    return {"central": central / free, "local": local / free}
