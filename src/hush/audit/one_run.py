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
_SHARES_IN = (8 / 3, 4, 8, 16, 32)  # the same, where all guesses are "in"
_MOST_CHOICES = 1 << 20
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
    choices: int = 1  # canaries that each person may hold, one at most at a time

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
    choices: int = 1,
    delta: float = 0.0,
    source: Source = SECURE,
) -> OneRun:
    """Audit a trainer with a single run.

    `train(included)` gets one truth value per canary, trains, and returns one score per
    canary, larger where it seems to have been included. `guesses` fixes how many are
    guessed, half of them "in"; without it five numbers share the level. Pure claims get
    an exact binomial tail, (ε, δ) claims that tail plus what δ can add, and every other
    curve the bound for its tradeoff function.

    With `choices` of more than one every person has so many canaries: none of them is
    in, with chance 1/2, or one that is drawn. `train` gets whole numbers, 0 for none
    and 1..choices for that canary, and returns a row of scores for each person; the
    highest of a row is guessed. As chance seldom guesses so, stronger claims fall.

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
    game = game_of(canaries, claim, level=level, choices=choices, guesses=guesses)
    checks.real("delta", delta, at_least=0, below=1)
    included = _coins(canaries, choices, source)
    scores = np.asarray(train(included.copy()), dtype=np.float64)
    if scores.shape != game.shape:
        each = "one per canary" if choices == 1 else f"{choices} per canary"
        raise InvalidArgument(
            f"train must return {math.prod(game.shape)} scores, {each}: an array of "
            f"shape {game.shape}; got {scores.shape}."
        )
    counts = [(made, game.right(scores, included, made)) for made in game.tried]
    found = [game.bound(made, right) for made, right in counts]
    best = int(np.argmin(found))
    p_value = min(1.0, found[best] * len(counts))
    known = game.known_scores(included)
    least = min(game.bound(r, game.right(known, included, r)) for r in game.tried)
    return OneRun(
        verdict=Verdict.VIOLATED if p_value <= 1 - level else Verdict.NOT_REFUTED,
        claim=claim,
        level=level,
        p_value=p_value,
        epsilon_lower=max(game.epsilon_lower(*each, delta) for each in counts),
        delta=delta,
        mu_lower=max(game.mu_lower(*each) for each in counts),
        canaries=canaries,
        guesses=counts[best][0],
        right=counts[best][1],
        least=min(1.0, least * len(counts)),
        choices=choices,
    )


@final
@dataclass(frozen=True)
class OneRunPower:
    """How often a one-run audit refutes a claim when its scores are so good.

    `power` is the share of `runs` simulated runs; `low` and `high` hold the true chance
    with 95 % confidence.
    """

    claim: Curve
    mu: float
    canaries: int
    choices: int
    level: float
    runs: int
    refuted: int

    @property
    def power(self) -> float:
        """The share of simulated runs that refute."""
        return self.refuted / self.runs

    @property
    def low(self) -> float:
        """The lower end of an exact interval."""
        if not self.refuted:
            return 0.0
        missed = self.runs - self.refuted + 1
        return float(special.betaincinv(self.refuted, missed, 0.025))

    @property
    def high(self) -> float:
        """The upper end of an exact interval."""
        if self.refuted == self.runs:
            return 1.0
        missed = self.runs - self.refuted
        return float(special.betaincinv(self.refuted + 1, missed, 0.975))

    def __str__(self) -> str:
        return (
            f"power {self.power:.2f} ({self.low:.2f} to {self.high:.2f}) against "
            f"{self.claim} at mu = {self.mu:g}, {self.canaries} canaries of "
            f"{self.choices}"
        )


def one_run_power(
    claim: Curve,
    *,
    mu: float,
    canaries: int,
    choices: int = 1,
    level: float = 0.95,
    runs: int = 100,
    source: Source = SECURE,
) -> OneRunPower:
    """Return how often `one_run` refutes a claim, before anything is trained.

    The trainer is played by normal scores of std 1 around `mu` where a canary is in and
    around 0 elsewhere: the best scores that a trainer with Gaussian noise and a true
    guarantee of `mu` can return if canaries do not disturb each other.

    Example:
        >>> from hush.noise import Seeded
        >>> told = one_run_power(GDP(0.3), mu=1, canaries=2000, source=Seeded(1))
        >>> told.power > 0.9
        True

    Reference: docs/proofs/one_run.md.
    """
    from hush.mechanisms import Gaussian

    mu = checks.real("mu", mu, at_least=0)
    runs = checks.whole("runs", runs, at_least=1)
    game, noise = (
        game_of(canaries, claim, level=level, choices=choices),
        Gaussian(std=1.0),
    )
    needed = [(made, game.right_needed(made)) for made in game.tried]
    refuted = 0
    for _ in range(runs):
        included = _coins(canaries, choices, source)
        signal = mu * game.known_scores(included)
        scores = noise.run(signal.ravel(), source=source).reshape(game.shape)
        refuted += any(
            game.right(scores, included, made) >= right for made, right in needed
        )
    return OneRunPower(claim, mu, canaries, choices, level, runs, refuted)


def canaries_needed(
    claim: Curve, *, choices: int = 1, level: float = 0.95, most: int = 1_000_000
) -> int:
    """Return how many canaries can refute a claim at all: by scores that are the coins.

    With fewer, no trainer is bad enough: not even one that publishes its coins.
    `most` is where the search gives up.

    Example:
        >>> canaries_needed(Pure(2.0)), canaries_needed(GDP(2.0))
        (74, 4064)
        >>> canaries_needed(GDP(2.0), choices=100)
        51

    Reference: docs/proofs/one_run.md.
    """
    most = checks.whole("most", most, at_least=2)

    def can_refute(canaries: int) -> bool:
        return game_of(canaries, claim, level=level, choices=choices).can_refute

    high = 2
    while not can_refute(high):
        if high == most:
            raise InvalidArgument(
                f"most must be larger: {most} canaries cannot refute {claim}. Take "
                "more choices, or a claim that promises more."
            )
        high = min(2 * high, most)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if can_refute(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class OneRunGame:
    """The public parameters of a one-run audit: who is guessed, and what is allowed."""

    canaries: int
    choices: int
    claim: Curve
    level: float
    tried: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Scores that a trainer returns."""
        one = self.choices == 1
        return (self.canaries,) if one else (self.canaries, self.choices)

    @property
    def alpha(self) -> float:
        """The error of each of the numbers that are tried."""
        return (1 - self.level) / len(self.tried)

    @property
    def mostly_in(self) -> int:
        """So many guesses are all right, by scores that are the coins."""
        # Half of them are "in" where there is one choice: a quarter of all.
        return self.canaries // 2 if self.choices == 1 else 3 * self.canaries // 8

    @property
    def can_refute(self) -> bool:
        """Whether scores that are the coins refute, with chance near 1."""
        # More guesses than `mostly_in` may be wrong: too few canaries may be in.
        sure = [made for made in self.tried if made <= self.mostly_in]
        return any(self.refutes(made, made) for made in sure)

    def known_scores(self, included: NDArray[Any]) -> NDArray[np.float64]:
        """Return the scores that are the coins themselves."""
        if self.choices > 1:
            included = included[:, None] == np.arange(1, self.choices + 1)
        return included.astype(np.float64)

    def right(self, scores: Any, included: NDArray[Any], guesses: int) -> int:
        """Return how many of so many guesses are right."""
        if self.choices == 1:
            return _right_guesses(scores, included, guesses)
        return _right_choices(scores, included, guesses)

    def bound(self, guesses: int, right: int) -> float:
        """Return the p-value under the claim."""
        return _bound(self.claim, self.choices)(self.canaries, guesses, right)

    def refutes(self, guesses: int, right: int) -> bool:
        """Return whether so many right guesses refute the claim."""
        if isinstance(self.claim, Pure | Approx):
            return self.bound(guesses, right) <= self.alpha
        needed = several(level_of(self.claim), self.choices)
        return not feasible(self.canaries, guesses, right, needed, self.alpha)

    def right_needed(self, guesses: int) -> int:
        """Return the least number of right guesses that refutes, or guesses + 1."""
        low, high = -1, guesses + 1
        while high - low > 1:
            middle = (low + high) // 2
            refutes = self.refutes(guesses, middle)
            low, high = (low, middle) if refutes else (middle, high)
        return high

    def epsilon_lower(self, guesses: int, right: int, delta: float) -> float:
        """Return the largest ε that is refuted at δ."""

        def is_refuted(epsilon: float) -> bool:
            m, r, v = self.canaries, guesses, right
            if not delta:
                return binomial(v, r, right_chance(epsilon, self.choices)) <= self.alpha
            if self.choices == 1 and approximate(m, r, v, epsilon, delta) <= self.alpha:
                return True
            needed = several(level_of(Approx(epsilon, delta)), self.choices)
            return not feasible(m, r, v, needed, self.alpha)

        return _largest(is_refuted, 40.0)

    def mu_lower(self, guesses: int, right: int) -> float:
        """Return the largest μ that is refuted."""

        def is_refuted(mu: float) -> bool:
            needed = several(level_of(GDP(mu)), self.choices)
            return not feasible(self.canaries, guesses, right, needed, self.alpha)

        return _largest(is_refuted, 20.0)


