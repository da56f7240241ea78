"""Amounts are exact: L13, rounding, and the promises made from budgets (C3)."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.errors import BudgetExceeded, InvalidArgument, NoBound
from hush.ledger import Budget, Ledger
from hush.ledger.budget import (
    PAD,
    Grid,
    above,
    below,
    exponent,
    grains_down,
    grains_up,
    root,
)
from hush.privacy import GDP, RDP, ZCDP, Approx, Pure

amounts = st.floats(min_value=5e-324, max_value=1e6)


def test_l13_ten_million_tiny_charges_add_up_exactly():
    grid = Grid.of(Budget(epsilon=1))
    each, _ = grid.charge(Pure(epsilon=1e-9))
    assert grid.amounts((10**7 * each, 0))[0] == Fraction(1, 100)


def test_l13_the_smallest_float_is_not_nothing():
    for budget in (Budget(epsilon=1), Budget(rho=1), Budget(mu=1), Budget(epsilon=1e6)):
        first, _ = Grid.of(budget).charge(Pure(epsilon=5e-324))
        assert first == 1
    assert Grid.of(Budget(epsilon=1, delta=1e-6)).charge(Approx(0.1, 5e-324))[1] == 1


def test_l13_a_ledger_adds_a_thousand_charges_without_drift():
    with Ledger.open("memory://", budget=Budget(epsilon=1)) as ledger:
        for _ in range(1000):
            ledger.charge(Pure(epsilon=1e-3))
        assert ledger.remaining().epsilon == 0


@given(amount=amounts, limit=amounts)
def test_charges_never_round_down_and_budgets_never_up(amount, limit):
    power = exponent(Fraction(limit))
    exact, step = Fraction(amount), Fraction(10) ** power
    # Except for rounding noise of the float itself, which promises are padded for.
    assert grains_up(exact, power) * step * PAD >= exact
    assert grains_down(exact, power) * step <= exact * PAD
    assert grains_up(exact, power) * step < exact * PAD + step
    assert grains_up(exact, power) >= 1


@given(limit=amounts)
def test_the_grain_is_a_millionth_of_a_millionth(limit):
    grains = Fraction(limit) / Fraction(10) ** exponent(Fraction(limit))
    assert 10**12 <= grains < 10**13


@given(st.fractions(min_value=0, max_value=10**9))
def test_roots_and_floats_round_the_right_way(value):
    found = root(value)
    assert found * found >= value
    assert found * found <= value * (1 + Fraction(1, 2**58))
    assert below(value) <= value <= above(value)


@pytest.mark.parametrize(
    "budget", [Budget(epsilon=0.3), Budget(rho=0.3), Budget(epsilon=0.7, delta=1e-9)]
)
def test_decimals_mean_what_they_say(budget):
    grid = Grid.of(budget)
    assert (
        grid.amounts((grains_down(budget.limits[0], grid.powers[0]), 0))[0]
        == budget.limits[0]
    )


def test_what_a_curve_costs():
    budget = Budget(epsilon=1, delta=1e-6)
    grid = Grid.of(budget)

    def cost(curve, delta=None):
        return grid.amounts(grid.charge(curve, delta))

    assert cost(Pure(0.5)) == (Fraction(1, 2), 0)
    assert cost(Approx(0.5, 1e-7)) == (Fraction(1, 2), Fraction(1, 10**7))
    epsilon, delta = cost(GDP(mu=0.1))
    assert delta == Fraction(1, 10**8)  # a hundredth of the budget's
    assert float(epsilon) >= GDP(mu=0.1).epsilon_at(1e-8)
    epsilon, delta = cost(GDP(mu=0.1), delta=5e-7)
    assert delta == Fraction(5, 10**7)
    assert float(epsilon) == pytest.approx(GDP(mu=0.1).epsilon_at(5e-7), rel=1e-9)


def test_a_curve_without_a_bound_in_the_notion_is_refused():
    with pytest.raises(NoBound, match="no finite rho"):
        Grid.of(Budget(rho=1)).charge(Approx(0.5, 1e-7))
    with pytest.raises(NoBound, match="no finite mu"):
        Grid.of(Budget(mu=1)).charge(RDP(lambda order: order))
    with pytest.raises(BudgetExceeded, match="delta above 0"):
        Grid.of(Budget(epsilon=1)).charge(GDP(mu=0.1))


def test_c3_promises_come_from_the_budget_never_from_what_was_run():
    with Ledger.open("memory://", budget=Budget(rho=0.5)) as ledger:
        before = ledger.remaining()["dataset:default"].total
        ledger.charge(GDP(mu=0.5))
        after = ledger.remaining()["dataset:default"]
        assert after.total == before
        assert isinstance(after.total, ZCDP)
        assert after.total.rho == pytest.approx(0.5)
        # What is left is read as a budget of its own, in every notion.
        assert after.curve.rho == pytest.approx(0.375)
        assert after.curve.epsilon_at(1e-6) == pytest.approx(
            ZCDP(rho=0.375).epsilon_at(1e-6)
        )
        assert after.epsilon is None, "there is no epsilon left in a budget of rho"


@pytest.mark.parametrize("budget", [Budget(epsilon=1, delta=1e-6), Budget(3, 1e-10)])
def test_a_budget_in_another_notion_keeps_the_promise(budget):
    for other in (budget.in_rho(), budget.in_mu()):
        assert other.curve().delta_at(budget.epsilon) <= budget.delta
        larger = {other.notion: getattr(other, other.notion) * 1.001}
        assert Budget(**larger).curve().delta_at(budget.epsilon) > budget.delta
    with pytest.raises(InvalidArgument, match="delta > 0"):
        Budget(epsilon=1).in_rho()


def test_many_gaussians_go_further_in_their_own_notion():
    """A hundred releases under (1, 1e-6): Σμ² allows more than twice what Σε does."""
    budget = Budget(epsilon=1, delta=1e-6)
    mu = budget.in_mu().mu / math.sqrt(100)
    plain, _ = Grid.of(budget).charge(GDP(mu=mu))
    assert plain * 100 > 2 * 10**12


def test_the_promise_can_be_read_at_its_own_delta():
    curve = Budget(epsilon=1, delta=1e-6).curve()
    assert curve.epsilon_at(1e-6) == pytest.approx(1.0)
    assert curve.delta_at(1.0 + 1e-9) == pytest.approx(1e-6)


def test_ten_tenths_fill_a_budget_in_both_coordinates():
    with Ledger.open("memory://", budget=Budget(epsilon=1, delta=1e-6)) as ledger:
        for _ in range(10):
            ledger.charge(Approx(epsilon=0.1, delta=1e-7))
        assert (ledger.remaining().epsilon, ledger.remaining().delta) == (0, 0)


@given(delta=st.floats(min_value=1e-300, max_value=0.1), mu=st.floats(0.01, 1))
def test_delta_is_never_charged_below_where_the_curve_was_read(delta, mu):
    grid = Grid.of(Budget(epsilon=100, delta=0.5))
    first, second = grid.amounts(grid.charge(GDP(mu=mu), delta))
    assert Fraction(GDP(mu=mu).delta_at(above(first * PAD))) <= second * PAD
    own, claimed = grid.amounts(grid.charge(Approx(0.5, delta)))
    assert claimed >= Fraction(delta)
    assert own == Fraction(1, 2)
