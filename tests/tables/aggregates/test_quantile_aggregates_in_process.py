"""A census has the cells of the engine's own relation, however rows are handed over."""

import itertools
import math

import ibis
import numpy as np
import pyarrow
import pytest

import hush
from hush.tables.aggregates.quantile_aggregates import Axis, CellsInProcess, Cut
from hush.tables.bounding import in_process
from hush.tables.bounding.contribution_bounds import UNIT, row_weight, row_weights
from hush.tables.engines.columns import Columns
from hush.tables.engines.engine import fetch
from tables.desk import parts

POISON = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, -1e308, None]
KEYS = {
    "all": ((), None),
    "numbers": (("h",), range(-1, 3)),
    "some numbers": (("h",), [2, 7, 0]),
    "texts": (("g",), ["b", "nobody", "a"]),
    "two": (("g", "h"), [("a", 1), (None, 0), ("b", None)]),
}


def people(seed, count=600):
    """Rows with NULL in every column, and numbers that are none."""
    generator = np.random.default_rng(seed)
    who = generator.integers(0, 40, count) ** 2 // 40 - 7
    g = generator.choice(["a", "b", "c", None], count).tolist()
    h = generator.integers(-1, 4, count)
    x = [*generator.normal(3, 9, count - 3 * len(POISON)), *POISON * 3]
    gone = generator.random((2, count)) < 0.05
    return pyarrow.table(
        {
            "who": pyarrow.array(who, pyarrow.int32(), mask=gone[0]),
            "g": pyarrow.array(g, pyarrow.string()),
            "h": pyarrow.array(h, pyarrow.int64(), mask=gone[1]),
            "x": pyarrow.array(x, pyarrow.float64()),
        }
    )


def asked(table, keys="numbers", rows=3, unit="who"):
    data = hush.open(table, unit=unit, rows=rows, budget=hush.Budget(epsilon=9))
    by, values = KEYS[keys]
    grouped = data.group_by(*by, keys=values) if by else data
    return grouped.agg(q=hush.quantiles("x", [0.2, 0.7], bounds=(-5, 20)))


def read(query, *, own=True):
    """Weights by group and cell, from the census or from the engine's relation."""
    (part,) = query.compiled.parts
    readings = query.compiled.relations if own else (part.cut,)
    found = part.exact(query.compiled.result(readings), query.groups.keys)
    dense = np.zeros((len(found.groups), found.size), np.int64)
    for row, group in zip(dense, found.groups, strict=True):
        row[group.places] = group.weights
    return dense


HOW = {
    "at once": lambda patch: patch.setattr(in_process, "PART", 1 << 25),
    "parts": lambda patch: patch.setattr(in_process, "PART", 100),
    "far": lambda patch: patch.setattr(in_process, "_FEW", -(10**9)),
    "far parts": lambda patch: (
        patch.setattr(in_process, "_FEW", -(10**9)),
        patch.setattr(in_process, "PART", 30),
    ),
}


WAYS = [*((keys, "at once") for keys in KEYS), *(("two", how) for how in HOW)]


@pytest.mark.parametrize(("keys", "how"), dict.fromkeys(WAYS), ids=str)
def test_it_has_the_cells_of_the_relation(monkeypatch, keys, how):
    HOW[how](monkeypatch)
    table = people(1)
    query = asked(table, keys)
    assert [type(each) for each in query.compiled.relations] == [CellsInProcess]
    expected = read(query, own=False)
    assert expected.sum() > 0
    assert np.array_equal(read(query), expected)
    turned = table.take(np.random.default_rng(0).permutation(len(table)))
    assert np.array_equal(read(asked(turned, keys)), expected)


@pytest.mark.thin(3)
@pytest.mark.parametrize("how", HOW)
def test_a_person_moves_their_own_part(monkeypatch, how):
    # HAZARDS S8, S9.
    HOW[how](monkeypatch)
    for person, own in parts(lambda table: read(asked(table)), people(2)):
        assert own.sum() <= 3 * UNIT
        assert (person is None) == (own.sum() == 0)


