"""Hypothesis tests of a claim: its promise δ(ε), and how evidence counts against it.

A round is some runs with an event that was fixed before them. Later rounds use events
that were learned on all earlier ones, so that few runs are spent on learning alone.
What one round says is a p-value that is valid whatever came before; weighted sums of
their normal quantiles are again normal if the claim holds, with weights fixed ahead.
"""

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hush.privacy.curve import Curve
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.pure import Pure

# --------------------------------------------------------------------------------------
# Evidence against a claim: exact binomial tails, and bets that are fair under it.
#
# A fair coin chooses which of two data sets is run; the auditor guesses the coin from
# the result or abstains. Under ε-privacy a guess is right with chance at most e^ε/(1
# + e^ε), whatever came before. Under (ε, δ)-privacy X = 1[right] - e^ε·1[wrong] -
# kδ/2 has mean at most 0, k being how many of the two data sets are ever guessed, so
# a gambler who stakes a share λ of the capital on it cannot expect to gain.

RIGHT, WRONG, PASS = 1, -1, 0
Guesses = NDArray[np.int64]  # RIGHT, WRONG or PASS, one per run
Bet = tuple[Guesses, float, float]  # guesses, the charge kδ/2, the share to stake

_STAKES = 0.99 * 2.0 ** (-np.arange(24) / 2)
_MOMENTS = 256


def odds(epsilon: float) -> float:
    """Return e^ε, or infinity where no float can hold it."""
    return math.exp(epsilon) if epsilon < 700 else math.inf


def binomial(right: int, guesses: int, chance: float) -> float:
    """Return P(Bin(guesses, chance) >= right).

    Example:
        >>> binomial(2, 2, 0.5)
        0.25
    """
    if right <= 0 or right > guesses:
        return float(right <= 0)
    return float(special.betainc(right, guesses - right + 1, chance))


def randomized_tail(right: int, guesses: int, chance: float, luck: float) -> float:
    """Return P(Bin > right) + luck·P(Bin = right): uniform if `luck` is, and fair.

    Guarantee: with a uniform `luck`, and guesses that are right with chance at most
    `chance`, the result is at most t with chance at most t.

    Example:
        >>> randomized_tail(2, 2, 0.5, luck=1.0), randomized_tail(2, 2, 0.5, luck=0.0)
        (0.25, 0.0)
    """
    over = binomial(right + 1, guesses, chance)
    return over + luck * (binomial(right, guesses, chance) - over)


def chance_lower(seen: int, runs: int, alpha: float) -> float:
    """Return a lower bound on a chance (Clopper-Pearson), wrong with chance `alpha`.

    Example:
        >>> round(chance_lower(50, 100, alpha=0.05), 4)
        0.4136
    """
    if seen <= 0:
        return 0.0
    return float(special.betaincinv(seen, runs - seen + 1, alpha))


def critical(guesses: int, chance: float, alpha: float) -> int:
    """Return how many right guesses refute `chance`; one more than all if none do.

    Example:
        >>> critical(10, 0.5, alpha=0.05)
        9
    """
    low, high = 0, guesses + 1
    while high - low > 1:
        middle = (low + high) // 2
        enough = binomial(middle, guesses, chance) <= alpha
        low, high = (low, middle) if enough else (middle, high)
    return high


def capital(bets: Iterable[Bet], epsilon: float) -> Any:
    """Return the logarithm of a gambler's capital at a few hundred moments.

    Each round has guesses, the charge kδ/2 and a share to stake, fixed before it. Half
    of the capital follows these shares, the rest is spread over shares that never
    change; one that could ruin the gambler is given up. For every ε and δ the capital
    is a supermartingale under the claim, and it never grows with ε.
    """
    weights = np.append(np.full(len(_STAKES), 0.5 / len(_STAKES)), 0.5)
    held = np.zeros(len(weights))  # the logarithm of what each part has become
    series = [np.full(1, -math.inf)]
    for guesses, charge, stake in bets:
        worst = odds(epsilon) + charge
        if math.isinf(worst):
            return series[0]
        shares = np.append(_STAKES, stake)
        fits = shares * worst < 1
        held, shares = np.where(fits, held, -math.inf), np.where(fits, shares, 0.0)
        # Only how often each outcome came matters, so a few moments cost nothing.
        ends = np.linspace(0, len(guesses), _MOMENTS + 1).astype(np.int64)
        moments = np.unique(ends)[1:]
        counts = np.array(
            [np.cumsum(guesses == each)[moments - 1] for each in (PASS, RIGHT, WRONG)]
        )
        gains = np.log1p(np.outer(shares, [-charge, 1 - charge, -worst]))
        grown = held[:, None] + gains @ counts
        series.append(special.logsumexp(grown, axis=0, b=weights[:, None]))
        held = grown[:, -1]
    return np.concatenate(series)


