"""Laying a contour: its width, its last node, and the transform on its nodes."""

import math
from collections.abc import Sequence

import numpy as np

from hush.privacy import hyperbolic
from hush.privacy.contour_line import Contour
from hush.privacy.loss_gaussian import GaussianLoss
from hush.privacy.loss_law import NO_DECAY, ROUNDING, Decay, Floats, Rule
from hush.privacy.saddle import Components, Sketch, log_chernoff
from hush.privacy.tilt import tilted

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
    family, members = hyperbolic.gather(components, (c, left, right))
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
