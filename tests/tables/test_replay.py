"""Two runs on neighboring tables: same calls, same parameters, inputs close enough.

HAZARDS §3.2: on the second table every mechanism returns what it returned on the first,
so that anything that still differs is something the noise does not cover.
"""

import math
from fractions import Fraction

import ibis
import pytest

import hush
from hush.audit import distance, neighbors_of, replay
from hush.audit.metric import NONE, Distance
from hush.tables.groups.private_keys import Naming
from hush.units import Neighbors
from tables.desk import arrow, base

WHOLE = 1 << 20
GROUPINGS = ["all", "one column", "two columns", "private", "private numbers"]
NEIGHBORS = ["add-remove", "replace-one"]


@distance.register(Naming)
def _people(mechanism, first, second):
    """One person's votes: few keys, and an ℓ2 distance of at most a whole vote."""
    a, b = (dict(zip(x.keys, map(int, x.votes), strict=True)) for x in (first, second))
    moved = [a.get(key, 0) - b.get(key, 0) for key in a | b]
    moved = [each for each in moved if each]
    people = 1 if mechanism.selection.neighbors is Neighbors.ADD_REMOVE else 2
    few = len(moved) <= people * mechanism.selection.keys_per_person
    near = sum(each**2 for each in moved) <= people * WHOLE**2
    return Distance(Fraction(1)) if few and near else NONE


# Most ask about the same column, so that one scan of the engine serves several.
AGGREGATES = {
    "count": lambda: hush.count(),
    "count_distinct": lambda: hush.count_distinct("x"),
    "people": lambda: hush.count_distinct("who"),
    "sum": lambda: hush.sum("x", bounds=(0, 30)),
    "mean": lambda: hush.mean("x * y", bounds=(-20, 50)),
    "variance": lambda: hush.variance("x", bounds=(0, 30)),
    "std": lambda: hush.std("x", bounds=(0, 30)),
    "covariance": lambda: hush.covariance("x", "y", bounds=((0, 30), (-9, 9))),
    "correlation": lambda: hush.correlation("x", "y", bounds=((0, 30), (-9, 9))),
    "median": lambda: hush.median("x", bounds=(0, 30)),
    "quantiles": lambda: hush.quantiles("x", [0.1, 0.9], bounds=(0, 30)),
    "population": lambda: hush.quantile("x", 0.3, bounds=(0, 30), population=True),
    "min": lambda: hush.min("x", bounds=(0, 30)),
    "max": lambda: hush.max("x", bounds=(0, 30)),
    "histogram": lambda: hush.histogram("x", edges=[0, 10, 20, 30]),
    "mode": lambda: hush.mode("g", values=["a", "b", "z"]),
    "top_k": lambda: hush.top_k("h", 2, values=[0, 1, 2, 3]),
}


def run(grouping, neighbors, chosen, unit="who", opened=arrow):
    def release(columns):
        data = hush.open(
            opened(columns),
            unit=unit,
            rows=3 if unit else None,
            neighbors=neighbors,
            budget=hush.Budget(epsilon=1e6, delta=0.5),
        )
        grouped = {
            "all": lambda: data,
            "one column": lambda: data.group_by("g", keys=["a", "b", "nobody"]),
            "two columns": lambda: data.group_by(
                "g", "h", keys=[("a", 0), ("a", 1), ("c", 2)]
            ),
            "private": lambda: data.group_by("g", "h", keys="private", most=4),
            "private numbers": lambda: data.group_by("h", keys="private", most=2),
        }[grouping]()
        query = grouped.agg(**{name: AGGREGATES[name]() for name in chosen})
        return query.release(epsilon=20, delta=1e-3)

    return release


def public(answer):
    return {"keys": answer.keys, **answer.values}


