"""The Gaussian privacy loss, whole or Poisson-subsampled: one step of DP-SGD.

The loss of N(mu, 1) against N(0, 1) is N(mu²/2, mu²).
"""

import math
from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol, final

import numpy as np
import scipy
from numpy.typing import ArrayLike

from hush import checks
from hush.errors import NoBound
from hush.privacy.pld.loss_distribution import (
    ROUNDING,
    Bracket,
    Decay,
    Direction,
    Floats,
    LossLaw,
    Rule,
    checked_direction,
    sampled_delta,
)
from hush.privacy.pld.mixture_loss import MixtureLoss

# For ∫ of Mills' slope over at most 1/2: ten points err by less than rounding.
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
    if mu < 0.5:  # then m(a) - m(a + mu) loses digits: integrate minus its derivative
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


# -- The Poisson-subsampled Gaussian: one step of DP-SGD -------------------------------


@final
@dataclass(frozen=True)
class SubsampledGaussianLoss(MixtureLoss):
    """Gaussian noise of `std` times the sensitivity, on a Poisson sample at `rate`.

    Guarantee: "remove" is (1-rate) N(0, std²) + rate N(1, std²) against N(0, std²),
    "add" is the same pair the other way round: the two directions of add/remove.

    Example:
        >>> step = SubsampledGaussianLoss(std=1.0, rate=0.5, direction="remove")
        >>> round(float(step.delta(0.0)[1]), 6)
        0.191462

    Reference: [ZDW22] Theorem 11; proof in docs/proofs/contour.md
    """

    std: float
    rate: float
    direction: Direction

    def __post_init__(self) -> None:
        std = checks.real("std", self.std, above=0)
        rate = checks.real("rate", self.rate, above=0, at_most=1)
        object.__setattr__(self, "std", std)
        object.__setattr__(self, "rate", rate)
        object.__setattr__(self, "direction", checked_direction(self.direction))

    @property
    def slope(self) -> float:
        """dy/dx = 1/std²."""
        return 1 / self.std**2

    @property
    def offset(self) -> float:
        """Y at x = 0."""
        return -0.5 / self.std**2

    @property
    def panel_width(self) -> float:
        """Two standard deviations."""
        return 2 * self.std

    def window(self, log_drop: float) -> tuple[float, float, float]:
        """Return where N(0, std²) and N(1, std²) have all but e^log_drop of mass."""
        # Φ(-z) <= e^(-z²/2)/2, so both tails of both laws hold under e^log_drop / 4.
        z = math.sqrt(2 * (math.log(4) - log_drop))
        return -self.std * z, 1 + self.std * z, math.exp(log_drop)

    def log_base(self, x: Floats) -> Floats:
        """Return the log density of N(0, std²)."""
        return -0.5 * (x / self.std) ** 2 - math.log(self.std * math.sqrt(2 * math.pi))

    def log_base_above(self, left: Floats, right: Floats, height: Floats) -> Floats:
        """|e^(-(x+iy)²/2s²)| = e^((y²-x²)/2s²)."""
        nearest = np.maximum(np.maximum(left, -right), 0.0)
        return np.asarray(self.log_base(nearest) + 0.5 * (height / self.std) ** 2)

    def log_base_below(self, left: Floats, right: Floats) -> Floats:
        """The density is smallest at an end."""
        return self.log_base(np.maximum(np.abs(left), np.abs(right)))

    def _bound_on_shifted_path(
        self, power: float, log_mass: float, log_drop: float
    ) -> Callable[[float], float]:
        """Integrate along x + iτ, where |ℓ^(w)| = |ℓ|^power e^(-t arg ℓ), arg ℓ > 0."""
        left, right, _ = self.window(log_drop)
        return shifted_decay(self, power, log_mass, left, right)

    def plain(self) -> LossLaw:
        """At rate one this is the Gaussian mechanism."""
        return GaussianLoss(1 / self.std) if self.rate == 1.0 else self

    def reversed(self) -> "SubsampledGaussianLoss":
        """Return the other direction."""
        other: Direction = "add" if self.direction == "remove" else "remove"
        return SubsampledGaussianLoss(self.std, self.rate, other)

    def sampled(self, rate: float, direction: Direction) -> LossLaw:
        """Sampling a sample multiplies the rates."""
        if self.direction == "add":
            raise NoBound(
                "sampled needs the pair (with, without); this law is (without, with). "
                "Call it on the 'remove' law, once for each direction."
            )
        rate = checks.real("rate", rate, above=0, at_most=1)
        return SubsampledGaussianLoss(self.std, self.rate * rate, direction)

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """Return the closed form."""
        base = GaussianLoss(1 / self.std)
        return sampled_delta(base, self.rate, self.direction, epsilon)


