"""The geometric mechanism: Laplace noise on the whole numbers."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, final

from hush import checks, law
from hush.errors import InvalidArgument
from hush.mechanisms import values
from hush.mechanisms.calibration import at_least, distance
from hush.mechanisms.error import Error
from hush.mechanisms.laplace import cover
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Lattice, Source, discrete_laplace
from hush.privacy.curve import Curve
from hush.serialization import tagged


def whole_only(value: Any) -> Any:
    """Return `value` if it consists of whole numbers, or refuse it."""
    exact = isinstance(value, int) and not isinstance(value, bool)
    if not exact and not values.are_whole(values.vector(value)):
        raise InvalidArgument(
            "value must be whole numbers. Use Laplace or Gaussian for floats."
        )
    return value


@final
@tagged("geometric/1")
@dataclass(frozen=True, repr=False)
class Geometric(Mechanism):
    """Add whole noise with P(k) ∝ exp(-|k|/scale) to whole numbers.

    Guarantee: ε = sensitivity/scale in the ℓ1 distance, with the exact law; at
    sensitivity 1 it is randomized response.

    Example:
        >>> m = Geometric(scale=2)
        >>> m.run([3, 4, 5]).dtype
        dtype('int64')
        >>> f"{m.curve(1).delta_at(0.25):.4f}"
        '0.1377'

    Reference: [GRS09]; N3.2.
    """

    scale: float | Fraction

    def __post_init__(self) -> None:
        values.drawable("scale", self.scale)

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("scale", self.scale)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the exact guarantee at an ℓ1 sensitivity (whole values: floored)."""
        return cover(self._exact, math.floor(distance(sensitivity)), Fraction(1))

    @property
    def error(self) -> Error:
        """Exact law of the noise."""
        return Error(((law.DiscreteLaplace(self._exact), Fraction(1)),))

    def run(self, value: Any, *, source: Source = SECURE) -> Any:
        """Return whole numbers with fresh noise on every coordinate."""
        return values.release(
            whole_only(value),
            Lattice(0),
            lambda size: discrete_laplace(self._exact, size, source=source),
            whole=True,
        )

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        wanted = checks.rational("epsilon", epsilon)
        return cls(at_least(max(1, math.floor(distance(sensitivity))) / wanted))
