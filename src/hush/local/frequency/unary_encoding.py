"""Unary encoding: one bit per category, each flipped by its own coin."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.local.coins import (
    Bytes,
    Integers,
    columns,
    packed_coins,
    padding_mask,
    set_bits,
    unused_are_zero,
)
from hush.local.frequency.oracle import Supporting
from hush.local.randomizer import LEAST, odds
from hush.noise import Source, bernoulli


@final
@dataclass(frozen=True)
class UnaryEncoding(Supporting):
    """Keep the 1 of the own category with chance `truth`; invent others rarely.

    `truth` 1/2 is the optimized encoding: zeros, of which there are many, are then
    flipped with chance 1/(e^ε + 1) only. `UnaryEncoding.symmetric` flips all alike.
    A report has ⌈size/8⌉ bytes.

    Guarantee: ε-local privacy: two values differ in two bits, and only the reports
    with one of the two set tell them apart, with ratio at most e^ε, attained.

    Example:
        >>> from hush.noise import Seeded
        >>> oracle = UnaryEncoding(epsilon=2.0, size=100)
        >>> values = np.arange(5000) % 100
        >>> reports = oracle.encode(values, source=Seeded(1))
        >>> reports.rows.shape
        (5000, 13)
        >>> oracle.estimate(reports).value.shape
        (100,)

    Reference: [EPK14] (symmetric); [WBLJ17] (optimized).
    """

    kind: ClassVar[int] = 2
    epsilon: float
    size: int
    truth: Any = Fraction(1, 2)

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        self._check()
        exact = checks.probability("truth", self.truth)
        if not 0 < exact < 1:
            raise InvalidArgument(
                f"truth must lie strictly between 0 and 1; got {self.truth!r}."
            )
        object.__setattr__(self, "truth", exact)

    @classmethod
    def symmetric(cls, epsilon: float, size: int) -> Self:
        """Return the encoding whose ones and zeros are flipped alike.

        Example:
            >>> oracle = UnaryEncoding.symmetric(epsilon=2.0, size=10)
            >>> round(float(oracle.hit + oracle.miss), 9)
            1.0
        """
        half = odds(max(checks.real("epsilon", epsilon) / 2, LEAST))
        return cls(epsilon, size, half / (half + 1))

    @property
    def hit(self) -> Fraction:
        """Chance that the own bit stays 1."""
        exact: Fraction = self.truth
        return exact

    @property
    def miss(self) -> Fraction:
        """Chance q of an invented 1: the odds of p against those of q are exactly R."""
        return self.hit / (self.hit + self.ratio * (1 - self.hit))

    @property
    def width(self) -> int:
        """Bytes of one report: a bit for each category."""
        return -(-self.size // 8)

    def valid(self, rows: Bytes) -> NDArray[np.bool_]:
        """Return which rows leave the unused bits of the last byte at 0."""
        return unused_are_zero(rows, self.size)

    def _encode(self, values: Integers, source: Source) -> Bytes:
        flat = packed_coins(self.miss, len(values) * self.width, source)
        rows = flat.reshape(len(values), self.width)
        rows[:, -1] &= ~padding_mask(self.size)
        set_bits(rows, values, bernoulli(self.hit, len(values), source=source))
        return rows

    def _count(self, rows: Bytes) -> Integers:
        return columns(rows, self.size)
