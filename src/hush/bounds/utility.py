"""Utility: how much worse than the best a private choice is, and d counts at once."""

import math

from hush import checks
from hush.errors import InvalidArgument


def selection_gap(mean_absolute: float, maximum: float) -> float:
    """Return E|r_1| + E max|r_j|, which the expected gap of report noisy max obeys.

    Example:
        >>> selection_gap(mean_absolute=2.0, maximum=11.5)
        13.5

    Reference: N5.L2.
    """
    first = checks.real("mean_absolute", mean_absolute, at_least=0)
    return first + checks.real("maximum", maximum, at_least=0)


def noisy_max_gap(
    candidates: int, epsilon: float, sensitivity: float = 1.0, kind: str = "laplace"
) -> float:
    """Return a bound on the expected utility gap of report noisy max.

    Laplace noise: (2Δ/ε)(1 + 2 log(k-1) + 2 log 2). Gumbel noise, the exponential
    mechanism, and exponential noise, which is never worse: (2Δ/ε) log k.

    Example:
        >>> round(noisy_max_gap(1000, epsilon=1.0), 2)
        32.4
        >>> round(noisy_max_gap(1000, epsilon=1.0, kind="gumbel"), 2)
        13.82

    Reference: N5.2; N7.P1 and its exercise; [MS20] Theorem 2.
    """
    k = checks.whole("candidates", candidates, at_least=1)
    unit = 2 * checks.real("sensitivity", sensitivity, above=0)
    unit /= checks.real("epsilon", epsilon, above=0)
    if kind not in ("laplace", "gumbel", "exponential"):
        raise InvalidArgument(
            f"kind must be 'laplace', 'gumbel' or 'exponential'; got {kind!r}."
        )
    if k == 1:
        return 0.0
    if kind == "laplace":
        return unit * (1 + 2 * math.log(k - 1) + 2 * math.log(2))
    return unit * math.log(k)


def exponential_gap(
    candidates: int,
    epsilon: float,
    sensitivity: float = 1.0,
    *,
    best: int = 1,
    t: float | None = None,
) -> float:
    """Return a gap that the exponential mechanism exceeds with chance e^-t at most.

    `best` is how many candidates attain the optimum. Without `t`, a bound on the
    expected gap: (2Δ/ε) log(candidates).

    Example:
        >>> round(exponential_gap(1000, epsilon=1.0, t=3.0), 2)
        19.82

    Reference: N7.2 N7.c1; C.acc with its missing Δ.
    """
    k = checks.whole("candidates", candidates, at_least=1)
    top = checks.whole("best", best, at_least=1, at_most=k)
    unit = 2 * checks.real("sensitivity", sensitivity, above=0)
    unit /= checks.real("epsilon", epsilon, above=0)
    if t is None:
        return unit * math.log(k)
    return unit * (math.log(k / top) + checks.real("t", t, at_least=0))


def quantile_error(
    n: int, epsilon: float, density: float, *, cells: int = 1 << 40, t: float = 3.0
) -> float:
    """Return an error of the private quantile, exceeded with chance about e^-t.

    Its rank is off by (2/ε)(log cells + t) at most; `density` at the quantile turns
    ranks into values, for n records and to first order.

    Example:
        >>> round(quantile_error(10**6, epsilon=1.0, density=1.0), 6)
        6.1e-05

    Reference: N7.6.
    """
    n = checks.whole("n", n, at_least=1)
    rank = exponential_gap(cells, epsilon, t=t)
    return rank / (n * checks.real("density", density, above=0))


# -- d counts at once: Laplace noise grows with d, Gaussian noise with √d --------------


def laplace_counts(dimension: int, epsilon: float) -> float:
    """Return the standard deviation √2·d/ε of each of d counts, ε-private together.

    Example:
        >>> round(laplace_counts(100, epsilon=1.0), 1)
        141.4

    Reference: N9.ex1.
    """
    d = checks.whole("dimension", dimension, at_least=1)
    return math.sqrt(2) * d / checks.real("epsilon", epsilon, above=0)


def gaussian_counts(dimension: int, epsilon: float, delta: float) -> float:
    """Return √(2 d log(1.32/δ))/ε, enough noise for d counts, (ε, δ)-private together.

    Example:
        >>> round(gaussian_counts(100, epsilon=1.0, delta=1e-6), 1)
        53.1

    Reference: N9.ex1 N9.3; needs ε <= 1.
    """
    d = checks.whole("dimension", dimension, at_least=1)
    e = checks.real("epsilon", epsilon, above=0, at_most=1)
    f = checks.real("delta", delta, above=0, below=1)
    return max(math.sqrt(2 * math.log(1.32 / f)), 1.5) * math.sqrt(d) / e


def counts_crossing(delta: float) -> int:
    """Return from how many counts on Gaussian noise is the smaller: log(1.32/δ).

    Example:
        >>> counts_crossing(1e-6)
        15

    Reference: N9.ex1 N10.ex1.
    """
    f = checks.real("delta", delta, above=0, below=1)
    c = max(math.sqrt(2 * math.log(1.32 / f)), 1.5)
    return math.floor(c * c / 2) + 1
