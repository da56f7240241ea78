"""Attempts through dates: values that an engine holds and cannot write."""

import datetime

import ibis
import polars as pl
import pyarrow as pa
import pytest

import hush
from hush.errors import InvalidArgument, Unsupported
from hush.tables.engines.engine import without_engine_text

MANY = 12
# Polars' type, then what somebody may hold: the ends, the year 30000, 4000 BC.
TYPES = {
    "date": (pl.Date, [2**31 - 1, 10_000_000], [-(2**31), -2_200_000]),
    "us": (pl.Datetime("us"), [-(2**63), 10**18], [2**63 - 1, -2 * 10**17]),
    "ms": (pl.Datetime("ms"), [2**62], [-(2**63), 10**15]),
    "ns": (pl.Datetime("ns"), [1_001], [2**63 - 1, -(2**63)]),
}
CASES = [
    pytest.param(kind, odd, marks=[pytest.mark.slow] if odd in more else [])
    for kind, (_, few, more) in TYPES.items()
    for odd in (*few, *more)
]


def moments(kind, *odd):
    numbers = pl.Series("k", [1_000] * MANY + list(odd), dtype=pl.Int64)
    return numbers.cast(TYPES[kind][0])


def opened(columns, *, lazy):
    frame = pl.DataFrame(columns)
    budget = hush.Budget(epsilon=1000, delta=1e-2)
    return hush.open(frame.lazy() if lazy else frame, unit="who", rows=2, budget=budget)


def outcome(ask):
    """Return what somebody sees of an answer, its noise aside."""
    try:
        return list(ask())
    except BaseException as problem:  # a panic of Polars is no Exception
        return type(problem)


def by_key(data):
    when = data.group_by("k", keys="private", most=3)
    months = data.select(m="DATE_TRUNC('month', k)").group_by("m", keys="private")
    last = data.per_person(last="MAX(k)")
    return {
        "keys": when.agg(n=hush.count()),
        "sums": when.agg(n=hush.sum("x", bounds=(0, 9))),
        "months": months.agg(n=hush.count()),
        "different": data.agg(n=hush.count_distinct("k")),
        "year": data.agg(n=hush.sum("YEAR(k)", bounds=(0, 3000))),
        "compared": data.where("k > DATE '2000-01-01'").agg(n=hush.count()),
        "last": last.group_by("last", keys="private").agg(n=hush.count()),
        "last year": last.agg(n=hush.sum("YEAR(last)", bounds=(0, 3000))),
        "pairs": data.per_person("k", n="COUNT(*)").agg(n=hush.sum("n", (0, 9))),
    }


@pytest.mark.thin(5)
@pytest.mark.parametrize("lazy", [True, False], ids=["polars", "duckdb"])
@pytest.mark.parametrize(("kind", "odd"), CASES)
def test_a_moment_that_no_engine_can_write_fails_no_question(kind, odd, lazy):
    # Polars panics on it, DuckDB fails and is then lost, Python has no such year.
    full = {"who": range(MANY + 1), "k": moments(kind, odd), "x": [1.0] * (MANY + 1)}
    for name, query in by_key(opened(full, lazy=lazy)).items():
        assert isinstance(outcome(lambda q=query: q.release(1, 1e-6)), list), name


@pytest.mark.thin(5)
@pytest.mark.parametrize("lazy", [True, False], ids=["polars", "duckdb"])
@pytest.mark.parametrize(("kind", "odd"), CASES)
def test_somebody_called_by_such_a_moment_fails_no_question(kind, odd, lazy):
    rows = 5
    people = pl.concat([moments(kind, odd)] * rows)
    keys = [key for key in "abcde" for _ in range(MANY + 1)]
    data = opened({"who": people, "g": keys, "x": [1.0] * len(keys)}, lazy=lazy)
    for query in (
        data.agg(n=hush.count(), m=hush.median("x", bounds=(0, 9))),
        data.group_by("g", keys="private", most=1).agg(n=hush.count()),
        data.group_by("g", keys="private", most=3).agg(n=hush.count()),
        data.per_person(s="SUM(CLAMP(x, 0, 9))").agg(n=hush.mean("s", bounds=(0, 9))),
        data.agg(n=hush.count_distinct("g")),
    ):
        assert isinstance(outcome(lambda q=query: q.release(1, 1e-6)), list)


def test_public_keys_meet_moments_of_any_resolution():
    day = datetime.datetime(1970, 1, 1, 0, 0, 1)
    for lazy in (True, False):
        columns = {"who": range(MANY + 1), "k": moments("ms", 2**62)}
        query = opened(columns, lazy=lazy).group_by("k", keys=[day])
        low, high = query.agg(n=hush.count()).release(50).interval(1 - 1e-9)["n"]
        assert low[0] <= MANY <= high[0]


def test_people_named_by_bytes_that_are_no_text_are_counted_on_polars():
    ids = pl.Series("who", [b"a", b"b", b"\xff\xfe"] * 5, dtype=pl.Binary)
    keys = [key for key in "abcde" for _ in range(3)]
    data = opened({"who": ids, "g": keys}, lazy=True)
    query = data.group_by("g", keys="private", most=2).agg(n=hush.count())
    assert isinstance(outcome(lambda: query.release(1, 1e-6)), list)


def test_whole_numbers_of_39_digits_are_no_keys():
    # Ibis says decimal(38, 0), and DuckDB failed to make the largest ones that.
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE people (who int, k HUGEINT)")
    rows = [(i, 7) for i in range(MANY)] + [(99, 2**127 - 1), (98, -(2**127) + 1)]
    for row in rows:
        connection.raw_sql(f"INSERT INTO people VALUES {row}")
    budget = hush.Budget(epsilon=1000, delta=1e-2)
    data = hush.open(connection.table("people"), unit="who", rows=1, budget=budget)
    for most in (1, 3):
        query = data.group_by("k", keys="private", most=most).agg(n=hush.count())
        assert set(query.release(90, 1e-3)["k"]) <= {7, None}


def test_types_of_which_an_engine_fails_on_some_values_are_refused():
    zoned = pa.array([1, 2**62], pa.timestamp("ms", "UTC"))
    budget = hush.Budget(epsilon=1)
    with pytest.raises(InvalidArgument, match="microseconds"):
        hush.open(pa.table({"who": zoned}), unit="who", budget=budget)
    times = pa.array([1, 2**31 - 1], pa.time32("s"))  # no day has so many seconds
    with pytest.raises(Unsupported, match="time"):
        hush.open(pa.table({"who": times}), unit="who", budget=budget)


def test_a_panic_is_kept_back_like_any_error():
    class Panic(BaseException):
        pass

    def panics():
        raise Panic("the value 17")

    with pytest.raises(InvalidArgument) as caught:
        without_engine_text(panics, lambda: InvalidArgument("kept back."))
    assert caught.value.__context__ is None
    with pytest.raises(KeyboardInterrupt):
        without_engine_text(_interrupted, lambda: InvalidArgument("kept back."))


def _interrupted():
    raise KeyboardInterrupt


def test_a_node_that_is_an_odd_day_fails_no_question():
    # DuckDB wrote it as a text, which Python does not compare with a day.
    ends = {"a": [1, 2, 3, 2**31 - 1], "b": [2, 3, 1, 1]}
    edges = pa.table({each: pa.array(days, pa.date32()) for each, days in ends.items()})
    budget = hush.Budget(epsilon=9)
    graph = hush.open_graph(edges, ends=("a", "b"), degree=2, budget=budget)
    assert graph.edges(epsilon=1).values.shape == (1,)
