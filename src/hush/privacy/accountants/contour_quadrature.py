"""Laying a contour: its width, its last node, and the transform on its nodes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from hush.privacy.accountants import transforms
from hush.privacy.accountants.saddle_point import Components, Sketch, log_chernoff
from hush.privacy.accountants.transforms import Complexes, tilted
from hush.privacy.pld.gaussian_loss import GaussianLoss
from hush.privacy.pld.loss_distribution import NO_DECAY, ROUNDING, Decay, Floats, Rule

# -- One contour of the inversion integral, and what rounding and cutting cost it ------

TINY = 5e-324  # the smallest upper bound that is not a claim of perfect privacy


@final
@dataclass(frozen=True)
class Contour:
    """One contour with the transform on its nodes; it answers any epsilon nearby.

    Guarantee: `delta(epsilon)` brackets the truth for every epsilon.
    """

    c: float
    step: float
    log_scale: float  # K(c)
    log_scale_error: float
    mean: float  # K'(c)
    mean_error: float
    logs: Complexes  # log of the transform on the nodes, over e^(K(c) + it K'(c))
    errors: Floats  # absolute error of each exponential of those, from the transform
    log_tail: float  # of Σ |transform| beyond the last node, on that scale
    aliases: tuple[tuple[float, float], ...]  # tilts left and right, upper bounds of K
    top: float  # upper bound of the sum without its Gaussian part
    gaussian: float  # variance of the Gaussian part
    smoothing: float  # variance of the Gaussian composed to make the tail converge
    missing: float  # P-mass of finite losses left out
    infinite: tuple[float, float]  # bracket of the mass at +infinity

    def _alias(self, epsilon: float) -> float:
        """Return log of a bound on what the trapezoid rule adds to the integral."""
        width = 2 * math.pi / self.step
        total = -math.inf
        room = width - (self.top - epsilon)
        for s, log_mass in self.aliases:
            part = _alias(self.c, width, epsilon, s, log_mass)
            if s > self.c and room > 0:
                # Few can exceed the top: K(s) <= s top + v s (s+1)/2 at any tilt.
                rise = 60 + self.c * max(self.top - epsilon, 0.0)
                s = self.c + (rise + abs(self.log_scale - self.c * epsilon)) / room
                bound = s * self.top + 0.5 * self.gaussian * s * (s + 1)
                part = min(part, _alias(self.c, width, epsilon, s, bound))
            total = float(np.logaddexp(total, part))
        return total

    def _phases(self, epsilon: float) -> tuple[Floats, Complexes, Floats]:
        """Return the nodes, e^(logs + turn) there, and a bound on the error of each."""
        t = self.step * np.arange(self.logs.size, dtype=np.float64)
        turn = (self.mean - epsilon) * t
        terms: Complexes = np.exp(self.logs + 1j * turn)
        # The turn is off by t times the error of its factor; exponentials by theirs.
        blur = self.mean_error + ROUNDING * (abs(self.mean) + abs(epsilon))
        shift = np.minimum(t * blur, 2.0) + ROUNDING * (16 + np.abs(turn))
        error = self.errors + np.abs(terms) * shift
        terms[0] *= 0.5
        return t, terms, error

    @cached_property
    def _kernel(self) -> tuple[Complexes, Floats]:
        """1/(z(z+1)) on the nodes, and its modulus."""
        z = self.c + 1j * self.step * np.arange(self.logs.size, dtype=np.float64)
        kernel: Complexes = np.asarray(1 / (z * (z + 1)), dtype=np.complex128)
        return kernel, np.abs(kernel)

    def _sums(self, epsilon: float) -> tuple[float, float, float]:
        """Return value, error and the share of smoothing, over e^(K(c) - cε)."""
        t, terms, error = self._phases(epsilon)
        kernel, size = self._kernel
        weight = self.step / math.pi
        total = float((terms * kernel).real.sum()) * weight
        blur = float(error @ size) * weight * (1 + 1e-9)
        beyond = math.exp(min(self.log_tail, 700.0))
        if not self.smoothing:
            return total, blur + beyond, 0.0
        # δ_v - v e^(v/8) p_v(ε) <= δ <= δ_v, p_v the density of the smoothed loss,
        # whose trapezoid sum errs upwards as well. Beyond the last node the Gaussian
        # factor makes |terms| fall faster than 1/t², so `beyond` times t² covers it.
        density = (float(terms.real.sum()) + float(error.sum())) * weight
        density += beyond * float(t[-1]) ** 2
        v = self.smoothing
        return total, blur + beyond, max(density, 0.0) * v * _exp(v / 8)

    def log_delta(self, epsilon: float) -> tuple[float, float]:
        """Return a bracket of log delta."""
        lower, upper = self.delta(epsilon)
        return (
            math.log(lower) if lower > 0 else -math.inf,
            math.log(upper) if upper > 0 else -math.inf,
        )

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return a bracket of delta."""
        total, error, smooth = self._sums(epsilon)
        factor = self.log_scale - self.c * epsilon
        slack = self.log_scale_error + ROUNDING * (
            8 + 4 * abs(self.log_scale) + 4 * abs(self.c * epsilon)
        )
        up, down = _exp(factor + slack), _exp(factor - slack)
        alias = _exp(self._alias(epsilon))
        low_mass, high_mass = self.infinite
        # Chernoff at this very tilt is always there to fall back on.
        chernoff = up * _exp(log_chernoff(self.c)) * (1 + float(self.errors[0]))
        sign = 1.0 if self.c > 0 else -1.0
        most = min(up * (sign * total + error), chernoff)
        least = down * max(sign * total - error, 0.0) - alias
        if not math.isfinite(most + least):
            most, least = chernoff, 0.0
        if self.c < 0:
            # This contour measures 1 - δ; smoothing raised δ, so it lowered that.
            lower = 1 - (most + up * smooth) - self.missing - 4 * ROUNDING
            return max(lower, low_mass), min(1 - max(least, 0.0) + 4 * ROUNDING, 1.0)
        lower = (max(least - up * smooth, 0.0) + low_mass) * (1 - 2 * ROUNDING)
        upper = (most + self.missing + high_mass) * (1 + 4 * ROUNDING)
        return lower, min(max(upper, TINY), 1.0)


