"""Discrete Gaussian noise as 32-bit codes, which a device turns into numbers.

As in `gaussian`, a block of 2^low integers is proposed by 18 bits, the bucket, and a
place u in it by the other 14; the place is kept with chance r(u), falling in u. Here
the buckets say so too: of the n that propose a block the b-th, b = 0, 1, ..., keeps u
with chance n·r(u) - b, cut to [0, 1], which is r(u) on average. It is sure for all but
a few places of a few buckets. Buckets that keep every place come first: most codes are
random words as they came, and one comparison finds those that need more work.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from hush.noise.gaussian import GaussianSampler
from hush.noise.inversion import Bracket, Word, below, exp_bracket
from hush.noise.laplace import unzigzag, zigzag
from hush.noise.source import SECURE, Source

Codes = NDArray[np.uint32]
Steps = NDArray[np.int32]
Integers = NDArray[np.int64]
Places = NDArray[np.intp]
BUCKET = 18
PLACE = 32 - BUCKET
_SPARE = 64  # less than one draw in a hundred is rejected
# Words are looked at while they are in the caches; and arrays below 128 kB come from
# memory at hand, where larger ones are mapped page by page.
_PART = 112 << 10
_LINE = 64  # bytes at which JAX takes an array without copying it


@final
class Coded:
    """Codes of one law: bucket b and place u stand for u places into block `table[b]`.

    Places have `low` bits, the upper ones of the 14; those of a negative block count
    downwards.

    Guarantee: decoded, the law is exactly discrete Gaussian; `std` is below 2^22.
    """

    def __init__(self, std: Fraction, test: int = 32) -> None:
        self._std = std
        self._test = Word(bits=test)
        fine = max(7, math.floor(std).bit_length() - PLACE)
        self._sampler = GaussianSampler(std, Word(bucket=BUCKET), fine)
        self.low = self._sampler._low_bits
        self._spare = np.uint32(PLACE - self.low)
        decided, block = self._sampler._ladder.decided_buckets
        kinds, kind = np.unique(block, return_inverse=True)
        count = np.bincount(kind[decided], minlength=kinds.size)[kind]
        rank = _ranks(np.where(decided, kind, kinds.size))
        count, rank = np.where(decided, [count, rank], [[1], [0]])
        size = 1 << self.low
        always = np.where(decided, self._sure_below(block, (rank + 1) / count), 0)
        never = np.where(decided, self._sure_below(block, rank / count) + 4, size)
        # Sure buckets come first, undecided ones last.
        order = np.argsort(np.where(always >= size, 0, np.where(decided, 1, 2)))
        self._open = int(np.sum(always >= size))
        self._first = np.uint32(self._open << PLACE)
        self.table, self._bucket_of = _code_tables(block[order], int(decided.sum()))
        # What follows is indexed by open buckets.
        opened = order[self._open :]
        self._bucket = opened.astype(np.uint32)
        self._decided = decided[opened]
        self._block = block[opened]
        self._count, self._rank = count[opened], rank[opened]
        starts = np.arange(self._open, order.size, dtype=np.int64) << PLACE
        self._always = starts + (always[opened] << int(self._spare))
        self._never = starts + (np.minimum(never[opened], size) << int(self._spare))

    def _sure_below(self, block: Integers, chance: NDArray[np.float64]) -> Integers:
        """Return u such that r <= chance from u + 4 on, and r >= chance below u.

        r(u) = exp(-u(2·start + u)/(2σ²)); floats err by less than one place.
        """
        start = self._sampler._join_digits(block, 0)
        start = np.where(start < 0, -start, start).astype(np.float64)
        with np.errstate(divide="ignore"):
            square = start**2 - 2 * float(self._std) ** 2 * np.log(chance)
        farthest = np.minimum(np.sqrt(square) - start, 2.0**self.low + 2)
        return np.maximum(np.floor(farthest).astype(np.int64) - 2, 0)

    def draw(self, codes: Codes, source: Source = SECURE) -> Codes | Steps:
        """Fill `codes` and return it; plain numbers if one of them has no code.

        That takes a draw beyond seven standard deviations: chance 1e-12. Draws that are
        rejected are replaced by the first of some spare ones that are not.
        """
        spare = np.empty(codes.size // _SPARE + 64, np.uint32)
        places, numbers, rejected = self._fill_words(codes, spare, source)
        split = int(np.searchsorted(rejected, codes.size))
        rejected, idle = rejected[:split], rejected[split:] - codes.size
        short = max(0, rejected.size - spare.size + idle.size)
        if short:
            rejected, more = rejected[:-short], rejected[-short:]
            places = np.concatenate([places, more])
            numbers = np.concatenate([numbers, self._sampler.draw_few(short, source)])
        found = self._encode(numbers)
        room: Codes | Steps = codes
        others: Codes | Steps = spare
        if np.any(found < 0):
            found, room, others = numbers, self.decode(codes), self.decode(spare)
        inside = places < codes.size
        others[places[~inside] - codes.size] = found[~inside]
        room[places[inside]] = found[inside]
        room[rejected] = np.delete(others, idle)[: rejected.size]
        return room

    def _fill_words(
        self, codes: Codes, spare: Codes, source: Source
    ) -> tuple[Places, Integers, Places]:
        """Fill both with random words; return places with their numbers, and rejects.

        Spare ones count on after the others. All other words are codes as they came.
        """
        places, words = [], []
        parts = [codes[i : i + _PART] for i in range(0, codes.size, _PART)]
        begin = 0
        for part in (*parts, spare):
            source.fill(part)
            found = _marked_places(part >= self._first)
            words.append(part.take(found))
            places.append(found + begin)
            begin += part.size
        place = np.concatenate(places)
        kept, numbers, rejected = self._finish_open(np.concatenate(words), source)
        return place.take(kept), numbers, place.take(rejected)

    def _finish_open(
        self, words: Codes, source: Source
    ) -> tuple[Places, Integers, Places]:
        """Return which words of open buckets became which numbers, and the rejects."""
        which = (words >> np.uint32(PLACE)).astype(np.int64) - self._open
        open_ = np.flatnonzero(words >= self._always.take(which))
        words, which = words.take(open_), which.take(open_)
        doubtful = words < self._never.take(which)
        tested = np.flatnonzero(doubtful)
        numbers, kept = self._accept(which.take(tested), words.take(tested), source)
        doubtful[tested] = kept
        return open_[tested[kept]], numbers[kept], open_[~doubtful]

    def _accept(
        self, which: Integers, words: Codes, source: Source
    ) -> tuple[Integers, NDArray[np.bool_]]:
        """Return numbers and whether they are kept, by a test of full precision."""
        rest = (words.astype(np.int64) & ((1 << PLACE) - 1)) >> int(self._spare)
        block = self._block.take(which)
        unknown = np.flatnonzero(~self._decided.take(which))
        block[unknown] = self._sampler._ladder.finish(
            self._bucket.take(which[unknown]), source
        )
        count, rank = self._count.take(which), self._rank.take(which)

        def exact(place: int, digits: int) -> Bracket:
            h, u = int(block[place]), int(rest[place])
            start = (h << self.low) if h >= 0 else (~h << self.low) + 1
            low, high = exp_bracket(u * (2 * start + u) / (2 * self._std**2), digits)
            n, b = int(count[place]), int(rank[place])
            return max(n * low - b, Fraction(0)), max(n * high - b, Fraction(0))

        # Blocks are σ/64 wide at most, so no block has more than 1672 buckets, and the
        # chance errs by less than 1672 · 2^-51 < ERROR.
        chance = count * np.exp(-self._sampler._gap(block, rest)) - rank
        tests = source.words(which.size, np.uint32) >> np.uint32(32 - self._test.bits)
        kept = below(tests.astype(np.uint64), chance, exact, source, self._test)
        return self._sampler._join_digits(block, rest), kept

    def _encode(self, numbers: Integers) -> Integers:
        """Return the codes of numbers; below zero where there is none."""
        sign = numbers >> 63
        natural = numbers ^ sign
        index = zigzag((natural >> self.low) ^ sign)
        bucket = self._bucket_of.take(index, mode="clip")
        place = (natural & ((1 << self.low) - 1)) << int(self._spare)
        return (bucket << PLACE) | place

    def decode(self, codes: Codes) -> Steps:
        """Return the numbers that codes stand for."""
        place = (codes & np.uint32((1 << PLACE) - 1)) >> self._spare
        block = self.table.take(codes >> np.uint32(PLACE)).astype(np.int32)
        sign = block >> 31
        return (((block ^ sign) << self.low) | place.astype(np.int32)) ^ sign


def _code_tables(block: Integers, decided: int) -> tuple[NDArray[np.int16], Integers]:
    """Return the block of each bucket, and the bucket of each block, by `zigzag`.

    Buckets from `decided` on propose no block of their own. The blocks of the tail, for
    which no bucket is left, take their codes, the nearest first.
    """
    known = np.unique(zigzag(block[:decided]))
    others = np.setdiff1d(np.arange(block.size - decided + known.size), known)
    table = block.copy()
    table[decided:] = unzigzag(others[: block.size - decided])
    bucket_of = np.full(int(zigzag(table).max()) + 2, -1)
    bucket_of[zigzag(table)] = np.arange(block.size)
    return table.astype(np.int16), bucket_of


def _marked_places(marks: NDArray[np.bool_]) -> Places:
    """Return the places of the few marks: as `flatnonzero`, by bytes of eight."""
    packed = np.packbits(marks)
    some = np.flatnonzero(packed != 0)
    bits = np.flatnonzero(np.unpackbits(packed.take(some)).view(np.bool_))
    return (some.take(bits >> 3) << 3) | (bits & 7)


def aligned_buffer(count: int) -> Codes:
    """Return room for codes that begins where JAX need not copy them."""
    found = np.empty(count + _LINE // 4, np.uint32)
    skipped = (-found.ctypes.data % _LINE) // 4
    return found[skipped : skipped + count]


def _ranks(kinds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many earlier entries are equal to each entry."""
    order = np.argsort(kinds, kind="stable")
    ordered = kinds[order]
    found = np.empty(kinds.size, np.int64)
    found[order] = np.arange(kinds.size) - np.searchsorted(ordered, ordered)
    return found


@lru_cache(maxsize=16)
def codes_of(std: Fraction) -> Coded:
    """Return the codes of a law, made once."""
    return Coded(std)
