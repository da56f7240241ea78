"""One person's votes are their own, bounded, and the same on every engine (S7-S9)."""

from collections import Counter, defaultdict

import ibis
import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush.errors import InvalidArgument, Unsupported
from hush.mechanisms.partition_selection import vote
from hush.tables.bounding.contribution_bounds import UNIT
from hush.tables.engines.engine import fetch
from hush.tables.expressions.types import told_apart
from hush.tables.groups import private_keys as module
from hush.tables.groups.private_keys import holders, kept_rows, votes

pytestmark = pytest.mark.usefixtures("one_text")


def arrow(rows):
    people, products, days = zip(*rows, strict=True) if rows else ((), (), ())
    return {
        "u": pyarrow.array(people, pyarrow.int64()),
        "p": pyarrow.array(products, pyarrow.string()),
        "d": pyarrow.array(days, pyarrow.int32()),
    }


def read(relation, column="_votes"):
    """The relation as {key: number}."""
    return {
        tuple(row[name] for name in relation.columns if name != column): row[column]
        for row in fetch(relation).to_pylist()
    }


def by_hand(rows, cap):
    """What every engine must answer while nobody exceeds the cap."""
    keys = defaultdict(set)
    for person, *key in rows:
        if person is not None:
            keys[person].add(tuple(key))
    found = Counter()
    for mine in keys.values():
        assert len(mine) <= cap
        for key in mine:
            found[key] += vote(len(mine))
    return dict(found)


MIXED = [
    (1, "a", 1), (1, "a", 1), (1, "b", 1), (1, None, 1), (2, "a", 1), (2, "a", 2),
    (3, "", 7), (None, "a", 1), (None, "z", 1), (4, "a", None), (4, None, None),
    (5, "a", 1), (-6, "a", 1), (2**62, "a", 1),
]  # fmt: skip


@pytest.mark.slow_on("spark")
def test_every_engine_counts_the_same_votes(engine):
    table = engine.table(arrow(MIXED))
    assert read(votes(table, "u", ("p", "d"))) == by_hand(MIXED, 100)
    short = [(u, p) for u, p, _ in MIXED]
    assert read(votes(table, "u", ("p",))) == by_hand(short, 100)
    column = fetch(votes(table, "u", ("p",)))["_votes"]
    assert column.dtype == np.int64


@pytest.mark.slow_on("spark")
def test_a_person_with_many_keys_keeps_the_cap(engine):
    # HAZARDS S8: ten thousand rows, a thousand keys, some of them shared.
    rows = [(7, f"k{i % 1000}", 0) for i in range(10_000)] + [(8, "k1", 0)]
    found = read(votes(engine.table(arrow(rows)), "u", ("p",), cap=9))
    assert found[("k1",)] in (UNIT, UNIT + vote(9))
    others = [v for key, v in found.items() if key != ("k1",)]
    assert set(others) == {vote(9)}
    assert len(others) + (found[("k1",)] > UNIT) == 9


@pytest.mark.slow_on("spark")
def test_which_keys_are_kept_depends_on_the_salt_and_the_person_alone(engine):
    rows = [(p, f"k{i}", 0) for p in (1, 2, 3) for i in range(30)]

    def kept(some, salt):
        return read(votes(engine.table(arrow(some)), "u", ("p",), cap=5, salt=salt))

    alone = [kept([row for row in rows if row[0] == p], 4) for p in (1, 2, 3)]
    assert alone[0] != alone[1]
    assert kept(rows, 4) == dict(sum(map(Counter, alone), Counter()))
    assert kept(rows[::-1], 4) == kept(rows, 4) != kept(rows, 5)


KEYS = st.one_of(st.none(), st.sampled_from("abcdefgh"))
ROWS = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(1, 4)), KEYS, st.integers(0, 2)),
    max_size=60,
)


def check_one_person(rows, cap, make):
    """Votes add up over people: one person adds theirs and moves nobody else's."""
    names = ("p", "d")
    everyone = Counter(read(votes(make(rows), "u", names, cap=cap)))
    for person in {row[0] for row in rows} - {None}:
        mine = [row for row in rows if row[0] == person]
        rest = [row for row in rows if row[0] != person]
        own = read(votes(make(mine), "u", names, cap=cap))
        others = Counter(read(votes(make(rest), "u", names, cap=cap)))
        assert everyone == others + Counter(own)
        assert sum(v * v for v in own.values()) <= UNIT**2
        assert len(own) <= cap
        kept = min(cap, len({row[1:] for row in mine}))
        assert set(own.values()) <= {vote(kept)}


