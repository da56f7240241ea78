"""One training run, many canaries: an audit that does not need thousands of models.

Each canary is put into the training data or left out by a fair coin, all at once; the
trainer returns one score per canary; the auditor guesses the coins of those with the
highest and the lowest scores, always the same number of them. How many guesses may be
right is bounded by the guarantee for flipping a single coin.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hush import checks
from hush.audit.finding import Verdict, p_text
from hush.audit.hypothesis_tests import binomial
from hush.errors import InvalidArgument
from hush.noise import SECURE, Source, integers
from hush.privacy.curve import Curve
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.gdp import GDP
from hush.privacy.notions.pure import Pure

_SHARES = (1, 2, 4, 8, 16)  # of the canaries one in so many is guessed
_LINES = 128  # of a curve's promises so many bound its tradeoff
_ROUNDING = 1e-9  # a law is impossible if its mass is above 1 by more than this

_TOO_FEW = (
    "So few canaries cannot refute this claim, even by scores that are the coins: take "
    "more of them, or a run that claims less"
)

Level = Callable[[float], float]  # power of a test -> the level it needs at least


@final
@dataclass(frozen=True)
class OneRun:
    """What one run says about a claim.

    `epsilon_lower` is refuted at δ = `delta`, `mu_lower` as a μ of Gaussian privacy,
    each with confidence `level`.
    """

    verdict: Verdict
    claim: Curve
    level: float
    p_value: float
    epsilon_lower: float
    delta: float
    mu_lower: float
    canaries: int
    guesses: int
    right: int
    least: float = 0.0  # the p-value of scores that are the coins: none is smaller

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted."""
        return self.verdict is Verdict.VIOLATED

    def __str__(self) -> str:
        told = (
            f"{self.verdict}: {self.claim}, {p_text(self.p_value)}; "
            f"{self.right} of {self.guesses} guesses right ({self.canaries} canaries); "
            f"epsilon >= {self.epsilon_lower:.4g}, mu >= {self.mu_lower:.4g}"
        )
        return told if self.can_refute else f"{told}. {_TOO_FEW}"

    @property
    def can_refute(self) -> bool:
        """Whether so many canaries could refute the claim at all."""
        return self.least <= 1 - self.level


