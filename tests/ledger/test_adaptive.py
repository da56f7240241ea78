"""C1, C2: no adversary who adapts to answers gets more than the filter allows.

The adaptive composition experiment: at every step the adversary picks a mechanism from
what it has seen; neighbors differ in which of two input values it is run on. The joint
law of all answers is computed exactly, over every strategy of a small game.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from hush.errors import BudgetExceeded
from hush.ledger import Budget, Ledger
from hush.ledger.budget import Grid, grains_down
from hush.privacy import GDP, Pure, compose
from ledger.toys import Die, Total

SLACK = 1e-12


def response(epsilon):
    """Randomized response: the worst mechanism with a pure epsilon."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    return Pure(epsilon=epsilon), np.array([p, 1 - p]), np.array([1 - p, p])


def leaky(epsilon, delta):
    """The worst mechanism with (ε, δ): it tells everything with probability δ."""
    from hush.privacy import Approx

    p = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    rest = 1 - delta - p
    return (
        Approx(epsilon=epsilon, delta=delta),
        np.array([delta, p, rest, 0.0]),
        np.array([0.0, rest, p, delta]),
    )


def worst_case(moves, budget, depth, measure):
    """Return the largest divergence over every adaptive strategy the filter admits.

    `measure` adds up over answers, so the best strategy below an answer depends only on
    the likelihoods that led to it and on what is left.
    """
    grid = Grid.of(budget)
    limit = tuple(
        grains_down(a, b) for a, b in zip(budget.limits, grid.powers, strict=True)
    )
    moves = [(grid.charge(curve), p, q) for curve, p, q in moves]

    def best(p, q, spent, turns):
        found = measure(p, q)
        if not turns:
            return found
        for cost, P, Q in moves:  # noqa: N806 (laws, as in print)
            after = (spent[0] + cost[0], spent[1] + cost[1])
            if after[0] > limit[0] or after[1] > limit[1]:
                continue
            below = sum(
                best(p * a, q * b, after, turns - 1) for a, b in zip(P, Q, strict=True)
            )
            found = max(found, below)
        return found

    return best(1.0, 1.0, (0, 0), depth)


def hockey_stick(epsilon):
    return lambda p, q: max(0.0, p - math.exp(epsilon) * q)


def test_c1_pure_budget():
    moves = [response(e) for e in (0.25, 0.5, 0.75, 1.0)]
    for epsilon in (0.5, 1.0, 1.25):
        found = worst_case(moves, Budget(epsilon=epsilon), 4, hockey_stick(epsilon))
        assert found <= SLACK


def test_c1_pure_budget_is_reached():
    """The bound is not empty: just below the budget there is an adversary."""
    moves = [response(e) for e in (0.25, 0.5)]
    assert worst_case(moves, Budget(epsilon=1), 4, hockey_stick(0.99)) > 1e-3


def test_c1_approximate_budget():
    moves = [leaky(0.25, 0.01), leaky(0.5, 0.02), response(0.5)]
    budget = Budget(epsilon=1, delta=0.04)
    assert worst_case(moves, budget, 3, hockey_stick(1.0)) <= 0.04 + SLACK


@pytest.mark.parametrize("order", [1.5, 2.0, 4.0, 16.0])
def test_c1_zcdp_budget(order):
    moves = [response(e) for e in (0.2, 0.4, 0.6, 0.8)]
    budget = Budget(rho=0.16)

    def moment(p, q):
        return p**order * q ** (1 - order)

    found = math.log(worst_case(moves, budget, 4, moment)) / (order - 1)
    assert found <= order * 0.16 + SLACK


def test_c1_gaussian_budget():
    moves = [response(e) for e in (0.2, 0.4, 0.6, 0.8)]
    budget = Budget(mu=1)
    for epsilon in np.linspace(0, 2, 9):
        found = worst_case(moves, budget, 4, hockey_stick(epsilon))
        assert found <= budget.curve().delta_at(epsilon) + SLACK


def test_c1_power_a_filter_that_forgets_is_caught():
    """A twin that charges half of each epsilon must fail the same game."""
    moves = [(Pure(epsilon=e / 2), *response(e)[1:]) for e in (0.5, 1.0)]
    assert worst_case(moves, Budget(epsilon=1), 4, hockey_stick(1.0)) > 0.05


def test_c1_brute_force_over_explicit_strategies():
    """The same game without dynamic programming: every decision tree of depth 2."""
    options = [response(e) for e in (0.3, 0.4, 0.6)]
    budget, worst = Budget(epsilon=1), 0.0
    grid = Grid.of(budget)
    for first in options:
        for pair in itertools.product(options, repeat=2):  # one move per first answer
            joint = [
                (first[1][bit] * move[1][answer], first[2][bit] * move[2][answer])
                for bit, move in enumerate(pair)
                for answer in range(2)
            ]
            cost = max(
                grid.charge(first[0])[0] + grid.charge(move[0])[0] for move in pair
            )
            if cost <= 10**12:
                worst = max(worst, sum(max(0, p - math.e * q) for p, q in joint))
    assert worst <= SLACK


def test_c2_a_batch_is_composed_tightly_and_charged_once():
    budget = Budget(epsilon=1, delta=1e-6)
    batch = compose(*[GDP(mu=0.02)] * 25)
    with Ledger.open("memory://", budget=budget) as ledger:
        ledger.charge(batch, delta=1e-7)
        one = ledger.remaining()
        assert [e.kind for e in ledger.history()].count("charge") == 1
        # Declared together: one Gaussian of √25 times the size, not 25 sums.
        used = 1 - one.epsilon
        assert used == pytest.approx(GDP(mu=0.1).epsilon_at(1e-7), rel=1e-6)
        assert used < 25 * GDP(mu=0.02).epsilon_at(1e-7 / 25) / 3
        # A second batch, chosen after seeing the first, is added by the filter.
        ledger.charge(batch, delta=1e-7)
        assert 1 - ledger.remaining().epsilon == pytest.approx(2 * used)
        assert ledger.remaining().delta == pytest.approx(8e-7)


def test_c2_a_batch_of_releases_is_one_entry():
    with Ledger.open("memory://", budget=Budget(epsilon=1)) as ledger:
        batch = [Die(0.25), Die(0.5)]
        release = ledger.release(batch, [Total(), Total()], [1, 1])
        assert len(release.values) == 2
        assert ledger.remaining().epsilon == pytest.approx(0.25, abs=1e-9)
        with pytest.raises(BudgetExceeded):
            ledger.release(batch, [Total(), Total()], [1, 1])
        assert len([e for e in ledger.history() if e.kind == "seal"]) == 1


def test_c2_realised_tight_composition_is_never_used():
    """Sixteen Gaussian charges cost sixteen times one in ε: no credit for hindsight."""
    with Ledger.open("memory://", budget=Budget(epsilon=10, delta=1e-4)) as ledger:
        for _ in range(16):
            ledger.charge(GDP(mu=0.05), delta=1e-6)
        spent = ledger.remaining().accounts[0].spent_exact
        each = Fraction(GDP(mu=0.05).epsilon_at(1e-6))
        assert spent[0] >= 16 * each
        assert spent[1] == Fraction(16, 10**6)
