"""Discrete Gaussian noise as 32-bit codes, which a device turns into numbers.

As in `gaussian`, a block of 2^low integers is proposed by 16 bits, the bucket, and a
place u in it by others; the place is kept with chance r(u), falling in u. Here the
buckets say so too: of the n that propose a block the b-th, b = 0, 1, ..., keeps u with
chance n·r(u) - b, cut to [0, 1], which is r(u) on average. It is sure for all but a few
places of a few buckets. Buckets that keep every place come first: most codes are random
words as they came, and one comparison finds those that need more work.
"""

from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from hush.noise.bernoulli import below
from hush.noise.exact import Bracket, exp_bracket
from hush.noise.gaussian import GaussianSampler
from hush.noise.ladder import Word
from hush.noise.source import SECURE, Source

Codes = NDArray[np.uint32]
Steps = NDArray[np.int32]
Integers = NDArray[np.int64]
_SIZE = 1 << 16
_FEW = 512  # so few are drawn faster one by one
# Arrays below 128 kB come from memory at hand; larger ones are mapped page by page.
_PART = 112 << 10
_STRETCH = 4 * _PART
_LINE = 64  # bytes at which JAX takes an array without copying it


@final
class Coded:
    """Codes of one law: `table`, `first` and `low` say what a code means.

    Guarantee: decoded, the law is exactly discrete Gaussian; `std` is at most 2^22.
    """

    def __init__(self, std: Fraction, test: int = 32) -> None:
        self._std = std
        self._test = Word(bits=test)
        self._sampler = GaussianSampler(std)
        self.low = self._sampler._low_bits
        decided, block = self._sampler._ladder.decided
        kinds, kind = np.unique(block, return_inverse=True)
        count = np.bincount(kind[decided], minlength=kinds.size)[kind]
        count = np.maximum(count, 1)
        rank = np.where(decided, _ranks(np.where(decided, kind, kinds.size)), 0)
        size = 1 << self.low
        always = np.where(decided, self._reach(block, (rank + 1) / count), 0)
        never = np.where(decided, self._reach(block, rank / count) + 4, size)
        sure = decided & (always >= size)
        opened = np.flatnonzero(~sure)
        self.table = block[np.concatenate([np.flatnonzero(sure), opened])]
        self.table = self.table.astype(np.int16)
        self.first = int(sure.sum())
        # What follows is indexed by open buckets.
        self._bucket = opened.astype(np.uint16)
        self._decided = decided[opened]
        self._block = block[opened]
        self._base = self._sampler._joined(self._block, 0)
        self._count = np.where(self._decided, count[opened], 1)
        self._rank = np.where(self._decided, rank[opened], 0)
        self._always = always[opened]
        self._never = never[opened]
        self._first_open = np.uint32(self.first << 16)

    def _reach(self, block: Integers, chance: NDArray[np.float64]) -> Integers:
        """Return u such that r <= chance from u + 4 on, and r >= chance below u.

        r(u) = exp(-u(2·start + u)/(2σ²)); floats err by less than one place.
        """
        start = self._sampler._joined(block, 0)
        start = np.where(start < 0, -start, start).astype(np.float64)
        with np.errstate(divide="ignore"):
            square = start**2 - 2 * float(self._std) ** 2 * np.log(chance)
        farthest = np.minimum(np.sqrt(square) - start, 2.0**self.low + 2)
        return np.maximum(np.floor(farthest).astype(np.int64) - 2, 0)

    @property
    def start(self) -> int:
        """The first code that is a number itself: -half."""
        return self.first << 16

    @property
    def half(self) -> int:
        """Numbers from -half to half - 1 have a code of their own."""
        return (_SIZE - self.first) << 15

    def draw(self, codes: Codes, source: Source = SECURE) -> Codes | Steps:
        """Fill `codes` and return it; plain numbers if one of them has no code.

        That takes a draw beyond 11 standard deviations: chance 1e-27.
        """
        count = codes.size
        for begin in range(0, count, _STRETCH):
            piece = codes[begin : begin + _STRETCH]
            places = self._filled(piece, source)
            values = self._finished(piece[places], source)
            if np.any((values < -self.half) | (values >= self.half)):
                stop = begin + piece.size
                found = np.empty(count, np.int32)
                found[:begin] = self.decoded(codes[:begin])
                found[begin:stop] = self._joined(piece, places, values)
                found[stop:] = self._sampler.draw(count - stop, source)
                return found
            piece[places] = values + (self.start + self.half)
        return codes

    def _filled(self, codes: Codes, source: Source) -> NDArray[np.intp]:
        """Fill `codes` with random words and return where buckets are open."""
        source.fill(codes)
        places = [
            begin + np.flatnonzero(codes[begin : begin + _PART] >= self._first_open)
            for begin in range(0, codes.size, _PART)
        ]
        return np.concatenate(places) if places else np.arange(0)

    def _finished(self, words: Codes, source: Source) -> Integers:
        """Return the numbers of words in open buckets: kept, or drawn afresh."""
        which = (words >> np.uint32(16)).astype(np.int64) - self.first
        rest = (words & np.uint32(0xFFFF)).astype(np.int64) >> (16 - self.low)
        found = self._base.take(which) ^ rest
        kept = rest < self._always.take(which)
        doubtful = np.flatnonzero(kept < (rest < self._never.take(which)))
        found[doubtful], kept[doubtful] = self._tested(
            which[doubtful], rest[doubtful], source
        )
        again = np.flatnonzero(~kept)
        if again.size:
            found[again] = self._afresh(again.size, source)
        return found

    def _tested(
        self, which: Integers, rest: Integers, source: Source
    ) -> tuple[Integers, NDArray[np.bool_]]:
        """Return numbers and whether they are kept, by a test of full precision."""
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

        # Blocks are σ/32 wide at most, so no block has more than 836 buckets, and the
        # chance errs by less than 836 · 2^-51 < ERROR.
        chance = count * np.exp(-self._sampler._gap(block, rest)) - rank
        tests = source.words(which.size, np.uint32) >> np.uint32(32 - self._test.bits)
        kept = below(tests.astype(np.uint64), chance, exact, source, self._test)
        return self._sampler._joined(block, rest), kept

    def _afresh(self, count: int, source: Source) -> Integers:
        if count < _FEW:
            return self._sampler.small(count, source)
        words = np.empty(count, np.uint32)
        places = self._filled(words, source)
        return self._joined(words, places, self._finished(words[places], source))

    def _joined(
        self, words: Codes, places: NDArray[np.intp], values: Integers
    ) -> Integers:
        found = self.decoded(words).astype(np.int64)
        found[places] = values
        return found

    def decoded(self, codes: Codes) -> Steps:
        """Return the numbers that codes stand for."""
        rest = (codes & np.uint32(0xFFFF)).astype(np.int32) >> (16 - self.low)
        block = self.table.take(codes >> np.uint32(16)).astype(np.int32)
        own = (codes.astype(np.int64) - (self.start + self.half)).astype(np.int32)
        return np.where(codes < self.start, (block << self.low) | rest, own)


def room(count: int) -> Codes:
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
def coded(std: Fraction) -> Coded:
    """Return the codes of a law, made once."""
    return Coded(std)
