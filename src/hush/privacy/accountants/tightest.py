"""Tight composition: the best of the accountants that apply.

Closed forms first, then the contour engine. Where its bracket is not sharp: for
subsampled Gaussian steps the direct engine (few steps), then the rare-jump engine
(what no tilt reaches); then the lattice engine. Brackets are intersected: each is
sound, so the result is.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from hush import checks
from hush.errors import NoBound
from hush.privacy.accountants import (
    characteristic_function,
    convolution,
    fft,
    rare_events,
)
from hush.privacy.accountants.contour_quadrature import TINY
from hush.privacy.accountants.convolution import COARSE, FINE, FINEST
from hush.privacy.accountants.root_finding import each, solve
from hush.privacy.accountants.saddle_point import Components, checked
from hush.privacy.pld.gaussian_loss import GaussianLoss
from hush.privacy.pld.loss_distribution import Bracket, LossLaw

# A bracket -> a bracket inside it, by another engine.
Improve = Callable[[float, float], tuple[float, float]]

_SHARP = 1e-6
_SHARPEST = 1e-300  # sums of smaller δ have few bits or none: no bound is proven
_GRIDS = ((COARSE, FINE), (FINE, FINEST))  # the latter after all other engines
_LATTICE_COPIES = 2000  # beyond, its bracket is too wide to help


def delta_bracket(components: Components, epsilon: ArrayLike) -> Bracket:
    """Bracket delta of a composition of `times` copies of each law.

    Guarantee: lower <= δ(ε) <= upper at every real ε.

    Example:
        >>> from hush.privacy.pld.gaussian_loss import GaussianLoss
        >>> lower, upper = delta_bracket([(GaussianLoss(0.1), 100)], 1.0)
        >>> round(float(lower), 6), round(float(upper), 6)
        (0.126937, 0.126937)

    Reference: docs/proofs/contour.md and docs/proofs/lattice.md
    """
    components = checked(components)
    points = np.asarray(epsilon, dtype=np.float64)
    for x in points.ravel():
        checks.real("epsilon", float(x), infinite=True)
    single = _closed_form(components)
    with np.errstate(all="ignore"):
        if single is not None:
            return single.delta(points)
        return each(partial(_delta, components), points)


def epsilon_bracket(components: Components, delta: ArrayLike) -> Bracket:
    """Bracket the smallest epsilon >= 0 at which a composition has this delta.

    Guarantee: δ(upper) <= delta, and δ(x) > delta for every 0 <= x < lower; upper is
    infinite where no finite epsilon can be shown.

    Example:
        >>> from hush.privacy.pld.subsampled_gaussian_loss import SubsampledGaussianLoss
        >>> step = SubsampledGaussianLoss(std=0.8, rate=0.01, direction="remove")
        >>> lower, upper = epsilon_bracket([(step, 1000)], 1e-12)
        >>> round(float(lower), 6), round(float(upper), 6)
        (6.992031, 6.992031)

    Reference: docs/proofs/contour.md and docs/proofs/lattice.md
    """
    components = checked(components)
    points = np.asarray(delta, dtype=np.float64)
    for x in points.ravel():
        checks.real("delta", float(x), at_least=0, below=1)
    single = _closed_form(components)
    with np.errstate(all="ignore"):
        if single is not None:
            return each(partial(_invert, single), points)
        return each(partial(_epsilon, components), points)


def _closed_form(components: Components) -> LossLaw | None:
    """Return one law equal to the composition, where there is one."""
    if len(components) == 1 and components[0][1] == 1:
        return components[0][0]
    if all(isinstance(law, GaussianLoss) for law, _ in components):
        total = math.fsum(law.gaussian_variance * times for law, times in components)
        return GaussianLoss(math.sqrt(total)) if total < 1e12 else None
    return None


def _invert(law: LossLaw, delta: float) -> tuple[float, float]:
    if delta == 0.0:
        return _at_zero(((law, 1),))
    if delta < law.infinite_mass_lower:
        return math.inf, math.inf
    log_delta = math.log(delta)

    def excess(side: int, epsilon: float) -> float:
        value = float(law.delta(epsilon)[side])
        return math.log(max(value, TINY)) - log_delta

    top = law.largest_loss * (1 + 1e-12) if delta >= law.infinite_mass else math.inf
    upper = min(solve(partial(excess, 1), 0.0, 1.0, above=True), max(top, 0.0))
    start = upper if math.isfinite(upper) else 0.0
    lower = solve(partial(excess, 0), start, 1.0, above=False)
    return min(lower, upper), upper


def _at_zero(components: Components) -> tuple[float, float]:
    """At delta zero only the largest loss counts, and only its upper bound is known."""
    if any(law.infinite_mass > 0 for law, _ in components):
        mass = max(law.infinite_mass_lower for law, _ in components)
        return (math.inf if mass > 0 else 0.0), math.inf
    top = math.fsum(times * law.largest_loss for law, times in components)
    return 0.0, max(top, 0.0) * (1 + 1e-12)


def _copies(components: Components) -> int:
    return sum(times for _, times in components)


def _best(
    components: Components,
    first: Callable[[], Bracket],
    finer: Sequence[Improve],
    last: Callable[[], Bracket],
) -> tuple[float, float]:
    """Ask the contour; where it is not sharp, the special engines, then the lattice."""
    lower, upper = -math.inf, math.inf
    try:
        low, high = first()
        lower, upper = float(low), float(high)
        for improve in (None, *finer):
            lower, upper = improve(lower, upper) if improve else (lower, upper)
            if _sharp(lower, upper):
                return lower, upper
        if _copies(components) > _LATTICE_COPIES:
            return lower, upper
    except NoBound:
        pass
    low, high = last()
    lower, upper = max(lower, float(low)), min(upper, float(high))
    return min(lower, upper), upper


def _sharp(lower: float, upper: float) -> bool:
    return math.isfinite(upper) and upper - lower <= _SHARP * upper


def _delta(components: Components, epsilon: float) -> tuple[float, float]:
    finer: list[Improve] = []
    if convolution.applies(components) and epsilon > 0:
        ask = partial(convolution.delta_bracket, components[0], epsilon)
        finer.append(partial(ask, grids=_GRIDS[0]))  # curves are read at many points
    if rare_events.applies(components) and epsilon > 0:
        finer.append(partial(rare_events.delta_bracket, components[0], epsilon))
    return _best(
        components,
        partial(characteristic_function.delta_bracket, components, epsilon),
        finer,
        partial(fft.delta_bracket, components, epsilon),
    )


def _epsilon(components: Components, delta: float) -> tuple[float, float]:
    if delta == 0.0:
        return _at_zero(components)
    if delta < _SHARPEST:
        # ε falls in δ: what holds at zero holds here, and what is needed above as well.
        return _solved(components, _SHARPEST)[0], _at_zero(components)[1]
    return _solved(components, delta)


def _solved(components: Components, delta: float) -> tuple[float, float]:
    finer: list[Improve] = []
    if convolution.applies(components):
        ask = partial(convolution.epsilon_bracket, components[0], delta)
        finer += [partial(ask, grids=grids) for grids in _GRIDS]
    if rare_events.applies(components):
        finer.insert(1, partial(rare_events.epsilon_bracket, components[0], delta))
    return _best(
        components,
        partial(characteristic_function.epsilon_bracket, components, delta),
        finer,
        partial(fft.epsilon_bracket, components, delta),
    )
