"""The characteristic-function accountant: its cost ignores the number of steps.

With K(z) = Σ_j k_j log E_P[e^(z L_j)], δ(ε) = (1/2πi) ∫ e^(K(z) - zε) / (z(z+1)) dz on
Re z = c > 0 (and 1 - δ(ε) is minus that integral for -1 < c < 0). The trapezoid rule of
step h = 2π/W gives exactly Σ_m δ(ε + mW) e^(cmW): it errs only upwards, by what a
Chernoff bound at another tilt allows. What lies beyond the last node is bounded by the
decay of the transforms; what rounding does is carried along. Derivations are in
docs/proofs/contour.md.
"""

import math
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from hush.privacy.accountants.contour_quadrature import (
    LOG_OUTSIDE,
    TINY,
    Components,
    Contour,
    Exhausted,
    Sketch,
    distinct_laws,
    prepare,
)
from hush.privacy.pld.loss_distribution import ROUNDING, Bracket
from hush.privacy.rounding import bracket_each, certified_root

_LOG_SMALLEST = -760.0  # below, δ is less than any positive float
_LOG_FIRST = (
    -40.0
)  # of the δ that laws are first sketched for, when it is not known yet
_LOG_LAST = -20.0  # a larger δ deserves a narrower sketch


def delta_bracket(components: Components, epsilon: ArrayLike) -> Bracket:
    """Bracket delta of a composition of `times` copies of each law.

    Guarantee: lower <= δ(ε) <= upper at every real ε, also where the sums run out of
    precision: then the bracket is wide.

    Example:
        >>> from hush.privacy.pld.gaussian_loss import SubsampledGaussianLoss
        >>> step = SubsampledGaussianLoss(std=1.1, rate=256 / 60000, direction="remove")
        >>> lower, upper = delta_bracket([(step, 14062)], 2.381597)
        >>> bool(lower <= upper <= lower * (1 + 1e-8))
        True

    Reference: docs/proofs/contour.md
    """
    components = distinct_laws(components)
    with np.errstate(all="ignore"):
        return bracket_each(partial(delta_at, components), epsilon)


def epsilon_bracket(components: Components, delta: float) -> tuple[float, float]:
    """Bracket the smallest epsilon >= 0 at which a composition has this delta.

    Guarantee: δ(upper) <= delta, and δ(x) > delta for every 0 <= x < lower; upper is
    infinite where none can be shown.

    Example:
        >>> from hush.privacy.pld.gaussian_loss import SubsampledGaussianLoss
        >>> step = SubsampledGaussianLoss(std=1.1, rate=256 / 60000, direction="remove")
        >>> lower, upper = epsilon_bracket([(step, 14062)], 1e-5)
        >>> round(lower, 6), round(upper, 6)
        (2.381597, 2.381597)

    Reference: docs/proofs/contour.md
    """
    components = distinct_laws(components)
    with np.errstate(all="ignore"):
        low, high = _infinite(components)
        if delta < low:
            return math.inf, math.inf
        # Total variation adds up at most.
        if math.fsum(k * float(law.delta(0.0)[1]) for law, k in components) <= delta:
            return 0.0, 0.0
        top = max(_top(components), 0.0) * (1 + 1e-12) if delta >= high else math.inf
        floor = _below_top(components, delta)
        log_target = math.log(delta - high if delta > high else delta)
        sketch = Sketch.of(components, _log_drop(components, log_target))
        if sketch.cumulants(0.0)[2] == 0.0:
            return min(floor, top), top
        c, guess = sketch.at_delta(log_target)
        lower, upper = floor, top
        for _ in range(2):
            try:
                contour = prepare(components, sketch, c, guess, log_target)
            except Exhausted:
                break
            found = _on_contour(contour, delta, guess)
            lower, upper = max(lower, found[0]), min(upper, found[1])
            # Ten times sharper than what lets other engines be asked.
            if upper - lower <= 1e-7 * upper or not math.isfinite(upper):
                break
            # The estimate was off, as it is where no saddle exists: move the contour.
            moved = lower if lower > 0 else upper
            if abs(moved - guess) <= 1e-3 * abs(guess):  # it would be the same contour
                break
            guess = moved
            c = max(sketch.at_epsilon(guess)[0], 1e-3 * c)
        if lower == 0.0 and delta_at(components, 0.0)[1] <= delta:
            return 0.0, 0.0
        return min(lower, upper), upper


