"""Histograms: every row in one public cell, the same on every engine."""

import math

import numpy as np
import pyarrow
import pytest

import hush
from hush.errors import InvalidArgument, Unsupported

VALUES = [-5.0, 0.0, 9.99, 10.0, 35.0, 80.0, 80.1, 1e300, -1e300, math.nan, None]


def table(last=None):
    more = [] if last is None else [last]
    n = len(VALUES) + len(more)
    return {
        "g": ["a", "b"] * (n // 2) + ["a"] * (n % 2),
        "x": pyarrow.array([*VALUES, *more], pyarrow.float64()),
        "t": pyarrow.array(["red", "blue", None, "green"] * 3, pyarrow.string())[:n],
    }


def exact(given, **aggregates):
    data = hush.open(given, budget=hush.Budget(epsilon=1))
    query = data.group_by("g", keys=["a", "b"]).agg(**aggregates)
    found = query.compiled.result(())
    return {
        part.name: part.read(part.exact(found, query.groups.keys))
        for part in query.compiled.parts
    }


def test_cells_hold_what_numpy_says(engine):
    edges = [0, 10, 20, 80]
    found = exact(engine.table(table()), h=hush.histogram("x", edges=edges))
    for i in range(2):
        mine = np.array([v for v in VALUES[i::2] if v is not None and v == v])
        expected = np.histogram(mine, bins=edges)[0]
        assert found["rows by x"][i].tolist() == expected.tolist()


def test_many_equal_bins_agree_with_few(engine):
    many = exact(engine.table(table()), h=hush.histogram("x", edges=range(0, 401)))
    few = exact(engine.table(table()), h=hush.histogram("x", edges=[0, 10, 20, 80]))
    cells = many["rows by x"]
    joined = [cells[:, 0:10].sum(1), cells[:, 10:20].sum(1), cells[:, 20:81].sum(1)]
    assert np.allclose(np.stack(joined, 1)[:, :2], few["rows by x"][:, :2])


def test_public_values_are_counted_and_others_are_not(engine):
    found = exact(engine.table(table()), h=hush.histogram("t", values=["red", "blue"]))
    assert found["rows by t"].tolist() == [[3.0, 0.0], [0.0, 3.0]]


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_one_person_moves_a_histogram_by_no_more_than_declared(neighbors):
    import ibis

    connection = ibis.duckdb.connect()
    people = {"who": [1, 2, 2, 3]}
    rows = [[5.0, 15.0, 15.0, 30.0], [5.0, 70.0, 5.0, 30.0], [5.0, -1.0, 15.0, 30.0]]
    found = []
    for i, x in enumerate(rows):
        made = connection.create_table(f"t{i}", pyarrow.table({**people, "x": x}))
        data = hush.open(
            made, unit="who", rows=2, neighbors=neighbors, budget=hush.Budget(epsilon=1)
        )
        query = data.agg(h=hush.histogram("x", edges=[0, 10, 20, 80]))
        (part,) = query.compiled.parts
        found.append(part.exact(query.compiled.result(()), ((),)))
    far = max(int(np.abs(a - b).sum()) for a in found for b in found)
    limit = part.sensitivity(1)
    # Two tables that differ in one person's rows are replace-one neighbors.
    assert far <= (limit if neighbors == "replace-one" else 2 * limit)
    assert far >= 0.9 * (limit if neighbors == "replace-one" else 2 * limit)


def test_a_histogram_is_released_by_group_and_cell():
    data = hush.open(pyarrow.table(table()), budget=hush.Budget(epsilon=100))
    grouped = data.group_by("g", keys=["a", "b", "c"])
    answer = grouped.agg(h=hush.histogram("x", edges=[0, 10, 80])).release(epsilon=50)
    assert answer.values["h"].shape == (3, 2)
    assert np.allclose(answer.values["h"][2], 0, atol=2)
    low, high = answer.interval(0.9)["h"]
    assert (low < high).all()
    assert len(answer.to_pandas(level=0.9)["h"][0]) == 2


def test_bad_cells_are_refused():
    for bad in ({"edges": [1]}, {"edges": [2, 1]}, {}, {"values": ["a", "a"]}):
        with pytest.raises(InvalidArgument):
            hush.histogram("x", **bad)
    data = hush.open(pyarrow.table(table()), budget=hush.Budget(epsilon=1))
    with pytest.raises(Unsupported):
        data.agg(h=hush.histogram("x", values=["a"])).release(epsilon=0.5)
    with pytest.raises(Unsupported):
        data.agg(h=hush.histogram("nothing", values=["a"])).release(epsilon=0.5)
    assert float(data.budget.epsilon) == 1