@pytest.mark.parametrize("rows", [1, 2])
def test_exhaustive_neighbors_of_tiny_tables(rows):
    # One person's rows anywhere beside two others: each case has people and keys of its
    # own, so that all share one release.
    places = [(g, x) for g in (0, 1) for x in (-9.0, 1.0, 5.0, None)]
    others = [(1, 0, 1.0), (2, 1, -2.0), (2, 1, 5.0)]
    cases = [
        chosen
        for size in (0, 1, 3)
        for chosen in itertools.combinations_with_replacement(places, size)
    ]
    listed = [
        (10 * case + person, 2 * case + g, x)
        for case, chosen in enumerate(cases)
        for person, g, x in [*others, *((9, g, x) for g, x in chosen)]
    ]
    who, key, x = zip(*listed, strict=True)
    table = pyarrow.table({"who": who, "h": key, "x": pyarrow.array(x, "float64")})
    data = hush.open(table, unit="who", rows=rows, budget=hush.Budget(epsilon=1))
    grouped = data.group_by("h", keys=range(2 * len(cases)))
    query = grouped.agg(q=hush.median("x", bounds=(-3, 5)))
    assert [type(each) for each in query.compiled.relations] == [CellsInProcess]
    found = read(query).reshape(len(cases), -1)
    moved = found - found[0]
    assert np.all(moved >= 0)
    assert 0.99 * rows * UNIT < moved.sum(axis=1).max() <= rows * UNIT


@pytest.mark.parametrize("count", [0, 1])
def test_few_rows(count):
    query = asked(people(3).slice(0, count), "all")
    assert np.array_equal(read(query), read(query, own=False))


def test_weights_are_those_of_an_engine():
    held = np.concatenate([np.arange(1, 5000), 2 ** np.arange(13, 40)])
    table = ibis.duckdb.connect().create_table("t", pyarrow.table({"held": held}))
    for rows in (1, 3, 5, 7, 1000, 1 << 20):
        found = fetch(table.select("held", w=row_weight(table["held"], rows)))
        order = np.argsort(found["held"])
        assert np.array_equal(found["w"][order], row_weights(held, rows))


@pytest.mark.parametrize("few", [in_process._FEW, -(10**9)], ids=["near", "far"])
def test_people_who_came_later_take_nobodys_place(monkeypatch, few):
    # Ends are read first. A table that changes meanwhile must not mix people up.
    monkeypatch.setattr(in_process, "_FEW", few)
    rows = [(1, 5), (2, 6), (9, 7), (-3, 8), (4, 9)]
    who, number = zip(*rows, strict=True)
    table = ibis.duckdb.connect().create_table(
        "t", pyarrow.table({"_unit": who, "_n": number})
    )
    honest = in_process.engine.run_sql

    def earlier(relation, text, values=()):
        found = honest(relation, text, values)
        if "count(*)" not in text:
            return found
        return Columns(
            {n: np.array([v]) for n, v in (("held", 2), ("low", 1), ("high", 4))}
        )

    monkeypatch.setattr(in_process.engine, "run_sql", earlier)
    (found,) = in_process.fetched_rows(table, {"_n": "INTEGER"})
    assert sorted(found.numbers["_n"].tolist()) == [5, 6, 9]
    assert len(set(found.people.tolist())) == 3
    assert max(found.people) < found.many


def test_people_in_one_slot_have_places_of_their_own():
    generator = np.random.default_rng(6)
    people = generator.integers(-30, 30, 400)
    slot = np.abs(people) % 7  # the same for all rows of a person
    place, many = in_process._dense_places(people, slot, 8)
    pairs = set(zip(people.tolist(), place.tolist(), strict=True))
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}) == 60
    assert max(place) < many == 8 + 60 - 7


def test_public_types_and_numbers_decide():
    table = people(4)
    assert [type(each) for each in asked(table, unit="g").compiled.relations] == [Cut]
    assert [
        type(each) for each in asked(table, rows=1, unit=None).compiled.relations
    ] == [Cut]
    polars = ibis.polars.connect().create_table("t", table)
    assert [type(each) for each in asked(polars).compiled.relations] == [Cut]
    view, cut = asked(table).compiled.rows, Cut("x", Axis.of((0, 1), 1 << 16))
    assert CellsInProcess.can_replace(cut, view)
    sampled = hush.open(
        table, unit="who", rows=3, groups=2, budget=hush.Budget(epsilon=1)
    )
    grouped = sampled.group_by("h", keys=range(4)).agg(q=hush.median("x", (0, 1)))
    assert not CellsInProcess.can_replace(cut, grouped.compiled.rows)
    many = sampled.group_by("h", keys=range(0, 2000, 7)).agg(q=hush.median("x", (0, 1)))
    assert not CellsInProcess.can_replace(cut, many.compiled.rows)


def test_a_plan_says_where_rows_are_weighed():
    query = asked(people(5))
    assert CellsInProcess.note in query.explain()
    assert '"_code"' in query.sql_text()
