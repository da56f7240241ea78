"""Losses with hyperbolic transforms, many at once: Laplace noise and bounded range.

With w = z + 1/2 and sinhc x = sinh x / x, E e^(zL) is F(w)/F(1/2) where
F(w) = α cosh wa + β sinhc wa: (α, β) = (1, a/2) and a = 1/scale for Laplace noise,
(0, 1) and a = span for bounded range. F is even and entire: z = -1/2 is no pole. What
is needed are differences, from z to c and from c to 0, where the transform is one:
products of hyperbolic sines, which cancel nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from hush.privacy.loss_laplace import LaplaceLoss
from hush.privacy.loss_law import ROUNDING, Floats, LossLaw
from hush.privacy.loss_range import RangeLoss

Complexes = NDArray[np.complex128]

_FARTHEST = 300.0  # e to this power, squared, still is a float
# sinh x - x = x³ Σ ... x^(2k-2)/(2k+1)!, and the derivative of sinhc; both for |x| < 1.
_ODD = tuple(1 / math.factorial(2 * k + 1) for k in range(1, 13))
_SLOPE = tuple(2 * k / math.factorial(2 * k + 1) for k in range(1, 13))


@final
@dataclass(frozen=True)
class Hyperbolic:
    """Losses by their `rates` a and the weights α (`ends`) and β (`body`): columns.

    Guarantee: every answer comes with a bound on what rounding does to it.

    Example:
        >>> one = np.ones((1, 1))
        >>> laplace = Hyperbolic(one / 2, ends=one, body=one / 4, copies=one)
        >>> round(float(laplace.log_mass(1.0)[0][0, 0]), 6)
        0.200304

    Reference: proof in docs/proofs/contour.md
    """

    rates: Floats
    ends: Floats
    body: Floats
    copies: Floats

    def _height(self, y: Floats) -> Floats:
        safe = np.maximum(y, 1e-300)
        level = np.where(y > 0, np.sinh(safe) / safe, 1.0)
        return np.asarray(self.ends * np.cosh(y) + self.body * level)

    def log_mass(self, tilt: float) -> tuple[Floats, Floats]:
        """Return log E e^(tilt L) and a bound on its error, law by law."""
        a, y = self.rates, self.rates * abs(tilt + 0.5)
        # The transform is one at z = 0 and, as it is even in w, at z = -1. For a < 1
        # it is above 0.9 everywhere: then log1p keeps its relative error.
        gap = tilt if tilt >= -0.5 else -1 - tilt
        one = self._height(0.5 * a)
        near = np.log1p(np.where(a < 1, self._rise(gap) / one, 0.0))
        large = np.log(self._height(y)) - np.log(one)
        rough = ROUNDING * (64 + 8 * (y + a) + 4 * np.abs(large))
        fine = np.abs(np.expm1(np.minimum(near, 1.0))) + np.abs(near)
        fine *= 128 * ROUNDING * (1 + y + a)
        return np.where(a < 1, near, large), np.where(a < 1, fine, rough)

    def _rise(self, gap: float) -> Floats:
        """Return F(1/2 + gap) - F(1/2), gap >= -1/2."""
        a = self.rates
        low, g = 0.5 * a + a * min(gap, 0.0), a * abs(gap)
        high, half = low + g, np.sinh(0.5 * g)
        small = np.minimum(g, 1.0)
        odd = np.where(g < 1.0, small**3 * _horner(_ODD, small * small), np.sinh(g) - g)
        # All terms are positive: sinh high - sinh low - (high - low) sinhc low.
        spread = 2 * half * half * np.sinh(low) + odd * np.cosh(low)
        spread = (spread + g * low * _slope(low)) / np.maximum(high, 1e-300)
        total = self.ends * 2 * half * np.sinh(0.5 * (high + low)) + self.body * spread
        return np.asarray(math.copysign(1.0, gap) * total)

    def mean(self, tilt: float) -> tuple[Floats, Floats]:
        """Return the tilted means K'(tilt) and bounds on their errors."""
        a, w = self.rates, tilt + 0.5
        y = a * abs(w)
        value = a * (self.ends * np.sinh(y) + self.body * _slope(y)) / self._height(y)
        return math.copysign(1.0, w) * value, 64 * ROUNDING * (1 + y) * value

    def ratio(self, tilt: float, t: Floats) -> tuple[Floats, Floats, Floats]:
        """Return M(tilt + it)/M(tilt) - 1, real and imaginary, and its error.

        One row for each law; the error is that of the complex number.
        """
        a, y = self.rates, self.rates * abs(tilt + 0.5)
        theta = 0.5 * t * a
        s, c, u = np.sin(theta), np.cos(theta), 2 * theta
        sinh, cosh = np.sinh(y), np.cosh(y)
        # With x = y + iu: sinh x - sinh y - (x - y) sinhc y, by real and imaginary
        # part, each of the order in which they vanish, is x (sinhc x - sinhc y).
        fall, lift = -2 * s * s, 2 * s * c
        inner = fall * sinh, _odd_sine(u) * cosh + u * y * _slope(y)
        scale = self.body / np.maximum(y * y + u * u, 1e-300)
        height = self._height(y)
        real = self.ends * fall * cosh + scale * (y * inner[0] + u * inner[1])
        imaginary = self.ends * lift * sinh + scale * (y * inner[1] - u * inner[0])
        size = theta * (sinh + np.minimum(theta, 1.0) * cosh) * (1 + y + theta)
        error = 128 * ROUNDING * (self.ends + self.body) / height * size
        sign = math.copysign(1.0, tilt + 0.5)
        return real / height, sign * imaginary / height, error

    def log_mass_above(self, tilt: float) -> float:
        """Return an upper bound of the log transform of all of them together."""
        if tilt == 0.0:
            return 0.0
        value, error = self.log_mass(tilt)
        return float((self.copies * (value + error)).sum())

    def at(self, tilt: float, t: Floats) -> "OnLine":
        """Return all that a contour at this tilt needs of the family."""
        k = self.copies
        mass, mass_error = self.log_mass(tilt)
        mean, mean_error = self.mean(tilt)
        x, y, error = self.ratio(tilt, t)
        near_one = 2 * x + x * x + y * y
        size = np.sqrt((1 + x) ** 2 + y * y)
        real = np.where(
            np.abs(near_one) < 0.5,
            0.5 * np.log1p(np.maximum(near_one, -0.5)),
            np.log(np.maximum(size, 1e-300)),
        )
        angle, turn = np.arctan2(y, 1 + x), t * mean
        rounding = 4 * ROUNDING * (np.abs(real) + np.abs(angle) + np.abs(turn))
        return OnLine(
            logs=(k * (real + 1j * (angle - turn))).sum(axis=0),
            # |a^k - b^k| <= k |a - b| max(|a|, |b|)^(k-1), law by law.
            log_bound=(k * np.log(size + error)).sum(axis=0),
            relative=(k * (error / np.maximum(size + error, 1e-300) + rounding)).sum(
                axis=0
            ),
            log_mass=float((k * mass).sum()),
            log_mass_error=float((k * mass_error).sum()),
            mean=float((k * mean).sum()),
            mean_error=float((k * (mean_error + ROUNDING * np.abs(mean))).sum()),
            top=float((k * self.rates).sum()) * (1 + 1e-14),
            each=mass[:, 0],
            each_error=mass_error[:, 0],
        )


