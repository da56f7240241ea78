"""What selection mechanisms share: a scale, scores, bounded range, the utility gap."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.checks import distance, finite, number_array
from hush.errors import InvalidArgument
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import LInf, Metric
from hush.privacy.curve import Curve
from hush.privacy.notions.bounded_range import BoundedRange
from hush.privacy.notions.pure import Pure
from hush.privacy.rounding import at_least, total_up


def scores(value: Any) -> NDArray[Any]:
    """Return finite utilities as a vector, or refuse them before anything is drawn."""
    array = number_array("value", value)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iufO":
        raise InvalidArgument("value must be a non-empty vector of utilities.")
    if not finite(array):
        raise InvalidArgument(
            "value must hold finite utilities. Give impossible candidates the lowest "
            "utility your public range allows."
        )
    return array


def bounded_range(span: Fraction | float) -> Curve:
    """Return the guarantee of a mechanism whose log-ratios differ by at most `span`.

    Guarantee: exact for the exponential mechanism, whose worst neighbors have the two
    losses t and t - span; t = (span + ε)/2 is the worst at ε.

    Example:
        >>> f"{bounded_range(1.0).delta_at(0):.4f}", f"{Pure(1.0).delta_at(0):.4f}"
        ('0.2449', '0.4621')

    Reference: [DDR20] Lemma 3.2 for the pair.
    """
    exact = total_up([Fraction(span)])
    if exact == 0:
        return Pure(epsilon=0.0)
    if exact < 1e-12 or exact > 400:  # there is nothing to gain, or to lose, there
        return Pure(epsilon=exact * (1 + 2.0**-50))
    return BoundedRange(exact * (1 + 2.0**-50))


class Selection(Mechanism):
    """Report places of the largest scores, less surely the larger `scale` is.

    `monotone` scores all move the same way when a person comes: that costs half.
    """

    scale: float | Fraction
    monotone: bool

    @property
    def metric(self) -> Metric:
        """The largest move of a score."""
        return LInf(one_way=self.monotone)

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("scale", self.scale)

    def _log_ratio_range(self, sensitivity: Any) -> Fraction:
        """Return how far log-ratios of two places move: of one choice."""
        return (2 - self.monotone) * distance(sensitivity) / self._exact

    @classmethod
    def _choices(cls, public: dict[str, Any]) -> int:
        return 1

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        moved = (1 if public.get("monotone") else 2) * distance(sensitivity)
        wanted = checks.rational("epsilon", epsilon)
        made: Any = cls
        found: Self = made(
            scale=at_least(cls._choices(public) * moved / wanted), **public
        )
        return found


@final
@dataclass(frozen=True, repr=False)
class Gap:
    """How far below the best the chosen candidate may lie, in the worst case.

    `beyond(candidates, t)` is the exact probability of a gap of at least t when one
    candidate is best and all others lie t below it; no other scores make it likelier.

    Example:
        >>> from hush.mechanisms import Exponential
        >>> gap = Exponential(scale=2.0).error.among(1000)
        >>> round(gap.quantile(0.95), 2)
        19.7
        >>> gap
        Gap(at most 19.7 below the best of 1000 at 95%)
    """

    beyond: Callable[[int, float], float]
    scale: float
    candidates: int = 2

    def __repr__(self) -> str:
        among = f"the best of {self.candidates}"
        return f"Gap(at most {self.quantile(0.95):.4g} below {among} at 95%)"

    def among(self, candidates: int) -> "Gap":
        """Return the law for a number of candidates (2 unless said)."""
        return replace(
            self, candidates=checks.whole("candidates", candidates, at_least=1)
        )

    def tail(self, t: float) -> float:
        """Return the largest possible P(gap >= t), t > 0."""
        return self.beyond(self.candidates, t) if self.candidates > 1 else 0.0

    def chance(self, within: float) -> float:
        """Return the smallest possible P(gap <= within)."""
        return 1 - self.tail(within)

    def quantile(self, p: float) -> float:
        """Return the smallest t with P(gap > t) <= 1 - p, whatever the scores."""
        p = checks.real("p", p, above=0, below=1)
        low, high = 0.0, self.scale
        if self.tail(low) <= 1 - p:
            return 0.0
        while self.tail(high) > 1 - p:
            low, high = high, 2 * high
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self.tail(middle) > 1 - p else (low, middle)
        return high

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return where the utility lies relative to the best, with chance `level`."""
        return -self.quantile(level), 0.0

    @property
    def mean(self) -> float:
        """A bound on the expected gap: the integral of the worst tails."""
        return self._integral(lambda t: self.tail(t))

    @property
    def std(self) -> float:
        """A bound on the root of the mean squared gap."""
        return math.sqrt(self._integral(lambda t: 2 * t * self.tail(t)))

    def _integral(self, function: Callable[[float], float]) -> float:
        top = self.quantile(1 - 1e-12)
        t = np.linspace(0, top, 2001)
        return float(np.trapezoid([function(float(x)) for x in t], t))
