"""Cells of floats: a public numbering of numbers, so that one of them can be chosen.

Floats have an order, and in it each has a rank: a whole number below 2^64. Floats that
differ after some binary digits only make one cell, and a number without more digits is
the first of its cell. Between 1 and 2 are as many cells as between 1024 and 2048, and
as between 2^-500 and 2^-499: nobody has to say where numbers are. Where bounds are
public, cells of equal width are added, so that a number near the middle of them is as
easy to find as one near zero.
"""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.mechanisms.queries import clamp

Integers = NDArray[np.int64]

LARGEST = float(np.finfo(np.float64).max)
_ZERO = 1 << 63  # the rank of zero
_DIGITS = 52  # of a float, after the first
FINE = 49  # digits of the finest cells: 2^61 of them, so that sums fit into 64 bits


@final
@dataclass(frozen=True)
class FloatCells:
    """Cells 0..size-1 of the floats from `lower` to `upper`, by their first digits.

    With `even`, 2^even cells more are laid out evenly over the range: the number of a
    cell is floor(2^even·share of the range) + floor(rank/2^(52-digits)), in order.

    Guarantee: the cell of a number depends on no other number.

    Example:
        >>> cells = FloatCells(-LARGEST, LARGEST)
        >>> places = cells.of([-2.0, 0.0, 30.0, 1e20])
        >>> [cells.value(int(place)) for place in places]
        [-2.0, 0.0, 30.0, 1e+20]
    """

    lower: float
    upper: float
    digits: int = FINE
    even: int = 0

    @property
    def _shared(self) -> int:
        return _DIGITS - self.digits  # 2^shared floats are one cell

    @property
    def size(self) -> int:
        """How many cells there are."""
        return int(self.of([self.upper])[0]) + 1

    def of(self, values: Any) -> Integers:
        """Return the cell of each number; NaN counts as `lower`, beyond as an end."""
        inside = clamp(np.asarray(values), self.lower, self.upper) + 0.0  # no -0.0
        shared = np.uint64(self._shared)
        start = _ranks(np.array([self.lower + 0.0])) >> shared
        places: Integers = ((_ranks(inside) >> shared) - start).astype(np.int64)
        width = self.upper - self.lower
        if self.even and width > 0:
            share = np.clip((inside - self.lower) / width, 0, 1)
            places += np.floor(np.ldexp(share, self.even)).astype(np.int64)
        return places

    def value(self, place: int) -> float:
        """Return the smallest number in this cell or a later one."""
        low = int(_ranks(np.array([self.lower + 0.0]))[0])
        high = int(_ranks(np.array([self.upper + 0.0]))[0])
        if not self.even:
            first = (low >> self._shared) + place << self._shared
            return _float(min(max(first, low), high))
        while low < high:  # the cell never falls with the rank
            middle = (low + high) // 2
            if int(self.of([_float(middle)])[0]) < place:
                low = middle + 1
            else:
                high = middle
        return _float(low)


def _ranks(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return 2^63 plus or minus the 63 bits after the sign: the order of floats.

    Not all bits inverted, as is usual for negative numbers: so that -2.0, as 2.0, is
    the first of its cell.
    """
    zero = np.uint64(_ZERO)
    size = np.abs(values).view(np.uint64)
    return np.where(values < 0, zero - size, zero + size)


def _float(rank: int) -> float:
    """Return the float of a rank."""
    size = np.array([abs(rank - _ZERO)], dtype=np.uint64).view(np.float64)
    return math.copysign(float(size[0]), rank - _ZERO) + 0.0