# -- Decay of a subsampled Gaussian's transform, by moving the path of integration -----
#
# On x + iτ, with θ = τ/σ² <= π/2, the integrand b ℓ^w of E e^(zL), Im w = ±t, has
# modulus b(x) e^(τ²/2σ²) |ℓ|^a e^(-t arg ℓ), and arg ℓ > 0: the bound falls with t,
# so it holds for all larger t too. Cells of x bound the integral; the two ends of the
# kept window add the vertical pieces. For t < 0 the path moves downwards, with the
# same bound.

# Heights that are tried: θ from π/2 down to a hundredth of it, √2 apart. Cells whose
# lower ends bound the argument, narrow enough to lose little by that.
_ANGLES = np.pi / 2 * 2.0 ** (-np.arange(14) / 2)
_CELLS = 768


class _Gaussian(Protocol):
    @property
    def std(self) -> float: ...

    @property
    def rate(self) -> float: ...

    def log_base_above(self, left: Floats, right: Floats, height: Floats) -> Floats: ...


def shifted_decay(
    law: _Gaussian,
    power: float,
    log_mass: float,
    left: float,
    right: float,
    softness: float = math.inf,
) -> Callable[[float], float]:
    """Return t -> log of a bound on |E e^((c+it)L)| / e^log_mass for all larger t.

    A density with a soft edge of that width grows by e^(τ²/2 softness²) more on x + iτ.
    """
    variance = law.std**2
    ends = np.linspace(left, right, _CELLS + 1)
    odds = np.log(law.rate) - math.log1p(-law.rate) + (ends - 0.5) / variance
    odds = np.minimum(odds, 600.0)

    @cache
    def cells() -> tuple[Floats, Floats, Floats]:
        angle = _ANGLES[:, None]
        ratio = np.exp(odds)
        # ℓ = (1-q)(1 + ratio e^(iθ)); its modulus and argument grow with x.
        size = math.log1p(-law.rate) + 0.5 * np.log1p(
            ratio * (2 * np.cos(angle) + ratio)
        )
        turn = np.arctan2(ratio * np.sin(angle), 1 + ratio * np.cos(angle))
        rise = variance * _ANGLES
        lift = 0.5 * variance * _ANGLES**2 + 0.5 * (rise / softness) ** 2
        base = law.log_base_above(ends[:-1], ends[1:], np.zeros(_CELLS))
        best = power * (size[:, 1:] if power >= 0 else size[:, :-1])
        mass = (
            base + best + lift[:, None] + math.log((right - left) / _CELLS) - log_mass
        )
        # A vertical piece has length τ, and |ℓ| on it is largest on the real line,
        # smallest at its top.
        flat = math.log1p(-law.rate) + np.log1p(ratio)
        sides = law.log_base_above(
            ends[[0, -1]], ends[[0, -1]], np.zeros(2)
        ) + power * (flat[[0, -1]] if power >= 0 else size[:, [0, -1]])
        side = sides + (lift + np.log(rise))[:, None] - log_mass
        return mass, turn[:, :-1], np.broadcast_to(side, (_ANGLES.size, 2))

    def log_bound(t: float) -> float:
        mass, turn, side = cells()
        parts = np.concatenate([mass - t * turn, side], axis=1)
        top = parts.max(axis=1)
        total = top + np.log(np.exp(parts - top[:, None]).sum(axis=1))
        return float(total.min()) + 1e-9

    return log_bound


# -- A part of a subsampled Gaussian: some of its mass, the losses of the whole --------


@dataclass(frozen=True)
class PartLoss(MixtureLoss, ABC):
    """A measure, not a law; the loss at each point is that of the `whole`."""

    whole: SubsampledGaussianLoss

    @property
    def rate(self) -> float:  # type: ignore[override]
        """The rate of the whole."""
        return self.whole.rate

    @property
    def direction(self) -> Direction:  # type: ignore[override]
        """The direction of the whole."""
        return self.whole.direction

    @property
    def slope(self) -> float:
        """dy/dx."""
        return self.whole.slope

    @property
    def offset(self) -> float:
        """Y at x = 0."""
        return self.whole.offset


# --------------------------------------------------------------------------------------
# A cell of a subsampled Gaussian: the part of its law with x between two soft edges.
#
# The density is multiplied by Φ((x - left)/w) - Φ((x - right)/w). Cells with shared
# edges add up to the whole law, each is analytic, and the masses have closed forms.


