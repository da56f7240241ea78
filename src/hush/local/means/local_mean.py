"""Means of bounded numbers, each randomized by its owner."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.estimate import Estimate
from hush.local.aggregation import Collector, Tally
from hush.local.coins import Bytes, Integers
from hush.local.frequency.oracle import Floats
from hush.local.randomizer import Reports, array_of, count_of
from hush.noise import Source, bernoulli


class Part(NamedTuple):
    """One way to report a number u in [0, 1], used by a share of the people.

    A report y is read as scale·y + shift, which is u on average with variance
    a + b·u + c·u², (a, b, c) = noise; u is first rounded to `steps` steps.
    """

    share: Fraction
    scale: Fraction
    shift: Fraction
    noise: tuple[Fraction, Fraction, Fraction]
    steps: int | None


@final
@dataclass(frozen=True)
class Average(Estimate):
    """The mean of the numbers of `people`, who reported.

    `std` is that of the noise, for the mean of these very people; `population()` is
    for the mean of the population they are a sample of. `spread` is the std of one
    report, noise and people together.
    """

    people: int = 0
    spread: float = 0.0

    def population(self) -> Estimate:
        """Return the estimate for the population these people are a sample of."""
        std = self.spread / math.sqrt(self.people)
        return Estimate(self.value, max(std, self.std), self.effective)


class Mean(Collector):
    """Numbers inside public bounds; others are clamped, NaN is refused."""

    bounds: tuple[float, float]

    def _check(self) -> None:
        _ = self.ratio
        low, high = checks.interval("bounds", self.bounds)
        if not low < high or not math.isfinite(high - low):
            raise InvalidArgument(
                f"bounds must be a pair with lower < upper; got {self.bounds!r}."
            )
        object.__setattr__(self, "bounds", (low, high))

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The ways to report, which the report itself names."""

    @abstractmethod
    def _read(self, rows: Bytes) -> tuple[Integers, Integers]:
        """Return the part and the number y of each report."""

    def _clean(self, values: Any) -> Floats:
        array = array_of(values)
        if array.size == 0:
            return np.empty(0)
        if array.ndim != 1 or array.dtype.kind not in "iufb":
            raise InvalidArgument("values must be a vector of numbers.")
        with np.errstate(over="ignore"):  # wider floats may become infinite: clamped
            numbers = array.astype(np.float64)
        if np.isnan(numbers).any():
            raise InvalidArgument("values must not hold NaN. Leave such people out.")
        low, high = self.bounds
        # Clamped again: rounding must not leave [0, 1].
        return np.clip((np.clip(numbers, low, high) - low) / (high - low), 0.0, 1.0)

    def _zero(self) -> NDArray[Any]:
        return np.array([[0, 0, 0]] * len(self.parts), dtype=object)

    def _count(self, rows: Bytes) -> NDArray[Any]:
        """Return (reports, Σy, Σy²) of each part, exactly."""
        part, y = self._read(rows)
        total = self._zero()
        for i in range(len(self.parts)):
            mine = y[part == i]
            high, low = mine >> 16, mine & 0xFFFF  # squares of these sum in 64 bits
            squares = (
                (int(high @ high) << 32) + (int(high @ low) << 17) + int(low @ low)
            )
            total[i] = [mine.size, int(mine.sum()), squares]
        return total

    def estimate(self, reports: Reports | Tally) -> Average:
        """Return the mean: unbiased, with the std of the noise."""
        tally = self._tally(reports)
        n = tally.people
        first = second = Fraction(0)
        for (count, total, squares), part in zip(tally.totals, self.parts, strict=True):
            a, b = part.scale, part.shift
            first += a * total + b * count
            second += a * a * squares + 2 * a * b * total + b * b * count
        mean, square = float(first / n), float(second / n)
        width = self.bounds[1] - self.bounds[0]
        held = self._squares(mean, square)
        noise = self._average(min(max(mean, 0.0), 1.0), held)
        spread = max(square - mean * mean, noise)
        inside = max(spread - noise, 0.0)
        return Average(
            self.bounds[0] + width * mean,
            width * math.sqrt(noise / n),
            n * inside / spread if spread else 0.0,
            n,
            width * math.sqrt(spread),
        )

    @cached_property
    def _noise(self) -> tuple[float, float, float]:
        """(a, b + c, -c): the noise is a + (b+c)·u - c·u(1-u), without cancellation."""
        a, b, c = (
            sum((part.share * part.noise[i] for part in self.parts), Fraction(0))
            for i in range(3)
        )
        return float(a), float(b + c), float(-c)

    def _squares(self, mean: float, square: float) -> float:
        """Return the mean of u², as far as reports tell: E y² = a + b·u + (1+c)·u²."""
        a, tilt, bend = self._noise
        u = min(max(mean, 0.0), 1.0)
        # Near c = -1 reports do not tell u²; the least possible gives the most noise.
        rest = square - a - (tilt + bend) * u
        found = rest / (1 - bend) if 1 - bend > 1e-6 else u * u
        return min(max(found, u * u), u)

    def _average(self, mean: float, square: float) -> float:
        a, tilt, bend = self._noise
        return a + tilt * mean + bend * (mean - square)

    def variance(self, values: Any) -> float:
        """Return the variance of the mean of these values over the noise alone.

        Guarantee: exact, rounding to the lattice included.

        Example:
            >>> from hush.local import DuchiMean
            >>> round(DuchiMean(epsilon=1.0, bounds=(-1, 1)).variance([0.0, 0.0]), 4)
            2.3413
        """
        u = self._clean(values)
        count_of(u.size)
        a, tilt, bend = self._noise
        each = a + tilt * u + bend * u * (1 - u)
        for part in self.parts:
            if part.steps is not None:
                over = np.mod(u * part.steps, 1.0)
                extra = (1 + float(part.noise[2])) / part.steps**2
                each = each + float(part.share) * extra * over * (1 - over)
        width = self.bounds[1] - self.bounds[0]
        return float(width**2 * each.sum() / u.size**2)

    def worst_variance(self, people: int) -> float:
        """Return the largest `variance` that any values of so many people can have."""
        a, tilt, bend = self._noise
        turn = [min(max((1 + tilt / bend) / 2, 0.0), 1.0)] if bend else []
        most = max(a + tilt * u + bend * u * (1 - u) for u in (0.0, 1.0, *turn))
        for part in self.parts:
            if part.steps is not None:
                extra = (1 + float(part.noise[2])) / part.steps**2 / 4
                most += float(part.share) * max(extra, 0.0)
        width = self.bounds[1] - self.bounds[0]
        return width**2 * most / count_of(people)


def randomly_rounded(units: Floats, steps: int, source: Source) -> Integers:
    """Return u·steps rounded to one of its two neighbors, right on average."""
    scaled = units * steps
    floor = np.floor(scaled)
    up = bernoulli(scaled - floor, source=source)
    whole: Integers = floor.astype(np.int64) + up
    return whole
