"""Plain columns: the table that Arrow would make of them, without Arrow."""

import datetime

import numpy as np
import pyarrow
import pytest

import hush
from hush.errors import InvalidArgument
from hush.tables.engines import sources
from hush.tables.engines.engine import fetch

DAY, NOON = datetime.date(2026, 1, 31), datetime.datetime(2026, 1, 31, 12)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (range(3), "int64"),
        ([1, None, np.int64(3)], "int64"),
        ([1, 2.5, None], "float64"),
        ([True, None, False], "boolean"),
        (["a", None, "c"], "string"),
        ([DAY, None, DAY], "date"),
        ([NOON, None, NOON], "timestamp(6)"),
        (np.array([1, 2, 3], np.uint8), "uint64"),
        (np.array([1.5, 2, 3]), "float64"),
        (np.array(["a", "b", "c"]), "string"),
        (np.array(["a", None, "c"], object), "string"),
        (np.array([DAY] * 3, "datetime64[D]"), "date"),
        (np.array([NOON] * 3, "datetime64[ns]"), "timestamp(6)"),
    ],
    ids=str,
)
def test_a_column_has_the_type_and_the_values_it_was_given(values, kind):
    made = sources.plain_table({"x": values}, "data")
    assert str(made.schema()["x"]) == kind
    given = values.astype("datetime64[us]") if _moments(values) else values
    expected = given.tolist() if isinstance(given, np.ndarray) else list(given)
    if kind == "date":
        expected = [each and DAY for each in expected]
    assert fetch(made)["x"].tolist() == expected


def _moments(values):
    return isinstance(values, np.ndarray) and values.dtype.kind == "M"


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({}, "one length"),
        ({"x": [1, 2], "y": [1]}, "one length"),
        ({"x": [1, "CANARY"]}, "one type"),
        ({"x": [True, 2]}, "one type"),
        ({"x": [DAY, NOON]}, "one type"),
        ({"x": [b"CANARY"]}, "one type"),
        ({"x": [None, None]}, "NumPy"),
        ({"x": []}, "NumPy"),
        ({"x": "CANARY"}, "list or an array"),
        ({"x": 5}, "list or an array"),
        ({"x": [1 << 80]}, "no engine has"),
        ({"x": [1], "X": [2]}, "same name"),
        ({"_w": [1]}, "underscore"),
    ],
    ids=str,
)
def test_what_is_no_table_is_refused_and_not_quoted(columns, words):
    with pytest.raises(InvalidArgument, match=words) as caught:
        hush.open(columns, budget=hush.Budget(epsilon=1))
    assert "CANARY" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or "CANARY" not in str(
        caught.value.__context__
    )


def test_columns_answer_as_the_same_arrow_table_does():
    rng = np.random.default_rng(1)
    columns = {
        "who": rng.integers(0, 90, 400).tolist(),
        "area": rng.choice(["a", "b", "c"], 400).tolist(),
        "fare": [None if x < 5 else x for x in rng.uniform(0, 80, 400).tolist()],
    }

    def exact(given):
        data = hush.open(given, unit="who", rows=3, budget=hush.Budget(epsilon=1e9))
        query = data.group_by("area", keys=["a", "b", "none"]).agg(
            n=hush.count(),
            fare=hush.mean("fare", bounds=(0, 80)),
            most=hush.quantile("fare", 0.9, bounds=(0, 80)),
            seen=hush.count_distinct("area"),
        )
        return [sorted(fetch(each).to_pylist(), key=repr) for each in query.relations()]

    assert exact(columns) == exact(pyarrow.table(columns))


def test_a_public_table_of_plain_columns_can_be_joined():
    data = hush.open(
        {"who": range(300), "where": ["a", "b", "c"] * 100},
        unit="who",
        rows=1,
        budget=hush.Budget(epsilon=1e9),
    )
    areas = {"where": ["a", "b"], "side": ["north", "south"]}
    sides = data.join(areas, on="where").group_by("side", keys=["north", "south"])
    answer = sides.agg(n=hush.count()).release(epsilon=1e6)
    assert np.round(answer.values["n"]).tolist() == [100, 100]


def test_an_answer_prints_aligned_and_in_part_where_it_is_long():
    data = hush.open({"g": range(100)}, budget=hush.Budget(epsilon=9))
    few = data.agg(n=hush.count()).release(epsilon=1)
    head, row, *remarks = str(few).splitlines()
    assert remarks[0].startswith("(one row is protected, add-remove: every row is ")
    assert remarks[1].startswith("(95% intervals, each by itself, of the noise")
    assert head.split() == ["n", "n_low", "n_high"]
    assert len(head) == len(row)
    many = data.group_by("g", keys=range(100)).agg(n=hush.count()).release(epsilon=1)
    lines = str(many).splitlines()
    assert len(lines) == 65
    assert lines[-3] == "(100 rows, 40 not shown)"
