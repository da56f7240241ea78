"""Sub-Gaussian variables: tail, moment and MGF bounds, each implying the others."""

import math
from dataclasses import dataclass
from typing import final

from hush import checks
from hush.errors import InvalidArgument


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
