"""Secret batches: Poisson samples and subsets of fixed size, in random order."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.noise import SECURE, Source, permutation, subsample

Places = NDArray[np.int64]


def poisson_batch(records: int, rate: Any, *, source: Source = SECURE) -> Places:
    """Return positions below `records`, each taken with chance exactly `rate`.

    Guarantee: coins are independent and the order is uniformly random. Empty batches
    happen; they must be noised and counted like any other.

    Example:
        >>> poisson_batch(5, 1).size
        5
    """
    chance = checks.probability("rate", rate)
    found = subsample(records, rate=chance, source=source)
    return np.asarray(found[permutation(found.size, source=source)])


def fixed_batch(records: int, batch: int, *, source: Source = SECURE) -> Places:
    """Return `batch` different positions below `records`, every subset equally likely.

    Example:
        >>> fixed_batch(5, 3).size
        3
    """
    found = subsample(records, batch=batch, source=source)
    return np.asarray(found[permutation(found.size, source=source)])


def draw(sampling: str, records: int, batch: int, source: Source) -> Places:
    """Return the sorted positions of one batch of a plan."""
    if batch == records:
        return np.arange(records)
    if sampling == "poisson":
        return subsample(records, rate=Fraction(batch, records), source=source)
    return subsample(records, batch=batch, source=source)


def arranged(batches: list[Places], rows: int, least: int) -> NDArray[np.int32]:
    """Return batches as (steps, passes, rows), -1 where a slot stays empty.

    How many passes there are depends on secret coins, never on the data.
    """
    passes = max([least, *(-(-each.size // rows) for each in batches)])
    slots = np.full((len(batches), passes * rows), -1, dtype=np.int32)
    for slot, each in zip(slots, batches, strict=True):
        slot[: each.size] = each
    return slots.reshape(len(batches), passes, rows)
