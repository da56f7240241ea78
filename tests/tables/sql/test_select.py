"""SQL asks what the builder asks, and everything else is refused before reading."""

import datetime

import numpy as np
import pyarrow
import pytest

import hush
from hush import tables
from hush.errors import Unsupported
from hush.ledger import Ledger
from hush.tables.engines import engine as engines
from hush.tables.queries.answer import Presented, View
from hush.tables.sql import select

ROWS = 60


@pytest.fixture(scope="module")
def table():
    days = [datetime.date(2025, 1, 1) + datetime.timedelta(7 * i) for i in range(ROWS)]
    return pyarrow.table(
        {
            "driver": np.arange(ROWS) % 20,
            "borough": ["Bronx", "Queens", "Kings"] * (ROWS // 3),
            "fare": np.arange(ROWS) * 1.5,
            "hours": np.arange(ROWS) % 4,
            "day": pyarrow.array(days, pyarrow.date32()),
        }
    )


@pytest.fixture
def data(table):
    budget = hush.Budget(epsilon=1000)
    return hush.open(table, name="trips", unit="driver", rows=3, budget=budget)


AREAS = pyarrow.table({"borough": ["Bronx", "Queens"], "area": ["north", "east"]})
BOROUGHS = ["Bronx", "Queens"]


def ran(query):
    """What an engine would be asked, by its exact answer."""
    return [
        sorted(engines.fetch(each).to_pylist(), key=repr) for each in query.relations()
    ]


def same(a, b):
    assert a.by == b.by
    assert a.groups == b.groups
    assert dict(a.aggregates) == dict(b.aggregates)
    assert ran(a) == ran(b)


def test_the_builder_and_sql_ask_the_same(data):
    asked = select.query(
        data,
        "SELECT borough, COUNT(*) AS n, AVG(CLAMP(fare, 0, 80)) AS fare "
        "FROM trips WHERE fare > 3 GROUP BY borough",
        keys={"borough": BOROUGHS},
    )
    built = (
        data.where("fare > 3")
        .group_by("borough", keys=BOROUGHS)
        .agg(n=hush.count(), fare=hush.mean("fare", bounds=(0, 80)))
    )
    same(asked, built)


def test_names_of_tables_may_stand_before_columns(data):
    asked = select.query(
        data,
        "SELECT t.borough AS b, SUM(CLAMP(t.fare, 0, 80)) AS s FROM trips AS t "
        "WHERE t.fare > 3 GROUP BY t.borough",
        keys={"b": BOROUGHS},
    )
    built = data.where("fare > 3").select(b="borough")
    same(
        asked,
        built.group_by("b", keys=BOROUGHS).agg(s=hush.sum("fare", bounds=(0, 80))),
    )


COMPUTED = {
    "BIN(fare, 0, 90, 3)": [0.0, 30.0, 60.0, None],
    "WIDTH_BUCKET(fare, 0, 80, 2)": [0.0, 1.0, 2.0, 3.0, None],
    "QUARTER(day)": [1.0, 2.0, 3.0, 4.0, None],
    "CASE WHEN fare > 30 THEN 'high' ELSE 'low' END": ["high", "low"],
}


@pytest.mark.thin(5)
@pytest.mark.parametrize("text", COMPUTED, ids=lambda text: text.split("(")[0][:12])
@pytest.mark.parametrize("form", ["alias", "text", "position"])
def test_groups_may_be_computed_and_tell_their_values(data, text, form):
    by = {"alias": "g", "text": text, "position": "1"}[form]
    asked = select.query(
        data, f"SELECT {text} AS g, COUNT(*) AS n FROM trips GROUP BY {by}"
    )
    built = data.select(g=text).group_by("g", keys=COMPUTED[text])
    same(asked, built.agg(n=hush.count()))


def test_groups_of_dates_and_of_several_columns(data):
    months = ["2025-01-01", "2025-02-01"]
    asked = select.query(
        data,
        "SELECT DATE_TRUNC('month', day) AS m, borough, COUNT(*) AS n FROM trips "
        "GROUP BY 1, borough",
        keys={"m": months, "borough": BOROUGHS},
    )
    assert len(asked.groups.keys) == 4
    assert asked.groups.keys[0] == (datetime.date(2025, 1, 1), "Bronx")
    assert sum(row["_n"] for row in ran(asked)[0]) > 0
    together = select.query(
        data,
        "SELECT YEAR(day) AS y, borough, COUNT(*) AS n FROM trips GROUP BY y, borough",
        keys={"y, borough": [(2025, "Bronx")]},
    )
    assert together.groups.keys == ((2025, "Bronx"),)


def test_joins_with_public_and_private_tables(data, table):
    built = data.join(AREAS, on="borough").group_by("area", keys=["north", "east"])
    for clause in (
        "JOIN areas USING (borough)",
        "JOIN areas a ON trips.borough = a.borough",
        "INNER JOIN areas ON areas.borough = trips.borough",
    ):
        asked = select.query(
            data,
            f"SELECT area, COUNT(*) AS n FROM trips {clause} GROUP BY area",
            keys={"area": ["north", "east"]},
            tables={"areas": AREAS},
        )
        same(asked, built.agg(n=hush.count()))
    left = select.query(
        data,
        "SELECT COUNT(*) AS n FROM trips LEFT JOIN areas USING (borough)",
        tables={"areas": AREAS},
    )
    assert ran(left) == ran(data.agg(n=hush.count()))


def test_subqueries_stay_row_by_row(data):
    built = (
        data.where("hours > 0")
        .select(speed="fare / hours")
        .where("speed < 50")
        .agg(s=hush.sum("speed", bounds=(0, 50)))
    )
    inner = "SELECT fare / hours AS speed, borough FROM trips WHERE hours > 0"
    for text in (
        f"SELECT SUM(CLAMP(speed, 0, 50)) AS s FROM ({inner}) AS q WHERE speed < 50",
        f"WITH q AS ({inner}) SELECT SUM(CLAMP(q.speed, 0, 50)) AS s FROM q "
        "WHERE q.speed < 50",
        f"WITH p AS ({inner}), q AS (SELECT *, speed AS v FROM p WHERE speed < 50) "
        "SELECT SUM(CLAMP(v, 0, 50)) AS s FROM q",
    ):
        assert ran(select.query(data, text)) == ran(built)


AGGREGATES = {
    "COUNT(*)": ("count", (), {}),
    "SUM(fare)": ("sum", ("fare",), {"bounds": (0, 80)}),
    "SUM(CLAMP(fare * 2, -1, 5))": ("sum", ("fare * 2",), {"bounds": (-1, 5)}),
    "AVG(fare)": ("mean", ("fare",), {"bounds": (0, 80)}),
    "VARIANCE(fare)": ("variance", ("fare",), {"bounds": (0, 80)}),
    "VAR_POP(fare)": ("variance", ("fare",), {"bounds": (0, 80)}),
    "STDDEV(fare)": ("std", ("fare",), {"bounds": (0, 80)}),
    "STDDEV_SAMP(fare)": ("std", ("fare",), {"bounds": (0, 80)}),
    "MEDIAN(fare)": ("median", ("fare",), {"bounds": (0, 80)}),
    "QUANTILE(fare, 0.9)": ("quantile", ("fare", 0.9), {"bounds": (0, 80)}),
    "QUANTILE_CONT(fare, 0.9)": ("quantile", ("fare", 0.9), {"bounds": (0, 80)}),
    "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY fare)": (
        "quantile",
        ("fare", 0.9),
        {"bounds": (0, 80)},
    ),
    "MIN(fare)": ("min", ("fare",), {"bounds": (0, 80)}),
    "MAX(fare)": ("max", ("fare",), {"bounds": (0, 80)}),
    "COUNT(DISTINCT borough)": ("count_distinct", ("borough",), {}),
    "COVAR_SAMP(fare, hours)": (
        "covariance",
        ("fare", "hours"),
        {"bounds": ((0, 80), (0, 4))},
    ),
    "CORR(fare, hours)": (
        "correlation",
        ("fare", "hours"),
        {"bounds": ((0, 80), (0, 4))},
    ),
    "MODE(borough)": ("mode", ("borough",), {"values": BOROUGHS}),
    "COUNT(fare)": (
        "sum",
        ("CASE WHEN NOT fare IS NULL THEN 1 ELSE 0 END",),
        {"bounds": (0, 1)},
    ),
    "COUNT(*) FILTER (WHERE fare > 3)": (
        "sum",
        ("CASE WHEN fare > 3 THEN 1 ELSE 0 END",),
        {"bounds": (0, 1)},
    ),
    "AVG(fare) FILTER (WHERE hours > 1)": (
        "mean",
        ("CASE WHEN hours > 1 THEN fare END",),
        {"bounds": (0, 80)},
    ),
}


@pytest.mark.parametrize("text", AGGREGATES)
def test_aggregates_by_their_names(data, text, monkeypatch):
    name, given, more = AGGREGATES[text]
    calls = []
    real = getattr(tables, name, None)

    def recorded(*arguments, **keywords):
        calls.append((arguments, keywords))
        return real(*arguments, **keywords) if real else hush.count()

    monkeypatch.setattr(tables, name, recorded, raising=False)
    asked = select.query(
        data,
        f"SELECT {text} AS v FROM trips",
        bounds={"fare": (0, 80), "hours": (0, 4)},
        keys={"borough": BOROUGHS},
    )
    assert calls == [(given, more)]
    assert list(asked.aggregates) == ["v"]


def test_an_aggregate_that_is_not_there_is_refused(data, monkeypatch):
    monkeypatch.delattr(tables, "median", raising=False)
    with pytest.raises(Unsupported, match="not there yet"):
        select.query(data, "SELECT MEDIAN(CLAMP(fare, 0, 1)) FROM trips")


def test_having_order_and_limit_look_at_released_values(data):
    text = (
        "SELECT borough, COUNT(*) AS n, AVG(CLAMP(fare, 0, 80)) AS fare FROM trips "
        "GROUP BY borough HAVING COUNT(*) > 5 AND fare < 100 "
        "ORDER BY n DESC, borough LIMIT 2"
    )
    keys = {"borough": ["Bronx", "Queens", "Kings", "Mars"]}
    shown = data.sql(text, epsilon=500, keys=keys)
    assert isinstance(shown, Presented)
    frame = shown.to_pandas(level=0.95)
    assert len(frame) == 2
    assert "Mars" not in frame["borough"].tolist()
    assert frame["n"].is_monotonic_decreasing
    assert shown.answer.to_dict()["borough"] == keys["borough"]
    assert shown.receipt == shown.answer.receipt
    assert shown.values["n"].tolist() == frame["n"].tolist()
    assert shown.interval()["n"][0].tolist() == shown.to_dict(0.95)["n_low"]
    assert shown.to_polars().height == 2
    assert shown.first(1).to_arrow().num_rows == 1
    assert "CANARY" not in repr(shown)


def test_the_same_key_shows_another_view_for_free(data):
    text = "SELECT borough, COUNT(*) AS n FROM trips GROUP BY borough"
    keys = {"borough": BOROUGHS}
    first = data.sql(text, epsilon=1, keys=keys, key="monday")
    left = data.budget.epsilon
    again = data.sql(text + " ORDER BY 2 DESC", epsilon=1, keys=keys, key="monday")
    assert again.to_json() == first.to_json()
    assert data.budget.epsilon == left


def test_a_view_sorts_nulls_last_and_keeps_ties():
    released = {"g": ["a", "b", "c", "d"], "n": [2.0, None, 3.0, 2.0]}

    def rows(**view):
        types = (("g", "string"), ("n", "float64"))
        return View(types=types, **view).rows(released, 4)

    assert rows(order=(("n", True, False),)) == [2, 0, 3, 1]
    assert rows(order=(("n", True, True),)) == [1, 2, 0, 3]
    assert rows(order=(("n", False, False),)) == [0, 3, 2, 1]
    assert rows(order=(("n", False, False), ("g", True, False))) == [3, 0, 2, 1]
    assert rows(having="n >= 2 OR g = 'b'") == [0, 1, 2, 3]
    assert rows(having="n > 2") == [2]
    assert rows(order=(("g", True, False),), limit=2, offset=1) == [2, 1]
    assert rows(limit=0) == []


REFUSED = {
    "SELECT * FROM trips": "released",
    "SELECT fare FROM trips": "released",
    "SELECT DISTINCT COUNT(*) FROM trips": "DISTINCT",
    "SELECT COUNT(*) FROM other": "private table",
    "SELECT COUNT(*) FROM main.trips": "DB",
    "SELECT COUNT(*) FROM trips, trips": "not known|USING",
    "SELECT COUNT(*) FROM trips CROSS JOIN areas": "only JOIN|USING",
    "SELECT COUNT(*) FROM trips FULL JOIN areas USING (borough)": "only JOIN",
    "SELECT COUNT(*) FROM trips JOIN none USING (borough)": "not known",
    "SELECT COUNT(*) FROM trips JOIN areas ON true": "USING",
    "SELECT COUNT(*) FROM trips JOIN areas ON fare > 3": "USING",
    "SELECT COUNT(*) FROM areas": "private table",
    "SELECT COUNT(*) FROM areas JOIN trips USING (borough)": "private table",
    "SELECT AVG(fare) FROM trips": "CLAMP",
    "SELECT AVG(CLAMP(fare, 'a', 1)) FROM trips": "CLAMP",
    "SELECT AVG(CLAMP(fare, hours, 1)) FROM trips": "CLAMP",
    "SELECT SUM(DISTINCT CLAMP(fare, 0, 1)) FROM trips": "DISTINCT stands in",
    "SELECT SUM(CLAMP(fare, 0, 1)) OVER () FROM trips": "released",
    "SELECT COUNT(*) + 1 FROM trips": "released",
    "SELECT COUNT(*) FROM trips GROUP BY borough": "keys",
    "SELECT COUNT(*) FROM trips GROUP BY ROLLUP (borough)": "ROLLUP",
    "SELECT COUNT(*) FROM trips GROUP BY 7": "no such output",
    "SELECT COUNT(*), COUNT(*) FROM trips": "two outputs",
    "SELECT COUNT(*) AS n FROM trips HAVING MAX(fare) > 3": "SELECT",
    "SELECT COUNT(*) AS n FROM trips HAVING fare > 3": "not among the outputs",
    "SELECT COUNT(*) AS n FROM trips ORDER BY random()": "RANDOM",
    "SELECT COUNT(*) AS n FROM trips LIMIT hours": "literal",
    "SELECT COUNT(*) AS n FROM trips LIMIT -1": "negative",
    "SELECT COUNT(*) FROM trips WHERE random() > 0.5": "RANDOM",
    "SELECT COUNT(*) FROM trips WHERE other.fare > 1": "no table",
    "SELECT COUNT(*) FROM trips WHERE fare > (SELECT 1)": "not allowed",
    "SELECT COUNT(*) FROM trips QUALIFY 1 = 1": "QUALIFY",
    "SELECT COUNT(*) FROM trips TABLESAMPLE 10%": "SAMPLE",
    "SELECT COUNT(*) FROM read_csv('/etc/hostname')": "not functions",
    "SELECT COUNT(*) FROM '/etc/hostname'": "private table",
    "SELECT COUNT(*) FROM (SELECT DISTINCT borough FROM trips)": "row by row",
    "SELECT COUNT(*) FROM (SELECT borough FROM trips LIMIT 3)": "row by row",
    "SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM trips GROUP BY borough)": "unit",
    "SELECT COUNT(*) FROM (SELECT hours AS driver FROM trips)": "unit",
    "SELECT COUNT(*) FROM (SELECT none FROM trips)": "no column",
    "SELECT COUNT(*) FROM (SELECT * EXCLUDE (driver) FROM trips)": "EXCEPT|EXCLUDE",
    "SELECT COUNT(*) FROM (SELECT 1 UNION SELECT 2)": "SELECT",
    "WITH RECURSIVE q AS (SELECT * FROM trips) SELECT COUNT(*) FROM q": "RECURSIVE",
    "WITH trips AS (SELECT * FROM trips) SELECT COUNT(*) FROM trips": "taken",
    "SELECT COUNT(*) FROM trips; DROP TABLE trips": "one SELECT",
    "SELECT COUNT(*) FROM trips UNION SELECT 1": "one SELECT",
    "DELETE FROM trips": "one SELECT",
    "PRAGMA database_list": "one SELECT",
    "SET threads = 1": "one SELECT",
    "COPY trips TO 'x'": "one SELECT",
    "ATTACH 'x'": "one SELECT",
    "EXPLAIN SELECT COUNT(*) FROM trips": "one SELECT",
    "SELECT COUNT(*)": "FROM trips",
    "SELECT setseed(0.4), COUNT(*) FROM trips": "released",
    "SELEC": "SELECT",
    "": "SELECT",
    "SELECT COUNT(* FROM trips": "line 1",
}


@pytest.mark.thin(4)
@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:70])
def test_other_sql_is_refused_and_costs_nothing(table, text, monkeypatch):
    # HAZARDS Q1, Q4, Q5: before anything of the data is read.
    budget = hush.Budget(epsilon=1)
    data = hush.open(table, name="trips", unit="driver", budget=budget)

    def touched(relation):
        assert set(relation.columns) <= set(AREAS.column_names)
        return AREAS

    monkeypatch.setattr("hush.tables.join.fetch", touched)
    monkeypatch.setattr("hush.tables.engines.engine.fetch", touched)
    with pytest.raises(Unsupported, match=REFUSED[text]):
        data.sql(text, epsilon=0.5, tables={"areas": AREAS})
    assert float(data.budget.epsilon) == 1


