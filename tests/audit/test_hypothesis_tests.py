"""The evidence against a claim, against independent computations; what is seen."""

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

from hush import mechanisms as m
from hush.audit import membership
from hush.audit.hypothesis_tests import (
    PASS,
    RIGHT,
    WRONG,
    Point,
    Round,
    binomial,
    capital,
    chance_lower,
    critical,
    points,
    randomized_tail,
)
from hush.audit.outputs import Raised, Reader, leaves, lowest_bit
from hush.noise import Seeded
from hush.privacy import GDP, ZCDP, Pure

# -- the evidence, against independent computations ----------------------------------


@pytest.mark.parametrize(("right", "made"), [(0, 5), (3, 5), (5, 5), (900, 1000)])
@pytest.mark.parametrize("chance", [0.5, 0.731, 0.9])
def test_binomial_tails_are_those_of_scipy(right, made, chance):
    expected = stats.binom.sf(right - 1, made, chance)
    assert binomial(right, made, chance) == pytest.approx(expected, rel=1e-10)


def test_a_binomial_test_is_exact():
    # Sum over all outcomes: the chance to refute a true ε is at most 1 - level.
    for epsilon in (0.0, 0.5, 2.0):
        chance = 1 / (1 + math.exp(-epsilon))
        for made in (1, 10, 137):
            need = critical(made, chance, 0.05)
            assert stats.binom.sf(need - 1, made, chance) <= 0.05
            assert need == 0 or stats.binom.sf(need - 2, made, chance) > 0.05


def test_shaken_tails_are_uniform():
    # Averaged over the uniform number, exactly: P(shaken <= t) = t at the boundary.
    for made, chance in ((1, 0.5), (7, 0.731), (40, 0.9)):
        for t in (0.01, 0.05, 0.3, 0.9):
            found = 0.0
            for right in range(made + 1):
                over = stats.binom.sf(right, made, chance)
                mass = stats.binom.pmf(right, made, chance)
                found += mass * min(1.0, max(0.0, (t - over) / mass))
            assert found == pytest.approx(t, abs=1e-12)
            assert randomized_tail(0, made, chance, 1.0) == 1.0


@pytest.mark.parametrize(("seen", "runs"), [(0, 10), (3, 10), (10, 10), (500, 1000)])
def test_least_is_the_clopper_pearson_bound(seen, runs):
    found = chance_lower(seen, runs, 1e-3)
    if seen == 0:
        assert found == 0
    else:
        assert stats.binom.sf(seen - 1, runs, found) == pytest.approx(1e-3, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.01), (0.3, 0.1), (4.0, 1e-3)])
@pytest.mark.parametrize("sides", [1, 2])
def test_the_chance_of_a_right_guess_is_the_largest_possible(epsilon, delta, sides):
    # By linear programming over right and wrong rates of a given mass.
    from scipy.optimize import linprog

    charge = sides * delta / 2
    for mass in (charge / 2, 1.5 * charge, 0.2, 0.9):
        best = linprog(
            [-1, 0],
            A_ub=[[1, -math.exp(epsilon)]],
            b_ub=[charge],
            A_eq=[[1, 1]],
            b_eq=[mass],
        )
        expected = -best.fun / mass
        found = Point(epsilon, delta).chance(epsilon, sides, mass)
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["binomial", "betting"])
def test_rounds_that_depend_on_each_other_rarely_accuse(kind):
    # At the boundary of (1, 0.02), with events that guess rarely after a lucky round:
    # the worst way to learn. At most 5 % of 600 may be accused; 62 has chance 1e-7.
    generator = np.random.default_rng(4)
    epsilon, delta, accused = 1.0, 0.02, 0
    for _ in range(600):
        rounds, mass = [], 0.5
        for runs in (200, 400, 800):
            wrong = (mass - delta) / (1 + math.e)
            chances = [mass - wrong, wrong, 1 - mass]
            guesses = generator.choice([RIGHT, WRONG, PASS], runs, p=chances)
            rounds.append(Round(guesses, 0.1, 2, generator.random()))
            lucky = np.sum(guesses == RIGHT) > runs * chances[0]
            mass = 0.05 if lucky else 0.9
        accused += Point(epsilon, delta, kind).p_value(rounds, 0.95) <= 0.05
    assert accused < 62


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-3), (0.5, 0.05), (3.0, 0.01)])
@pytest.mark.parametrize("sides", [1, 2])
def test_bets_are_fair_at_the_claim(epsilon, delta, sides):
    # A worst mechanism, by hand: each data set is betrayed outright with chance δ,
    # and else one of two answers comes out as in randomized response.
    for mass in (0.01, 0.3, 1.0 - delta):
        wrong = sides / 2 * (mass / (1 + math.exp(epsilon)))
        right = sides / 2 * (mass * special.expit(epsilon) + delta)
        charge = sides * delta / 2
        rest = max(0.0, 1 - right - wrong)
        mean = sum(
            chance * math.exp(capital([(np.array([g]), charge, 0.1)], epsilon)[-1])
            for g, chance in ((RIGHT, right), (WRONG, wrong), (PASS, rest))
        )
        assert mean <= 1 + 1e-12


