"""The roll has the votes and counts of relations, however its words are laid out."""

from collections import Counter

import ibis
import numpy as np
import pyarrow
import pytest

import hush
from hush.tables.bounding import packing
from hush.tables.bounding.packing import mixed_words
from hush.tables.bounding.relations import Sums
from hush.tables.engines.engine import fetch
from hush.tables.groups import private_keys
from hush.tables.groups.private_keys import PackedVotes, VotesWithSums
from hush.tables.queries.table_query import CompiledQuery

pytestmark = pytest.mark.usefixtures("one_text")
FAR = 2**63 - 1


def people(seed, *, scale=1, shift=0):
    """Rows of whole numbers, NULL among people and keys."""
    generator = np.random.default_rng(seed)
    count = 500
    who = generator.integers(0, 40, count) ** 2 // 40
    key = generator.integers(0, 12, count)
    day = generator.integers(-2, 2, count)

    def holes(values, kind):
        gone = generator.random(count) < 0.05
        return pyarrow.array(values, kind, mask=gone)

    return pyarrow.table(
        {
            "who": holes(who, pyarrow.int32()),
            "k": holes(key * scale + shift, pyarrow.int64()),
            "d": holes(day, pyarrow.int8()),
            "x": generator.normal(size=count),
        }
    )


def asked(table, by=("k", "d"), most=100, *, cut=False, **more):
    data = hush.open(
        table, unit="who", rows=3, budget=hush.Budget(epsilon=9, delta=0.1)
    )
    query = data.group_by(*by, keys="private", most=most).agg(n=hush.count(), **more)
    # As if counts were rounded, or not.
    query.__dict__["compiled"] = CompiledQuery.of(query, cut=cut)
    return query


def read(query, readings=None):
    """Votes and weighted rows by key."""
    found = query.compiled.result(readings or query.compiled.relations)
    ballots = query.groups.parts(query.compiled.limit)[0].exact(found, ())
    votes = dict(zip(ballots.keys, np.asarray(ballots.votes).tolist(), strict=True))
    sums = found[Sums(query.compiled.terms)]
    return votes, {key: int(row["_n"]) for key, row in sums.items() if row["_n"]}


CUT = pytest.mark.parametrize("cut", [True, False], ids=["cut", "whole"])


@CUT
def test_it_is_the_poll_where_nobody_has_too_many_keys(cut):
    query = asked(people(1), cut=cut)
    (own,) = query.compiled.relations
    assert isinstance(own, PackedVotes)
    votes, rows = read(query)
    assert (votes, rows) == read(query, (VotesWithSums(own.ballot, own.sums, cut),))
    assert any(None in key for key in votes)
    assert len(votes) > 30
    assert all(isinstance(part, int) for key in votes for part in key if part)


def test_one_key_per_person_counts_people():
    query = asked(people(2), ("d",), most=1)
    votes, _ = read(query)
    everyone = set(people(2)["who"].to_pylist()) - {None}
    assert sum(votes.values()) == len(everyone)


LAYOUTS = {
    "ranked": lambda patch: patch.setattr(packing, "_BITS", 0),
    "scattered": lambda patch: patch.setattr(packing, "_FEW", -(10**9)),
    "parts": lambda patch: patch.setattr(private_keys, "_PART", 100),
    "ranked parts": lambda patch: (
        patch.setattr(packing, "_BITS", 0),
        patch.setattr(private_keys, "_PART", 30),
    ),
}


@pytest.mark.thin(5)
@pytest.mark.parametrize("how", LAYOUTS)
@pytest.mark.parametrize("most", [1, 3, 100])
@CUT
def test_every_layout_gives_the_same(monkeypatch, how, most, cut):
    # Keys are cut by a hash of values, so codes and parts do not matter.
    table = people(3, scale=1000, shift=-7)
    packed = read(asked(table, most=most, cut=cut))
    LAYOUTS[how](monkeypatch)
    assert read(asked(table, most=most, cut=cut)) == packed
    turned = table.take(np.random.default_rng(0).permutation(len(table)))
    assert read(asked(turned, most=most, cut=cut)) == packed


def test_the_layouts_are_those_that_are_meant(monkeypatch):
    table = ibis.duckdb.connect().create_table("t", people(1))
    table = table.rename({"_unit": "who"})
    table = table.filter(table["_unit"].notnull())
    rows, found = private_keys._layout(table, ("k", "d"))
    assert (rows, type(found)) == (fetch(table).num_rows, packing.Packed)
    monkeypatch.setattr(packing, "_BITS", 0)
    assert type(private_keys._layout(table, ("k", "d"))[1]) is packing.Ranked


