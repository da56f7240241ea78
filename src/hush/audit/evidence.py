"""Evidence against a claim: exact binomial tails, and bets that are fair under it.

A fair coin chooses which of two data sets is run; the auditor guesses the coin from the
result or abstains. Under ε-privacy a guess is right with chance at most e^ε/(1 + e^ε),
whatever came before. Under (ε, δ)-privacy X = 1[right] - e^ε·1[wrong] - kδ/2 has mean
at most 0, k being how many of the two data sets are ever guessed, so a gambler who
stakes a share λ of the capital on it cannot expect to gain.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hush.privacy.approx import Approx
from hush.privacy.curve import Curve
from hush.privacy.pure import Pure

RIGHT, WRONG, PASS = 1, -1, 0
Guesses = NDArray[np.int64]  # RIGHT, WRONG or PASS, one per run

_STAKES = 0.99 * 2.0 ** (-np.arange(24) / 2)
_CAUGHT = 0.95
_MOMENTS = 256
_INSIDE = (0.3, 0.65)  # where between 0 and the end a curve is looked at
_RARE = 0.01  # the end of a curve without one: δ this much below its largest
_LARGEST = 30.0


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


def epsilon_below(right: int, guesses: int, level: float) -> float:
    """Return an ε that is refuted at confidence `level`, with δ = 0; 0 if none is.

    Guarantee: the Clopper-Pearson bound on the chance of a right guess.

    Example:
        >>> round(epsilon_below(900, 1000, level=0.95), 3)
        2.021
    """
    if right <= 0:
        return 0.0
    chance = float(special.betaincinv(right, guesses - right + 1, 1 - level))
    return max(0.0, math.log(chance) - math.log1p(-chance)) if chance < 1 else 0.0


def capital(guesses: Guesses, epsilon: float, charge: float, stake: float) -> Any:
    """Return the logarithm of a gambler's capital at a few hundred moments.

    Half of it is staked at `stake`, the rest spread over fixed shares; a share that
    could ruin the gambler is not played. `charge` is kδ/2. For every ε and δ the
    capital is a supermartingale under the claim, and it never grows with ε.
    """
    worst = odds(epsilon) + charge
    if math.isinf(worst):
        return np.full(1, -math.inf)
    shares = np.append(_STAKES, stake)
    weights = np.append(np.full(len(_STAKES), 0.5 / len(_STAKES)), 0.5)
    fits = shares * worst < 1
    if not fits.any():
        return np.full(1, -math.inf)
    shares, weights = shares[fits], weights[fits]
    # Only how often each outcome came matters, so a few moments cost nothing.
    moments = np.unique(np.linspace(0, len(guesses), _MOMENTS + 1).astype(np.int64))[1:]
    counts = np.array(
        [np.cumsum(guesses == each)[moments - 1] for each in (PASS, RIGHT, WRONG)]
    )
    gains = np.log1p(np.outer(shares, [-charge, 1 - charge, -worst]))
    return special.logsumexp(gains @ counts, axis=0, b=weights[:, None])


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


@final
@dataclass(frozen=True)
class Point:
    """One promise of a claim: δ(ε) <= delta.

    `kind` is "binomial" where δ = 0, "accuracy" where ε = 0, else "betting".
    """

    epsilon: float
    delta: float

    @property
    def kind(self) -> str:
        """Which evidence counts against the promise."""
        if self.delta == 0:
            return "binomial"
        return "accuracy" if self.epsilon == 0 else "betting"

    @property
    def chance(self) -> float:
        """The largest chance of a right guess."""
        if self.kind == "accuracy":
            return min(1.0, (1 + self.delta) / 2)
        return float(special.expit(self.epsilon))

    def p_value(self, guesses: Guesses, stake: float, sides: int = 2) -> float:
        """Return a p-value; with betting it is valid at any time."""
        if self.kind == "betting":
            charge = sides * self.delta / 2
            top = float(np.max(capital(guesses, self.epsilon, charge, stake)))
            return math.exp(-max(top, 0.0))
        right, made = counted(guesses)
        return binomial(right, made, self.chance)

    def epsilon_lower(
        self, guesses: Guesses, stake: float, level: float, sides: int = 2
    ) -> float:
        """Return an ε that is refuted at this δ (at 0, where ε = 0 was looked at)."""
        if self.kind != "betting":
            return epsilon_below(*counted(guesses), level)
        need = -math.log1p(-level)

        def refuted(epsilon: float) -> bool:
            found = capital(guesses, epsilon, sides * self.delta / 2, stake)
            return float(np.max(found)) >= need

        if not refuted(0.0):
            return 0.0
        low, high = 0.0, 40.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if refuted(middle) else (low, middle)
        return low

    def caught(self, guesses: Guesses, level: float, sides: int = 2) -> float:
        """Return an estimate of the ε that such an audit catches 95 times in 100."""
        made = counted(guesses)[1]
        low, high = self.epsilon, self.epsilon + 40.0
        for _ in range(50):
            middle = (low + high) / 2
            power = self._power(middle, made, len(guesses), 1 - level, sides)
            seen = power >= _CAUGHT
            low, high = (low, middle) if seen else (middle, high)
        return high if high < self.epsilon + 39 else math.inf

    def _power(
        self, epsilon: float, made: int, runs: int, alpha: float, sides: int
    ) -> float:
        chance = float(special.expit(epsilon))
        if self.kind != "betting":
            return binomial(critical(made, self.chance, alpha), made, chance)
        if math.isinf(odds(self.epsilon)):
            return 0.0
        guessed, charge = made / runs, sides * self.delta / 2
        wrong = max(0.0, guessed - charge) * (1 - chance)
        right = guessed - wrong
        stake = best_stake(right, wrong, self.epsilon, charge)
        worst = odds(self.epsilon) + charge
        logs = np.log1p(stake * np.array([1 - charge, -worst, -charge]))
        rates = np.array([right, wrong, 1 - guessed])
        mean = float(rates @ logs)
        spread = math.sqrt(max(float(rates @ logs**2) - mean**2, 1e-300))
        excess = runs * mean - math.log(2 / alpha)
        return float(special.ndtr(excess / (spread * math.sqrt(runs))))


def counted(guesses: Guesses) -> tuple[int, int]:
    """Return how many guesses were right, and how many were made."""
    return int(np.sum(guesses == RIGHT)), int(np.sum(guesses != PASS))


def points(claim: Curve) -> list[Point]:
    """Return the promises of a claim that an audit looks at.

    A pure or approximate claim is one promise. A curve is many; a few of them, from
    the accuracy of guessing down to rare events, are offered to the training runs.

    Example:
        >>> from hush.privacy import Approx
        >>> points(Pure(1.0)), points(Approx(1.0, 1e-6))
        ([Point(epsilon=1.0, delta=0.0)], [Point(epsilon=1.0, delta=1e-06)])
    """
    if isinstance(claim, Pure):
        return [Point(float(claim.epsilon), 0.0)]
    if isinstance(claim, Approx):
        return [Point(float(claim.epsilon), float(claim.delta))]
    try:
        return list(_several(claim))
    except TypeError:  # a curve without a hash
        return list(_several.__wrapped__(claim))


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
    found = [Point(0.0, accuracy)] if accuracy < 1 else []
    found += [Point(float(e), float(d)) for e, d in zip(rates, deltas, strict=True)]
    return tuple(dict.fromkeys([*found, Point(top, 0.0)] if pure else found))
