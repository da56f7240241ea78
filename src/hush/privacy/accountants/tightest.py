"""Tight composition: the best of the accountants that apply.

Few atoms are listed exactly, and closed forms taken where there are any; else the
contour engine is asked. Where its bracket is not sharp: for subsampled Gaussian steps
the direct engine (few steps), then the rare-jump engine (what no tilt reaches); then
the lattice engine. Brackets are intersected: each is sound, so the result is. An engine
is loaded when it is asked, so that small programs load none.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from hush import checks
from hush.errors import NoBound
from hush.privacy.accountants.contour_quadrature import (
    TINY,
    Components,
    Contour,
    distinct_laws,
)
from hush.privacy.pld.discrete_loss import AtomsLoss
from hush.privacy.pld.gaussian_loss import GaussianLoss
from hush.privacy.pld.loss_distribution import Bracket, LossLaw
from hush.privacy.rounding import (
    ULP,
    Floats,
    bracket_each,
    certified_root,
    crossing_ends,
)

# A bracket -> a bracket inside it, by another engine.
Improve = Callable[[float, float], tuple[float, float]]

_SHARP = 1e-6  # of the answer: what no other engine is asked to narrow
_SHARPEST = 1e-300  # sums of smaller δ have few bits or none: no bound is proven
_LATTICE_COPIES = 2000  # beyond, its bracket, √copies Δ/2 wide, is too wide to help
# Relative widths on a contour that was laid for a neighbor: what needs no new contour,
# and what needs no other engine. One ε alone is answered more sharply, at a cost that
# an array of them need not pay.
_AS_GOOD = 1e-9
_SHARP_OF_MANY = 1e-5


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
    components = distinct_laws(components)
    points = np.asarray(epsilon, dtype=np.float64)
    for x in points.ravel():
        checks.real("epsilon", float(x), infinite=True)
    listed = enumerate_losses(components)
    if listed is not None:
        return listed.delta(points)
    single = _closed_form(components)
    with np.errstate(all="ignore"):
        if single is not None:
            return single.delta(points)
        if points.size < 2 or _only_gaussian(components):
            return bracket_each(partial(_delta, components), points)
        return _along_contours(components, points)


def epsilon_bracket(components: Components, delta: float) -> tuple[float, float]:
    """Bracket the smallest epsilon >= 0 at which a composition has this delta.

    Guarantee: δ(upper) <= delta, and δ(x) > delta for every 0 <= x < lower; upper is
    infinite where no finite epsilon can be shown.

    Example:
        >>> from hush.privacy.pld.gaussian_loss import SubsampledGaussianLoss
        >>> step = SubsampledGaussianLoss(std=0.8, rate=0.01, direction="remove")
        >>> lower, upper = epsilon_bracket([(step, 1000)], 1e-12)
        >>> round(lower, 6), round(upper, 6)
        (6.992031, 6.992031)

    Reference: docs/proofs/contour.md and docs/proofs/lattice.md
    """
    components = distinct_laws(components)
    delta = checks.real("delta", delta, at_least=0, below=1)
    listed = enumerate_losses(components)
    if listed is not None:
        return listed.epsilon(delta)
    single = _closed_form(components)
    with np.errstate(all="ignore"):
        if single is not None:
            return _inverse(single, delta)
        if delta == 0.0:
            return _at_zero(components)
        from hush.privacy.accountants import characteristic_function

        # ε falls in δ: what holds at zero holds here, and what is needed above as well.
        at = max(delta, _SHARPEST)
        lower, upper = _best(
            components,
            partial(characteristic_function.epsilon_bracket, components, at),
            _sharper_epsilons(components, at),
            partial(_epsilon_on_lattice, components, at),
        )
        return lower, upper if delta == at else _at_zero(components)[1]


# -- Closed forms: one law, or Gaussian losses alone -----------------------------------


def _only_gaussian(components: Components) -> bool:
    return all(isinstance(law, GaussianLoss) for law, _ in components)


def _closed_form(components: Components) -> LossLaw | None:
    """Return one law equal to the composition, where there is one."""
    if len(components) == 1 and components[0][1] == 1:
        return components[0][0]
    if _only_gaussian(components):
        total = math.fsum(law.gaussian_variance * times for law, times in components)
        # A Gaussian loss has a μ of 10^6 at most.
        return GaussianLoss(math.sqrt(total)) if total < 1e12 else None
    return None


def _inverse(law: LossLaw, delta: float) -> tuple[float, float]:
    """Bracket the smallest epsilon >= 0 at which one law has this delta."""
    if delta == 0.0:
        return _at_zero(((law, 1),))
    if delta < law.infinite_mass_lower:
        return math.inf, math.inf
    log_delta = math.log(delta)

    def excess(side: int, epsilon: float) -> float:
        value = float(law.delta(epsilon)[side])
        return math.log(max(value, TINY)) - log_delta

    top = law.largest_loss * (1 + 1e-12) if delta >= law.infinite_mass else math.inf
    upper = certified_root(partial(excess, 1), 0.0, 1.0, above=True)
    upper = min(upper, max(top, 0.0))
    start = upper if math.isfinite(upper) else 0.0
    lower = certified_root(partial(excess, 0), start, 1.0, above=False)
    return min(lower, upper), upper


def _at_zero(components: Components) -> tuple[float, float]:
    """At delta zero only the largest loss counts, and only its upper bound is known."""
    if any(law.infinite_mass > 0 for law, _ in components):
        mass = max(law.infinite_mass_lower for law, _ in components)
        return (math.inf if mass > 0 else 0.0), math.inf
    top = math.fsum(times * law.largest_loss for law, times in components)
    return 0.0, max(top, 0.0) * (1 + 1e-12)


# -- The engines, one after the other, until a bracket is sharp ------------------------


def _best(
    components: Components,
    first: Callable[[], tuple[float, float]],
    finer: Iterator[Improve],
    last: Callable[[], tuple[float, float]],
) -> tuple[float, float]:
    """Ask the contour; where it is not sharp, the special engines, then the lattice."""
    lower, upper = -math.inf, math.inf
    try:
        lower, upper = first()
        if _is_sharp(lower, upper):
            return lower, upper
        for improve in finer:
            lower, upper = improve(lower, upper)
            if _is_sharp(lower, upper):
                return lower, upper
        if sum(times for _, times in components) > _LATTICE_COPIES:
            return lower, upper
    except NoBound:
        pass
    low, high = last()
    lower, upper = max(lower, low), min(upper, high)
    return min(lower, upper), upper


def _is_sharp(lower: float, upper: float) -> bool:
    return math.isfinite(upper) and upper - lower <= _SHARP * upper


def _delta(components: Components, epsilon: float) -> tuple[float, float]:
    from hush.privacy.accountants import characteristic_function

    return _best(
        components,
        partial(characteristic_function.delta_at, components, epsilon),
        _sharper_deltas(components, epsilon),
        partial(_delta_on_lattice, components, epsilon),
    )


def _delta_on_lattice(components: Components, epsilon: float) -> tuple[float, float]:
    from hush.privacy.accountants import fft

    return fft.delta_at(components, epsilon)


def _epsilon_on_lattice(components: Components, delta: float) -> tuple[float, float]:
    from hush.privacy.accountants import fft

    return fft.epsilon_bracket(components, delta)


def _sharper_deltas(components: Components, epsilon: float) -> Iterator[Improve]:
    """Yield the special engines that can narrow a bracket of delta."""
    from hush.privacy.accountants import convolution, rare_events

    if not epsilon > 0:
        return
    if convolution.applies(components):
        # Curves are read at many points: the finest grids would cost too much.
        grids = (convolution.COARSE, convolution.FINE)
        yield partial(convolution.delta_bracket, components[0], epsilon, grids=grids)
    if rare_events.applies(components):
        yield partial(rare_events.delta_bracket, components[0], epsilon)


def _sharper_epsilons(components: Components, delta: float) -> Iterator[Improve]:
    """Yield the special engines that can narrow a bracket of epsilon, cheapest first.

    The finest grids cost more than all other engines.
    """
    from hush.privacy.accountants import convolution, rare_events

    grids = convolution.applies(components)
    ask = partial(convolution.epsilon_bracket, components[0], delta)
    if grids:
        yield partial(ask, grids=(convolution.COARSE, convolution.FINE))
    if rare_events.applies(components):
        yield partial(rare_events.epsilon_bracket, components[0], delta)
    if grids:
        yield partial(ask, grids=(convolution.FINE, convolution.FINEST))


def _along_contours(components: Components, epsilon: Floats) -> Bracket:
    """Answer neighbors on the same contour, as long as it is sharp there."""
    from hush.privacy.accountants import characteristic_function

    found = np.zeros((epsilon.size, 2))
    line: Contour | None = None
    width = 0.0
    for i in np.argsort(epsilon, axis=None, kind="stable"):
        at = float(epsilon.flat[i])
        if line is not None:
            found[i] = line.delta(at)
            if _width(found[i]) <= max(_AS_GOOD, 2 * width):
                continue
        try:
            line = characteristic_function.lay(components, at)
        except NoBound:
            line = None
        found[i] = line.delta(at) if line is not None else (0.0, 1.0)
        width = _width(found[i])
        if not width <= _SHARP_OF_MANY:
            line = None
            found[i] = _delta(components, at)
    return found[:, 0].reshape(epsilon.shape), found[:, 1].reshape(epsilon.shape)


def _width(bracket: Floats) -> float:
    low, high = float(bracket[0]), float(bracket[1])
    return (high - low) / high if high > 0 else math.inf


# -- Exact composition of few atoms: all joint losses, listed --------------------------

# Beyond, the contour is as fast: its cost grows neither with outcomes nor with steps.
_MOST = 20_000  # joint outcomes
_MOST_STEPS = 64


class Enumeration:
    """Joint losses and masses of a composition, equal losses put together.

    Losses closer than a tolerance are merged; every answer allows for it on both sides.
    """

    def __init__(
        self, losses: Floats, masses: Floats, infinite: float, blur: float
    ) -> None:
        self.losses, self.masses = losses, masses
        self.infinite, self.blur = infinite, blur

    def delta(self, epsilon: ArrayLike) -> Bracket:
        """Bracket the sum of the non-negative gains."""
        epsilon = np.asarray(epsilon, dtype=np.float64)[..., None]
        slack = 64 * ULP + self.losses.size * ULP  # a rounding for each term of a sum
        low = (
            -np.expm1(np.minimum(epsilon + self.blur - self.losses, 0.0)) @ self.masses
        )
        high = (
            -np.expm1(np.minimum(epsilon - self.blur - self.losses, 0.0)) @ self.masses
        )
        low, high = low + self.infinite, high + self.infinite
        return low * (1 - slack), np.minimum(high * (1 + slack), 1.0)

    def epsilon(self, delta: float) -> tuple[float, float]:
        """Bracket the smallest ε >= 0 with this δ."""
        low = crossing_ends(lambda e: float(self._end(e)[0]), delta)[0]
        return low, crossing_ends(lambda e: float(self._end(e)[1]), delta)[1]

    def _end(self, epsilon: float) -> Bracket:
        if np.isinf(epsilon):
            infinite = np.asarray(self.infinite)
            return infinite * (1 - 64 * ULP), infinite * (1 + 64 * ULP)
        return self.delta(epsilon)


def enumerate_losses(components: Components) -> Enumeration | None:
    """Return the joint law, or None where it has too many outcomes."""
    steps = sum(times for _, times in components)
    atoms = [law for law, _ in components if isinstance(law, AtomsLoss)]
    if len(atoms) < len(components) or steps > _MOST_STEPS:
        return None
    spans = [max(map(abs, law.losses), default=0.0) for law in atoms]
    span = sum(s * times for s, (_, times) in zip(spans, components, strict=True))
    # Some fifty roundings of the largest sum: equal sums, added in different orders,
    # agree to that.
    tolerance = 1e-14 * span or 1e-300
    losses, masses, log_finite = np.zeros(1), np.ones(1), 0.0
    for law, (_, times) in zip(atoms, components, strict=True):
        each = np.array(law.losses)
        weight = np.exp(np.array(law.log_probabilities))
        for _ in range(times):
            if losses.size * each.size > 4 * _MOST:
                return None
            sums = np.add.outer(losses, each).ravel()
            joint = np.multiply.outer(masses, weight).ravel()
            keys, at = np.unique(np.round(sums / tolerance), return_inverse=True)
            losses = keys * tolerance
            masses = np.bincount(at, weights=joint).astype(np.float64)
            # A product of 1 - δ would forget a δ of 1e-17.
            log_finite += _log_rest(law.infinite_mass)
            if losses.size > _MOST:
                return None
    # Every step moves a sum by half a tolerance at most; twice that, and the roundings.
    blur = (steps + 1) * tolerance * 2 + 8 * ULP * span
    return Enumeration(losses, masses, abs(math.expm1(log_finite)), blur)


def _log_rest(mass: float) -> float:
    return math.log1p(-mass) if mass < 1 else -math.inf
