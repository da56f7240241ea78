"""Histograms per group: the same cells on every engine, and bounded contributions."""

import itertools
import math
from fractions import Fraction

import ibis
import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush import mechanisms as m
from hush.errors import InvalidArgument
from hush.noise import Seeded
from hush.tables.aggregates.quantile_aggregates import (
    MOST,
    Axis,
    _codes_and_values,
    cell_weights,
    cells_per_group,
    group_histograms,
)
from hush.tables.bounding import contribution_bounds
from hush.tables.bounding.contribution_bounds import UNIT
from hush.tables.engines.columns import objects
from hush.tables.engines.engine import fetch
from hush.tables.expressions import expression

KEYS = (("a",), ("b",), ("never",))


def arrow(rows):
    people, groups, values = zip(*rows, strict=True) if rows else ((), (), ())
    return {
        "u": pyarrow.array(people, pyarrow.int64()),
        "g": pyarrow.array(groups, pyarrow.string()),
        "x": pyarrow.array(values, pyarrow.float64()),
    }


def histograms(table, axis, rows=2, by=("g",), keys=KEYS):
    weighted = contribution_bounds.with_weights(table, "u", rows)
    value = expression.number(weighted, "x")
    return group_histograms(
        fetch(cell_weights(weighted, by, value, axis)), by, keys, axis
    )


def dense(found):
    array = np.zeros((len(found.groups), found.size), dtype=np.int64)
    for row, group in zip(array, found.groups, strict=True):
        row[group.places] = group.weights
    return array


def oracle(rows, axis, cap):
    """The same in plain Python: exact fractions, one row at a time."""
    held = {}
    for person, _, _ in rows:
        held[person] = held.get(person, 0) + 1
    array = np.zeros((len(KEYS), axis.size), dtype=np.int64)
    for person, group, x in rows:
        if person is None or (group,) not in KEYS or x is None or math.isnan(x):
            continue
        count = held[person]
        weight = UNIT if count <= cap else cap * UNIT // count
        inside = Fraction(min(max(x, axis.lower), axis.upper))
        place = math.floor(inside / axis.step + Fraction(1, 2)) - axis.first
        array[KEYS.index((group,)), place] += weight
    return array


POISON = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, -1e308, None, 4.0]


@pytest.mark.parametrize(
    "bounds",
    [(-3, 5), (0, 1e6), (-1e-3, 1e-3), (7, 7), (0.1, 0.1 + 0.2), (1e9, 1e9 + 1)],
    ids=str,
)
def test_every_engine_finds_the_same_cells(engine, bounds):
    generator = np.random.default_rng(5)
    lower, upper = bounds
    middle, wide = (lower + upper) / 2, (upper - lower) or 1
    rows = [
        (int(p), ["a", "b", "other", None][int(g)], float(x))
        for p, g, x in zip(
            generator.integers(0, 60, 800),
            generator.integers(0, 4, 800),
            generator.normal(middle, wide, 800),
            strict=True,
        )
    ]
    rows += [(100 + i, "a", x) for i, x in enumerate(POISON)]
    rows += [(None, "a", 1.0), (200, "b", float(lower)), (201, "b", float(upper))]
    rows += [
        (300 + i, "b", math.nextafter(x, to))
        for i, (x, to) in enumerate(itertools.product(bounds, (-math.inf, math.inf)))
    ]
    axis = Axis.of(bounds, 500)
    found = histograms(engine.table(arrow(rows)), axis, rows=3)
    assert np.array_equal(dense(found), oracle(rows, axis, 3))


def test_values_halfway_between_cells(engine):
    axis = Axis.of((0, 4), 9)
    assert (float(axis.step), axis.size) == (0.5, 9)
    halves = [0.25 + 0.5 * k for k in range(8)]
    near = [math.nextafter(x, to) for x in halves for to in (0.0, 9.0)]
    rows = [(i, "a", x) for i, x in enumerate([*halves, *near])]
    found = histograms(engine.table(arrow(rows)), axis)
    # The rounding of doubles is part of the definition: 0.25 less one digit counts
    # as 0.25, because doubling it and adding a half does.
    expected = np.bincount([math.floor(x * 2 + 0.5) for _, _, x in rows], minlength=9)
    assert np.array_equal(dense(found)[0], expected * UNIT)


def test_an_empty_table_has_empty_groups(engine):
    found = histograms(engine.table(arrow([])), Axis.of((0, 1), 10))
    assert [group.total for group in found.groups] == [0, 0, 0]