def check(grouping, neighbors, chosen, seeds, unit="who", opened=arrow):
    pairs = 0
    for seed in seeds:
        for pair in neighbors_of(base(seed), unit=unit, neighbors=neighbors, rows=200):
            found = replay(
                run(grouping, neighbors, chosen, unit, opened),
                pair.data,
                pair.neighbor,
                released=public,
            )
            assert found.passed, f"{pair}: {found}"
            assert found.calls
            pairs += 1
    return pairs


@pytest.mark.thin(6)
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(
    ("grouping", "seeds"),
    [("all", (1,)), ("one column", (1,)), ("two columns", (1, 2)), ("private", (1, 2))],
)
def test_all_aggregates_at_once(grouping, seeds, neighbors, desk):
    # Every mechanism call of one release is compared, so one query serves all of them.
    # Groups of two columns take every way that groups of one do.
    found = check(grouping, neighbors, tuple(AGGREGATES), seeds, opened=desk.lay)
    assert found >= 15 * len(seeds)


@pytest.mark.thin(4)
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("chosen", [("count",), ("count", "sum", "median")], ids=len)
def test_keys_from_words(chosen, neighbors, desk):
    # Keys that are whole numbers take a way of their own, alone and beside sums.
    found = check("private numbers", neighbors, chosen, (1, 2), opened=desk.lay)
    assert found >= 30


@pytest.mark.thin(2)
@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_rows_as_people(neighbors, desk):
    chosen = tuple(AGGREGATES)
    found = check("one column", neighbors, chosen, (1, 2), unit=None, opened=desk.lay)
    assert found >= 30


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("grouping", "neighbors"),
    [("one column", "add-remove"), ("private", "replace-one")],
)
def test_an_engine_of_its_own_for_every_table(grouping, neighbors):
    # Nothing is kept from one table to the next: opening and compiling are replayed.
    assert check(grouping, neighbors, ("count", "mean"), seeds=(1,)) >= 15


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_each_aggregate_on_many_pairs(aggregate, grouping, neighbors, desk):
    # Other tables for every grouping: more than two hundred pairs of each aggregate.
    first = 3 * GROUPINGS.index(grouping)
    tables = range(first, first + 3)
    found = check(grouping, neighbors, (aggregate,), seeds=tables, opened=desk.lay)
    assert found >= 45


def test_a_sensitivity_that_is_too_small_is_found(monkeypatch, desk):
    # The twin that must fail: one person counted for one row less than they weigh.
    from hush.tables.bounding.sensitivity import Limit

    honest = Limit.distance
    monkeypatch.setattr(
        Limit,
        "distance",
        lambda self, *a, **k: math.ceil(honest(self, *a, **k) * 2 / 3),
    )
    with pytest.raises(AssertionError):
        check("one column", "add-remove", ("count",), (1,), opened=desk.lay)


def test_weights_that_depend_on_others_are_found(monkeypatch, desk):
    # The twin that must fail (HAZARDS S9): a global LIMIT instead of weights.
    from hush.tables.bounding import contribution_bounds

    def limited(table, unit, rows):
        some = table.order_by("x").limit(10 * rows)
        return some.mutate(_w=ibis.literal(contribution_bounds.UNIT, "int64"))

    monkeypatch.setattr(contribution_bounds, "with_weights", limited)
    with pytest.raises(AssertionError):
        check("one column", "add-remove", ("count", "sum"), (1,), opened=desk.lay)


def test_data_in_the_text_of_a_query_is_found(monkeypatch, desk):
    # The twin that must fail although texts are kept: one that the data has a say in.
    from hush.tables.bounding import contribution_bounds

    def written(table, unit, rows):
        most = table["x"].max().to_pyarrow().as_py() or 0.0
        weight = (
            contribution_bounds.UNIT if most < 1e9 else 2 * contribution_bounds.UNIT
        )
        return table.mutate(_w=ibis.literal(weight, "int64"))

    monkeypatch.setattr(contribution_bounds, "with_weights", written)
    with pytest.raises(AssertionError, match="outlier"):
        check("one column", "add-remove", ("count",), (1,), None, desk.lay)
