"""Means of vectors: a random direction that tends to agree with the own one."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.estimate import Estimate
from hush.local.aggregation import Collector, Tally
from hush.local.coins import Bytes, Integers
from hush.local.frequency.oracle import Floats
from hush.local.randomizer import Reports, array_of, count_of, odds
from hush.noise import Source, bernoulli, discrete_gaussian, integers

_STD = 1 << 10  # of a lattice direction, in steps
_UNIT = 1 << 30  # directions are summed as whole numbers of this many parts
_MOST = 256  # pairs: more would hardly lower the error for ε up to 8
_ROOM = 1 << 22  # coordinates that a device draws for one report at most
_WORK = 1 << 17  # coordinates drawn at once for several


@final
@dataclass(frozen=True)
class VectorMean(Collector):
    """The mean of vectors of ℓ2 norm at most `radius`; longer ones are shortened.

    A device draws `pairs` lattice directions and takes them and their mirror images.
    It reports one of the `near` that agree best with its vector, or any, so that each
    of the best is e^ε times likelier than each other. 2·dimension bytes.

    One pair is Duchi's mechanism, the choice below ε = 1; many pairs are PrivUnit's
    cap, whose variance is 1.6 times smaller at ε = 2, 3.5 at ε = 4, 10 at ε = 8.

    Guarantee: ε-local privacy, exactly, whatever the directions and the rounding of
    products: given the directions the report is randomized response on their places.
    The mean is unbiased up to the lattice, a relative 10⁻⁶.

    Example:
        >>> from hush.noise import Seeded
        >>> mean = VectorMean(epsilon=2.0, dimension=3)
        >>> mean.pairs, mean.near
        (8, 4)
        >>> points = np.tile([0.5, 0.0, -0.5], (20_000, 1))
        >>> found = mean.estimate(mean.encode(points, source=Seeded(1)))
        >>> bool(np.abs(found.value - points[0]).max() < 6 * found.std.max())
        True

    Reference: [DJW18] Section 4.2.3; [BDFKR18] PrivUnit; [ICOWN23] nearest codewords;
    N4.T1.
    """

    kind: ClassVar[int] = 20
    epsilon: float
    dimension: int
    radius: float = 1.0
    pairs: Any = None  # a whole number; None: chosen for ε and the dimension

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        _ = self.ratio
        d = checks.whole("dimension", self.dimension, at_least=1, at_most=1 << 20)
        radius = checks.real("radius", self.radius, above=0)
        # One spelling of a number, so that equal means have equal fingerprints.
        object.__setattr__(self, "dimension", d)
        object.__setattr__(self, "radius", radius)
        pairs = self._least_pairs if self.pairs is None else self.pairs
        pairs = checks.whole("pairs", pairs, at_least=1, at_most=_MOST)
        object.__setattr__(self, "pairs", int(pairs))

    @cached_property
    def _cap(self) -> Fraction:
        """Share of the directions that count as near, within 1 % of the best error.

        1/(1 + e^(sε)): for many dimensions s = 2/3 serves all ε up to 8, for few the
        exponent (d-1)/(d+1) is that of the best cap as ε grows. Rational, so that every
        device has the same.
        """
        s = min((self.dimension - 1) / (self.dimension + 1), 2 / 3)
        rise = odds(max(s * float(self.epsilon), 1e-6)) if s else Fraction(1)
        return 1 / (1 + rise)

    @property
    def _least_pairs(self) -> int:
        """The power of two that leaves about four near ones, or a pair below ε = 1."""
        if self.dimension == 1 or self.epsilon < 1:
            return 1
        room = 1 << (max(_ROOM // self.dimension, 1).bit_length() - 1)
        return min(_MOST, room, 1 << math.ceil(2 / self._cap - 1).bit_length())

    @cached_property
    def near(self) -> int:
        """How many of the 2·pairs directions are e^ε times likelier."""
        pairs = int(self.pairs)
        return min(pairs, max(1, round(2 * pairs * self._cap)))

    @cached_property
    def _weight(self) -> Fraction:
        """Z: R for each near direction, 1 for every other."""
        return self.near * self.ratio + 2 * int(self.pairs) - self.near

    @property
    def width(self) -> int:
        """Bytes of one report: two for each coordinate."""
        return 2 * self.dimension

    def valid(self, rows: Bytes) -> NDArray[np.bool_]:
        """Return which rows are directions: all but the zero vector."""
        return np.asarray(rows.any(axis=1))

    @cached_property
    def _gain(self) -> float:
        """What a unit direction is multiplied by, so that it is right on average."""
        best = agreement(self.dimension, self.pairs, self.near, 1)
        # Mirror images cancel but for the near ones, which have R - 1 more.
        return float(self.radius * self._weight / (self.ratio - 1)) / best

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """(a, b): a coordinate of a report has mean square a + b·(own coordinate)²."""
        d = self.dimension
        best = agreement(d, self.pairs, self.near, 2)
        rise = float((self.ratio - 1) / self._weight)
        along = min(rise * best + float(2 * self.pairs / self._weight) / d, 1.0)
        across = (1 - along) / (d - 1) if d > 1 else 0.0
        return across, max(along - across, 0.0)

    @property
    def leverage(self) -> float:
        """How far one report, honest or forged, can move people × the mean, in ℓ2."""
        return 2 * self._gain

    def _clean(self, values: Any) -> Floats:
        array = array_of(values)
        shape = array.ndim == 2 and array.shape[1] == self.dimension
        if not shape or array.dtype.kind not in "iufb":
            raise InvalidArgument(
                f"values must be a matrix of numbers with {self.dimension} columns."
            )
        with np.errstate(over="ignore"):
            numbers = array.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise InvalidArgument("values must be finite. Leave such people out.")
        return numbers

    def _polar(self, values: Floats) -> tuple[Floats, Floats]:
        """Return each vector's direction, not normalized, and its length / radius."""
        most = np.abs(values).max(axis=1, keepdims=True)
        scaled = values / np.where(most > 0, most, 1.0)  # no square overflows
        norm = np.sqrt((scaled * scaled).sum(axis=1))
        # Lengths beyond the radius are cut, even where the product would overflow.
        length = norm * np.minimum(most[:, 0] / self.radius, 1.0)
        return scaled, np.minimum(length, 1.0)

    def _encode(self, values: Floats, source: Source) -> Bytes:
        rows = np.empty((len(values), self.width), dtype=np.uint8)
        step = max(1, _WORK // (self.pairs * self.dimension))
        for start in range(0, len(values), step):
            told = self._reported_directions(values[start : start + step], source)
            rows[start : start + step] = told.view(np.uint8)
        return rows

    def _reported_directions(self, values: Floats, source: Source) -> NDArray[np.int16]:
        """Return the reported direction of each of a few people."""
        people, person = len(values), np.arange(len(values))
        scaled, length = self._polar(values)
        # The vector is on the sphere from here: itself or its opposite, on average it.
        along = bernoulli((1 + length) / 2, source=source)
        drawn = _directions((people, self.pairs, self.dimension), source)
        floats = drawn.astype(np.float64)
        score = np.matmul(floats, scaled[:, :, None])[:, :, 0]
        score /= np.sqrt(np.einsum("ijk,ijk->ij", floats, floats))
        # Any set of `near` of the directions would be private; this one is useful.
        best = np.argpartition(-np.abs(score), self.near - 1, axis=1)
        pick = best[person, integers(self.near, people, source=source)]
        agrees = (score[person, pick] >= 0) == along
        any_ = integers(2 * self.pairs, people, source=source)
        blind = bernoulli(2 * self.pairs / self._weight, people, source=source)
        place = np.where(blind, any_ >> 1, pick)
        sign = np.where(np.where(blind, any_ & 1, agrees), 1, -1)
        told: NDArray[np.int16] = drawn[person, place] * sign[:, None]
        return np.ascontiguousarray(told.astype("<i2"))

    def _zero(self) -> Integers:
        return np.zeros((2, self.dimension), dtype=np.int64)

    def _count(self, rows: Bytes) -> Integers:
        """Return the sums of the coordinates of unit vectors and of their squares."""
        drawn = np.ascontiguousarray(rows).view("<i2").astype(np.float64)
        unit = drawn / np.sqrt((drawn * drawn).sum(axis=1, keepdims=True))
        parts = [np.rint(each * _UNIT).astype(np.int64) for each in (unit, unit * unit)]
        return np.stack([each.sum(axis=0) for each in parts])

    def estimate(self, reports: Reports | Tally) -> Estimate:
        """Return the mean vector, with the std of the noise in each coordinate.

        Guarantee: the std is at least that of the noise, and equal to it when people
        agree; it is that of the mean of the population when they are a sample.
        """
        tally = self._tally(reports)
        n, (a, b) = tally.people, self._moments
        first, second = tally.totals / (_UNIT * n)
        value = self._gain * first
        # The mean of the squared coordinates of people's directions, as reports tell.
        held = np.clip((second - a) / b, 0.0, 1.0) if b > 1e-9 else np.ones_like(first)
        known = np.minimum(value**2, self.radius**2 * held)
        noise = self._gain**2 * (a + b * held) - known
        std = np.sqrt(np.maximum(noise, 0.0) / n)
        # Of vectors on the sphere, the most that people differ.
        return Estimate(value, std, n * self.radius**2 / self._gain**2)

    def squared_error(self, values: Any) -> float:
        """Return the expected squared ℓ2 error of the mean of these vectors.

        Guarantee: exact, up to the lattice.

        Example:
            >>> one = VectorMean(epsilon=4.0, dimension=32, pairs=1)
            >>> points = np.zeros((1000, 32))
            >>> round(one.squared_error(points), 4)
            0.0532
            >>> round(VectorMean(epsilon=4.0, dimension=32).squared_error(points), 4)
            0.015
        """
        vectors = self._clean(values)
        n = count_of(len(vectors))
        held = float(((self._polar(vectors)[1] * self.radius) ** 2).sum())
        return (n * self._gain**2 - held) / n**2

    def worst_variance(self, people: int) -> float:
        """Return the largest expected squared ℓ2 error of the mean."""
        return self._gain**2 / count_of(people)


def _directions(shape: tuple[int, int, int], source: Source) -> Integers:
    """Return lattice directions: near uniform, and never zero nor beyond 16 bits."""
    drawn: Integers = discrete_gaussian(_STD, shape, source=source)
    while True:
        bad = ~drawn.any(axis=2) | (np.abs(drawn) >= 1 << 15).any(axis=2)
        if not (again := int(bad.sum())):
            return drawn
        drawn[bad] = discrete_gaussian(_STD, (again, shape[2]), source=source)


# -- How well the best of some random directions agree with a given one ----------------

_CELLS = (
    1 << 14
)  # of the trapezoid rule: errors below 10^-7, those of the lattice 10^-6
_REACH = 14.0  # standard deviations of one coordinate of a direction


def _sums(values: Floats, step: float) -> Floats:
    """Return the running trapezoid sums from 0."""
    return np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) * (step / 2))])


