"""One person moves every statistic by at most what is declared, on every engine."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush.errors import InvalidArgument
from hush.tables.bounding import contribution_bounds
from hush.tables.bounding.contribution_bounds import UNIT, Grid
from hush.tables.dataset import open_table

pytestmark = pytest.mark.usefixtures("one_text")
KEYS = ["a", "b"]
NEIGHBORS = ["add-remove", "replace-one"]


def arrow(rows):
    people, groups, values = zip(*rows, strict=True) if rows else ((), (), ())
    return {
        "u": pyarrow.array(people, pyarrow.int64()),
        "g": pyarrow.array(groups, pyarrow.string()),
        "x": pyarrow.array(values, pyarrow.float64()),
    }


def query(table, neighbors="add-remove", grouped=True, bounds=(-3, 5), rows=2):
    data = open_table(
        table,
        unit="u",
        rows=rows,
        neighbors=neighbors,
        budget=hush.Budget(epsilon=1),
    )
    asked = data.group_by("g", keys=KEYS) if grouped else data
    return asked.agg(
        n=hush.count(),
        total=hush.sum("x", bounds=bounds),
        mean=hush.mean("x", bounds=bounds),
    )


def vectors(asked):
    """The exact integers that noise would be added to."""
    found = asked.compiled.result(())
    return [part.exact(found, asked.groups.keys) for part in asked.compiled.parts]


def moved(before, after):
    return [int(np.abs(a - b).sum()) for a, b in zip(before, after, strict=True)]


POISON = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, None, 4.0]


@pytest.mark.thin(4)
@pytest.mark.parametrize("value", POISON, ids=repr)
@pytest.mark.parametrize("grouped", [True, False], ids=["grouped", "all"])
def test_one_strange_record_moves_no_more_than_declared(engine, value, grouped):
    # HAZARDS N11, S1: the same calls, and no more movement than a normal record.
    others = [(1, "a", 1.0), (2, "b", -2.0), (3, "a", 3.5)]
    one = [*others, (9, "a", value)]
    with_, without = (
        query(engine.table(arrow(each)), grouped=grouped) for each in (one, others)
    )
    declared = [s.sensitivity(1) for s in with_.compiled.parts]
    assert declared == [s.sensitivity(1) for s in without.compiled.parts]
    for moves, limit in zip(
        moved(vectors(with_), vectors(without)), declared, strict=True
    ):
        assert moves <= limit


@pytest.mark.thin(4)
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("grouped", [True, False], ids=["grouped", "all"])
@pytest.mark.parametrize(
    "bounds",
    [
        (-3, 5),
        pytest.param((0, 100), marks=pytest.mark.slow),
        pytest.param((-100, 0), marks=pytest.mark.slow),
        pytest.param((5, 9), marks=pytest.mark.slow),
    ],
)
def test_exhaustive_neighbors_of_tiny_tables(neighbors, grouped, bounds):
    # HAZARDS S4: all contributions of one person on the corners of the bounds.
    import ibis

    lower, upper = bounds
    corners = [float(lower), float(upper), None]
    contributions = [
        [(9, g, x) for g, x in chosen]
        for size in (0, 1, 3)
        for chosen in itertools.combinations_with_replacement(
            [(g, x) for g in ("a", "b") for x in corners], size
        )
    ]
    connection = ibis.duckdb.connect()
    found, limits = [], None
    for rows in contributions:
        table = connection.create_table(
            "t", pyarrow.table(arrow([*rows, (1, "a", 1.0)])), overwrite=True
        )
        asked = query(table, neighbors=neighbors, grouped=grouped, bounds=bounds)
        found.append(vectors(asked))
        limits = [s.sensitivity(1) for s in asked.compiled.parts]
    pairs = (
        itertools.combinations(range(len(found)), 2)
        if neighbors == "replace-one"
        else ((0, i) for i in range(1, len(found)))
    )
    largest = [0] * len(limits)
    for i, j in pairs:
        for k, moves in enumerate(moved(found[i], found[j])):
            largest[k] = max(largest[k], moves)
    for k, (reached, limit) in enumerate(zip(largest, limits, strict=True)):
        assert reached <= limit
        # And the declaration is not idle: it is reached to within rounding.
        assert reached >= 0.98 * limit, k


def test_a_heavy_person_counts_as_their_cap(engine):
    # HAZARDS S8: one person with 400 rows in two groups.
    rows = [(7, "ab"[i % 2], 80.0) for i in range(400)] + [(8, "a", 1.0)]
    asked = query(engine.table(arrow(rows)), bounds=(0, 80), rows=3)
    counts = vectors(asked)[0]
    without = vectors(query(engine.table(arrow(rows[-1:])), bounds=(0, 80), rows=3))[0]
    assert np.abs(counts - without).sum() <= 3 * UNIT
    assert np.abs(counts - without).sum() >= 2.99 * UNIT


def test_removing_one_person_leaves_the_others_as_they_are():
    # HAZARDS S9: weights depend on a person's own rows alone.
    import ibis

    rows = [(p, "a", float(i)) for p, n in ((1, 2), (2, 5), (3, 9)) for i in range(n)]
    connection = ibis.duckdb.connect()

    def weights(kept, name):
        table = connection.create_table(name, pyarrow.table(arrow(kept)))
        found = contribution_bounds.with_weights(table, "u", 4).to_pyarrow().to_pylist()
        return {(row["u"], row["x"]): row["_w"] for row in found}

    everyone = weights(rows, "all")
    for gone in (1, 2, 3):
        left = weights([row for row in rows if row[0] != gone], f"no{gone}")
        assert left == {k: w for k, w in everyone.items() if k[0] != gone}


def test_rows_of_nobody_are_dropped(engine):
    rows = [(None, "a", 1.0), (1, "a", 1.0)]
    assert vectors(query(engine.table(arrow(rows))))[0].tolist() == [UNIT, 0]


def test_every_engine_adds_up_the_same_integers(engine):
    # HAZARDS N6: the reference is exact arithmetic in Python.
    generator = np.random.default_rng(5)
    rows = [
        (int(p), "ab"[int(g)], float(x))
        for p, g, x in zip(
            generator.integers(0, 40, 600),
            generator.integers(0, 2, 600),
            generator.normal(0, 50, 600),
            strict=True,
        )
    ]
    asked = query(engine.table(arrow(rows)), bounds=(-3, 5))
    grid = Grid.of((-3, 5))
    counts = {p: sum(row[0] == p for row in rows) for p in range(40)}
    n, total = {"a": 0, "b": 0}, {"a": 0, "b": 0}
    for person, group, x in rows:
        weight = UNIT if counts[person] <= 2 else 2 * UNIT // counts[person]
        inside = Fraction(min(max(x, -3), 5))
        steps = math.floor(inside / grid.step - grid.low + Fraction(1, 2)) + grid.low
        n[group] += weight
        total[group] += weight * steps
    found = vectors(asked)
    assert found[0].tolist() == [n["a"], n["b"]]
    coarse = asked.compiled.parts[1].steps_per_release
    assert found[1].tolist() == [total["a"] // coarse, total["b"] // coarse]


@settings(max_examples=40)
@given(
    st.floats(-1e9, 1e9, allow_nan=False),
    st.floats(0, 1e9, allow_nan=False),
)
def test_a_grid_covers_its_bounds_with_few_steps(lower, width):
    grid = Grid.of((lower, lower + width))
    assert grid.low * grid.step <= Fraction(lower)
    assert grid.high * grid.step >= Fraction(lower + width)
    assert grid.high - grid.low <= 2**25


@pytest.mark.parametrize("bad", [(1, 0), (math.nan, 1), (0, math.inf), (0,)])
def test_bad_bounds_are_refused(bad):
    with pytest.raises(InvalidArgument):
        hush.mean("x", bounds=bad)
