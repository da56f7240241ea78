"""Optimal partition selection: as often as (ε, δ) allows, keys counted in people."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument, NoBound
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import Metric
from hush.mechanisms.partition_selection import KeySelection, Votes, candidates, vote
from hush.noise import SECURE, Source
from hush.noise.inversion import exp_bracket
from hush.privacy.curve import Curve
from hush.privacy.notions.approx import Approx
from hush.privacy.rounding import at_most
from hush.privacy.rules.composition import repeat
from hush.privacy.rules.group import group
from hush.serialization import tagged
from hush.units import Neighbors

_BITS = 62
_ONE = 1 << _BITS
_LONGEST = 1 << 20  # entries of the table of chances


@final
@tagged("optimal_key_selection/1")
@dataclass(frozen=True, repr=False)
class OptimalKeySelection(Mechanism):
    """Name a key that n people hold with the largest chance that privacy allows.

    Each person holds at most `keys_per_person` keys and counts as 1 for each. The
    chances are whole numbers of 2^-62 with p₀ = 0 and every step as large as (ε, δ)
    allows for one key, rounded down. Only names come out, no counts.

    Guarantee: (ε, δ) for every key, exactly; repeated for the keys of a person, twice
    as many for replace-one.

    Example:
        >>> m = OptimalKeySelection(epsilon=1.0, delta=1e-6)
        >>> m.curve(), m.people(0.5)
        (Approx(epsilon=1.0, delta=1e-06), 14)
        >>> m.run([1, 900, 2]).tolist()
        [1]

    Reference: [DVGM22]; docs/proofs/key_selection.md.
    """

    noise: ClassVar[str] = "target"
    epsilon: float
    delta: float
    keys_per_person: int = 1
    neighbors: Neighbors = Neighbors.ADD_REMOVE

    @property
    def metric(self) -> Metric:
        """People: each of them counts once for few keys."""
        return Votes(None, self.neighbors, self.keys_per_person)

    def __post_init__(self) -> None:
        checks.real("epsilon", self.epsilon, above=0, at_most=700)
        checks.real("delta", self.delta, at_least=2.0**-_BITS, below=1)
        checks.whole("keys_per_person", self.keys_per_person, at_least=1)
        object.__setattr__(self, "neighbors", Neighbors.of(self.neighbors))

    @property
    def _changed_keys(self) -> int:
        """How many keys' counts differ between neighbors."""
        return self.keys_per_person * (1 + (self.neighbors is Neighbors.REPLACE_ONE))

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee for `sensitivity` people."""
        size = checks.whole("sensitivity", sensitivity, at_least=0)
        one = Approx(epsilon=float(self.epsilon), delta=float(self.delta))
        return group(
            one if self._changed_keys == 1 else repeat(one, times=self._changed_keys),
            size,
        )

    @cached_property
    def chances(self) -> NDArray[np.int64]:
        """Chance of a key with 0, 1, 2, ... holders in units of 2^-62; then 1."""
        # 1/e^ε from above, so that e^ε is never overstated.
        shrink = exp_bracket(checks.rational("epsilon", self.epsilon), 60)[1]
        grown = math.floor(_ONE / shrink)  # e^ε in units of 2^-62, rounded down
        slack = math.floor(checks.rational("delta", self.delta) * _ONE)
        found = [0]
        while found[-1] < _ONE:
            last = found[-1]
            up = last * grown // _ONE + slack
            # 1 - p(n-1) ≤ e^ε (1 - p(n)) + δ, solved for p(n).
            left = max(0, _ONE - last - slack)
            down = _ONE - math.ceil(Fraction(left * _ONE, grown))
            found.append(min(up, down, _ONE))
            if len(found) > _LONGEST:
                raise NoBound(
                    "epsilon is so small that a key needs over a million people."
                )
        return np.array(found, dtype=np.int64)

    def chance(self, people: int) -> float:
        """Return the chance that a key with so many holders is named."""
        place = min(checks.whole("people", people, at_least=0), self.chances.size - 1)
        return float(self.chances[place]) / _ONE

    def people(self, chance: float) -> int:
        """Return how many holders a key needs to be named with at least `chance`."""
        chance = checks.real("chance", chance, above=0, at_most=1)
        wanted = math.ceil(Fraction(chance) * _ONE)
        return int(np.searchsorted(self.chances, wanted, side="left"))

    @property
    def error(self) -> Any:
        """There is none: names are right or absent; see `chance`."""
        raise InvalidArgument("names have no error law: read chance(people).")

    def run(self, value: Any, *, source: Source = SECURE) -> NDArray[np.int64]:
        """Return the places of the keys that may be named, ascending.

        The places refer to the order of `value`: sort the named keys before they are
        shown.
        """
        people = np.clip(candidates(value), 0, self.chances.size - 1)
        draws = source.integers(people.size, _BITS)
        return np.flatnonzero(draws < self.chances[people])

    @classmethod
    def for_curve(cls, target: Curve, sensitivity: Any = 1, **public: Any) -> Self:
        """Return the mechanism that spends (ε, δ) evenly over a person's keys."""
        if not isinstance(target, Approx) or target.delta == 0:
            raise NoBound("optimal key selection needs a target Approx with delta > 0.")
        if checks.whole("sensitivity", sensitivity, at_least=1) > 1:
            raise InvalidArgument(
                "sensitivity must be 1 person here; read curve(n) for n people."
            )
        moved = cls(epsilon=1.0, delta=0.5, **public)._changed_keys
        epsilon, delta = (
            at_most(Fraction(each) / moved) for each in (target.epsilon, target.delta)
        )
        return cls(epsilon=epsilon, delta=delta, **public)

    @classmethod
    def for_accuracy(cls, *_: Any, **__: Any) -> Self:
        """Refuse: read `people(chance)` instead."""
        raise InvalidArgument(
            "accuracy has no single meaning here: read people(chance)."
        )


def choose_key_selection(
    epsilon: float,
    delta: float,
    *,
    keys_per_person: int = 100,
    neighbors: str | Neighbors = Neighbors.ADD_REMOVE,
) -> KeySelection | OptimalKeySelection:
    """Return the key selection that needs fewer holders of all their keys.

    The choice is made from public numbers alone: whose keys need fewer people to be
    named with chance 1/2 when every holder has `keys_per_person` keys.

    Example:
        >>> type(choose_key_selection(1.0, 1e-6, keys_per_person=1)).__name__
        'OptimalKeySelection'
        >>> type(choose_key_selection(1.0, 1e-6, keys_per_person=100)).__name__
        'KeySelection'
    """
    keys_per_person = checks.whole("keys_per_person", keys_per_person, at_least=1)
    public = {"keys_per_person": keys_per_person, "neighbors": neighbors}
    votes = KeySelection.for_epsilon(epsilon, delta=delta, **public)
    if keys_per_person > 8:  # whole counts cost K times the noise, votes √K
        return votes
    counts = OptimalKeySelection.for_epsilon(epsilon, delta=delta, **public)
    needed = -(-votes.threshold // vote(keys_per_person))
    return counts if counts.people(0.5) <= needed else votes
