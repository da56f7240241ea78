"""Conditions and CASE between literals have bounds of their own, on every engine."""

import pyarrow
import pytest

import hush
from hush.errors import InvalidArgument, Unsupported
from hush.tables.expressions import value_range

ROWS = {
    "who": pyarrow.array([1, 2, 3, 4, 5], pyarrow.int64()),
    "mark": pyarrow.array([5.0, 4.0, 1.0, None, 2.0], pyarrow.float64()),
    "paid": pyarrow.array([True, False, None, True, True], pyarrow.bool_()),
}


def opened(table):
    return hush.open(
        table, unit="who", rows=1, name="t", budget=hush.Budget(epsilon=1e9)
    )


@pytest.mark.slow_on("spark")
def test_a_truth_value_is_a_number_on_every_engine(engine):
    data = opened(engine.table(ROWS))
    answer = data.agg(
        happy=hush.mean("mark >= 4"),
        many=hush.sum("mark >= 4 OR paid"),
        paid=hush.mean("paid", bounds=(0, 1)),
        some=hush.mean("CASE WHEN mark >= 4 THEN 10 WHEN mark > 1 THEN -2 END"),
        total=hush.sum("(CASE WHEN paid THEN 1 ELSE 0 END)"),
    ).release(epsilon=1e8)
    assert answer["happy"][0] == pytest.approx(2 / 4, abs=1e-3)
    assert answer["many"][0] == pytest.approx(4, abs=1e-3)
    assert answer["paid"][0] == pytest.approx(3 / 4, abs=1e-3)
    assert answer["some"][0] == pytest.approx(18 / 3, abs=1e-2)
    assert answer["total"][0] == pytest.approx(3, abs=1e-3)
    found = data.sql(
        "SELECT AVG(CASE WHEN mark >= 4 THEN 1 ELSE 0 END) AS share, AVG(paid) AS p, "
        "AVG(mark >= 4) AS happy, SUM(paid) FILTER (WHERE mark > 2) AS few FROM t",
        epsilon=1e8,
    )
    assert found["share"][0] == pytest.approx(2 / 5, abs=1e-3)
    assert found["p"][0] == pytest.approx(3 / 4, abs=1e-3)
    assert found["happy"][0] == pytest.approx(2 / 4, abs=1e-3)
    assert found["few"][0] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("CASE WHEN x THEN 1 ELSE 0 END", (0, 1)),
        ("CASE WHEN x THEN 3 WHEN y THEN -2.5 END", (-2.5, 3)),
        ("CASE WHEN x THEN 7 END", (0, 7)),
        ("CASE WHEN x THEN -7 ELSE NULL END", (-7, 0)),
        ("CASE WHEN x THEN 0 END", None),
        ("CASE WHEN x THEN y ELSE 0 END", None),
        ("CASE WHEN x THEN 'a' ELSE 'b' END", None),
        ("x IN (1, 2)", (0, 1)),
        ("x BETWEEN 1 AND 2", (0, 1)),
        ("x IS NOT NULL AND y LIKE 'a%'", (0, 1)),
        ("NOT x", (0, 1)),
        ("x + 1", None),
        ("x", None),
        ("Minutes waited", None),
    ],
)
def test_bounds_are_known_of_literals_and_of_nothing_else(text, ends):
    assert value_range.bounds_of(text) == ends


def test_bounds_that_are_given_win_and_others_are_still_asked_for():
    data = opened(pyarrow.table(ROWS))
    given = {"paid": (0, 3)}
    query = data.prepare("SELECT AVG(paid) AS p FROM t", bounds=given).query
    assert query.aggregates["p"].bounds == (0, 3)
    with pytest.raises(InvalidArgument, match=r"\(0, 1\) for true and false"):
        data.agg(x=hush.mean("mark"))
    with pytest.raises(Unsupported, match="CLAMP"):
        data.prepare("SELECT AVG(CASE WHEN paid THEN mark ELSE 0 END) FROM t")
    with pytest.raises(Unsupported, match="number is needed"):
        data.agg(m=hush.mean("paid + 1", bounds=(0, 2)))


def test_people_add_up_what_has_bounds_of_its_own():
    data = opened(pyarrow.table(ROWS))
    people = data.per_person(n="SUM(CASE WHEN mark > 1 THEN 1 ELSE 0 END)")
    answer = people.agg(n=hush.sum("n", bounds=(0, 5))).release(epsilon=1e8)
    assert answer["n"][0] == pytest.approx(3, abs=1e-2)


def test_a_column_of_truth_values_has_bounds_by_its_type():
    data = opened(pyarrow.table(ROWS))
    asked = data.agg(
        a=hush.mean("paid"),
        b=hush.sum('"paid"'),
        c=hush.variance("paid"),
        d=hush.covariance("paid", "mark > 2"),
    )
    told = data.agg(
        a=hush.mean("paid", bounds=(0, 1)),
        b=hush.sum('"paid"', bounds=(0, 1)),
        c=hush.variance("paid", bounds=(0, 1)),
        d=hush.covariance("paid", "mark > 2", bounds=((0, 1), (0, 1))),
    )
    assert dict(asked.aggregates) == dict(told.aggregates)
    with pytest.raises(InvalidArgument, match="'mark' must have bounds"):
        data.agg(a=hush.mean("mark"))
    with pytest.raises(InvalidArgument, match="'mark' and 'paid' must have bounds"):
        data.agg(a=hush.covariance("mark", "paid"))
