"""Partition selection: which groups may be named, when their names are in the data.

Each person votes for the keys they hold; a key is named when its noisy votes reach a
threshold that a key held by one person alone almost never reaches.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks, law
from hush.checks import number_array
from hush.errors import InvalidArgument, NoBound
from hush.mechanisms import calibration, lattice_rounding
from hush.mechanisms.error import Error
from hush.mechanisms.lattice_rounding import lattice_curve
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import NONE, Distance, Metric, lp, nonzero_differences
from hush.noise import SECURE, Source, discrete_gaussian
from hush.privacy.curve import Curve
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.gdp import GDP
from hush.privacy.notions.pure import Pure
from hush.privacy.pairs.curve_interval import worst
from hush.privacy.rules.composition import compose
from hush.privacy.rules.group import group
from hush.serialization import tagged
from hush.units import Neighbors

WHOLE = 1 << 20  # the vote of a person who holds one key
_ROUNDING = 1e-11  # relative error of the tail of a discrete Gaussian, with room
_SHARES = (0.5, 0.3, 0.7, 0.1, 0.9, 0.02, 0.98)  # of δ, where it must be divided


@final
@tagged("selected_keys/1")
@dataclass(frozen=True)
class Selected:
    """Places of the keys that may be named, ascending, and their noisy votes."""

    places: NDArray[np.int64]
    votes: NDArray[np.int64]


@final
@dataclass(frozen=True)
class Votes(Metric):
    """Whether two lists of votes per key are those of neighbors: 1, or no distance.

    One person votes for few keys. Their votes have squares that add up to at most a
    `whole` one; without it they are counts of people, which move by one each.
    """

    neighbors: Neighbors = Neighbors.ADD_REMOVE
    keys_per_person: int = 1
    whole: int | None = None
    norm: ClassVar[float] = 1

    def distance(self, first: Any, second: Any) -> Distance | None:
        """Return 1 for neighbors; for counts the largest move."""
        people = 1 if self.neighbors is Neighbors.ADD_REMOVE else 2
        found = nonzero_differences(first, second)
        if found is None or len(found) > people * self.keys_per_person:
            return NONE
        if self.whole is None:
            return lp(first, second, math.inf)
        most = people * self.whole**2
        return Distance(Fraction(1)) if sum(x * x for x in found) <= most else NONE


def vote(keys: int, whole: int = WHOLE) -> int:
    """Return the vote of a person for each of `keys` kept keys: ⌊whole/√keys⌋.

    Guarantee: keys · vote² ≤ whole², so that all votes of a person have ℓ2 ≤ whole.

    Example:
        >>> vote(1), vote(2), vote(4)
        (1048576, 741455, 524288)
    """
    return math.isqrt(whole * whole // keys)


def candidates(value: Any) -> NDArray[np.int64]:
    """Return votes as whole numbers, or refuse them before anything is drawn."""
    array = number_array("value", value)
    if array.ndim != 1 or (array.size and not lattice_rounding.are_whole(array)):
        raise InvalidArgument("value must be a vector of whole votes, one per key.")
    return (
        lattice_rounding.whole_vector(array)
        if array.size
        else np.zeros(0, dtype=np.int64)
    )


@final
@tagged("key_selection/1")
@dataclass(frozen=True, repr=False)
class KeySelection(Mechanism):
    """Name the keys whose votes plus discrete Gaussian noise reach `threshold`.

    A person with k ≤ `keys_per_person` keys gives each the vote ⌊whole/√k⌋. A key that
    nobody holds (no votes) is never named. `curve(n)` speaks of n people at once.

    Guarantee: with μ of the Gaussian noise at ℓ2 distance `whole`, and δ₁ the odds that
    any key which one person alone holds is named, for the worst number of keys: the
    worse of μ-GDP and (0, δ₁), not their sum; √2 μ and 2 δ₁ for replace-one.

    Example:
        >>> m = KeySelection.for_epsilon(epsilon=1, delta=1e-6, keys_per_person=100)
        >>> round(m.std / WHOLE, 3), round(m.threshold / WHOLE, 2)
        (4.225, 23.81)
        >>> m.curve().delta_at(1.0) <= 1e-6
        True
        >>> found = m.run([WHOLE, 900 * WHOLE, 2 * WHOLE])
        >>> found.places.tolist()
        [1]

    Reference: [GGKSSY20] for weighted votes; docs/proofs/key_selection.md.
    """

    noise: ClassVar[str] = "std"
    std: float | Fraction
    threshold: int
    keys_per_person: int = 100
    neighbors: Neighbors = Neighbors.ADD_REMOVE
    whole: int = WHOLE

    @property
    def metric(self) -> Metric:
        """People: the votes that one person gives to few keys."""
        return Votes(None, self.neighbors, self.keys_per_person, self.whole)

    def __post_init__(self) -> None:
        lattice_rounding.drawable("std", self.std)
        checks.whole("threshold", self.threshold, at_least=1)
        checks.whole("keys_per_person", self.keys_per_person, at_least=1, at_most=10**5)
        checks.whole("whole", self.whole, at_least=1, at_most=WHOLE)
        named = isinstance(self.neighbors, str)
        known = Neighbors(self.neighbors) if named else Neighbors.of(self.neighbors)
        object.__setattr__(self, "neighbors", known)

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("std", self.std)

    @cached_property
    def _law(self) -> law.DiscreteGaussian:
        return law.DiscreteGaussian(self._exact)

    @property
    def _people(self) -> int:
        """How many people's votes differ between neighbors."""
        return 1 + (self.neighbors is Neighbors.REPLACE_ONE)

    @property
    def singleton(self) -> float:
        """Largest chance that one key with one holder is named, rounded up."""
        return self.chance(self.whole) * (1 + _ROUNDING)

    @property
    def odds(self) -> float:
        """δ₁ = D/(1-D), D the chance that any key of one person alone is named."""
        return _odds(self._law, self.threshold, self.keys_per_person, self.whole)

    def chance(self, votes: int) -> float:
        """Return the chance that a key with these votes is named."""
        below = self.threshold - checks.whole("votes", votes) - 1
        return float(self._law.survival(below)) if votes > 0 else 0.0

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee for `sensitivity` people."""
        size = checks.whole("sensitivity", sensitivity, at_least=0)
        return self._curve_of_one if size == 1 else group(self._curve_of_one, size)

    @cached_property
    def _curve_of_one(self) -> Curve:
        norm = _norm(self.whole, self._people)
        noise = lattice_curve(self._exact, norm, scalar=False)
        odds = self._people * self.odds
        if isinstance(noise, GDP) and _separate(noise.mu, odds):
            return worst([noise, Approx(epsilon=0.0, delta=odds)])
        if odds >= 1:
            return Pure(epsilon=math.inf)
        return compose(noise, Approx(epsilon=0.0, delta=odds))

    @property
    def error(self) -> Error:
        """Exact law of the noise on a vote, before keys are dropped."""
        return Error(((self._law, Fraction(1)),))

    def run(self, value: Any, *, source: Source = SECURE) -> Selected:
        """Return which keys may be named; `value` has one number of votes per key.

        The places refer to the order of `value`, which is private as long as it is not
        a public order of the keys: sort the named keys before they are shown.
        """
        votes = candidates(value)
        noisy = votes + discrete_gaussian(self._exact, votes.shape, source=source)
        places = np.flatnonzero((votes > 0) & (noisy >= self.threshold))
        return Selected(places, noisy[places])

    @classmethod
    def for_curve(cls, target: Curve, sensitivity: Any = 1, **public: Any) -> Self:
        """Return the least noise and the lowest threshold that meet (ε, δ)."""
        if not isinstance(target, Approx) or target.delta == 0:
            raise NoBound(
                "a key of one person appears with a chance that only δ can pay for. "
                "Use for_epsilon(epsilon, delta=...) with delta above 0."
            )
        if checks.whole("sensitivity", sensitivity, at_least=1) > 1:
            raise InvalidArgument(
                "sensitivity must be 1 person here; read curve(n) for n people."
            )
        for noise, tail in _divisions(target.delta):
            made = cls._with_split(target.epsilon, noise, tail, public)
            if calibration.is_as_private(made.curve(1), target):
                return made
        raise NoBound("no threshold meets this target. Use a smaller delta.")

    @classmethod
    def _with_split(
        cls, epsilon: float, noise: float, tail: float, public: dict[str, Any]
    ) -> Self:
        """Return the mechanism whose noise costs δ = `noise`, its threshold `tail`."""
        sample = cls(std=1, threshold=1, **public)
        whole, people = sample.whole, sample._people
        norm = _norm(whole, people)
        std = calibration.smallest(
            lambda unit: unit * whole,
            lambda std: bool(
                lattice_curve(Fraction(std), norm, scalar=False).delta_at(epsilon)
                <= noise
            ),
        )
        threshold = _lowest(
            law.DiscreteGaussian(Fraction(std)),
            sample.keys_per_person,
            whole,
            tail / people,
        )
        return cls(std=std, threshold=threshold, **public)

    @classmethod
    def for_accuracy(cls, *_: Any, **__: Any) -> Self:
        """Refuse: what a key needs depends on how many keys its holders have."""
        raise InvalidArgument(
            "accuracy has no single meaning here: read chance(votes)."
        )


def _divisions(delta: float) -> Iterator[tuple[float, float]]:
    """Yield δ of the noise and of the threshold: all of it for both, then shares."""
    yield delta, delta
    for share in _SHARES:
        yield delta * share, delta * (1 - share)


def _norm(whole: int, people: int) -> Fraction | float:
    """Return the ℓ2 distance between the votes of neighbors.

    Votes are not negative, so those of two people are at most √2 apart.
    """
    return Fraction(whole) if people == 1 else whole * math.sqrt(2) * (1 + 2.0**-50)


def _separate(mu: float, odds: float) -> bool:
    """Return whether no mixture of both losses is worse than the worse of them.

    Theorem 2 of docs/proofs/key_selection.md, for all ε at once.
    """
    # d δ/d(μ²)·μ² where δ is concave in μ²: ε ≤ μ√(1 + μ²/4).
    far = max(mu / 2, math.sqrt(1 + mu * mu / 4) - mu / 2)
    density = math.exp(-far * far / 2) / math.sqrt(2 * math.pi)
    return odds * (1 + 1e-9) <= mu / 2 * density


def _odds(noise: law.DiscreteGaussian, threshold: int, keys: int, whole: int) -> float:
    """Return max over k ≤ keys of (1-τ)^-k - 1, τ the chance of one of k keys."""
    count = np.arange(1, keys + 1, dtype=np.float64)
    votes = np.array([vote(k, whole) for k in range(1, keys + 1)], dtype=np.float64)
    # ⌊whole/√k⌋ = 0: such a person holds nothing.
    reach = np.where(votes > 0, threshold - votes - 1, np.inf)
    held = reach < np.inf
    tail = np.exp(noise.log_survival(reach[held])) * (1 + _ROUNDING)
    if np.any(tail >= 1):
        return math.inf
    with np.errstate(over="ignore"):
        odds = np.expm1(-count[held] * np.log1p(-tail))
    return float(odds.max()) * (1 + _ROUNDING)


def _lowest(noise: law.DiscreteGaussian, keys: int, whole: int, odds: float) -> int:
    """Return the lowest threshold whose odds are at most `odds`."""
    low, high = 0, whole
    while _odds(noise, high, keys, whole) > odds:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _odds(noise, middle, keys, whole) > odds:
            low = middle
        else:
            high = middle
    return high
