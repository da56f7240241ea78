"""The budget split: a query's budget over its parts, by expected error, before data.

With noise of standard deviation c/ε_i in part i, the sum of squared errors Σ c_i²/ε_i²
under Σ ε_i = ε is least at ε_i ∝ c_i^(2/3). With Gaussian noise, c_i/μ_i under Σ μ_i² =
μ², it is least at μ_i² ∝ c_i. Whichever gives less error is taken: pure noise for a few
parts, Gaussian noise for many, where a δ is to be had.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np

from hush.errors import NoBound
from hush.privacy import GDP, ZCDP, Approx, calibrate
from hush.tables.bounding.sensitivity import Amount, Part

_PARTS = 1 << 20  # shares are whole multiples of this part, so that they add up exactly


@final
@dataclass(frozen=True)
class Demand:
    """A part, and how much its error matters."""

    part: Part
    matters: float


def split_budget(
    demands: Sequence[Demand], epsilon: Fraction, delta: float
) -> tuple[Amount, ...]:
    """Return what each part may spend: an exact ε, or a GDP curve.

    Guarantee: all of them together are (epsilon, delta)-private.

    Example:
        >>> split_budget([], Fraction(1), 0.0)
        ()
    """
    matters = np.array([each.matters for each in demands], dtype=np.float64)
    pure = _pure(matters, epsilon)
    if delta == 0 or not demands:
        return pure
    pure_error = 2 * float((matters ** (2 / 3)).sum()) ** 3 / float(epsilon) ** 2
    mixed = any(each.part.pure for each in demands)
    mu = _total(float(epsilon), delta, mixed=mixed)
    if mu is None or float(matters.sum()) ** 2 / mu**2 >= pure_error:
        return pure
    each = np.sqrt(matters / matters.sum()) * mu * (1 - 1e-9)
    return tuple(
        # A selection of range η is η²/8-zCDP, as Gaussian noise of μ = η/2 is.
        Fraction(2 * float(m)) if demand.part.pure else GDP(mu=float(m))
        for demand, m in zip(demands, each, strict=True)
    )


def _pure(matters: np.ndarray, epsilon: Fraction) -> tuple[Fraction, ...]:
    """Return exact shares of ε that add up to it."""
    wanted = matters ** (2 / 3)
    whole = [max(1, round(_PARTS * float(w / wanted.sum()))) for w in wanted]
    return tuple(epsilon * each / sum(whole) for each in whole)


@lru_cache(maxsize=256)  # people ask again and again at one (ε, δ)
def _total(epsilon: float, delta: float, *, mixed: bool) -> float | None:
    """Return the largest √Σμ² that (ε, δ) allows, None where there is none."""
    target = Approx(epsilon, delta)
    try:
        if mixed:  # with selections: Rényi divergences add up
            return math.sqrt(
                2 / calibrate(lambda x: ZCDP(rho=1 / x), target=target, relative=1e-9)
            )
        return 1 / calibrate(lambda x: GDP(mu=1 / x), target=target, relative=1e-9)
    except NoBound:
        return None
