"""Tails of a sum of n independent variables in [0, 1], centered: five bounds.

Y = Σ (X_i - E X_i), and each function bounds P(Y >= epsilon·n).
"""

import math

import scipy

from hush import checks


def hoeffding(n: int, epsilon: float) -> float:
    """Return e^(-2nε²), Hoeffding's bound on P(Y >= εn).

    Example:
        >>> round(hoeffding(100, 0.1), 4)
        0.1353

    Reference: [H63] Theorem 1.
    """
    n = checks.whole("n", n, at_least=1)
    return math.exp(-2 * n * checks.real("epsilon", epsilon, at_least=0) ** 2)


def chernoff(n: int, epsilon: float, mean: float) -> float:
    """Return e^(-n·KL(mean + ε ‖ mean)), Chernoff's bound when the X_i average `mean`.

    Example:
        >>> chernoff(100, 0.1, mean=0.1) < hoeffding(100, 0.1)
        True

    Reference: [H63] equation (2.1).
    """
    n = checks.whole("n", n, at_least=1)
    p = checks.real("mean", mean, above=0, below=1)
    q = p + checks.real("epsilon", epsilon, at_least=0)
    if q > 1:
        return 0.0
    divergence = q * math.log(q / p)
    if q < 1:
        divergence += (1 - q) * math.log((1 - q) / (1 - p))
    return math.exp(-n * divergence)


def bernstein(n: int, epsilon: float, variance: float) -> float:
    """Return e^(-nε²/(2·variance + 2ε/3)), Bernstein's bound from the mean variance.

    `variance` bounds the average of the variances of the X_i; at most 1/4 in [0, 1].
    It beats Hoeffding's bound where the variance is small.

    Example:
        >>> bernstein(1000, 0.02, variance=0.01) < hoeffding(1000, 0.02) / 10_000
        True

    Reference: [B46]; [BLM13] equation (2.10).
    """
    n = checks.whole("n", n, at_least=1)
    e = checks.real("epsilon", epsilon, at_least=0)
    v = checks.real("variance", variance, at_least=0)
    return math.exp(-n * e * e / (2 * v + 2 * e / 3)) if e > 0 else 1.0


def from_privacy(n: int, epsilon: float) -> float:
    """Return min(1, e^(1 - ε²n/64)), the bound that differential privacy proves.

    Example:
        >>> from_privacy(10**6, 0.1) < 1e-60
        True

    Reference: C.T1.1; [SU17].
    """
    n = checks.whole("n", n, at_least=1)
    exponent = 1 - checks.real("epsilon", epsilon, at_least=0) ** 2 * n / 64
    return math.exp(min(0.0, exponent))


def binomial_tail(n: int, epsilon: float, mean: float) -> float:
    """Return P(Y >= εn) exactly for n coins of chance `mean`.

    Example:
        >>> round(binomial_tail(10, 0.5, mean=0.5), 6)
        0.000977
    """
    n = checks.whole("n", n, at_least=1)
    p = checks.real("mean", mean, above=0, below=1)
    least = math.ceil(n * (p + checks.real("epsilon", epsilon, at_least=0)) - 1e-9)
    if least > n:
        return 0.0
    return float(scipy.special.betainc(least, n - least + 1, p)) if least > 0 else 1.0
