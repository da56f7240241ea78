"""Curves against laws that are enumerated outcome by outcome, with fifty digits."""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from hush.privacy import (
    GDP,
    Approx,
    Curve,
    Pair,
    Profile,
    Pure,
    compose,
    fixed_size,
    geometric,
    group,
    parallel,
    poisson,
    repeat,
    replace_one,
    shuffle,
    worst,
)
from privacy import truths
from privacy.truths import Truth

EPSILONS = (0.0, 1e-4, 0.03, 0.2, 0.7, 2.0, 8.0, 30.0)
DELTAS = (1e-2, 1e-6, 1e-12)
ALPHAS = (0.0, 1e-6, 0.05, 0.4, 0.9, 1.0)
ORDERS = (1, 1.01, 2, 16, 300.0)
ROUNDING = 1e-30  # of the enumeration, relative


@pytest.fixture(autouse=True)
def fifty_digits():
    # Other oracles set digits of their own when they are imported.
    with mp.workdps(50):
        yield


def understated(curve: Curve, truth: Truth) -> list[str]:
    """Return the answers of a curve that claim more privacy than there is."""
    found = [
        f"delta_at({x})"
        for x, d in zip(EPSILONS, curve.delta_at(np.array(EPSILONS)), strict=True)
        if d < truth.delta(x) * (1 - ROUNDING)
    ]
    for side, one in (("remove", truth), ("add", truth.flipped)):
        answer = getattr(curve, side).delta_at(np.array(EPSILONS))
        found += [
            f"{side}.delta_at({x})"
            for x, d in zip(EPSILONS, answer, strict=True)
            if d < one.hockey(x) * (1 - ROUNDING)
        ]
    for d in DELTAS:
        x = curve.epsilon_at(d)
        if math.isfinite(x) and truth.delta(x) > mp.mpf(d) * (1 + ROUNDING):
            found.append(f"epsilon_at({d})")
    return found


def understated_elsewhere(curve: Curve, truth: Truth) -> list[str]:
    """Return such answers in the terms of Rényi and of tests."""
    found = [
        f"renyi_at({a})"
        for a in ORDERS
        if curve.renyi_at(a) < truth.renyi_both(a) * (1 - mp.mpf("1e-15"))
    ]
    if not truth.mu:
        best = [min(truth.errors(a), truth.flipped.errors(a)) for a in ALPHAS]
        found += [
            f"tradeoff_at({a})"
            for a, error in zip(ALPHAS, best, strict=True)
            if curve.tradeoff_at(a) > error + mp.mpf("1e-16")
        ]
    return found


def overstated(curve: Curve, truth: Truth) -> list[str]:
    """Return the lower answers of an exact curve that exceed the loss there is."""
    lower = curve.delta_at_lower(np.array(EPSILONS))
    found = [
        f"delta_at_lower({x})"
        for x, d in zip(EPSILONS, lower, strict=True)
        if d > truth.delta(x) * (1 + mp.mpf("1e-15"))
    ]
    for d in DELTAS:
        x = curve.epsilon_at_lower(d)
        if 0 < x < math.inf and truth.delta(x * (1 - 1e-13)) < d * (1 - 1e-13):
            found.append(f"epsilon_at_lower({d})")
    return found


Part = tuple[Curve, truths.Atoms, float]


def random_part(rng: random.Random) -> Part:
    """Return a curve, its laws, and the μ of a Gaussian seen beside them."""
    epsilon = rng.choice([1e-5, 0.01, 0.1, 0.5, 1.0, 4.0])
    nothing = [(mp.mpf(1), mp.mpf(1))]
    p = truths.random_table(rng, rng.choice([2, 3, 4]), rng.choice([0.5, 3.0]))
    q = truths.near(rng, p, epsilon)
    rate = Fraction(rng.choice([0.001, 0.1, 0.5]))
    mixed = truths.mixture([rate, 1 - rate], [p, q])
    delta = rng.choice([1e-20, 1e-12, 1e-6, 0.05])
    mu = rng.choice([0.1, 0.5, 2.0])
    return rng.choice(
        [
            (Pure(epsilon), truths.response(epsilon), 0.0),
            (Approx(epsilon, delta), truths.leaky_response(epsilon, delta), 0.0),
            (GDP(mu), nothing, mu),
            (Pair(p, q), truths.atoms(p, q), 0.0),
            (poisson(Pair(p, q), rate=float(rate)), truths.atoms(mixed, q), 0.0),
        ]
    )


