"""Quantiles of numbers without bounds: exact laws, the order of floats, accuracy."""

import itertools
import math

import float_laws
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goodness import FALSE_ALARM, p_value
from hush import mechanisms as m
from hush.errors import InvalidArgument
from hush.mechanisms.quantiles.float_cells import LARGEST, FloatCells
from hush.noise import Seeded

ALL = FloatCells(-LARGEST, LARGEST)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, FINITE)
def test_cells_have_the_order_of_floats(x, y):
    one, two = ALL.of([x, y])
    assert one <= two if x <= y else one >= two
    # Eight floats to a cell, counted by the bits of a float.
    assert one - two == float_laws.rank(x) // 8 - float_laws.rank(y) // 8


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.lists(st.floats(0, 1), min_size=2))
def test_evenly_laid_cells_have_the_order_of_floats(lower, width, shares):
    cells = FloatCells(lower, lower + width, even=60)
    values = np.sort(np.clip(lower + width * np.array(shares), lower, lower + width))
    places = cells.of(values)
    assert np.all(np.diff(places) >= 0)
    assert places[0] >= 0
    assert places[-1] < cells.size
    for value, place in zip(values.tolist(), places.tolist(), strict=True):
        first = cells.value(place)
        assert first <= value
        assert cells.of([first])[0] == place


@given(st.integers(-(2**49), 2**49), st.integers(-900, 900))
def test_a_number_of_49_digits_is_the_first_of_its_cell(digits, power):
    x = math.ldexp(digits, power)
    assert ALL.value(int(ALL.of([x])[0])) == x


def test_what_is_no_number_counts_as_the_lowest_float():
    places = ALL.of([math.nan, -math.inf, math.inf, -0.0, 0.0])
    assert places.tolist()[:3] == [0, 0, ALL.size - 1]
    assert places[3] == places[4]


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("at", [0.1, 0.5, 0.75])
def test_the_range_of_log_ratios_is_what_is_charged(at, replace):
    # Every pair of up to three records at five places, by enumeration.
    relation = "replace-one" if replace else "add-remove"
    span = m.UnboundedQuantile(at, 1.0, relation)._span(1)
    worst = 0.0
    for one, other in float_laws.neighbors(replace=replace):
        ratio = np.log(float_laws.law(one, at, 1.0) / float_laws.law(other, at, 1.0))
        worst = max(worst, ratio.max() - ratio.min())
    assert 0.5 * span <= worst <= span * (1 + 1e-12)


def test_the_range_that_is_charged_is_attained():
    # The lowest record becomes the highest: a target between gets farther from cells
    # on the left and nearer to cells on the right.
    one, other = ([-3.0, 0.0, 1.5, 1.5], [0.0, 1.5, 1.5, 1e300])
    ratio = np.log(float_laws.law(one, 0.5, 1.0) / float_laws.law(other, 0.5, 1.0))
    span = m.UnboundedQuantile(0.5, 1.0, "replace-one")._span(1)
    assert float(ratio.max() - ratio.min()) == pytest.approx(float(span))


@pytest.mark.thin(3)
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("at", "scale", "wrong"), [(0.3, 1.5, 2.0), (0.5, 0.024, 1.03), (0.5, 0.7, 1.3)]
)
def test_answers_follow_the_enumerated_law(at, scale, wrong):
    # With the small scale one number that three share weighs as much as 2^60 cells.
    records, runs = [-3.0, 1.5, 1.5, 1.5, 1e300, 0.0], 3000
    mechanism, source = m.UnboundedQuantile(at, scale), Seeded(3)
    answers = [mechanism.run(records, source=source) for _ in range(runs)]
    places, _ = float_laws.pieces()
    found = [float_laws.rank(each) // 8 for each in answers]
    left = np.searchsorted(places, found, side="left")
    right = np.searchsorted(places, found, side="right")
    observed = np.bincount(left + right, minlength=2 * len(places) + 1)
    expected = float_laws.law(records, at, scale)
    some = expected * runs > 1
    assert observed[~some].sum() <= 20

    def fits(law):
        return p_value(observed[some], law[some] / law[some].sum() * runs)

    assert fits(expected) > FALSE_ALARM
    # The twin with another amount of noise.
    assert fits(float_laws.law(records, at, wrong * scale)) < FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e12, -1e250])
def test_the_median_is_found_wherever_it_is(unit):
    # 600 records on either side: elsewhere has weight below 2^61·e^-300.
    data = unit * np.random.default_rng(1).normal(5, 1, size=1200)
    mechanism = m.UnboundedQuantile.for_epsilon(1, at=0.5)
    for seed in range(20):
        answer = mechanism.run(data, source=Seeded(seed))
        assert abs(np.count_nonzero(data <= answer) - 600) <= 45


def test_what_many_share_is_found_exactly():
    mechanism = m.UnboundedQuantile.for_epsilon(1, at=0.25)
    for shared in (0.0, 30.0, -30.0, 1e20):
        data = [shared] * 300 + [shared + 10] * 300
        assert mechanism.run(data, source=Seeded(1)) == shared


def test_levels_are_inside_and_one_at_a_time():
    for at in (0, 1, 0.0, 1.0, 1e-9, (0.25, 0.75)):
        with pytest.raises(InvalidArgument, match="at must be"):
            m.UnboundedQuantile(at, 1.0)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_epsilon_is_what_was_asked(relation):
    for at, people in itertools.product((0.1, 0.5, 0.9), (1, 3)):
        found = m.UnboundedQuantile.for_epsilon(0.7, people, at=at, neighbors=relation)
        assert found.curve(people).epsilon_at(0) == pytest.approx(0.7, rel=1e-9)
        assert found.curve(people).epsilon_at(0) <= 0.7 * (1 + 1e-12)
