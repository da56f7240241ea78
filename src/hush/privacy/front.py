"""The front door of the engines: enumeration, contour or lattice, what applies."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hush.errors import NoBound
from hush.privacy.enumeration import enumerate_losses
from hush.privacy.loss_law import Bracket

if TYPE_CHECKING:
    from hush.privacy.curve import Components


def delta_bracket(components: "Components", epsilon: ArrayLike) -> Bracket:
    """Bracket δ(ε) of independent losses, by the engine that applies."""
    from hush.privacy import contour, lattice

    if not components:
        zero = np.zeros(np.shape(epsilon))
        return zero, zero
    listed = enumerate_losses(components)
    if listed is not None:
        return listed.delta(epsilon)
    try:
        return contour.delta_bracket(components, epsilon)
    except NoBound:
        return lattice.delta_bracket(components, epsilon)


def epsilon_bracket(components: "Components", delta: float) -> tuple[float, float]:
    """Bracket the smallest ε >= 0 with this δ, by the engine that applies."""
    from hush.privacy import contour, lattice

    if not components:
        return 0.0, 0.0
    listed = enumerate_losses(components)
    if listed is not None:
        return listed.epsilon(delta)
    try:
        low, high = contour.epsilon_bracket(components, delta)
    except NoBound:
        low, high = lattice.epsilon_bracket(components, delta)
    return float(low), float(high)
