"""Heavy hitters: the common values of a huge domain, found from their first bits."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.estimate import Estimate
from hush.local import randomizer as wire
from hush.local.coins import Bytes, Integers
from hush.local.frequency.local_hashing import LocalHashing
from hush.local.randomizer import Randomizer, Reports, categories
from hush.noise import Source, integers

_MOST = 60
_GRAIN = 10**6  # shares of the people are whole millionths: levels are drawn exactly


@final
@dataclass(frozen=True)
class Hitters(Estimate):
    """Values that were found, the most common first, and their shares."""

    values: Any = None

    def _names(self) -> tuple[str, Sequence[Any]]:
        return "value", self.values


@final
@dataclass(frozen=True)
class HeavyHitters(Randomizer):
    """Values of `bits` bits; each person tells a prefix of theirs, of random length.

    Prefixes grow by `step` bits from level to level. Each person draws a level, the
    last one (the whole value) with chance `last_share` and the others alike, and
    reports that prefix by local hashing with the whole ε. A collector keeps the best
    prefixes of each level and looks at their continuations; at the last level a value
    is found if it has more supporters than chance gives to values nobody holds.

    Guarantee: ε-local privacy: the level is independent of the value, and the report at
    every level is ε-private.

    Example:
        >>> from hush.noise import Seeded
        >>> finder = HeavyHitters(epsilon=4.0, bits=24)
        >>> values = [0xC0FFEE] * 3000 + list(range(3000))
        >>> found = finder.find(finder.encode(values, source=Seeded(1)))
        >>> [hex(v) for v in found.values]
        ['0xc0ffee']

    Reference: [WLJ19] prefix extension; [BNST20]; docs/proofs/local.md.
    """

    kind: ClassVar[int] = 32
    epsilon: float
    bits: int
    step: int = 8
    last_share: float = 0.4

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        for name, most in (("bits", _MOST), ("step", 12)):
            value = checks.whole(name, getattr(self, name), at_least=1, at_most=most)
            object.__setattr__(self, name, value)
        share = checks.real("last_share", self.last_share, above=0, below=1)
        if not 0 < round(share * _GRAIN) < _GRAIN:
            raise InvalidArgument(
                f"last_share must lie between 1e-6 and 1 - 1e-6; got {share:.4g}. "
                "Use 0.4, or step >= bits to ask everybody for the whole value."
            )
        object.__setattr__(self, "last_share", share)
        _ = self.ratio

    def _public(self) -> dict[str, Any]:
        """Return what names this finder; reports from before `last_share` had none."""
        public = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.last_share == type(self).last_share:
            del public["last_share"]
        return public

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self._public().items())
        return f"{type(self).__name__}({told})"

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Length of the prefix at each level, in bits."""
        return (*range(self.step, self.bits, self.step), self.bits)

    @cached_property
    def oracles(self) -> tuple[LocalHashing, ...]:
        """The oracle of each level."""
        return tuple(LocalHashing(self.epsilon, 1 << length) for length in self.lengths)

    @property
    def width(self) -> int:
        """Bytes of one report: a level and the longest report of any level."""
        return 1 + max(each.width for each in self.oracles)

    def valid(self, rows: Bytes) -> NDArray[np.bool_]:
        """Return which rows hold a level, a report of it, and zeros."""
        good = np.zeros(len(rows), dtype=np.bool_)
        for level, oracle in enumerate(self.oracles):
            mine = np.flatnonzero(rows[:, 0] == level)
            body = rows[mine, 1 : 1 + oracle.width]
            rest = rows[mine, 1 + oracle.width :]
            good[mine] = oracle.valid(body) & ~rest.any(axis=1)
        return good

    def _clean(self, values: Any) -> Integers:
        return categories(values, 1 << self.bits)

    def _encode(self, values: Integers, source: Source) -> Bytes:
        rows = np.zeros((len(values), self.width), dtype=np.uint8)
        level = self._draw_levels(len(values), source)
        rows[:, 0] = level
        for i, (oracle, length) in enumerate(
            zip(self.oracles, self.lengths, strict=True)
        ):
            mine = np.flatnonzero(level == i)
            prefix = values[mine] >> (self.bits - length)
            body = oracle.encode(prefix, source=source).rows
            rows[mine, 1 : 1 + oracle.width] = body
        return rows

    def _draw_levels(self, count: int, source: Source) -> Integers:
        """Return each person's level: the last by `last_share`, the others alike."""
        before = len(self.lengths) - 1
        if not before:
            return np.zeros(count, dtype=np.int64)
        last = round(self.last_share * _GRAIN) * before
        drawn = integers(_GRAIN * before, count, source=source)
        # The rest is a multiple of `before`, so its remainders are alike exactly.
        level: Integers = np.where(drawn < last, before, (drawn - last) % before)
        return level

    def find(self, reports: Reports, *, level: float = 0.99, most: int = 64) -> Hitters:
        """Return the values whose share is above the noise, the most common first.

        The `most` best prefixes of each level are continued. `std` covers the noise and
        the draw of the people at the last level.

        Guarantee: with chance at least `level` somebody holds every value returned, if
        reports are honest, whatever people hold; by the exact law of supporters, not
        by a normal one (docs/proofs/local.md).
        """
        level = checks.real("level", level, above=0, below=1)
        most = checks.whole("most", most, at_least=1)
        given = wire.own_reports(self, reports)
        rows = given.rows[self.valid(given.rows)]
        if not len(rows):
            raise wire.none_valid(given.rejected)
        kept = np.zeros(1, dtype=np.int64)
        for oracle, body, grown in self._levels(rows):
            people = len(body)
            if not people:
                return Hitters(np.empty(0), np.empty(0), np.empty(0), kept[:0])
            tried = kept << grown
            supporters = oracle.support_of_runs(body, tried, 1 << grown).ravel()
            values = (tried[:, None] + np.arange(1 << grown)).ravel()
            best = np.argsort(-supporters, kind="stable")[:most]
            kept = values[best]
        # Any of the tried values that nobody holds may be the one that is invented.
        chance = (1 - level) / values.size
        found = supporters[best] >= least_supporters(people, oracle.miss, chance)
        share = oracle.shares(supporters[best][found], people)
        f = np.clip(share, 0.0, 1.0)
        noise = oracle.share_variance(people, f)
        drawn = f * (1 - f) / people * (1 - people / len(rows))
        sampling = f * (1 - f) / len(rows)
        effective = f * (1 - f) / (noise + drawn + sampling)
        return Hitters(share, np.sqrt(noise + drawn), effective, kept[found])

    def _levels(self, rows: Bytes) -> Iterator[tuple[LocalHashing, Bytes, int]]:
        """Yield the oracle, the reports and the new bits of each level."""
        before = 0
        for i, (oracle, length) in enumerate(
            zip(self.oracles, self.lengths, strict=True)
        ):
            body = rows[rows[:, 0] == i, 1 : 1 + oracle.width]
            yield oracle, body, length - before
            before = length


