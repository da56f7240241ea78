"""Truth by enumeration: laws are lists of (p, q), and nothing else is known.

Written from the definitions alone, with fifty digits, so that every number of
`hush.privacy` can be held against one that was reached another way.
"""

import itertools
import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce

import mpmath as mp

mp.mp.dps = 50
Atoms = list[tuple[mp.mpf, mp.mpf]]
Table = Sequence[Fraction]


def real(x: object) -> mp.mpf:
    """Return a number with fifty digits."""
    return mp.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mp.mpf(x)


def atoms(p: Iterable[object], q: Iterable[object]) -> Atoms:
    """Return two laws over the same outcomes."""
    both = ((real(a), real(b)) for a, b in zip(p, q, strict=True))
    return [(a, b) for a, b in both if a or b]


def flip(laws: Atoms) -> Atoms:
    """Return the laws with their roles exchanged."""
    return [(q, p) for p, q in laws]


def merged(laws: Iterable[tuple[mp.mpf, mp.mpf]]) -> Atoms:
    """Return the laws with outcomes of equal ratio (to 40 digits) joined."""
    cells: dict[str, tuple[mp.mpf, mp.mpf]] = {}
    for p, q in laws:
        key = mp.nstr(p / (p + q), 40)
        a, b = cells.get(key, (mp.mpf(0), mp.mpf(0)))
        cells[key] = (a + p, b + q)
    return list(cells.values())


def product(*parts: Atoms) -> Atoms:
    """Return the laws of independent outcomes, seen together."""
    start: Atoms = [(mp.mpf(1), mp.mpf(1))]
    return reduce(
        lambda left, right: merged(
            (a * c, b * d)
            for (a, b), (c, d) in itertools.product(left, right)
            if a * c or b * d
        ),
        parts,
        start,
    )


def response(epsilon: float) -> Atoms:
    """Return randomized response, the worst ε-private mechanism."""
    high = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
    return [(high, 1 - high), (1 - high, high)]


def leaky_response(epsilon: float, delta: float) -> Atoms:
    """Return randomized response that tells the truth, and says so, with chance δ."""
    d = mp.mpf(delta)
    kept = [((1 - d) * p, (1 - d) * q) for p, q in response(epsilon)]
    return kept + ([(d, mp.mpf(0)), (mp.mpf(0), d)] if delta else [])


def tail(x: mp.mpf) -> mp.mpf:
    """Return P(N(0,1) > x)."""
    return mp.erfc(x / mp.sqrt(2)) / 2


@dataclass(frozen=True)
class Truth:
    """A pair of laws: finite ones, seen together with N(μ, 1) against N(0, 1)."""

    laws: Atoms
    mu: float = 0.0

    @property
    def flipped(self) -> "Truth":
        """The other direction."""
        return Truth(flip(self.laws), self.mu)

    def hockey(self, epsilon: object) -> mp.mpf:
        """Return sup_S P(S) - e^ε Q(S)."""
        e = mp.exp(mp.mpf(epsilon))
        if not self.mu:
            return mp.fsum(max(mp.mpf(0), p - e * q) for p, q in self.laws)
        mu = mp.mpf(self.mu)
        total = mp.mpf(0)
        for p, q in self.laws:
            if not q:
                total += p
            elif p:
                cut = (mp.log(e * q / p)) / mu
                total += p * tail(cut - mu / 2) - e * q * tail(cut + mu / 2)
        return total

    def delta(self, epsilon: object) -> mp.mpf:
        """Return the worse direction's hockey-stick."""
        return max(self.hockey(epsilon), self.flipped.hockey(epsilon))

    def renyi(self, order: float) -> mp.mpf:
        """Return the Rényi divergence of one direction; order 1 is KL."""
        mu2 = mp.mpf(self.mu) ** 2
        if any(p and not q for p, q in self.laws):
            return mp.inf
        inside = [(p, q) for p, q in self.laws if p]
        if order == 1:
            return mp.fsum(p * mp.log(p / q) for p, q in inside) + mu2 / 2
        if math.isinf(order):
            return mp.inf if self.mu else max(mp.log(p / q) for p, q in inside)
        a = mp.mpf(order)
        return (
            mp.log(mp.fsum(p**a * q ** (1 - a) for p, q in inside)) / (a - 1)
            + a * mu2 / 2
        )

    def renyi_both(self, order: float) -> mp.mpf:
        """Return the worse direction's Rényi divergence."""
        return max(self.renyi(order), self.flipped.renyi(order))

    @cached_property
    def corners(self) -> list[mp.mpf]:
        """Losses, as numbers >= 0, at which a finite hockey-stick bends."""
        return [mp.mpf(0), *(abs(mp.log(p / q)) for p, q in self.laws if p and q)]

    @cached_property
    def _lines(self) -> list[tuple[mp.mpf, mp.mpf]]:
        return [(mp.exp(x), self.delta(x)) for x in self.corners]

    def tradeoff(self, alpha: float) -> mp.mpf:
        """Return the best type II error of either order, hull included; finite only."""
        a = mp.mpf(alpha)
        lines = (max(1 - d - e * a, (1 - d - a) / e) for e, d in self._lines)
        return max(mp.mpf(0), *lines)

    def errors(self, alpha: float) -> mp.mpf:
        """Return the type II error of the best test of P at level α; finite only."""
        left, miss = mp.mpf(alpha), mp.mpf(1)
        for p, q in sorted(self.laws, key=lambda a: a[0] / (a[0] + a[1])):
            share = mp.mpf(1) if p <= left else left / p
            left, miss = left - share * p, miss - share * q
            if share < 1:
                break
        return miss


