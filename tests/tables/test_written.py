"""What DuckDB is asked: filtered rows are read twice, chance is asked once."""

import ibis
import pyarrow
import pytest

from hush.tables.bounding import contribution_bounds
from hush.tables.engines.duckdb import sql_of

ONCE, TWICE = " AS (", " AS NOT MATERIALIZED ("


@ibis.udf.scalar.builtin
def twice(x: float) -> float:
    """A function that nobody knows."""


def made():
    connection = ibis.duckdb.connect()
    rows = pyarrow.table({"who": [1, 1, None, 2], "x": [1.0, 2.0, 3.0, -4.0]})
    return connection, connection.create_table("t", rows)


def asked(pick):
    """The SQL of weighted sums over some rows of a table."""
    connection, table = made()
    weighted = contribution_bounds.with_weights(pick(table), "who", 1)
    return sql_of(connection, weighted.agg(n=weighted["_w"].sum()))


def test_a_condition_is_asked_twice():
    text = asked(lambda t: t.filter(t["x"] > 0))
    assert text.startswith('WITH "t1"' + TWICE)
    assert made()[0].con.sql(text).fetchall() == [(1 << 20,)]


@pytest.mark.parametrize(
    "pick",
    [
        lambda t: t.filter(ibis.random() < 0.5),
        lambda t: t.filter(twice(t["x"]) < 0.5),
        lambda t: t.mutate(y=t["x"] * 2),
        lambda t: t.limit(3),
        lambda t: t.distinct(),
        lambda t: t.filter(t["x"] > t["x"].mean()),
    ],
    ids=["chance", "unknown", "derived", "limit", "distinct", "whole"],
)
def test_everything_else_is_asked_once(pick):
    text = asked(pick)
    assert ONCE in text
    assert TWICE not in text.partition("SELECT")[0]