def game_of(
    canaries: int,
    claim: Curve,
    *,
    level: float = 0.95,
    choices: int = 1,
    guesses: int | None = None,
) -> "OneRunGame":
    """Return the game of an audit, with the numbers of guesses that it tries."""
    canaries = checks.whole("canaries", canaries, at_least=2)
    choices = checks.whole("choices", choices, at_least=1, at_most=_MOST_CHOICES)
    level = checks.real("level", level, above=0, below=1)
    if guesses is not None:
        made = checks.whole("guesses", guesses, at_least=1, at_most=canaries)
        return OneRunGame(canaries, choices, claim, level, (made,))
    shares = _SHARES if choices == 1 else _SHARES_IN
    tried = sorted({max(1, int(canaries / share)) for share in shares})
    return OneRunGame(canaries, choices, claim, level, tuple(tried))


def _coins(canaries: int, choices: int, source: Source) -> NDArray[Any]:
    """Return who is in; with several choices which one is, or 0 in half the cases."""
    drawn = np.asarray(integers(2 * choices, canaries, source=source))
    coins: NDArray[Any] = np.maximum(drawn - choices + 1, 0)
    return coins == 1 if choices == 1 else coins


def _right_guesses(scores: Any, included: NDArray[np.bool_], guesses: int) -> int:
    order = np.argsort(np.nan_to_num(scores), kind="stable")
    low, high = guesses // 2, guesses - guesses // 2
    return int(
        included[order[len(order) - high :]].sum() + (~included[order[:low]]).sum()
    )


