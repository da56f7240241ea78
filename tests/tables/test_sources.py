"""The same table from every source; files are read in place and nothing else is."""

import os
import traceback

import duckdb
import ibis
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.csv
import pyarrow.dataset
import pyarrow.json
import pyarrow.parquet
import pytest

import hush
from hush.errors import InvalidArgument
from hush.tables.engines import engine as engines
from hush.tables.engines.sources import source

ROWS = 40
CANARY = "CANARY-7q3zk9w"


@pytest.fixture
def table():
    return pyarrow.table(
        {
            "driver": np.arange(ROWS) % 7,
            "borough": ["Bronx", "Queens"] * (ROWS // 2),
            "fare": np.arange(ROWS) / 4,
        }
    )


def total(found):
    """Rows and fares of a source, read through the door that hush uses."""
    table = found.table
    asked = table.agg(n=table.count(), fare=table.fare.sum())
    row = engines.fetch(asked).to_pylist()[0]
    return row["n"], row["fare"]


WHOLE = (ROWS, sum(range(ROWS)) / 4)


def written(table, folder, kind):
    path = folder / f"trips.{kind}"
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path)
    elif kind == "csv":
        pyarrow.csv.write_csv(table, path)
    elif kind == "tsv":
        options = pyarrow.csv.WriteOptions(delimiter="\t")
        pyarrow.csv.write_csv(table, path, options)
    else:
        table.to_pandas().to_json(path, orient="records", lines=True)
    return path


TYPES = {"driver": "text", "borough": "text", "fare": "number"}


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "json", "jsonl", "ndjson"])
def test_a_file(tmp_path, table, kind):
    path = written(table, tmp_path, kind)
    types = None if kind == "parquet" else TYPES
    found = source(path, types=types)
    assert total(found) == WHOLE
    assert found.name == "trips"
    assert found.origin.files == source(str(path), types=types).origin.files


