"""A measured marginal: noisy counts whose error is known, and what a model has."""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, final

import numpy as np

from hush import checks
from hush.estimate import Estimate
from hush.mechanisms import Error
from hush.synth.fit import Floats


@lru_cache(maxsize=64)  # all tables of a model share two laws
def _mean(error: Error) -> float:
    return error.mean_absolute


@final
@dataclass(frozen=True, eq=False)
class Marginal(Estimate):
    """Released counts of the cells of one or two columns.

    `value` has one axis for each of `columns`, with cells called by `labels`. `model`
    holds the counts that synthetic rows follow: `value` drawn to what the other tables
    say, with nothing below zero. `effective` says how many such tables were averaged:
    one.

    Guarantee: `interval(level)` holds the true count of a cell with probability
    `level`, each by itself: the law of the noise is exact, and bias-free.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[Any, ...], ...]
    model: Floats
    error: Error
    step: float  # rows that one step of the noise is worth

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return ends that hold each true count with probability `level`."""
        reach = self.error.interval(level)[1] * self.step
        return self.value - reach, self.value + reach

    def joint(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return ends that hold all true counts at once with probability `level`."""
        reach = self.error.joint(self.value.size).interval(level)[1] * self.step
        return self.value - reach, self.value + reach

    def distance(self, level: float = 0.95) -> float:
        """Return a bound on the rows that the model puts into other cells.

        It is half of Σ|model - truth|. What separates the model from the released
        counts is known; what separates these from the truth is bounded by Cantelli's
        inequality on a sum of independent terms.

        Guarantee: the true value is at most this with probability `level`.
        """
        level = checks.real("level", level, above=0, below=1)
        cells, mean = self.value.size, _mean(self.error) * self.step
        # E|X|² falls by at least this from E X²; a hair for rounding.
        spread = max((self.error.std * self.step) ** 2 - (mean * (1 - 1e-6)) ** 2, 0.0)
        tail = math.sqrt(level / (1 - level))
        noise = cells * mean + tail * math.sqrt(cells * spread)
        known = float(np.abs(self.model - self.value).sum())
        return float(known + noise) / 2

    def _names(self) -> tuple[str, Any]:
        """Return the names of the cells."""
        cells = [", ".join(map(str, each)) for each in product(*self.labels)]
        return ", ".join(self.columns), cells
