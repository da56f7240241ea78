"""The FFT accountant: losses on a grid, tilted, and convolved. A second opinion.

Connecting the dots of a law's curve reveals, beside the true loss, a coin whose own
loss spans one grid step Δ. So T steps on the grid lie above the truth, and by no more
than T such coins add: √T Δ/2 times the chance that the sum falls where coins matter.
Both sides are second order in Δ; the derivation is in docs/proofs/lattice.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from hush.errors import NoBound
from hush.privacy.accountants.contour_quadrature import (
    LOG_PRECISION,
    TINY,
    Components,
    Sketch,
    alias_window,
    distinct_laws,
    log_chernoff,
)
from hush.privacy.accountants.transforms import Complexes
from hush.privacy.pld.loss_distribution import ROUNDING, Bracket, Floats, LossLaw
from hush.privacy.rounding import bracket_each, certified_root

_POINTS = 1 << 16  # of the window: an FFT of this size takes milliseconds
_MOST_COPIES = 10**6  # beyond, the rounding of a step, times the copies, hides all
_COARSE = 1 << 10  # points of a law, to find the tilt
_LONGEST = 1 << 17  # points of one law, folded into the window
# Of an FFT in the Euclidean norm: 80 roundings, five for each of its 16 stages.
_UNIT, _FFT_ROUNDINGS = 2e-16, 80


@final
@dataclass(frozen=True)
class Lattice:
    """The tilted law of the sum on a window of the grid; answers any epsilon in it.

    Guarantee: `delta(epsilon)` brackets the truth for every epsilon.
    """

    c: float
    spacing: float
    loss: Floats
    weight: Floats  # tilted probabilities of the sum
    weight_error: float  # of each, by rounding
    log_scale: float  # K(c)
    infinite: float
    defect: float  # tilted mass that the lower side must not count
    slack: float  # relative rounding of the tilted masses, over all copies
    log_value: float  # the answer it was laid for, about
    copies: float
    aliases: tuple[tuple[float, float], ...]

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return a bracket of delta."""
        # Beyond forty over the tilt the kernel is below every rounding.
        first = int(np.searchsorted(self.loss, epsilon))
        last = int(np.searchsorted(self.loss, epsilon + 40 / self.c))
        gap = self.loss[first:last] - epsilon
        kernel = np.exp(-self.c * gap) * -np.expm1(-gap)
        factor = math.exp(min(self.log_scale - self.c * epsilon, 700.0))
        total = float(self.weight[first:last] @ kernel)
        # The sum of 65536 positive terms errs by 1e-14 of itself; below e^-40 = 4e-18
        # the kernel was cut off.
        rounding = self.weight_error * float(kernel.sum()) + 1e-14 * total + 5e-18
        outside = self._outside(epsilon)
        # Coins: |their sum| > reach with chance at most `rare` (Azuma), and total
        # variation at most √T Δ/2 (Pinsker), as each has KL divergence at most Δ²/2.
        spread = math.sqrt(self.copies) * self.spacing
        # Wings for which `rare` is 2 e^-35 = 1e-15 of the answer.
        wings = math.sqrt(0.5 * (35 - self.log_value))
        reach = wings * spread + self.copies * self.spacing**2 / 2
        rare = 2 * math.exp(-2 * wings**2)
        if reach >= self.copies * self.spacing:
            reach, rare = self.copies * self.spacing, 0.0
        ends = epsilon + np.array([-1, 1]) * (2 * reach + self.spacing)
        near = slice(*np.searchsorted(self.loss, ends))
        height = np.exp(np.minimum(-self.c * (self.loss[near] - epsilon), 700.0))
        density = float((self.weight[near] + self.weight_error) @ height)
        # Where the window does not reach, a sum is only bounded by its tail.
        coins = (spread / 2 + rare) * (density + outside) / (1 - rare)
        bump = math.exp(log_chernoff(self.c))
        upper = factor * (total + rounding + outside + self.slack * bump)
        lost = rounding + coins + outside + (self.defect + self.slack) * bump
        lower = factor * (total - lost) * (1 - 1e-12) - rare
        upper = (upper + self.infinite) * (1 + 1e-12)
        return max(lower, 0.0), min(max(upper, TINY), 1.0)

    def _outside(self, epsilon: float) -> float:
        """Bound what lies beyond the window, seen or aliased, over e^(K(c) - cε)."""
        left, right = self.loss[0] - epsilon, self.loss[-1] - epsilon
        if left >= 0 or right <= 0:
            return math.inf
        total = 0.0
        for s, log_ratio in self.aliases:
            # P_c(S beyond x) <= e^(K(s) - K(c) - (s-c) x); the kernel is at most one.
            edge = self.loss[-1] if s > self.c else self.loss[0]
            total += math.exp(min(log_ratio - (s - self.c) * float(edge), 700.0))
        return total


