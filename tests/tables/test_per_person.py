"""One row per person: exact on every engine, and nobody's row depends on another's."""

import math
from collections import defaultdict

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush.audit import neighbors_of, replay
from hush.errors import InvalidArgument, KeyConflict, Unsupported
from hush.tables.bounding.contribution_bounds import Grid
from hush.tables.engines.engine import fetch
from tables.desk import base

pytestmark = pytest.mark.usefixtures("one_text")
BOUNDS = (-3.0, 50.0)
ODD = [None, math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, -0.0, 0.0, 7.25]
MEASURES = {
    "n": "COUNT(*)",
    "held": "COUNT(x)",
    "some": "COUNT(*) FILTER (WHERE x > 1)",
    "total": "SUM(CLAMP(x, -3, 50))",
    "middle": "AVG(CLAMP(x, -3, 50))",
    "low": "MIN(x)",
    "high": "MAX(x)",
}


def opened(table, **more):
    more = {"unit": "who", "rows": 3, "name": "trips"} | more
    return hush.open(table, budget=hush.Budget(epsilon=1e12), **more)


def columns(rows):
    return {
        "who": pyarrow.array([who for who, _ in rows], pyarrow.int64()),
        "x": pyarrow.array([x for _, x in rows], pyarrow.float64()),
    }


def tame(x):
    if abs(x) < 1e-70:
        return 0.0
    return max(-1e70, min(1e70, x))


def expected(rows):
    """The same in plain Python, with whole steps."""
    grid, people = Grid.of(BOUNDS), defaultdict(list)
    for who, x in rows:
        if who is not None:
            people[who].append(None if x is None or math.isnan(x) else x)
    found = {}
    for who, held in people.items():
        values = [x for x in held if x is not None]
        low, high = grid.ends
        steps = [
            math.floor((min(max(x, low), high) - low) / float(grid.step) + 0.5)
            + grid.low
            for x in values
        ]
        total = float(sum(steps) * grid.step) if values else None
        tamed = [tame(x) for x in values]
        found[who] = {
            "n": len(held),
            "held": len(values),
            "some": sum(x > 1 for x in tamed),
            "total": total,
            "middle": total / len(values) if values else None,
            "low": min(tamed, default=None),
            "high": max(tamed, default=None),
        }
    return found


def shown(people):
    found = fetch(people._table).to_pylist()
    assert len({row["who"] for row in found}) == len(found), "one row per person"
    return {row.pop("who"): row for row in found}


def test_every_engine_adds_up_the_same(engine):
    generator = np.random.default_rng(5)
    who = [None, *generator.integers(0, 9, 79).tolist()]
    rows = [(w, ODD[i % 13] if i % 13 < 10 else i / 7) for i, w in enumerate(who)]
    people = opened(engine.table(columns(rows))).per_person(**MEASURES)
    assert people.rows == 1
    found, wanted = shown(people), expected(rows)
    assert found == wanted
    zeros = [row["low"] for row in found.values() if row["low"] == 0.0]
    assert all(math.copysign(1, zero) == 1 for zero in zeros), "one kind of zero"


NUMBERS = st.one_of(st.sampled_from(ODD), st.floats(-100, 100))


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 3), NUMBERS), max_size=12), st.integers(0, 3))
def test_a_person_who_leaves_takes_one_row_and_changes_no_other(rows, leaver):
    whole = shown(opened(pyarrow.table(columns(rows))).per_person(**MEASURES))
    rest = [row for row in rows if row[0] != leaver]
    left = shown(opened(pyarrow.table(columns(rest))).per_person(**MEASURES))
    whole.pop(leaver, None)
    assert left == whole


def test_the_order_of_rows_does_not_show():
    generator = np.random.default_rng(0)
    rows = [(int(i % 5), float(v)) for i, v in enumerate(generator.normal(0, 30, 999))]
    found = shown(opened(pyarrow.table(columns(rows))).per_person(**MEASURES))
    mixed = [rows[i] for i in generator.permutation(len(rows))]
    again = shown(opened(pyarrow.table(columns(mixed))).per_person(**MEASURES))
    assert found == again


