"""Derived columns come from one row, keep the others and leave the unit alone."""

import pyarrow
import pytest

import hush
from hush.errors import InvalidArgument, Unsupported
from hush.tables.engines import engine as engines

ROWS = {
    "u": pyarrow.array([1, 2, 3]),
    "distance": pyarrow.array([10.0, 5.0, None]),
    "hours": pyarrow.array([2.0, 0.0, 1.0]),
    "day": pyarrow.array([0, 40, 80], pyarrow.date32()),
}


def opened(table):
    return hush.open(table, unit="u", budget=hush.Budget(epsilon=1))


def test_new_columns_stand_beside_the_old(engine):
    data = opened(engine.table(ROWS)).select(
        speed="distance / hours", month="DATE_TRUNC('month', day)", zero="hours * -0"
    )
    rows = engines.fetch(data._table.order_by("u")).to_pylist()
    assert [row["speed"] for row in rows] == [5.0, None, None]
    assert [row["month"].isoformat() for row in rows] == [
        "1970-01-01",
        "1970-02-01",
        "1970-03-01",
    ]
    assert [str(row["zero"]) for row in rows] == ["0.0"] * 3
    assert [row["distance"] for row in rows] == [10.0, 5.0, None]
    fast = data.where("speed > 1").select(speed="speed * 2", replacing=["speed"])
    assert engines.fetch(fast._table).to_pylist()[0]["speed"] == 10.0


def test_a_derived_column_is_a_group(engine):
    data = opened(engine.table(ROWS)).select(slow="BIN(hours, 0, 2, 2)")
    asked = data.group_by("slow", keys=hush.tables.bins(0, 2, 2)).agg(n=hush.count())
    found = engines.fetch(asked.relations()[0]).to_pylist()
    assert {row["_place"] for row in found} == {0, 1}  # of the two bins


@pytest.mark.parametrize(
    ("columns", "error", "match"),
    [
        ({"u": "distance"}, Unsupported, "unit"),
        ({"hours": "1"}, InvalidArgument, "replacing"),
        ({"_w": "1"}, InvalidArgument, "underscore"),
        ({"a b": "1"}, InvalidArgument, "plain word"),
        ({"a": "random()"}, Unsupported, "RANDOM"),
        ({"a": "SUM(hours)"}, Unsupported, "SUM"),
        ({"a": "none + 1"}, Unsupported, "none"),
    ],
    ids=["unit", "taken", "underscore", "space", "random", "aggregate", "unknown"],
)
def test_bad_columns_are_refused(columns, error, match):
    with pytest.raises(error, match=match):
        opened(pyarrow.table(ROWS)).select(**columns)
    with pytest.raises(Unsupported, match="unit"):
        opened(pyarrow.table(ROWS)).select(u="1", replacing=["u"])


def test_long_chains_stay_short():
    # Each step is a query of its own, so guards do not multiply.
    data = opened(pyarrow.table(ROWS))
    for i in range(12):
        before = "hours" if i == 0 else f"c{i - 1}"
        data = data.select(**{f"c{i}": f"({before} * {before}) / (1 + {before}) + 1"})
    row = engines.fetch(data._table.order_by("u")).to_pylist()[0]
    value = 2.0
    for _ in range(12):
        value = (value * value) / (1 + value) + 1
    assert row["c11"] == value
