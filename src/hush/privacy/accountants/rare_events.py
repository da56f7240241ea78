"""The rare-event accountant: few steps or tiny deltas, where one step makes the loss.

Where tails are heavier than exponential no single tilt fits. So every step's law is cut
into cells by soft edges, and the composition is expanded by the highest cell that is
hit and how often. Each term has a tilt of its own; what lies far above epsilon has a
closed form. Derivations are in docs/proofs/rare.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import numpy as np

from hush.privacy.accountants.contour_quadrature import (
    TINY,
    Components,
    Exhausted,
    Sketch,
    log_chernoff,
    prepare,
)
from hush.privacy.accountants.convolution import single_jump
from hush.privacy.accountants.transforms import rule_at_tilt
from hush.privacy.pld.gaussian_loss import (
    CellLoss,
    SubsampledGaussianLoss,
    outside,
)
from hush.privacy.pld.loss_distribution import ROUNDING, LossLaw
from hush.privacy.rounding import certified_root

# In logs, relative to the answer: e^-21 = 8e-10 of it may be left to a bound, and what
# lies outside of the windows, e^-23 = 1e-10, disappears in that.
_NEGLIGIBLE = -21.0
_LOG_OUTSIDE = -23.0
_MOST_CELLS = 8  # each a few deviations wide: eight reach all that matters
_LITTLE_WORK = 1 << 19  # exponentials: a contour that costs less than one more cell
_MOST_LOST = 25.0  # of e^25 lost to cancellation too few digits are left
_MOST_HITS = 64  # of one cell; more are bounded together
_DRAWN = 1 << 22  # exponentials of one term, as of one contour

# epsilon -> a bracket of what one term adds to delta
Term = Callable[[float], tuple[float, float]]


@final
@dataclass(frozen=True)
class Expansion:
    """Terms that add up to delta.

    Guarantee: `delta(epsilon)` brackets the truth for every epsilon >= 0.
    """

    terms: tuple[Term, ...]

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return a bracket of delta."""
        parts = [term(epsilon) for term in self.terms]
        lower = math.fsum(low for low, _ in parts) * (1 - 4 * ROUNDING)
        upper = math.fsum(high for _, high in parts) * (1 + 4 * ROUNDING)
        return max(lower, 0.0), min(max(upper, TINY), 1.0)


def applies(components: Components) -> bool:
    """Tell whether the composition is one that this engine expands."""
    if len(components) != 1:
        return False
    law, times = components[0]
    return (
        isinstance(law, SubsampledGaussianLoss)
        and law.direction == "remove"
        and law.rate < 1
        and times > 1
    )


def epsilon_bracket(
    step: tuple[LossLaw, int], delta: float, lower: float, upper: float
) -> tuple[float, float]:
    """Improve a bracket of epsilon.

    Guarantee: as that of the given bracket.

    Example:
        >>> step = SubsampledGaussianLoss(std=4.0, rate=0.01, direction="remove")
        >>> with np.errstate(all="ignore"):
        ...     low, high = epsilon_bracket((step, 2), 1e-30, 0.0, math.inf)
        ...
        >>> round(low, 8), round(high, 8)
        (0.13472979, 0.13472979)

    Reference: docs/proofs/rare.md
    """
    law, times = step
    if not isinstance(law, SubsampledGaussianLoss):
        return lower, upper
    log_delta = math.log(delta)
    guess = _first_guess(law, times, delta, lower, upper)
    for turn in range(5):
        before = upper - lower
        found = expand(law, times, guess, log_delta)

        def excess(side: int, epsilon: float, line: Expansion = found) -> float:
            return math.log(max(line.delta(epsilon)[side], TINY)) - log_delta

        slope = max(-log_delta, 1.0) / guess
        high = certified_root(partial(excess, 1), guess, slope, above=True)
        if high < 1e-9 * guess and excess(1, 0.0) <= 0:
            return 0.0, 0.0
        start = high if math.isfinite(high) else guess
        low = certified_root(partial(excess, 0), start, slope, above=False)
        lower, upper = max(lower, low), min(upper, high)
        stuck = turn > 1 and upper - lower > 0.5 * before
        # Three times sharper than `tightest` asks for.
        if upper - lower <= 3e-7 * upper or stuck or not upper > 0:
            break
        near = lower > 0.99 * upper
        moved = (lower + upper) / 2 if near else min(upper, 2 * guess)
        if abs(moved - guess) <= 1e-4 * guess:  # it would be the same expansion
            break
        guess = moved
    return min(lower, upper), upper


