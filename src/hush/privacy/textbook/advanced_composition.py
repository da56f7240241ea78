"""The textbook bounds on composition and sampling, to compare with the tight ones."""

import math

from hush import checks
from hush.errors import InvalidArgument
from hush.privacy.curve import Curve
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.pure import Pure
from hush.privacy.notions.rdp import RDP
from hush.privacy.rounding import up


def advanced(curve: Curve, times: int, slack: float) -> Approx:
    """Return advanced composition: ε√(2k log(1/δ')) + kε(e^ε - 1) at kδ + δ'.

    Guarantee: sound, and looser than `repeat`.

    Example:
        >>> advanced(Pure(epsilon=0.1), times=100, slack=1e-6)
        Approx(epsilon=6.308..., delta=1e-06)

    Reference: [DRV10]; [DR14] Theorem 3.20 (N10.1).
    """
    if not isinstance(curve, Pure | Approx):
        raise InvalidArgument(
            f"advanced composes (ε, δ); got {curve!r}. Give Approx(c.epsilon_at(δ), δ)."
        )
    times = checks.whole("times", times, at_least=1)
    slack = checks.real("slack", slack, above=0, below=1)
    epsilon, delta = curve.epsilon, getattr(curve, "delta", 0.0)
    if epsilon > 700:
        return Approx(math.inf, min(times * delta + slack, 1 - 1e-16))
    total = epsilon * math.sqrt(2 * times * math.log(1 / slack))
    total += times * epsilon * math.expm1(epsilon)
    missed = float(up(times * delta + slack)) if delta else slack
    if missed >= 1:
        raise InvalidArgument(f"times * delta + slack must be below 1; got {missed!r}.")
    return Approx(float(up(total, 8)), missed)


def per_step(epsilon: float, slack: float, times: int) -> Approx:
    """Return the (ε, δ) of each of `times` steps that meets ε' < 1 at kδ + δ'.

    ε = ε'/(2√(2k log(1/δ'))), δ = δ'/(2k): the corollary of advanced composition.

    Example:
        >>> step = per_step(0.5, slack=1e-6, times=100)
        >>> advanced(step, times=100, slack=1e-6).epsilon <= 0.5
        True

    Reference: [DR14] Corollary 3.21 (N10.c1).
    """
    epsilon = checks.real("epsilon", epsilon, above=0, below=1)
    slack = checks.real("slack", slack, above=0, below=1)
    times = checks.whole("times", times, at_least=1)
    each = epsilon / (2 * math.sqrt(2 * times * math.log(1 / slack)))
    return Approx(each, slack / (2 * times))


def moments(curve: Curve, times: int) -> RDP:
    """Return the moments accountant: log moments add, tails follow by Markov.

    `moment_delta_at` of the result is its own bound; `delta_at` the tight conversion.

    Example:
        >>> from hush.privacy import GDP
        >>> f"{moments(GDP(mu=0.1), times=100).moment_delta_at(4.0):.1e}"
        '2.2e-03'

    Reference: [ACGMMTZ16] Theorem 2 (N11.2).
    """
    times = checks.whole("times", times, at_least=1)
    return RDP(lambda order: times * float(curve.renyi_at(order)) * (1 + 2.0**-50))


def sgd_moment_estimate(std: float, rate: float, order: float) -> float:
    """Return q²λ(λ+1)/((1-q)σ²), the leading term of a DP-SGD step's log moment.

    An estimate: the lemma's O(q³λ³/σ³) is not included. It needs σ >= 1, q < 1/(16σ)
    and 0 < λ < σ² log(1/(qσ)).

    Reference: [ACGMMTZ16] Lemma 3 (N11.L7).
    """
    std = checks.real("std", std, at_least=1)
    rate = checks.real("rate", rate, above=0, below=1 / (16 * std))
    order = checks.real(
        "order", order, above=0, below=std**2 * math.log(1 / (rate * std))
    )
    return rate**2 * order * (order + 1) / ((1 - rate) * std**2)


def sgd_std_estimate(
    epsilon: float, delta: float, rate: float, steps: int, *, constant: float = 2.0
) -> float:
    """Return c q √(T log(1/δ))/ε, the rate at which DP-SGD noise must grow.

    An estimate: the theorem only says that some constant works for small ε.

    Reference: [ACGMMTZ16] Theorem 1 (N11.3).
    """
    epsilon = checks.real("epsilon", epsilon, above=0)
    delta = checks.real("delta", delta, above=0, below=1)
    rate = checks.real("rate", rate, above=0, at_most=1)
    steps = checks.whole("steps", steps, at_least=1)
    return constant * rate * math.sqrt(steps * math.log(1 / delta)) / epsilon
