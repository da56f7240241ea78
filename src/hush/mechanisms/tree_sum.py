"""Continual counting: every running total of a stream, from a tree of noisy sums."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks, law
from hush.checks import distance
from hush.errors import InvalidArgument
from hush.mechanisms import lattice_rounding
from hush.mechanisms.error import Error, Total
from hush.mechanisms.laplace import cover
from hush.mechanisms.mechanism import Mechanism, observed_turn
from hush.mechanisms.metrics import L1, Metric
from hush.mechanisms.sparse_vector import OneAtATime
from hush.noise import SECURE, Source, discrete_laplace
from hush.privacy.curve import Curve
from hush.privacy.rounding import at_least
from hush.privacy.rules.composition import repeat
from hush.serialization import tagged


@final
@tagged("tree_sum/1")
@dataclass(frozen=True, repr=False)
class TreeSum(Mechanism):
    """Release the running totals of up to `horizon` whole numbers.

    Every dyadic block of the stream gets one noisy sum of `scale`; a total adds the at
    most log2(horizon) + 1 blocks that make it up.

    Guarantee: one number that moves by `sensitivity` touches one block of each size, so
    the curve is the exact composition of that many noisy sums.

    Example:
        >>> m = TreeSum(horizon=8, scale=0.01)
        >>> m.run([1, 0, 2, 5]).tolist()
        [1, 1, 3, 8]
        >>> counter = m.start()
        >>> counter.add(3), counter.add(4)
        (3, 7)

    Reference: [DNPR10], [CSS11].
    """

    horizon: int
    scale: float | Fraction

    @property
    def metric(self) -> Metric:
        """ℓ1: a stream moves every size of block of the tree by as much."""
        return L1()

    def __post_init__(self) -> None:
        checks.whole("horizon", self.horizon, at_least=1)
        lattice_rounding.drawable("scale", self.scale)

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("scale", self.scale)

    @property
    def levels(self) -> int:
        """How many block sizes there are, and blocks that one number touches."""
        return self.horizon.bit_length()

    @property
    def blocks(self) -> int:
        """How many blocks a total adds at most: ones of a binary number <= horizon."""
        full = self.horizon & (self.horizon + 1) == 0
        return self.levels if full else self.levels - 1

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when one number of the stream moves by `sensitivity`."""
        one = cover(self._exact, int(distance(sensitivity)), Fraction(1))
        return repeat(one, times=self.levels)

    @property
    def error(self) -> Error:
        """Exact law of the worst total: a sum of `blocks` noises."""
        return Error(
            ((Total(law.DiscreteLaplace(self._exact), self.blocks), Fraction(1)),)
        )

    def start(self, *, source: Source = SECURE) -> "Counter":
        """Return a counter that takes one number at a time."""
        return Counter(self, source)

    def run(
        self, value: Iterable[int], *, source: Source = SECURE
    ) -> NDArray[np.int64]:
        """Return the noisy running totals of a stream, moved inside ±2^61."""
        counter = self.start(source=source)
        totals = [counter.add(each) for each in value]
        return lattice_rounding.whole_vector(np.array(totals, dtype=object))

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        one = cls(scale=1, **public)
        wanted = checks.rational("epsilon", epsilon)
        cost = max(1, int(distance(sensitivity))) * one.levels
        return cls(scale=at_least(cost / wanted), **public)


@final
class Counter(OneAtATime):
    """One stream: whole numbers in, noisy running totals out."""

    def __init__(self, mechanism: TreeSum, source: Source) -> None:
        super().__init__()
        self._mechanism, self._source = mechanism, source
        self._time = 0
        self._exact = [0] * mechanism.levels  # open block of each size
        self._noisy = [0] * mechanism.levels  # its release, once it is closed

    @observed_turn
    def add(self, value: int) -> int:
        """Return the noisy total after `value`."""
        exact = lattice_rounding.whole_number(value)
        self._owner.check()
        with self._lock:
            if self._time == self._mechanism.horizon:
                raise InvalidArgument(
                    f"the stream is over after horizon={self._mechanism.horizon} "
                    "numbers."
                )
            return self._next_sum(exact)

    def _next_sum(self, value: int) -> int:
        self._time += 1
        level = (self._time & -self._time).bit_length() - 1
        closed = value + sum(self._exact[:level])
        self._exact[:level], self._exact[level] = [0] * level, closed
        noise = discrete_laplace(self._mechanism._exact, source=self._source)
        self._noisy[level] = closed + int(noise)
        return sum(noisy for i, noisy in enumerate(self._noisy) if self._time >> i & 1)
