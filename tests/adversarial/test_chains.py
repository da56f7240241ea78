"""Attempts through chains of steps: joins, people, columns and conditions in odd order.

Two tables that differ by one person, or by one person's rows, are asked the same; what
mechanisms are told must differ by no more than they declare, whatever came before.
"""

import datetime
import random
from fractions import Fraction

import polars as pl
import pyarrow as pa
import pytest

import hush
from hush.audit import assert_replays, distance
from hush.audit.metric import NONE, Distance
from hush.noise import Seeded
from hush.tables.bounding import contribution_bounds
from hush.tables.groups.private_keys import Naming
from hush.units import Neighbors

PUBLIC = pa.table({"g": ["a", "b", "c", None], "size": [1.0, 2.0, 3.0, 4.0]})
DAYS = [datetime.date(2026, 1, day) for day in (1, 2, 31)]


@distance.register(Naming)
def _votes(mechanism, first, second):
    """Return 1 where one person, or two that replace each other, explain all votes."""
    a, b = (dict(zip(x.keys, map(int, x.votes), strict=True)) for x in (first, second))
    moved = [each for key in a | b if (each := a.get(key, 0) - b.get(key, 0))]
    people = 1 if mechanism.selection.neighbors is Neighbors.ADD_REMOVE else 2
    few = len(moved) <= people * mechanism.selection.keys_per_person
    near = sum(each**2 for each in moved) <= people * contribution_bounds.UNIT**2
    return Distance(Fraction(1)) if few and near else NONE


def rows_of(person, pick):
    """Return somebody's rows: few or many, with values of every odd kind."""
    return [
        {
            "who": person,
            "g": pick.choice(["a", "b", "c", None, "A"]),
            "x": pick.choice([0.0, -0.0, 5.0, 1e300, float("nan"), None, -3.5]),
            "n": pick.choice([0, 7, -(2**63), 2**63 - 1, None]),
            "d": pick.choice([*DAYS, None]),
        }
        for _ in range(pick.choice([1, 2, 9]))
    ]


SCHEMA = {
    "who": pl.Int64,
    "g": pl.String,
    "x": pl.Float64,
    "n": pl.Int64,
    "d": pl.Date,
}


def opened(rows, engine, neighbors, **more):
    frame = pl.DataFrame(rows, schema=SCHEMA)
    budget = hush.Budget(epsilon=10**6, delta=1e-2)
    ledger = hush.Ledger.open("memory://", budget=budget, rehearsal=True)
    return hush.open(
        frame.lazy() if engine == "polars" else frame,
        unit="who",
        rows=3,
        ledger=ledger,
        neighbors=neighbors,
        name="people",
        **more,
    )


def joined_then_added_up(data):
    people = data.join(PUBLIC, on="g").per_person(s="SUM(CLAMP(size, 0, 3))")
    return people.where("s > 1").agg(
        n=hush.count(), m=hush.mean("s", bounds=(0, 9)), v=hush.variance("s", (0, 9))
    )


def added_up_then_joined(data):
    people = data.per_person("g", most="MAX(x)", n="COUNT(*)")
    wide = people.join(PUBLIC, on="g", how="left", rows=2)
    return wide.group_by("g", keys=["a", "b", None]).agg(
        n=hush.sum("n", bounds=(0, 4)), m=hush.median("most", bounds=(-5, 5))
    )


def added_up_twice(data):
    people = data.per_person("g", "d", n="COUNT(*)")
    return people.per_person(rows="COUNT(*)", most="MAX(n)").agg(
        r=hush.sum("rows", bounds=(0, 5)), q=hush.quantiles("most", [0.5], (0, 9))
    )


def replaced_then_grouped(data):
    other = data.select(g="CASE WHEN x > 0 THEN 'a' ELSE g END", replacing=["g"])
    return (
        other.where("n <> 7 OR n IS NULL")
        .group_by("g", "d", keys=[("a", DAYS[0]), (None, None), ("b", DAYS[2])])
        .agg(n=hush.count(), s=hush.sum("x", bounds=(-2, 2)))
    )


def found_in_chains(data):
    people = data.select(month="MONTH(d)").per_person("month", "g", n="COUNT(*)")
    return people.group_by("month", "g", keys="private", most=2).agg(
        n=hush.sum("n", bounds=(0, 3)), d=hush.count_distinct("g")
    )


def counted_apart(data):
    return data.where("x IS NOT NULL").agg(
        d=hush.count_distinct("g"),
        e=hush.count_distinct("d"),
        h=hush.histogram("n", edges=[-1, 0, 1, 8]),
        low=hush.min("x", bounds=(-4, 4)),
    )


CHAINS = [
    joined_then_added_up,
    added_up_then_joined,
    added_up_twice,
    replaced_then_grouped,
    found_in_chains,
    counted_apart,
]


def neighbors_of(relation, pick):
    people = {person: rows_of(person, pick) for person in range(4)}
    people[None] = rows_of(None, pick)  # rows without a unit are nobody's, in both
    full = [row for rows in people.values() for row in rows]
    rest = [row for person, rows in people.items() if person != 2 for row in rows]
    if relation == "add-remove":
        return full, rest
    return full, rest + rows_of(2, pick)


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    "groups",
    [None, pytest.param(1, marks=pytest.mark.slow)],
    ids=["weighed", "sampled"],
)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("chain", CHAINS, ids=lambda each: each.__name__)
def test_chains_tell_mechanisms_no_more_than_they_declare(
    chain, engine, relation, groups
):
    def run(rows):
        data = opened(rows, engine, relation, groups=groups)
        found = chain(data).release(40, 1e-3, source=Seeded(1))
        return {name: len(values) for name, values in found.to_dict().items()}

    assert_replays(run, *neighbors_of(relation, random.Random(chain.__name__)))


def test_the_replay_notices_a_chain_that_forgets_to_bound(monkeypatch):
    monkeypatch.setattr(
        contribution_bounds,
        "row_weight",
        lambda held, _: held * 0 + contribution_bounds.UNIT,
    )
    monkeypatch.setattr(
        contribution_bounds,
        "row_weights",
        lambda held, _: held * 0 + contribution_bounds.UNIT,
    )
    many = [dict(who=1, g="a", x=1.0, n=1, d=None)] * 50

    def run(rows):
        data = opened(rows, "duckdb", "add-remove")
        return data.agg(n=hush.count()).release(4, source=Seeded(1)).to_dict()

    with pytest.raises(AssertionError):
        assert_replays(run, many, [])
