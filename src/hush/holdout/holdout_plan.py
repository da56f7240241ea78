"""Plans: which noise answers k questions about n people, and how wide the interval."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hush import checks
from hush.errors import InvalidArgument
from hush.holdout.records import GRAIN
from hush.mechanisms import Gaussian
from hush.privacy import GDP, Approx, Pure, repeat
from hush.privacy.curve import Curve
from hush.units import Neighbors

_MODEST = 0.5  # noise of a plan that privacy does not protect, in sampling errors


@final
@dataclass(frozen=True)
class Plan:
    """How questions are answered, and the radius that holds for all answers at once.

    `method` names the theorem behind `radius`: "transfer" (private answers), "split" (a
    fresh part of the people for every answer) or "fixed" (all questions are known
    before the first answer). `people` is how many answer each question.

    Guarantee: with probability `level` over the people and the noise, every answer is
    within `radius` of the population's value; `curve` protects one replaced record.
    """

    method: str
    records: int
    people: int
    queries: int
    level: float
    width: float | Fraction
    mechanism: Gaussian
    curve: Curve
    radius: float
    neighbors: ClassVar[Neighbors] = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one record is one person

    @property
    def vacuous(self) -> bool:
        """Whether an answer in the middle of the range would exclude nothing."""
        return self.radius >= self.width / 2


def _checked_sizes(
    records: int, queries: int, level: float, width: float | Fraction
) -> tuple[int, int, float, Fraction]:
    n = checks.whole("records", records, at_least=1)
    k = checks.whole("queries", queries, at_least=1)
    # Rounded down: 1 - level is not exact, and less chance is wider.
    chance = (1 - checks.real("level", level, above=0, below=1)) * (1 - 2.0**-40)
    return n, k, chance, checks.rational("width", width)


def edges(mechanism: Gaussian, width: Fraction) -> float:
    """Return what lattices add to an error: two steps of noise, half a score grain.

    A discrete Gaussian reaches m with the chance that a continuous one reaches m - 1
    [CKS20, Proposition 25]; moving the value to the lattice costs at most a step.
    """
    step = mechanism.error.step
    return float(2 * step + width / 2**GRAIN) * (1 + 2.0**-40)


def transferred(
    mechanism: Gaussian,
    records: int,
    queries: int,
    level: float,
    width: float | Fraction = 1.0,
) -> Plan:
    """Return the plan of adaptive answers by a given Gaussian noise.

    Guarantee: the transfer theorem, docs/proofs/holdout.md, theorem 3.

    Example:
        >>> plan = transferred(Gaussian(0.02), 10_000, queries=100, level=0.95)
        >>> round(plan.radius, 4), round(plan.curve.mu, 4)
        (0.107, 0.05)
    """
    n, k, chance, exact = _checked_sizes(records, queries, level, width)
    curve = repeat(mechanism.curve(exact / n), times=k)
    noise = float(mechanism.std) * worst_noise(k, chance)
    gap = float(exact) * overfit(curve, chance)
    radius = (noise + gap) * (1 + 2.0**-40) + edges(mechanism, exact)
    return Plan("transfer", n, n, k, level, width, mechanism, curve, radius)


def gaussian(
    records: int, queries: int, level: float = 0.95, width: float | Fraction = 1.0
) -> Plan:
    """Return the plan of adaptive Gaussian answers with the narrowest interval.

    Example:
        >>> plan = gaussian(10_000, queries=100)
        >>> round(plan.radius, 3), round(float(plan.mechanism.std), 4)
        (0.098, 0.013)
        >>> gaussian(500, queries=500).vacuous
        True

    Reference: docs/proofs/holdout.md, theorem 3.
    """
    n, k, chance, exact = _checked_sizes(records, queries, level, width)
    worst = worst_noise(k, chance)
    # In units of the width; the radius has one minimum in the logarithm of the noise.
    std = np.geomspace(1e-3, 1e3, 600) * k**0.25 / math.sqrt(n)
    gap = gaussian_overfit_estimate(math.sqrt(k) / (n * std), chance)
    best = float(std[np.argmin(std * worst + gap)])
    return transferred(Gaussian(best * float(exact)), n, k, level, width)


def _fresh_noise(people: int, queries: int, chance: float, width: Fraction) -> Gaussian:
    del queries, chance
    return Gaussian(_MODEST * float(width) / (2 * math.sqrt(people)))


def _bonferroni(
    mechanism: Gaussian, people: int, queries: int, chance: float, width: Fraction
) -> float:
    # A mean of n scores is subgaussian with variance w²/(4n), [H63]; discrete Gaussian
    # noise with its std², [CKS20]; they are independent, so variances add.
    variance = float(width) ** 2 / (4 * people) + float(mechanism.std) ** 2
    radius = math.sqrt(2 * variance * math.log(2 * queries / chance))
    return radius * (1 + 2.0**-40) + edges(mechanism, width)


def split(
    records: int, queries: int, level: float = 0.95, width: float | Fraction = 1.0
) -> Plan:
    """Return the plan that spends a fresh part of the people on every answer.

    A question is independent of people nobody has asked about: Hoeffding and the union
    bound hold however it was chosen. Better than privacy for few questions.

    Example:
        >>> round(split(10_000, queries=2).radius, 3)
        0.023

    Reference: docs/proofs/holdout.md, theorem 4.
    """
    n, k, chance, exact = _checked_sizes(records, queries, level, width)
    part = n // k
    if part == 0:
        raise InvalidArgument(f"queries must be at most records={n} to split; got {k}.")
    mechanism = _fresh_noise(part, k, chance, exact)
    curve = mechanism.curve(exact / part)  # a person is in one part only
    radius = _bonferroni(mechanism, part, k, chance, exact)
    return Plan("split", n, part, k, level, width, mechanism, curve, radius)


def fixed(
    records: int, queries: int, level: float = 0.95, width: float | Fraction = 1.0
) -> Plan:
    """Return the plan for questions that are all written down before any answer.

    Guarantee: only for questions that no answer has influenced (a grid of settings
    trained on other data); `Holdout` takes them in one call.

    Example:
        >>> round(fixed(1000, queries=200).radius, 3)
        0.075

    Reference: docs/proofs/holdout.md, theorem 4.
    """
    n, k, chance, exact = _checked_sizes(records, queries, level, width)
    mechanism = _fresh_noise(n, k, chance, exact)
    curve = repeat(mechanism.curve(exact / n), times=k)
    radius = _bonferroni(mechanism, n, k, chance, exact)
    return Plan("fixed", n, n, k, level, width, mechanism, curve, radius)


def best(
    records: int, queries: int, level: float = 0.95, width: float | Fraction = 1.0
) -> Plan:
    """Return the narrower of `gaussian` and `split`: both hold for adaptive questions.

    Example:
        >>> [best(10_000, queries=k).method for k in (1, 10, 100)]
        ['split', 'transfer', 'transfer']
    """
    private = gaussian(records, queries, level, width)
    if queries > records:
        return private
    fresh = split(records, queries, level, width)
    return min(fresh, private, key=lambda plan: plan.radius)


def rounded_radius(records: int, queries: int, level: float = 0.95) -> float:
    """Return the radius of answers rounded to m levels, best m: not private.

    With m levels there are m^(j-1) ways to reach question j, all fixed in advance. Only
    a comparison: `Holdout` answers through mechanisms.

    Example:
        >>> round(rounded_radius(10_000, queries=100), 3)
        0.148

    Reference: [DFHPRR15] description length; docs/proofs/holdout.md, remark 6.
    """
    n, k, chance, _ = _checked_sizes(records, queries, level, 1.0)

    def radius(m: int) -> float:
        ways = (k - 1) * math.log(m) + math.log(2 * k / chance)
        return 0.5 / m + math.sqrt(ways / (2 * n))

    return min(radius(m) for m in range(2, 2000))


def published_radius(records: int, queries: int, level: float = 0.95) -> float:
    """Return the radius of Gaussian answers by a published transfer theorem.

    Answers within α of the sample except with chance β, from an (ε, δ) conversation,
    are within α + e^ε - 1 + c + 2d of the population except with β/c + δ/d.

    Example:
        >>> published_radius(10_000, 100) > 2 * gaussian(10_000, 100).radius
        True

    Reference: [JLNRSS20], in the form above, by a coarse search; only a comparison.
    """
    from hush.privacy import GDP

    n, k, chance, _ = _checked_sizes(records, queries, level, 1.0)
    found = math.inf
    for std in np.geomspace(0.1, 10, 25) * k**0.25 / math.sqrt(n):
        curve = GDP(mu=math.sqrt(k) / (n * float(std)))
        parts = np.geomspace(1e-4, 0.3, 40)
        noise = parts - std * special.ndtri(parts * chance / (4 * k))
        gaps = [
            math.expm1(min(50.0, float(curve.epsilon_at(float(d) * chance / 2))))
            + 2 * float(d)
            for d in parts
        ]
        found = min(found, float(noise.min()) + min(gaps))
    return found


# -- Transfer: what is private about a sample is nearly true of the population ---------

_LOOSE = 1 + 2.0**-40  # covers the rounding of the few operations below
_CELLS = 400  # of a closed form; compositions are dearer and get fewer


def overfit(curve: Curve, chance: float) -> float:
    """Return γ: how far a query that saw the sample privately can overfit it.

    People are independent; a conversation with their records has the replace-one
    guarantee `curve`. From its transcript somebody picks a mean query with scores in
    [0, 1], and an event of probability at least `chance`.

    Guarantee: given the event, the mean of the query over the sample exceeds its mean
    over the population by at most γ on average; γ = 1 says nothing. For pure ε it is
    tanh(ε/4), which randomized response attains.

    Example:
        >>> from hush.privacy import GDP, Pure
        >>> round(overfit(Pure(epsilon=0.2), 0.05), 4)
        0.05
        >>> round(overfit(GDP(mu=0.1), 0.05), 4)
        0.0647

    Reference: docs/proofs/holdout.md, theorem 1.
    """
    p = checks.real("chance", chance, above=0, at_most=1)
    if isinstance(curve, GDP) and math.isfinite(curve.mu):
        corner = _gaussian_corner(curve.mu, p)
        far = np.geomspace(corner / 50, 30 + 9 * corner, _CELLS)
        return min(1.0, float(_bounds(curve, p, corner + np.append(0.0, far))[0]))
    # Around the loss that a tenth of the chance exceeds, and (ε, δ) in closed form.
    near = float(curve.epsilon_at(p / 10))
    losses = (near if 0 < near < 100 else 1.0) * np.geomspace(0.01, 10, 61)
    return min(1.0, _corner_bound(curve, p), float(_bounds(curve, p, losses).min()))


def _corner_bound(curve: Curve, chance: float) -> float:
    """Return the bound at the corner of an (ε, δ) guarantee, 1 for other curves."""
    if not isinstance(curve, (Approx, Pure)):
        return 1.0
    slope = math.tanh(float(curve.epsilon) / 4)
    delta = float(curve.delta) if isinstance(curve, Approx) else 0.0
    return (slope + (1 - slope) * delta / chance) * _LOOSE


def _bounds(curve: Curve, chance: float, losses: NDArray[Any]) -> NDArray[Any]:
    """Return λ + E[h(x)]/p for every corner: h(x) = (x - 1 - λ(1 + √x)²)+, x = dP/dQ.

    With the corner x0 = e^loss, λ = tanh(loss/4) makes h zero up to x0. It is convex,
    so its expectation is an integral of the profile δ against h″ >= 0:
    h′(x0)·δ(x0) + ∫ (λ/2)·y^(-3/2)·δ(log y) dy. As δ falls, a left sum is above it.
    Each corner gives a bound; a worse one is wider, never wrong.
    """
    delta = np.asarray(curve.delta_at(losses), dtype=np.float64)
    slope, root = np.tanh(losses / 4), np.append(np.exp(-losses / 2), 0.0)
    cells = (root[:-1] - root[1:]) * delta
    rest = np.cumsum(cells[::-1])[::-1] * slope
    first = (1 - slope * (1 + root[:-1])) * delta
    return np.asarray((slope + (first + rest) / chance) * _LOOSE)


def _gaussian_corner(mu: float, chance: float) -> float:
    """Return the loss at the edge of the worst event of a Gaussian pair."""
    z = float(_overlap_edge(np.array([mu]), chance)[0])
    return min(max(mu * z - mu * mu / 2, 1e-12), 700.0)


def _overlap_edge(mu: NDArray[Any], chance: float) -> NDArray[Any]:
    """Return z with ∫ (√dP + √dQ)² = chance beyond it, P and Q normals mu apart."""
    low, high = mu / 2, mu / 2 + 40.0
    for _ in range(60):
        z = (low + high) / 2
        both = 2 * np.exp(-mu * mu / 8) * special.ndtr(mu / 2 - z)
        above = special.ndtr(-z) + special.ndtr(mu - z) + both > chance
        low, high = np.where(above, z, low), np.where(above, high, z)
    return np.asarray(low)


def gaussian_overfit_estimate(mu: NDArray[Any], chance: float) -> NDArray[Any]:
    """Return γ of many GDP curves at once, unrounded: to choose noise, not to claim.

    Example:
        >>> gaussian_overfit_estimate(np.array([0.1]), 0.05).round(4)
        array([0.0647])
    """
    z = _overlap_edge(mu, chance)
    return np.asarray((special.ndtr(mu - z) - special.ndtr(-z)) / chance)


def worst_noise(queries: int, chance: float) -> float:
    """Return the mean of max |N_j| over its worst `chance`, for standard normals.

    Guarantee: E[max |N_j| given A] is no larger, for any event A of probability at
    least `chance`, whatever the dependence of the `queries` variables.

    Example:
        >>> round(worst_noise(1, 0.05), 4), round(worst_noise(100, 0.05), 4)
        (2.3378, 3.7332)

    Reference: docs/proofs/holdout.md, lemma 2.
    """
    k = checks.whole("queries", queries, at_least=1)
    p = checks.real("chance", chance, above=0, at_most=1)
    # P(max > u) <= 2kQ(u), which is `chance` at z; then z + ∫_z 2kQ / p = 2kφ(z)/p.
    z = -float(special.ndtri(p / (2 * k)))
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return 2 * k * density / p * _LOOSE


def noise_beyond(count: int, tail: float) -> tuple[float, float]:
    """Return z with 2·count·Q(z) = tail, and ∫_z^∞ 2·count·Q: for unequal noises."""
    z = -float(special.ndtri(tail / (2 * count)))
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    rest = 2 * count * density - z * tail
    return z * _LOOSE, max(rest, 0.0) * _LOOSE + 1e-12 * tail
