"""Connect the dots: a law on a grid whose curve lies above the given one."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from hush.privacy.loss_law import ROUNDING, Floats, LossLaw


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
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if small(middle) else (middle, high)
    return high


def ends(law: LossLaw, cut: float) -> tuple[float, float]:
    """Return losses outside which about `cut` of P lies."""
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
