"""Queries: exhaustive sensitivity (S4), exact sums (N6, N7), both relations."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush import mechanisms as m
from hush.errors import InvalidArgument, Unsupported
from hush.noise import Seeded

BOUNDS = [(0, 100), (-100, 0), (-3, 5), (5, 9), (0.1, 0.7)]


def distance(query, a, b):
    """Coordinate-wise moves between two answers."""
    x, y = query(list(a)), query(list(b))
    x, y = (each if isinstance(each, list) else [each] for each in (x, y))
    return [abs(Fraction(u) - Fraction(v)) for u, v in zip(x, y, strict=True)]


def every_query(bounds, relation, n):
    size = {"size": n} if relation == "replace-one" else {}
    return [
        m.count(neighbors=relation),
        m.sum(bounds, neighbors=relation),
        m.mean(bounds, neighbors=relation, **size),
        m.variance(bounds, neighbors=relation, **size),
        m.proportion(neighbors=relation, **size),
    ]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_s4_no_small_data_set_moves_farther_than_declared(bounds, relation):
    low, high = bounds
    grid = [low - 1, low, (low + high) / 2, high, high + 1]
    n = 3
    for query in every_query(bounds, relation, n):
        largest = [Fraction(0)] * len(query.moves)
        for data in itertools.combinations_with_replacement(grid, n):
            others = (
                [(x, *data[1:]) for x in grid]
                if relation == "replace-one"
                else [data[1:], (*data, grid[0]), (*data, grid[3])]
            )
            for other in others:
                moved = distance(query, data, other)
                largest = [max(u, v) for u, v in zip(largest, moved, strict=True)]
        assert all(u <= v for u, v in zip(largest, query.moves, strict=True))
        if query.name in ("sum", "count", "mean", "variance"):
            # Attained, but for the rounding of half widths: no privacy is wasted.
            assert float(largest[0]) == pytest.approx(float(query.moves[0]), rel=1e-6)


def test_the_twin_that_clamps_too_late_is_caught():
    query = m.sum((0, 1), neighbors="add-remove")
    twin = m.Query("twin", lambda data: int(np.sum(data)), (1,), query.neighbors)
    assert distance(query, (0,), (0, 900))[0] <= query.moves[0]
    assert distance(twin, (0,), (0, 900))[0] > twin.moves[0]


@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=True, allow_infinity=True),
            st.sampled_from([2.0**52, 2.0**52 + 1, 1e-300, -1e300]),
        ),
        min_size=1,
        max_size=12,
    ),
    st.floats(),
    st.sampled_from([(-1.5, 2.0**52 + 1), (0.0, 1.0), (-7.25, 1e-3), (-1e300, 1e300)]),
)
def test_n6_float_sums_move_by_at_most_their_sensitivity(data, extra, bounds):
    query = m.sum(bounds)
    assert distance(query, data, [*data, extra])[0] <= query.moves[0]


@given(st.permutations(list(range(12))))
def test_n6_order_does_not_matter(order):
    values = [2.0**52, 1.0, -3.5, 1e-9, 2.0**51, 7.25, -1e15, 0.1, 0.2, 0.3, 1e10, -0.7]
    query = m.sum((-1e16, 1e16))
    assert query([values[i] for i in order]) == query(values)


def test_n7_variance_is_exact_where_floats_cancel():
    # The inputs on which a float mean inside a sum of squares overshoots.
    bounds = (2.0**20, 2.0**20 + 1)
    rng = np.random.default_rng(4)
    data = rng.uniform(*bounds, 500)
    query = m.variance(bounds, size=500, neighbors="replace-one")
    for extreme in bounds:
        other = [extreme, *data[1:]]
        assert distance(query, data, other)[0] <= query.moves[0]
    assert float(query(data)) == pytest.approx(np.var(data), rel=1e-6)


def test_l_ex_sensitivities_are_those_of_the_lecture():
    assert m.count().sensitivity() == 1
    assert m.proportion(size=50, neighbors="replace-one").sensitivity() == Fraction(
        1, 50
    )
    averages = [m.mean((0, 1), size=50, neighbors="replace-one") for _ in range(4)]
    assert sum(q.sensitivity() for q in averages) == Fraction(4, 50)
    assert m.Histogram(1.0, edges=(0, 1, 2)).curve(1).epsilon_at(0) == pytest.approx(1)
    replaced = m.Histogram(1.0, edges=(0, 1, 2), neighbors="replace-one")
    assert replaced.curve(1).epsilon_at(0) == pytest.approx(2)
    counts = m.Query("m counts", lambda d: [len(d)] * 9, (1,) * 9, m.count().neighbors)
    assert counts.sensitivity(1) == 9
    assert counts.sensitivity(2) == pytest.approx(3)


def test_n3_9_clamping_bounds_a_sum():
    for low, high in BOUNDS[:4]:
        assert m.sum((low, high)).sensitivity() == max(abs(low), abs(high))
        assert m.sum((low, high), neighbors="replace-one").sensitivity() == high - low


@pytest.mark.statistical
def test_released_answers_are_near_the_truth():
    data = np.random.default_rng(5).uniform(0, 10, 20_000)
    for query, truth in (
        (m.count(), 20_000),
        (m.sum((0, 10)), data.sum()),
        (m.mean((0, 10)), data.mean()),
        (m.variance((0, 10)), data.var()),
        (m.proportion(), 1.0),
    ):
        for noise in (m.Laplace(2.0), m.Gaussian(2.0)):
            answer = (query >> noise).run(data, source=Seeded(11))
            assert answer == pytest.approx(truth, rel=0.02)


def test_a_released_ratio_says_that_its_error_depends_on_data():
    with pytest.raises(Unsupported):
        (m.mean((0, 1)) >> m.Laplace(1.0)).error  # noqa: B018
    fixed = m.mean((0, 1), size=4, neighbors="replace-one") >> m.Laplace(1.0)
    assert fixed.error.std == pytest.approx(math.sqrt(2), rel=1e-6)


def test_a_vector_query_needs_a_vector_mechanism():
    with pytest.raises(InvalidArgument):
        m.mean((0, 1)) >> m.Geometric(1)
    with pytest.raises(TypeError):
        m.count() >> 3


def test_integers_stay_integers():
    assert isinstance((m.count() >> m.Laplace(1.0)).run([1, 2]), int)
    assert isinstance((m.count() >> m.Gaussian(1.0)).run([1, 2]), int)
    assert isinstance((m.sum((0, 9)) >> m.Geometric(1)).run([1, 2]), int)
    assert isinstance((m.sum((0.0, 9.0)) >> m.Laplace(1.0)).run([1, 2]), float)


STRANGE = {
    "none": None,
    "word": "three",
    "huge": 10**400,
    "low": -(10**400),
    "signal": Decimal("sNaN"),
    "complex": 1j,
    "list": [1],
    "wide": 2**64,
}


@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE)
def test_nothing_is_refused_for_what_one_record_is(strange):
    # A list has no type: one record must not turn the answer into an error.
    alone, among = [strange], [1, 2.5, strange, 4]
    for query in every_query((-3, 5), "add-remove", 4):
        moves = distance(query, among, [1, 2.5, 4])
        assert all(u <= v for u, v in zip(moves, query.moves, strict=True))
        assert query(alone) is not None


def test_a_column_of_words_is_refused_by_its_type():
    with pytest.raises(InvalidArgument, match="column of numbers"):
        m.sum((0, 1))(np.array(["a", "b"]))