def _sketch(components: Components, cut: float) -> Sketch:
    """Return the laws on coarse grids of their own, to find the tilt."""
    losses, weights = [], []
    for law, _ in components:
        left, right = ends(law, cut)
        spacing = max(right - left, 1e-12) / _COARSE
        grid = connect(
            law, spacing, math.floor(left / spacing), math.ceil(right / spacing)
        )
        losses.append(grid.loss)
        weights.append(np.log(np.maximum(grid.mass, 1e-320)))
    sizes = np.array([loss.size for loss in losses], dtype=np.intp)
    return Sketch(
        loss=np.concatenate(losses),
        log_weight=np.concatenate(weights),
        starts=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp),
        owner=np.repeat(np.arange(sizes.size), sizes),
        times=np.array([float(times) for _, times in components]),
        open_ended=np.isinf([law.largest_loss for law, _ in components]),
        gaussian=0.0,
        log_drop=math.log(cut),
    )


def _lay(
    components: Components, sketch: Sketch, c: float, epsilon: float, log_value: float
) -> Lattice:
    """Lay a lattice at tilt c for answers near epsilon, of size e^log_value.

    The laws' tilted masses are folded into one window and composed there: their FFTs,
    to the power of their copies, multiply.
    """
    c = sketch.calm(c, epsilon, log_value)
    _, _, bend = sketch.cumulants(c)
    left, right, width = alias_window(sketch, c, epsilon, log_value, bend)
    copies = math.fsum(float(times) for _, times in components)
    cut = math.exp(max(log_value + LOG_PRECISION, -700.0)) / copies
    # The window reaches as far to either side of ε as aliases need to die out, and five
    # percent farther.
    spacing = 2.1 * width / _POINTS
    reach = max(high - low for low, high in (ends(law, cut) for law, _ in components))
    spacing = max(spacing, reach / _LONGEST)
    start = math.floor((epsilon - 1.05 * width) / spacing)
    transform = np.ones(_POINTS // 2 + 1, dtype=np.complex128)
    scale, finite, defect, slack, rounding = 0.0, 0.0, 0.0, 0.0, 0.0
    log_alias = [0.0, 0.0]
    for law, times in components:
        low, high = ends(law, cut)
        grid = connect(
            law, spacing, math.floor(low / spacing), math.ceil(high / spacing)
        )
        exponent = c * grid.loss
        tilted, top = _scaled_moments(grid, c)
        total = float(tilted.sum())
        log_mass = top + math.log(total)
        defect += times * float(grid.error @ np.exp(exponent - log_mass))
        typical = float(tilted @ np.abs(exponent)) / total + abs(log_mass)
        slack += times * ROUNDING * (32 + 4 * typical)
        folded = np.zeros(_POINTS)
        np.add.at(folded, np.arange(tilted.size) % _POINTS, tilted / total)
        # Index 0 of the folded array stands for the law's first loss.
        transform *= np.fft.rfft(folded) ** times * _phases(times * grid.first)
        # An FFT errs by about log2(n) roundings in the Euclidean norm; a power of a
        # number at most one multiplies the error by the exponent.
        rounding += times * _UNIT * _FFT_ROUNDINGS * math.sqrt(float((folded**2).sum()))
        scale += times * log_mass
        finite += times * math.log1p(-min(grid.infinite, 1 - 1e-16))
        for i, s in enumerate((left, right)):
            log_alias[i] += times * _log_moment(grid, s)
    weight = np.fft.irfft(transform, _POINTS)
    weight = np.roll(weight, -(start % _POINTS))
    return Lattice(
        c=c,
        spacing=spacing,
        loss=spacing * (start + np.arange(_POINTS, dtype=np.float64)),
        weight=np.maximum(weight, 0.0),
        weight_error=rounding + _UNIT * _FFT_ROUNDINGS,
        log_scale=scale,
        infinite=-math.expm1(finite),
        defect=defect,
        slack=slack,
        log_value=log_value,
        copies=copies,
        aliases=tuple(
            (s, value - scale + 1e-9)
            for s, value in zip((left, right), log_alias, strict=True)
        ),
    )


def _scaled_moments(grid: "Grid", c: float) -> tuple[Floats, float]:
    """Return mass e^(c loss) over e^top, and top, the largest of their logs."""
    exponent = c * grid.loss
    top = float((exponent + np.log(np.maximum(grid.mass, 1e-320))).max())
    return grid.mass * np.exp(exponent - top), top


def _log_moment(grid: "Grid", s: float) -> float:
    """Return log Σ mass e^(s loss)."""
    size = s * grid.loss + np.log(np.maximum(grid.mass, 1e-320))
    peak = float(size.max())
    return peak + math.log(float(np.exp(size - peak).sum()))


def _phases(first: int) -> Complexes:
    """Return e^(-2πi k first/n) for every k: a law that starts `first` points later."""
    phase = np.arange(_POINTS // 2 + 1) * (first % _POINTS)
    return np.asarray(np.exp(-2j * np.pi * (phase % _POINTS) / _POINTS))


def delta_bracket(components: Components, epsilon: ArrayLike) -> Bracket:
    """Bracket delta of a composition, by a method independent of the contour engine.

    Guarantee: lower <= δ(ε) <= upper.

    Reference: docs/proofs/lattice.md
    """
    with np.errstate(all="ignore"):
        return bracket_each(partial(delta_at, components), epsilon)


def epsilon_bracket(components: Components, delta: float) -> tuple[float, float]:
    """Bracket the smallest epsilon >= 0 at which a composition has this delta.

    Guarantee: δ(upper) <= delta, and δ(x) > delta for every 0 <= x < lower.

    Reference: docs/proofs/lattice.md
    """
    components = _few(components)
    with np.errstate(all="ignore"):
        return _epsilon(components, delta)


def _few(components: Components) -> Components:
    components = distinct_laws(components)
    if sum(times for _, times in components) > _MOST_COPIES:
        raise NoBound(
            f"the lattice engine composes at most {_MOST_COPIES} steps: rounding takes "
            "the rest. Use the contour engine."
        )
    return components


def delta_at(components: Components, epsilon: float) -> tuple[float, float]:
    """Bracket delta at one epsilon."""
    components = _few(components)
    sketch = _sketch(components, 1e-40)
    c, log_value = sketch.at_epsilon(epsilon)
    if c < 0:  # δ is near one: measure it at a small positive tilt
        c, log_value = 1 / (1 + abs(sketch.cumulants(0.0)[1])), 0.0
    return _lay(components, sketch, c, epsilon, min(max(log_value, -700.0), 0.0)).delta(
        epsilon
    )


def _epsilon(components: Components, delta: float) -> tuple[float, float]:
    variation = [times * float(law.delta(0.0)[1]) for law, times in components]
    if math.fsum(variation) <= delta:
        return 0.0, 0.0
    log_delta = math.log(delta)
    copies = math.fsum(float(times) for _, times in components)
    sketch = _sketch(components, delta * 1e-12 / copies)
    c, guess = sketch.at_delta(log_delta)
    lower, upper = 0.0, math.inf
    for _ in range(2):
        lattice = _lay(components, sketch, c, guess, log_delta)

        def excess(side: int, epsilon: float, line: Lattice = lattice) -> float:
            return math.log(max(line.delta(epsilon)[side], TINY)) - log_delta

        most = certified_root(partial(excess, 1), guess, c, above=True)
        start = most if math.isfinite(most) else guess
        least = certified_root(partial(excess, 0), start, c, above=False)
        lower, upper = max(lower, least), min(upper, most)
        # Within a twentieth of a step it would be the same lattice.
        if not math.isfinite(upper) or abs(upper - guess) <= 0.05 * lattice.spacing:
            break
        guess = upper
        c = max(sketch.at_epsilon(guess)[0], 1e-3 * c)
    return min(lower, upper), upper


# -- Connect the dots: a law on a grid whose curve lies above the given one ------------


@final
@dataclass(frozen=True)
class Grid:
    """P-masses at first·Δ, (first+1)·Δ, …, the rest at infinity.

    Guarantee: `mass` and `infinite` have a curve above the law's; `mass - error` is at
    most the exact connect-the-dots law of all losses above first·Δ.
    """

    spacing: float
    first: int
    mass: Floats
    error: Floats
    infinite: float

    @property
    def loss(self) -> Floats:
        """The grid points."""
        steps = self.first + np.arange(self.mass.size, dtype=np.float64)
        return np.asarray(self.spacing * steps)


def _edge(small: Callable[[float], bool], most: float) -> float:
    """Return a point up to `most` at which `small` holds, not much beyond the first."""
    high = 1e-9
    while high < most and not small(high):
        high *= 2
    low, high = high / 2, min(high, most)
    for _ in range(12):  # to some ten-thousandths: it need not be sharp
        middle = (low + high) / 2
        low, high = (low, middle) if small(middle) else (middle, high)
    return high


def ends(law: LossLaw, cut: float) -> tuple[float, float]:
    """Return losses outside which about `cut` of P lies, at most 10^5 from zero."""
    back = law.reversed()
    top, bottom = law.infinite_mass, back.infinite_mass
    right = _edge(
        lambda x: float(law.delta(x)[1]) <= top + cut, min(law.largest_loss, 1e5)
    )
    # P(L < -x) <= e^-x Q(L < -x) <= e^-x δ'(x - 1)/(1 - 1/e), δ' the reversed curve.
    left = _edge(
        lambda x: 1.6 * math.exp(-x) * float(back.delta(x - 1)[1] - bottom) <= cut,
        min(back.largest_loss, 1e5),
    )
    return -left, right


def connect(law: LossLaw, spacing: float, first: int, last: int) -> Grid:
    """Connect the dots of a law's curve from first·Δ to last·Δ."""
    points = spacing * np.arange(first, last + 1)
    lower, upper = law.delta(points)
    # In x = e^ε a law with Q-masses q_i at x_i has the curve Σ q_i (x_i - x)_+ + const:
    # q_i is the change of the chords' slope at x_i and p_i = x_i q_i. With
    # f_i = (δ_i - δ_{i+1})/(e^Δ - 1) that is p_i = e^Δ f_{i-1} - f_i. The first chord
    # starts at (0, 1), the last is flat: what is left goes to infinity.
    growth, step = math.exp(spacing), math.expm1(spacing)
    falls = (upper[:-1] - upper[1:]) / step
    mass = np.zeros(points.size)
    mass[1:] += growth * falls
    mass[:-1] -= falls
    mass[0] += 1 - upper[0]
    # The brackets of δ and the rounding of differences, as masses.
    width = upper - lower + 4 * ROUNDING * upper
    error = width * (1 + growth) / step
    error[1:] += growth * width[:-1] / step
    error[:-1] += width[1:] / step
    raised = np.maximum(mass + 4 * ROUNDING * growth * upper / step, 0.0)
    error = np.minimum(error + raised - mass, raised)
    if points[0] > -law.reversed().largest_loss:
        error[0] = raised[0]  # losses below the grid were raised to its first point
    return Grid(spacing, first, raised, error, float(upper[-1]))
