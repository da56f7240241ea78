"""Hadamard response: a random place where the own row of a Hadamard matrix is +1."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.local.coins import Bytes, Integers
from hush.local.frequency.oracle import Floats, Oracle
from hush.local.randomizer import count_of, integers_of, rows_of, width_of
from hush.noise import Source, bernoulli, integers


@final
@dataclass(frozen=True)
class HadamardResponse(Oracle):
    """Report a place of the own block where the own row is +1, e^ε times likelier.

    The places are `blocks` blocks of `order`; block i belongs to order-1 categories,
    each with its own row of the Hadamard matrix. A report is ⌈log₂(blocks·order)/8⌉
    bytes, and decoding is one fast transform.

    Guarantee: ε-local privacy; the ratio is attained.

    Example:
        >>> oracle = HadamardResponse(epsilon=1.0, size=1000)
        >>> oracle.blocks, oracle.order, oracle.width
        (1, 1024, 2)
        >>> oracle.estimate(oracle.encode([3] * 100)).value.shape
        (1000,)

    Reference: [ASZ19].
    """

    kind: ClassVar[int] = 4
    epsilon: float
    size: int

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        self._check()

    @cached_property
    def _layout(self) -> tuple[int, int]:
        """(blocks, order) of least total error, each a power of two."""
        shapes = []
        for power in range((self.size - 1).bit_length() + 1):
            blocks = 1 << power
            order = 1 << max(1, (-(-self.size // blocks)).bit_length())
            shapes.append((blocks, order))
        return min(shapes, key=lambda shape: (self._total(*shape), shape[0]))

    def _total(self, blocks: int, order: int) -> Fraction:
        """Sum of squared errors of one report at equal shares."""
        half, r = order // 2, self.ratio
        weight = half * r + blocks * order - half
        # Σ over categories of the chance of their block, (order + half(R-1)F)/weight.
        full, rest = divmod(self.size, order - 1)
        squares = Fraction(full * (order - 1) ** 2 + rest**2, self.size)
        chances = (self.size * order + half * (r - 1) * squares) / weight
        return (weight / (half * (r - 1))) ** 2 * chances - 1

    @property
    def unit_error(self) -> Fraction:
        """Expected sum of squared errors of one report at equal shares."""
        return self._total(*self._layout)

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return self._layout[0]

    @property
    def order(self) -> int:
        """Places of a block."""
        return self._layout[1]

    @cached_property
    def _weight(self) -> Fraction:
        """Z: R for each likely place, 1 for every other."""
        half = self.order // 2
        return half * self.ratio + self.blocks * self.order - half

    @property
    def leverage(self) -> float:
        """How far one report, honest or forged, can move people × a share."""
        return 2 * self._scale

    @property
    def _scale(self) -> float:
        return float(self._weight / (self.order // 2 * (self.ratio - 1)))

    @property
    def width(self) -> int:
        """Bytes of one report: a place."""
        return width_of(self.blocks * self.order)

    def valid(self, rows: Bytes) -> NDArray[np.bool_]:
        """Return which rows name a place."""
        return integers_of(rows) < np.uint64(self.blocks * self.order)

    def _encode(self, values: Integers, source: Source) -> Bytes:
        # Row 0 is constant and tells nothing, so rows begin at 1.
        block, row = np.divmod(values, self.order - 1)
        row += 1
        truthful = self.order // 2 * (self.ratio - 1) / self._weight
        place = integers(self.order, len(values), source=source)
        odd = (np.bitwise_count(place & row) & 1).astype(np.int64)
        place ^= odd * (row & -row)  # flip a digit of the row: now the sign is +1
        place += block * self.order
        blind = np.flatnonzero(~bernoulli(truthful, len(values), source=source))
        everywhere = self.blocks * self.order
        place[blind] = integers(everywhere, blind.size, source=source)
        return rows_of(place, self.width)

    def _zero(self) -> Integers:
        super()._zero()  # refuses too many categories
        return np.zeros(self.blocks * self.order, dtype=np.int64)

    def _count(self, rows: Bytes) -> Integers:
        places = integers_of(rows).astype(np.int64)
        return np.bincount(places, minlength=self.blocks * self.order)

    def _decode(self, totals: Integers, people: int) -> Floats:
        signs = transform(totals.reshape(self.blocks, self.order))
        shares = signs[:, 1:].ravel()[: self.size].astype(np.float64)
        return shares * (self._scale / people)

    def variance(self, people: int, frequencies: Any = None) -> Floats:
        """Return (A²·P(report in the own block) - f²) / people, A = 1/gap."""
        n, f = count_of(people), self._shares(frequencies)
        per = self.order - 1
        filled = np.zeros(self.blocks * per)
        filled[: self.size] = f
        held = np.repeat(filled.reshape(self.blocks, per).sum(axis=1), per)
        half = self.order // 2
        chance = (
            self.order + half * float(self.ratio - 1) * held[: self.size]
        ) / float(self._weight)
        # A person's share of the mean is fixed: its square is not variance. Others'
        # means are 0, so the sum over people is f·1.
        return np.maximum(self._scale**2 * chance - f, 0.0) / n


def transform(rows: Integers) -> Integers:
    """Return each row times the Hadamard matrix, in whole numbers.

    Example:
        >>> transform(np.array([[3, 1]])).tolist()
        [[4, 2]]
    """
    count, order = rows.shape
    result, span = rows.astype(np.int64), 1
    while span < order:
        pairs = result.reshape(count, order // (2 * span), 2, span)
        low, high = pairs[:, :, 0], pairs[:, :, 1]
        result = np.stack([low + high, low - high], axis=2).reshape(count, order)
        span *= 2
    return result
