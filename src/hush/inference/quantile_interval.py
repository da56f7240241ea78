"""A quantile from a noisy histogram: exact tests walk in from both ends."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, final

import numpy as np

from hush import checks
from hush.errors import InvalidArgument
from hush.inference import inputs
from hush.inference.additive_noise import Additive
from hush.inference.error_convolution import convolve, noise, normal
from hush.inference.results import Interval
from hush.mechanisms.mechanism import Mechanism

_FEW = 8  # sums of more noisy cells than this are taken as normal


@final
@dataclass(frozen=True)
class QuantileInterval(Interval):
    """A quantile between public edges; its error is in the noisy cumulative counts."""

    edges: tuple[float, ...]
    shares: tuple[tuple[float, int], ...]  # noisy share below, cells that it adds up
    at: float
    sampling: float
    noise: Additive  # of one cell's share

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return two edges: walking in from an end stops at the first doubt."""
        low, high = (self._passed(level, sign)[0] for sign in (1, -1))
        return self.edges[low], self.edges[max(high, low)]

    def interpolated(self, level: float = 0.95) -> tuple[float, float]:
        """Return ends between edges, for values that are spread evenly inside cells.

        Edges alone cover too often where a cell holds more people than sampling and
        noise move: the quantile may be anywhere inside it. If the density hardly
        changes inside a cell, the end is where the line through the two margins is 0.
        """
        ends = []
        for sign in (1, -1):
            i, here, there = self._passed(level, sign)
            share = here / (here - there) if here > there else 0.0
            other = self.edges[min(max(i + sign, 0), len(self.edges) - 1)]
            ends.append(self.edges[i] + min(share, 1.0) * (other - self.edges[i]))
        low, high = ends
        return low, max(high, low)

    def _passed(self, level: float, sign: int) -> tuple[int, float, float]:
        """Return the last edge passed from one side, its margin, and the next one's.

        A margin is how much more than its reach a share is on its side of `at`.
        """
        miss = (1 - checks.real("level", level, above=0, below=1)) / 2
        last = len(self.edges) - 1
        found = 0 if sign > 0 else last
        margin = math.inf
        for i in range(1, last) if sign > 0 else range(last - 1, 0, -1):
            share, cells = self.shares[i]
            reach = _reach(self.sampling, self.noise, cells, 1 - miss)
            fresh = sign * (self.at - share) - reach
            if fresh < 0:
                return found, margin if math.isfinite(margin) else 0.0, fresh
            found, margin = i, fresh
        return found, 0.0, -1.0


@lru_cache(maxsize=4096)
def _reach(sampling: float, one: Additive, cells: int, p: float) -> float:
    """Return the p-quantile of the error of a share that adds up noisy `cells`."""
    if cells <= _FEW:
        return convolve(normal(sampling), *[noise(one)] * cells).quantile(p)
    std = math.hypot(sampling, one.std * math.sqrt(cells))
    return NormalDist(0, std).inv_cdf(p)


def quantile_interval(
    counts: Any,
    edges: Sequence[float],
    *,
    at: float,
    n: int,
    mechanism: Mechanism,
    level: float = 0.95,
) -> QuantileInterval:
    """Return the `at`-quantile behind a noisy histogram of `n` people.

    Cumulative counts add up cells from the nearer end, so that each carries the noise
    of as few cells as possible. As `n` is public, neighbors are an exchange apart: the
    histogram has sensitivity 2.

    Guarantee: walking in from either end stops at the first edge whose share is not
    clearly on its side of `at`; to miss, the one test at the first wrong edge must
    fail, so each side misses with (1 - level)/2 at most. Sampling is taken as normal.

    Example:
        >>> from hush.mechanisms import Geometric
        >>> counts = [100, 205, 395, 210, 90]
        >>> low, high = quantile_interval(counts, [0, 10, 20, 30, 40, 50], at=0.5,
        ...                               n=1000, mechanism=Geometric(scale=1))
        >>> low, high
        (20.0, 30.0)
    """
    cells = inputs.numbers("counts", counts)
    cuts = tuple(np.atleast_1d(inputs.numbers("edges", edges)).tolist())
    if cells.ndim != 1 or cells.size + 1 != len(cuts) or list(cuts) != sorted(cuts):
        raise InvalidArgument(
            f"edges must rise and be one more than counts; got {len(cuts)} edges for "
            f"{cells.size} counts."
        )
    people = checks.whole("n", n, at_least=1)
    q = checks.real("at", at, above=0, below=1)
    each = Additive.of(mechanism, counts).scaled(1 / people)
    left = np.concatenate([[0.0], np.cumsum(cells)]) / people
    right = 1 - np.concatenate([np.cumsum(cells[::-1])[::-1], [0.0]]) / people
    sampling = math.sqrt(q * (1 - q) / people)
    rows = []
    for i in range(len(cuts)):
        few = min(i, cells.size - i)
        share = left[i] if i <= cells.size - i else right[i]
        rows.append((float(share), few))
    rising = np.maximum.accumulate([row[0] for row in rows])
    value = float(np.interp(q, rising, cuts))
    inside = min(max(int(np.searchsorted(rising, q)), 1), len(cuts) - 1)
    width = cuts[inside] - cuts[inside - 1]
    slope = max(rising[inside] - rising[inside - 1], 1 / people) / max(width, 1e-300)
    spread = math.hypot(sampling, each.std * math.sqrt(rows[inside][1]))
    return QuantileInterval(
        value,
        float(spread / slope),
        people * (sampling / spread) ** 2,
        level,
        cuts,
        tuple(rows),
        q,
        sampling,
        each,
    )
