"""Keys found in the data: enough people, a public order, at most δ for one alone."""

import datetime
import math

import numpy as np
import pyarrow
import pytest

import hush
from hush.errors import InvalidArgument
from hush.tables.engines.engine import fetch


def table(people=300):
    who, key, x = [], [], []
    for person in range(people):
        for k in ("common", "often" if person % 2 else "common", f"own {person}"):
            who.append(person)
            key.append(k)
            x.append(float(person % 7))
    return {"who": who, "k": key, "x": x}


def opened(given, **more):
    budget = hush.Budget(epsilon=1000, delta=0.1)
    return hush.open(given, **{"unit": "who", "rows": 3, "budget": budget, **more})


@pytest.mark.thin(3)
def test_common_keys_are_named_and_lonely_ones_are_not(engine):
    # At ε = 2, δ = 1e-6: 300 lonely keys appear with chance at most 3e-4 in all.
    columns = {name: pyarrow.array(values) for name, values in table().items()}
    data = opened(engine.table(columns))
    query = data.group_by("k", keys="private").agg(
        n=hush.count(), x=hush.mean("x", bounds=(0, 7)), m=hush.median("x", (0, 7))
    )
    answer = query.release(epsilon=8, delta=1e-6)
    assert answer.keys == (("common",), ("often",))
    assert answer.to_pandas()["k"].tolist() == ["common", "often"]
    assert abs(answer.values["n"][1] - 150) < 60
    assert np.isfinite(answer.values["x"]).all()
    assert answer.receipt.keys == "private"


def test_the_order_of_keys_is_public_whatever_the_rows():
    # HAZARDS S7.
    columns = table()
    turned = {name: values[::-1] for name, values in columns.items()}
    for given in (columns, turned):
        data = opened(pyarrow.table(given))
        query = data.group_by("k", keys="private").agg(n=hush.count())
        assert query.release(8, 1e-6).keys == (("common",), ("often",))


def test_a_person_is_in_no_more_groups_than_they_may(engine):
    # HAZARDS S8: 40 keys of one person, a cap of 5; the others are as they were.
    rows = [(1, f"k{i}", 1.0) for i in range(40)] + [(2, "k1", 1.0), (3, "k2", 1.0)]
    who, key, x = map(list, zip(*rows, strict=True))
    data = opened(engine.table({"who": who, "k": key, "x": x}), rows=100)
    query = data.group_by("k", keys="private", most=5).agg(
        n=hush.count(), s=hush.sum("x", bounds=(0, 1))
    )
    kept = fetch(query.compiled.rows.table).to_pylist()
    mine = {row["k"] for row in kept if row["who"] == 1}
    assert len(mine) == 5
    assert [row["k"] for row in kept if row["who"] == 2] == ["k1"]
    assert set(query.compiled.rows.table.columns) == {"who", "k", "x"}
    ballots = query.groups.parts(query.compiled.limit)[0].exact(
        query.compiled.result(), ()
    )
    voted = {
        key for key, votes in zip(ballots.keys, ballots.votes, strict=True) if votes
    }
    assert {(k,) for k in mine} <= voted


def test_one_person_one_key_uses_the_optimal_rule():
    data = hush.open(
        pyarrow.table({"k": ["a"] * 60 + ["b"]}),
        budget=hush.Budget(epsilon=9, delta=1e-3),
    )
    query = data.group_by("k", keys="private").agg(n=hush.count())
    assert "OptimalKeySelection" in repr(query.mechanisms(1, 1e-6)[0])
    assert query.release(4, 1e-6).keys == (("a",),)


@pytest.mark.statistical
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_a_lonely_key_appears_with_chance_at_most_delta(neighbors):
    # HAZARDS N8 end to end: 10^5 lonely keys at δ = 1e-3 of people with two keys each;
    # a rate above δ by 6 standard deviations has a chance below 1e-9.
    people = 50_000
    who = np.repeat(np.arange(people), 2)
    data = opened(
        pyarrow.table({"who": who, "k": np.arange(2 * people)}), neighbors=neighbors
    )
    query = data.group_by("k", keys="private", most=2).agg(n=hush.count())
    delta = 1e-3
    found = len(query.release(2, delta).keys)
    # Of either key of one person at most δ: so at most δ·people keys in expectation.
    assert found <= delta * people + 6 * math.sqrt(2 * delta * people)
    # And the threshold is not idle: keys do appear.
    assert neighbors == "replace-one" or found > 0


def test_dates_numbers_and_null_are_keys_and_survive_the_ledger():
    days = [datetime.date(2026, 1, 1), None] * 200
    data = hush.open(
        pyarrow.table({"d": pyarrow.array(days, pyarrow.date32()), "n": [1, 2] * 200}),
        budget=hush.Budget(epsilon=20, delta=1e-3),
    )
    query = data.group_by("d", "n", keys="private").agg(c=hush.count())
    answer = query.release(8, 1e-5, key="once")
    again = query.release(8, 1e-5, key="once")
    assert answer.keys == again.keys == ((datetime.date(2026, 1, 1), 1), (None, 2))


def test_nothing_found_is_an_answer():
    data = hush.open(
        pyarrow.table({"k": ["a", "b"]}), budget=hush.Budget(epsilon=9, delta=1e-3)
    )
    query = data.group_by("k", keys="private").agg(
        n=hush.count(), many=hush.histogram("k", values=["a", "b"])
    )
    answer = query.release(0.5, 1e-9)
    assert answer.keys == ()
    assert len(answer.to_pandas()) == 0


def test_private_keys_need_a_delta():
    data = opened(pyarrow.table(table()))
    query = data.group_by("k", keys="private").agg(n=hush.count())
    with pytest.raises(InvalidArgument, match="delta"):
        query.release(1)
    with pytest.raises(InvalidArgument, match="keys"):
        data.group_by("k", keys="all")
    with pytest.raises(InvalidArgument, match="most"):
        data.group_by("k", keys="private", most=0)


def test_zero_is_written_one_way_and_nan_is_no_key(engine):
    # Engines group 0.0 with -0.0 and show the one they met first: a bit of the data.
    for first, second in ((0.0, -0.0), (-0.0, 0.0)):
        values = [first, second, math.nan] * 100
        columns = {"who": list(range(300)), "k": values, "x": values}
        query = opened(engine.table(columns)).group_by("k", keys="private")
        answer = query.agg(n=hush.count()).release(8, 1e-6)
        assert [str(key) for (key,) in answer.keys] == ["0.0", "None"]
        # Noise of scale 3/4 is beyond 40 with chance e^-50.
        assert np.abs(answer.values["n"] - [200, 100]).max() < 40


def test_group_by_says_what_it_needs():
    with pytest.raises(InvalidArgument, match='keys="private"'):
        opened(pyarrow.table(table())).group_by("k")