def _alias(c: float, width: float, epsilon: float, s: float, log_mass: float) -> float:
    """Return log Σ_m of δ(ε ± m width) e^(±cm width) by Chernoff at tilt s."""
    fall = abs(s - c) * width
    if not fall > 1e-3:
        return math.inf
    part = log_chernoff(s) + log_mass - s * epsilon - fall
    return part - math.log(-math.expm1(-fall))


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


# -- Laying a contour: its width, its last node, and the transform on its nodes --------

# Everything that is cut off is asked to be below this, relative to the answer.
LOG_PRECISION = -32.0
# Mass outside the window is added to delta whole. Where tails are heavy a wide window
# costs dearly, and this is already far below what shows in epsilon.
LOG_OUTSIDE = -20.0
_MOST_NODES = 1 << 16
_MOST_WORK = 1 << 22  # nodes times points


class Exhausted(Exception):
    """The transform cannot be resolved at reasonable cost."""


def prepare(
    components: Components,
    sketch: Sketch,
    c: float,
    epsilon: float,
    log_value: float,
    most_work: int = _MOST_WORK,
) -> Contour:
    """Lay a contour at tilt c for answers near epsilon, of size e^log_value."""
    c = sketch.calm(c, epsilon, log_value)
    height, _, bend = sketch.cumulants(c)
    # How far the integrand stands above the answer: digits lost by cancellation.
    lost = max(height - c * epsilon - log_value, 0.0)
    left, right, width = alias_window(sketch, c, epsilon, log_value, bend)
    step = 2 * math.pi / width
    times = [float(count) for _, count in components]
    count_all = math.fsum(times)
    log_drop = sketch.log_drop  # the laws the sketch has seen, and no more
    log_masses = sketch.log_masses(c)
    goal = LOG_PRECISION - (height - c * epsilon - log_value)
    most = max(256, min(_MOST_NODES, most_work // sketch.loss.size))
    decays = [NO_DECAY] * len(times)
    if sketch.gaussian < 0.1 * bend:  # else the Gaussian part does it alone
        decays = [
            law.decay(c, float(mass), log_drop)
            for (law, _), mass in zip(components, log_masses, strict=True)
        ]
    count, patient, smoothing = _reach(decays, times, sketch.gaussian, step, goal, most)
    reach = step * count
    gaussian = sketch.gaussian + smoothing
    logs = np.zeros(count + 1, dtype=np.complex128)
    log_bound = np.zeros(count + 1)
    relative = np.zeros(count + 1)
    scale, scale_error, mean, mean_error, tail = 0.0, 0.0, 0.0, 0.0, 0.0
    alias_mass, top = [0.0, 0.0], 0.0
    missing, log_finite = 0.0, [0.0, 0.0]
    t: Floats = step * np.arange(count + 1, dtype=np.float64)
    family, members = transforms.gather(components, (c, left, right))
    if family is not None:
        known = family.at(c, t)
        logs, log_bound, relative = known.logs, known.log_bound, known.relative
        scale, scale_error = known.log_mass, known.log_mass_error
        mean, mean_error, top = known.mean, known.mean_error, known.top
        alias_mass = [family.log_mass_above(s) for s in (left, right)]
        for i, mass, off in zip(members, known.each, known.each_error, strict=True):
            decay = decays[i].loosened(abs(float(mass) - float(log_masses[i])) + off)
            tail += times[i] * decay.log_bound(reach, patient=patient)
    for i, ((law, copies), decay, estimate) in enumerate(
        zip(components, decays, log_masses, strict=True)
    ):
        if i in members or isinstance(law, GaussianLoss):
            continue  # done, or all of it is in the Gaussian factor
        log_tolerance = float(estimate) + LOG_PRECISION - lost - math.log(count_all)
        rule = law.rule(c, reach, log_tolerance, log_drop)
        at = tilted(rule, c, reach)
        if not copies * at.quadrature_error < 0.1:
            raise Exhausted
        value, error = at.ratio(step, count + 1, copies)
        size = np.hypot(1 + value.real, value.imag)
        with np.errstate(divide="ignore"):
            near_one = 2 * value.real + value.real**2 + value.imag**2
            real = np.where(
                np.abs(near_one) < 0.5,
                0.5 * np.log1p(np.maximum(near_one, -0.5)),
                np.log(np.maximum(size, 1e-300)),
            )
            logs += copies * (real + 1j * np.arctan2(value.imag, 1 + value.real))
            # |a^k - b^k| <= k |a - b| max(|a|, |b|)^(k-1), law by law.
            log_bound += copies * np.log(size + error)
        relative += copies * error / np.maximum(size + error, 1e-300)
        scale += copies * at.log_mass
        scale_error += copies * at.log_mass_error
        mean += copies * at.mean
        mean_error += copies * (at.mean_error + ROUNDING * abs(at.mean))
        mismatch = abs(at.log_mass - float(estimate)) + at.log_mass_error
        mismatch += _log1p_safe(at.quadrature_error)
        tail += copies * (
            decay.loosened(mismatch).log_bound(reach, patient=patient)
            + _log1p_safe(at.quadrature_error)
        )
        for i, s in enumerate((left, right)):
            alias_mass[i] += copies * _log_mass_above(rule, s)
        missing += copies * rule.missing
        top += copies * rule.top
        log_finite[0] += copies * math.log1p(-min(law.infinite_mass_lower, 1 - 1e-16))
        log_finite[1] += copies * math.log1p(-min(law.infinite_mass, 1 - 1e-16))
    bell = -0.5 * gaussian * t * t
    # log1p and arctan err by two roundings of themselves, times the copies.
    relative += 4 * ROUNDING * (np.abs(logs) - bell + 1)
    logs += bell
    with np.errstate(under="ignore", over="ignore"):
        errors = np.exp(np.minimum(log_bound + bell, 700.0)) * relative
    tail += -0.5 * gaussian * reach * reach
    return Contour(
        c=c,
        step=step,
        log_scale=scale + gaussian * c * (c + 1) / 2,
        log_scale_error=scale_error
        + 4 * ROUNDING * (abs(scale) + gaussian * abs(c) * (c + 1)),
        mean=mean + gaussian * (c + 0.5),
        mean_error=mean_error + 4 * ROUNDING * (abs(mean) + gaussian * abs(c + 1)),
        logs=logs,
        errors=errors,
        # Σ_{n>N} h/(π |z(z+1)|) <= 1/(π t_N), as |z(z+1)| >= t².
        log_tail=tail - math.log(math.pi * reach),
        aliases=tuple(
            (s, mass + gaussian * s * (s + 1) / 2 + 1e-9)
            for s, mass in zip((left, right), alias_mass, strict=True)
        ),
        top=top,
        gaussian=gaussian,
        smoothing=smoothing,
        missing=missing,
        infinite=(
            -math.expm1(log_finite[0]) * (1 - 1e-12),
            -math.expm1(log_finite[1]) * (1 + 1e-12),
        ),
    )


def _log1p_safe(x: float) -> float:
    return math.log1p(x) if x < 0.5 else math.inf


def _log_mass_above(rule: Rule, s: float) -> float:
    """Return an upper bound of log E e^(sL)."""
    if s == 0.0:
        return 0.0
    at = tilted(rule, s, 0.0)
    return at.log_mass + at.log_mass_error + _log1p_safe(at.quadrature_error)


def alias_window(
    sketch: Sketch, c: float, epsilon: float, log_value: float, bend: float
) -> tuple[float, float, float]:
    """Return tilts beside c and the width at which aliases are negligible."""
    # Beside the top of a bounded law nothing varies, and the kernel sets the scale.
    spread = 1 / math.sqrt(bend + 0.01 / c**2)
    offsets = np.array([0.3, 1.0, 2.0, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0, 13.0]) * spread

    def width(s: float) -> float:
        excess = log_chernoff(s) + sketch.cumulants(s)[0] - s * epsilon - log_value
        return (excess - LOG_PRECISION) / abs(s - c)

    floor, ceiling = (0.0, math.inf) if c > 0 else (-1.0, 0.0)
    lefts = [s for s in c - offsets if s > floor]
    lefts += [floor + (c - floor) * part for part in (0.0, 0.3, 0.6)]
    rights = [s for s in c + offsets if s < ceiling]
    if c > 0:
        # Heavy tails leave little room to the right of the tilt.
        rights += [c * part for part in (1.05, 1.15, 1.3, 1.6, 2.0)]
    if c < 0:
        rights += [c * part for part in (0.0, 0.3, 0.6)]
    best_left = min((width(s), s) for s in lefts)
    best_right = min((width(s), s) for s in rights)
    if not sketch.gaussian:
        # Beyond the largest loss there is nothing to alias.
        largest = np.maximum.reduceat(sketch.loss, sketch.starts)
        room = float(sketch.times @ largest) - epsilon
        best_right = min(best_right, (1.05 * max(room, 0.0) + 0.1 / spread, rights[-1]))
    return best_left[1], best_right[1], max(best_left[0], best_right[0], 1 / spread)


def _reach(
    decays: Sequence[Decay],
    times: Sequence[float],
    gaussian: float,
    step: float,
    goal: float,
    most: int,
) -> tuple[int, bool, float]:
    """Return how many nodes are needed, with which bound, and the smoothing if any."""

    def log_tail(count: float, *, patient: bool = False) -> float:
        t = step * count
        total = -0.5 * gaussian * t * t - math.log(t)
        for decay, copies in zip(decays, times, strict=True):
            total += copies * decay.log_bound(t, patient=patient)
        return total

    if all(decay is NO_DECAY for decay in decays) and gaussian > 0:
        # Solve v t²/2 + log t = -goal, from above.
        t = math.sqrt(2 * max(-goal - math.log(step), 1.0) / gaussian)
        t = math.sqrt(2 * max(-goal - min(math.log(t), 0.0), 1.0) / gaussian)
        count = max(t / step, 8.0)
        if count <= most:
            return math.ceil(count), False, 0.0
    # Where it falls slowly, try harder, then ask for nine digits, then for seven.
    for enough, relief, patient in (
        (160, 0.0, False),
        (1024, 0.0, True),
        (4096, 9.0, True),
        (most, 14.0, True),
    ):
        count = 8.0
        while log_tail(count, patient=patient) > goal + relief:
            count *= 1.25
            if count > min(enough, most):
                break
        else:
            return math.ceil(count), patient, 0.0
    t = step * most
    # At least one, so that the Gaussian factor alone makes the density's tail converge.
    short = max(log_tail(most, patient=True) - goal - 9.0, 1.0)
    return most, True, 2 * short / (t * t)
