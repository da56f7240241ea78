"""Numbers beyond 10^±70 and infinities: one rule for keys, groups and distinct counts.

What names a group or counts as a different value is held inside 10^±70, whether it is a
column, a column with another name, or computed.
"""

import bisect
import math
import random
from decimal import Decimal

import pyarrow
import pytest

import hush
from hush.errors import InvalidArgument, Unsupported
from hush.tables import bins
from hush.tables.engines.engine import fetch
from hush.tables.expressions import expression
from seams.asking import Asker, Refused
from seams.rowwise import held
from tables.conftest import DuckDB

INF = math.inf
VALUES = [INF, 1e300, 1e70, -INF, -1e71, 1e-300, -1e-71, 0.0, -0.0, 2.0, None, math.nan]
BEYOND = {1e70: 3, -1e70: 2, 0.0: 4, 2.0: 1, None: 2}


def columns():
    return {
        "u": pyarrow.array(range(len(VALUES))),
        "x": pyarrow.array(VALUES, pyarrow.float64()),
        "f": pyarrow.array(SINGLE, pyarrow.float32()),
        "b": pyarrow.array([True, None, False] * 4),
        "c": pyarrow.array([True, True, False, None] * 3),
    }


SINGLE = [INF, INF, 1.5, -INF, None, math.nan, 0.0, -0.0, 2.0, 2.0, INF, 1.5]
NARROW = {1e70: 3, -1e70: 1, 0.0: 2, 2.0: 2, 1.5: 2, None: 2}


@pytest.fixture(scope="module")
def opened():
    return {}


@pytest.fixture
def asker(engine, opened):
    if engine.name not in opened:
        opened[engine.name] = Asker(engine.table(columns()), rows=1)
    return opened[engine.name]


def asked(asker, text, keys=None, **more):
    text = text.replace("FROM t", f"FROM {asker.name}")
    return asker.quietly(
        lambda: asker.data.sql(text, epsilon=1e4, keys=keys, **more).to_dict()
    )


SPELLINGS = [
    ("SELECT x, COUNT(*) AS n FROM t GROUP BY x", "x", BEYOND),
    ("SELECT x AS g, COUNT(*) AS n FROM t GROUP BY g", "g", BEYOND),
    ("SELECT x * 2 AS g, COUNT(*) AS n FROM t GROUP BY g", "g", {1e70: 3, -1e70: 2}),
    ("SELECT f, COUNT(*) AS n FROM t GROUP BY f", "f", NARROW),
    ("SELECT f AS g, COUNT(*) AS n FROM t GROUP BY g", "g", NARROW),
]


@pytest.mark.slow_on("spark")
@pytest.mark.parametrize(("text", "name", "right"), SPELLINGS)
def test_public_keys_hold_what_lies_beyond(asker, text, name, right):
    got = asked(asker, text, {name: list(right)})
    assert dict(zip(got[name], got["n"], strict=True)) == right


@pytest.mark.slow_on("spark")
@pytest.mark.parametrize(("text", "name", "right"), SPELLINGS)
def test_private_keys_name_what_public_keys_count(asker, text, name, right):
    got = asked(asker, text, "private", delta=1e-3)
    found = dict(zip(got[name], got["n"], strict=True))
    assert {key: found.get(key) for key in right} == right
    assert max(abs(key) for key in found if key is not None) == 1e70


@pytest.mark.slow_on("spark")
def test_distinct_counts_and_groups_tell_the_same_values_apart(asker):
    text = "SELECT COUNT(DISTINCT x) AS p, COUNT(DISTINCT x * 2) AS q FROM t"
    got = asked(asker, text)
    assert (got["p"], got["q"]) == ([len(BEYOND) - 1], [len(BEYOND) - 1])


@pytest.mark.parametrize("key", [1e71, -1e300, 1e-71, Decimal("1e80")])
def test_a_key_that_no_number_is_held_to_is_refused(key):
    data = Asker(DuckDB().table(columns()), rows=1).data
    for name in ("x", "f"):
        with pytest.raises(InvalidArgument, match="held inside"):
            data.group_by(name, keys=[key])


def test_bins_beyond_what_numbers_are_held_to_are_refused():
    for low, high in [(0, 1e80), (-1e71, 0), (0, 1e-60)]:
        with pytest.raises(InvalidArgument, match="bins need"):
            bins(low, high, 4)


def around(edge):
    return [math.nextafter(edge, -INF), edge, math.nextafter(edge, INF)]


def cases():
    """Return grids, plain and odd, and what lies at, before and behind their ends."""
    pick = random.Random("bins")
    grids = [(-3, 3, 12), (0, 1, 3), (-0.1, 0.7, 7), (0, 100, 49), (-1e70, 1e70, 5)]
    for _ in range(12):
        low = pick.uniform(-10, 10)
        grids.append((low, low + pick.uniform(1e-9, 10), pick.randint(1, 99)))
    return grids