def check_composition(seed: int) -> None:
    rng = random.Random(seed)
    parts = [
        (random_part(rng), rng.choice([1, 1, 2])) for _ in range(rng.choice([1, 2, 3]))
    ]
    curve = compose(*(repeat(c, times) for (c, _, _), times in parts))
    laws = truths.product(*(law for (_, law, _), times in parts for _ in range(times)))
    mu = math.sqrt(sum(m * m * times for (_, _, m), times in parts))
    truth = Truth(laws, mu)
    assert not understated(curve, truth), (seed, parts)
    assert not understated_elsewhere(curve, truth), (seed, parts)
    assert not overstated(curve, truth), (seed, parts)


@pytest.mark.parametrize("seed", range(3))
def test_compositions_bracket_the_enumeration(seed: int) -> None:
    check_composition(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_compositions_bracket_the_enumeration(seed: int) -> None:
    check_composition(seed)


@pytest.mark.parametrize("delta", [1e-12, 1e-17, 1e-30])
def test_a_small_failure_is_not_forgotten_in_a_composition(delta: float) -> None:
    curve = compose(Approx(0.5, delta), Pure(0.1))
    assert delta <= curve.delta_at(20.0) <= delta * (1 + 1e-12)
    assert curve.epsilon_at(delta / 2) == math.inf


@pytest.mark.parametrize("epsilon", [1e-7, 1e-5, 1e-3])
def test_profiles_with_tiny_losses_are_not_understated(epsilon: float) -> None:
    """δ(0) is about as small as the ε at which it has ended."""
    laws = [
        (p / 2, q / 2)
        for largest in (epsilon, epsilon / 3)
        for p, q in truths.response(largest)
    ]
    truth = Truth(laws)
    curve = repeat(Profile(lambda x: float(truth.delta(x)) * (1 + 1e-15)), 3)
    threefold = Truth(truths.product(laws, laws, laws))
    for x in (0.0, epsilon / 5, epsilon):
        assert curve.delta_at(x) >= threefold.delta(x)


Mechanism = Callable[[frozenset[int]], Sequence[Fraction]]


def random_mechanism(rng: random.Random, epsilon: float) -> Mechanism:
    """Return a law for every set of people, any two within about 2ε."""
    base = truths.random_table(rng, 3)
    laws: dict[frozenset[int], list[Fraction]] = {}

    def law(people: frozenset[int]) -> list[Fraction]:
        return laws.setdefault(people, truths.near(rng, base, epsilon))

    return law


def removals(mechanism: Mechanism, *groups: Sequence[int]) -> Curve:
    """Return the guarantee for one person less, in any subset of the groups."""
    sets = {
        frozenset(s)
        for people in groups
        for size in range(1, len(people) + 1)
        for s in itertools.combinations(people, size)
    }
    ordered = sorted(sets, key=sorted)
    return worst(
        [Pair(mechanism(s), mechanism(s - {x})) for s in ordered for x in sorted(s)]
    )


@pytest.mark.thin(2)
@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("rate", [0.01, 0.5])
def test_poisson_samples_of_data_sets(seed: int, rate: float) -> None:
    rng = random.Random(seed)
    mechanism = random_mechanism(rng, rng.choice([0.1, 1.0]))
    law = {
        first: truths.poisson_law(mechanism, [*first, 1, 2], Fraction(rate))
        for first in ((), (0,), (9,))
    }
    curve = removals(mechanism, (0, 1, 2), (9, 1, 2))
    sampled = poisson(curve, rate=rate)
    assert not understated(sampled, Truth(truths.atoms(law[0,], law[()])))
    assert not understated(replace_one(sampled), Truth(truths.atoms(law[0,], law[9,])))


@pytest.mark.thin(2)
@pytest.mark.parametrize("seed", range(2))
def test_batches_of_data_sets(seed: int) -> None:
    rng = random.Random(seed)
    mechanism, batch = random_mechanism(rng, rng.choice([0.1, 1.0])), rng.choice([1, 2])
    sets = [frozenset(s) for s in itertools.combinations((0, 1, 2, 9), batch)]
    curve = worst(
        [
            Pair(mechanism(a), mechanism(b))
            for a, b in itertools.combinations(sets, 2)
            if len(a - b) == 1
        ]
    )
    three, other, four = (
        truths.batch_law(mechanism, people, batch)
        for people in ((0, 1, 2), (9, 1, 2), (0, 1, 2, 9))
    )
    exchanged = fixed_size(curve, batch=batch, records=3)
    assert not understated(exchanged, Truth(truths.atoms(three, other)))
    joined = fixed_size(curve, batch=batch, records=4, neighbors="add-remove")
    assert not understated(joined, Truth(truths.atoms(four, three)))


@pytest.mark.parametrize("seed", range(2))
def test_chains_parts_and_trees(seed: int) -> None:
    rng = random.Random(seed)
    chain = [truths.random_table(rng, 3)]
    for _ in range(3):
        chain.append(truths.near(rng, chain[-1], rng.choice([0.01, 0.5, 2.0])))
    steps = [Pair(a, b) for a, b in itertools.pairwise(chain)]
    ends = Truth(truths.atoms(chain[0], chain[-1]))
    for curve in (group(worst(steps), size=3), geometric(worst(steps), 3)):
        assert not understated(curve, ends)
    for a, b in itertools.pairwise(chain):
        together = parallel(steps, neighbors="add-remove")
        assert not understated(together, Truth(truths.atoms(a, b)))
    # The second question depends on the first answer.
    first, second, *_ = (truths.atoms(a, b) for a, b in itertools.pairwise(chain))
    third = truths.atoms(chain[2], chain[3])
    later = [second, third, truths.flip(second)]
    tree = [
        (p * a, q * b) for (p, q), law in zip(first, later, strict=True) for a, b in law
    ]
    both = worst([steps[1], steps[2], Pair(chain[2], chain[1])])
    assert not understated(compose(steps[0], both), Truth(tree))


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("people", "epsilon", "answers"), [(2, 0.5, 3), (4, 2.0, 2), (5, 1.0, 3)]
)
def test_shuffled_responses(people: int, epsilon: float, answers: int) -> None:
    high = mp.exp(epsilon)
    rows = [
        [(high if i == j else 1) / (high + answers - 1) for j in range(answers)]
        for i in range(answers)
    ]
    curve = shuffle(Pure(epsilon), people=people)
    for others in itertools.combinations_with_replacement(range(answers), people - 1):
        rest = [rows[v] for v in others]
        one, two = (
            truths.shuffled_law([rows[0], *rest]),
            truths.shuffled_law([rows[1], *rest]),
        )
        assert not understated(curve, Truth([(one[x], two[x]) for x in one]))


