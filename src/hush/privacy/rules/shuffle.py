"""Shuffling: local reports whose senders are forgotten hide among one another."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy

from hush import checks, suggestions
from hush.errors import NoBound
from hush.privacy.curve import Bracket, Curve, Direction, checked_curve
from hush.privacy.notions.pure import Pure
from hush.privacy.rounding import Floats
from hush.privacy.rules.optimal_composition import _log_binomial
from hush.serialization import tagged


def binomial_tail(trials: Any, wins: Any, chance: float) -> Any:
    """Return P(Bin(trials, chance) >= wins), with the digits of a small tail."""
    inside = np.clip(wins, 1, np.maximum(trials, 1))
    tail = scipy.special.betainc(inside, np.maximum(trials - inside + 1, 1), chance)
    return np.where(wins <= 0, 1.0, np.where(wins > trials, 0.0, tail))[()]


def _window(trials: int, chance: float) -> tuple[Floats, Floats, float]:
    """Return counts, their binomial masses, and the mass that was left out."""
    # Beyond 16 deviations lies about e^-128 = 1e-56; 80 more cover rare clones. What is
    # left out is counted all the same.
    spread = 16 * math.sqrt(trials * chance * (1 - chance)) + 80
    low = max(0, math.floor(trials * chance - spread))
    high = min(trials, math.ceil(trials * chance + spread))
    count = np.arange(low, high + 1, dtype=np.float64)
    if trials == 0:
        return np.zeros(1), np.ones(1), 0.0
    log_odds = math.log(chance) - math.log1p(-chance)
    mass = np.exp(_log_binomial(trials, count, log_odds))
    left = binomial_tail(trials, trials - low + 1, 1 - chance) if low > 0 else 0.0
    right = binomial_tail(trials, high + 1, chance) if high < trials else 0.0
    return count, mass, 1.01 * float(left + right)


@final
@tagged("shuffled/1")
@dataclass(frozen=True, repr=False)
class Shuffled(Curve):
    """`people` reports of an ε-DP local randomizer, in random order.

    Guarantee: for one person's value replaced. Each other report is, with chance
    2/(e^ε+1), a fair coin between the two answers that tell the values apart, so the
    true report hides among C ~ Bin(people-1, 2/(e^ε+1)) clones.

    Reference: [FMT23] Theorem 3.2; proof by extremal randomizers in docs/privacy.md.
    """

    epsilon: float
    people: int

    def __repr__(self) -> str:
        return f"shuffle(Pure(epsilon={self.epsilon!r}), people={self.people})"

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket δ between binary randomized response and the clones' bound."""
        flat = np.atleast_1d(np.asarray(epsilon, dtype=np.float64)).ravel()
        high = np.array([self._clones(float(each)) for each in flat])
        low = np.array([self._binary(float(each)) for each in flat])
        shape = np.shape(epsilon)
        return np.minimum(low, high).reshape(shape), high.reshape(shape)

    def _clones(self, epsilon: float) -> float:
        """Return Σ_c P(C=c) (κ b(c, A-1) - (γ-1) P(Bin(c,1/2) >= A-1)), γ = e^ε.

        With c clones the ratio of a successes among c+1 reports rises in a; A is the
        first that exceeds γ, and κ = γr - (1-r), r = e^ε₀/(1+e^ε₀).
        """
        if epsilon >= self.epsilon:
            return 0.0
        r = 1 / (1 + math.exp(-self.epsilon))
        gamma = math.exp(epsilon)
        kappa = gamma * r - (1 - r)
        other = r - gamma * (1 - r)
        clones, mass, missing = _window(self.people - 1, 2 * (1 - r))
        first = np.floor((clones + 1) * kappa / (kappa + other)) + 1
        point = np.exp(_coin(clones, first - 1))
        tail = binomial_tail(clones, first - 1, 0.5)
        gain = kappa * point - math.expm1(epsilon) * tail
        # Whether a tie counts does not matter: its term is zero. The slack is for
        # the masses, whose logs err by less.
        slack = 1e-11 * (kappa * point + math.expm1(epsilon) * tail)
        total = float(mass @ np.clip(gain + slack, 0.0, 1.0))
        return min(1.0, (total + missing) * (1 + 1e-12))

    def _binary(self, epsilon: float) -> float:
        """Return δ of binary randomized response when all others hold the same bit."""
        if epsilon >= self.epsilon:
            return 0.0
        r = 1 / (1 + math.exp(-self.epsilon))
        _, mass, _ = _window(self.people - 1, r)
        before = np.append(mass, 0.0)  # one more report may say yes
        after = np.append(0.0, mass)
        p, q = r * after + (1 - r) * before, (1 - r) * after + r * before
        gap = max(
            float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()),
            float(np.maximum(q - math.exp(epsilon) * p, 0.0).sum()),
        )
        return max(0.0, gap * (1 - 1e-11) - 1e-300)


def _coin(trials: Floats, wins: Floats) -> Floats:
    """Return log C(n,k) 2^-n, elementwise; -inf outside 0..n."""
    inside = (wins >= 0) & (wins <= trials)
    k = np.clip(wins, 0.0, trials)
    log = scipy.special.gammaln(trials + 1) - scipy.special.gammaln(k + 1)
    log = log - scipy.special.gammaln(trials - k + 1) - trials * math.log(2)
    big = (k > 20) & (trials - k > 20)  # three terms err by 5e-13 there
    if np.any(big):
        # log-gammas of large arguments cancel; Stirling's form does not.
        n, j = trials[big], k[big]
        gap = (2 * j - n) / n
        entropy = 0.5 * ((1 + gap) * np.log1p(gap) + (1 - gap) * np.log1p(-gap))
        rest = (1 / n - 1 / j - 1 / (n - j)) / 12
        rest -= (1 / n**3 - 1 / j**3 - 1 / (n - j) ** 3) / 360
        rest += (1 / n**5 - 1 / j**5 - 1 / (n - j) ** 5) / 1260
        log[big] = -n * entropy + 0.5 * np.log(n / (2 * np.pi * j * (n - j))) + rest
    return np.where(inside, log, -np.inf)


@suggestions.with_argument_hints({})
def shuffle(curve: Curve, people: int) -> Curve:
    """Return the guarantee of local reports in a random order.

    Guarantee: for one person's value replaced; `curve` is that of each person's own
    randomizer, the same for all, and must be ε-DP for a finite ε.

    Example:
        >>> c = shuffle(Pure(epsilon=1.0), people=10_000)
        >>> f"{c.epsilon_at(1e-6):.3f}"
        '0.043'
    """
    checked_curve("curve", curve)
    people = checks.whole("people", people, at_least=1)
    epsilon = float(curve.epsilon_at(0.0))
    if not math.isfinite(epsilon):
        raise NoBound(
            f"shuffle needs a local randomizer that is ε-DP for a finite ε; {curve!r} "
            "is not. Truncate its noise, or use a pure local mechanism."
        )
    if epsilon > 30:
        return Pure(epsilon=epsilon)
    return (
        Pure(epsilon=epsilon)
        if people == 1 or epsilon == 0
        else Shuffled(epsilon, people)
    )
