"""Literal caps hold, sample fairly, and leave everybody else alone (S4, S8, S9)."""

import itertools
from collections import Counter

import ibis
import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goodness import FALSE_ALARM, p_value
from hush.errors import InvalidArgument
from hush.tables.bounding import contribution_caps
from hush.tables.bounding import contribution_caps as module
from hush.tables.bounding.contribution_bounds import UNIT
from hush.tables.bounding.contribution_caps import (
    Caps,
    Field,
    capped_rows,
    nth_of_sorted,
)
from hush.tables.engines.engine import fetch

pytestmark = pytest.mark.usefixtures("one_text")
BITS = (3, 5)


def arrow(rows):
    people, groups, values = zip(*rows, strict=True) if rows else ((), (), ())
    return {
        "u": pyarrow.array(people, pyarrow.int64()),
        "g": pyarrow.array(groups, pyarrow.int64()),
        "x": pyarrow.array(values, pyarrow.int64()),
    }


def fields(table, *, wide=0):
    extra = [Field("z", table["x"] * 0, wide)] if wide else []
    return [Field("g", table["g"], BITS[0]), Field("x", table["x"], BITS[1]), *extra]


def kept(table, caps, *, wide=0, **options):
    """What is kept as {(group, value): weight}, rows of one kind added up."""
    group = None if caps.groups is None else "g"
    relation = capped_rows(
        table, "u", fields(table, wide=wide), caps, group=group, **options
    )
    found = Counter()
    for row in fetch(relation).to_pylist():
        found[row["g"], row["x"]] += row["_w"]
    return found


WIDTHS = {"packed": 0, "sealed": 62 - sum(BITS), "wide": 62}
WIDE = pytest.mark.parametrize("wide", WIDTHS.values(), ids=WIDTHS)


def holds(found, caps, own):
    """Whether what is kept of one person's rows respects the caps and their rows."""
    assert sum(found.values()) <= caps.rows * UNIT
    assert caps.groups is None or len({g for g, _ in found}) <= caps.groups
    have = Counter((g, x) for _, g, x in own)
    assert all(weight <= have[key] * UNIT for key, weight in found.items())
    if len(own) <= caps.rows and caps.groups is None:
        assert found == Counter({key: n * UNIT for key, n in have.items()})
    if caps.groups is None:
        # Only rounding is lost when equal rows share the last place.
        assert sum(found.values()) >= min(len(own), caps.rows) * UNIT - len(own)


@pytest.mark.slow_on("spark")
@pytest.mark.thin(5)
@WIDE
@pytest.mark.parametrize(
    "caps", [Caps(5, 3), Caps(5), Caps(1, 1), Caps(3, 5), Caps(20, 2)], ids=str
)
def test_caps_hold_for_every_person(engine, caps, wide):
    # HAZARDS S8: a person with 10^4 rows, one with equal rows only, small ones, nobody.
    people = {
        1: [(1, i % 8, i % 32) for i in range(10_000)],
        2: [(2, 3, 9)] * 50,
        3: [(3, 1, 1), (3, 1, 1), (3, 2, 5)],
        4: [(4, i, 0) for i in range(8)],
    }
    rows = [row for own in people.values() for row in own] + [(None, 1, 1)] * 9
    everyone = kept(engine.table(arrow(rows)), caps, wide=wide)
    total = Counter()
    for own in people.values():
        alone = kept(engine.table(arrow(own)), caps, wide=wide)
        holds(alone, caps, own)
        total += alone
    # Nobody's rows depend on anybody else's (S9), nor on their order.
    assert everyone == total
    assert kept(engine.table(arrow(rows[::-1])), caps, wide=wide) == everyone