@final
@dataclass(frozen=True)
class OnLine:
    """A family on the nodes of one contour, summed over its laws and their copies.

    `logs` is the log of the transform over e^(log_mass + it mean); its exponential errs
    by at most e^log_bound · relative.
    """

    logs: Complexes
    log_bound: Floats
    relative: Floats
    log_mass: float
    log_mass_error: float
    mean: float
    mean_error: float
    top: float
    each: Floats  # log masses of the laws
    each_error: Floats


def _horner(coefficients: tuple[float, ...], square: Floats) -> Floats:
    total = np.zeros_like(square)
    for each in reversed(coefficients):
        total = total * square + each
    return total


def _slope(y: Floats) -> Floats:
    """Return the derivative of sinhc, (cosh y - sinhc y)/y, for y >= 0."""
    large = np.maximum(y, 1.0)
    direct = (np.cosh(large) - np.sinh(large) / large) / large
    small = np.minimum(y, 1.0)
    return np.where(y < 1.0, small * _horner(_SLOPE, small * small), direct)


def _odd_sine(x: Floats) -> Floats:
    """Return sin x - x to full relative accuracy."""
    small = np.clip(x, -1.0, 1.0)
    near = -(small**3) * _horner(_ODD, -small * small)
    return np.where(np.abs(x) < 1.0, near, np.sin(x) - x)


def _shape(law: LossLaw) -> tuple[float, float, float] | None:
    """Return (a, α, β) of a whole law, where it has them."""
    if isinstance(law, LaplaceLoss) and law.rate == 1.0:
        return 1 / law.scale, 1.0, 0.5 / law.scale
    if isinstance(law, RangeLoss) and law.rate == 1.0:
        return law.span, 0.0, 1.0
    return None


def gather(
    components: Sequence[tuple[LossLaw, int]], tilts: Sequence[float]
) -> tuple[Hyperbolic | None, list[int]]:
    """Return the losses with such a transform, and which of the components they are."""
    reach = max(abs(s + 0.5) for s in tilts)
    places, rows = [], []
    for i, (law, copies) in enumerate(components):
        shape = _shape(law)
        if shape is not None and reach * shape[0] <= _FARTHEST:
            places.append(i)
            rows.append((*shape, float(copies)))
    if not rows:
        return None, []
    return Hyperbolic(*np.array(rows).T[:, :, None]), places