def worst_delta(truths: Iterable[Truth], epsilon: float) -> mp.mpf:
    """Return the largest δ of several pairs."""
    return max(t.delta(epsilon) for t in truths)


def mixture(weights: Sequence[Fraction], tables: Sequence[Table]) -> list[Fraction]:
    """Return the law of an outcome of a table chosen with these weights."""
    return [
        sum((w * t[i] for w, t in zip(weights, tables, strict=True)), Fraction(0))
        for i in range(len(tables[0]))
    ]


def poisson_law(
    mechanism: Callable[[frozenset[int]], Table], people: Sequence[int], rate: Fraction
) -> list[Fraction]:
    """Return the outcome's law when each person is in the sample with chance `rate`."""
    subsets = [
        frozenset(s)
        for k in range(len(people) + 1)
        for s in itertools.combinations(people, k)
    ]
    weights = [rate ** len(s) * (1 - rate) ** (len(people) - len(s)) for s in subsets]
    return mixture(weights, [mechanism(s) for s in subsets])


def batch_law(
    mechanism: Callable[[frozenset[int]], Table], people: Sequence[int], batch: int
) -> list[Fraction]:
    """Return the outcome's law on `batch` people drawn without replacement."""
    subsets = [frozenset(s) for s in itertools.combinations(people, batch)]
    return mixture(
        [Fraction(1, len(subsets))] * len(subsets), [mechanism(s) for s in subsets]
    )


def shuffled_law(rows: Sequence[Sequence[mp.mpf]]) -> dict[tuple[int, ...], mp.mpf]:
    """Return the law of the counts of answers, person i answering by law rows[i]."""
    width = len(rows[0])
    law = {(0,) * width: mp.mpf(1)}
    for row in rows:
        following: dict[tuple[int, ...], mp.mpf] = {}
        for counts, chance in law.items():
            for y, p in enumerate(row):
                key = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                following[key] = following.get(key, mp.mpf(0)) + chance * p
        law = following
    return law


def random_table(rng: random.Random, size: int, spread: float = 1.0) -> list[Fraction]:
    """Return a random law; a large `spread` makes rare outcomes."""
    weights = [
        max(1, round(10**6 * math.exp(-spread * rng.expovariate(1))))
        for _ in range(size)
    ]
    return [Fraction(w, sum(weights)) for w in weights]


def near(rng: random.Random, table: Table, epsilon: float) -> list[Fraction]:
    """Return a random law whose ratios to `table` are within about e^±ε."""
    weights = [
        t * Fraction(math.exp(rng.uniform(-epsilon, epsilon))).limit_denominator(10**6)
        for t in table
    ]
    return [w / sum(weights) for w in weights]
