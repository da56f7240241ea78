"""The noisy widened winsorized mean: clamp to a private range, then average."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, final

import numpy as np

from hush import checks, law
from hush.errors import InvalidArgument
from hush.mechanisms import lattice_rounding
from hush.mechanisms.calibration import distance
from hush.mechanisms.error import Error
from hush.mechanisms.laplace import cover
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import Metric, Records
from hush.mechanisms.quantiles.quantile import Quantile
from hush.mechanisms.queries import clamp, column, total
from hush.noise import SECURE, Source, discrete_laplace
from hush.noise.laplace import LARGEST
from hush.privacy.curve import Curve
from hush.privacy.rounding import at_least
from hush.privacy.rules.composition import compose
from hush.serialization import tagged
from hush.units import Neighbors

_BITS = 32  # a clamped record is one of 2^32 + 1 equally spaced values
_ETA = Fraction(1, 10)
_WIDEST = LARGEST >> _BITS


@final
@tagged("winsorized_mean/1")
@dataclass(frozen=True, repr=False)
class WinsorizedMean(Mechanism):
    """Average records after clamping them to a widened private interquartile range.

    The quartiles are private quantiles of scale 4·`scale`; the range reaches
    4·k^(1/3 + 1/10) interquartile ranges from their middle, inside the public `bounds`;
    the mean of the clamped records gets Laplace noise of scale·range/k.

    Guarantee: the composition of both quartiles and the noisy mean, for one record
    replaced (the number k of records is public). Scale 2/ε is N Algorithm 2.

    Example:
        >>> m = WinsorizedMean.for_epsilon(epsilon=2, bounds=(0, 120))
        >>> m
        WinsorizedMean(bounds=(0.0, 120.0), scale=1.0)
        >>> 0 <= m.run([30, 40, 50] * 100) <= 120
        True

    Reference: [S11] Algorithm 2; N8.A1, N8.A2, clamping as in N Theorem 8.2.
    """

    bounds: tuple[float, float]
    scale: float | Fraction
    unit: ClassVar[str] = "row"  # one record is one person
    neighbors: ClassVar[Neighbors] = Neighbors.REPLACE_ONE

    @property
    def metric(self) -> Metric:
        """Records: people exchanged."""
        return Records(None, Neighbors.REPLACE_ONE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", checks.width("bounds", self.bounds))
        if lattice_rounding.drawable("scale", self.scale, most=None) > _WIDEST:
            raise InvalidArgument(
                f"scale must be at most {_WIDEST}, so that 64 bits hold the noise; got "
                f"{float(self.scale):g}. Use a larger epsilon."
            )

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("scale", self.scale)

    def _quartile(self, at: float) -> Quantile:
        return Quantile(at, self.bounds, 4 * self._exact, Neighbors.REPLACE_ONE)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` records are replaced."""
        people = checks.whole("sensitivity", sensitivity, at_least=0)
        steps = people << _BITS
        mean = cover(self._exact * (1 << _BITS), steps, Fraction(1))
        quartiles = (self._quartile(at).curve(people) for at in (0.25, 0.75))
        return compose(*quartiles, mean)

    @property
    def error(self) -> Error:
        """Law of the noise, in units of the range divided by k."""
        noise = law.DiscreteLaplace(self._exact * (1 << _BITS))
        return Error(((noise, Fraction(1, 1 << _BITS)),))

    def run(self, value: Any, *, source: Source = SECURE) -> float:
        """Return the noisy mean; NaN counts as the lower bound."""
        data = clamp(column(value), *self.bounds)
        k = data.size
        low, high = (
            float(self._quartile(at).run(data, source=source)) for at in (0.25, 0.75)
        )
        middle, spread = low + (high - low) / 2, abs(high - low)
        reach = 4 * float(max(k, 1)) ** float(Fraction(1, 3) + _ETA) * spread
        # The range is released with the quartiles; everything below is relative to it.
        lower = max(self.bounds[0], middle - reach)
        upper = min(self.bounds[1], middle + reach)
        width = upper - lower
        share = (
            np.zeros(k) if width <= 0 else (clamp(data, lower, upper) - lower) / width
        )
        steps = np.rint(np.ldexp(np.clip(share, 0, 1), _BITS)).astype(np.int64)
        rate = self._exact * (1 << _BITS)
        noisy = total(steps) + discrete_laplace(rate, source=source)
        return float(lower + width * float(Fraction(noisy, max(k, 1) << _BITS)))

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        # ε/4 for each quartile (range 2/(4·scale)) and ε/2 for the mean (1/scale).
        wanted = checks.rational("epsilon", epsilon)
        return cls(scale=at_least(2 * distance(sensitivity) / wanted), **public)
