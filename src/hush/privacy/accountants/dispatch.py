"""Dispatch over accountants: list few atoms exactly, else ask for the tightest."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hush.errors import NoBound
from hush.privacy.accountants.exact import enumerate_losses
from hush.privacy.pld.gaussian_loss import GaussianLoss
from hush.privacy.pld.loss_distribution import Bracket
from hush.privacy.rounding import Floats

if TYPE_CHECKING:
    from hush.privacy.accountants.contour_quadrature import Contour
    from hush.privacy.curve import Components

# Relative widths: what needs no new contour, and what needs no other engine. One ε
# alone is answered more sharply, at a cost that an array of them need not pay.
_AS_GOOD = 1e-9
_SHARP = 1e-5


def delta_bracket(components: "Components", epsilon: ArrayLike) -> Bracket:
    """Bracket δ(ε) of independent losses."""
    from hush.privacy.accountants import tightest

    if not components:
        zero = np.zeros(np.shape(epsilon))
        return zero, zero
    listed = enumerate_losses(components)
    if listed is not None:
        return listed.delta(epsilon)
    points = np.asarray(epsilon, dtype=np.float64)
    closed = sum(times for _, times in components) == 1 or all(
        isinstance(law, GaussianLoss) for law, _ in components
    )
    if closed or points.size < 2:
        return tightest.delta_bracket(components, points)
    return _shared(components, points)


def _shared(components: "Components", epsilon: Floats) -> Bracket:
    """Answer neighbors on the same contour, as long as it is sharp there."""
    from hush.privacy.accountants import characteristic_function, tightest
    from hush.privacy.accountants.saddle_point import checked

    laws = checked(components)
    found = np.zeros((epsilon.size, 2))
    line: Contour | None = None
    width = 0.0
    with np.errstate(all="ignore"):
        for i in np.argsort(epsilon, axis=None, kind="stable"):
            at = float(epsilon.flat[i])
            if line is not None:
                found[i] = line.delta(at)
                if _width(found[i]) <= max(_AS_GOOD, 2 * width):
                    continue
            try:
                line = characteristic_function.lay(laws, at)
            except NoBound:
                line = None
            found[i] = line.delta(at) if line is not None else (0.0, 1.0)
            width = _width(found[i])
            if not width <= _SHARP:
                line = None
                found[i] = np.ravel(tightest.delta_bracket(components, at))
    return found[:, 0].reshape(epsilon.shape), found[:, 1].reshape(epsilon.shape)


def _width(bracket: Floats) -> float:
    low, high = float(bracket[0]), float(bracket[1])
    return (high - low) / high if high > 0 else math.inf


def epsilon_bracket(components: "Components", delta: float) -> tuple[float, float]:
    """Bracket the smallest ε >= 0 with this δ."""
    from hush.privacy.accountants import tightest

    if not components or delta >= 1:
        return 0.0, 0.0
    listed = enumerate_losses(components)
    if listed is not None:
        return listed.epsilon(delta)
    low, high = tightest.epsilon_bracket(components, delta)
    return float(low), float(high)
