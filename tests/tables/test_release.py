"""Releases from tables: charged first, refused before reading, on every engine."""

import numpy as np
import pyarrow
import pytest

import hush
from hush.errors import BudgetExceeded, DrawFailed, InvalidArgument, Unsupported

PEOPLE = 4000


@pytest.fixture(scope="module")
def trips():
    generator = np.random.default_rng(3)
    return {
        "driver": np.arange(3 * PEOPLE) % PEOPLE,
        "borough": generator.choice(["Bronx", "Queens", "Kings"], 3 * PEOPLE),
        "fare": np.round(generator.gamma(3, 8, 3 * PEOPLE), 2),
    }


def opened(table, **more):
    arguments = {"unit": "driver", "rows": 3, "budget": hush.Budget(epsilon=10)}
    return hush.open(table, **{**arguments, **more})


def asked(data):
    return (
        data.where("fare > 0")
        .group_by("borough", keys=["Bronx", "Queens", "Mars"])
        .agg(
            trips=hush.count(),
            fare=hush.mean("fare", bounds=(0, 80)),
            total=hush.sum("fare", bounds=(0, 80)),
        )
    )


def test_answers_are_near_the_truth_on_every_engine(engine, trips):
    # Each of the nine numbers leaves ten times its 95 % interval with chance < 1e-9.
    answer = asked(opened(engine.table(trips))).release(epsilon=8)
    fares = np.clip(trips["fare"], 0, 80)
    for i, name in enumerate(["Bronx", "Queens", "Mars"]):
        here = (trips["borough"] == name) & (trips["fare"] > 0)
        truth = {
            "trips": here.sum(),
            "total": fares[here].sum(),
            "fare": fares[here].mean() if here.any() else 40.0,
        }
        for column, exact in truth.items():
            low, high = (end[i] for end in answer.interval(0.95)[column])
            assert abs(answer.values[column][i] - exact) <= 10 * (high - low)


@pytest.mark.thin(2)
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_an_interval_holds_its_own_value(trips, epsilon):
    # Also where nobody is: the mean there is noise over noise, and its interval once
    # lay at one bound with the value at the other. An expected count is not negative.
    for _ in range(20):
        answer = asked(opened(pyarrow.table(trips))).release(epsilon=epsilon)
        for population in (False, True):
            for name, ends in answer.interval(0.5, population=population).items():
                value = answer.values[name]
                if population and name != "fare":
                    value = np.maximum(value, 0)
                assert (ends[0] <= value).all(), name
                assert (value <= ends[1]).all(), name


def test_an_absent_key_appears_and_an_unlisted_one_does_not(trips):
    # HAZARDS S7.
    frame = asked(opened(pyarrow.table(trips))).release(epsilon=1).to_pandas(level=0.95)
    assert frame["borough"].tolist() == ["Bronx", "Queens", "Mars"]
    assert frame["trips"].notna().all()
    assert (frame["trips_low"] < frame["trips_high"]).all()


def test_the_budget_goes_down_by_what_was_asked_and_then_refuses(trips):
    data = opened(pyarrow.table(trips), budget=hush.Budget(epsilon=1))
    for _ in range(4):
        asked(data).release(epsilon=0.25)
    assert float(data.budget.epsilon) == pytest.approx(0, abs=1e-9)
    with pytest.raises(BudgetExceeded):
        asked(data).release(epsilon=0.01)


def test_the_same_key_returns_the_same_answer_for_free(trips):
    data = opened(pyarrow.table(trips), budget=hush.Budget(epsilon=1))
    first = asked(data).release(epsilon=0.5, key="monday")
    again = asked(data).release(epsilon=0.5, key="monday")
    assert first.to_json() == again.to_json()
    assert float(data.budget.epsilon) == pytest.approx(0.5, abs=1e-9)


class TouchedData(Exception):
    """Raised when anything reads the rows."""


def untouchable(monkeypatch):
    import ibis.expr.types as ir

    def touched(*_, **__):
        raise TouchedData

    for name in ("execute", "to_pyarrow", "to_pandas", "to_polars"):
        monkeypatch.setattr(ir.Table, name, touched)
    monkeypatch.setattr("hush.tables.engines.duckdb.fetch", touched)


