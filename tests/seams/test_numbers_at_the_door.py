"""Whatever enters a law, a curve or a price is rebuilt from Python's own numbers.

Numbers of NumPy wrap around at 64 bits or round to 24, and a Fraction keeps those that
it was made of. For every odd number the price equals that of the plain one, or the call
is refused before anything is paid.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

import hush
from hush import checks
from hush import mechanisms as m
from hush.errors import InvalidArgument
from hush.learn import LinearRegression, LogisticRegression
from hush.learn.features import Ball, Box
from hush.ledger import Ledger
from hush.local import DuchiMean, LaplaceMean, RandomizedResponse
from hush.privacy import GDP, ZCDP, Approx, Pure
from hush.units import Neighbors

MANY = 100_000


class Share:
    """A query of a user's own, of one over a great many people."""

    name, sensitivity = "share", 1 / MANY

    def __call__(self, data):
        return [0.0] * len(data)


def odd(value):
    """Return a number in the types that people have it in."""
    exact = Fraction(value)
    found = [Fraction(np.int64(exact.numerator), np.int64(exact.denominator))]
    found += [kind(value) for kind in (np.float64, np.longdouble)]
    if np.float32(value) == value:
        found += [np.float32(value)]
    if np.float16(value) == value:
        found += [np.float16(value)]
    if exact.denominator == 1 and exact < 128:
        kinds = (np.int8, np.uint8, np.int32, np.uint64, np.int64)
        found += [kind(int(exact)) for kind in kinds]
    return found


def number_only(value):
    """Whether a number and all its parts are Python's own."""
    if type(value) is Fraction:
        return type(value.numerator) is int and type(value.denominator) is int
    return type(value) in (int, float)


@pytest.mark.parametrize("n", [3_001, 65_537, MANY, 123_457, 3_037_000_507])
@pytest.mark.parametrize("kind", [m.Exponential, m.PermuteAndFlip, m.NoisyMax])
def test_a_fraction_of_numpy_integers_costs_what_the_plain_one_costs(kind, n):
    plain = kind(scale=Fraction(1, n))
    wrapped = kind(scale=Fraction(1, np.int64(n)))
    for moves in (1 / n, Fraction(1, n), Fraction(1, np.int64(n))):
        price = wrapped.curve(moves).epsilon_at(0)
        assert price == plain.curve(moves).epsilon_at(0) >= 1.99


def test_releases_of_a_wrapped_fraction_empty_the_budget_as_they_should():
    ledger = Ledger.open("memory://", budget=hush.Budget(epsilon=3))
    noise = m.Exponential(scale=Fraction(1, np.int64(MANY)))
    ledger.release(noise, Share(), [1, 2])
    with pytest.raises(hush.errors.BudgetExceeded):
        ledger.release(noise, Share(), [1, 2])


