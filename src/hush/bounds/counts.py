"""d counts at once: Laplace noise grows with d, Gaussian noise with √d."""

import math

from hush import checks


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