@final
@dataclass(frozen=True)
class CellLoss(PartLoss):
    """The part of `whole` between soft edges, divided by e^log_unit.

    Guarantee: a measure, not a law: `rule` and `decay` hold for it, `delta` is not
    defined. Only cells that reach down to minus infinity have log_unit zero.
    """

    left: float
    right: float
    softness: float
    log_unit: float = 0.0

    @property
    def std(self) -> float:
        """The std of the whole."""
        return self.whole.std

    @property
    def panel_width(self) -> float:
        """Two standard deviations, or two widths of the edges of a narrow cell."""
        narrow = math.isfinite(self.left) and math.isfinite(self.right)
        return 2 * min(self.std, self.softness) if narrow else 2 * self.std

    def window(self, log_drop: float) -> tuple[float, float, float]:
        """Return where all but e^log_drop of the cell lies, under P and under Q."""
        # Beyond u widths from an edge the factor is below Φ(-u) <= e^(-u²/2)/2, and
        # what it multiplies is a probability.
        log_drop = log_drop + self.log_unit
        left, right, _ = self.whole.window(log_drop - math.log(4))
        u = math.sqrt(2 * max(math.log(4) - log_drop, 1.0))
        left = max(left, self.left - u * self.softness)
        right = min(right, self.right + u * self.softness)
        return left, max(right, left), math.exp(log_drop - self.log_unit)

    def _log_factor(self, x: Floats) -> Floats:
        upper, lower = (x - self.left) / self.softness, (x - self.right) / self.softness
        # Φ(a) - Φ(b) = Φ(-b) - Φ(-a): the side on which both are small keeps digits.
        flip = upper + lower > 0
        first = scipy.special.log_ndtr(np.where(flip, -lower, upper))
        second = scipy.special.log_ndtr(np.where(flip, -upper, lower))
        return np.asarray(first + np.log1p(-np.exp(np.minimum(second - first, -1e-9))))

    def log_base(self, x: Floats) -> Floats:
        """Return the log density under N(0, std²)."""
        return self.whole.log_base(x) + self._log_factor(x) - self.log_unit

    def log_base_above(self, left: Floats, right: Floats, height: Floats) -> Floats:
        """|Φ(a + iv) - Φ(b + iv)| <= e^(v²/2) (Φ(a) - Φ(b)): integrate φ sideways."""
        factor = np.minimum(
            scipy.special.log_ndtr((right - self.left) / self.softness),
            scipy.special.log_ndtr((self.right - left) / self.softness),
        )
        lift = 0.5 * (height / self.softness) ** 2 + 1e-12
        base = self.whole.log_base_above(left, right, height)
        return np.asarray(base + factor + lift - self.log_unit)

    def log_base_below(self, left: Floats, right: Floats) -> Floats:
        """The density is log-concave, so smallest at an end."""
        return np.asarray(np.minimum(self.log_base(left), self.log_base(right)) - 1e-9)

    def _points(self, ends: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        y, loss, log_weight, sizes = super()._points(ends)
        x = (y - self.offset) / self.slope
        score = np.zeros_like(x)
        for edge in (self.left, self.right):
            if math.isfinite(edge):
                # The score is known within the rounding of x and of the edge.
                u = np.abs(x - edge) / self.softness
                score += (1 + u) * (u + (np.abs(x) + abs(edge)) / self.softness)
        return y, loss, log_weight, sizes + score

    def rule(
        self, tilt: float, reach: float, log_tolerance: float, log_drop: float
    ) -> Rule:
        """Return the points of the cell; the lowest cell knows what it lacks."""
        rule = super().rule(tilt, reach, log_tolerance, log_drop)
        if math.isfinite(self.left) or self.log_unit:
            return replace(rule, mass_error=math.inf, balance_error=math.inf)
        above = outside(self.whole, self.right, self.softness)
        return replace(
            rule,
            defect=-above.p,
            imbalance=-above.gain,
            mass_error=rule.mass_error + above.p * above.error,
            balance_error=rule.balance_error + above.drift,
        )

    def decay(self, tilt: float, log_mass: float, log_drop: float) -> Decay:
        """Return layers and the shifted path; variation is not bounded."""
        decay = super().decay(tilt, log_mass, log_drop)
        return replace(decay, variation=math.inf, atoms=1.0)

    def _bound_on_shifted_path(
        self, power: float, log_mass: float, log_drop: float
    ) -> Callable[[float], float]:
        left, right, _ = self.window(log_drop)
        return shifted_decay(self, power, log_mass, left, right, self.softness)

    def reversed(self) -> "CellLoss":
        """Return the same cell of the reversed pair."""
        return replace(self, whole=self.whole.reversed())

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """A part of a law has no curve."""
        raise NoBound("a cell is a part of a law and has no curve; ask the whole law.")


@final
@dataclass(frozen=True)
class Outside:
    """What is above a soft edge, for the direction "remove".

    Guarantee: p and q, its masses under P and Q, err by `error` relatively, and their
    difference `gain` by at most `drift`.
    """

    p: float
    q: float
    gain: float
    error: float
    drift: float


def outside(law: SubsampledGaussianLoss, edge: float, softness: float) -> Outside:
    """Return what is above an edge: x plus softness times a normal exceeds it."""
    width = math.hypot(law.std, softness)
    far = float(scipy.special.ndtr(-edge / width))
    near = float(scipy.special.ndtr((1 - edge) / width))
    rate, size = law.rate, (abs(edge) + 1) / width
    error = ROUNDING * (64 + 8 * size * size)
    return Outside(
        p=(1 - rate) * far + rate * near,
        q=far,
        gain=rate * (near - far),
        error=error,
        drift=error * rate * (near + far),
    )
