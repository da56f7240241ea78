"""Many runs of the thing under test, at once where that is provably the same."""

import numbers
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from hush import mechanisms as m
from hush.audit.outputs import Raised
from hush.errors import InvalidArgument
from hush.mechanisms import Mechanism
from hush.noise import Source

Many = Callable[[Any, int], Any]  # data, count -> independent results

# These draw fresh noise for every coordinate, so that one long vector is many runs.
_FRESH = (
    m.Laplace,
    m.Gaussian,
    m.Geometric,
    m.DiscreteGaussian,
    m.Staircase,
    m.Canonical,
    m.RandomizedResponse,
)


def many(run: Any, batch: Many | None, source: Source, *, timing: bool) -> Many:
    """Return the way to draw many independent results.

    Guarantee: results have the law of single runs. Only mechanisms whose noise is
    independent per coordinate are run as one array; anything else runs in a loop.
    """
    if batch is not None:
        return batch
    if isinstance(run, Mechanism):
        mechanism = run
        single = _single(lambda d: mechanism.run(d, source=source), timing=timing)
        if isinstance(mechanism, _FRESH) and not timing:
            return lambda d, n: _at_once(mechanism, d, n, source) or single(d, n)
        return single
    if not callable(run):
        raise InvalidArgument(
            f"run must be a mechanism or a function of data; got a "
            f"{type(run).__name__}."
        )
    return _single(run, timing=timing)


def _at_once(mechanism: Any, data: Any, count: int, source: Source) -> Any:
    number = isinstance(data, numbers.Real)
    if not number and not isinstance(data, (list, np.ndarray)):
        return None
    array = np.asarray(data)
    if array.dtype.kind not in "biuf" or array.ndim > 1:
        return None
    tiled = np.broadcast_to(array, (count, *array.shape)).copy()
    return Batch(np.asarray(mechanism.run(tiled, source=source)))


class Batch:
    """Results of many runs as one array, a row each."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows


def _single(run: Callable[[Any], Any], *, timing: bool) -> Many:
    def one(data: Any) -> Any:
        start = time.perf_counter()
        try:
            found = run(data)
        except Exception as problem:  # an error is an answer too
            found = Raised(type(problem).__name__)
        if not timing:
            return found
        spent = max(time.perf_counter() - start, 1e-9)
        return {"result": found, "time": round(2 * np.log2(spent)) / 2}

    return lambda data, count: [one(data) for _ in range(count)]


def joined(first: Any, second: Any, side: Any) -> Any:
    """Return the results of both data sets in the order of the coin."""
    if isinstance(first, Batch):
        first, second = first.rows, second.rows
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        both = np.empty((len(side), *first.shape[1:]), dtype=np.float64)
        both[~side], both[side] = first, second
        return both
    left, right = iter(first), iter(second)
    return [next(right) if each else next(left) for each in side]
