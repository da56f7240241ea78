"""Columns whose names are no plain words: a whole name is the column, everywhere."""

import pytest

import hush
from hush.errors import Unsupported

VISITS = {
    "who": [1, 2, 3, 4],
    "Minutes waited": [10.0, 20.0, 30.0, 40.0],
    "Service type": ["desk", "desk", "phone", "phone"],
    "a": [5.0, 5.0, 5.0, 5.0],
    "b": [1.0, 1.0, 1.0, 1.0],
    "a - b": [90.0, 90.0, 90.0, 90.0],
}


def visits():
    return hush.open(VISITS, unit="who", rows=1, budget=hush.Budget(epsilon=1e9))


def told(asked):
    return asked.release(epsilon=1e6)


def test_a_whole_name_is_the_column_in_every_aggregate():
    name, ends = "Minutes waited", (0, 50)
    answer = told(
        visits().agg(
            total=hush.sum(name, ends),
            mean=hush.mean(name, ends),
            std=hush.std(name, ends),
            pair=hush.covariance(name, "a", (ends, ends)),
            middle=hush.median(name, ends),
            shape=hush.histogram(name, edges=[0, 25, 50]),
            kinds=hush.count_distinct("Service type"),
            often=hush.mode("Service type", values=["desk"]),
        )
    )
    assert answer["total"][0] == pytest.approx(100, abs=0.1)
    assert answer["mean"][0] == pytest.approx(25, abs=0.1)
    assert answer["shape"][0].tolist() == pytest.approx([2, 2], abs=0.1)
    assert answer["kinds"][0] == pytest.approx(2, abs=0.1)
    assert answer["often"].tolist() == ["desk"]


def test_a_name_that_is_also_an_expression_is_the_column_but_not_in_sql():
    data = visits()
    assert told(data.agg(m=hush.mean("a - b", (0, 100))))["m"][0] == pytest.approx(
        90, abs=0.1
    )
    assert told(data.agg(m=hush.mean("(a - b)", (0, 100))))["m"][0] == pytest.approx(
        4, abs=0.1
    )
    for text, meant in (
        ("AVG(CLAMP(a - b, 0, 100))", 4),
        ('AVG(CLAMP("a - b", 0, 100))', 90),
        ("SUM(CLAMP(a - b, 0, 100)) FILTER (WHERE a > 0)", 16),
    ):
        found = data.sql(f"SELECT {text} AS m FROM data", epsilon=1e6)
        assert found["m"][0] == pytest.approx(meant, abs=0.1), text
    derived = data.sql(
        "SELECT AVG(CLAMP(d, 0, 100)) AS m FROM (SELECT a - b AS d FROM data)", 1e6
    )
    assert derived["m"][0] == pytest.approx(4, abs=0.1)
    people = data.per_person(d="SUM(CLAMP(a - b, 0, 100))")
    assert told(people.agg(m=hush.mean("d", (0, 100))))["m"][0] == pytest.approx(
        4, abs=0.1
    )
    kept = data.sql("SELECT COUNT(*) AS n FROM data WHERE a - b > 50", epsilon=1e6)
    assert kept["n"][0] == pytest.approx(0, abs=0.1)


def test_groups_and_bounds_go_by_the_name_with_quotes_or_without():
    for name in ("Service type", '"Service type"'):
        grouped = visits().group_by(name, keys=["desk", "phone"])
        answer = told(grouped.agg(m=hush.mean("Minutes waited", (0, 50))))
        assert list(answer) == ["Service type", "m"]
        assert answer["m"] == pytest.approx([15, 35], abs=0.1)
    found = visits().sql(
        'SELECT "Service type", AVG("Minutes waited") AS m, MODE("Service type") AS o '
        'FROM data GROUP BY "Service type"',
        epsilon=1e6,
        keys={"Service type": ["desk", "phone"]},
        bounds={"Minutes waited": (0, 50)},
    )
    assert found["m"] == pytest.approx([15, 35], abs=0.1)
    assert found["o"].tolist() == ["desk", "phone"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda d: d.where("Minutes waited > 5"),
        lambda d: d.select(late="Minutes waited / 2"),
        lambda d: d.agg(m=hush.mean("Minutes waited + 1", (0, 50))),
    ],
)
def test_an_expression_that_lacks_quotes_says_so(ask):
    with pytest.raises(Unsupported, match="'Minutes waited' is written in double quo"):
        ask(visits())
    visits().where('"Minutes waited" > 5').select(late='"Minutes waited" / 2')


def test_a_text_under_such_a_name_says_what_to_write():
    with pytest.raises(Unsupported) as refused:
        visits().agg(m=hush.mean("Service type", (0, 50)))
    assert 'CAST("Service type" AS DOUBLE)' in str(refused.value)
    assert "types={'Service type': 'number'}" in str(refused.value)


def test_sql_takes_the_name_of_the_table_in_any_case_without_quotes():
    data = hush.open(VISITS, unit="who", name="visits", budget=hush.Budget(epsilon=9))
    for text in (
        "FROM Visits WHERE visits.a > Visits.b",
        "FROM VISITS v WHERE v.a > 1",
    ):
        data.prepare(f"SELECT COUNT(*) AS n {text}")
    with pytest.raises(Unsupported, match="private table 'visits'"):
        data.prepare('SELECT COUNT(*) AS n FROM "Visits"')


def test_in_a_select_says_to_join():
    with pytest.raises(Unsupported, match="Join with what the SELECT lists"):
        visits().where("who IN (SELECT who FROM data)")
