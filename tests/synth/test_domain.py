"""The public domain: which cell a value is in, whatever the value is."""

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hush.errors import InvalidArgument
from hush.noise import Seeded
from hush.synth import Bins, Categories, Domain
from hush.synth.rows import private_counts


class Hostile:
    """A value that fails whatever is asked of it."""

    def __hash__(self):
        raise RuntimeError("secret")

    def __float__(self):
        raise RuntimeError("secret")

    def __eq__(self, other):
        raise RuntimeError("secret")


STRANGE = [
    math.nan,
    None,
    "",
    "nobody",
    [1, 2],
    {"a": 1},
    b"x",
    Hostile(),
    1 + 2j,
    datetime.date(2026, 1, 1),
    np.datetime64("2026-01-01"),
    Decimal("sNaN"),
    object(),
]


@pytest.mark.parametrize("value", STRANGE, ids=lambda v: type(v).__name__)
def test_what_is_no_value_is_nowhere_or_has_the_place_of_none(value):
    assert Categories(["f", "m"]).places([value]).tolist() == [-1]
    assert Categories(["f", None, "m"]).places([value, "m"]).tolist() == [1, 2]
    assert Bins((0, 1, 2)).places([value, 1.5]).tolist() == [-1, 1]
    assert Bins((0, 1, 2), missing=True).places([value]).tolist() == [2]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (-math.inf, 0),
        (math.inf, 1),
        (10**400, 1),
        (-(10**400), 0),
        (-0.0, 0),
        (5e-324, 0),
        (1, 1),
        (2, 1),
        (True, 1),
        (Decimal("1.5"), 1),
        (Fraction(1, 2), 0),
        (np.float32(1.5), 1),
    ],
    ids=str,
)
def test_numbers_are_clamped_and_a_bin_holds_its_lower_end(value, place):
    assert Bins((0, 1, 2)).places([value]).tolist() == [place]


@pytest.mark.parametrize("strange", STRANGE, ids=lambda v: type(v).__name__)
def test_one_strange_value_moves_no_other(strange):
    for column, plain in (
        (Categories([0, 1, None]), [0, 1, 1]),
        (Bins((0, 1, 2), missing=True), [0.5, 1.5, 1.0]),
    ):
        alone = column.places(plain).tolist()
        assert column.places([*plain, strange]).tolist()[:3] == alone


@pytest.mark.parametrize(
    "dtype", ["int8", "uint64", "float16", "float64", "bool", "object"]
)
def test_arrays_of_every_type_read_as_lists_do(dtype):
    values = np.array([0, 1, 1, 0], dtype=dtype)
    for column in (Categories([0, 1]), Bins((0, 1, 2))):
        assert column.places(values).tolist() == [0, 1, 1, 0]


def test_texts_and_dates_are_categories():
    days = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)]
    column = Categories(days)
    assert column.places(days).tolist() == [0, 1]
    assert column.places(np.array(days, "datetime64[ns]")).tolist() == [0, 1]
    assert Categories(["a", "é"]).places(np.array(["é", "a"])).tolist() == [1, 0]


def test_what_is_drawn_is_in_the_cell_it_was_drawn_for():
    for column in (
        Categories(["f", None, 3]),
        Categories([1.5, 2.5]),
        Bins((0, 1, 5, 100), missing=True),
        Bins(range(0, 101, 10), whole=True),
        Bins.of((0, 9), bins=4, whole=True, missing=True),
        Bins.of((-3, 3), bins=7),
    ):
        places = np.arange(column.size).repeat(50)
        drawn = column.drawn(places, Seeded(1))
        assert column.places(drawn).tolist() == places.tolist()
        if getattr(column, "whole", False):
            assert all(each is None or each == int(each) for each in drawn)


