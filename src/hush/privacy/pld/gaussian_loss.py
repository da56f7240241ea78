"""The Gaussian privacy loss: N(mu²/2, mu²), the loss of N(mu, 1) against N(0, 1)."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy
from numpy.typing import ArrayLike

from hush import checks
from hush.privacy.pld.loss_distribution import (
    ROUNDING,
    Bracket,
    Direction,
    Floats,
    LossLaw,
    Rule,
)

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


def _mills_drop(s: Floats) -> Floats:
    """Return 1 - s m(s), m the Mills ratio: minus its derivative, to full accuracy."""
    result = 1 - s * math.sqrt(math.pi / 2) * scipy.special.erfcx(s / math.sqrt(2))
    # m(s) = 1/(s + r), r = 1/(s + 2/(s + 3/(s + ...))): positive terms only. The error
    # after n terms is about e^(-2 s √(2n)).
    for start, stop, terms in ((3.0, 6.0, 60), (6.0, math.inf, 40)):
        inside = (s >= start) & (s < stop)
        far = s[inside]
        if far.size:
            r = far
            for n in range(terms, 1, -1):
                r = far + n / r
            result[inside] = 1 / (1 + far * r)
    return np.asarray(result)


def gaussian_delta(epsilon: ArrayLike, mu: float) -> Bracket:
    """Bracket the hockey-stick divergence of N(mu, 1) from N(0, 1).

    Guarantee: lower <= Φ(-ε/mu + mu/2) - e^ε Φ(-ε/mu - mu/2) <= upper, also where
    the value is far below the smallest difference of two Φ's.

    Example:
        >>> lower, upper = gaussian_delta(1.0, 1.0)
        >>> round(float(upper), 6)
        0.126937

    Reference: [BW18] Theorem 8; proof in docs/proofs/contour.md
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    size = np.abs(epsilon)
    a = size / mu - mu / 2
    # δ = φ(a) (m(a) - m(a + mu)) with m the Mills ratio.
    if mu < 0.5:
        points = a[..., None] + mu * (1 + _NODES) / 2
        difference = (_mills_drop(points) @ _WEIGHTS) * (mu / 2)
        loss_of_digits = np.ones_like(a)
        density = np.exp(-0.5 * a * a) / math.sqrt(2 * math.pi)
        value = density * difference
    else:
        near, far = scipy.special.log_ndtr(-a), scipy.special.log_ndtr(-a - mu) + size
        gap = np.minimum(far - near, -1e-300)
        value = np.exp(near) * -np.expm1(gap)
        loss_of_digits = -1 / np.expm1(gap)
    # log φ(a) and log Φ(-a) carry an absolute error of about a²/2 ulp, twice over.
    slack = ROUNDING * (64 + 4 * a * a + 2 * size) * loss_of_digits
    lower, upper = value * np.maximum(1 - slack, 0), value * (1 + slack) + 5e-324
    # For negative ε: δ(ε) = 1 - e^ε + e^ε δ(-ε), both terms positive.
    factor = np.exp(np.minimum(epsilon, 0.0))
    below = -np.expm1(np.minimum(epsilon, 0.0))
    lower = (below + factor * lower) * (1 - 4 * ROUNDING)
    upper = (below + factor * upper) * (1 + 4 * ROUNDING) + 5e-324
    return lower, np.minimum(upper, 1.0)


@final
@dataclass(frozen=True)
class GaussianLoss(LossLaw):
    """Loss of a Gaussian mechanism with `mu` = sensitivity / std.

    Guarantee: the law is exactly N(mu²/2, mu²), the same in both directions.

    Example:
        >>> GaussianLoss(1.0).gaussian_variance
        1.0
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", checks.real("mu", self.mu, above=0, at_most=1e6))

    @property
    def gaussian_variance(self) -> float:
        """mu²."""
        return self.mu * self.mu

    def reversed(self) -> "GaussianLoss":
        """Return itself: shifting either way is the same."""
        return self

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """Return the closed form."""
        return gaussian_delta(epsilon, self.mu)

    def sampled(self, rate: float, direction: Direction) -> LossLaw:
        """Return the subsampled Gaussian with std 1/mu."""
        from hush.privacy.pld.subsampled_gaussian_loss import SubsampledGaussianLoss

        return SubsampledGaussianLoss(1 / self.mu, rate, direction)

    def sketch(self, log_drop: float) -> tuple[Floats, Floats]:
        """Return the unit mass at 0: all is in the Gaussian factor."""
        return np.zeros(1), np.zeros(1)

    def rule(
        self, tilt: float, reach: float, log_tolerance: float, log_drop: float
    ) -> Rule:
        """Return the unit mass at 0: all is in the Gaussian factor."""
        return Rule(
            np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1), balance_error=0.0
        )