def _first_guess(
    law: SubsampledGaussianLoss, times: int, delta: float, lower: float, upper: float
) -> float:
    """Guess rather too high: there few hits matter, and the expansion is cheap."""
    guess = max(lower, 1e-12)
    if not lower > 0.5 * upper:
        guess = max(single_jump(law, times, delta), guess)
    return math.sqrt(guess * upper) if guess < upper < math.inf else guess


def delta_bracket(
    step: tuple[LossLaw, int], epsilon: float, lower: float, upper: float
) -> tuple[float, float]:
    """Improve a bracket of delta at an epsilon above zero.

    Guarantee: as that of the given bracket.

    Reference: docs/proofs/rare.md
    """
    law, times = step
    if not isinstance(law, SubsampledGaussianLoss):
        return lower, upper
    size = upper if upper < 0.5 else times * float(law.delta(epsilon)[1])
    for _ in range(2):
        log_value = math.log(min(max(size, TINY), 1.0))
        low, high = expand(law, times, epsilon, log_value).delta(epsilon)
        lower, upper = max(lower, low), min(upper, high)
        if upper - lower <= 1e-6 * upper or not lower > 0 or lower > 1e-3 * size:
            break
        size = lower  # it was far off: aim at the right size
    return min(lower, upper), upper


def expand(
    law: SubsampledGaussianLoss, times: int, epsilon: float, log_value: float
) -> Expansion:
    """Lay the cells for answers near epsilon, of size e^log_value."""
    # Where jumps are Gaussian again, all of them make one cell, above the valley.
    valley = math.log1p(math.e)
    gaussian = epsilon > valley + 2
    centre, half = _scale(law, epsilon)
    low, narrow = _scale(law, valley) if gaussian else (centre - half, half)
    softness = narrow / 8  # edges are smooth to the quadrature, and cells still apart
    edge, terms = centre + (law.std if gaussian else half), []
    for _ in range(_MOST_CELLS):
        top, error = _top(law, times, edge, softness, epsilon)
        if error < log_value + _NEGLIGIBLE:
            break
        edge += law.std if gaussian else half
    else:  # the term must belong to the edge that the cells start from
        top, _ = _top(law, times, edge, softness, epsilon)
    terms.append(top)
    for _ in range(_MOST_CELLS):
        term = _try(law, times, edge, softness, epsilon, log_value)
        if term is not None:
            return Expansion((*terms, term))
        terms += _cell(law, times, (low, edge), softness, epsilon, log_value)
        edge, low = low, low - 2 * narrow
    below = CellLoss(law, -math.inf, edge, softness)
    last = _term(((below, times),), 0.0, epsilon, log_value)
    return Expansion((*terms, last))


def _try(
    law: SubsampledGaussianLoss,
    times: int,
    edge: float,
    softness: float,
    epsilon: float,
    log_value: float,
) -> Term | None:
    """Return the term with no step above the edge, if it is cheap and sharp."""
    below = CellLoss(law, -math.inf, edge, softness)
    term = _term(((below, times),), 0.0, epsilon, log_value, _LITTLE_WORK)
    lower, upper = term(epsilon)
    # e^-17 = 4e-8 of the answer.
    sharp = upper - lower <= math.exp(max(log_value - 17.0, -740.0))
    return term if sharp else None