def test_a_refusal_says_where(data):
    with pytest.raises(Unsupported, match=r"line 2, column 8"):
        select.query(data, "SELECT COUNT(*) AS n,\n       fare\nFROM trips")


def test_private_tables_join_in_sql(table):
    import ibis

    connection = ibis.duckdb.connect()
    ledger = Ledger.open("memory://", budget=hush.Budget(epsilon=9), dataset="trips")
    ages = pyarrow.table({"driver": range(20), "age": range(20, 40)})
    first, second = (
        hush.open(connection.create_table(n, t), unit="driver", rows=3, ledger=ledger)
        for n, t in (("trips", table), ("ages", ages))
    )
    text = "SELECT AVG(CLAMP(age, 0, 99)) AS age FROM trips JOIN ages USING (driver)"
    found = first.sql(text, epsilon=5, tables={"ages": second})
    assert 20 <= found.values["age"][0] <= 40


def test_a_select_is_planned_and_explained_before_it_is_paid(data):
    asked = data.prepare(
        "SELECT COUNT(*) AS n, AVG(CLAMP(fare, 0, 80)) AS fare FROM trips ORDER BY n"
    )
    assert set(asked.plan(epsilon=1).error) == {"n", "fare"}
    assert asked.plan(within={"n": 50}).error["n"] <= 50
    assert "at most 3 rows" in asked.explain()
    assert float(data.budget.epsilon) == 1000
    assert set(asked.release(epsilon=1).values) == {"n", "fare"}
    assert float(data.budget.epsilon) == 999
