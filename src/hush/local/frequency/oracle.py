"""A frequency oracle: how many people hold each category, from private reports."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.estimate import Estimate
from hush.local.aggregation import Collector, Tally
from hush.local.coins import Integers
from hush.local.randomizer import Reports, categories, count_of

Floats = NDArray[np.float64]

_LISTED = 1 << 26  # categories whose shares fit into memory


@final
@dataclass(frozen=True)
class Frequencies(Estimate):
    """Shares of the categories among `people`, who reported.

    `std` is that of the noise, for the shares among these very people; `population()`
    is for the chances with which people like them hold each category. `effective` is
    how many honest answers would tell those chances as well.
    """

    people: int = 0

    def _names(self) -> tuple[str, Sequence[Any]]:
        return "category", range(len(self.value))

    def population(self) -> Estimate:
        """Return the estimate for the population these people are a sample of.

        Guarantee: adds the sampling variance f(1-f)/n to that of the noise.

        Reference: N3.2ex.
        """
        f = np.clip(self.value, 0.0, 1.0)
        std = np.sqrt(self.std**2 + f * (1 - f) / self.people)
        return Estimate(self.value, std, self.effective)

    def distribution(self) -> Floats:
        """Return the nearest probability distribution: no share below 0, sum 1.

        Guarantee: processing of reports, so it costs no privacy, and it is never
        farther (in ℓ2) from the true shares than the estimate itself. It is biased:
        intervals belong to `value`.
        """
        return project(self.value)


class Oracle(Collector):
    """Categories 0..size-1, encoded on devices and counted by a collector."""

    size: int

    def _check(self) -> None:
        _ = self.ratio  # refuses an impossible epsilon
        # Python's whole numbers: those of NumPy overflow.
        object.__setattr__(self, "size", checks.whole("size", self.size, at_least=2))

    def _clean(self, values: Any) -> Integers:
        return categories(values, self.size)

    def _zero(self) -> Integers:
        if self.size > _LISTED:
            raise InvalidArgument(
                f"size must be at most {_LISTED} to estimate every share; got "
                f"{self.size}. Count candidates with LocalHashing.support, or use "
                "HeavyHitters."
            )
        return np.zeros(self.size, dtype=np.int64)

    def estimate(self, reports: Reports | Tally) -> Frequencies:
        """Return every category's share: unbiased, with the std of the noise."""
        tally = self._tally(reports)
        n = tally.people
        value = self._decode(tally.totals, n)
        noise = self.variance(n, project(value))
        f = np.clip(value, 1 / (n + 1), n / (n + 1))
        sampling = f * (1 - f)
        return Frequencies(
            value, np.sqrt(noise), n * sampling / (sampling + n * noise), n
        )

    @abstractmethod
    def _decode(self, totals: Integers, people: int) -> Floats:
        """Return the unbiased shares."""

    @abstractmethod
    def variance(self, people: int, frequencies: Any = None) -> Floats:
        """Return each share's variance when the true shares are `frequencies`.

        Without them: equal shares.

        Guarantee: exact, over the randomness of the reports alone.
        """

    @property
    @abstractmethod
    def unit_error(self) -> Fraction:
        """Expected sum of squared errors of one report at equal shares, exactly."""

    def squared_error(self, people: int) -> float:
        """Return the expected sum of squared errors over all categories.

        Guarantee: exact at equal shares; for all oracles but `HadamardResponse` the
        sum is the same at any shares.

        Example:
            >>> from hush.local import RandomizedResponse
            >>> RandomizedResponse(epsilon=1, size=2).squared_error(people=1000)
            0.00184...
        """
        return float(self.unit_error / count_of(people))

    def _shares(self, frequencies: Any) -> Floats:
        if frequencies is None:
            return np.full(self.size, 1 / self.size)
        shares = np.asarray(frequencies, dtype=np.float64)
        if shares.shape != (self.size,):
            raise InvalidArgument(f"frequencies must be a vector of {self.size}.")
        return shares


class Supporting(Oracle):
    """Oracles whose report names a set of categories it supports.

    A report supports the category of its sender with chance `hit` and every other with
    chance `miss`; a share is (share of supporters - miss)/(hit - miss).

    Reference: [WBLJ17] "pure" protocols.
    """

    @property
    @abstractmethod
    def hit(self) -> Fraction:
        """Chance to support the true category."""

    @property
    @abstractmethod
    def miss(self) -> Fraction:
        """Chance to support any other category."""

    @property
    def leverage(self) -> float:
        """How far one report, honest or forged, can move people × a share."""
        return float(1 / (self.hit - self.miss))

    @property
    def unit_error(self) -> Fraction:
        """Expected sum of squared errors of one report, at any shares."""
        p, q = self.hit, self.miss
        return (p * (1 - p) + (self.size - 1) * q * (1 - q)) / (p - q) ** 2

    def shares(self, supporters: Integers, people: int) -> Floats:
        """Return the unbiased shares of categories with so many supporters."""
        gap = float(1 / (self.hit - self.miss))
        return (supporters / people - float(self.miss)) * gap

    def share_variance(self, people: int, shares: Floats) -> Floats:
        """Return (f·hit(1-hit) + (1-f)·miss(1-miss)) / (people·(hit-miss)²)."""
        p, q = self.hit, self.miss
        gap = (p - q) ** 2
        true, other = float(p * (1 - p) / gap), float(q * (1 - q) / gap)
        return (shares * true + (1 - shares) * other) / people

    def _decode(self, totals: Integers, people: int) -> Floats:
        return self.shares(totals, people)

    def variance(self, people: int, frequencies: Any = None) -> Floats:
        """Return each share's variance when the true shares are `frequencies`.

        Guarantee: exact, over the randomness of the reports alone.
        """
        return self.share_variance(count_of(people), self._shares(frequencies))


# -- The nearest probability distribution to a vector, in Euclidean distance -----------


def project(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the closest point of the simplex: subtract a constant, cut at zero.

    Example:
        >>> project(np.array([0.7, 0.5, -0.2])).round(6).tolist()
        [0.6, 0.4, 0.0]
    """
    falling = np.sort(vector)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, vector.size + 1)
    kept = np.flatnonzero(falling > excess)[-1]
    cut: NDArray[np.float64] = np.maximum(vector - excess[kept], 0.0)
    cut /= cut.sum()
    return cut
