"""Crossed cells: the same on every engine, and bounded by person."""

import datetime
import math

import pyarrow
import pytest

import hush
from hush.errors import DrawFailed, InvalidArgument, Unsupported

DAY = datetime.date(2026, 1, 1)
NUMBERS = [-5.0, 0.0, 9.99, 10.0, 35.0, 80.0, 1e300, -1e300, math.inf, -math.inf]
ODD = [math.nan, None]


def table(last=()):
    numbers = [*NUMBERS, *ODD, *last]
    n = len(numbers)
    return {
        "who": pyarrow.array([i % 4 for i in range(n)], pyarrow.int64()),
        "x": pyarrow.array(numbers, pyarrow.float64()),
        "t": pyarrow.array((["red", "blue", None, "green"] * n)[:n], pyarrow.string()),
        "k": pyarrow.array([i % 3 for i in range(n)], pyarrow.int32()),
        "ok": pyarrow.array([i % 2 == 0 for i in range(n)], pyarrow.bool_()),
        "day": pyarrow.array([DAY] * n, pyarrow.date32()),
    }


DOMAIN = {
    "x": {"edges": [0, 10, 20, 80], "missing": 3},
    "t": {"values": ["red", "blue"], "missing": 1},
    "k": {"values": [0, 1, 2], "missing": None},
    "ok": {"values": [False, True], "missing": None},
    "day": {"values": [DAY], "missing": None},
}


def opened(given, **more):
    options = {"unit": "who", "rows": 10, "budget": hush.Budget(epsilon=1)} | more
    return hush.open(given, **options)


def counts(data, domain=DOMAIN):
    codes, weights = data.crossed(domain).fetch()
    rows = list(zip(*(code.tolist() for code in codes), strict=True))
    assert len(set(rows)) == len(rows)  # a combination comes once
    return dict(zip(rows, weights.tolist(), strict=True))


def test_every_row_is_in_one_combination(engine):
    found = counts(opened(engine.table(table())))
    wanted: dict[tuple[int, ...], int] = {}
    places = [0, 0, 0, 1, 2, 2, 2, 0, 2, 0, 3, 3]
    for i, place in enumerate(places):
        colour = [0, 2, 1, 1][i % 4]  # the place of others is between red and blue
        row = (place, colour, i % 3, int(i % 2 == 0), 0)
        wanted[row] = wanted.get(row, 0) + (1 << 20)
    assert found == wanted


def test_rows_without_a_cell_are_in_none(engine):
    domain = {**DOMAIN, "t": {"values": ["red", "blue"], "missing": None}}
    found = counts(opened(engine.table(table())), domain)
    assert sum(found.values()) == 6 << 20
    assert {row[1] for row in found} == {0, 1}


def test_a_person_counts_for_their_rows_in_the_domain(engine):
    # Everybody has three rows; those of one colour in the domain are capped at two.
    domain = {"t": {"values": ["red"], "missing": None}}
    assert counts(opened(engine.table(table()), rows=2), domain) == {
        (0,): 3 * math.floor((2 << 20) / 3)
    }
    assert counts(opened(engine.table(table()), rows=3), domain) == {(0,): 3 << 20}


def test_an_empty_table_has_no_combinations(engine):
    empty = {name: column[:0] for name, column in table().items()}
    assert counts(opened(engine.table(empty))) == {}


@pytest.mark.parametrize(
    ("domain", "problem"),
    [
        ({"nope": {"values": [1], "missing": None}}, "nope"),
        ({"t": {"values": [1], "missing": None}}, "cannot be a value"),
        ({"k": {"values": ["a"], "missing": None}}, "cannot be a value"),
        ({"t": {"edges": [0, 1], "missing": None}}, "t"),
        ({"x": {"edges": list(range(500)), "missing": None}}, "bins"),
    ],
)
def test_what_cannot_be_counted_is_refused_before_it_is_read(domain, problem):
    data = opened(pyarrow.table(table()))
    with pytest.raises((InvalidArgument, Unsupported), match=problem):
        data.crossed(domain)


def test_what_it_says_of_itself_is_public():
    found = opened(pyarrow.table(table()), rows=3).crossed(DOMAIN)
    assert repr(found) == "Crossed(x, t, k, ok, day)"
    assert (found.rows, found.whole, found.unit) == (3, 1 << 20, "who")
    assert found.notes["rows"] == 3


def test_an_engine_that_fails_says_nothing(monkeypatch):
    from hush.tables.engines import engine

    def failing(_):
        raise RuntimeError("secret value")

    monkeypatch.setattr(engine, "_run", failing)
    with pytest.raises(DrawFailed) as told:
        opened(pyarrow.table(table())).crossed(DOMAIN).fetch()
    assert "secret" not in str(told.value)