class TestTheTestsCanFail:
    """Curves that are slightly or famously wrong."""

    def test_a_little_less_noise_is_noticed(self) -> None:
        truth = Truth([(mp.mpf(1), mp.mpf(1))], 1.0)
        assert not understated(GDP(1.0), truth)
        assert understated(GDP(1.0 - 1e-9), truth)

    def test_one_direction_alone_is_noticed(self) -> None:
        p, q = [Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 10), Fraction(9, 10)]
        mixed = truths.mixture([Fraction(1, 4), Fraction(3, 4)], [p, q])
        truth = Truth(truths.atoms(mixed, q))
        assert not understated(poisson(Pair(p, q), rate=0.25), truth)
        assert understated(poisson(Pair(q, p), rate=0.25), truth)

    def test_parallel_parts_charged_once_under_exchange_are_noticed(self) -> None:
        law = truths.response(0.5)
        assert understated(Pure(0.5), Truth(truths.product(law, law)))

    def test_the_continuous_curve_of_whole_noise_is_noticed(self) -> None:
        assert understated(Pair.laplace(scale=2.0), Truth(truths.response(0.5)))

    def test_a_lower_bound_that_is_too_high_is_noticed(self) -> None:
        assert overstated(Pure(0.5), Truth(truths.response(0.5 - 1e-9)))
