"""Keys fit their columns, or are refused before a row could make an engine fail."""

import datetime

import pyarrow
import pytest

import hush
from hush.errors import InvalidArgument

DAY = datetime.date(2026, 1, 31)
MOMENT = datetime.datetime(2026, 1, 31, 12)


@pytest.fixture
def data(engine):
    columns = {
        "u": pyarrow.array([1, 2, 3]),
        "s": pyarrow.array(["1", "a", None]),
        "x": pyarrow.array([1.5, -0.0, None]),
        "i": pyarrow.array([1, 2, None], pyarrow.int64()),
        "b": pyarrow.array([True, False, None]),
        "d": pyarrow.array([DAY, DAY, None]),
        "ts": pyarrow.array([MOMENT, MOMENT, None], pyarrow.timestamp("us")),
    }
    return hush.open(
        engine.table(columns), unit="u", rows=1, budget=hush.Budget(epsilon=1000)
    )


FITTING = [
    ("s", ["1", "a"], [1, 1]),
    ("x", [1.5, 0, 7], [1, 1, 0]),
    ("i", [1, 2.0], [1, 1]),
    ("b", [True, False], [1, 1]),
    ("d", [DAY, "2026-02-01"], [2, 0]),
    ("s", [None, "1"], [1, 1]),
]


@pytest.mark.slow_on("spark")
def test_keys_that_fit_find_their_rows(data):
    for name, keys, counts in FITTING:
        asked = data.group_by(name, keys=keys).agg(n=hush.count())
        found = asked.release(epsilon=100).values["n"]
        # One row per person: at scale 1/100 noise reaches 1/2 with chance e^-50.
        assert [round(float(each)) for each in found] == counts, name


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("s", 1),
        ("s", DAY),
        ("x", "1"),
        ("x", float("nan")),
        ("x", True),
        ("i", "a"),
        ("b", 1),
        ("b", "true"),
        ("d", "yesterday"),
        ("d", MOMENT),
        ("d", 7),
        ("ts", DAY),
    ],
    ids=str,
)
def test_keys_that_cannot_match_are_refused(name, key):
    table = pyarrow.table(
        {
            "s": ["a"],
            "x": [1.0],
            "i": [1],
            "b": [True],
            "d": [DAY],
            "ts": pyarrow.array([MOMENT], pyarrow.timestamp("us")),
        }
    )
    data = hush.open(table, budget=hush.Budget(epsilon=1))
    with pytest.raises(InvalidArgument, match=name):
        data.group_by(name, keys=[key])
    if name != "s":
        with pytest.raises(InvalidArgument, match=name):
            data.group_by("s", name, keys=[("a", key)])


@pytest.mark.parametrize("key", [2**63, -(2**63) - 1, 10**400])
def test_a_whole_key_beyond_64_bits_is_refused(data, key):
    for name in ("i", "x"):
        with pytest.raises(InvalidArgument, match="cannot be a value"):
            data.group_by(name, keys=[1, key])
