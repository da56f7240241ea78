"""A loss law seen under an exponential tilt: mass, mean and transform, with errors.

Everything is arranged so that no first-order term is ever cancelled: with
E(x) = e^x - 1 - x and E_P[1 - e^-L] = 0, the transform is
M(c) - 1 = E_P[E(cL) + c E(-L)], a sum of positive terms for c > 0, and
M(c+it)/M(c) = e^(itm) (1 + E_c[E(it(L-m))]) with m the tilted mean. A step of a
billion-step composition may move the loss by 1e-9 and still keep its digits.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from hush.privacy.loss_law import ROUNDING, Floats, Rule

Complexes = NDArray[np.complex128]

# Above this many exponentials, for many copies and for few, the transform is computed
# by a matrix product, which errs by a few roundings instead of relatively to t².
_DIRECT_SIZE = 60_000
_DIRECT_SIZE_OF_FEW = 2_000


def second_order(x: Floats) -> Floats:
    """Return e^x - 1 - x to full relative accuracy."""
    small = np.clip(x, -1.0, 1.0)
    series = np.full_like(small, 1.0)
    for n in range(20, 2, -1):
        series = 1.0 + series * small / n
    with np.errstate(over="ignore"):
        return np.where(np.abs(x) < 1.0, 0.5 * small**2 * series, np.expm1(x) - x)


def _odd_part(x: Floats) -> Floats:
    """Return sin x - x to full relative accuracy."""
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

    def ratio(self, step: float, count: int, copies: int) -> tuple[Complexes, Floats]:
        """Return S and its error: M(c+it)/M(c) = e^(it mean) (1 + S), t = n step."""
        t: Floats = step * np.arange(count, dtype=np.float64)
        p, d = self.weight, self.distance
        eta = self.weight_error + p @ self.weight_error  # normalising errs as well
        drift = p @ (self.loss_error * np.abs(d))
        common = t * self.mean_error + self.quadrature_error
        direct = _DIRECT_SIZE if copies > 100 else _DIRECT_SIZE_OF_FEW
        if count * p.size <= direct:
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
    """Return Σ p (e^(itd) - 1 - itd) for |td| <= 1, by moments."""
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
    """Return Σ p e^(itd) on all nodes by one matrix product."""
    block = math.isqrt(count) + 1
    inner = np.exp(1j * np.outer(d, step * np.arange(block)))
    outer = np.exp(1j * np.outer(step * block * np.arange(block), d)) * p
    return np.asarray((outer @ inner).ravel()[:count])


def tilted(rule: Rule, c: float, reach: float) -> Tilted:
    """Return the rule under tilt c, certified for |Im z| <= reach."""
    loss, log_w, loss_error = rule.loss, rule.log_weight, rule.loss_error
    size = c * loss
    exponent = log_w + size
    top = float(exponent.max())
    p = np.exp(exponent - top)
    total = float(p.sum())
    p /= total
    eta = (
        rule.weight_error + abs(c) * loss_error + 4 * ROUNDING * (4 + np.abs(exponent))
    )
    # The plain way: log-sum-exp and a weighted mean.
    log_mass = top + math.log(total)
    log_error = float(p @ eta) + ROUNDING * (32 + 4 * abs(log_mass))
    mean = float(p @ loss)
    mean_error = float(
        p @ (np.abs(loss - mean) * eta + loss_error)
        + 32 * ROUNDING * (p @ np.abs(loss))
    )
    if size.max() < 50.0 and log_mass > -600.0:
        w = np.exp(log_w)
        growth, back = np.exp(size), np.abs(np.expm1(-loss))
        rise = np.abs(np.expm1(size))
        own = rule.weight_error + ROUNDING * (32 + 4 * np.abs(size) + 4 * np.abs(loss))
        # Without the identity for Q: M - 1 = defect + Σ w expm1(cL).
        sum_error = float(w @ (rise * own + abs(c) * loss_error * growth))
        excess = rule.defect + float(w @ np.expm1(size))
        error = sum_error + rule.mass_error
        forward, backward = second_order(size), second_order(-loss)
        balanced = w @ (
            (forward + abs(c) * backward) * own + abs(c) * loss_error * (rise + back)
        )
        balanced_error = float(balanced) + rule.mass_error + abs(c) * rule.balance_error
        if balanced_error < error:
            excess = rule.defect + float(w @ (forward + c * backward))
            excess += c * rule.imbalance
            error = balanced_error
        if 1 + excess > 2 * error and error / (1 + excess - error) < log_error:
            log_mass = math.log1p(excess)
            log_error = error / (1 + excess - error) + ROUNDING * abs(log_mass)
        mass = math.exp(log_mass)
        first = loss * np.expm1(size)
        first_error = w @ (
            (np.abs(first) + backward) * own
            + loss_error * (rise + np.abs(size) * growth + back)
        )
        first_error = (float(first_error) + rule.balance_error) / mass
        balanced_mean = (float(w @ (first + backward)) + rule.imbalance) / mass
        first_error += abs(balanced_mean) * log_error
        if first_error < mean_error:
            mean, mean_error = balanced_mean, first_error
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
        loss_error=loss_error,
        quadrature_error=quadrature,
    )
