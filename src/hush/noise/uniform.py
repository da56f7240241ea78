"""Uniform choices: integers, orderings and subsets."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.noise.bernoulli import bernoulli
from hush.noise.source import SECURE, Size, Source, checked_source, filled_array

_DENSE = 64  # records for each one that is kept, up to which marks are faster


def _below(high: int, count: int, source: Source) -> NDArray[np.int64]:
    """Return integers below `high`: as many bits as it has, rejecting the rest."""
    bits = (high - 1).bit_length()
    if bits == 0:
        return np.zeros(count, dtype=np.int64)
    result = source.integers(count, bits)
    again = np.flatnonzero(result >= high)
    while again.size:
        fresh = source.integers(again.size, bits)
        result[again] = fresh
        again = again[fresh >= high]
    return result


def integers(high: int, size: Size = None, *, source: Source = SECURE) -> Any:
    """Return uniform integers in 0..high-1.

    Guarantee: every integer has probability exactly 1/high.

    Example:
        >>> int(integers(6, size=1000).max()) <= 5
        True
    """
    bound = checks.whole("high", high, at_least=1)
    checked_source(source)
    if bound > 2**63:
        if size is not None:
            raise InvalidArgument(
                f"high must be at most 2^63 for arrays; got {bound}. Draw one by one."
            )
        while (draw := source.bits((bound - 1).bit_length())) >= bound:
            pass
        return draw
    return filled_array(size, np.int64, lambda count: _below(bound, count, source))


def permutation(count: int, *, source: Source = SECURE) -> NDArray[np.int64]:
    """Return 0..count-1 in a uniformly random order.

    Guarantee: every order has probability exactly 1/count!: sorting distinct random
    keys favors none, and keys with a repetition are drawn again.

    Example:
        >>> sorted(permutation(3).tolist())
        [0, 1, 2]
    """
    count = checks.whole("count", count, at_least=0)
    while True:
        keys = source.words(count, np.uint64)
        order = np.argsort(keys)
        if not np.any(np.diff(keys[order]) == 0):
            return order.astype(np.int64, copy=False)


def subsample(
    records: int,
    *,
    rate: float | Fraction | None = None,
    batch: int | None = None,
    source: Source = SECURE,
) -> NDArray[np.int64]:
    """Return the sorted positions of a random subset of 0..records-1.

    With `rate` each record is kept independently (Poisson sampling); with `batch`
    exactly that many are kept (fixed size).

    Guarantee: every subset has exactly the probability of its sampling scheme.

    Example:
        >>> subsample(10, batch=10)
        array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    records = checks.whole("records", records, at_least=0)
    if (rate is None) == (batch is None):
        raise InvalidArgument("give either rate or batch, and not both.")
    if batch is None:
        return np.flatnonzero(bernoulli(rate, size=records, source=source))
    batch = checks.whole("batch", batch, at_least=0, at_most=records)
    if records <= _DENSE * batch:
        return _subset(records, batch, source)
    drawn = np.empty(0, dtype=np.int64)
    while True:
        # The first `batch` distinct values of an independent uniform sequence.
        more = math.ceil(1.2 * batch) + 16
        drawn = np.concatenate([drawn, _below(records, more, source)])
        values, first = np.unique(drawn, return_index=True)
        if values.size >= batch:
            return np.sort(values[np.argsort(first)[:batch]])


def _subset(records: int, batch: int, source: Source) -> NDArray[np.int64]:
    """Return a subset by marks: as above, drawn in parts that never hold too many."""
    left_out = 2 * batch > records
    marks = np.zeros(records, dtype=np.bool_)
    missing = records - batch if left_out else batch
    wanted = missing
    while missing:
        marks[_below(records, missing, source)] = True
        missing = wanted - int(np.count_nonzero(marks))
    return np.flatnonzero(~marks if left_out else marks)