MADE = {
    "Laplace": lambda x: m.Laplace(x),
    "Laplace on a lattice": lambda x: m.Laplace(2.0, step=x),
    "Gaussian": lambda x: m.Gaussian(x),
    "Geometric": lambda x: m.Geometric(x),
    "DiscreteGaussian": lambda x: m.DiscreteGaussian(x),
    "Staircase": lambda x: m.Staircase(x, width=x),
    "Canonical": lambda x: m.Canonical(Pure(1.0), width=x),
    "Exponential": lambda x: m.Exponential(x),
    "NoisyMax": lambda x: m.NoisyMax(x, kind="laplace"),
    "TopK": lambda x: m.TopK(count=2, scale=x),
    "KNorm": lambda x: m.KNorm(scale=x, dimension=2),
    "Quantile": lambda x: m.Quantile(0.5, bounds=(0, x), scale=x),
    "CellQuantile": lambda x: m.CellQuantile(0.5, size=8, scale=x),
    "Histogram": lambda x: m.Histogram(scale=x, edges=(0, x)),
    "TreeSum": lambda x: m.TreeSum(horizon=8, scale=x),
    "SparseVector": lambda x: m.SparseVector(threshold=5, scale=x),
    "WinsorizedMean": lambda x: m.WinsorizedMean(bounds=(0, x), scale=x),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("value", [1, 2, 0.5, 0.25])
def test_every_mechanism_is_made_of_plain_numbers(name, value):
    plain = MADE[name](value)
    for given in odd(value):
        made = MADE[name](given)
        assert made == plain
        assert made.curve(1).epsilon_at(1e-6) == plain.curve(1).epsilon_at(1e-6)
        for field in made.__dataclass_fields__:
            held = getattr(made, field)
            for each in held if isinstance(held, tuple) else (held,):
                if isinstance(each, (int, float, Fraction, np.number)):
                    assert isinstance(each, bool) or number_only(each)


@pytest.mark.parametrize("given", odd(3), ids=repr)
def test_sensitivities_are_rebuilt_too(given):
    for mechanism in (m.Laplace(2.0), m.Gaussian(2.0), m.Exponential(2.0)):
        assert mechanism.curve(given).epsilon_at(1e-6) == mechanism.curve(3).epsilon_at(
            1e-6
        )
    release = m.mean(bounds=(0, 9), size=7, neighbors="replace-one") >> m.Laplace(2.0)
    assert release.curve(given).epsilon_at(0) == release.curve(3).epsilon_at(0)


@pytest.mark.parametrize("value", [1, 0.5])
@pytest.mark.parametrize("kind", ["count", "sum", "mean", "median"])
def test_an_epsilon_of_numpy_pays_what_it_says_and_is_answered(kind, value):
    asked = {
        "count": hush.count(),
        "sum": hush.sum("x", bounds=(0, 4)),
        "mean": hush.mean("x", bounds=(0, 4)),
        "median": hush.median("x", bounds=(0, 4)),
    }[kind]
    data = hush.open({"x": [1.0, 2.0, 3.0]}, budget=hush.Budget(epsilon=100))
    for given in odd(value):
        answer = data.agg(a=asked).release(epsilon=given)
        paid = answer.release.curve.epsilon_at(0)
        assert paid == pytest.approx(value, rel=1e-9)
        assert np.isfinite(answer["a"])


@pytest.mark.parametrize("given", odd(2), ids=repr)
def test_budgets_and_curves_hold_plain_numbers(given):
    assert hush.Budget(epsilon=given).limits == hush.Budget(epsilon=2).limits
    assert hush.Budget(rho=given).limits == hush.Budget(rho=2).limits
    for made in (Pure(given), GDP(given), ZCDP(given), Approx(given, 0.5)):
        held = [getattr(made, name) for name in made.__dataclass_fields__]
        assert all(number_only(each) for each in held if each is not None)


@pytest.mark.parametrize("given", [np.float32(0.1), np.float16(0.1)], ids=repr)
def test_learners_are_planned_with_plain_numbers(given):
    plain = float(given)
    for kind in (LinearRegression, LogisticRegression):
        rest = {"classes": (0, 1)} if kind is LogisticRegression else {}
        rest |= {} if rest else {"y_bounds": (0, 1)}
        odd_one = kind(epsilon=given, norm=given, **rest).plan(1000, 2)
        right = kind(epsilon=plain, norm=plain, **rest).plan(1000, 2)
        assert odd_one == right
        assert odd_one.curve().epsilon_at(0) == right.curve().epsilon_at(0)
    assert Ball(norm=given).bound() == Ball(norm=plain).bound()
    assert type(Ball(norm=given).bound()) is float
    assert Box((given,), (np.float32(1),), reach=given).length(1) == Box(
        (plain,), (1.0,), reach=plain
    ).length(1)


@pytest.mark.parametrize("given", odd(2), ids=repr)
def test_local_reports_are_made_of_plain_numbers(given):
    for make in (
        lambda x: DuchiMean(x, bounds=(0, x)),
        lambda x: LaplaceMean(x, bounds=(0, x)),
        lambda x: RandomizedResponse(x, size=3),
    ):
        assert make(given) == make(2)
        assert make(given).curve().epsilon_at(0) == make(2).curve().epsilon_at(0)


@pytest.mark.parametrize(
    "given",
    [np.timedelta64(5, "s"), np.bool_(1), np.str_("2"), 1j, 10**400, np.nan, "1"],
    ids=lambda x: type(x).__name__,
)
def test_what_is_no_number_is_refused_by_name(given):
    for make in (m.Laplace, m.Geometric, m.Exponential):
        with pytest.raises(InvalidArgument, match="scale must be"):
            make(given)
    with pytest.raises(InvalidArgument, match="epsilon must be"):
        hush.Budget(epsilon=given)
    if not isinstance(given, int):
        with pytest.raises(InvalidArgument, match="horizon must be"):
            m.TreeSum(horizon=given, scale=1)


def test_checked_fractions_are_not_rebuilt_at_every_draw():
    own = Fraction(1, 3)
    assert checks.rational("scale", own) is own
    foreign = Fraction(1, np.int64(3))
    assert type(checks.rational("scale", foreign).denominator) is int


@pytest.mark.parametrize(
    "moves",
    [(1, -1), (-1,), (math.nan,), (math.inf,), (), (True,), ("1",), 1, (1j,), None],
    ids=repr,
)
def test_a_query_states_moves_that_cannot_cancel(moves):
    with pytest.raises(InvalidArgument, match="moves"):
        m.Query("mine", len, moves, Neighbors.ADD_REMOVE)


def test_a_query_states_a_relation_and_a_function():
    with pytest.raises(InvalidArgument, match="neighbors"):
        m.Query("mine", len, (1,), "friends")
    with pytest.raises(InvalidArgument, match="exact"):
        m.Query("mine", 3, (1,), Neighbors.ADD_REMOVE)
    assert m.Query("mine", len, (1,), "add-remove").neighbors is Neighbors.ADD_REMOVE


def test_moves_are_exact_whatever_they_came_as():
    made = m.Query("mine", len, [np.int64(1), 0.1], Neighbors.ADD_REMOVE)
    assert made.moves == (1, Fraction(0.1))
    assert type(made.moves[0]) is int
    assert not made.whole
    whole = m.Query("mine", len, (np.int8(1),), Neighbors.ADD_REMOVE)
    assert whole.whole


def test_more_numbers_than_a_query_has_moves_are_refused():
    ten = m.Query("ten", lambda data: [len(data)] * 10, (1,), Neighbors.ADD_REMOVE)
    for noise in (m.Laplace(1.0), m.Gaussian(1.0), m.Staircase(1)):
        with pytest.raises(InvalidArgument, match="moves"):
            (ten >> noise).run([1, 2, 3])