def _log_drop(components: Components, log_value: float) -> float:
    """Return the log of the mass that each law may leave out of its window.

    All copies together leave out e^LOG_OUTSIDE of an answer of size e^log_value.
    """
    count = math.fsum(float(times) for _, times in components)
    return min(log_value, 0.0) + LOG_OUTSIDE - math.log(count)


def _infinite(components: Components) -> tuple[float, float]:
    """Bracket the probability that some loss is infinite: 1 - Π (1 - mass)^k."""
    low = high = 0.0
    for law, times in components:
        low += times * math.log1p(-min(law.infinite_mass_lower, 1 - ROUNDING))
        high += times * math.log1p(-min(law.infinite_mass, 1 - ROUNDING))
    return abs(math.expm1(low)) * (1 - 1e-12), min(-math.expm1(high) * (1 + 1e-12), 1.0)


def _top(components: Components) -> float:
    return math.fsum(times * law.largest_loss for law, times in components)


def _constant(components: Components, epsilon: float) -> tuple[float, float] | None:
    """Answer where the finite losses cannot exceed epsilon."""
    low, high = _infinite(components)
    top = _top(components)
    if high >= 1.0:
        return low, 1.0
    if epsilon < top:
        return None
    # The sum of the largest losses is itself rounded: δ falls at rate one at most.
    near = epsilon - top <= 1e-12 * abs(top)
    return low, min(1.0, high + 8 * ROUNDING * abs(top) * near)


def delta_at(components: Components, epsilon: float) -> tuple[float, float]:
    """Bracket delta at one epsilon, for laws that are distinct."""
    if math.isinf(epsilon):
        return _infinite(components) if epsilon > 0 else (1.0 - 2 * ROUNDING, 1.0)
    known = _constant(components, epsilon)
    if known is not None:
        return known
    sketch = Sketch.of(components, _log_drop(components, _LOG_FIRST))
    if sketch.cumulants(0.0)[2] == 0.0:
        low, high = _infinite(components)
        gap = -math.expm1(min(epsilon - _top(components), 0.0))
        return low, min(1.0, (high + gap) * (1 + 1e-12) + 1e-14)
    try:
        return _contour_near(components, sketch, epsilon).delta(epsilon)
    except Exhausted:
        return _infinite(components)[0], 1.0


def _contour_near(components: Components, sketch: Sketch, epsilon: float) -> Contour:
    """Lay a contour for delta at epsilon, from a sketch for a delta of about e^-40."""
    c, log_value = sketch.at_epsilon(epsilon)
    log_value = max(log_value, _LOG_SMALLEST)
    if log_value < _LOG_FIRST or log_value > _LOG_LAST:
        sketch = Sketch.of(components, _log_drop(components, log_value))
        c, log_value = sketch.at_epsilon(epsilon)
        log_value = max(log_value, _LOG_SMALLEST)
    return prepare(components, sketch, c, epsilon, log_value)


def lay(components: Components, epsilon: float) -> Contour | None:
    """Return a contour for delta near a finite epsilon, where one can be laid."""
    sketch = Sketch.of(components, _log_drop(components, _LOG_FIRST))
    if epsilon >= _top(components) or sketch.cumulants(0.0)[2] == 0.0:
        return None
    try:
        return _contour_near(components, sketch, epsilon)
    except Exhausted:
        return None


def _below_top(components: Components, delta: float) -> float:
    """Return a lower bound on epsilon from the largest loss alone."""
    # δ(ε) >= P(S = top) (1 - e^(ε - top)).
    top = _top(components)
    log_mass = math.fsum(times * law.log_largest_mass for law, times in components)
    share = math.log(delta) - log_mass + 1e-12 * (1 + abs(log_mass))
    if not (math.isfinite(top) and share < 0):
        return 0.0
    below = top + math.log1p(-math.exp(share))
    return max(below - 1e-12 * abs(top), 0.0)


def _on_contour(contour: Contour, delta: float, guess: float) -> tuple[float, float]:
    """Bracket epsilon with one contour."""
    aim, c = math.log(delta), contour.c
    upper = certified_root(
        lambda e: math.log(max(contour.delta(e)[1], TINY)) - aim, guess, c, above=True
    )
    start = upper if math.isfinite(upper) else guess
    lower = certified_root(
        lambda e: math.log(max(contour.delta(e)[0], TINY)) - aim, start, c, above=False
    )
    return lower, upper
