"""Texts are compared byte by byte, whatever brings a collation to them."""

import ibis
import numpy as np
import pytest

import hush
from hush.errors import InvalidArgument

ROWS = "CREATE TABLE t AS SELECT range AS u, 'Ab' AS s FROM range(9)"
VIEWS = {
    "a view": "CREATE VIEW v AS SELECT u, s COLLATE nocase AS s FROM t",
    "a view of a view": "CREATE VIEW w AS SELECT u, s COLLATE nocase AS s FROM t; "
    "CREATE VIEW v AS SELECT * FROM w",
    "a function in a view": "CREATE VIEW v AS SELECT u, "
    "trim(s COLLATE noaccent) AS s FROM t",
    "a generated column": "CREATE TABLE v (u BIGINT, a VARCHAR, "
    "s AS (a COLLATE nocase)); INSERT INTO v SELECT u, s FROM t",
    "a union": "CREATE VIEW v AS SELECT u, s FROM t UNION ALL "
    "SELECT u, s COLLATE nocase FROM t",
    "a chain": "CREATE VIEW v AS SELECT u, s COLLATE nocase.noaccent AS s FROM t",
    "a macro": "CREATE MACRO m() AS TABLE SELECT u, s COLLATE nocase AS s FROM t; "
    "CREATE VIEW v AS SELECT * FROM m()",
}


def opened(table):
    return hush.open(table, unit="u", rows=1, budget=hush.Budget(epsilon=9))


def connected(*statements):
    connection = ibis.duckdb.connect()
    for each in (ROWS, *statements):
        connection.raw_sql(each)
    return connection


@pytest.mark.parametrize("made", VIEWS.values(), ids=VIEWS)
def test_a_collation_that_comes_by_the_schema_is_refused(made):
    with pytest.raises(InvalidArgument, match="collation"):
        opened(connected(made).table("v"))


def test_a_collation_in_a_statement_is_refused():
    connection = connected()
    schema = ibis.schema({"u": "int64", "s": "string"})
    loose = "SELECT u, s COLLATE nocase AS s FROM t"
    with pytest.raises(InvalidArgument, match="collation"):
        opened(connection.sql(loose, schema=schema))
    plain = connection.sql("SELECT u, s FROM t", schema=schema)
    assert opened(plain).columns == ("u", "s")


def test_a_view_in_a_database_file_is_refused(tmp_path):
    path = tmp_path / "town.duckdb"
    connection = ibis.duckdb.connect(path)
    connection.raw_sql(ROWS)
    connection.raw_sql(VIEWS["a view"])
    connection.raw_sql(
        'CREATE VIEW "x COLLATE y" AS SELECT u, s AS "s COLLATE " FROM t'
    )
    connection.disconnect()
    with pytest.raises(InvalidArgument, match="collation"):
        opened(f"{path}/v")
    assert opened(f"{path}/x COLLATE y").columns == ("u", "s COLLATE ")


@pytest.mark.parametrize(
    "later",
    [
        "SET default_collation = 'nocase'",
        "CREATE OR REPLACE VIEW v AS SELECT u, s COLLATE nocase AS s FROM t",
    ],
)
def test_a_collation_that_comes_later_is_refused_before_the_charge(later):
    connection = connected("CREATE VIEW v AS SELECT u, s FROM t")
    data = opened(connection.table("v"))
    query = data.group_by("s", keys=["Ab", "aB"]).agg(n=hush.count())
    query.release(epsilon=1)
    left = data.budget.epsilon
    connection.raw_sql(later)
    with pytest.raises(InvalidArgument, match="collation"):
        query.release(epsilon=1)
    assert data.budget.epsilon == left


def test_the_check_leaves_nothing_behind_and_reads_no_row():
    failing = "CREATE VIEW v AS SELECT u, error('read') AS s FROM t"
    connection = connected(failing)
    tables = "SELECT table_name FROM duckdb_tables()"
    opened(connection.table("v"))
    assert connection.con.execute(tables).fetchall() == [("t",)]


LOOSE = """
CREATE COLLATION loose_seam (provider = libc, locale = 'C');
UPDATE pg_collation SET collisdeterministic = false WHERE collname = 'loose_seam';
CREATE TABLE seam (u int, s text);
CREATE VIEW seam_view AS SELECT u, s COLLATE loose_seam AS s FROM seam;
CREATE VIEW seam_views AS SELECT * FROM seam_view;
CREATE DOMAIN seam_domain AS text COLLATE loose_seam;
CREATE TABLE seam_generated (u int, a text,
    s seam_domain GENERATED ALWAYS AS (lower(a)) STORED)
"""


@pytest.mark.xdist_group("postgres")
def test_postgres_views_domains_and_statements_are_refused(postgres_engine):
    connection = postgres_engine.connection
    for each in LOOSE.split(";"):
        connection.raw_sql(each).close()
    connection.con.commit()
    for name in ("seam_view", "seam_views", "seam_generated"):
        with pytest.raises(InvalidArgument, match="collation"):
            opened(connection.table(name))
    with pytest.raises(InvalidArgument, match="collation"):
        opened(connection.sql("SELECT u, s COLLATE loose_seam AS s FROM seam"))
    assert opened(connection.sql("SELECT u, s FROM seam")).columns == ("u", "s")


@pytest.mark.xdist_group("spark")
def test_spark_views_and_statements_are_refused(spark_engine):
    connection = spark_engine.connection
    spark_engine.session.sql(
        "CREATE OR REPLACE TEMPORARY VIEW seam AS "
        "SELECT id AS u, collate('Ab', 'UTF8_LCASE') AS s FROM range(3)"
    )
    spark_engine.session.sql(
        "CREATE OR REPLACE TEMPORARY VIEW seams AS SELECT * FROM seam"
    )
    with pytest.raises(InvalidArgument, match="collation"):
        opened(connection.table("seams"))
    with pytest.raises(InvalidArgument, match="collation"):
        opened(connection.sql("SELECT u, 'Ab' COLLATE UNICODE_CI AS s FROM seam"))


@pytest.mark.xdist_group("spark")
def test_a_public_table_in_memory_is_joined_on_spark(spark_engine):
    # Looking at how its texts are compared, Spark must know the table of the join.
    table = spark_engine.table({"u": [1, 2, 3], "s": ["a", "b", "a"]})
    zones = {"s": ["a", "b"], "zone": ["north", "south"]}
    joined = opened(table).join(zones, on="s")
    query = joined.group_by("zone", keys=["north", "south"]).agg(n=hush.count())
    answer = query.release(epsilon=9)
    # Within 3 of the truth but for a chance below e^-20.
    assert np.abs(answer["n"] - [2, 1]).max() < 3