def _scale(law: SubsampledGaussianLoss, epsilon: float) -> tuple[float, float]:
    """Return where one step loses epsilon, and how wide a cell a tilt can serve."""
    y = math.log1p(math.expm1(min(epsilon, 500.0)) / law.rate)
    x = (y - law.offset) / law.slope
    share = min(law.rate * math.exp(min(y, 600.0) - min(epsilon, 600.0)), 1.0)
    # Tilted so that it is level at x, the log density bends up by this much.
    fall = max(x - share, 0.0) / law.std**2
    bend = max(fall * law.slope * (1 - share / math.e), 0.3 / law.std**2)
    # Over a half-width w a tilt leaves e^(bend w²/2): at most e^2.5. Nor should y
    # change by more than two, or a cell be wider than three deviations.
    return x, min(math.sqrt(5 / bend), 2 / law.slope, 3 * law.std)


def _log_above(law: LossLaw, s: float, log_drop: float) -> tuple[float, float]:
    """Return an upper bound of log E e^(sL) over the kept losses, and the rest."""
    rule = law.rule(s, 0.0, log_drop, log_drop)
    return rule_at_tilt(rule, s, 0.0).log_mass_above, rule.missing


def _top(
    law: SubsampledGaussianLoss,
    times: int,
    edge: float,
    softness: float,
    epsilon: float,
) -> tuple[Term, float]:
    """Return the term of all outcomes with a step above the edge, and its log error."""
    above = outside(law, edge, softness)
    p, q = above.p, above.q
    # P(some step is above) - e^ε Q(the same), without cancellation.
    some_q = -math.expm1(times * math.log1p(-q)) if q < 1 else 1.0
    more = -math.expm1(times * math.log1p(-above.gain / (1 - q))) * (1 - some_q)
    slack = above.error * (2 + times * p)
    # (1 - e^y)_+ = 1 - e^y + (e^y - 1)_+, and the last is at most κ e^(sy), s > 1.
    cell = CellLoss(law, edge, math.inf, softness, _unit(p))
    log_drop = -80.0 - math.log(times)  # e^-80 = 2e-35: only bounds depend on it
    worst = -math.log1p(-law.rate)
    best, tilt = math.inf, 2.0
    for s in 1 + np.array([1.0, 4.0, 16.0, 64.0, 256.0]) / max(epsilon, 1e-9):
        bound = 0.0
        for part, copies in ((cell, 1), (law, times - 1)):
            log_mass, missing = _log_above(part, -float(s), log_drop)
            rest = math.log(max(missing, 1e-300)) + s * worst
            bound += copies * float(np.logaddexp(log_mass, rest))
        bound += math.log(times) + cell.log_unit
        bound += (s - 1) * math.log1p(-1 / s) - math.log(s)
        if bound + s * epsilon < best + tilt * epsilon or best == math.inf:
            best, tilt = float(bound), float(s)

    def term(at: float) -> tuple[float, float]:
        if at > 600:
            return 0.0, more + some_q
        value = more - math.expm1(at) * some_q
        blur = slack * (more + math.expm1(at) * some_q)
        blur += 4 * times * above.drift  # `more` moves by `times` that at most
        spare = math.exp(min(best + tilt * at, 700.0))
        # Nor can it exceed the chance of any step above the edge.
        most = (more + some_q) * (1 + slack) + 4 * times * above.drift
        return value - blur, min(value + blur + spare, most)

    return term, best + tilt * epsilon


def _unit(mass: float) -> float:
    return math.log(max(mass, 1e-300)) + 1e-9


def _sketch(components: Components, log_drop: float) -> Sketch:
    sketch = Sketch.of(components, log_drop)
    return replace(sketch, open_ended=np.zeros_like(sketch.open_ended))


