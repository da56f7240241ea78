"""Subset selection: a random set of categories that tends to hold the own one."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
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
from hush.noise import Source, bernoulli, integers

_MEMBER, _ABSENT = 1, 0
_MASKS = np.uint8(1) << np.arange(8, dtype=np.uint8)


@final
@dataclass(frozen=True)
class SubsetSelection(Supporting):
    """Report a set of `subset` ≈ size/(e^ε + 1) categories, as ⌈size/8⌉ bytes of bits.

    Sets that hold the own category are e^ε times likelier than the others. Its error is
    the least of all oracles, for every ε and size, up to the rounding of `subset`.

    Guarantee: ε-local privacy; the ratio is attained.

    Example:
        >>> oracle = SubsetSelection(epsilon=1.0, size=100)
        >>> oracle.subset
        27
        >>> oracle.encode([5, 5, 7]).rows.shape
        (3, 13)

    Reference: [WHWNXYLQ16]; [YB18].
    """

    kind: ClassVar[int] = 3
    epsilon: float
    size: int

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        self._check()

    @cached_property
    def subset(self) -> int:
        """Number of categories in a report: the integer of least error."""
        near = int(self.size / (self.ratio + 1))
        return min(
            {max(1, near), min(near + 1, self.size - 1)},
            key=lambda each: (self._total(each), each),
        )

    def _chances(self, subset: int) -> tuple[Fraction, Fraction]:
        k, r = self.size, self.ratio
        hit = subset * r / (subset * r + k - subset)
        return hit, (hit * (subset - 1) + (1 - hit) * subset) / (k - 1)

    def _total(self, subset: int) -> Fraction:
        p, q = self._chances(subset)
        return (p * (1 - p) + (self.size - 1) * q * (1 - q)) / (p - q) ** 2

    @property
    def hit(self) -> Fraction:
        """ωR/(ωR + size - ω) with ω = subset."""
        return self._chances(self.subset)[0]

    @property
    def miss(self) -> Fraction:
        """Chance that a set holds some other category."""
        return self._chances(self.subset)[1]

    @property
    def width(self) -> int:
        """Bytes of one report: a bit for each category."""
        return -(-self.size // 8)

    def valid(self, rows: Bytes) -> NDArray[np.bool_]:
        """Return which rows are sets of the right size."""
        right = _sizes(rows) == self.subset
        return np.asarray(unused_are_zero(rows, self.size) & right)

    def _encode(self, values: Integers, source: Source) -> Bytes:
        own = bernoulli(self.hit, len(values), source=source)
        rows = self._other_sets(values, self.subset - own.astype(np.int64), source)
        set_bits(rows, values, own)
        return rows

    @cached_property
    def _start(self) -> Fraction:
        """Chance of the coins. Any gives the same law; this one needs fewest flips.

        A pick finds a member with chance p and an absentee with 1-p, so it pays to
        begin z standard deviations too low, where Φ(z) = 1-p.
        """
        p = self.subset / self.size
        low = NormalDist().inv_cdf(1 - p) * math.sqrt(self.subset * (1 - p))
        return Fraction(min(max(self.subset - round(low), 0), self.size), self.size)

    def _other_sets(self, values: Integers, wanted: Integers, source: Source) -> Bytes:
        """Return uniform sets of `wanted` others; the own bit is left to the caller.

        Independent coins give a set that is uniform among those of its size. Adding
        uniform absentees, or removing uniform members, keeps it so.
        """
        flat = packed_coins(self._start, len(values) * self.width, source)
        rows = flat.reshape(len(values), self.width)
        rows[:, -1] &= ~padding_mask(self.size)
        # The own category counts as absent while members go and as a member while
        # absentees come: so it is never picked.
        set_bits(rows, values, np.zeros(len(values), dtype=np.bool_))
        missing = wanted - _sizes(rows)
        many = np.flatnonzero(missing < 0)
        self._flip_bits(rows, many, -missing[many], _MEMBER, source)
        set_bits(rows, values, np.ones(len(values), dtype=np.bool_))
        few = np.flatnonzero(missing > 0)
        self._flip_bits(rows, few, missing[few], _ABSENT, source)
        return rows

    def _flip_bits(
        self, rows: Bytes, which: Integers, left: Integers, now: int, source: Source
    ) -> None:
        """Flip so many uniform bits, of those that are `now`, in each of some rows."""
        cells, begin = rows.reshape(-1), which * self.width
        while begin.size:
            pick = integers(self.size, begin.size, source=source)
            at = begin + (pick >> 3)
            mask = _MASKS[pick & 7]
            good = np.flatnonzero(((cells[at] & mask) != 0) == now)
            # One pick for each row, so no two of them share a byte.
            cells[at[good]] ^= mask[good]
            left[good] -= 1
            more = left > 0
            begin, left = begin[more], left[more]

    def _count(self, rows: Bytes) -> Integers:
        return columns(rows, self.size)


def _sizes(rows: Bytes) -> Integers:
    """Return how many bits of each row are set."""
    found: Integers = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
    return found
