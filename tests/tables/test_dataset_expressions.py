"""Ibis expressions are read back as text: they keep the rows that the text keeps."""

import ibis
import pyarrow
import pytest
from ibis import _

import hush
from hush.errors import HushError, InvalidArgument
from hush.tables.engines.engine import fetch

ROWS = {
    "u": [1, 2, 3, 4, 5, 6],
    "x": [-1.5, 0.0, 2.0, float("nan"), None, 1e9],
    "k": ["a", "b", None, "ab", "a", "c"],
    "select": [1, 2, 3, 4, 5, 6],
}
SAME = [
    (_.x > 0, "x > 0"),
    (~(_.x > 0), "NOT x > 0"),
    ((_.x > -1.5) & (_.k == "a"), "x > -1.5 AND k = 'a'"),
    ((_.x > 0) | _.k.isnull(), "x > 0 OR k IS NULL"),
    (_.k.isin(["a", "c"]), "k IN ('a', 'c')"),
    (_.x.between(-2, 2), "x BETWEEN -2 AND 2"),
    (_.x / _["select"] > 0.5, 'x / "select" > 0.5'),
    (_.x.abs() + 1 == 2.5, "ABS(x) + 1 = 2.5"),
    (_["select"] * 2 - 1 >= 5, '"select" * 2 - 1 >= 5'),
    (_.x.fill_null(7) > 5, "COALESCE(x, 7) > 5"),
]


def kept(data):
    return sorted(row["u"] for row in fetch(data._table).to_pylist())


@pytest.mark.parametrize(("deferred", "text"), SAME, ids=[text for _each, text in SAME])
def test_a_deferred_expression_keeps_the_same_rows(deferred, text):
    data = hush.open(pyarrow.table(ROWS), unit="u", budget=hush.Budget(epsilon=1))
    wanted = kept(data.where(text))
    assert kept(data.where(deferred)) == wanted


def test_derived_columns_may_be_deferred():
    data = hush.open(pyarrow.table(ROWS), unit="u", budget=hush.Budget(epsilon=1))
    one, two = data.select(y=_.x * 2), data.select(y="x * 2")
    assert fetch(one._table).to_pylist()[0] == fetch(two._table).to_pylist()[0]


@pytest.mark.parametrize(
    "bad",
    [_.nothing > 0, _.x.sum() > 0, _.x > ibis.random(), _.x.cumsum() > 1, _.x + 1],
    ids=["column", "aggregate", "random", "window", "number"],
)
def test_what_is_not_about_one_row_is_refused(bad):
    data = hush.open(pyarrow.table(ROWS), unit="u", budget=hush.Budget(epsilon=1))
    with pytest.raises(HushError):
        data.where(bad)


def test_an_expression_of_another_kind_is_named():
    data = hush.open(pyarrow.table(ROWS), unit="u", budget=hush.Budget(epsilon=1))
    with pytest.raises(InvalidArgument, match="as text"):
        data.where(data._table.x > 0)
