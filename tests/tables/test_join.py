"""Joined rows belong to one person; a person moves no more than declared."""

import itertools

import ibis
import numpy as np
import pyarrow
import pytest

import hush
from hush.errors import InvalidArgument, Unsupported
from hush.ledger import Ledger
from hush.tables.bounding import contribution_bounds
from hush.tables.bounding.contribution_bounds import UNIT
from hush.tables.engines import engine as engines

_COUNT = itertools.count()
AREAS = pyarrow.table({"borough": ["Bronx", "Queens"], "area": ["north", "east"]})


def opened(table, ledger=None, **more):
    rows = {"rows": 3} if more.get("unit", "u") else {}
    arguments = {"unit": "u", **rows, **more}
    if ledger is not None:
        return hush.open(table, ledger=ledger, **arguments)
    return hush.open(table, budget=hush.Budget(epsilon=1), **arguments)


def people(rows, *columns):
    kinds = {"u": pyarrow.int64(), "x": pyarrow.int64()}
    values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    return {
        name: pyarrow.array(column, kinds.get(name, pyarrow.string()))
        for name, column in zip(columns, values, strict=True)
    }


def rows_of(data, *names):
    found = engines.fetch(data._table).to_pylist()
    return sorted((tuple(row[n] for n in names) for row in found), key=repr)


TRIPS = [(1, "Bronx"), (1, "Kings"), (2, "Queens"), (None, "Bronx"), (3, None)]


def test_a_public_table(engine):
    data = opened(engine.table(people(TRIPS, "u", "borough")))
    inner = data.join(AREAS, on="borough")
    assert rows_of(inner, "u", "area") == sorted(
        [(1, "north"), (2, "east"), (None, "north")], key=repr
    )
    left = data.join(AREAS, on="borough", how="left")
    assert len(rows_of(left, "u", "area")) == len(TRIPS)
    assert (3, None) in rows_of(left, "u", "area")
    keys = ["north", "east", "south"]
    asked = inner.group_by("area", keys=keys).agg(n=hush.count())
    assert asked.release(epsilon=0.5).to_dict()["area"] == keys


def test_a_public_file_and_several_columns(tmp_path):
    (tmp_path / "areas.csv").write_text("borough,kind,area\nBronx,a,1\nBronx,b,2\n")
    rows = [(1, "Bronx", "a"), (2, "Bronx", "b"), (3, "Bronx", "c")]
    table = pyarrow.table(people(rows, "u", "borough", "kind"))
    met = opened(table).join(tmp_path / "areas.csv", on=["borough", "kind"])
    assert rows_of(met, "u", "area") == [(1, "1"), (2, "2")]
    less = opened(table.drop_columns(["kind"]))
    with pytest.raises(Unsupported, match="several rows"):
        less.join(tmp_path / "areas.csv", on="borough")


def test_a_public_table_is_copied_when_it_is_checked():
    # Rows that come later must not repeat a person, least of all where rows are people.
    connection = ibis.duckdb.connect()
    areas = connection.create_table("areas", AREAS)
    trips = connection.create_table(
        "trips", pyarrow.table(people(TRIPS, "u", "borough"))
    )
    data = opened(trips, unit=None).join(areas, on="borough")
    connection.raw_sql("INSERT INTO areas VALUES ('Bronx', 'again')")
    assert engines.fetch(data._table).num_rows == 3


@pytest.mark.parametrize(
    ("other", "arguments", "match"),
    [
        (AREAS, {"on": "area"}, "no column"),
        (AREAS, {"on": []}, "on="),
        (AREAS, {"on": "borough", "how": "outer"}, "how="),
        (pyarrow.table({"borough": [1]}), {"on": "borough"}, "number"),
        (pyarrow.table({"borough": ["a"], "u": [1]}), {"on": "borough"}, "both"),
        (pyarrow.table({"u": [1.5]}), {"on": "u"}, "floating"),
        (pyarrow.table({"borough": ["a", "a"]}), {"on": "borough"}, "several rows"),
    ],
    ids=["name", "nothing", "outer", "kind", "clash", "float", "repeated"],
)
def test_joins_that_are_refused(other, arguments, match):
    table = pyarrow.table(people(TRIPS, "u", "borough"))
    with pytest.raises((InvalidArgument, Unsupported), match=match):
        opened(table).join(other, **arguments)


