"""What was opened as private is never taken for a public table."""

import duckdb
import ibis
import pyarrow
import pytest

import hush
from hush.errors import HushError, InvalidArgument


def opened(given, **more):
    budget = hush.Budget(epsilon=9)
    return hush.open(given, unit="u", rows=1, budget=budget, **more)


@pytest.fixture
def data():
    return opened({"u": [1, 2, 3], "k": ["a", "b", "c"]}, name="mine")


def given(kind, folder):
    """Return what a data set can be opened from."""
    columns = {"k": ["a", "b"], "u": [7, 8]}
    if kind == "mapping":
        return columns
    if kind in ("pyarrow", "ibis", "lazy", "polars", "pandas"):
        table = pyarrow.table(columns)
        if kind == "ibis":
            return ibis.duckdb.connect().create_table("t", table)
        if kind in ("lazy", "polars"):
            import polars

            frame = polars.from_arrow(table)
            return frame.lazy() if kind == "lazy" else frame
        return table.to_pandas() if kind == "pandas" else table
    if kind == "csv":
        (folder / "c.csv").write_text("k,u\na,7\nb,8\n")
        return folder / "c.csv"
    with duckdb.connect(folder / "c.duckdb") as made:
        made.execute("CREATE TABLE t AS SELECT 'a' AS k, 7 AS u")
    return f"{folder}/c.duckdb/t"


KINDS = ["mapping", "pyarrow", "ibis", "lazy", "polars", "pandas", "csv", "duckdb"]


def refused(data, other):
    with pytest.raises(InvalidArgument, match=r"private|inside"):
        data.join(other, on="k")
    with pytest.raises(InvalidArgument, match=r"private|inside"):
        data.prepare(
            "SELECT COUNT(*) FROM mine JOIN other USING (k)", tables={"other": other}
        )


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_inside_of_a_data_set_is_not_public(kind, tmp_path, data):
    other = opened(given(kind, tmp_path), name="other")
    refused(data, other._table)
    refused(data, other._table.filter(other._table.k == "a").drop("u"))
    refused(data, other.where("k = 'a'").agg(n=hush.count()).compiled.rows.table)


@pytest.mark.parametrize("kind", [each for each in KINDS if each != "mapping"])
def test_what_a_data_set_was_opened_from_is_not_public(kind, tmp_path, data):
    source = given(kind, tmp_path)
    opened(source, name="other")
    refused(data, source)


@pytest.mark.parametrize("kind", [each for each in KINDS if each != "ibis"])
def test_the_table_inside_of_a_data_set_is_not_opened(kind, tmp_path):
    other = opened(given(kind, tmp_path), name="other")
    with pytest.raises(InvalidArgument, match="inside"):
        opened(other._table)
    with pytest.raises(InvalidArgument, match="inside"):
        opened(other._table.filter(other._table.k == "a"))
    with pytest.raises(InvalidArgument, match="inside"):
        hush.tables.open_graph(
            other._table, ends=("u", "u"), budget=hush.Budget(epsilon=1)
        )


def test_tables_that_met_are_not_opened(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"u,{name}\n1,2\n")
    one = opened(tmp_path / "a.csv")
    two = hush.open(tmp_path / "b.csv", unit="u", rows=1, ledger=one.ledger)
    with pytest.raises(InvalidArgument, match="inside"):
        opened(one.join(two, on="u")._table)


def test_a_link_to_a_private_file_is_not_public(tmp_path, data):
    path = given("csv", tmp_path)
    opened(path, name="other")
    (tmp_path / "soft.csv").symlink_to(path)
    (tmp_path / "hard.csv").hardlink_to(path)
    refused(data, tmp_path / "soft.csv")
    refused(data, tmp_path / "hard.csv")
    with pytest.raises(HushError):
        data.join(tmp_path / "*.csv", on="k")


def test_a_statement_about_a_private_table_is_not_public(data):
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE t AS SELECT 'a' AS k, 7 AS u")
    connection.raw_sql("CREATE TABLE zones AS SELECT 'a' AS k, 'north' AS zone")
    opened(connection.table("t"))
    schema = ibis.schema({"k": "string"})
    refused(data, connection.sql("SELECT k FROM main.T", schema=schema))
    public = connection.sql("SELECT k FROM zones", schema=schema)
    assert data.join(public, on="k").columns == ("u", "k")


def test_other_tables_of_the_same_connection_stay_public():
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE t AS SELECT 'a' AS k, 7 AS u")
    connection.raw_sql("CREATE TABLE zones AS SELECT 'a' AS k, 'north' AS zone")
    data = opened(connection.table("t"))
    again = opened(connection.table("t"))  # as a file may be opened twice
    for each in (data, again):
        assert "zone" in each.join(connection.table("zones"), on="k").columns


def test_the_attribute_is_private_and_says_so(data):
    with pytest.raises(AttributeError, match="private"):
        _ = data.table


@pytest.mark.xdist_group("postgres")
def test_a_private_table_of_postgres_is_known_over_connections(postgres_engine, data):
    table = postgres_engine.table({"k": ["a"], "u": [7]})
    name = table.get_name()
    address = postgres_engine.address.replace("?", f"/public.{name}?")
    opened(address, name="other")
    refused(data, address)
    refused(data, table)


@pytest.mark.xdist_group("spark")
def test_a_private_frame_of_spark_is_known(spark_engine, data):
    frame = spark_engine.session.createDataFrame([("a", 7)], "k string, u int")
    other = opened(frame, name="other")
    refused(data, frame)
    refused(data, other._table)