def best_stake(right: float, wrong: float, epsilon: float, charge: float) -> float:
    """Return the share that would have grown fastest at these rates."""
    worst = odds(epsilon) + charge
    if math.isinf(worst):
        return 0.0
    shares = np.linspace(0.002, 0.98, 200) / worst
    rest = max(0.0, 1 - right - wrong)
    growth = (
        right * np.log1p(shares * (1 - charge))
        + wrong * np.log1p(-shares * worst)
        + rest * np.log1p(-shares * charge)
    )
    return float(shares[int(np.argmax(growth))])


def guess_counts(guesses: Guesses) -> tuple[int, int]:
    """Return how many guesses were right, and how many were made."""
    return int(np.sum(guesses == RIGHT)), int(np.sum(guesses != PASS))


# --------------------------------------------------------------------------------------
# A promise δ(ε) of a claim, and how evidence from several rounds counts against it.

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
        return self._combined_p_value(rounds, self.epsilon, level)

    def _capital(self, rounds: Rounds, epsilon: float) -> float:
        bets = [(r.guesses, r.sides * self.delta / 2, r.stake) for r in rounds]
        return float(np.max(capital(bets, epsilon)))

    def _combined_p_value(self, rounds: Rounds, epsilon: float, level: float) -> float:
        """Add up normal quantiles, weighted by the root of planned runs.

        Where δ > 0 every round may be wrong about how often a guess is made, with a
        small chance that is set aside. A round that cannot refute the claim
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
        right, made = guess_counts(one.guesses)
        mass = chance_lower(made, len(one.guesses), aside) if aside else 1.0
        chance = self.chance(epsilon, one.sides, mass)
        if made == 0 or chance == 1:
            return None
        return randomized_tail(right, made, chance, one.luck)

    def epsilon_lower(self, rounds: Rounds, level: float) -> float:
        """Return an ε that is refuted at this δ (at 0, where ε = 0 was looked at)."""
        point = self if self.kind != "accuracy" else Point(0.0, 0.0)
        if point.kind == "betting":
            need = -math.log1p(-level)

            def is_refuted(epsilon: float) -> bool:
                return point._capital(rounds, epsilon) >= need
        else:

            def is_refuted(epsilon: float) -> bool:
                return point._combined_p_value(rounds, epsilon, level) <= 1 - level

        if not is_refuted(0.0):
            return 0.0
        low, high = 0.0, 40.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if is_refuted(middle) else (low, middle)
        return low

    def caught_epsilon(self, rounds: Rounds, level: float) -> float:
        """Return an estimate of the ε that such an audit catches 95 times in 100."""
        runs = sum(len(each.guesses) for each in rounds)
        made = sum(guess_counts(each.guesses)[1] for each in rounds)
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
            surely = chance_lower(made, runs, alpha * _SHARE) if self.delta else mass
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
        return list(_promises(claim))
    except TypeError:  # a curve without a hash
        return list(_promises.__wrapped__(claim))


def _kinds(epsilon: float, delta: float) -> list[Point]:
    """Return the kinds of evidence that there are against one promise."""
    if delta == 0:
        return [Point(epsilon, 0.0)]
    if epsilon == 0:
        return [Point(epsilon, delta, "accuracy")]
    return [Point(epsilon, delta), Point(epsilon, delta, "betting")]


@functools.lru_cache(maxsize=64)
def _promises(claim: Curve) -> tuple[Point, ...]:
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
