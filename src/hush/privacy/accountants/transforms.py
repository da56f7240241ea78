"""Transforms of losses: under an exponential tilt, and in hyperbolic closed forms.

Everything is arranged so that no first-order term is ever cancelled: with
E(x) = e^x - 1 - x and E_P[1 - e^-L] = 0, the transform is
M(c) - 1 = E_P[E(cL) + c E(-L)], a sum of positive terms for c > 0, and
M(c+it)/M(c) = e^(itm) (1 + E_c[E(it(L-m))]) with m the tilted mean. A step of a
billion-step composition may move the loss by 1e-9 and still keep its digits.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from hush.privacy.pld.laplace_loss import LaplaceLoss, RangeLoss
from hush.privacy.pld.loss_distribution import ROUNDING, Floats, LossLaw, Rule

Complexes = NDArray[np.complex128]

# Above this many exponentials, for many copies and for few, the transform is computed
# by a matrix product, which errs by a few roundings instead of relatively to t².
# Many copies multiply absolute errors, so that for them the direct way is worth more.
_DIRECT_SIZE = 60_000
_DIRECT_SIZE_OF_FEW = 2_000


def second_order(x: Floats) -> Floats:
    """Return e^x - 1 - x to full relative accuracy.

    For |x| < 1 it is x²/2 (1 + x/3 (1 + x/4 (1 + …))): 1/21! is below every rounding.
    """
    small = np.clip(x, -1.0, 1.0)
    series = np.full_like(small, 1.0)
    for n in range(20, 2, -1):
        series = 1.0 + series * small / n
    with np.errstate(over="ignore"):
        return np.where(np.abs(x) < 1.0, 0.5 * small**2 * series, np.expm1(x) - x)


def _odd_part(x: Floats) -> Floats:
    """Return sin x - x to full relative accuracy.

    For |x| < 1/2 it is -x³/6 (1 - x²/20 (1 - x²/42 (1 - …))), six terms of it.
    """
    square = np.minimum(x * x, 0.25)
    series = 1 - square / 72 * (1 - square / 110 * (1 - square / 156))
    series = 1 - square / 20 * (1 - square / 42 * series)
    return np.where(np.abs(x) < 0.5, -x * square / 6 * series, np.sin(x) - x)


@final
@dataclass(frozen=True)
class Tilted:
    """A rule under the tilt e^(cL).

    Guarantee: the rule's mass E e^(cL) is e^log_mass within a factor e^±log_mass_error
    for rounding, and the true one differs by `quadrature_error` relatively; the error
    that `ratio` states covers both.
    """

    log_mass: float
    log_mass_error: float
    mean: float
    mean_error: float
    variance: float
    weight: Floats
    distance: Floats  # L - mean
    weight_error: Floats
    loss_error: Floats
    quadrature_error: float  # relative to the mass

    @property
    def log_quadrature(self) -> float:
        """Log of one plus the quadrature error; infinite where that says nothing."""
        error = self.quadrature_error
        return math.log1p(error) if error < 0.5 else math.inf

    @property
    def log_mass_above(self) -> float:
        """Upper bound of the log of the true mass."""
        return self.log_mass + self.log_mass_error + self.log_quadrature

    def ratio(self, step: float, count: int, copies: int) -> tuple[Complexes, Floats]:
        """Return S and its error: M(c+it)/M(c) = e^(it mean) (1 + S), t = n step."""
        t: Floats = step * np.arange(count, dtype=np.float64)
        p, d = self.weight, self.distance
        eta = self.weight_error + p @ self.weight_error  # normalising errs as well
        drift = p @ (self.loss_error * np.abs(d))
        common = t * self.mean_error + self.quadrature_error
        direct = _DIRECT_SIZE if copies > 100 else _DIRECT_SIZE_OF_FEW
        if count * p.size <= direct:
            # E e^(itd) - 1 = Σ p (cos td - 1) + i Σ p (sin td - td), as Σ pd = 0.
            x = t[:, None] * d
            value = (-2 * np.sin(0.5 * x) ** 2) @ p + 1j * (_odd_part(x) @ p)
            scale = 32 * ROUNDING * self.variance + drift + p @ (eta * d * d)
            return value, common + t * t * scale
        near = np.abs(d) * t[-1] <= 1.0
        value = _series(t, p[near], d[near])
        scale = p[near] @ ((32 * ROUNDING + eta[near]) * d[near] ** 2)
        p, d, eta = p[~near], d[~near], eta[~near]
        # Few points lie far out, and what rounding does to them weighs as they do.
        far = _products(step, count, p, d)
        value = value + (far - p.sum() - 1j * t * (p @ d))
        reach = t * (p @ np.abs(d))
        rounding = ROUNDING * (p.size + 64) * (p.sum() + reach)
        wobble = 2 * (p @ eta) + t * (p @ (eta * np.abs(d)))
        wobble = np.minimum(wobble, t * t * (p @ (eta * d * d)))
        return value, common + t * t * (scale + drift) + rounding + wobble


def _series(t: Floats, p: Floats, d: Floats) -> Complexes:
    """Return Σ p (e^(itd) - 1 - itd) for |td| <= 1, by moments.

    Σ_n (it)^n/n! Σ p d^n, n from 2 to 21: 1/22! is below every rounding.
    """
    last = float(t[-1])
    x, unit = d * last, t / last
    power, total = p * x * x, np.zeros(t.size, dtype=np.complex128)
    moments = []
    for n in range(2, 22):
        moments.append(float(power.sum()) * 1j**n / math.factorial(n))
        power = power * x
    for moment in reversed(moments):
        total = total * unit + moment
    return np.asarray(total * unit * unit)


def _products(step: float, count: int, p: Floats, d: Floats) -> Complexes:
    """Return Σ p e^(itd) on all nodes by one matrix product.

    With n = a·block + b, e^(i n step d) = e^(i a·block·step d) e^(i b step d).
    """
    block = math.isqrt(count) + 1
    inner = np.exp(1j * np.outer(d, step * np.arange(block)))
    outer = np.exp(1j * np.outer(step * block * np.arange(block), d)) * p
    return np.asarray((outer @ inner).ravel()[:count])


def rule_at_tilt(rule: Rule, c: float, reach: float) -> Tilted:
    """Return the rule under tilt c, certified for |Im z| <= reach."""
    loss = rule.loss
    size = c * loss
    exponent = rule.log_weight + size
    top = float(exponent.max())
    p = np.exp(exponent - top)
    total = float(p.sum())
    p /= total
    eta = (
        rule.weight_error
        + abs(c) * rule.loss_error
        + 4 * ROUNDING * (4 + np.abs(exponent))
    )
    # The plain way: log-sum-exp and a weighted mean.
    log_mass = top + math.log(total)
    log_error = float(p @ eta) + ROUNDING * (32 + 4 * abs(log_mass))
    mean = float(p @ loss)
    mean_error = float(
        p @ (np.abs(loss - mean) * eta + rule.loss_error)
        + 32 * ROUNDING * (p @ np.abs(loss))
    )
    # The other way sums masses of P, untilted: e^50 and e^-600 keep them in floats.
    if size.max() < 50.0 and log_mass > -600.0:
        balance = _Balance.of(rule, c)
        excess, error = balance.excess()
        if 1 + excess > 2 * error and error / (1 + excess - error) < log_error:
            log_mass = math.log1p(excess)
            log_error = error / (1 + excess - error) + ROUNDING * abs(log_mass)
        centre, centre_error = balance.mean(log_mass, log_error)
        if centre_error < mean_error:
            mean, mean_error = centre, centre_error
    distance = loss - mean
    quadrature = rule.quadrature(c, reach) * math.exp(min(-log_mass, 700.0))
    return Tilted(
        log_mass=log_mass,
        log_mass_error=log_error,
        mean=mean,
        mean_error=mean_error,
        variance=float(p @ distance**2),
        weight=p,
        distance=distance,
        weight_error=eta,
        loss_error=rule.loss_error,
        quadrature_error=quadrature,
    )


@final
@dataclass(frozen=True)
class _Balance:
    """Sums over a rule's points under P, from which nothing of first order cancels.

    With weights w, Σ w = 1 + defect and Σ w (1 - e^-L) = imbalance are known, the
    latter because Q has a total of one as well.
    """

    rule: Rule
    c: float
    weight: Floats  # w, not tilted
    growth: Floats  # e^(cL)
    rise: Floats  # |e^(cL) - 1|
    back: Floats  # |1 - e^-L|
    backward: Floats  # E(-L), E(x) = e^x - 1 - x
    own: Floats  # relative error of a term, beside that of its loss

    @classmethod
    def of(cls, rule: Rule, c: float) -> "_Balance":
        """Return the terms of a rule at tilt c."""
        loss, size = rule.loss, c * rule.loss
        return cls(
            rule=rule,
            c=c,
            weight=np.exp(rule.log_weight),
            growth=np.exp(size),
            rise=np.abs(np.expm1(size)),
            back=np.abs(np.expm1(-loss)),
            backward=second_order(-loss),
            own=rule.weight_error
            + ROUNDING * (32 + 4 * np.abs(size) + 4 * np.abs(loss)),
        )

    def excess(self) -> tuple[float, float]:
        """Return M(c) - 1 and a bound on its error, by the better of two sums."""
        rule, c, w = self.rule, self.c, self.weight
        size = c * rule.loss
        # Without the identity for Q: M - 1 = defect + Σ w expm1(cL).
        error = float(
            w @ (self.rise * self.own + abs(c) * rule.loss_error * self.growth)
        )
        error += rule.mass_error
        # With it: M - 1 = defect + Σ w (E(cL) + c E(-L)) + c imbalance.
        forward = second_order(size)
        balanced = w @ (
            (forward + abs(c) * self.backward) * self.own
            + abs(c) * rule.loss_error * (self.rise + self.back)
        )
        balanced_error = float(balanced) + rule.mass_error + abs(c) * rule.balance_error
        if balanced_error < error:
            excess = rule.defect + float(w @ (forward + c * self.backward))
            return excess + c * rule.imbalance, balanced_error
        return rule.defect + float(w @ np.expm1(size)), error

    def mean(self, log_mass: float, log_error: float) -> tuple[float, float]:
        """Return the tilted mean and a bound on its error, for a known log mass.

        M'(c) = Σ w L e^(cL) = Σ w (L expm1(cL) + E(-L)) + imbalance.
        """
        rule, w = self.rule, self.weight
        size = self.c * rule.loss
        mass = math.exp(log_mass)
        first = rule.loss * np.expm1(size)
        spread = w @ (
            (np.abs(first) + self.backward) * self.own
            + rule.loss_error * (self.rise + np.abs(size) * self.growth + self.back)
        )
        mean = (float(w @ (first + self.backward)) + rule.imbalance) / mass
        error = (float(spread) + rule.balance_error) / mass
        return mean, error + abs(mean) * log_error


# --------------------------------------------------------------------------------------
# Losses with hyperbolic transforms, many at once: Laplace noise and bounded range.
#
# With w = z + 1/2 and sinhc x = sinh x / x, E e^(zL) is F(w)/F(1/2) where F(w) = α
# cosh wa + β sinhc wa: (α, β) = (1, a/2) and a = 1/scale for Laplace noise, (0, 1)
# and a = span for bounded range. F is even and entire: z = -1/2 is no pole. What is
# needed are differences, from z to c and from c to 0, where the transform is one:
# products of hyperbolic sines, which cancel nothing.

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
        """Return F = α cosh y + β sinhc y at y = wa."""
        safe = np.maximum(y, 1e-300)
        level = np.where(y > 0, np.sinh(safe) / safe, 1.0)
        return np.asarray(self.ends * np.cosh(y) + self.body * level)

    def log_mass(self, tilt: float) -> tuple[Floats, Floats]:
        """Return log F(w)/F(1/2) at w = tilt + 1/2, and a bound on its error."""
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
        """Return K' = a (α sinh y + β sinhc' y)/F, the means, and their errors."""
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
