"""Concentration inequalities: tails of sums, and sub-Gaussian variables.

Y = Σ (X_i - E X_i), and each function bounds P(Y >= epsilon·n).
"""

import math
from dataclasses import dataclass
from typing import final

import scipy

from hush import checks
from hush.errors import InvalidArgument


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


# -- Sub-Gaussian variables: tail, moment and MGF bounds, each implying the others -----


@final
@dataclass(frozen=True)
class Subgaussian:
    """Constants of a centered variable in three equivalent forms.

    tail: P(|X| >= t) <= 2e^(-t²/tail²). moment: (E|X|^p)^(1/p) <= moment·√p for p >= 1.
    mgf: E e^(λX) <= e^(mgf²λ²).
    """

    tail: float
    moment: float
    mgf: float


def subgaussian(
    *, tail: float | None = None, moment: float | None = None, mgf: float | None = None
) -> Subgaussian:
    """Return all three constants of a centered variable from one of them.

    Guarantee: MGF to tail by Markov at λ = t/(2·mgf²), tail = 2·mgf; tail to moment by
    integrating the tail, (pΓ(p/2))^(1/p) <= √(πp), moment = √π·tail; moment to MGF by
    the series of e^(λ²X²), mgf = 2√e·moment.

    Example:
        >>> normal = subgaussian(mgf=math.sqrt(0.5))
        >>> round(normal.tail, 4), round(normal.moment, 4)
        (1.4142, 2.5066)

    Reference: Z.sub; [V18] Proposition 2.5.2, constants worked out here.
    """
    given = [tail, moment, mgf]
    if sum(each is not None for each in given) != 1:
        raise InvalidArgument("give exactly one of tail, moment and mgf.")
    to_moment, to_mgf = math.sqrt(math.pi), 2 * math.sqrt(math.e)
    if mgf is not None:
        k = checks.real("mgf", mgf, above=0)
        return Subgaussian(2 * k, 2 * k * to_moment, k)
    if tail is not None:
        k = checks.real("tail", tail, above=0)
        return Subgaussian(k, k * to_moment, k * to_moment * to_mgf)
    k = checks.real("moment", moment, above=0)
    return Subgaussian(2 * k * to_mgf, k, k * to_mgf)