@pytest.mark.thin(4)
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("by", [(), ("g",)], ids=["people", "people and groups"])
def test_record_and_replay(neighbors, by, desk):
    def release(columns):
        data = opened(desk.lay(columns), neighbors=neighbors)
        people = data.per_person(*by, t="SUM(CLAMP(x, 0, 30))", n="COUNT(*)")
        asked = people.group_by("g", keys=["a", "b", "z"]) if by else people
        query = asked.agg(
            n=hush.count(),
            t=hush.mean("t", bounds=(0, 90)),
            q=hush.median("t / n", bounds=(0, 30)),
        )
        return query.release(epsilon=20)

    pairs = [
        pair
        for seed in range(2)
        for pair in neighbors_of(base(seed), unit="who", neighbors=neighbors, rows=200)
    ]
    assert len(pairs) >= 30
    for pair in pairs:
        found = replay(
            release, pair.data, pair.neighbor, released=lambda a: dict(a.values)
        )
        assert found.passed, f"{pair}: {found}"
        assert found.calls


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SUM(x)", "needs public bounds"),
        ("VARIANCE(x)", "COUNT SUM AVG MIN MAX"),
        ("COUNT(DISTINCT x)", "COUNT SUM AVG MIN MAX"),
        ("x + 1", "COUNT SUM AVG MIN MAX"),
        ("SUM(CLAMP(x, 0, 1)) + 1", "COUNT SUM AVG MIN MAX"),
        ("MAX(g)", "numbers and dates"),
        ("SUM(CLAMP(nothing, 0, 1))", "no column 'nothing'"),
        ("MIN(DISTINCT x)", "cannot read"),
    ],
)
def test_what_is_not_known_is_refused_before_data_is_read(text, says):
    table = pyarrow.table({"who": [1], "x": [1.0], "g": ["a"]})
    with pytest.raises(Unsupported, match=says):
        opened(table).per_person(v=text)


def test_people_need_a_unit_and_names_that_are_free():
    table = pyarrow.table({"who": [1], "x": [1.0], "g": ["a"]})
    with pytest.raises(InvalidArgument, match="unit="):
        opened(table, unit=None).per_person(n="COUNT(*)")
    for name in ("who", "g", "_n"):
        with pytest.raises(InvalidArgument, match="cannot name a column"):
            opened(table).per_person("g", **{name: "COUNT(*)"})
    with pytest.raises(InvalidArgument, match="is the unit"):
        opened(table).per_person("who", n="COUNT(*)")


@pytest.mark.parametrize(
    ("inner", "says"),
    [
        ("SELECT g, COUNT(*) AS n FROM trips GROUP BY g", "must name the unit 'who'"),
        ("SELECT who, COUNT(*) FROM trips GROUP BY who", "by AS"),
        ("SELECT who AS n FROM trips GROUP BY who", "keeps its name"),
        ("SELECT who, COUNT(*) AS n FROM trips GROUP BY who, x + 1", "plain columns"),
        ("SELECT who, MAX(x) AS n FROM trips GROUP BY who LIMIT 1", "person by person"),
        ("SELECT who, g AS n FROM trips GROUP BY who", "COUNT SUM AVG MIN MAX"),
    ],
)
def test_subqueries_that_leave_the_person_are_refused(inner, says):
    table = pyarrow.table({"who": [1], "x": [1.0], "g": ["a"]})
    with pytest.raises(Unsupported, match=says):
        opened(table).prepare(f"SELECT SUM(CLAMP(n, 0, 9)) AS s FROM ({inner})")


def test_a_key_does_not_outlive_the_rows_it_was_asked_about():
    table = pyarrow.table({"who": range(40), "x": [1.0] * 40, "g": ["a", "b"] * 20})
    data = opened(table)
    first = data.where("x > 0").agg(n=hush.count()).release(1, key="k")
    again = data.where("x > 0").agg(n=hush.count()).release(1, key="k")
    assert again.release == first.release
    assert first.release.receipt.notes["steps"] == ["where x > 0"]
    others = [
        data.agg(n=hush.count()),
        data.where("x < 0").agg(n=hush.count()),
        data.where("x > 0").where("x > 0").agg(n=hush.count()),
        data.select(x2="x").agg(n=hush.count()),
        data.per_person(t="COUNT(*)").agg(n=hush.count()),
        data.join(pyarrow.table({"g": ["a"]}), on="g").agg(n=hush.count()),
    ]
    for query in others:
        with pytest.raises(KeyConflict):
            query.release(1, key="k")
    by = data.select(h="g").group_by("g", keys=["a"]).agg(n=hush.count())
    by.release(1, key="g")
    other = data.select(h="g").group_by("h", keys=["a"]).agg(n=hush.count())
    with pytest.raises(KeyConflict):
        other.release(1, key="g")
