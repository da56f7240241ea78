"""No name of a column, of the data or of a query, changes what bounds a person.

A person with a thousand rows counts for three. Each of these names once was, or could
be, taken for a column of the relations that bound them.
"""

import numpy as np
import pyarrow
import pytest

import hush
from hush.errors import InvalidArgument

MANY = 1000


def people(unit="who", **more):
    columns = {
        unit: [1] * MANY,
        "k": np.arange(MANY),
        "x": np.arange(MANY, dtype=float),
    }
    return columns | more


def opened(columns, unit="who", **more):
    budget = hush.Budget(epsilon=10**6, delta=0.1)
    given = {"unit": unit, "rows": 3, "budget": budget, "name": "data"}
    return hush.open(columns, **given, **more)


def close(values):
    # Laplace noise of scale 3/1000 is beyond 1 with chance e^-333.
    return abs(float(values["n"][0]) - 3) < 1


AGGREGATES = {"n": hush.count(), "d": hush.count_distinct("x")}
OURS = ["_w", "_unit", "_value", "_rows", "_n", "_m0_w", "_g", "_keys", "_cut", "_held"]
WORDS = [
    "counted value",
    "select",
    "group",
    "t0",
    "t1",
    "m0_w",
    'a"; --',
    "ü",
]


@pytest.mark.thin(5)
@pytest.mark.parametrize("unit", WORDS)
@pytest.mark.parametrize("groups", [None, 1], ids=["weights", "caps"])
def test_the_unit_may_have_any_name(unit, groups):
    data = opened(pyarrow.table(people(unit)), unit, groups=groups)
    for aggregate in AGGREGATES.values():
        assert close(data.agg(n=aggregate).release(epsilon=1000).values)


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("form", ["subquery", "with"])
def test_sql_cannot_bring_a_column_of_ours(name, form):
    data = opened(pyarrow.table(people()))
    rows = f"SELECT who, x * 1000 AS {name} FROM data"
    text = {
        "subquery": f"SELECT COUNT(*) AS n FROM ({rows}) AS t",
        "with": f"WITH t AS ({rows}) SELECT COUNT(*) AS n FROM t",
    }[form]
    with pytest.raises(InvalidArgument, match="underscore"):
        data.sql(text, epsilon=1)


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", OURS)
def test_data_and_public_tables_cannot_either(engine, name):
    more = {name: np.arange(MANY) * 1000}
    data = opened(engine.table(people(**more)))
    assert close(data.agg(n=hush.count()).release(epsilon=1000).values)
    public = pyarrow.table({"k": np.arange(MANY), "fine": np.arange(MANY), **more})
    both = data.join(public, on="k")
    assert "fine" in both._table.columns
    assert close(both.agg(n=hush.count()).release(epsilon=1000).values)


def test_names_that_differ_by_case_are_one(engine):
    data = opened(engine.table(people()))
    with pytest.raises(InvalidArgument, match="case"):
        data.select(WHO="x")
    with pytest.raises(InvalidArgument, match="WHO"):
        data.join(pyarrow.table({"k": [1], "WHO": [5]}), on="k")
    with pytest.raises(InvalidArgument, match="case"):
        data.sql("SELECT COUNT(*) AS n FROM (SELECT who, x AS Who FROM data) t", 1)


@pytest.mark.parametrize("names", [("who", "x", "X"), ("who", "x", "x")])
def test_a_frame_with_one_name_twice_is_refused(names):
    frame = pyarrow.table([[1, 2], [1.0, 2], [5.0, 6]], names=list(names))
    with pytest.raises(InvalidArgument, match="without case"):
        opened(frame)


def test_groups_may_be_called_what_sums_once_were():
    columns = {
        "who": list(range(200)),
        "m0_w": ["a", "b"] * 100,
        "M0_SUM": [1, 1] * 100,
        "x": [1.0] * 200,
    }
    by = ("m0_w", "M0_SUM")
    data = opened(pyarrow.table(columns))
    aggregates = {"n": hush.count(), "v": hush.variance("x", bounds=(0, 2))}
    found = data.group_by(*by, keys="private").agg(**aggregates).release(50, 1e-6)
    assert found.keys == (("a", 1), ("b", 1))
    known = data.group_by(*by, keys=[("a", 1)]).agg(**aggregates).release(epsilon=50)
    # Scale below 1: 50 away has a chance far below 1e-9.
    assert abs(known.values["n"][0] - 100) < 50


@pytest.mark.parametrize(
    ("by", "aggregates"),
    [
        ("k", ["k"]),
        ("k", ["n", "n_low"]),
        ("k", ["n_high", "n"]),
        ("n_low", ["n"]),
    ],
)
def test_two_columns_of_an_answer_never_share_a_name(by, aggregates):
    data = opened(pyarrow.table({"who": [1], "k": ["a"], "n_low": ["a"]}))
    grouped = data.group_by(by, keys=["a"])
    with pytest.raises(InvalidArgument, match="two columns"):
        grouped.agg(**{name: hush.count() for name in aggregates})
