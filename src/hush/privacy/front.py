"""The front door of composition: list few atoms exactly, else ask the engines."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hush.privacy.enumeration import enumerate_losses
from hush.privacy.loss_law import Bracket

if TYPE_CHECKING:
    from hush.privacy.curve import Components


def delta_bracket(components: "Components", epsilon: ArrayLike) -> Bracket:
    """Bracket δ(ε) of independent losses."""
    from hush.privacy import brackets

    if not components:
        zero = np.zeros(np.shape(epsilon))
        return zero, zero
    listed = enumerate_losses(components)
    if listed is not None:
        return listed.delta(epsilon)
    return brackets.delta_bracket(components, epsilon)


def epsilon_bracket(components: "Components", delta: float) -> tuple[float, float]:
    """Bracket the smallest ε >= 0 with this δ."""
    from hush.privacy import brackets

    if not components or delta >= 1:
        return 0.0, 0.0
    listed = enumerate_losses(components)
    if listed is not None:
        return listed.epsilon(delta)
    low, high = brackets.epsilon_bracket(components, delta)
    return float(low), float(high)
