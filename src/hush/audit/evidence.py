"""Evidence against a claim: exact binomial tails, and bets that are fair under it.

A fair coin chooses which of two data sets is run; the auditor guesses the coin from the
result or abstains. Under ε-privacy a guess is right with chance at most e^ε/(1 + e^ε),
whatever came before. Under (ε, δ)-privacy X = 1[right] - e^ε·1[wrong] - kδ/2 has mean
at most 0, k being how many of the two data sets are ever guessed, so a gambler who
stakes a share λ of the capital on it cannot expect to gain.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

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


def shaken(right: int, guesses: int, chance: float, luck: float) -> float:
    """Return P(Bin > right) + luck·P(Bin = right): uniform if `luck` is, and fair.

    Guarantee: with a uniform `luck`, and guesses that are right with chance at most
    `chance`, the result is at most t with chance at most t.

    Example:
        >>> shaken(2, 2, 0.5, luck=1.0), shaken(2, 2, 0.5, luck=0.0)
        (0.25, 0.0)
    """
    over = binomial(right + 1, guesses, chance)
    return over + luck * (binomial(right, guesses, chance) - over)


def least(seen: int, runs: int, alpha: float) -> float:
    """Return a lower bound on a chance (Clopper-Pearson), wrong with chance `alpha`.

    Example:
        >>> round(least(50, 100, alpha=0.05), 4)
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


def counted(guesses: Guesses) -> tuple[int, int]:
    """Return how many guesses were right, and how many were made."""
    return int(np.sum(guesses == RIGHT)), int(np.sum(guesses != PASS))