@pytest.mark.parametrize("rows", [1, 2])
def test_exhaustive_neighbors_of_tiny_tables(rows):
    # HAZARDS S4, S8: one person's rows anywhere. Every case is a data set of its own,
    # with its own people; they only share the engine's run.
    axis = Axis.of((-3, 5), 4)
    places = [(g, x) for g in ("a", "b") for x in (-9.0, 1.0, 5.0, None)]
    others = [(1, "a", 1.0), (2, "b", -2.0), (2, "b", 5.0)]
    cases = [
        chosen
        for size in (0, 1, 3)
        for chosen in itertools.combinations_with_replacement(places, size)
    ]
    listed = [
        (100 * case + person, case, g, x)
        for case, chosen in enumerate(cases)
        for person, g, x in [*others, *((9, g, x) for g, x in chosen)]
    ]
    people, numbers, groups, values = zip(*listed, strict=True)
    columns = arrow(list(zip(people, groups, values, strict=True)))
    columns["c"] = pyarrow.array(numbers, pyarrow.int64())
    table = ibis.duckdb.connect().create_table("t", pyarrow.table(columns))
    keys = list(itertools.product(range(len(cases)), ("a", "b")))
    found = dense(histograms(table, axis, rows=rows, by=("c", "g"), keys=keys))
    found = found.reshape(len(cases), -1)
    moved = found - found[0]
    assert np.all(moved >= 0)  # what the factor of add/remove rests on
    assert 0.99 * rows * UNIT < moved.sum(axis=1).max() <= rows * UNIT
    # The twin that forgets to bound: whole rows for everybody.
    loose = table.mutate(_w=ibis.literal(UNIT, "int64"))
    rows_of = cell_weights(loose, ("c", "g"), expression.number(loose, "x"), axis)
    twin = dense(group_histograms(fetch(rows_of), ("c", "g"), keys, axis))
    twin = twin.reshape(len(cases), -1)
    assert (twin - twin[0]).sum(axis=1).max() > rows * UNIT


def test_a_heavy_person_counts_as_their_cap(engine):
    # HAZARDS S8: 400 rows in two groups and many cells.
    rows = [(7, "ab"[i % 2], float(i)) for i in range(400)] + [(8, "a", 1.0)]
    axis = Axis.of((0, 400), 1000)
    with_ = dense(histograms(engine.table(arrow(rows)), axis, rows=3))
    without = dense(histograms(engine.table(arrow(rows[-1:])), axis, rows=3))
    assert 2.99 * UNIT < np.abs(with_ - without).sum() <= 3 * UNIT


def test_keys_of_several_columns_and_null(engine):
    columns = {
        "u": pyarrow.array([1, 2, 3, 4, 5], pyarrow.int64()),
        "g": pyarrow.array(["a", "a", None, "b", None], pyarrow.string()),
        "h": pyarrow.array([1, 2, 1, None, None], pyarrow.int64()),
        "x": pyarrow.array([0.0, 1.0, 0.0, 1.0, 1.0], pyarrow.float64()),
    }
    keys = (("b", None), ("a", 2), (None, 1), ("b", 1), (None, None))
    found = histograms(
        engine.table(columns), Axis.of((0, 1), 2), by=("g", "h"), keys=keys
    )
    assert (dense(found) // UNIT).tolist() == [[0, 1], [0, 1], [1, 0], [0, 0], [0, 1]]


def test_without_groups_there_is_one(engine):
    rows = [(1, "a", 0.0), (2, "b", 1.0), (3, None, 1.0)]
    found = histograms(engine.table(arrow(rows)), Axis.of((0, 1), 2), by=(), keys=((),))
    assert (dense(found) // UNIT).tolist() == [[1, 2]]


def test_whole_numbers_stay_whole(engine):
    rows = [(i, "a", float(37 + (i % 3 == 0))) for i in range(3000)]
    axis = Axis.of((0, 120))
    found = histograms(engine.table(arrow(rows)), axis)
    mechanism = m.CellQuantile.for_epsilon(1, sensitivity=UNIT, at=0.5, size=axis.size)
    median = axis.values(mechanism.run(found, source=Seeded(1)))
    assert median[0] == 37.0


@settings(max_examples=60)
@given(
    st.floats(-1e9, 1e9, allow_nan=False),
    st.floats(0, 1e9, allow_nan=False),
    st.integers(2, MOST),
)
def test_an_axis_covers_its_bounds(lower, width, size):
    axis = Axis.of((lower, lower + width), size)
    assert 1 <= axis.size <= size
    everything = np.arange(axis.size)
    middle = axis.values(everything)
    low, high = axis.low_edges(everything), axis.high_edges(everything)
    assert low[0] == axis.lower
    assert high[-1] == axis.upper
    assert np.all(low <= middle)
    assert np.all(middle <= high)
    # No more than four times coarser than asked, unless the numbers' digits end.
    wide = max(width, 2.0**-20 * max(abs(lower), abs(lower + width)), 1e-100)
    assert axis.step <= Fraction(4 * wide / (size - 1)) * Fraction(1001, 1000)


def test_public_numbers_choose_the_size():
    assert cells_per_group(1) == MOST
    assert cells_per_group(64) * 64 <= 1 << 22
    assert cells_per_group(10**6) == 64


@pytest.mark.parametrize("bad", [(1, 0), (math.nan, 1), (0, math.inf), (0,), None])
def test_bad_bounds_are_refused(bad):
    with pytest.raises(InvalidArgument):
        Axis.of(bad)


@pytest.mark.parametrize(
    "values", [[3, 5, 3, -1], [2**62, -(2**62)], [], ["b", None, "b"], [1.5, 0.5]]
)
def test_codes_tell_values_apart(values):
    column = objects(values) if None in values else np.array(values)
    code, listed = _codes_and_values(column)
    assert [listed[i] for i in code.tolist()] == column.tolist()
