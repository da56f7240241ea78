"""Discrete Gaussian noise: one table when narrow, blocks and a rejection when wide.

Write g(k) = exp(-k²/(2σ²)). The integers are split into blocks of 2^low: block m ≥ 0
holds m·2^low + u, its mirror holds ~(m·2^low + u). A block is chosen by its largest
weight, the place in it uniformly, and kept with the ratio of the two weights; less than
one draw in fifty is rejected. Narrow laws are blocks of one, with nothing to reject.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.noise.inversion import (
    WORD,
    Bracket,
    Floats,
    Integers,
    Ladder,
    Word,
    below,
    exp_bracket,
)
from hush.noise.laplace import LARGEST, SMALL, unzigzag
from hush.noise.source import SECURE, Size, Source, checked_source, filled_array

_REACH = 8.0  # P(|X| > 8σ) < 2^-48: what is left beyond the last float cut
_FLAG = 1 << 62


@final
class GaussianSampler:
    """Tables of one width: blocks by their largest weight."""

    def __init__(self, std: Fraction, word: Word = WORD, fine: int = 6) -> None:
        # Blocks are σ/2^fine to twice that wide. As a rule that makes at most 1024
        # cuts, and at most 1.3 % is rejected.
        self._low_bits = max(0, math.floor(std).bit_length() - fine)
        self._std = std
        self._sigma = float(std)
        self._word = word
        self._blocks = math.ceil(_REACH * std / 2**self._low_bits) + 2
        starts = self._block_starts(np.arange(2 * self._blocks, dtype=np.int64))
        weights = np.exp(-0.5 * (starts / self._sigma) ** 2)
        cuts = np.cumsum(weights)
        # The float total misses less than 2^-48 of the mass: inside ERROR.
        self._ladder = Ladder(
            cuts[:-1] / cuts[-1], self._cumulative_bracket, unzigzag, word
        )

    def _block_starts(self, index: Integers) -> Integers:
        """Return the magnitude of the heaviest member of the index-th block."""
        return ((index >> 1) << self._low_bits) + (index & 1)

    def _weight(self, index: int, digits: int) -> tuple[int, int]:
        """Return integers around 10^digits times the weight of a block."""
        start = int(self._block_starts(np.int64(index)))  # type: ignore[arg-type]
        low, high = exp_bracket(Fraction(start * start) / (2 * self._std**2), digits)
        unit = 10**digits
        return math.floor(low * unit), math.ceil(high * unit)

    @lru_cache(maxsize=8)  # noqa: B019 - samplers are few and live as long as the cache
    def _prefixes(self, digits: int) -> list[tuple[int, int]]:
        """Return brackets of the sums of the first 0, 1, 2, ... weights; total last.

        The sum goes on to where a weight is below 10^-digits. From there the weights
        of either sign fall by more than half per σ, so all that is left is at most
        2σ/2^low + 2 times the two first of them.
        """
        reach = math.sqrt(2 * digits * math.log(10)) + 2
        count = 2 * (math.ceil(reach * self._std / 2**self._low_bits) + 2)
        sums = [(0, 0)]
        for index in range(count):
            low, high = self._weight(index, digits)
            sums.append((sums[-1][0] + low, sums[-1][1] + high))
        left = 2 * self._weight(count, digits)[1]
        left *= 2 * math.ceil(self._std / 2**self._low_bits) + 2
        return [*sums, (sums[-1][0], sums[-1][1] + left)]

    def _cumulative_bracket(self, i: int, digits: int) -> Bracket:
        sums = self._prefixes(digits)
        low, high = sums[min(i, len(sums) - 2)]
        if i > len(sums) - 2:
            high = sums[-1][1]
        total_low, total_high = sums[-1]
        return Fraction(low, total_high), min(Fraction(high, total_low), Fraction(1))

    def _gap(self, block: Integers, rest: Integers) -> Floats:
        """Return (k² - start²)/(2σ²), the exponent of the acceptance test."""
        sign = block >> 63
        start = ((block ^ sign) << self._low_bits) - sign
        # u(2·start + u): no cancellation, and every factor is exact or rounded once.
        product = rest.astype(np.float64) * (2.0 * start + rest)
        return product * (0.5 / self._sigma**2)

    def _accepted(
        self, block: Integers, rest: Integers, tests: NDArray[np.uint64], source: Source
    ) -> NDArray[np.bool_]:
        def exact(place: int, digits: int) -> Bracket:
            h, u = int(block[place]), int(rest[place])
            start = (h << self._low_bits) if h >= 0 else (~h << self._low_bits) + 1
            return exp_bracket(u * (2 * start + u) / (2 * self._std**2), digits)

        return below(tests, np.exp(-self._gap(block, rest)), exact, source, self._word)

    def _join_digits(self, block: Integers, rest: Any) -> Integers:
        sign = block >> 63
        joined: Integers = (((block ^ sign) << self._low_bits) | rest) ^ sign
        return joined

    def draw_few(self, count: int, source: Source) -> Integers:
        """Return `count` draws by the same steps for every value."""
        if not self._low_bits:
            return self._ladder.draw(count, source)
        block = self._ladder.draw(count, source)
        rest = source.integers(count, self._low_bits)
        tests = source.words(count, np.uint64) >> np.uint64(64 - self._word.bits)
        kept = self._accepted(block, rest, tests, source)
        result = self._join_digits(block, rest)
        if not kept.all():  # a rejected draw starts afresh
            result[~kept] = self.draw_few(int(count - kept.sum()), source)
        return result

    @cached_property
    def _tables(self) -> tuple[Integers, NDArray[np.uint16]]:
        """Bucket to block, ready to join by exclusive or; bucket to sure acceptance."""
        decided, block = self._ladder.decided_buckets
        mask = (1 << self._low_bits) - 1
        joined = (block << self._low_bits) ^ ((block >> 63) & mask)
        farthest = self._gap(block, np.full_like(block, mask))
        sure = np.maximum(np.floor(2**16 * np.exp(-farthest)) - 1, 0)
        sure = np.minimum(np.where(decided, sure, 0), 2**16 - 1)
        return np.where(decided, joined, _FLAG), sure.astype(np.uint16)

    def draw_many(self, count: int, source: Source) -> Integers:
        """Return `count` draws by table, mending the few that the tables leave open."""
        table, sure = self._tables
        buckets = self._ladder.buckets(count, source)
        result = table.take(buckets)
        if not self._low_bits:
            open_ = np.flatnonzero(result == _FLAG)
            if open_.size:
                result[open_] = self._ladder.finish(buckets[open_], source)
            return result
        rest = source.integers(count, self._low_bits)
        tests = source.words(count, np.uint16)
        result ^= rest
        open_ = np.flatnonzero(tests >= sure.take(buckets))
        if open_.size:
            result[open_] = self._finish_open(
                buckets[open_], rest[open_], tests[open_], source
            )
        return result

    def _finish_open(
        self,
        buckets: NDArray[np.uint16],
        rest: Integers,
        tests: NDArray[np.uint16],
        source: Source,
    ) -> Integers:
        """Draw the open places out to full words, continuing the bits they have."""
        decided, values = self._ladder.decided_buckets
        block = values.take(buckets)
        undecided = np.flatnonzero(~decided.take(buckets))
        block[undecided] = self._ladder.finish(buckets[undecided], source)
        words = tests.astype(np.uint64) << np.uint64(48)
        words |= source.words(tests.size, np.uint64) >> np.uint64(16)
        words >>= np.uint64(64 - self._word.bits)
        kept = self._accepted(block, rest, words, source)
        joined = self._join_digits(block, rest)
        again = np.flatnonzero(~kept)
        joined[again] = (self.draw_few if again.size < 256 else self.draw_many)(
            again.size, source
        )
        return joined

    def of(self, count: int) -> Callable[[int, Source], Integers]:
        """Return the way to draw so many: the same steps for all, or by tables."""
        return self.draw_few if count <= SMALL else self.draw_many

    def draw(self, count: int, source: Source) -> Integers:
        """Return `count` independent draws."""
        return self.of(count)(count, source)


@lru_cache(maxsize=64)
def _sampler(std: Fraction) -> GaussianSampler:
    return GaussianSampler(std)


def discrete_gaussian(std: Any, size: Size = None, *, source: Source = SECURE) -> Any:
    """Return draws of P(k) ∝ exp(-k²/(2 std²)) on all integers.

    Guarantee: the law is exact for the rational `std` (a float is the binary rational
    it is); up to 4096 draws take the same steps whatever their values.

    Example:
        >>> discrete_gaussian(10, size=4).dtype
        dtype('int64')

    Reference: [CKS20] for the law; blocks as in this file's first lines.
    """
    exact = checks.rational("std", std)
    if exact > LARGEST:
        raise InvalidArgument(
            f"std must be at most 2^50; got {float(exact):g}. Use a coarser lattice."
        )
    sampler, known = _sampler(exact), checked_source(source)
    return filled_array(size, np.int64, lambda count: sampler.of(count)(count, known))
