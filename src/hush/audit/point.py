"""A promise δ(ε) of a claim, and how evidence from several rounds counts against it.

A round is some runs with an event that was fixed before them. Later rounds use events
that were learned on all earlier ones, so that few runs are spent on learning alone.
What one round says is a p-value that is valid whatever came before; weighted sums of
their normal quantiles are again normal if the claim holds, with weights fixed ahead.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from scipy import special

from hush.audit.evidence import (
    Guesses,
    best_stake,
    binomial,
    capital,
    counted,
    critical,
    least,
    odds,
    shaken,
)
from hush.privacy.approx import Approx
from hush.privacy.curve import Curve
from hush.privacy.pure import Pure

Kind = Literal["binomial", "accuracy", "betting"]

_CAUGHT = 0.95
_INSIDE = (0.3, 0.65)  # where between 0 and the end a curve is looked at
_RARE = 0.01  # the end of a curve without one: δ this much below its largest
_LARGEST = 30.0
_SHARE = 0.01  # of the error rate, for how often a guess is made at all
_LEAST = 1e-300


@final
@dataclass(frozen=True)
class Round:
    """Runs with one event: its guesses, stake and sides, and a uniform number."""

    guesses: Guesses
    stake: float
    sides: int  # how many of the two data sets the event ever guesses
    luck: float


Rounds = Sequence[Round]


@final
@dataclass(frozen=True)
class Point:
    """One promise of a claim: δ(ε) <= delta.

    Evidence is "binomial" (right guesses among those made), "accuracy" (right guesses
    among all runs, where ε = 0) or "betting", which may stop at any time.
    """

    epsilon: float
    delta: float
    kind: Kind = "binomial"

    def chance(self, epsilon: float, sides: int, mass: float) -> float:
        """Return the largest chance that a guess is right.

        `mass` is how often one is made. Of a chance a for right and b for wrong guesses
        a <= e^ε·b + kδ/2 is known, so that b >= (mass - kδ/2)/(1 + e^ε).
        """
        if self.kind == "accuracy":
            return min(1.0, (1 + self.delta) / 2)
        charge = sides * self.delta / 2
        if charge >= mass:
            return 1.0 if self.delta else float(special.expit(epsilon))
        lied = float(special.expit(-epsilon)) * (1 - charge / mass)
        return 1 - lied

    def p_value(self, rounds: Rounds, level: float) -> float:
        """Return a p-value; with betting it is valid at any time.

        Guarantee: at most t with chance at most t if the claim holds. `level` says how
        much error is set aside for how often a guess is made, where δ > 0.
        """
        if self.kind == "betting":
            return math.exp(-max(self._capital(rounds, self.epsilon), 0.0))
        return self._combined(rounds, self.epsilon, level)

    def _capital(self, rounds: Rounds, epsilon: float) -> float:
        bets = [(r.guesses, r.sides * self.delta / 2, r.stake) for r in rounds]
        return float(np.max(capital(bets, epsilon)))

    def _combined(self, rounds: Rounds, epsilon: float, level: float) -> float:
        """Add up normal quantiles, weighted by the root of planned runs.

        Where δ > 0 every round may be wrong about how often a guess is made, with a
        small chance that is set aside. A round that cannot speak against the claim
        still takes its part, as pure chance: leaving it out would let a learner stop
        after a lucky round.
        """
        guessing = self.kind == "binomial" and self.delta > 0
        aside = (1 - level) * _SHARE if guessing else 0.0
        runs = [len(each.guesses) for each in rounds]
        total, heard = 0.0, False
        for each, count in zip(rounds, runs, strict=True):
            found = self._of_round(each, epsilon, aside)
            heard = heard or found is not None
            luck = each.luck if found is None else found
            total += math.sqrt(count) * float(special.ndtri(max(luck, _LEAST)))
        if not heard:
            return 1.0
        combined = float(special.ndtr(total / math.sqrt(sum(runs))))
        return min(1.0, combined + len(rounds) * aside)

    def _of_round(self, one: Round, epsilon: float, aside: float) -> float | None:
        """Return the p-value of one round; None if its guesses cannot matter."""
        right, made = counted(one.guesses)
        mass = least(made, len(one.guesses), aside) if aside else 1.0
        chance = self.chance(epsilon, one.sides, mass)
        if made == 0 or chance == 1:
            return None
        return shaken(right, made, chance, one.luck)

    def epsilon_lower(self, rounds: Rounds, level: float) -> float:
        """Return an ε that is refuted at this δ (at 0, where ε = 0 was looked at)."""
        point = self if self.kind != "accuracy" else Point(0.0, 0.0)
        if point.kind == "betting":
            need = -math.log1p(-level)

            def refuted(epsilon: float) -> bool:
                return point._capital(rounds, epsilon) >= need
        else:

            def refuted(epsilon: float) -> bool:
                return point._combined(rounds, epsilon, level) <= 1 - level

        if not refuted(0.0):
            return 0.0
        low, high = 0.0, 40.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if refuted(middle) else (low, middle)
        return low

    def caught(self, rounds: Rounds, level: float) -> float:
        """Return an estimate of the ε that such an audit catches 95 times in 100."""
        runs = sum(len(each.guesses) for each in rounds)
        made = sum(counted(each.guesses)[1] for each in rounds)
        sides = max(each.sides for each in rounds)
        low, high = self.epsilon, self.epsilon + 40.0
        for _ in range(50):
            middle = (low + high) / 2
            seen = self._power(middle, made, runs, 1 - level, sides) >= _CAUGHT
            low, high = (low, middle) if seen else (middle, high)
        return high if high < self.epsilon + 39 else math.inf

    def _power(
        self, epsilon: float, made: int, runs: int, alpha: float, sides: int
    ) -> float:
        mass = made / runs if runs else 0.0
        if self.kind == "accuracy":
            chance = float(special.expit(epsilon))
            need = critical(made, self.chance(0.0, sides, mass), alpha)
            return binomial(need, made, chance)
        chance = self.chance(epsilon, sides, mass)
        if self.kind == "binomial":
            surely = least(made, runs, alpha * _SHARE) if self.delta else mass
            bound = self.chance(self.epsilon, sides, surely)
            return binomial(critical(made, bound, alpha), made, chance)
        if math.isinf(odds(self.epsilon)):
            return 0.0
        charge = sides * self.delta / 2
        right, wrong = mass * chance, mass * (1 - chance)
        stake = best_stake(right, wrong, self.epsilon, charge)
        worst = odds(self.epsilon) + charge
        logs = np.log1p(stake * np.array([1 - charge, -worst, -charge]))
        rates = np.array([right, wrong, 1 - mass])
        mean = float(rates @ logs)
        spread = math.sqrt(max(float(rates @ logs**2) - mean**2, 1e-300))
        excess = runs * mean - math.log(2 / alpha)
        return float(special.ndtr(excess / (spread * math.sqrt(runs))))


def points(claim: Curve) -> list[Point]:
    """Return the promises of a claim that an audit looks at.

    A pure or approximate claim is one promise. A curve is many; a few of them, from
    the accuracy of guessing down to rare events, are offered to the training runs.

    Example:
        >>> from hush.privacy import Approx
        >>> points(Pure(1.0))
        [Point(epsilon=1.0, delta=0.0, kind='binomial')]
        >>> [point.kind for point in points(Approx(1.0, 1e-6))]
        ['binomial', 'betting']
    """
    if isinstance(claim, Pure):
        return [Point(float(claim.epsilon), 0.0)]
    if isinstance(claim, Approx):
        return _kinds(float(claim.epsilon), float(claim.delta))
    try:
        return list(_several(claim))
    except TypeError:  # a curve without a hash
        return list(_several.__wrapped__(claim))


def _kinds(epsilon: float, delta: float) -> list[Point]:
    """Return the kinds of evidence that there are against one promise."""
    if delta == 0:
        return [Point(epsilon, 0.0)]
    if epsilon == 0:
        return [Point(epsilon, delta, "accuracy")]
    return [Point(epsilon, delta), Point(epsilon, delta, "betting")]


@functools.lru_cache(maxsize=64)
def _several(claim: Curve) -> tuple[Point, ...]:
    """Return a few promises of a curve; composed ones take seconds for each."""
    accuracy, largest = float(claim.delta_at(0.0)), float(claim.epsilon_at(0.0))
    pure = largest < _LARGEST
    if pure:
        top = largest
    else:  # some curves never come down to a small δ
        floor = float(claim.delta_at(_LARGEST))
        top = float(claim.epsilon_at(max(accuracy * _RARE, min(1.05 * floor, 1.0))))
    rates = top * np.array(_INSIDE if pure else (*_INSIDE, 1.0))
    deltas = np.asarray(claim.delta_at(rates))
    found = [Point(0.0, accuracy, "accuracy")] if accuracy < 1 else []
    for epsilon, delta in zip(rates, deltas, strict=True):
        found += _kinds(float(epsilon), float(delta))
    return tuple(dict.fromkeys([*found, Point(top, 0.0)] if pure else found))
