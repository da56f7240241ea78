"""Floats on a public power-of-two grid, and back, with the rounding counted.

A value is released as an integer multiple of a step that depends on public parameters
only. Rounding moves it by at most half a step, so two values at distance d are at most
d + step apart on the grid: the sensitivity to charge.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hush import checks
from hush.errors import InvalidArgument

_LARGEST = 2.0**62


@final
@dataclass(frozen=True)
class Lattice:
    """The multiples of 2^exponent.

    Example:
        >>> Lattice(exponent=-2).floats(Lattice(exponent=-2).integers([0.3, 1.0]))
        array([0.25, 1.  ])
    """

    exponent: int

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        checks.whole("exponent", self.exponent, at_least=-1000, at_most=1000)

    @classmethod
    def under(cls, width: Any, *, bits: int = 30) -> "Lattice":
        """Return the grid 2^bits times finer than the power of two at most `width`.

        `width` is public: a noise scale, never a data value. Thirty bits leave room
        for values four billion times the scale and cost a billionth of it.

        Example:
            >>> Lattice.under(1.0).step
            Fraction(1, 1073741824)
        """
        exact = checks.rational("width", width)
        bits = checks.whole("bits", bits, at_least=0, at_most=50)
        exponent = (
            math.frexp(float(exact))[1] - 1
        )  # 2^exponent <= width < 2^(exponent+1)
        return cls(exponent - bits)

    @property
    def step(self) -> Fraction:
        """Distance between neighboring points."""
        return Fraction(2) ** self.exponent

    def integers(self, values: ArrayLike) -> NDArray[np.int64]:
        """Return the nearest multiples, ties to even; refuse what has none.

        Guarantee: each lies within half a step of its value.
        """
        scaled = np.ldexp(np.asarray(values, dtype=np.float64), -self.exponent)
        if not np.all(np.abs(scaled) < _LARGEST):  # also refuses NaN
            raise InvalidArgument(
                "values must be finite and below 2^62 steps of the lattice. "
                "Clamp them to public bounds first, or use a coarser lattice."
            )
        return np.rint(scaled).astype(np.int64)

    def floats(self, multiples: ArrayLike) -> NDArray[np.float64]:
        """Return integer multiples as floats; beyond 2^53 the nearest float.

        Guarantee: a function of the released integers alone, so nothing is lost.
        """
        whole = np.asarray(multiples, dtype=np.int64)
        return np.ldexp(whole.astype(np.float64), self.exponent)

    def steps(self, distance: Any) -> int:
        """Return how many steps apart two values at most `distance` apart can land.

        Guarantee: an upper bound for every pair of values; exact multiples included.
        """
        exact = checks.rational("distance", distance, above=None)
        if exact < 0:
            raise InvalidArgument(f"distance must be at least 0; got {float(exact):g}.")
        return math.floor(exact / self.step) + (1 if exact else 0)