def test_a_folder_and_a_pattern(tmp_path, table):
    for i in range(4):
        part = table.slice(i * ROWS // 4, ROWS // 4)
        pyarrow.parquet.write_table(part, tmp_path / f"part-{i}.parquet")
    assert total(source(tmp_path)) == WHOLE
    assert total(source(str(tmp_path / "part-*.parquet"))) == WHOLE
    assert total(source(str(tmp_path / "part-0.parquet")))[0] == ROWS // 4
    (tmp_path / "notes.csv").write_text("a\n1\n")
    with pytest.raises(InvalidArgument, match="one kind"):
        source(tmp_path)


def test_a_partitioned_folder_keeps_its_keys_as_texts(tmp_path, table):
    pyarrow.dataset.write_dataset(
        table,
        tmp_path,
        format="parquet",
        partitioning=["driver"],
        partitioning_flavor="hive",
    )
    found = source(tmp_path)
    assert total(found) == WHOLE
    assert found.table["driver"].type().is_string()


def test_frames(table):
    frames = {
        "pandas": table.to_pandas(),
        "polars": polars.from_arrow(table),
        "lazy": polars.from_arrow(table).lazy(),
        "arrow": table,
        "dataset": pyarrow.dataset.dataset(table),
        "ibis": ibis.duckdb.connect().create_table("trips", table),
        "memtable": ibis.memtable(table),
    }
    for name, frame in frames.items():
        assert total(source(frame, "trips")) == WHOLE, name


def test_a_frame_of_mixed_types_is_refused_without_its_values():
    frame = pandas.DataFrame({"x": [1, CANARY, {"a": 1}]}, dtype=object)
    with pytest.raises(InvalidArgument) as caught:
        source(frame)
    assert CANARY not in everything(caught.value)


def everything(error):
    """All text an error carries, its causes and contexts too."""
    return "".join(traceback.format_exception(error)) + repr(error.__context__)


def test_a_duckdb_file(tmp_path, table):
    path = tmp_path / "data.duckdb"
    connection = ibis.duckdb.connect(path)
    connection.create_table("trips", table)
    connection.create_database("other")
    connection.create_table("rides", table.slice(0, 3), database="other")
    connection.disconnect()
    assert total(source(f"{path}/trips")) == WHOLE
    assert total(source(f"duckdb://{path}/trips")) == WHOLE
    found = source(f"duckdb://{path}/other.rides")
    assert total(found)[0] == 3
    with pytest.raises(Exception, match="read-only"):
        found.table.get_backend().raw_sql("DELETE FROM file.other.rides")
    again = source(f"{path}/trips")  # while the other is open
    assert total(found)[0] == 3
    assert total(again) == WHOLE
    for bad in (str(path), f"{path}/none", f"duckdb://{tmp_path}/none.duckdb/trips"):
        with pytest.raises(InvalidArgument):
            source(bad)


@pytest.mark.xdist_group("postgres")
def test_a_postgres_address(postgres_engine, table):
    engine = postgres_engine
    engine.connection.create_table("trips", table, overwrite=True)
    address = engine.address.replace("?", "/public.trips?")
    found = source(address)
    assert total(found) == WHOLE
    assert found.name == "trips"
    connection = found.table.get_backend()
    with pytest.raises(Exception, match="read-only"):
        connection.raw_sql("DELETE FROM trips")
    connection.disconnect()
    for bad in ("/public.none?", "/none/public.trips?"):
        with pytest.raises(InvalidArgument) as caught:
            source(engine.address.replace("?", bad))
        assert "host=" not in everything(caught.value)
    with pytest.raises(InvalidArgument, match=r"schema\.table"):
        source("postgresql://host/database")


@pytest.mark.xdist_group("spark")
def test_a_spark_frame(spark_engine, table):
    frame = spark_engine.session.createDataFrame(table)
    assert total(source(frame, "trips")) == WHOLE
    assert total(source(spark_engine.table(table))) == WHOLE


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_the_engine_reads_its_file_and_no_other(tmp_path, table, kind):
    # HAZARDS Q5: neighbors in the folder, links, parents, patterns, settings.
    path = written(table, tmp_path, kind)
    secret = tmp_path / f"secret.{kind}"
    secret.write_bytes(path.read_bytes())
    os.symlink(secret, tmp_path / f"link.{kind}")
    found = source(path)
    connection = found.table.get_backend()
    for statement in [
        f"SELECT * FROM '{secret}'",
        f"SELECT * FROM '{tmp_path}/link.{kind}'",
        f"SELECT * FROM '{tmp_path}/*.{kind}'",
        f"SELECT * FROM '{path}/../secret.{kind}'",
        f"SELECT * FROM read_text('{secret}')",
        f"SELECT * FROM read_blob('{tmp_path}/link.{kind}')",
        f"SELECT * FROM sniff_csv('{secret}')",
        f"SELECT * FROM glob('{tmp_path}/*')",
        "SELECT * FROM read_csv('/etc/hostname')",
        "SELECT * FROM read_text('/proc/self/environ')",
        f"COPY (SELECT 1) TO '{tmp_path}/new.csv'",
        f"ATTACH '{tmp_path}/other.db'",
        f"EXPORT DATABASE '{tmp_path}/out'",
        f"SET allowed_paths = ['{secret}']",
        f"SET allowed_directories = ['{tmp_path}']",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "RESET allowed_paths",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM 'https://example.org/a.parquet'",
    ]:
        with pytest.raises(
            Exception,
            match=r"(?i)permission|disabled|locked|not allowed|does not exist",
        ):
            connection.raw_sql(statement).fetchall()
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        [path.name, secret.name, f"link.{kind}"]
    )
    assert found.table.count().to_pyarrow().as_py() == ROWS


def test_a_link_is_followed_once(tmp_path, table):
    path = written(table, tmp_path, "parquet")
    link = tmp_path / "link.parquet"
    os.symlink(path, link)
    found = source(link)
    other = tmp_path / "other.parquet"
    pyarrow.parquet.write_table(table.slice(0, 1), other)
    link.unlink()
    os.symlink(other, link)
    assert total(found) == WHOLE