def test_private_tables_meet_over_their_people_only():
    connection = ibis.duckdb.connect()
    ledger = Ledger.open("memory://", budget=hush.Budget(epsilon=1), dataset="t")
    a = connection.create_table("a", pyarrow.table(people([(1, "p")], "u", "g")))
    b = connection.create_table("b", pyarrow.table(people([(1, "p")], "u", "h")))
    first, second = opened(a, ledger), opened(b, ledger)
    assert rows_of(first.join(second, on="u"), "u", "g", "h") == [(1, "p", "p")]
    renamed = opened(b.rename(g="h"), ledger)
    with pytest.raises(Unsupported, match="two people"):
        first.join(renamed, on="g")
    with pytest.raises(Unsupported, match="two people"):
        first.join(opened(b, ledger, unit=None), on="u")
    with pytest.raises(Unsupported, match="one ledger"):
        first.join(opened(b), on="u")
    with pytest.raises(Unsupported, match="neighbors"):
        first.join(opened(b, ledger, neighbors="replace-one"), on="u")
    elsewhere = ibis.duckdb.connect().create_table("b", b.to_pyarrow())
    with pytest.raises(Unsupported, match="same connection"):
        first.join(opened(elsewhere, ledger), on="u")


def weights(data):
    """The weight of every (person, group) after bounding."""
    table = contribution_bounds.with_weights(data._table, data.unit, data.rows)
    found = {}
    for row in engines.fetch(table).to_pylist():
        key = row["u"], row["g"], row["h"]
        found[key] = found.get(key, 0) + row["_w"]
    return found


def joined(connection, left, right, how, count=_COUNT):
    ledger = Ledger.open("memory://", budget=hush.Budget(epsilon=1), dataset="t")
    a, b = (
        connection.create_table(f"{name}{next(count)}", pyarrow.table(columns))
        for name, columns in (
            ("a", people(left, "u", "g")),
            ("b", people(right, "u", "h")),
        )
    )
    return opened(a, ledger).join(opened(b, ledger), on="u", how=how)


@pytest.mark.thin(2)
@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize(
    "pairs", [6, pytest.param(200, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_removing_a_person_removes_their_joined_rows_and_no_others(how, pairs):
    # HAZARDS S8, S9: 1:n, n:m, NULL units; the others keep every weight.
    generator = np.random.default_rng(11)
    connection = ibis.duckdb.connect()
    for _ in range(pairs):
        left, right = (
            [
                (None if p == 4 else int(p), "ab"[int(k)])
                for p, k in zip(
                    generator.integers(0, 5, size),
                    generator.integers(0, 2, size),
                    strict=True,
                )
            ]
            for size in generator.integers(0, 12, 2)
        )
        whole = weights(joined(connection, left, right, how))
        assert None not in {person for person, _, _ in whole}
        for gone in range(4):
            fewer = weights(
                joined(
                    connection,
                    [row for row in left if row[0] != gone],
                    [row for row in right if row[0] != gone],
                    how,
                )
            )
            assert fewer == {k: w for k, w in whole.items() if k[0] != gone}
            assert sum(w for k, w in whole.items() if k[0] == gone) <= 3 * UNIT


def test_a_table_meets_itself(engine):
    # n rows of a person become n squared; the bound holds all the same.
    table = engine.table(people([(1, "a")] * 5 + [(2, "b")], "u", "g"))
    ledger = Ledger.open("memory://", budget=hush.Budget(epsilon=1), dataset="t")
    data = opened(table, ledger)
    met = data.join(opened(table.rename(h="g"), ledger), on="u")
    found = weights(met)
    assert 2.9 * UNIT < found[1, "a", "a"] <= 3 * UNIT
    assert found[2, "b", "b"] == UNIT
    assert met.join(AREAS.rename_columns(["g", "area"]), on="g", rows=1).rows == 1