def test_capital_never_grows_with_epsilon():
    generator = np.random.default_rng(1)
    guesses = generator.choice([RIGHT, WRONG, PASS], 300, p=[0.5, 0.1, 0.4])
    tops = [
        np.max(capital([(guesses[:99], 0.01, 0.2), (guesses[99:], 0.005, 0.1)], e))
        for e in np.linspace(0, 6, 40)
    ]
    assert all(a >= b for a, b in itertools.pairwise(tops))


@pytest.mark.statistical
def test_bets_rarely_win_when_the_claim_holds():
    # At most 5 % of 400 gamblers may reach 20; 45 or more has chance 3e-7.
    generator = np.random.default_rng(2)
    epsilon, delta = 1.0, 0.01
    wrong = 0.3 / (1 + math.e)
    chances = [0.3 - wrong + delta, wrong, 0.7 - delta]
    won = 0
    for _ in range(400):
        guesses = generator.choice([RIGHT, WRONG, PASS], 2000, p=chances)
        rounds = [Round(guesses, 0.1, 2, 0.5)]
        won += Point(epsilon, delta, "betting").p_value(rounds, 0.95) <= 0.05
    assert won < 45


def test_points_are_promises_of_the_claim():
    for claim in (GDP(1.0), ZCDP(0.5), m.Exponential(2.0).curve(1)):
        for point in points(claim):
            assert claim.delta_at(point.epsilon) == pytest.approx(
                point.delta, abs=1e-12
            )
    assert points(GDP(1.0))[0] == Point(0.0, GDP(1.0).delta_at(0.0), "accuracy")
    assert any(p.delta == 0 for p in points(m.Exponential(2.0).curve(1)))


# -- what is seen of a result --------------------------------------------------------


def test_the_lowest_bit_is_that_of_exact_fractions():
    from fractions import Fraction

    values = np.array([0.1, 1.0, 0.75, 3e-300, 1e300, -48.0, 5e-324])
    for value, found in zip(values, lowest_bit(values), strict=True):
        exact = Fraction(float(value))
        scaled = abs(exact) / Fraction(2) ** int(found)
        assert scaled.denominator == 1
        assert scaled.numerator % 2 == 1


def test_everything_becomes_leaves():
    outputs = [
        {"n": 3, "text": "a", "gone": None},
        {"n": math.nan, "text": "b"},
        Raised("ValueError"),
        {"n": -0.0, "text": "never seen", "gone": math.inf},
    ]
    table = Reader(outputs[:3]).read(outputs)
    assert list(leaves(outputs[2])) == [(" error", "ValueError")]
    n = table.codes[:, table.names.index("['n']")]
    assert [int(code) for code in n] == [0, 1, 6, 4]
    texts = table.codes[:, table.names.index("['text']")]
    assert len(set(texts.tolist())) == 4
    assert table.size.tolist() == [3, 2, 1, 3]


# -- membership ----------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("run", "claim", "score"),
    [
        (m.Gaussian(1.0), GDP(1.0), lambda y: y),
        (m.Laplace(1.0), Pure(1.0), lambda y: abs(y) - abs(y - 1)),
        (m.Laplace(1.0), Pure(1.0), None),
    ],
    ids=["gauss", "laplace", "learned"],
)
def test_no_attack_beats_the_claimed_tradeoff(run, claim, score):
    # Holds for all thresholds at once but with chance 1e-3; the seed is fixed.
    found = membership(run, 0.0, 1.0, claim=claim, score=score, source=Seeded(8))
    assert found.within_claim
    assert found.advantage <= found.advantage_bound + 2 * found.margin
    for alpha in (0.05, 0.25, 0.5):
        assert found.power_at(alpha) <= claim.power_at(alpha) + 2 * found.margin


def test_an_attack_on_too_little_noise_beats_the_claim():
    found = membership(
        m.Gaussian(0.5), 0.0, 1.0, claim=GDP(1.0), score=float, source=Seeded(9)
    )
    assert not found.within_claim
    assert found.advantage > found.advantage_bound


def test_the_gaussian_attack_reaches_the_curve():
    found = membership(
        m.Gaussian(1.0), 0.0, 1.0, claim=GDP(1.0), score=float, source=Seeded(10)
    )
    assert found.advantage == pytest.approx(GDP(1.0).total_variation(), abs=0.03)
    assert found.power_at(0.1) == pytest.approx(GDP(1.0).power_at(0.1), abs=0.03)