def _right_choices(scores: Any, included: NDArray[Any], guesses: int) -> int:
    """Count right guesses of which canary is in, where the best score is highest."""
    known = np.nan_to_num(scores)
    best = known.argmax(axis=1)
    order = np.argsort(-known.max(axis=1), kind="stable")[:guesses]
    return int((included[order] == best[order] + 1).sum())


def several(needed: Level, choices: int) -> Level:
    """Return what takes the place of a claim's h where one of several canaries is in.

    Guarantee: (k/2)·h(2x), in the recursion of `feasible` (docs/proofs/one_run.md,
    theorem 5).
    """
    if choices == 1:
        return needed
    return lambda x: choices / 2 * needed(min(1.0, 2 * x))


def _bound(claim: Curve, choices: int) -> Callable[[int, int, int], float]:
    """Return the p-value of (canaries, guesses, right) under the claim."""
    if isinstance(claim, Pure):
        chance = right_chance(float(claim.epsilon), choices)
        return lambda _, r, v: binomial(v, r, chance)
    needed = several(level_of(claim), choices)
    if isinstance(claim, Approx) and choices == 1:
        epsilon, delta = float(claim.epsilon), float(claim.delta)
        # Two bounds on one chance: the smaller one is a bound, too.
        return lambda m, r, v: min(
            approximate(m, r, v, epsilon, delta), tradeoff(m, r, v, needed)
        )
    return lambda m, r, v: tradeoff(m, r, v, needed)


def right_chance(epsilon: float, choices: int) -> float:
    """Return how likely one guess is right at most, under ε-privacy.

    With k choices e^ε / (e^ε + k + (k-1)·e^-ε): the guessed canary e^ε times likelier
    than none, the other choices e^-ε times.

    Example:
        >>> right_chance(0.0, choices=1), right_chance(0.0, choices=4)
        (0.5, 0.125...)

    Reference: docs/proofs/one_run.md, theorem 6.
    """
    if choices == 1:
        return float(special.expit(epsilon))
    small = math.exp(-epsilon)
    chance = 1 / (1 + choices * small + (choices - 1) * small * small)
    return min(1.0, chance * (1 + _ROUNDING))


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


def _largest(refuted: Callable[[float], bool], end: float) -> float:
    if not refuted(0.0):
        return 0.0
    low, high = 0.0, end
    while high - low > 1e-4 * max(low, 1e-2):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low if math.isfinite(low) else end