def test_bad_lines_never_speak(tmp_path):
    # HAZARDS Q1: what cannot be read is NULL or left out; types do not depend on it.
    lines = ["u,fare,day", "1,2.5,2026-01-31", f"2,{CANARY},{CANARY}", "3", "4,1,2,3"]
    lines += ['5,"1,5",2026-02-30', "6,,", "7,1e999,9999-12-31", "8,nan,0000-00-00"]
    path = tmp_path / "bad.csv"
    path.write_bytes("\n".join(lines).encode() + b"\n9,\xff\xfe,2026-01-01\n")
    types = {"fare": "number", "day": "date"}
    found = source(path, types=types)
    clean = tmp_path / "clean.csv"
    clean.write_text("u,fare,day\n1,2.5,2026-01-31\n")
    assert found.table.schema() == source(clean, types=types).table.schema()
    rows = engines.fetch(found.table).to_pylist()
    fares = {row["u"]: row["fare"] for row in rows}
    assert fares.items() >= {"1": 2.5, "2": None, "7": None, "8": None}.items()
    assert "3" not in fares
    assert fares["4"] == 1.0  # a field too many is not read
    assert sum(row["day"] is not None for row in rows) == 2


def test_a_json_line_that_is_none_is_nobody(tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(f'{{"u":1,"x":2}}\n{CANARY}\n{{"u":2,"x":[1]}}\n{{"u":3}}\n')
    found = source(path, types={"u": "text", "x": "number"})
    rows = engines.fetch(found.table).to_pylist()
    assert [row["x"] for row in rows if row["u"]] == [2.0, None, None]
    with pytest.raises(InvalidArgument, match="types"):
        source(path)


def test_a_broken_file_is_refused_without_its_text(tmp_path):
    path = tmp_path / "broken.parquet"
    path.write_text(CANARY)
    with pytest.raises(InvalidArgument) as caught:
        source(path)
    assert CANARY not in everything(caught.value)


def test_an_engine_error_is_kept_back():
    connection = ibis.duckdb.connect()
    connection.raw_sql(f"CREATE TABLE t AS SELECT '{CANARY}' AS s")
    table = connection.table("t")
    with pytest.raises(hush.errors.DrawFailed) as caught:
        engines.fetch(table.select(n=table.s.cast("int64")))
    assert CANARY not in everything(caught.value)


@pytest.mark.parametrize(
    "given", ["none.parquet", "none.txt", "a.duckdb", 7, None, "none/*.csv"]
)
def test_what_is_no_source_is_named(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument, match=r"source|database"):
        source(given)


@pytest.mark.parametrize("header", ["", "a,a\n", "a,,b\n"])
def test_a_csv_without_names_is_refused(tmp_path, header):
    (tmp_path / "x.csv").write_text(header)
    with pytest.raises(InvalidArgument, match="name the columns"):
        source(tmp_path / "x.csv")


def test_types_must_be_known(tmp_path, table):
    path = written(table, tmp_path, "csv")
    for types, match in (({"fare": "float"}, "fare"), ({"none": "text"}, "none")):
        with pytest.raises(InvalidArgument, match=match):
            source(path, types=types)
    for given in (table, written(table, tmp_path, "parquet")):
        with pytest.raises(InvalidArgument, match="types"):
            source(given, types=TYPES)


def test_names_of_ours_are_left_out():
    # A column `_rows` of the data would otherwise stand for a person's row count.
    rows = {"u": [1] * 50, "_rows": [None] * 50, "_w": [2**40] * 50, "_unit": [7] * 50}
    types = {"_rows": pyarrow.int64()}
    table = pyarrow.table(
        {name: pyarrow.array(each, types.get(name)) for name, each in rows.items()}
    )
    data = hush.open(table, unit="u", rows=2, budget=hush.Budget(epsilon=1))
    assert data.columns == ("u",)
    found = engines.fetch(data.agg(n=hush.count()).relations()[0]).to_pylist()
    assert found[0]["_n"] <= 2 << 20
    with pytest.raises(InvalidArgument, match="underscore"):
        source(pyarrow.table({"_a": [1]}))


@pytest.mark.xdist_group("postgres")
def test_a_name_that_a_query_makes_up_is_refused(postgres_engine):
    # Inside a compiled query, t1 would mean one of its parts, not this table.
    bare = postgres_engine.connection.create_table("t1", pyarrow.table({"x": [1.0]}))
    with pytest.raises(InvalidArgument, match="t1"):
        hush.open(bare, budget=hush.Budget(epsilon=1))
    full = postgres_engine.connection.table("t1", database="public")
    data = hush.open(full, budget=hush.Budget(epsilon=1e6))
    answer = data.agg(n=hush.count()).release(epsilon=1e5)
    assert abs(answer.values["n"][0] - 1) < 0.1


@pytest.mark.parametrize("name", ["people", "seen"])
def test_texts_that_a_collation_takes_for_equal_are_refused(tmp_path, name):
    # Grouped as one person, hashed as two: more keys than the cap would be kept.
    path = tmp_path / "file.duckdb"
    made = duckdb.connect(str(path))
    made.execute("CREATE TABLE people (u VARCHAR COLLATE NOCASE, n INTEGER)")
    made.execute("CREATE TABLE plain (u VARCHAR, collate_it INTEGER)")
    made.execute("CREATE VIEW seen AS SELECT u AS v FROM people")
    made.close()
    with pytest.raises(InvalidArgument, match="collation"):
        source(f"{path}/{name}")
    assert source(f"{path}/plain").name == "plain"


def test_a_session_with_a_collation_is_refused():
    connection = ibis.duckdb.connect()
    table = connection.create_table("t", pyarrow.table({"u": ["a", "A"]}))
    assert source(table).name == "t"
    connection.raw_sql("SET default_collation = 'NOCASE'")
    with pytest.raises(InvalidArgument, match="collation"):
        source(table)


LOUD = """
CREATE TYPE loud;
CREATE FUNCTION loud_in(cstring) RETURNS loud AS 'textin' LANGUAGE internal IMMUTABLE;
CREATE FUNCTION loud_out(loud) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE;
CREATE TYPE loud (INPUT = loud_in, OUTPUT = loud_out, LIKE = text, CATEGORY = 'S');
CREATE DOMAIN tag AS loud;
CREATE DOMAIN plain_tag AS text;
CREATE COLLATION loose (provider = libc, locale = 'C');
UPDATE pg_collation SET collisdeterministic = false WHERE collname = 'loose';
CREATE TABLE as_citext (u loud);
CREATE TABLE as_domain (u tag);
CREATE TABLE loosely (u text COLLATE loose);
CREATE VIEW through AS SELECT u AS v FROM loosely;
CREATE TABLE plainly (u text, v varchar(3), w char(3), x plain_tag, n integer);
"""


@pytest.mark.xdist_group("postgres")
def test_postgres_texts_with_an_equality_of_their_own_are_refused(postgres_engine):
    # What citext is made of, and the mark of a collation that is not deterministic: the
    # server of these tests has neither extension nor ICU.
    connection = postgres_engine.connection
    connection.raw_sql(LOUD)
    connection.con.commit()
    for name in ("as_citext", "as_domain", "loosely", "through"):
        with pytest.raises(InvalidArgument, match="collation"):
            source(connection.table(name))
    assert source(connection.table("plainly")).name == "plainly"


@pytest.mark.xdist_group("spark")
def test_spark_texts_with_a_collation_are_refused(spark_engine):
    session = spark_engine.session
    made = "CREATE OR REPLACE TEMP VIEW {} AS SELECT {} AS u FROM VALUES ('a') AS t(u)"
    session.sql(made.format("cased", "u"))
    session.sql(made.format("uncased", "collate(u, 'UTF8_LCASE')"))
    connection = ibis.pyspark.connect(session)
    assert source(connection.table("cased")).name == "cased"
    with pytest.raises(InvalidArgument, match="collation"):
        source(connection.table("uncased"))
    with pytest.raises(InvalidArgument, match="collation"):
        source(session.table("uncased"))
