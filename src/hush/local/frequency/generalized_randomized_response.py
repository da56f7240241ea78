"""Randomized response: the own category, or now and then any category at all."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.local.coins import Bytes, Integers
from hush.local.frequency.oracle import Supporting
from hush.local.randomizer import integers_of, rows_of, width_of
from hush.noise import Source, bernoulli, integers


@final
@dataclass(frozen=True)
class RandomizedResponse(Supporting):
    """Report the truth with odds e^ε against each other category.

    The best oracle for few categories (size < 3e^ε + 2) and the smallest report:
    ⌈log₂ size / 8⌉ bytes. With two categories this is Warner's coin.

    Guarantee: ε-local privacy; both bounds of the ratio are attained.

    Example:
        >>> from hush.noise import Seeded
        >>> oracle = RandomizedResponse(epsilon=1.0, size=2)
        >>> votes = [1] * 700 + [0] * 300
        >>> found = oracle.estimate(oracle.encode(votes, source=Seeded(1)))
        >>> low, high = found.interval(0.99)
        >>> bool(low[1] < 0.7 < high[1])
        True

    Reference: [W65]; [KBR16]; N3.1, N3.2ex, N4.2def.
    """

    kind: ClassVar[int] = 1
    epsilon: float
    size: int = 2

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        self._check()

    @property
    def hit(self) -> Fraction:
        """R/(R + size - 1) with R = e^ε."""
        return self.ratio / (self.ratio + self.size - 1)

    @property
    def miss(self) -> Fraction:
        """1/(R + size - 1)."""
        return 1 / (self.ratio + self.size - 1)

    @property
    def width(self) -> int:
        """Bytes of one report: a category."""
        return width_of(self.size)

    def valid(self, rows: Bytes) -> NDArray[np.bool_]:
        """Return which rows name a category."""
        return integers_of(rows) < np.uint64(self.size)

    def _encode(self, values: Integers, source: Source) -> Bytes:
        return rows_of(respond(values, self.ratio, self.size, source), self.width)

    def _count(self, rows: Bytes) -> Integers:
        named = integers_of(rows).astype(np.int64)
        return np.bincount(named, minlength=self.size)


def respond(values: Integers, ratio: Fraction, size: int, source: Source) -> Integers:
    """Return each value, or a uniform category with chance size/(ratio + size - 1).

    Guarantee: the odds of the truth against any other category are exactly `ratio`.
    """
    blind = bernoulli(size / (ratio + size - 1), len(values), source=source)
    # Drawn for everybody, used or not: faster, and the same steps for all.
    anything = integers(size, len(values), source=source)
    return np.where(blind, anything, values)