@pytest.mark.thin(5)
@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("far", [False, True], ids=["near", "far"])
@CUT
def test_a_person_moves_their_own_part(most, cut, far):
    # HAZARDS S8, S9; "far" leaves no room in a word once some people are gone.
    table = people(4)
    who = table["who"].to_pylist()
    if far:
        ends = {0: FAR, 1: -FAR - 1}
        who = [ends.get(person, person) for person in who]
        keys = [
            None if k is None else (k - 5) * (FAR // 8) for k in table["k"].to_pylist()
        ]
        table = pyarrow.table(
            {
                "who": pyarrow.array(who, pyarrow.int64()),
                "k": pyarrow.array(keys, pyarrow.int64()),
            }
        )

    def of(keep):
        mask = pyarrow.array([keep(person) for person in who])
        query = asked(table.filter(mask), ("k",), most, cut=cut)
        return [Counter(each) for each in read(query)]

    everyone = of(lambda _: True)
    for person in (*sorted(set(who) - {None})[:3], None):
        rest = of(lambda p, person=person: p != person)
        own = of(lambda p, person=person: p == person)
        for all_of_them, mine, others in zip(everyone, own, rest, strict=True):
            assert all_of_them == mine + others
        assert sum(v * v for v in own[0].values()) <= (1 if most == 1 else 2**40)
        assert len(own[0]) <= most
        assert sum(own[1].values()) <= 3 * 2**20
        assert person is not None or not own[0]


def test_sums_are_read_by_their_own_relation_and_are_those_of_a_poll():
    table = people(5)
    query = asked(table, ("k",), x=hush.sum("x", bounds=(-1, 1)))
    own, sums = query.compiled.relations
    assert isinstance(own, PackedVotes)
    poll = (VotesWithSums(own.ballot, sums, cut=False),)
    assert read(query) == read(query, poll)
    one, two = (query.compiled.result(each) for each in ((), poll))
    keys = tuple(read(query)[0])
    for part in query.compiled.parts:
        assert part.exact(one, keys).tolist() == part.exact(two, keys).tolist()
    # Rounded sums leave out what is not kept, so one relation decides on both.
    assert isinstance(
        asked(table, ("k",), 2, cut=True, x=query.aggregates["x"]).compiled.relations[
            0
        ],
        VotesWithSums,
    )


@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows(rows):
    table = people(6).filter(pyarrow.array([False] * 499 + [True])).slice(0, rows)
    votes, weights = read(asked(table))
    assert len(votes) == len(weights) == rows


def test_only_null_is_a_key_too():
    table = pyarrow.table({"who": [1, 2], "k": pyarrow.array([None, None], "int16")})
    assert read(asked(table, ("k",)))[0] == {(None,): 2 << 20}


def test_rows_that_came_later_are_left_out():
    # Ranges are read first. A table that changes meanwhile must not mix people up.
    found = packing.Packed(packing.Range("_unit", 1, 2), (packing.Range("k", 0, 3),))
    rows = [(1, 0), (2, 3), (3, 1), (0, 1), (1, 4), (1, -1), (2, None)]
    who, key = zip(*rows, strict=True)
    table = ibis.duckdb.connect().create_table(
        "t", pyarrow.table({"_unit": who, "k": pyarrow.array(key, "int64")})
    )
    words, decoded = found.read(table)
    people = {1, 2}
    assert {int(each) >> words.bits for each in words.rows} == people
    codes = np.unique(words.rows & ((1 << words.bits) - 1))
    (column,) = decoded(codes)
    assert column.null.tolist() == [True, False, False]
    assert column.values.tolist() == [0, 0, 3]


def test_types_and_engines_decide():
    connection = ibis.duckdb.connect()
    table = connection.create_table(
        "t", schema={"u": "int64", "s": "string", "b": "uint64", "i": "int8"}
    )
    assert private_keys.can_be_packed(table, "u", ("i",))
    assert not private_keys.can_be_packed(table, None, ("i",))
    for unit, by in (("s", ("i",)), ("u", ("s",)), ("u", ("i", "b")), ("b", ("i",))):
        assert not private_keys.can_be_packed(table, unit, by)
    other = ibis.polars.connect().create_table("t", pyarrow.table({"u": [1], "i": [1]}))
    assert not private_keys.can_be_packed(other, "u", ("i",))


def test_texts_are_asked_of_the_engine():
    table = people(7).append_column("s", pyarrow.array(["a"] * 500))
    assert {type(each) for each in asked(table, ("s",)).compiled.relations} == {
        VotesWithSums
    }


def test_a_plan_says_where_rows_are_counted():
    query = asked(people(8), ("k",))
    assert PackedVotes.note in query.explain()
    assert "_unit" in query.sql_text()


def test_ranks_are_a_code_of_different_rows():
    generator = np.random.default_rng(9)
    columns = tuple(
        packing.Column(generator.integers(0, 5, 200), generator.random(200) < 0.2)
        for _ in range(3)
    )
    code, listed = packing.rank_codes(columns)
    for each, one in zip(columns, listed, strict=True):
        assert np.array_equal(one[code].values, each.values)
        assert np.array_equal(one[code].null, each.null)
    assert sorted(set(code.tolist())) == list(range(len(listed[0].values)))


def test_a_hash_sees_null_and_order():
    one = packing.Column(np.array([0, 0]), np.array([True, False]))
    assert len(set(one.hash_input.tolist())) == 2
    a, b = np.array([1], np.uint64), np.array([2], np.uint64)
    assert mixed_words(a, b) != mixed_words(b, a)
