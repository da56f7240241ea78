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


def positions(records: int, rows: int) -> int:
    """Return how many positions coins are tossed for: a private number above records.

    Rows that a plan does not know of get positions of their own. To leave some out
    would let another row in where one leaves: two rows would move, not one.
    """
    return max(records, rows)


def constant(sampling: str, records: int, batch: int, places: int) -> bool:
    """Return whether every batch holds all positions."""
    return batch == (records if sampling == "poisson" else places)


def draw(
    sampling: str, records: int, batch: int, source: Source, places: int | None = None
) -> Places:
    """Return the positions of one batch of a plan, of `records` or more `places`.

    Poisson batches come in random order: a row more then moves one other row at most
    to another slot (docs/proofs/sgd.md, "More rows than records").
    """
    places = records if places is None else places
    if constant(sampling, records, batch, places):
        return np.arange(places)
    if sampling == "poisson":
        return poisson_batch(places, Fraction(batch, records), source=source)
    return subsample(places, batch=batch, source=source)


def arranged(batches: list[Places], rows: int, least: int) -> NDArray[np.int32]:
    """Return batches as (steps, passes, rows), -1 where a slot stays empty.

    How many passes there are depends on secret coins, never on the data.
    """
    passes = max([least, *(-(-each.size // rows) for each in batches)])
    slots = np.full((len(batches), passes * rows), -1, dtype=np.int32)
    for slot, each in zip(slots, batches, strict=True):
        slot[: each.size] = each
    return slots.reshape(len(batches), passes, rows)
