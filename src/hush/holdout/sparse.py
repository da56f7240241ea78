"""The plan of a reusable holdout: pay only where training and holdout disagree."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from hush import checks
from hush.holdout import plans, transfer
from hush.holdout.scores import GRAIN
from hush.mechanisms import Gaussian, SparseVector
from hush.privacy import GDP, Pure, compose, repeat
from hush.privacy.curve import Curve


@final
@dataclass(frozen=True)
class SparsePlan:
    """Up to `queries` questions, of which `hits` may find a disagreement.

    `check` compares totals of grains; a fresh one starts after every hit. A value of
    the training data that passes is within `agreed` of the population's, a corrected
    one, answered by `mechanism`, within `radius`.

    Guarantee: with probability `level`, both hold for all answers at once; the whole
    conversation has `curve`.
    """

    records: int
    queries: int
    hits: int
    level: float
    width: float | Fraction
    tolerance: float
    check: SparseVector
    mechanism: Gaussian
    curve: Curve
    agreed: float
    radius: float

    @property
    def vacuous(self) -> bool:
        """Whether an agreed answer in the middle of the range would exclude nothing."""
        return self.agreed >= self.width / 2


def _laplace(queries: int, hits: int, chance: float) -> float:
    """Return ζ with P(noise of all checks > ζ·scale) <= chance/2.

    A check errs by its query's noise, of twice the scale, plus its threshold's: beyond
    u only if the first exceeds 2u/3 or the second u/3, each with chance e^(-u/3).
    """
    return 3 * math.log(2 * (queries + hits) / chance)


def _radii(
    scale: float, std: float, gap: float, queries: int, hits: int, chance: float
) -> tuple[float, float]:
    """Return (agreed, radius) without tolerance and lattices; theorem 7."""
    z, rest = transfer.noise_beyond(hits, chance / 2)
    beyond = 1.5 * scale + std * rest / chance
    return (
        (scale * _laplace(queries, hits, chance) + beyond + gap) * (1 + 2.0**-40),
        (std * z + beyond + gap) * (1 + 2.0**-40),
    )


def sparse(
    records: int,
    queries: int,
    hits: int,
    *,
    tolerance: float,
    level: float = 0.95,
    width: float | Fraction = 1.0,
) -> SparsePlan:
    """Return the plan whose wider interval is the narrowest.

    Example:
        >>> plan = sparse(100_000, queries=10**6, hits=10, tolerance=0.02)
        >>> plan.vacuous, plan.agreed < plans.gaussian(100_000, 10**6).radius
        (False, True)

    Reference: [DFHPRR15] Thresholdout; docs/proofs/holdout.md, theorem 7.
    """
    n = checks.whole("records", records, at_least=1)
    k = checks.whole("queries", queries, at_least=1)
    b = checks.whole("hits", hits, at_least=1, at_most=k)
    w = checks.rational("width", width)
    allowed = checks.real("tolerance", tolerance, above=0)
    chance = (1 - checks.real("level", level, above=0, below=1)) * (1 - 2.0**-40)
    scale, std = _best_noise(n, k, b, chance)

    grain = float(n << GRAIN)  # one unit of the mean of scores, in total grains
    check = SparseVector(
        threshold=math.ceil(Fraction(allowed) / w * (n << GRAIN)), scale=scale * grain
    )
    mechanism = Gaussian(std * float(w))
    # A pure guarantee is also a Gaussian one, and those add in squares.
    each = GDP(mu=check.curve(1 << GRAIN).mu)
    curve = repeat(compose(each, mechanism.curve(w / n)), times=b)
    gap = transfer.overfit(curve, chance)
    agreed, radius = _radii(float(scale), std, gap, k, b, chance)
    # Whole-number noise: at most half a unit more in each of the two, and rounding up.
    grains = 4.0 / grain
    slack = plans.edges(mechanism, w)
    return SparsePlan(
        n,
        k,
        b,
        level,
        width,
        allowed,
        check,
        mechanism,
        curve,
        allowed + (agreed + grains) * float(w) + slack,
        (radius + grains) * float(w) + slack,
    )


def _best_noise(n: int, k: int, hits: int, chance: float) -> tuple[float, float]:
    """Return the scale of checks and the std of corrections, in units of the width."""
    found = (math.inf, 0.0, 0.0)
    epsilon = np.geomspace(1e-3, 30, 120) * math.sqrt(20 / n) / hits**0.25
    mu = np.array([Pure(epsilon=float(e)).mu for e in epsilon])
    for share in (0.25, 0.5, 1.0, 2.0):
        gaps = transfer.gaussian_overfit_estimate(
            np.sqrt(hits * (1 + share**2)) * mu, chance
        )
        for e, m, gap in zip(epsilon, mu, gaps, strict=True):
            scale, std = 2 / (n * float(e)), 1 / (n * share * float(m))
            wide = max(_radii(scale, std, float(gap), k, hits, chance))
            found = min(found, (wide, scale, std))
    return found[1], found[2]