@pytest.mark.thin(3)
@pytest.mark.parametrize("caps", [Caps(5, 3), Caps(5), Caps(2, 1), Caps(8, 4)], ids=str)
def test_duckdb_keeps_the_same_rows_by_both_forms(caps, monkeypatch):
    generator = np.random.default_rng(3)
    rows = [
        (int(u), int(g), int(x))
        for u, g, x in zip(
            np.sort(generator.integers(0, 300, 4000) ** 2 // 300),
            generator.integers(0, 8, 4000),
            generator.integers(0, 6, 4000),  # many equal rows
            strict=True,
        )
    ]
    table = ibis.duckdb.connect().create_table("t", pyarrow.table(arrow(rows)))
    fast, wide = kept(table, caps, salt=5), kept(table, caps, salt=5, wide=62)
    monkeypatch.setattr(
        module, "_by_places", lambda *given: module._by_lists(*given[:4])
    )
    monkeypatch.setattr(module, "nth_smallest", nth_of_sorted)
    assert kept(table, caps, salt=5) == fast
    assert kept(table, caps, salt=5, wide=62) == wide
    assert kept(table, caps, salt=6) != fast


ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(1, 3)), st.integers(0, 5), st.integers(0, 2)
    ),
    max_size=50,
)
SOME = st.builds(Caps, st.integers(1, 9), st.one_of(st.none(), st.integers(1, 4)))


@pytest.fixture(scope="module")
def make():
    connection = ibis.duckdb.connect()
    return lambda rows: connection.create_table(
        "h", pyarrow.table(arrow(rows)), overwrite=True
    )


def check_one_person(make, rows, caps, wide):
    everyone = kept(make(rows), caps, wide=wide)
    for person in {row[0] for row in rows} - {None}:
        own = [row for row in rows if row[0] == person]
        rest = [row for row in rows if row[0] != person]
        alone = kept(make(own), caps, wide=wide)
        holds(alone, caps, own)
        assert everyone == kept(make(rest), caps, wide=wide) + alone


@settings(max_examples=8, deadline=None)
@given(rows=ROWS, caps=SOME, wide=st.sampled_from([*WIDTHS.values()]))
def test_one_person_moves_their_own_rows(make, rows, caps, wide):
    check_one_person(make, rows, caps, wide)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(rows=ROWS, caps=SOME, wide=st.sampled_from([*WIDTHS.values()]))
def test_one_person_moves_their_own_rows_200(make, rows, caps, wide):
    check_one_person(make, rows, caps, wide)


@pytest.mark.thin(5)
@WIDE
@pytest.mark.parametrize("caps", [Caps(5, 3), Caps(5), Caps(3, 5), Caps(2, 8)], ids=str)
def test_hashes_that_tell_nothing_apart_never_exceed_the_caps(
    engine, monkeypatch, caps, wide
):
    def nothing(_, *values):
        return (values[0].cast("int64") * 0).cast("int64")

    monkeypatch.setattr(module, "keyed_hash", nothing)
    for each in (module, contribution_caps):
        monkeypatch.setattr(each, "hash_of", lambda value: nothing(0, value))
    own = [(1, i % 8, i % 32) for i in range(40)]
    found = kept(engine.table(arrow(own)), caps, wide=wide)
    holds(found, caps, own)
    if caps.groups is not None:
        assert len({g for g, _ in found}) <= caps.cells()


@pytest.mark.statistical
@WIDE
def test_rows_are_sampled_fairly(make, wide):
    # 3 000 people with the same eight rows: each row is kept 3/8 of the time.
    rows = [(p, i, 7 * i % 32) for p in range(3000) for i in range(8)]
    found = kept(make(rows), Caps(3), wide=wide)
    counts = np.array([found[i, 7 * i % 32] / UNIT for i in range(8)])
    assert counts.sum() == 9000
    # Drawing without replacement varies less than a multinomial: the test is safe.
    assert p_value(counts, np.full(8, 9000 / 8)) > FALSE_ALARM
    grouped = kept(make(rows), Caps(3, 2), wide=wide)
    counts = np.array([grouped[i, 7 * i % 32] / UNIT for i in range(8)])
    assert counts.sum() == 6000
    assert p_value(counts, np.full(8, 6000 / 8)) > FALSE_ALARM


