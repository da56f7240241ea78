"""Decay of a subsampled Gaussian's transform, by moving the path of integration.

On x + iτ, with θ = τ/σ² <= π/2, the integrand b ℓ^w of E e^(zL), Im w = ±t, has modulus
b(x) e^(τ²/2σ²) |ℓ|^a e^(-t arg ℓ), and arg ℓ > 0: the bound falls with t, so it holds
for all larger t too. Cells of x bound the integral; the two ends of the kept window
add the vertical pieces. For t < 0 the path moves downwards, with the same bound.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Protocol

import numpy as np

from hush.privacy.loss_law import Floats

_ANGLES = np.pi / 2 * 2.0 ** (-np.arange(14) / 2)
_CELLS = 768


class _Gaussian(Protocol):
    @property
    def std(self) -> float: ...

    @property
    def rate(self) -> float: ...

    def log_base_above(self, left: Floats, right: Floats, height: Floats) -> Floats: ...


def shifted_decay(
    law: _Gaussian,
    power: float,
    log_mass: float,
    left: float,
    right: float,
    softness: float = math.inf,
) -> Callable[[float], float]:
    """Return t -> log of a bound on |E e^((c+it)L)| / e^log_mass for all larger t.

    A density with a soft edge of that width grows by e^(τ²/2 softness²) more on x + iτ.
    """
    variance = law.std**2
    ends = np.linspace(left, right, _CELLS + 1)
    odds = np.log(law.rate) - math.log1p(-law.rate) + (ends - 0.5) / variance
    odds = np.minimum(odds, 600.0)

    @cache
    def cells() -> tuple[Floats, Floats, Floats]:
        angle = _ANGLES[:, None]
        ratio = np.exp(odds)
        # ℓ = (1-q)(1 + ratio e^(iθ)); its modulus and argument grow with x.
        size = math.log1p(-law.rate) + 0.5 * np.log1p(
            ratio * (2 * np.cos(angle) + ratio)
        )
        turn = np.arctan2(ratio * np.sin(angle), 1 + ratio * np.cos(angle))
        rise = variance * _ANGLES
        lift = 0.5 * variance * _ANGLES**2 + 0.5 * (rise / softness) ** 2
        base = law.log_base_above(ends[:-1], ends[1:], np.zeros(_CELLS))
        best = power * (size[:, 1:] if power >= 0 else size[:, :-1])
        mass = (
            base + best + lift[:, None] + math.log((right - left) / _CELLS) - log_mass
        )
        # A vertical piece has length τ, and |ℓ| on it is largest on the real line,
        # smallest at its top.
        flat = math.log1p(-law.rate) + np.log1p(ratio)
        sides = law.log_base_above(
            ends[[0, -1]], ends[[0, -1]], np.zeros(2)
        ) + power * (flat[[0, -1]] if power >= 0 else size[:, [0, -1]])
        side = sides + (lift + np.log(rise))[:, None] - log_mass
        return mass, turn[:, :-1], np.broadcast_to(side, (_ANGLES.size, 2))

    def log_bound(t: float) -> float:
        mass, turn, side = cells()
        parts = np.concatenate([mass - t * turn, side], axis=1)
        top = parts.max(axis=1)
        total = top + np.log(np.exp(parts - top[:, None]).sum(axis=1))
        return float(total.min()) + 1e-9

    return log_bound
