"""Local hashing: a public random hash of the category, told by randomized response."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.local.coins import Bytes, Integers
from hush.local.frequency.generalized_randomized_response import respond
from hush.local.frequency.oracle import Supporting
from hush.local.randomizer import integers_of, rows_of, width_of
from hush.noise import Source, integers

# Fields for the hash x -> a·x + b, and the words in which a sum of two members fits.
_FIELDS: tuple[tuple[int, Any], ...] = (
    (32749, np.uint16),
    (2**31 - 1, np.uint32),
    (2**61 - 1, np.uint64),
)
_REPORTS = 1 << 15  # reports counted together: their words stay in the cache


@final
@dataclass(frozen=True)
class LocalHashing(Supporting):
    """Hash the category to `buckets` ≈ e^ε + 1, and report the bucket noisily.

    Each person draws the line a·x + b over a prime field; intervals of the field are
    the buckets. A report is (a, b, bucket): 5 bytes up to 32 749 categories, 9 up to
    2³¹, 17 up to 2⁶¹ (for up to 256 buckets). Categories are counted without listing
    them all by `support`.

    Guarantee: ε-local privacy whatever the hash; the ratio is attained. Two categories
    hash independently, exactly, so shares are unbiased and their variance is exact.

    Example:
        >>> oracle = LocalHashing(epsilon=1.0, size=1000)
        >>> oracle.buckets, oracle.width
        (4, 5)
        >>> oracle.estimate(oracle.encode([3] * 100)).value.shape
        (1000,)

    Reference: [WBLJ17]; [CW79].
    """

    kind: ClassVar[int] = 5
    epsilon: float
    size: int

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        self._check()
        checks.whole("size", self.size, at_most=_FIELDS[-1][0])

    @cached_property
    def _field(self) -> tuple[int, Any]:
        return next(each for each in _FIELDS if each[0] >= self.size)

    @cached_property
    def buckets(self) -> int:
        """The integer of least variance, and never more than there are categories."""
        near = int(self.ratio) + 1

        def error(g: int) -> Fraction:  # variance at share 0, with miss = 1/g
            return (self.ratio + g - 1) ** 2 / (g - 1)

        best = min((near, near + 1), key=lambda g: (error(g), g))
        return max(2, min(best, self.size, 2**15))

    @cached_property
    def _edges(self) -> NDArray[np.uint64]:
        """Where each bucket begins, and the end of the last."""
        g, prime = self.buckets, self._field[0]
        return np.array([j * prime // g for j in range(g + 1)], dtype=np.uint64)

    @property
    def hit(self) -> Fraction:
        """R/(R + buckets - 1)."""
        return self.ratio / (self.ratio + self.buckets - 1)

    @cached_property
    def miss(self) -> Fraction:
        """Chance that an independent hash falls into the reported bucket."""
        # Buckets are not quite equal: Σ w_j (blind + (hit - blind) w_j).
        edges = [int(each) for each in self._edges]
        widths = [b - a for a, b in pairwise(edges)]
        same = Fraction(sum(w * w for w in widths), self._field[0] ** 2)
        blind = 1 / (self.ratio + self.buckets - 1)
        return blind + (self.hit - blind) * same

    @cached_property
    def _parts(self) -> tuple[int, int]:
        """Bytes of a coefficient and of a bucket."""
        return np.dtype(self._field[1]).itemsize, width_of(self.buckets)

    @property
    def width(self) -> int:
        """Bytes of one report: two coefficients and a bucket."""
        return 2 * self._parts[0] + self._parts[1]

    def _read(self, rows: Bytes) -> tuple[NDArray[np.uint64], ...]:
        one, two = self._parts[0], 2 * self._parts[0]
        return (
            integers_of(rows[:, :one]),
            integers_of(rows[:, one:two]),
            integers_of(rows[:, two:]),
        )

    def valid(self, rows: Bytes) -> NDArray[np.bool_]:
        """Return which rows hold members of the field and a bucket."""
        a, b, bucket = self._read(rows)
        prime = np.uint64(self._field[0])
        return (a < prime) & (b < prime) & (bucket < np.uint64(self.buckets))

    def _encode(self, values: Integers, source: Source) -> Bytes:
        prime = self._field[0]
        a = integers(prime, len(values), source=source)
        b = integers(prime, len(values), source=source)
        hashed = line(
            a.view(np.uint64), values.view(np.uint64), b.view(np.uint64), prime
        )
        bucket = np.searchsorted(self._edges, hashed, side="right") - 1
        told = respond(bucket.astype(np.int64), self.ratio, self.buckets, source)
        size, last = self._parts
        return np.hstack([rows_of(a, size), rows_of(b, size), rows_of(told, last)])

    def _first_points(
        self, rows: Bytes
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
        """Return (a, b - bucket's begin mod prime, bucket's width): tests are t < w."""
        a, b, bucket = self._read(rows)
        begin = self._edges[bucket]
        prime = np.uint64(self._field[0])
        return (
            a,
            (b + prime - begin) % prime,
            self._edges[bucket + np.uint64(1)] - begin,
        )

    def _count(self, rows: Bytes) -> Integers:
        total = np.zeros(self.size, dtype=np.int64)
        for start in range(0, len(rows), _REPORTS):
            total += self._walk(rows[start : start + _REPORTS])
        return total

    def _walk(self, rows: Bytes) -> Integers:
        """Count supporters of every category."""
        a, t, width = self._first_points(rows)
        return self._steps(a, t, width, self.size)

    def _steps(self, a: Any, t: Any, width: Any, count: int) -> Integers:
        """Count supporters of so many values in a row: the line moves on by a."""
        prime, word = self._field[0], self._field[1]
        a, t, width = (each.astype(word) for each in (a, t, width))
        total = np.empty(count, dtype=np.int64)
        spare, inside = np.empty_like(t), np.empty(t.size, dtype=np.bool_)
        modulus = word(prime)
        for value in range(count):
            np.less(t, width, out=inside)
            total[value] = np.count_nonzero(inside)
            np.add(t, a, out=t)
            # Words wrap around: t - prime is the smaller one just if t >= prime.
            np.subtract(t, modulus, out=spare)
            np.minimum(t, spare, out=t)
        return total

    def support(self, rows: Bytes, candidates: Any) -> Integers:
        """Return how many valid reports support each of some categories.

        Example:
            >>> oracle = LocalHashing(epsilon=3.0, size=2**40)
            >>> reports = oracle.encode([5] * 1000)
            >>> five, six = oracle.support(reports.rows, [5, 6])
            >>> bool(five > six)
            True
        """
        wanted = np.asarray(candidates, dtype=np.int64)
        if np.any((wanted < 0) | (wanted >= self.size)):
            raise InvalidArgument(f"candidates must lie in 0..{self.size - 1}.")
        kept = rows[self.valid(rows)]
        total = np.zeros(wanted.size, dtype=np.int64)
        for start in range(0, len(kept), _REPORTS):
            a, t, width = self._first_points(kept[start : start + _REPORTS])
            for place, value in enumerate(wanted.view(np.uint64)):
                hashed = line(a, value, t, self._field[0])
                total[place] += np.count_nonzero(hashed < width)
        return total

    def support_of_runs(self, rows: Bytes, first: Any, length: int) -> Integers:
        """Return how many valid reports support first, first+1, … : a row for each.

        Example:
            >>> oracle = LocalHashing(epsilon=3.0, size=2**40)
            >>> reports = oracle.encode([5] * 1000)
            >>> runs = oracle.support_of_runs(reports.rows, [0, 64], 8)
            >>> runs.shape, int(runs.argmax())
            ((2, 8), 5)
        """
        wanted = np.asarray(first, dtype=np.int64)
        length = checks.whole("length", length, at_least=1, at_most=self.size)
        if np.any((wanted < 0) | (wanted > self.size - length)):
            raise InvalidArgument(
                f"first must lie in 0..{self.size - length}, for runs of {length}."
            )
        kept = rows[self.valid(rows)]
        total = np.zeros((wanted.size, length), dtype=np.int64)
        for start in range(0, len(kept), _REPORTS):
            a, t, width = self._first_points(kept[start : start + _REPORTS])
            for place, value in enumerate(wanted.view(np.uint64)):
                begin = line(a, value, t, self._field[0])
                total[place] += self._steps(a, begin, width, length)
        return total


def line(a: Any, x: Any, b: Any, prime: int) -> NDArray[np.uint64]:
    """Return a·x + b modulo a prime of this file, in 64-bit words.

    Example:
        >>> m = 2**61 - 1
        >>> big = np.array([m - 1], dtype=np.uint64)
        >>> int(line(big, big, big, m)[0]) == ((m - 1) * (m - 1) + m - 1) % m
        True
    """
    modulus = np.uint64(prime)
    if prime < 2**32:
        found: NDArray[np.uint64] = (a * x + b) % modulus
        return found
    # Halves of 31 bits; 2^61 = 1, so 2^62 = 2. Every sum stays below 2^64.
    low, mid = np.uint64(2**31 - 1), np.uint64(2**30 - 1)
    s31, s30 = np.uint64(31), np.uint64(30)
    ah, al, xh, xl = a >> s31, a & low, x >> s31, x & low
    cross = ah * xl + al * xh
    total = np.uint64(2) * ah * xh + (cross >> s30) + ((cross & mid) << s31)
    found = ((total % modulus) + (al * xl) % modulus + b) % modulus
    return found