def one_run(
    train: Callable[[Any], Any],
    canaries: int,
    *,
    claim: Curve,
    level: float = 0.95,
    guesses: int | None = None,
    delta: float = 0.0,
    source: Source = SECURE,
) -> OneRun:
    """Audit a trainer with a single run.

    `train(included)` gets one truth value per canary, trains, and returns one score per
    canary, larger where it seems to have been included. `guesses` fixes how many are
    guessed, half of them "in"; without it five numbers share the level. Pure claims get
    an exact binomial tail, (ε, δ) claims that tail plus what δ can add, and every other
    curve the bound for its tradeoff function.

    Guarantee: if the claim holds for flipping one canary, whatever the others, the
    verdict is "violated" with chance at most 1 - `level` (docs/proofs/one_run.md).

    Example:
        >>> from hush.mechanisms import Gaussian
        >>> noisy = Gaussian(std=1.0)
        >>> found = one_run(lambda bits: noisy.run(bits * 1.0), 2000, claim=GDP(0.3))
        >>> found.violated, 0.4 < found.mu_lower < 1
        (True, True)

    Reference: [SNJ23]; tradeoff functions [MMC24]; docs/proofs/one_run.md.
    """
    checks.whole("canaries", canaries, at_least=2)
    checks.real("level", level, above=0, below=1)
    checks.real("delta", delta, at_least=0, below=1)
    included = np.asarray(integers(2, canaries, source=source)) == 1
    scores = np.asarray(train(included.copy()), dtype=np.float64)
    if scores.shape != (canaries,):
        raise InvalidArgument(f"train must return {canaries} scores, one per canary.")
    if guesses is None:
        tried = sorted({max(1, canaries // share) for share in _SHARES})
    else:
        tried = [checks.whole("guesses", guesses, at_least=1, at_most=canaries)]
    counts = [(count, _right_guesses(scores, included, count)) for count in tried]
    bound = _bound(claim)
    found = [bound(canaries, count, right) for count, right in counts]
    best = int(np.argmin(found))
    p_value = min(1.0, found[best] * len(tried))
    known = [_right_guesses(included * 1.0, included, count) for count in tried]
    least = min(map(bound, [canaries] * len(tried), tried, known)) * len(tried)
    alpha = (1 - level) / len(tried)
    lower = max(_epsilon_lower(canaries, *each, delta, alpha) for each in counts)
    return OneRun(
        verdict=Verdict.VIOLATED if p_value <= 1 - level else Verdict.NOT_REFUTED,
        claim=claim,
        level=level,
        p_value=p_value,
        epsilon_lower=lower,
        delta=delta,
        mu_lower=max(_mu_lower(canaries, *each, alpha) for each in counts),
        canaries=canaries,
        guesses=counts[best][0],
        right=counts[best][1],
        least=min(1.0, least),
    )


def _right_guesses(scores: Any, included: NDArray[np.bool_], guesses: int) -> int:
    order = np.argsort(np.nan_to_num(scores), kind="stable")
    low, high = guesses // 2, guesses - guesses // 2
    return int(
        included[order[len(order) - high :]].sum() + (~included[order[:low]]).sum()
    )


def _bound(claim: Curve) -> Callable[[int, int, int], float]:
    """Return the p-value of (canaries, guesses, right) under the claim."""
    if isinstance(claim, Pure):
        exact = float(claim.epsilon)
        return lambda m, r, v: approximate(m, r, v, exact, 0.0)
    needed = level_of(claim)
    if isinstance(claim, Approx):
        epsilon, delta = float(claim.epsilon), float(claim.delta)
        # Two bounds on one chance: the smaller one is a bound, too.
        return lambda m, r, v: min(
            approximate(m, r, v, epsilon, delta), tradeoff(m, r, v, needed)
        )
    return lambda m, r, v: tradeoff(m, r, v, needed)


def approximate(
    canaries: int, guesses: int, right: int, epsilon: float, delta: float
) -> float:
    """Return a bound on the chance of `right` right guesses under (ε, δ)-privacy.

    Guarantee: a binomial tail, plus what δ adds: one canary after the other it turns a
    wrong guess into a right one with chance δ, where that decides most.

    Example:
        >>> round(approximate(100, 10, 10, epsilon=0.0, delta=0.0) * 2**10, 9)
        1.0
        >>> round(approximate(1, 1, 1, epsilon=0.0, delta=0.1), 9)
        0.55

    Reference: docs/proofs/one_run.md, theorem 4.
    """
    tail = binomial(right, guesses, float(special.expit(epsilon)))
    if delta == 0 or right == 0:
        return tail
    deciding = np.sort(_decisive_chances(guesses, right, epsilon))[::-1]
    # A guess at all canaries has each of them once, and δ is for each.
    most = delta if guesses == canaries else 1.0
    turned = np.clip(canaries * delta - most * np.arange(guesses), 0.0, most)
    added = float(special.expit(-epsilon)) * float(turned @ deciding)
    return min(1.0, tail + added * (1 + _ROUNDING))


def _decisive_chances(guesses: int, right: int, epsilon: float) -> NDArray[np.float64]:
    """Return how likely one guess can decide at most, with 0, 1, … guesses to come.

    It decides if exactly the missing ones of the k that come are right, and no more
    than the guesses before can be right already: a binomial law has one peak.
    """
    chance, lie = special.expit(epsilon), special.expit(-epsilon)
    k = np.arange(guesses)
    least, most = np.maximum(0, right - guesses + k), np.minimum(k, right - 1)
    j = np.clip(np.floor((k + 1) * chance), least, most)
    ways = special.gammaln(k + 1) - special.gammaln(j + 1) - special.gammaln(k - j + 1)
    logs = ways + special.xlogy(j, chance) + special.xlogy(k - j, lie)
    return np.asarray(np.exp(logs))


def level_of(claim: Curve) -> Level:
    """Return the least level of a test of given power, from below.

    Guarantee: every promise δ(ε) of the claim is two lines under its tradeoff, and the
    tradeoff lies above the largest of a few of them (N3.4, N13.P8).
    """
    if isinstance(claim, Approx):
        odds, gap = math.exp(min(float(claim.epsilon), 700.0)), float(claim.delta)
        return lambda power: max(
            0.0, (power - gap) / odds, 1 - gap - odds * (1 - power)
        )
    if isinstance(claim, GDP):
        mu = float(claim.mu)
        return lambda power: float(special.ndtr(special.ndtri(power) - mu))
    ends = (claim.epsilon_at(0.0), claim.epsilon_at(1e-9), 30.0)
    end = min(float(each) for each in ends)
    epsilon = np.linspace(0, end, _LINES)
    delta, rate = np.asarray(claim.delta_at(epsilon)), np.exp(epsilon)

    def needed_level(power: float) -> float:
        steep = np.max(1 - delta - rate * (1 - power))
        flat = np.max((power - delta) / rate)
        return float(max(0.0, steep, flat))

    return needed_level


def feasible(
    canaries: int, guesses: int, right: int, needed: Level, tau: float
) -> bool:
    """Return whether P(right guesses >= `right`) may be `tau` under a tradeoff.

    With p_i the chance of i right guesses, flipping one coin at a time gives for all j
    Σ_{i>=j-1} (r-i) p_i/m >= h(Σ_{i>=j} i p_i/m), where h(x) is the least level of a
    test of power x. The least tails that satisfy this are built from above; if they add
    up to more than 1, `tau` is impossible.
    """
    m = float(canaries)
    most = guesses / m * (1 + _ROUNDING)
    hits, misses = right * tau / m, (guesses - right) * tau / m
    for i in range(right - 1, -1, -1):
        more = max(misses, needed(min(hits, 1.0)))
        if more == misses:
            break  # from here on nothing changes
        hits += i / (guesses - i) * (more - misses)
        misses = more
        if hits + misses > most:
            return False
    return hits + misses <= most


def tradeoff(canaries: int, guesses: int, right: int, needed: Level) -> float:
    """Return a bound on the chance of `right` right guesses under a tradeoff."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2 if low > 0 else max(high / 16, 1e-300)
        if feasible(canaries, guesses, right, needed, middle):
            low = middle
        else:
            high = middle
        if low == 0 and high < 1e-30:
            break
    return high


def _epsilon_lower(
    canaries: int, guesses: int, right: int, delta: float, alpha: float
) -> float:
    def is_refuted(epsilon: float) -> bool:
        if approximate(canaries, guesses, right, epsilon, delta) <= alpha:
            return True
        needed = level_of(Approx(epsilon, delta))
        return delta > 0 and not feasible(canaries, guesses, right, needed, alpha)

    return _largest(is_refuted, 40.0)


def _mu_lower(canaries: int, guesses: int, right: int, alpha: float) -> float:
    def is_refuted(mu: float) -> bool:
        return not feasible(canaries, guesses, right, level_of(GDP(mu)), alpha)

    return _largest(is_refuted, 20.0)


def _largest(refuted: Callable[[float], bool], end: float) -> float:
    if not refuted(0.0):
        return 0.0
    low, high = 0.0, end
    while high - low > 1e-4 * max(low, 1e-2):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low if math.isfinite(low) else end
