"""Geometric and discrete Laplace noise, digit by digit.

Write r = e^(-1/scale). A geometric variable, P(j) ∝ r^j, has independent binary
digits, so j = 2^e·top + 2^low·middle + rest with three small independent tables; the
rest is uniform up to a rejection of at most one in a thousand. The discrete Laplace is
a geometric j and an independent sign: j with weight 1, ~j = -(j+1) with weight r.
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
from hush.noise.source import SECURE, Size, Source, checked_source, filled_array

LARGEST = 2**50  # noise stays far inside 64 bits, and floats hold the low digits
SMALL = 4096  # up to here every draw takes the same steps whatever its value
_FLAG_TOP, _FLAG_MIDDLE, _LEGAL = 1 << 62, 1 << 61, 1 << 58
_TAIL = 29.0  # e^-29 < 2^-40: what is left beyond the last float cut


def unzigzag(index: Integers) -> Integers:
    """Return 0, ~0, 1, ~1, 2, ... for 0, 1, 2, 3, 4, ..."""
    return (index >> 1) ^ -(index & 1)


def zigzag(value: Integers) -> Integers:
    """Undo `unzigzag`."""
    return (value << 1) ^ (value >> 63)


def identity(index: Integers) -> Integers:
    """Return the index itself: a one-sided ladder counts upwards."""
    return index


def _within_unit(low: Fraction, high: Fraction) -> Bracket:
    return max(low, Fraction(0)), min(high, Fraction(1))


def _one_sided(scale: Fraction, word: Word) -> Ladder:
    """Return P(h) = (1-R)R^h with R = e^(-1/scale): C_i = 1 - R^i."""
    steps = np.arange(1, math.ceil(_TAIL * scale) + 2)

    @lru_cache(maxsize=4096)
    def exact(i: int, digits: int) -> Bracket:
        low, high = exp_bracket(i / scale, digits)
        return _within_unit(1 - high, 1 - low)

    return Ladder(-np.expm1(-steps / float(scale)), exact, identity, word)


def _two_sided(scale: Fraction, sign: Fraction, word: Word) -> Ladder:
    """Return the signed top digit, in the order 0, ~0, 1, ~1, ...

    With R = e^(-1/scale) and r = e^(-sign): weights R^m and r·R^m, so
    C_2m = 1 - R^m and C_2m+1 = 1 - R^m (R + r)/(1 + r).
    """
    m = np.arange(math.ceil(_TAIL * scale) + 2, dtype=np.float64)
    upper, r = np.exp(-1 / float(scale)), math.exp(-float(sign))
    cuts = np.empty(2 * m.size)
    cuts[0::2] = -np.expm1(-m / float(scale))
    cuts[1::2] = 1 - np.exp(-m / float(scale)) * (upper + r) / (1 + r)

    @lru_cache(maxsize=4096)
    def exact(i: int, digits: int) -> Bracket:
        low, high = exp_bracket((i // 2) / scale, digits)
        if i % 2:
            r_low, r_high = exp_bracket(sign, digits)
            top_low, top_high = exp_bracket(1 / scale, digits)
            low *= (top_low + r_low) / (1 + r_high)
            high *= (top_high + r_high) / (1 + r_low)
        return _within_unit(1 - high, 1 - low)

    return Ladder(cuts[1:], exact, unzigzag, word)


def _digit(base: int, rate: Fraction, word: Word) -> Ladder:
    """Return P(d) ∝ e^(-d·rate) on 0..base-1: C_i = (1 - ρ^i)/(1 - ρ^base)."""
    steps = np.arange(1, base)

    @lru_cache(maxsize=4096)
    def exact(i: int, digits: int) -> Bracket:
        if i >= base:
            return Fraction(1), Fraction(1)
        low, high = exp_bracket(i * rate, digits)
        all_low, all_high = exp_bracket(base * rate, digits)
        return _within_unit((1 - high) / (1 - all_low), (1 - low) / (1 - all_high))

    cuts = np.expm1(-steps * float(rate)) / math.expm1(-base * float(rate))
    return Ladder(cuts, exact, identity, word)


@final
class GeometricSampler:
    """Tables of one scale: the signed or unsigned top digit, the middle, the rest."""

    def __init__(self, scale: Fraction, *, signed: bool, word: Word = WORD) -> None:
        # The top digit has a scale in [4, 8): at most 500 cuts among 65 536 buckets.
        exponent = max(0, (math.floor(scale)).bit_length() - 3)
        self._middle_bits = min(exponent, 8)
        self._low_bits = exponent - self._middle_bits
        self._exponent = exponent
        self._scale = scale
        self._word = word
        top_scale = scale / 2**exponent
        self._top = (
            _two_sided(top_scale, 1 / scale, word)
            if signed
            else _one_sided(top_scale, word)
        )
        rate = Fraction(2**self._low_bits) / scale
        self._middle = (
            _digit(2**self._middle_bits, rate, word) if self._middle_bits else None
        )
        # Below this every 16-bit acceptance test succeeds, whatever the low bits are.
        self._sure = max(0, math.floor(2**16 * math.exp(-float(rate))) - 1)

    def draw_few(self, count: int, source: Source) -> Integers:
        """Return `count` draws by the same steps for every value."""
        top = self._top.draw(count, source)
        middle = self._middle.draw(count, source) if self._middle else np.int64(0)
        if not self._low_bits:
            return self._join_digits(top, middle, np.int64(0))
        # Low digits with P(v) ∝ r^v on 0..2^low-1; rejected ones are drawn again.
        rest = source.integers(count, self._low_bits)
        kept = self._accepted(rest, self._tests(count, source), source)
        while not kept.all():
            again = source.integers(int(count - kept.sum()), self._low_bits)
            rest[~kept] = again
            kept[~kept] = self._accepted(again, self._tests(again.size, source), source)
        return self._join_digits(top, middle, rest)

    def _tests(self, count: int, source: Source) -> NDArray[np.uint64]:
        words = source.words(count, np.uint64)
        return words >> np.uint64(64 - self._word.bits)

    def _join_digits(self, top: Integers, middle: Any, rest: Any) -> Integers:
        sign = top >> 63
        digits = (middle << self._low_bits) | rest
        joined: Integers = (((top ^ sign) << self._exponent) | digits) ^ sign
        return joined

    def _accepted(
        self, rest: Integers, tests: NDArray[np.uint64], source: Source
    ) -> NDArray[np.bool_]:
        def exact(place: int, digits: int) -> Bracket:
            return exp_bracket(int(rest[place]) / self._scale, digits)

        chance: Floats = np.exp(-rest / float(self._scale))
        return below(tests, chance, exact, source, self._word)

    def draw_many(self, count: int, source: Source) -> Integers:
        """Return `count` draws by table, mending the few that the tables leave open."""
        top = self._top.buckets(count, source)
        result = self._top_table.take(top)
        middle = rest = tests = None
        if self._middle:
            middle = self._middle.buckets(count, source)
            result ^= self._middle_table.take(middle)
        if self._low_bits:
            rest = source.integers(count, self._low_bits)
            result ^= rest
            tests = source.words(count, np.uint16)
        open_ = (result + _LEGAL).view(np.uint64) >= np.uint64(2 * _LEGAL)
        if tests is not None:
            open_ |= tests >= self._sure
        self._finish_open(
            result, np.flatnonzero(open_), top, middle, rest, tests, source
        )
        return result

    def _finish_open(
        self,
        result: Integers,
        open_: Integers,
        top: NDArray[np.uint16],
        middle: NDArray[np.uint16] | None,
        rest: Integers | None,
        tests: NDArray[np.uint16] | None,
        source: Source,
    ) -> None:
        """Draw the open places out to full words, continuing the bits they have."""
        if not open_.size:
            return
        head = self._top.finish(top[open_], source)
        body: Any = np.int64(0)
        if self._middle is not None and middle is not None:
            body = self._middle.finish(middle[open_], source)
        foot: Any = np.int64(0)
        kept = np.ones(open_.size, dtype=np.bool_)
        if rest is not None and tests is not None:
            foot = rest[open_]
            drop = np.uint64(64 - self._word.bits)
            words = tests[open_].astype(np.uint64) << np.uint64(48)
            words |= source.words(open_.size, np.uint64) >> np.uint64(16)
            kept = self._accepted(foot, words >> drop, source)
        joined = self._join_digits(head, body, foot)
        if not kept.all():  # a rejected draw starts afresh, all digits
            joined[~kept] = self.draw_few(int((~kept).sum()), source)
        result[open_] = joined

    @cached_property
    def _top_table(self) -> Integers:
        """Bucket to h·2^e, its mask set where h < 0: digits join by exclusive or."""
        decided, value = self._top.decided_buckets
        mask = (1 << self._exponent) - 1
        joined = (value << self._exponent) ^ ((value >> 63) & mask)
        return np.where(decided, joined, _FLAG_TOP)

    @cached_property
    def _middle_table(self) -> Integers:
        """Bucket to middle·2^low."""
        if self._middle is None:
            return np.zeros(0, dtype=np.int64)
        decided, value = self._middle.decided_buckets
        return np.where(decided, value << self._low_bits, _FLAG_MIDDLE)

    def of(self, count: int) -> Callable[[int, Source], Integers]:
        """Return the way to draw so many: the same steps for all, or by tables."""
        return self.draw_few if count <= SMALL else self.draw_many

    def draw(self, count: int, source: Source) -> Integers:
        """Return `count` independent draws."""
        return self.of(count)(count, source)


@lru_cache(maxsize=64)
def _sampler(scale: Fraction, *, signed: bool) -> GeometricSampler:
    return GeometricSampler(scale, signed=signed)


def _exact_scale(scale: Any) -> Fraction:
    exact = checks.rational("scale", scale)
    if exact > LARGEST:
        raise InvalidArgument(
            f"scale must be at most 2^50; got {float(exact):g}. Use a coarser lattice."
        )
    return exact


def geometric(scale: Any, size: Size = None, *, source: Source = SECURE) -> Any:
    """Return draws of P(k) ∝ exp(-k/scale) on k = 0, 1, 2, ...

    Guarantee: the law is exact for the rational `scale`.

    Example:
        >>> geometric(3, size=5).min() >= 0
        np.True_
    """
    sampler, known = _sampler(_exact_scale(scale), signed=False), checked_source(source)
    return filled_array(size, np.int64, lambda count: sampler.of(count)(count, known))


def discrete_laplace(scale: Any, size: Size = None, *, source: Source = SECURE) -> Any:
    """Return draws of P(k) ∝ exp(-|k|/scale) on all integers.

    Guarantee: the law is exact for the rational `scale` (a float is the binary rational
    it is); up to 4096 draws take the same steps whatever their values.

    Example:
        >>> discrete_laplace(2, size=(3, 2)).shape
        (3, 2)

    Reference: [CKS20] for the law; digits as in this file's first lines.
    """
    sampler, known = _sampler(_exact_scale(scale), signed=True), checked_source(source)
    return filled_array(size, np.int64, lambda count: sampler.of(count)(count, known))