@lru_cache(maxsize=256)
def agreement(dimension: int, pairs: int, near: int, power: int) -> float:
    """Return E Σ b^power over the `near` largest of `pairs` independent b = |u₁|.

    u is a uniform direction. With u₁ = sin θ the density of θ is proportional to
    cos^(dimension-2) θ; b is among the largest if fewer than `near` others exceed it.

    Example:
        >>> round(agreement(3, 1, 1, 1), 6), round(agreement(3, 1, 1, 2), 6)
        (0.5, 0.333333)
        >>> round(agreement(3, 4, 4, 1), 6)
        2.0
    """
    if dimension == 1:
        return float(near)
    top = min(math.pi / 2, _REACH / math.sqrt(dimension))
    angle, step = np.linspace(0.0, top, _CELLS + 1, retstep=True)
    weight = np.cos(angle) ** (dimension - 2)
    below = _sums(weight, float(step))
    density = weight / below[-1]
    above = np.maximum(1 - below / below[-1], 0.0)
    others = pairs - 1
    few = np.zeros_like(angle)
    for j in range(min(near, pairs)):
        few += math.comb(others, j) * above**j * (1 - above) ** (others - j)
    terms = np.sin(angle) ** power * density * few
    return pairs * float(_sums(terms, float(step))[-1])