def test_bins_of_whole_numbers_hold_each_once():
    column = Bins.of((1, 12), bins=5, whole=True)
    assert column.bins == 5
    assert np.bincount(column.places(range(1, 13))).max() <= 4
    assert Bins.of((0, 1), bins=10, whole=True).bins == 2
    assert Bins.of((3, 3), bins=10, whole=True).places([3, 9]).tolist() == [0, 0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Categories([]),
        lambda: Categories("abc"),
        lambda: Categories({"a", "b"}),
        lambda: Categories([1, 1.0]),
        lambda: Categories([math.nan]),
        lambda: Categories([[1]]),
        lambda: Categories(7),
        lambda: Bins((0,)),
        lambda: Bins((0, 0)),
        lambda: Bins((1, 0)),
        lambda: Bins((0, math.inf)),
        lambda: Bins((0, math.nan)),
        lambda: Bins((-1e308, 1e308)),
        lambda: Bins("ab"),
        lambda: Bins((0.2, 0.8), whole=True),
        lambda: Bins((0, 1), missing=1),
        lambda: Bins.of((0, 0)),
        lambda: Bins.of((0, math.inf)),
        lambda: Domain.of({}),
        lambda: Domain.of(None),
        lambda: Domain.of(["a"]),
        lambda: Domain.of({"a": None}),
        lambda: Domain.of({"a": "yes"}),
    ],
)
def test_a_domain_that_says_too_little_is_refused(make):
    with pytest.raises(InvalidArgument):
        make()


def test_a_refused_domain_shows_no_values():
    with pytest.raises(InvalidArgument) as refused:
        Domain.of({"name": ["secret", "secret"]})
    assert "secret" not in str(refused.value)
    assert "'name'" in str(refused.value)


DOMAIN = Domain.of({"a": [0, 1], "b": Bins((0, 1, 2))})


@pytest.mark.parametrize(
    "rows",
    [
        {"a": [0, 1, 5], "b": [0.5, 1.5, 1.5]},
        {"b": [0.5, 1.5, 1.5], "a": np.array([0, 1, 5]), "more": [1, 2, 3]},
        [[0, 0.5], [1, 1.5], [5, 1.5]],
        [(0, 0.5), (1, 1.5), (5, 1.5)],
        np.array([[0, 0.5], [1, 1.5], [5, 1.5]]),
        np.array([[0, 0.5], [1, 1.5], [5, 1.5]], dtype=object),
    ],
)
def test_rows_have_many_forms(rows):
    found = private_counts(DOMAIN, rows)
    assert found.counts((0,)).tolist() == [1, 1]  # the third row is in no cell
    assert found.counts((0, 1)).tolist() == [[1, 0], [0, 1]]
    assert repr(found) == "data"


def test_data_frames_are_rows():
    import pandas
    import polars

    columns = {"a": [0, 1, None], "b": [0.5, 1.5, 1.5]}
    for frame in (pandas.DataFrame(columns), polars.DataFrame(columns)):
        assert private_counts(DOMAIN, frame).counts((0, 1)).tolist() == [[1, 0], [0, 1]]
    nullable = pandas.DataFrame(
        {"a": [0, 1, None], "b": [0.5, None, 1.0]}
    ).convert_dtypes()
    assert private_counts(DOMAIN, nullable).counts((0,)).tolist() == [1, 0]


@pytest.mark.parametrize("rows", [{"a": [], "b": []}, [], np.empty((0, 2))], ids=repr)
def test_no_rows_are_rows(rows):
    assert private_counts(DOMAIN, rows).counts((0, 1)).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    "rows",
    [
        {"a": [0]},
        {"a": [0, 1], "b": [0.5]},
        [[0], [1]],
        [0, 1],
        np.zeros((3, 3)),
        np.zeros(3),
        {"a": np.array(["x"]), "b": [0.5]},
        {"a": [0], "b": np.array(["x"])},
        {"a": [0], "b": np.array(["2026-01-01"], "datetime64[D]")},
    ],
)
def test_rows_of_another_form_are_refused_before_they_are_read(rows):
    with pytest.raises(InvalidArgument):
        private_counts(DOMAIN, rows)
