"""Heavy hitters: the common values of a huge domain, found from their first bits."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.estimate import Estimate
from hush.local import randomizer as wire
from hush.local.coins import Bytes, Integers
from hush.local.frequency.local_hashing import LocalHashing
from hush.local.randomizer import Randomizer, Reports, categories
from hush.noise import Source, integers

_MOST = 60


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

    Prefixes grow by `step` bits from level to level. Each person draws a level, and
    reports that prefix by local hashing with the whole ε. A collector keeps a prefix
    when its share is clearly above the noise, and only looks at continuations of those.

    Guarantee: ε-local privacy: the level is independent of the value, and the report at
    every level is ε-private.

    Example:
        >>> from hush.noise import Seeded
        >>> finder = HeavyHitters(epsilon=4.0, bits=24, step=8)
        >>> values = [0xC0FFEE] * 3000 + list(range(3000))
        >>> found = finder.find(finder.encode(values, source=Seeded(1)))
        >>> [hex(v) for v in found.values]
        ['0xc0ffee']

    Reference: [WLJ19] prefix extension; [BNST20].
    """

    kind: ClassVar[int] = 32
    epsilon: float
    bits: int
    step: int = 4

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        for name, most in (("bits", _MOST), ("step", 12)):
            value = checks.whole(name, getattr(self, name), at_least=1, at_most=most)
            object.__setattr__(self, name, value)
        _ = self.ratio

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
        level = integers(len(self.lengths), len(values), source=source)
        rows[:, 0] = level
        for i, (oracle, length) in enumerate(
            zip(self.oracles, self.lengths, strict=True)
        ):
            mine = np.flatnonzero(level == i)
            prefix = values[mine] >> (self.bits - length)
            body = oracle.encode(prefix, source=source).rows
            rows[mine, 1 : 1 + oracle.width] = body
        return rows

    def find(self, reports: Reports, *, level: float = 0.99, most: int = 64) -> Hitters:
        """Return the values whose share is above the noise, the most common first.

        With confidence `level` no prefix that nobody holds is kept, over all that are
        looked at together (for normal noise); at most `most` are kept at each level.
        `std` covers the noise and the draw of the people at the last level.
        """
        level = checks.real("level", level, above=0, below=1)
        most = checks.whole("most", most, at_least=1)
        given = wire.own_reports(self, reports)
        rows = given.rows[self.valid(given.rows)]
        if not len(rows):
            raise wire.none_valid(given.rejected)
        kept, share = np.zeros(1, dtype=np.int64), np.ones(1)
        last, people = self.oracles[-1], 1
        for oracle, body, grown in self._levels(rows):
            tails = np.arange(1 << grown, dtype=np.int64)
            tried = ((kept[:, None] << grown) + tails).ravel()
            people = len(body)
            if not (people and tried.size):
                return Hitters(np.empty(0), np.empty(0), np.empty(0), kept[:0])
            found = oracle.shares(oracle.support(body, tried), people)
            chance = (1 - level) / (len(self.lengths) * tried.size)
            reach = -NormalDist().inv_cdf(chance)
            std = math.sqrt(oracle.share_variance(people, np.zeros(1))[0])
            order = np.argsort(-found, kind="stable")[:most]
            order = order[found[order] > reach * std]
            kept, share = tried[order], found[order]
        f = np.clip(share, 0.0, 1.0)
        noise = last.share_variance(people, f)
        drawn = f * (1 - f) / people * (1 - people / len(rows))
        sampling = f * (1 - f) / len(rows)
        effective = f * (1 - f) / (noise + drawn + sampling)
        return Hitters(share, np.sqrt(noise + drawn), effective, kept)

    def _levels(self, rows: Bytes) -> Iterator[tuple[LocalHashing, Bytes, int]]:
        """Yield the oracle, the reports and the new bits of each level."""
        before = 0
        for i, (oracle, length) in enumerate(
            zip(self.oracles, self.lengths, strict=True)
        ):
            body = rows[rows[:, 0] == i, 1 : 1 + oracle.width]
            yield oracle, body, length - before
            before = length
