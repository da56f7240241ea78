"""A file that is replaced while a data set is open is refused before the charge."""

import os

import duckdb
import pytest

import hush
from hush.errors import DrawFailed, InvalidArgument


def replaced(path, text):
    """Replace a file as one should, by renaming."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


def rows(first, second):
    return f"{first},{second}\n" + "".join(f"p{i},w{i % 3}\n" for i in range(30))


def opened(path, **more):
    budget = hush.Budget(epsilon=1e6)
    return hush.open(path, unit="patient", rows=1, budget=budget, **more)


def refused(data, query, match):
    left = data.budget.epsilon
    with pytest.raises(InvalidArgument, match=match):
        query.release(epsilon=1)
    assert data.budget.epsilon == left


def test_a_file_with_other_columns_in_its_place_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(rows("patient", "ward"))
    data = opened(path)
    query = data.agg(n=hush.count())
    query.release(epsilon=1)
    replaced(path, rows("ward", "patient"))
    refused(data, query, "changed or replaced")
    assert opened(path).columns == ("ward", "patient")


def test_a_header_is_compared_even_where_size_and_time_are_the_same(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(rows("patient", "wardwar"))
    data = opened(path)
    known = path.stat()
    with path.open("r+") as file:
        file.write("wardwar,patient")
    os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
    assert path.stat().st_size == known.st_size
    refused(data, data.agg(n=hush.count()), "changed or replaced")


@pytest.mark.parametrize("kind", ["parquet", "json", "folder", "duckdb", "graph"])
def test_files_of_every_kind_are_compared(tmp_path, kind):
    path = given = tmp_path / f"a.{kind}"
    types = None
    if kind == "folder":
        path, given = tmp_path / "b.csv", tmp_path
        path.write_text(rows("patient", "ward"))
        (tmp_path / "a.csv").write_text(rows("patient", "ward"))
    elif kind in ("json", "graph"):
        path = given = tmp_path / "a.json"
        path.write_text('{"patient": "p", "ward": "w"}\n')
        types = {"patient": "text", "ward": "text"}
    elif kind == "parquet":
        duckdb.sql(f"COPY (SELECT 1 AS patient, 2 AS ward) TO '{path}'")
    else:
        given = f"{path}/t"
        with duckdb.connect(path) as made:
            made.execute("CREATE TABLE t AS SELECT 1 AS patient, 2 AS ward")
    data = opened(given, types=types)
    if kind == "graph":
        path = tmp_path / "a.csv"
        path.write_text("a,b\n1,2\n")
        data = hush.tables.open_graph(
            path, ends=("a", "b"), budget=hush.Budget(epsilon=9)
        )
    copy = path.read_bytes()
    path.unlink()
    path.write_bytes(copy + b"\n")
    if kind == "graph":
        with pytest.raises(InvalidArgument, match="changed or replaced"):
            data.edges(epsilon=1)
        assert data.budget.epsilon == 9
    else:
        refused(data, data.agg(n=hush.count()), "changed or replaced")


def test_a_file_that_was_joined_is_compared_too(tmp_path):
    one, two = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text(rows("patient", "ward"))
    two.write_text(rows("patient", "bed"))
    data = opened(one)
    other = hush.open(two, unit="patient", rows=1, ledger=data.ledger, name="b")
    query = data.join(other, on="patient").agg(n=hush.count())
    query.release(epsilon=1)
    replaced(two, rows("bed", "patient"))
    refused(data, query, "'b.csv'")
    data.agg(n=hush.count()).release(epsilon=1)


def test_a_missing_file_costs_nothing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(rows("patient", "ward"))
    data = opened(path)
    query = data.agg(n=hush.count())
    kept = query.release(epsilon=1, key="k")
    path.unlink()
    refused(data, query, "gone")
    assert query.stored("k").values["n"] == kept.values["n"]


def test_a_file_that_is_replaced_while_it_is_read_gives_no_answer(
    tmp_path, monkeypatch
):
    from hush.tables.engines import engine

    path = tmp_path / "a.csv"
    path.write_text(rows("patient", "ward"))
    data = opened(path)
    read = engine.fetch

    def meanwhile(relation):
        replaced(path, rows("ward", "patient"))
        return read(relation)

    monkeypatch.setattr(engine, "fetch", meanwhile)
    with pytest.raises(DrawFailed):
        data.agg(n=hush.count()).release(epsilon=1)
    assert data.ledger.history()[-1].kind == "fail"


def test_a_table_that_is_altered_is_refused():
    import ibis

    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE t AS SELECT 1 AS patient, 2 AS ward")
    data = opened(connection.table("t"))
    query = data.agg(n=hush.count())
    query.release(epsilon=1)
    connection.raw_sql("CREATE OR REPLACE TABLE t AS SELECT 'a' AS patient, 2 AS ward")
    refused(data, query, "other columns")
    connection.raw_sql("DROP TABLE t")
    refused(data, query, "gone")


def test_a_file_behind_a_view_of_the_users_is_compared_by_its_columns(tmp_path):
    import ibis

    path = tmp_path / "a.csv"
    path.write_text(rows("patient", "ward"))
    connection = ibis.duckdb.connect()
    data = opened(connection.read_csv(path))
    query = data.agg(n=hush.count())
    query.release(epsilon=1)
    replaced(path, rows("ward", "patient"))
    query.release(epsilon=1)  # a view reads by name
    replaced(path, rows("patient", "bed"))
    refused(data, query, "other columns")


def test_files_of_a_lazy_frame_are_compared(tmp_path):
    import polars

    path = tmp_path / "a.csv"
    path.write_text(rows("patient", "ward"))
    data = opened(polars.scan_csv(path))
    query = data.group_by("ward", keys=["w1"]).agg(n=hush.count())
    query.release(epsilon=1)
    replaced(path, rows("patient", "bed"))
    refused(data, query, "changed or replaced")
    path.unlink()
    refused(data, query, "gone")


def test_files_of_an_arrow_dataset_are_compared(tmp_path):
    import pyarrow.dataset

    path = tmp_path / "a.csv"
    path.write_text(rows("patient", "ward"))
    data = opened(pyarrow.dataset.dataset(path, format="csv"))
    query = data.agg(n=hush.count())
    query.release(epsilon=1)
    replaced(path, rows("ward", "patient"))
    refused(data, query, "changed or replaced")


@pytest.mark.xdist_group("spark")
def test_files_of_a_spark_frame_are_compared(tmp_path, spark_engine):
    # Spark reads a CSV file by position, under the names it had when it was opened.
    path = tmp_path / "a b.csv"
    path.write_text(rows("patient", "ward"))
    data = opened(spark_engine.session.read.csv(str(path), header=True))
    query = data.agg(n=hush.count())
    replaced(path, rows("ward", "patient"))
    refused(data, query, "changed or replaced")