@pytest.fixture(scope="module")
def duckdb_tables():
    connection = ibis.duckdb.connect()

    def make(rows):
        return connection.create_table("h", pyarrow.table(arrow(rows)), overwrite=True)

    # Relations are read before the table is replaced.
    return make


@settings(max_examples=10, deadline=None)
@given(ROWS, st.integers(1, 6))
def test_one_person_moves_their_own_votes(duckdb_tables, rows, cap):
    check_one_person(rows, cap, duckdb_tables)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(ROWS, st.integers(1, 6))
def test_one_person_moves_their_own_votes_200(duckdb_tables, rows, cap):
    check_one_person(rows, cap, duckdb_tables)


@pytest.mark.slow_on("spark")
def test_equal_hashes_never_exceed_the_cap(engine, monkeypatch):
    # A hash that tells nothing apart: keys at the edge are dropped, not added.
    monkeypatch.setattr(
        module,
        "keyed_hash",
        lambda _, unit, *__: (unit.cast("int64") * 0).cast("int64"),
    )
    rows = [(1, f"k{i}", 0) for i in range(20)] + [(2, "k1", 0)]
    assert read(votes(engine.table(arrow(rows)), "u", ("p",), cap=5)) == {("k1",): UNIT}


def test_rows_without_a_unit_column_are_people(engine):
    table = engine.table(arrow(MIXED))
    found = read(votes(table, None, ("p",)))
    assert found == {
        key: UNIT * n for key, n in Counter((p,) for _, p, _ in MIXED).items()
    }
    assert sum(read(holders(table, None, ("p",)), "_people").values()) == len(MIXED)


@pytest.mark.slow_on("spark")
def test_holders_count_people(engine):
    rows = [(p, f"k{i}", 0) for p in range(6) for i in range(3) for _ in range(2)]
    table = engine.table(arrow(rows))
    assert read(holders(table, "u", ("p",), cap=3), "_people") == {
        (f"k{i}",): 6 for i in range(3)
    }
    assert sum(read(holders(table, "u", ("p",), cap=1), "_people").values()) == 6


def test_an_empty_table_has_no_keys(engine):
    assert read(votes(engine.table(arrow([])), "u", ("p",))) == {}


def test_the_float_formula_of_the_engine_is_exact():
    keys = np.arange(1, 100_001)
    in_floats = np.floor(float(UNIT) / np.sqrt(keys.astype(np.float64)))
    assert in_floats.astype(int).tolist() == [vote(int(k)) for k in keys]


@pytest.mark.parametrize(
    ("by", "cap"), [((), 5), (("p", "p"), 5), (("q",), 5), (("p",), 0), (("p",), 0.5)]
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(by, cap):
    table = ibis.table({"u": "int64", "p": "string"}, name="unread")
    with pytest.raises(InvalidArgument):
        votes(table, "u", by, cap=cap)


@pytest.mark.slow_on("spark")
def test_people_who_are_written_in_two_ways_are_one(engine):
    # Engines group 0.0 with -0.0, while their hashes differ: a person with two hashes
    # for each key kept more keys than the cap. NaN is nobody, as NULL is.
    people = [0.0] * 40 + [-0.0] * 40 + [float("nan")] * 40
    columns = {"u": pyarrow.array(people), "p": pyarrow.array([*range(40)] * 3)}
    table = engine.table(columns)
    data = hush.open(table, unit="u", budget=hush.Budget(epsilon=1))
    kept = fetch(kept_rows(data._table, "u", ("p",), cap=3)).to_pylist()
    assert len({row["p"] for row in kept}) == 3
    assert len(kept) == 6
    assert len(read(votes(data._table, "u", ("p",), cap=3))) == 3


@pytest.mark.parametrize("kind", ["decimal", "interval('s')", "json", "array<int64>"])
def test_people_of_types_without_one_way_to_write_are_refused(kind):
    table = ibis.table({"u": kind, "p": "int64"}, name="trips")
    with pytest.raises(Unsupported, match="written differently"):
        told_apart(table, ("u",))
