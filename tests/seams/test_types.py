"""Types that an engine would fail on are refused before anything is paid."""

import datetime

import ibis
import polars
import pytest

import hush
from hush.errors import HushError, InvalidArgument
from seams.exact import opened

ASKED = {
    "keys": lambda data: data.group_by("c", keys=[5]).agg(n=hush.count()),
    "texts": lambda data: data.group_by("c", keys=["a"]).agg(n=hush.count()),
    "private": lambda data: data.group_by("c", keys="private").agg(n=hush.count()),
    "mean": lambda data: data.agg(n=hush.mean("c", bounds=(0, 9))),
    "distinct": lambda data: data.agg(n=hush.count_distinct("c")),
    "null": lambda data: data.where("c IS NULL").agg(n=hush.count()),
    "lower": lambda data: data.where("LOWER(c) = 'a'").agg(n=hush.count()),
}


@pytest.mark.parametrize(
    ("kind", "value"),
    [("money", "5"), ("oid", "5"), ("mood", "'a'"), ("xid", "'5'")],
)
def test_a_type_that_is_not_on_the_list_costs_nothing(postgres_engine, kind, value):
    connection, name = postgres_engine.connection, f"odd_{kind}"
    if kind == "mood":
        connection.raw_sql("CREATE TYPE mood AS ENUM ('a', 'b')").close()
    connection.raw_sql(f"CREATE TABLE {name} (c {kind}, x int)").close()
    connection.raw_sql(f"INSERT INTO {name} VALUES ({value}, 1), (NULL, 2)").close()
    connection.con.commit()
    data = opened(connection.table(name))
    before = data.budget.epsilon
    for ask in ASKED.values():
        with pytest.raises(HushError, match="type"):
            ask(data).release(epsilon=1, delta=1e-6)
    with pytest.raises(HushError, match="type"):
        opened(connection.table(name), unit="c")
    assert data.budget.epsilon == before
    # A column that is not asked about is in nobody's way.
    assert round(data.agg(n=hush.count()).release(epsilon=1000)["n"][0]) == 2


def test_a_filled_text_without_a_length_is_in_nobodys_way(postgres_engine):
    connection = postgres_engine.connection
    connection.raw_sql("CREATE TABLE endless (c bpchar, x int)").close()
    connection.raw_sql("INSERT INTO endless VALUES ('a', 1)").close()
    connection.con.commit()
    data = opened(connection.table("endless"))
    before = data.budget.epsilon
    for ask in ASKED.values():
        with pytest.raises(HushError, match="type"):
            ask(data).release(epsilon=1, delta=1e-6)
    with pytest.raises(HushError, match="type"):
        opened(connection.table("endless"), unit="c")
    assert data.budget.epsilon == before
    assert round(data.agg(n=hush.count()).release(epsilon=1000)["n"][0]) == 1


def test_an_expression_over_a_type_that_is_not_on_the_list_is_refused(postgres_engine):
    connection = postgres_engine.connection
    connection.raw_sql("CREATE TABLE prices (c money, x int)").close()
    connection.con.commit()
    table = connection.table("prices")
    with pytest.raises(InvalidArgument, match="'c' has a type"):
        opened(table.mutate(y=table.x + 1))
    assert opened(table.mutate(y=table.x + 1).drop("c")).columns == ("x", "y")


@pytest.mark.parametrize("unit", ["ns", "us", "ms"])
def test_polars_keys_may_be_any_day_that_python_has(unit):
    first, last = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)
    held = [datetime.datetime(2020, 1, 1), None]
    frame = polars.LazyFrame({"c": polars.Series(held, dtype=polars.Datetime(unit))})
    keys = [first, last, held[0], None]
    more = [datetime.datetime(9000, 1, day + 1) for day in range(20)]
    for listed in (keys, [*keys, *more]):
        asked = opened(frame).group_by("c", keys=listed).agg(n=hush.count())
        counts = asked.release(epsilon=1000)["n"]
        assert [round(each) for each in counts][:4] == [0, 0, 1, 1]


@pytest.mark.parametrize("kind", [polars.Categorical, polars.Enum(["a", "B"])])
def test_categories_of_polars_are_texts(kind):
    column = polars.Series("c", ["a", "B", None], dtype=kind)
    data = opened(polars.LazyFrame({"c": column}))
    lower = data.where("LOWER(c) = 'b'").agg(n=hush.count())
    assert round(lower.release(epsilon=1000)["n"][0]) == 1
    connection = ibis.polars.connect({"held": polars.LazyFrame({"c": column})})
    with pytest.raises(InvalidArgument, match="'c' has a type"):
        opened(connection.table("held"))


def test_a_number_that_no_engine_has_is_refused():
    column = polars.Series("c", [5], dtype=polars.Int128)
    with pytest.raises(InvalidArgument, match="'c' has a type"):
        opened(polars.LazyFrame({"c": column}))