def test_columns_that_tell_rows_apart_spread_the_sample(make):
    # Fifty rows of one kind and fifty of another, told apart by their values only.
    rows = [(p, i % 2, i % 32) for p in range(40) for i in range(64)]
    table = make(rows)
    relation = capped_rows(
        table, "u", [Field("g", table["g"], 3)], Caps(4), tell=("x",), salt=1
    )
    found = Counter(row["g"] for row in fetch(relation).to_pylist())
    assert sum(found.values()) >= 40 * 4
    assert min(found.values()) > 40


VALUES = (-2, 0, 3)


def contributions(caps):
    """All sums over two groups that one person's kept rows can make."""
    cells = list(itertools.product((0, 1), VALUES))
    for size in range(caps.rows + 1):
        for chosen in itertools.combinations_with_replacement(cells, size):
            groups = {g for g, _ in chosen}
            if caps.groups is None or len(groups) <= caps.groups:
                sums = [sum(v for g, v in chosen if g == each) for each in (0, 1)]
                yield np.array(sums)


@pytest.mark.parametrize("caps", [Caps(1), Caps(3), Caps(3, 1), Caps(2, 2)], ids=str)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_declared_distances_are_the_largest(caps, relation):
    # HAZARDS S4: every multiset of rows within the caps, and every exchange of two.
    found = list({tuple(each) for each in contributions(caps)})
    vectors = [np.array(each) for each in found]
    pairs = (
        [(v, np.zeros(2)) for v in vectors]
        if relation == "add-remove"
        else itertools.combinations(vectors, 2)
    )
    moves = [a - b for a, b in pairs]
    low, high = min(VALUES), max(VALUES)
    norm1 = max(np.abs(m).sum() for m in moves)
    norm2 = max(np.sqrt((m**2).sum()) for m in moves)
    assert norm1 <= caps.norm1(low, high, relation)
    assert norm2 <= caps.norm2(low, high, relation) < norm2 + 1
    assert max(np.count_nonzero(m) for m in moves) <= caps.cells(relation)
    if relation == "add-remove":
        assert norm1 == caps.norm1(low, high, relation)


@pytest.mark.thin(2)
@pytest.mark.parametrize("caps", [Caps(2, 1), Caps(3)], ids=str)
def test_exhaustive_removals_from_tiny_tables(make, caps):
    # HAZARDS S4, through the engine: all small people beside one who stays.
    cells = list(itertools.product((0, 1), (0, 7)))
    stay = [(1, 0, 7), (1, 1, 7), (1, 1, 7), (1, 1, 0)]
    base = kept(make(stay), caps)
    largest = 0
    for size in (1, 2, 4):
        for chosen in itertools.combinations_with_replacement(cells, size):
            mine = [(9, g, x) for g, x in chosen]
            moved = kept(make([*stay, *mine]), caps)
            moved.subtract(base)
            assert all(weight >= 0 for weight in moved.values())
            largest = max(largest, sum(x * w for (_, x), w in moved.items()))
            assert len({g for (g, _), w in moved.items() if w}) <= caps.cells()
    assert largest == caps.norm1(0, 7) * UNIT


def test_what_makes_no_sense_is_refused_before_anything_is_read():
    table = ibis.table({"u": "int64", "g": "int64"}, name="unread")
    one = Field("g", table["g"], 3)
    for bad in (
        lambda: Caps(0),
        lambda: Caps(3, 0),
        lambda: capped_rows(table, "u", [], Caps(3)),
        lambda: capped_rows(table, "u", [one, one], Caps(3)),
        lambda: capped_rows(table, "u", [one], Caps(3, 2)),
        lambda: capped_rows(table, "u", [one], Caps(3, 2), group="x"),
        lambda: capped_rows(table, "v", [one], Caps(3)),
        lambda: capped_rows(table, "u", [one], Caps(3), tell=("x",)),
        lambda: capped_rows(table, "u", [Field("g", table["g"], 63)], Caps(3)),
    ):
        with pytest.raises(InvalidArgument):
            bad()
