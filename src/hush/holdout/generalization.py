"""Generalization: how far a private analysis of a sample is from the population.

Planners turn people, questions, confidence and accuracy into each other. The bounds of
the textbook stand next to the tighter ones that `Holdout` uses; each says when it is
vacuous.
"""

import math

from scipy import special

from hush import checks
from hush.errors import NoBound
from hush.holdout.holdout_plan import (
    Plan,
    best,
    fixed,
    gaussian,
    overfit,
    published_radius,
    rounded_radius,
    split,
    transferred,
    worst_noise,
)
from hush.privacy.curve import Curve

__all__ = [
    "Plan",
    "best",
    "expectation",
    "expectation_under",
    "expected_overfit",
    "expected_overfit_under",
    "fixed",
    "gaussian",
    "level_for",
    "overfit",
    "printed",
    "printed_epsilon",
    "printed_size",
    "published_radius",
    "queries_for",
    "records_for",
    "rounded_radius",
    "selection",
    "split",
    "transferred",
    "worst_noise",
]


def printed(epsilon: float, delta: float, size: int) -> float:
    """Return max(4δ/ε, e^(-ε²m/8)): P(|q(S) - q(D)| >= 6ε) as the textbook has it.

    The query q is chosen by an (ε, δ)-private look at m people. Needs √(12/m) <= ε <=
    1/8 and δ <= ε/16. Its proof in print assumes a perfect exponential mechanism; tests
    check on a grid that `selection`, which assumes nothing, implies it.

    Example:
        >>> printed(0.1, 0.0, size=10_000) < 4e-6
        True

    Reference: G.T0.2; [BNSSSU16].
    """
    m = checks.whole("size", size, at_least=1)
    e = checks.real("epsilon", epsilon, above=0)
    d = checks.real("delta", delta, at_least=0, below=1)
    if not math.sqrt(12 / m) <= e <= 1 / 8 or d > e / 16:
        raise NoBound(
            f"the printed theorem needs √(12/size) <= epsilon <= 1/8 and delta <= "
            f"epsilon/16; got epsilon={e:g}, delta={d:g}, size={m}. Use selection."
        )
    return max(4 * d / e, math.exp(-e * e * m / 8))


def printed_size(epsilon: float, chance: float) -> int:
    """Return how many people the printed theorem needs to be within 6ε, if δ <= εp/4.

    Example:
        >>> printed_size(0.1, chance=0.05)
        2397

    Reference: G.T0.2.
    """
    e = checks.real("epsilon", epsilon, above=0, at_most=1 / 8)
    p = checks.real("chance", chance, above=0, below=1)
    return math.ceil(max(8 * math.log(1 / p), 12) / e**2)


def printed_epsilon(size: int, chance: float) -> float:
    """Return the smallest ε at which the printed theorem gives `chance`; within 6ε.

    Example:
        >>> round(printed_epsilon(10_000, chance=0.05), 4)
        0.049

    Reference: G.T0.2.
    """
    m = checks.whole("size", size, at_least=1)
    p = checks.real("chance", chance, above=0, below=1)
    found = math.sqrt(max(8 * math.log(1 / p), 12) / m)
    if found > 1 / 8:
        raise NoBound(f"size={m} is too small for the printed theorem; use selection.")
    return found


def selection(epsilon: float, delta: float, size: int, chance: float) -> float:
    """Return α with P(|q(S) - q(D)| > α) <= chance for a privately chosen query.

    Unlike an answer, the query's own mean over the sample is not released: the monitor
    bounds it, here with every constant proven and its two parameters optimized.

    Example:
        >>> round(selection(0.1, 0.0, size=10_000, chance=0.05), 3)
        0.058
        >>> selection(0.1, 0.0, size=5, chance=0.05)  # vacuous
        1.0

    Reference: [BNSSSU16] for the idea; docs/proofs/holdout.md, theorem 5.
    """
    e = checks.real("epsilon", epsilon, at_least=0)
    d = checks.real("delta", delta, at_least=0, below=1)
    m = checks.whole("size", size, at_least=1)
    p = checks.real("chance", chance, above=0, below=1)
    found = 1.0
    for times in range(-8, 13):  # T = 2^(times/2)/p samples
        samples = max(1, round(2 ** (times / 2) / p))
        caught = -math.expm1(samples * math.log1p(-p))
        for index in range(-24, 9):
            own = 2.0 ** (index / 2)
            slope = math.tanh((e + own) / 4)
            gap = slope + (1 - slope) * d * samples
            lost = 2 * math.log(2 * samples) / (own * m)
            found = min(found, (gap + lost) / caught)
    return min(1.0, found * (1 + 2.0**-40))


