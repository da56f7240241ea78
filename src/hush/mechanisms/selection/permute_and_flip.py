"""Permute and flip: visit candidates at random, stop at each with its own chance."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.mechanisms import lattice_rounding
from hush.mechanisms.selection import choice_probabilities
from hush.mechanisms.selection.selection import Gap, Selection, scores
from hush.noise import SECURE, Source, exponential_argmax
from hush.privacy.curve import Curve
from hush.privacy.notions.pure import Pure
from hush.privacy.rounding import at_least
from hush.serialization import tagged


def _worst(scale: float, candidates: int, t: float) -> float:
    # The best is kept, each other with q = e^(-t/s): 1 - E[1/(1 + Bin(k-1, q))].
    q = math.exp(-t / scale)
    if q * candidates < 1e-8:
        return q * (candidates - 1) / 2
    return (
        1 + math.expm1(candidates * math.log1p(-q)) / (candidates * q)
        if q < 1
        else (1 - 1 / candidates)
    )


@final
@tagged("permute_and_flip/1")
@dataclass(frozen=True, repr=False)
class PermuteAndFlip(Selection):
    """Choose a place of a vector of utilities by permute and flip.

    The same law as adding exponential noise of `scale` and taking the largest. Never
    worse than the exponential mechanism at the same ε, and up to twice as good.

    Guarantee: ε = 2·sensitivity/scale (half of it if `monotone`). Its range is not
    bounded like that of the exponential mechanism, so it is charged as pure.

    Example:
        >>> m = PermuteAndFlip.for_epsilon(epsilon=1, sensitivity=1)
        >>> m.run([3, 10**9, 4])
        1
        >>> from hush.mechanisms import Exponential, lattice_rounding as values
        >>> m.error.among(100).mean < Exponential.for_epsilon(1).error.among(100).mean
        True

    Reference: [MS20] Theorem 1; [DKSSW21] for exponential noise.
    """

    scale: float | Fraction
    monotone: bool = False

    def __post_init__(self) -> None:
        lattice_rounding.drawable("scale", self.scale, most=None)
        checks.flag("monotone", self.monotone)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when no utility moves by more than `sensitivity`."""
        return Pure(epsilon=at_least(self._log_ratio_range(sensitivity)))

    @property
    def error(self) -> Gap:
        """Worst-case law of the utility gap; say `error.among(candidates)`."""
        return Gap(partial(_worst, float(self.scale)), float(self.scale))

    def run(self, value: Any, *, source: Source = SECURE) -> int:
        """Return the chosen place of a vector of utilities."""
        return exponential_argmax(scores(value), self._exact, source=source)

    def law(self, value: Any) -> NDArray[np.float64]:
        """Return the chance of each place: for plans and tests, it is not private.

        Guarantee: each is right to 1e-11 of itself; below 1e-300 it may be 0.

        Example:
            >>> PermuteAndFlip(scale=2.0).law([1, 0]).round(4)
            array([0.6967, 0.3033])

        Reference: N5.law; docs/proofs/noisy_max.md.
        """
        gap = choice_probabilities.below_best(scores(value), self._exact)
        return choice_probabilities.permute_and_flip(gap)