def _cell(
    law: SubsampledGaussianLoss,
    times: int,
    edges: tuple[float, float],
    softness: float,
    epsilon: float,
    log_value: float,
) -> list[Term]:
    """Return the terms with one, two, ... steps in a cell and none above."""
    upper, lower = (outside(law, edge, softness).p for edge in edges)
    unit = _unit(upper - lower)
    cell = CellLoss(law, *edges, softness, unit)
    under = CellLoss(law, -math.inf, edges[0], softness)
    up_to = CellLoss(law, -math.inf, edges[1], softness)
    terms: list[Term] = []
    for hits in range(1, min(times, _MOST_HITS) + 1):
        log_ways = _log_choose(times, hits) + hits * unit
        # At least so many in the cell: choose them, the others are anywhere below.
        if hits == 1 or terms[-1](epsilon)[1] < math.exp(max(log_value - 12, -740.0)):
            rest = _chernoff(
                _composition((cell, hits), (up_to, times - hits)),
                log_ways,
                epsilon,
                log_value,
            )
            if rest(epsilon)[1] < math.exp(max(log_value + _NEGLIGIBLE, -740.0)):
                return [*terms, rest]
        parts = _composition((cell, hits), (under, times - hits))
        terms.append(_term(parts, log_ways, epsilon, log_value))
    if times > _MOST_HITS:
        hits = _MOST_HITS + 1
        log_ways = _log_choose(times, hits) + hits * unit
        parts = _composition((cell, hits), (up_to, times - hits))
        terms.append(_chernoff(parts, log_ways, epsilon, log_value))
    return terms


def _composition(*parts: tuple[CellLoss, int]) -> Components:
    return tuple(part for part in parts if part[1] > 0)


def _log_choose(n: int, k: int) -> float:
    """Return log of the binomial coefficient, to a few roundings."""
    return math.fsum(math.log((n - i) / (i + 1)) for i in range(k))


def _log_drop(components: Components, log_target: float) -> float:
    count = math.fsum(float(times) for _, times in components)
    return min(log_target, 0.0) + _LOG_OUTSIDE - math.log(count)


def _chernoff(
    components: Components, log_ways: float, epsilon: float, log_value: float
) -> Term:
    """Return a term that is only bounded above."""
    log_drop = _log_drop(components, log_value - log_ways)
    sketch = _sketch(components, log_drop)
    c, _ = sketch.at_epsilon(epsilon, positive=True)
    # Where epsilon is out of reach any tilt will do, and small ones are computed well.
    enough = log_value - log_ways + _NEGLIGIBLE - 5
    while c > 1e-9 and sketch.cumulants(c / 2)[0] - c / 2 * epsilon < enough:
        c /= 2
    bound, missing = log_ways + log_chernoff(c) + 1e-9, 0.0
    for law, copies in components:
        log_mass, rest = _log_above(law, c, log_drop)
        bound += copies * log_mass
        missing += copies * rest
    missing *= math.exp(min(log_ways, 700.0))

    def term(at: float) -> tuple[float, float]:
        return 0.0, math.exp(min(bound - c * at, 700.0)) + missing

    return term


def _term(
    components: Components,
    log_ways: float,
    epsilon: float,
    log_value: float,
    work: int = _DRAWN,
) -> Term:
    """Return one term by a contour at its own tilt, or by Chernoff if that will do."""
    target = log_value - log_ways
    sketch = _sketch(components, _log_drop(components, target))
    c, _ = sketch.at_epsilon(epsilon, positive=True)
    lost = sketch.cumulants(c)[0] - c * epsilon + log_chernoff(c) - target
    fallback = partial(_chernoff, components, log_ways, epsilon, log_value)
    if lost < _NEGLIGIBLE - 1 or lost > _MOST_LOST:
        return fallback()
    try:
        contour = prepare(components, sketch, c, epsilon, target, work)
    except Exhausted:
        return fallback()
    slack = 8 * ROUNDING * (1 + abs(log_ways))
    factor = math.exp(min(log_ways, 700.0))

    def term(at: float) -> tuple[float, float]:
        lower, upper = contour.delta(at)
        return lower * factor * (1 - slack), upper * factor * (1 + slack)

    return term
