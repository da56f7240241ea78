"""A privacy profile: δ as a function of ε, and the pair of laws that has it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from hush.errors import InvalidArgument
from hush.privacy.curve import Bracket, Curve, Direction
from hush.privacy.rounding import Floats, down, up


@final
@dataclass(frozen=True, repr=False)
class Profile(Curve):
    """(ε, δ(ε))-differential privacy for every ε >= 0, `function` mapping ε to δ.

    Guarantee: the mechanism is (ε, function(ε))-private for every ε >= 0, for neighbors
    in either order; a pair of laws with exactly this profile exists.

    Example:
        >>> import math
        >>> c = Profile(lambda epsilon: max(0.0, 1 - math.exp(epsilon - 1)))
        >>> f"{c.epsilon_at(0.1):.6f}"
        '0.894639'

    Reference: [ZDW22] Proposition 8 (N14.P3, N14.L16).
    """

    function: Callable[[float], float]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidArgument(f"function must be callable; got {self.function!r}.")
        epsilon = np.unique(
            np.concatenate([np.linspace(0, 2, 81), np.geomspace(2, 60, 60)])
        )
        value = self._evaluate(epsilon)
        if np.any(np.isnan(value) | (value < 0) | (value > 1)):
            bad = np.isnan(value) | (value < 0) | (value > 1)
            raise InvalidArgument(
                f"function(epsilon) must lie in [0, 1]; at {epsilon[bad][0]:g} it is "
                f"{value[bad][0]!r}. Return δ, a probability."
            )
        slack = 1e-12 + 1e-9 * value[:-1]
        if np.any(np.diff(value) > slack):
            at = epsilon[1:][np.diff(value) > slack][0]
            raise InvalidArgument(
                f"function must not rise with epsilon; it rises before {at:g}. "
                "Return the δ that holds at each ε; a larger ε needs no larger one."
            )
        # Convex in γ = e^ε: each middle value lies on or below its chord.
        step = np.diff(epsilon)
        share = -np.expm1(-step[:-1]) / (-np.expm1(-step[:-1]) + np.expm1(step[1:]))
        chord = value[:-2] * (1 - share) + value[2:] * share
        bent = value[1:-1] > chord * (1 + 1e-9) + 1e-12
        if np.any(bent):
            raise InvalidArgument(
                f"function must be convex in e^epsilon; it is not near "
                f"{epsilon[1:-1][bent][0]:g}. No mechanism has such a profile: take "
                "its convex hull, which is also a valid guarantee."
            )

    def __repr__(self) -> str:
        return f"<{self._with_one_answer('Profile')}>"  # a function's name says nothing

    def _evaluate(self, epsilon: Floats) -> Floats:
        found = [
            0.0 if math.isinf(e) else float(self.function(float(e)))
            for e in epsilon.flat
        ]
        floor = float(self.function(700.0)) if np.any(np.isinf(epsilon)) else 0.0
        value = np.array(found, dtype=np.float64).reshape(epsilon.shape)
        return np.asarray(np.where(np.isinf(epsilon), floor, value))

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket δ: the function itself."""
        value = self._evaluate(np.asarray(epsilon))
        return down(value), np.minimum(up(value), 1.0)
