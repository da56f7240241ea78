"""Fixed-size Gaussian batches: the worse half of a mixture's loss, and its mirror.

Replacing a record may lead either way, so the curve of both orders is that of the
mixture against its part for ε >= 0. The pair with this curve on both sides has the
losses above 0 of that pair, the same with opposite sign, and what is left at 0.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from hush.privacy.pld.gaussian_loss import PartLoss, SubsampledGaussianLoss
from hush.privacy.pld.loss_distribution import (
    ROUNDING,
    Bracket,
    Decay,
    Floats,
    LossLaw,
    Rule,
)


@final
@dataclass(frozen=True)
class _Half(PartLoss):
    """The part of a subsampled Gaussian where the mixture is the likelier law: x > 1/2.

    Guarantee: a measure, not a law; `rule` and `decay` hold for it.
    """

    @property
    def panel_width(self) -> float:
        """As for the whole."""
        return self.whole.panel_width

    def window(self, log_drop: float) -> tuple[float, float, float]:
        """Return the upper half of the window of the whole."""
        _, right, outside = self.whole.window(log_drop)
        return 0.5, right, outside

    def log_base(self, x: Floats) -> Floats:
        """As for the whole."""
        return self.whole.log_base(x)

    def log_base_above(self, left: Floats, right: Floats, height: Floats) -> Floats:
        """As for the whole."""
        return self.whole.log_base_above(left, right, height)

    def log_base_below(self, left: Floats, right: Floats) -> Floats:
        """As for the whole."""
        return self.whole.log_base_below(left, right)

    def reversed(self) -> "_Half":
        """Return the same half of the reversed pair."""
        return _Half(self.whole.reversed())

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """Return the curve of the whole, which is its own for ε >= 0."""
        return self.whole.delta(epsilon)


@final
@dataclass(frozen=True)
class MirroredLoss(LossLaw):
    """Gaussian noise of `std` on a secret batch, a share `rate` of all records.

    Guarantee: for ε >= 0 the curve of (1-rate) N(0, std²) + rate N(1, std²) against
    N(0, std²), and the same for the reverse.

    Example:
        >>> law = MirroredLoss(std=1.0, rate=0.5)
        >>> round(float(law.delta(0.0)[1]), 6), law.reversed() is law
        (0.191462, True)

    Reference: [DRS22] Theorem 4.2; docs/proofs/contour.md
    """

    std: float
    rate: float

    @cached_property
    def _halves(self) -> tuple[_Half, _Half]:
        over = _Half(SubsampledGaussianLoss(self.std, self.rate, "remove"))
        return over, over.reversed()

    @cached_property
    def _neutral(self) -> float:
        """1 less the mass above 0 and its mirror image: (1-q)(1 - 2Φ(-1/(2 std)))."""
        return (1 - self.rate) * math.erf(1 / (self.std * math.sqrt(8)))

    def reversed(self) -> "MirroredLoss":
        """Return itself."""
        return self

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """Return the curve of the mixture, carried over to ε < 0."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        lower, upper = self._halves[0].delta(np.abs(epsilon))
        # δ(ε) = 1 - e^ε + e^ε δ(-ε), both terms positive.
        factor = np.exp(np.minimum(epsilon, 0.0))
        below = -np.expm1(np.minimum(epsilon, 0.0))
        lower = (below + factor * lower) * (1 - 4 * ROUNDING)
        return lower, np.minimum((below + factor * upper) * (1 + 4 * ROUNDING), 1.0)

    def sketch(self, log_drop: float) -> tuple[Floats, Floats]:
        """Return points of unrefined panels and the atom at 0."""
        drawn = [half.sketch(log_drop) for half in self._halves]
        loss = np.concatenate([each for each, _ in drawn] + [np.zeros(1)])
        atom = np.array([math.log(self._neutral)])
        return loss, np.concatenate([each for _, each in drawn] + [atom])

    def rule(
        self, tilt: float, reach: float, log_tolerance: float, log_drop: float
    ) -> Rule:
        """Return the points of both halves and the atom at 0."""
        asked = (tilt, reach, log_tolerance - math.log(2), log_drop - math.log(2))
        over, under = (half.rule(*asked) for half in self._halves)

        def join(first: Floats, second: Floats, atom: float) -> Floats:
            return np.concatenate([first, second, [atom]])

        return Rule(
            loss=join(over.loss, under.loss, 0.0),
            log_weight=join(over.log_weight, under.log_weight, math.log(self._neutral)),
            loss_error=join(over.loss_error, under.loss_error, 0.0),
            weight_error=join(over.weight_error, under.weight_error, 16 * ROUNDING),
            missing=over.missing + under.missing,
            top=over.top,
            # All three parts add up to one under P, and under Q.
            mass_error=over.mass_error + under.mass_error,
            balance_error=over.balance_error + under.balance_error,
            quadrature=lambda real, imaginary: (
                over.quadrature(real, imaginary) + under.quadrature(real, imaginary)
            ),
        )

    def decay(self, tilt: float, log_mass: float, log_drop: float) -> Decay:
        """Add the layers and the variation of both halves; the atom stays."""
        over, under = (h.decay(tilt, log_mass, log_drop) for h in self._halves)
        atom = self._neutral * math.exp(min(-log_mass, 700.0)) * (1 + 1e-9)
        return Decay(
            np.concatenate([over.lengths, under.lengths]),
            np.concatenate([over.masses, under.masses]),
            over.variation + under.variation,
            over.atoms + under.atoms + atom,
        )
