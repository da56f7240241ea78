"""One relation for votes and sums has the integers of two separate ones."""

from collections import Counter

import numpy as np
import pyarrow
import pytest

import hush
from hush.tables.bounding.relations import Sums
from hush.tables.groups.private_keys import Ballot, VotesWithSums
from hush.tables.queries.table_query import CompiledQuery

pytestmark = pytest.mark.usefixtures("one_text")


def rows(seed):
    """People with few and many keys, equal rows, NULL in every column."""
    generator = np.random.default_rng(seed)
    count = 600
    who = generator.integers(0, 40, count) ** 2 // 40
    key = generator.integers(0, 12, count)
    x = np.round(generator.normal(3, 5, count), 2)

    def holes(values, rate):
        gone = generator.random(count) < rate
        return [
            None if g else v
            for g, v in zip(gone, np.asarray(values).tolist(), strict=1)
        ]

    return {
        "who": pyarrow.array(holes(who, 0.05), pyarrow.int64()),
        "k": pyarrow.array(holes([f"k{i}" for i in key], 0.05), pyarrow.string()),
        "d": pyarrow.array(holes(key % 3, 0.05), pyarrow.int64()),
        "x": pyarrow.array(holes(x, 0.1), pyarrow.float64()),
    }


def asked(table, by, most, *, cut):
    data = hush.open(
        table, unit="who", rows=3, budget=hush.Budget(epsilon=9, delta=0.1)
    )
    query = data.group_by(*by, keys="private", most=most).agg(
        n=hush.count(),
        s=hush.sum("x", bounds=(-1e6, 7.5)),
        v=hush.variance("x", bounds=(0, 9)),
    )
    assert query.compiled.cut
    query.__dict__["compiled"] = CompiledQuery.of(query, cut=cut)  # rounded or not
    return query


def read(query, readings):
    """Votes, and the exact input of every part, by key."""
    found = query.compiled.result(readings)
    ballots = query.groups.parts(query.compiled.limit)[0].exact(found, ())
    votes = dict(zip(ballots.keys, np.asarray(ballots.votes).tolist(), strict=True))
    keys = tuple(sorted(votes, key=repr))
    sums = [part.exact(found, keys).tolist() for part in query.compiled.parts]
    return votes, sums


def separate(query):
    (poll,) = query.compiled.relations
    assert isinstance(poll, VotesWithSums)
    return (poll.ballot, poll.sums)


CUT = pytest.mark.parametrize("cut", [True, False], ids=["cut", "whole"])


@pytest.mark.slow_on("spark")
@pytest.mark.thin(4)
@pytest.mark.parametrize("most", [1, 2, 4, 100])
@CUT
def test_one_relation_is_two(engine, most, cut):
    query = asked(engine.table(rows(most)), ("k", "d"), most, cut=cut)
    if engine.name not in ("duckdb", "postgres"):
        # 64-bit sums of everything a person holds could overflow there.
        assert {type(each) for each in query.compiled.relations} == {Ballot, Sums}
        return
    # Rounded sums leave the keys out that a person drops.
    assert cut == (query.compiled.rows.table is not query.compiled.rows.whole)
    votes, sums = read(query, query.compiled.relations)
    assert (votes, sums) == read(query, separate(query))
    assert len(votes) > 5
    assert all(votes.values())


@CUT
def test_a_person_moves_their_own_part_of_it(cut):
    columns = rows(9)
    people = columns["who"].to_pylist()
    table = pyarrow.table(columns)

    def ballots(keep):
        mask = pyarrow.array([keep(person) for person in people])
        query = asked(table.filter(mask), ("k",), 3, cut=cut)
        return Counter(read(query, query.compiled.relations)[0])

    everyone = ballots(lambda _: True)
    for person in (0, 3, 36):
        rest = ballots(lambda p, person=person: p != person)
        own = ballots(lambda p, person=person: p == person)
        assert everyone == rest + own
        assert sum(v * v for v in own.values()) <= 2**40
        assert len(own) <= 3


def test_a_query_with_found_keys_reads_once(monkeypatch):
    from hush.tables.engines import engine as door

    calls = []
    run = door._run
    monkeypatch.setattr(door, "_run", lambda each: calls.append(1) or run(each))
    query = asked(pyarrow.table(rows(2)), ("k",), 4, cut=True)
    query.release(5, 1e-3)
    assert len(calls) == 1