@pytest.mark.slow_on("spark")
def test_a_bin_holds_its_lower_end_and_not_the_next(engine):
    """Ends are the doubles that `bins` lists; no rounding moves a number over one."""
    for low, high, count in cases() if engine.name == "duckdb" else cases()[:4]:
        ends = bins(low, high, count)
        values = sorted({v for end in [*ends, float(high)] for v in around(end)})
        values.append(0.49999999999999994)
        table = engine.table(
            {"u": pyarrow.array(range(len(values))), "x": pyarrow.array(values)}
        )
        wanted = dict.fromkeys([*ends, None], 0)
        for value in map(held, values):
            inside = low <= value <= high
            place = bisect.bisect_right(ends, value) - 1
            wanted[ends[place] if inside else None] += 1
        text = f"BIN(x, {low!r}, {high!r}, {count})"
        asker = Asker(table, rows=1)
        got = asked(asker, f"SELECT {text} AS g, COUNT(*) AS n FROM t GROUP BY g")
        assert dict(zip(got["g"], got["n"], strict=True)) == wanted, text


@pytest.mark.slow_on("spark")
@pytest.mark.parametrize("divisor", ["7", "0.3", "y", "(3 + 4)"])
def test_a_quotient_is_the_same_to_the_last_bit_on_every_engine(engine, divisor):
    pick = random.Random("quotients")
    values = [pick.uniform(-9, 9) for _ in range(500)]
    table = engine.table({"x": values, "y": [7.0] * 500})
    found = expression.number(table, f"x / {divisor}")
    by = 0.3 if divisor == "0.3" else 7.0
    rows = fetch(table.select(x=table.x, v=found)).to_pylist()
    assert [row["v"] for row in rows] == [row["x"] / by for row in rows]


TEXTS = {
    "12": 12.0,
    " -3.5\t": -3.5,
    "1e99": 1e70,
    "1e-99": 0.0,
    "9" * 30: 1e30,
    "9" * 31: None,
    "." + "1" * 30: 1 / 9,
    "0." + "1" * 31: None,
    "1e100": None,
    "1e005": None,
    "1e400": None,
    "1e-400": None,
    "5.": 5.0,
    "+.5": 0.5,
    "1e": None,
    "nan": None,
    "inf": None,
    "1_0": None,
}


@pytest.mark.slow_on("spark")
def test_which_texts_are_numbers_is_the_same_on_every_engine(engine):
    table = engine.table(
        {"u": pyarrow.array(range(len(TEXTS))), "s": pyarrow.array(list(TEXTS))}
    )
    asker = Asker(table, rows=1)
    keys = {"u": list(range(len(TEXTS)))}
    text = "SELECT u, COUNT(CAST(s AS DOUBLE)) AS n FROM t GROUP BY u"
    assert asked(asker, text, keys)["n"] == [
        each is not None for each in TEXTS.values()
    ]
    some = [each for each in TEXTS.values() if each is not None]
    text = "SELECT CAST(s AS DOUBLE) AS g, COUNT(*) AS n FROM t GROUP BY g"
    assert asked(asker, text, {"g": some})["n"] == [1] * len(some)


NARROWER = ["REAL", "FLOAT", "SMALLINT", "TINYINT", "DECIMAL", "NUMERIC", "UINTEGER"]


@pytest.mark.parametrize("kind", [*NARROWER, "HUGEINT", "TIMESTAMP", "BOOLEAN", "BLOB"])
def test_a_cast_to_a_type_that_is_not_listed_is_refused(kind):
    data = Asker(DuckDB().table(columns()), rows=1).data
    for text in (
        f"CAST(x AS {kind}) > 1",
        f"TRY_CAST(x AS {kind}) > 1",
        f"x::{kind} > 1",
    ):
        with pytest.raises(Unsupported, match="CAST"):
            data.where(text)


@pytest.mark.parametrize(
    "text", ["COALESCE(b, c)", "NULLIF(b, c)", "CASE WHEN b THEN c ELSE b END", "(b)"]
)
def test_a_choice_among_truth_values_needs_no_bounds(text):
    asker = Asker(DuckDB().table(columns()), rows=1)
    got = asked(asker, f"SELECT SUM({text}) AS n, AVG({text}) AS p FROM t")
    one = asked(asker, f"SELECT COUNT_IF({text}) AS n, COUNT({text}) AS k FROM t")
    assert not isinstance(got, Refused)
    assert got["n"] == one["n"]
    assert got["p"][0] == pytest.approx(one["n"][0] / one["k"][0])
    query = asker.data.agg(p=hush.mean(text))
    assert query.explain()
