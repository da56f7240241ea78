"""Inversion: exact draws that compare a uniform number with certified cut points.

A ladder is an increasing sequence of real cuts C_1 <= C_2 <= ... in [0, 1], perhaps
infinite. Cuts are held as 64-bit brackets; a word inside a bracket is a tie and goes to
exact arithmetic. In bulk, 16 bits pick a bucket of a table, and only the words of
buckets that contain a cut are drawn out to 64 bits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidArgument
from hush.law import Finite
from hush.noise.source import SECURE, Size, Source, filled_array

# -- Draws from a table of dyadic probabilities: one word, one look-up, exact ----------


@lru_cache(maxsize=64)
def _cumulative_words(law: Finite) -> NDArray[np.uint64]:
    total, cuts = Fraction(0), []
    for p in law.probabilities[:-1]:
        total += p
        cut = total * 2**64
        if cut.denominator != 1:
            raise InvalidArgument("probabilities must be multiples of 2^-64.")
        cuts.append(int(cut))
    # Outcomes after the whole mass is used up are never reached.
    return np.array([min(cut, 2**64 - 1) for cut in cuts], dtype=np.uint64)


def table(law: Finite, size: Size = None, *, source: Source = SECURE) -> Any:
    """Return draws of a finite law whose probabilities are multiples of 2^-64.

    Guarantee: the law is exact.

    Example:
        >>> coin = Finite((Fraction(1, 2), Fraction(1, 2)), start=7)
        >>> int(table(coin, size=9).max()) <= 8
        True
    """
    cuts = _cumulative_words(law)

    def fill(count: int) -> NDArray[np.int64]:
        words = source.words(count, np.uint64)
        return np.searchsorted(cuts, words, side="right") + law.start

    return filled_array(size, np.int64, fill)


# -- A uniform real number compared exactly with a real number known by brackets -------
#
# A 64-bit word decides almost every comparison; on a tie the uniform number is given
# more bits and the other number more digits, until they differ. This is what makes
# every sampler of the package exact instead of close.

Bracket = tuple[Fraction, Fraction]


def exp_bracket(x: Fraction, digits: int) -> Bracket:
    """Return rationals around e^(-x), x >= 0, about `digits` decimals apart.

    Guarantee: the first is at most e^(-x) and the second at least. `Decimal.exp` is
    correctly rounded, so one unit in the last place covers it.
    """
    if x == 0:
        return Fraction(1), Fraction(1)
    context = Context(prec=digits, Emin=-(10**17), Emax=10**17)
    context.rounding = ROUND_CEILING
    largest = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    context.rounding = ROUND_FLOOR
    smallest = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    # Not `-largest`: the operator would round to the precision of another context.
    low = context.next_minus(context.exp(largest.copy_negate()))
    high = context.next_plus(context.exp(smallest.copy_negate()))
    return Fraction(low), Fraction(min(high, Decimal(1)))


class Uniform:
    """A uniform real in [0, 1) whose first bits are known; more come on demand."""

    def __init__(self, prefix: int, bits: int, source: Source) -> None:
        self._prefix = prefix
        self._bits = bits
        self._source = source

    def below(self, bracket: Callable[[int], Bracket]) -> bool:
        """Return whether it lies below the number that `bracket(digits)` encloses."""
        digits = 40
        while True:
            low, high = bracket(digits)
            if self._prefix + 1 <= low * 2**self._bits:
                return True
            if self._prefix >= high * 2**self._bits:
                return False
            self._prefix = (self._prefix << 64) | self._source.bits(64)
            self._bits += 64
            while 10**digits < 2**self._bits:
                digits *= 2


# -- Inversion on certified cut points: the outcome is how many cuts lie below U -------

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Cuts come from a thousand float operations at most, each within 2^-53 relative of a
# number below one, with margin: the width only decides how often ties occur.
ERROR = 2.0**-40


@final
@dataclass(frozen=True)
class Word:
    """How many bits decide a draw, and how many of them pick the bucket.

    Anything but the default serves the tests: short words make ties frequent.
    """

    bits: int = 64
    bucket: int = 16


def brackets(values: Floats, error: float | Floats, bits: int) -> tuple[Words, Words]:
    """Return words around real `values` in [0, 1] that are known to within `error`."""
    full = 2.0**bits
    largest = min(full - 1, 2.0**64 - 2048)  # the last float whose word exists
    low = np.clip((values - error) * full, 0, largest).astype(np.uint64)
    scaled = (values + error) * full
    high = np.clip(scaled, 0, largest).astype(np.uint64)
    high[scaled >= largest] = (1 << bits) - 1
    return low, high


@final
class Ladder:
    """A law on the integers by its cut points.

    `cuts` are float values of C_1..C_m, good to `ERROR`; `exact(i, digits)` encloses
    C_i for every i >= 1 (1 beyond the end of a finite ladder); `decode` turns a count
    of cuts into the integer it stands for.

    Guarantee: `decode(i)` is drawn with probability exactly C_(i+1) - C_i.
    """

    def __init__(
        self,
        cuts: Floats,
        exact: Callable[[int, int], Bracket],
        decode: Callable[[Integers], Integers],
        word: Word,
    ) -> None:
        # The last cut is one: near it everything is a tie, whatever comes after the
        # float cuts. Float noise may disorder neighbors: widening a bracket is sound.
        low, high = brackets(np.append(cuts, 1.0), ERROR, word.bits)
        self._low = np.minimum.accumulate(low[::-1])[::-1].copy()
        self._high = np.maximum.accumulate(high)
        self._exact = exact
        self._decode = decode
        self._word = word
        self.values = decode(np.arange(cuts.size + 1, dtype=np.int64))

    def locate(self, words: Words, source: Source) -> Integers:
        """Return the outcome of each full word."""
        # The last bracket reaches the top word.
        return self._outcome(words, self._high.searchsorted(words), source)

    def _outcome(self, words: Words, sure: Integers, source: Source) -> Integers:
        """Return the outcome of words that lie above `sure` brackets."""
        tie = self._low.take(sure) <= words
        outcome = self.values.take(sure)
        if tie.any():
            for place in np.flatnonzero(tie):
                count = self._count_exact(int(words[place]), int(sure[place]), source)
                outcome[place] = self._decode(np.array([count]))[0]
        return outcome

    def _count_exact(self, word: int, count: int, source: Source) -> int:
        uniform = Uniform(word, self._word.bits, source)
        while not uniform.below(partial(self._exact, count + 1)):
            count += 1
        return count

    def draw(self, count: int, source: Source) -> Integers:
        """Return `count` outcomes, one full word each."""
        words = source.words(count, np.uint64)
        return self.locate(words >> np.uint64(64 - self._word.bits), source)

    def buckets(self, count: int, source: Source) -> NDArray[np.uint16]:
        """Return `count` table positions; look them up in `table`."""
        words = source.words(count, np.uint16)
        spare = 16 - self._word.bucket
        return words >> np.uint16(spare) if spare else words

    @cached_property
    def _cuts_below(self) -> tuple[Integers, Integers]:
        """How many cuts surely lie below a bucket, and below or inside of it."""
        spread = np.uint64(self._word.bits - self._word.bucket)
        first = np.arange(1 << self._word.bucket, dtype=np.uint64) << spread
        last = first | ((np.uint64(1) << spread) - np.uint64(1))
        sure = np.searchsorted(self._high, first, side="left")
        return sure, np.searchsorted(self._low, last, side="right")

    @cached_property
    def decided_buckets(self) -> tuple[NDArray[np.bool_], Integers]:
        """Which buckets hold no cut, and the outcome of those."""
        sure, possible = self._cuts_below
        return sure == possible, self.values[np.minimum(sure, self.values.size - 1)]

    def finish(self, buckets: NDArray[np.unsignedinteger], source: Source) -> Integers:
        """Return the outcomes of bucket positions, drawn out to full words."""
        rest = self._word.bits - self._word.bucket
        words = source.words(buckets.size, np.uint64) >> np.uint64(64 - rest)
        words |= buckets.astype(np.uint64) << np.uint64(rest)
        sure = self._cuts_below[0].take(buckets)
        sure += words > self._high.take(sure)  # most buckets hold a single cut
        more = np.flatnonzero(words > self._high.take(sure))
        sure[more] = self._high.searchsorted(words[more])
        return self._outcome(words, sure, source)


WORD = Word()


def below(
    words: Words,
    chance: Floats,
    exact: Callable[[int, int], Bracket],
    source: Source,
    word: Word = WORD,
) -> NDArray[np.bool_]:
    """Return whether each uniform number, known by its first word, is below `chance`.

    `chance` is good to `ERROR`; `exact(place, digits)` encloses the true value.
    """
    # The uniform number lies in [u, u + 2^-bits); turning the word into a float errs
    # by 2^-53 at most, which ERROR absorbs.
    u = words * 2.0**-word.bits
    result = u <= chance - (ERROR + 2.0**-word.bits)
    tie = u < chance + ERROR
    tie &= ~result
    for place in np.flatnonzero(tie):
        uniform = Uniform(int(words[place]), word.bits, source)
        result[place] = uniform.below(partial(exact, int(place)))
    return result