def least_supporters(people: int, miss: Fraction, chance: float) -> int:
    """Return a number of supporters that chance reaches no more often than `chance`.

    Guarantee: P(Bin(people, miss) >= the result) <= `chance`, from the exact law; the
    result is the least such number, up to rounding. Nothing is reached where it is
    people + 1.

    Example:
        >>> least_supporters(10, Fraction(1, 2), chance=11 / 1024)
        10
        >>> least_supporters(10, Fraction(1, 2), chance=1e-9)
        11
    """
    low, high = math.floor(people * miss), people + 1
    while high - low > 1:
        middle = (low + high) // 2
        if _tail(people, float(miss), middle) <= chance:
            high = middle
        else:
            low = middle
    return high


def _tail(people: int, miss: float, least: int) -> float:
    """Return P(Bin(people, miss) >= least) for least > people·miss, rounded up."""
    log = (
        math.lgamma(people + 1) - math.lgamma(least + 1)
        - math.lgamma(people - least + 1)
        + least * math.log(miss) + (people - least) * math.log1p(-miss)
    )  # fmt: skip
    # The sum of terms up to n·log n is rounded by a few units of their last place.
    log += 4e-16 * (people + 1) * math.log(people + 2)
    spread = math.sqrt(people * miss * (1 - miss))
    k = np.arange(least, min(people, least + 20 * math.ceil(spread) + 100))
    ratios = (people - k) / (k + 1) * (miss / (1 - miss))
    terms = np.cumprod(ratios)
    total = 1.0 + float(terms.sum())
    if k.size and k[-1] + 1 < people:  # from here on terms fall at least so fast
        total += float(terms[-1] * ratios[-1] / (1 - ratios[-1]))
    return math.exp(log) * total
