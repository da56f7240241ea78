"""Public keys meet the rows that the engine calls equal to them, whatever the type.

The oracle is Python's own equality of decimals, texts and numbers, by hand.
"""

import datetime
from decimal import Decimal

import ibis
import numpy as np
import pyarrow
import pytest

import hush
from hush.errors import InvalidArgument
from seams.exact import opened

MANY = 400  # keys that are not there, so that they are not compared one by one


def arrow(kind, values):
    return pyarrow.array(values, kind)


TENTHS = [Decimal("0.10")] * 3 + [Decimal("0.20")] * 2 + [None]
FLOATS = [0.1] * 3 + [0.2] * 2 + [None]
DAY = datetime.date(9999, 12, 31)
MOMENT = datetime.datetime(2026, 1, 31, 23, 59, 59, 999999)
CASES = {
    "decimal by float": (arrow(pyarrow.decimal128(10, 2), TENTHS), 0.1, 0.2),
    "decimal by decimal": (
        arrow(pyarrow.decimal128(10, 2), TENTHS),
        Decimal("0.1"),
        Decimal("0.200"),
    ),
    "single": (arrow(pyarrow.float32(), FLOATS), 0.1, 0.2),
    "single by single": (
        arrow(pyarrow.float32(), FLOATS),
        np.float32(0.1),
        np.float32(0.2),
    ),
    "double": (arrow(pyarrow.float64(), FLOATS), 0.1, Decimal("0.2")),
    "whole by float": (arrow(pyarrow.int32(), [1] * 3 + [2] * 2 + [None]), 1.0, 2),
    "text": (arrow(pyarrow.string(), ["'\\ä"] * 3 + ["a "] * 2 + [None]), "'\\ä", "a "),
    "truth": (
        arrow(pyarrow.bool_(), [True] * 3 + [False] * 2 + [None]),
        *(True, False),
    ),
    "day": (
        arrow(pyarrow.date32(), [DAY] * 3 + [datetime.date(1, 1, 1)] * 2 + [None]),
        *("9999-12-31", datetime.date(1, 1, 1)),
    ),
    "moment": (
        arrow(
            pyarrow.timestamp("us"),
            [MOMENT] * 3 + [datetime.datetime(1969, 1, 1)] * 2 + [None],
        ),
        *(MOMENT, "1969-01-01"),
    ),
}


def others(key):
    """Keys of the same kind that no row has."""
    if isinstance(key, bool):
        return []
    if isinstance(key, (datetime.date, str)) and "-" in str(key):
        some = [datetime.date(1900, 1, 1) + datetime.timedelta(i) for i in range(MANY)]
        if isinstance(key, datetime.datetime) or len(str(key)) > 10:
            return [datetime.datetime(d.year, d.month, d.day) for d in some]
        return some
    if isinstance(key, str):
        return [f"other {i}\n\\'\"" for i in range(MANY)]
    return range(1000, 1000 + MANY)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
def test_keys_meet_the_rows_of_their_value(engine, case, many):
    values, one, two = CASES[case]
    table = engine.table({"g": values, "h": ["x"] * len(values)})
    if many and isinstance(one, bool):
        keys = [(k, h) for k in (one, two, None) for h in ("x", *map(str, range(9)))]
        asked = opened(table).group_by("g", "h", keys=keys)
        places = [0, 10, 20]
    else:
        more = list(others(two if case == "moment" else one)) if many else []
        more = (
            [datetime.datetime(1800, 1, i + 1) for i in range(20)]
            if case == "moment" and many
            else more
        )
        asked = opened(table).group_by("g", keys=[one, *more, None, two])
        places = [0, len(more) + 2, len(more) + 1]
    query = asked.agg(n=hush.count(), d=hush.count_distinct("h"))
    answer = query.release(epsilon=2000)
    assert [round(answer["n"][i]) for i in places] == [3, 2, 1]
    assert round(sum(answer["n"])) == 6
    assert [round(answer["d"][i]) for i in places] == [1, 1, 1]


REFUSED = {
    "decimal": (arrow(pyarrow.decimal128(10, 2), TENTHS), [0.125, Decimal("1e9"), 1e8]),
    "single": (arrow(pyarrow.float32(), FLOATS), [0.123456789012, 1e39]),
    "whole": (arrow(pyarrow.int8(), [1]), [1.5, 128, Decimal("0.5")]),
    "double": (arrow(pyarrow.float64(), FLOATS), [2**53 + 1, Decimal(1) / 3]),
    "seconds": (
        arrow(pyarrow.timestamp("s"), [datetime.datetime(2020, 1, 1)]),
        [MOMENT],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_key_that_its_column_would_change_is_refused(case):
    values, keys = REFUSED[case]
    data = opened(pyarrow.table({"g": values}))
    for key in keys:
        with pytest.raises(InvalidArgument, match=r"would change|different"):
            data.group_by("g", keys=[key])


def test_two_keys_that_are_one_value_are_refused():
    data = opened(pyarrow.table({"g": CASES["single"][0]}))
    with pytest.raises(InvalidArgument, match="one value"):
        data.group_by("g", keys=[0.1, float(np.float32(0.1))])


def test_a_text_filled_up_with_blanks_is_the_text(postgres_engine):
    connection = postgres_engine.connection
    connection.raw_sql(
        "CREATE TABLE filled AS SELECT CAST(v AS char(5)) AS g FROM "
        "(VALUES ('a'), ('a'), ('b'), (NULL)) AS r(v)"
    ).close()
    connection.con.commit()
    data = opened(connection.table("filled"))
    for keys in (["a", "b", None], ["a", "b", None, *map(str, range(99))]):
        answer = data.group_by("g", keys=keys).agg(n=hush.count()).release(epsilon=1000)
        assert [round(each) for each in answer["n"]][:3] == [2, 1, 1]
    with_length = data.where("LENGTH(g) = 1").agg(n=hush.count())
    assert round(with_length.release(epsilon=1000)["n"][0]) == 3


def test_values_of_a_mode_meet_single_precision(engine):
    table = engine.table({"g": CASES["single"][0]})
    asked = opened(table).agg(m=hush.histogram("g", values=[0.1, 0.2]))
    answer = asked.release(epsilon=1000)
    assert [round(each) for each in np.asarray(answer["m"])[0]] == [3, 2]


@pytest.mark.parametrize("number", [1000, 100_000])
def test_keys_of_several_columns_may_be_many(engine, number):
    if number > 1000 and engine.name == "spark":
        pytest.skip("takes Spark a minute, and no other path")
    rows = {"a": [f"k{i % 50}" for i in range(500)], "b": list(range(500))}
    keys = [(f"k{i % 50}", i) for i in range(number)]
    asked = opened(engine.table(rows)).group_by("a", "b", keys=keys)
    answer = asked.agg(n=hush.count()).release(epsilon=2000)
    counts = np.rint(np.asarray(answer["n"])).astype(int)
    assert counts[:500].tolist() == [1] * 500
    assert counts[500:].sum() == 0


def test_a_row_is_in_one_group_whatever_its_engine_calls_equal():
    """Even where two keys slip through as one value, no row is counted twice."""
    from hush.tables.groups import public_keys

    table = ibis.duckdb.connect().create_table("t", pyarrow.table({"g": ["a", "b"]}))
    keys = tuple((f"{i}",) for i in range(30))
    doubled = (*keys, ("a",), ("a",))
    placed = public_keys.rows_of_keys(table, ("g",), doubled)
    assert placed.count().to_pyarrow().as_py() == 1
    assert public_keys.public_groups(("g",), ["a"]).engine_keys == (("a",),)
