"""What DuckDB answers arrives exactly, with Arrow as the oracle."""

import datetime
from decimal import Decimal

import ibis
import numpy as np
import pyarrow
import pytest

from hush.tables.engines import duckdb
from hush.tables.engines.columns import Columns
from hush.tables.engines.engine import fetch

DAY = datetime.date(1969, 12, 31)
NOON = datetime.datetime(2026, 2, 28, 12, 0, 0, 500)
VALUES = {
    "int64": pyarrow.array([2**63 - 1, -(2**63), 2**53 + 1]),
    "int64 with NULL": pyarrow.array([2**53 + 1, None, -(2**63)]),
    "uint64": pyarrow.array([2**64 - 1, 0, 2**53 + 1], pyarrow.uint64()),
    "int8": pyarrow.array([-128, 127, None], pyarrow.int8()),
    "double": pyarrow.array([0.1, -0.0, None]),
    "float": pyarrow.array([0.1, 1e30, None], pyarrow.float32()),
    "wide": pyarrow.array([Decimal(10**37 + 1), Decimal(-1), None]),
    "money": pyarrow.array([Decimal("0.10"), Decimal("-7.25"), None]),
    "truth": pyarrow.array([True, False, None]),
    "all true": pyarrow.array([True, True, True]),
    "text": pyarrow.array(["", "NULL", None]),
    "quotes": pyarrow.array(["'", '"', "é\n"]),
    "date": pyarrow.array([DAY, datetime.date.max, None]),
    "moment": pyarrow.array([NOON, datetime.datetime.min, None]),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_are_those_of_arrow(name):
    given = pyarrow.table({name: VALUES[name], 'odd " name': [1, 2, 3]})
    table = ibis.duckdb.connect().create_table("rows", given)
    found = fetch(table)
    assert found.to_pylist() == given.to_pylist()
    types = [[type(each) for each in row.values()] for row in found.to_pylist()]
    assert types == [[type(each) for each in row.values()] for row in given.to_pylist()]
    assert Columns.of_arrow(given).to_pylist() == given.to_pylist()


def test_sums_wider_than_doubles_are_exact():
    given = pyarrow.table({"x": [2**61 + 1] * 3 + [1]})
    table = ibis.duckdb.connect().create_table("rows", given)
    wide = table.x.cast("decimal(38, 0)").sum()
    (row,) = fetch(table.agg(few=table.x.min(), total=wide)).to_pylist()
    assert row == {"few": 1, "total": 3 * 2**61 + 4}


def test_values_that_python_lacks_stay_apart():
    # Infinite dates and nanoseconds: none becomes NULL, and no two become one.
    connection = ibis.duckdb.connect()
    connection.raw_sql(
        "CREATE VIEW odd AS SELECT * FROM (VALUES "
        "(DATE 'infinity', TIMESTAMP_NS '2026-01-01 00:00:00.000000001'), "
        "(DATE '-infinity', TIMESTAMP_NS '2026-01-01 00:00:00.000000002'), "
        "(DATE '10000-01-01', TIMESTAMP_NS '2026-01-01 00:00:00'), "
        "(DATE '0044-03-15 (BC)', NULL), (DATE '2026-01-01', NULL), (NULL, NULL)"
        ") AS t(day, moment)"
    )
    found = fetch(duckdb.table(connection, "odd"))
    days, moments = found["day"].tolist(), found["moment"].tolist()
    assert days == [
        "infinity",
        "-infinity",
        "10000-01-01",
        "0044-03-15 (BC)",
        datetime.date(2026, 1, 1),
        None,
    ]
    assert len(set(moments[:3])) == 3
    assert moments[2:] == [datetime.datetime(2026, 1, 1), None, None, None]


def test_an_empty_answer_has_its_columns():
    table = ibis.duckdb.connect().create_table(
        "rows", schema={"k": "string", "n": "int64"}
    )
    found = fetch(table)
    assert (found.column_names, found.num_rows) == (("k", "n"), 0)
    assert found.to_pylist() == found.tuples(("k",)) == []
    assert found["n"].dtype == np.int64


def test_the_schema_is_what_ibis_reads():
    connection = ibis.duckdb.connect()
    made = connection.create_table("rows", pyarrow.table(VALUES))
    assert duckdb.table(connection, "rows").schema() == made.schema()


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_copies_arrive_whole_in_parts(monkeypatch, rows):
    monkeypatch.setattr(duckdb, "_AT_ONCE", 2)
    columns = {"id": list(range(rows)), "day": [None, DAY, DAY, None, DAY][:rows]}
    types = {"id": "int64", "day": "date"}
    made = duckdb.copy_columns(ibis.duckdb.connect(), "copy", columns, types)
    assert fetch(made.order_by("id")).to_pylist() == [
        {"id": i, "day": columns["day"][i]} for i in range(rows)
    ]


def test_nothing_fetched_is_shown():
    assert repr(Columns({"secret": np.array([7])})) == "data"