def test_plans_and_refusals_never_touch_the_data(trips, monkeypatch):
    # HAZARDS S6, Q3.
    data = opened(pyarrow.table(trips), budget=hush.Budget(epsilon=1))
    untouchable(monkeypatch)
    plan = asked(data).plan(epsilon=0.5)
    assert set(plan.noise) == {"rows", "centered fare", "present fare", "total fare"}
    assert set(plan.error) == {"trips", "fare", "total"}
    assert "SELECT" in asked(data).sql_text()
    assert "SELECT" not in asked(data).explain()
    with pytest.raises(BudgetExceeded):
        asked(data).release(epsilon=2)
    for text in ("nothing > 0", "fare", "random() > 1", "fare > ", "fare > 'a'"):
        with pytest.raises(Unsupported):
            data.where(text)
    assert float(data.budget.epsilon) == 1


def test_a_draw_that_fails_says_nothing_and_stays_charged(trips, monkeypatch):
    # HAZARDS Q2.
    data = opened(pyarrow.table(trips), budget=hush.Budget(epsilon=1))
    untouchable(monkeypatch)
    with pytest.raises(DrawFailed) as caught:
        asked(data).release(epsilon=0.5)
    assert "TouchedData" not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert float(data.budget.epsilon) == pytest.approx(0.5, abs=1e-9)


def test_sql_asks_the_same_question(trips):
    data = opened(pyarrow.table(trips))
    answer = data.sql(
        "SELECT borough, COUNT(*) AS trips, AVG(CLAMP(fare, 0, 80)) AS fare "
        "FROM data WHERE fare > 0 GROUP BY borough",
        epsilon=1,
        keys={"borough": ["Bronx", "Queens"]},
    )
    assert list(answer.values) == ["trips", "fare"]
    assert answer.to_dict()["borough"] == ["Bronx", "Queens"]
    whole = data.sql("SELECT SUM(fare) FROM data", epsilon=1, bounds={"fare": (0, 80)})
    assert len(next(iter(whole.values.values()))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM data",
        "SELECT fare FROM data",
        "SELECT COUNT(*) FROM other",
        "SELECT COUNT(*) FROM data, data",
        "SELECT COUNT(*) FROM data JOIN data d ON true",
        "SELECT AVG(fare) FROM data",
        "SELECT AVG(CLAMP(fare, 'a', 1)) FROM data",
        "SELECT MIN(fare) FROM data",
        "SELECT COUNT(*) FROM data GROUP BY borough",
        "SELECT COUNT(*) FROM data WHERE random() > 0.5",
        "SELECT COUNT(*) FROM data WHERE error(borough)",
        "SELECT COUNT(*) FROM read_csv('/etc/hostname')",
        "SELECT COUNT(*) FROM data; DROP TABLE data",
        "DELETE FROM data",
        "PRAGMA database_list",
        "SELECT setseed(0.4), COUNT(*) FROM data",
        "SELEC",
        "",
    ],
)
def test_other_sql_is_refused_and_costs_nothing(trips, text):
    # HAZARDS Q1, Q4, Q5.
    data = opened(pyarrow.table(trips), budget=hush.Budget(epsilon=1))
    with pytest.raises(Unsupported):
        data.sql(text, epsilon=0.5)
    assert float(data.budget.epsilon) == 1


def test_the_embedded_engine_is_shut_off(trips):
    data = opened(pyarrow.table(trips))
    connection = data._table.get_backend()
    for statement in (
        "SELECT * FROM read_csv('/etc/hostname')",
        "SELECT * FROM glob('/*')",
        "COPY (SELECT 1) TO '/tmp/out.csv'",
        "ATTACH '/tmp/other.db'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ):
        with pytest.raises(
            Exception, match=r"(?i)permission|disabled|locked|not allowed"
        ):
            connection.raw_sql(statement)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"unit": "nobody"}, "unit"),
        ({"rows": 0}, "rows"),
        ({"rows": 2.5}, "rows"),
        ({"neighbors": "friends"}, "neighbors"),
        ({"budget": None}, "budget"),
    ],
)
def test_bad_arguments_are_named(trips, arguments, name):
    with pytest.raises(InvalidArgument, match=name):
        opened(pyarrow.table(trips), **arguments)


def test_files_open_by_their_path(tmp_path, trips):
    import pyarrow.csv
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(trips), tmp_path / "trips.parquet")
    pyarrow.csv.write_csv(pyarrow.table(trips), tmp_path / "trips.csv")
    for name in ("trips.parquet", "trips.csv"):
        data = opened(str(tmp_path / name))
        assert data.name == "trips"
        answer = data.agg(n=hush.count()).release(epsilon=5)
        assert abs(answer.values["n"][0] - 3 * PEOPLE) < 100
    with pytest.raises(InvalidArgument, match="does not exist"):
        opened(str(tmp_path / "none.parquet"))