def expectation(mean: float, epsilon: float, delta: float) -> float:
    """Return min(1, e^ε·mean + δ), which E f(X) obeys if E f(Y) <= mean, f in [0, 1].

    Example:
        >>> round(expectation(0.5, 0.1, 0.01), 4)
        0.5626

    Reference: G.L0.6.
    """
    mu = checks.real("mean", mean, at_least=0, at_most=1)
    e = checks.real("epsilon", epsilon, at_least=0)
    d = checks.real("delta", delta, at_least=0, at_most=1)
    return min(1.0, math.exp(min(e, 700.0)) * mu + d)


def expectation_under(curve: Curve, mean: float) -> float:
    """Return 1 - tradeoff(mean): the best bound of G.L0.6's kind, for any curve.

    Example:
        >>> from hush.privacy import Pure
        >>> round(expectation_under(Pure(epsilon=0.1), 0.5), 4)
        0.5476

    Reference: G.L0.6; docs/proofs/holdout.md, theorem 1.
    """
    mu = checks.real("mean", mean, at_least=0, at_most=1)
    return min(1.0, 1 - float(curve.tradeoff_at(mu)) + 2.0**-50)


def expected_overfit(epsilon: float, delta: float, samples: int = 1) -> float:
    """Return e^ε - 1 + Tδ, which E[q(S_t) - q(D)] obeys when t and q are private.

    One of T samples and a query about it are chosen by an (ε, δ)-private procedure.

    Example:
        >>> round(expected_overfit(0.1, 1e-6, samples=100), 4)
        0.1053

    Reference: G.L0.4.
    """
    e = checks.real("epsilon", epsilon, at_least=0)
    d = checks.real("delta", delta, at_least=0, at_most=1)
    t = checks.whole("samples", samples, at_least=1)
    return math.expm1(min(e, 700.0)) + t * d


def expected_overfit_under(curve: Curve, samples: int = 1) -> float:
    """Return γ(1/T): the same expectation, never worse, for any curve.

    Example:
        >>> from hush.privacy import Approx
        >>> round(expected_overfit_under(Approx(0.1, 1e-6), samples=100), 4)
        0.0251

    Reference: G.L0.4; docs/proofs/holdout.md, corollary 2.
    """
    return overfit(curve, 1 / checks.whole("samples", samples, at_least=1))


def records_for(within: float, queries: int, level: float = 0.95) -> int:
    """Return how many people answer adaptive questions `within` a radius (range 1).

    Example:
        >>> people = records_for(0.05, queries=100)
        >>> best(people, 100).radius <= 0.05 < best(people - 500, 100).radius
        True
    """
    goal = checks.real("within", within, above=0, below=1)
    low, high = 0, 1
    while best(high, queries, level).radius > goal:
        low, high = high, 2 * high
    while high - low > 1 + high // 2000:
        middle = (low + high) // 2
        enough = best(middle, queries, level).radius <= goal
        low, high = (low, middle) if enough else (middle, high)
    return high


def queries_for(records: int, within: float, level: float = 0.95) -> int:
    """Return how many adaptive questions can be answered `within`; 0 if not even one.

    Example:
        >>> most = queries_for(100_000, within=0.05)
        >>> best(100_000, most).radius <= 0.05
        True
    """
    goal = checks.real("within", within, above=0, below=1)
    if best(records, 1, level).radius > goal:
        return 0
    low, high = 1, 2
    while best(records, high, level).radius <= goal:
        low, high = high, 2 * high
    while high - low > 1 + high // 2000:
        middle = (low + high) // 2
        enough = best(records, middle, level).radius <= goal
        low, high = (middle, high) if enough else (low, middle)
    return low


def level_for(records: int, queries: int, within: float) -> float:
    """Return a confidence at which all answers are `within`; 0 where none is proven.

    Example:
        >>> level = level_for(10_000, queries=100, within=0.12)
        >>> best(10_000, 100, level).radius <= 0.12 and level > 0.97
        True
    """
    goal = checks.real("within", within, above=0, below=1)
    # Bisection on the normal scale of the chance, from 1/2 down to 1e-12.
    low, high = 0.0, 7.0
    if best(records, queries, 0.5).radius > goal:
        return 0.0
    for _ in range(25):
        middle = (low + high) / 2
        level = 1 - float(special.ndtr(-middle))
        enough = best(records, queries, level).radius <= goal
        low, high = (middle, high) if enough else (low, middle)
    return 1 - float(special.ndtr(-low))
