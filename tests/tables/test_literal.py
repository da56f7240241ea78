"""Literal caps through queries: whole rows, few groups, the same bounds on movement."""

import numpy as np
import pyarrow
import pytest

import hush

pytestmark = pytest.mark.usefixtures("one_text")
KEYS = ["a", "b", "c"]


def opened(table, **more):
    arguments = {
        "unit": "u",
        "rows": 4,
        "groups": 2,
        "budget": hush.Budget(epsilon=1e9),
    }
    return hush.open(table, **{**arguments, **more})


def query(table, **more):
    return (
        opened(table, **more)
        .group_by("g", keys=KEYS)
        .agg(
            n=hush.count(),
            s=hush.sum("x", bounds=(0, 10)),
            h=hush.histogram("x", edges=[0, 5, 10]),
            m=hush.median("x", bounds=(0, 10)),
        )
    )


def exact(asked):
    found = asked.compiled.result()
    return {p.name: p.exact(found, asked.groups.keys) for p in asked.compiled.parts}


def columns(rows):
    people, groups, values = map(list, zip(*rows, strict=True))
    return {
        "u": people,
        "g": pyarrow.array(groups, pyarrow.string()),
        "x": pyarrow.array(values, pyarrow.float64()),
    }


LIGHT = [(p, "abc"[p % 3], float(p % 11)) for p in range(30)]


@pytest.mark.slow_on("spark")
def test_people_within_their_caps_count_whole(engine):
    found = exact(query(engine.table(columns(LIGHT))))
    assert (found["rows"] / 2**20).tolist() == [10, 10, 10]
    truth = [sum(x for _, g, x in LIGHT if g == key) for key in KEYS]
    grid = query(engine.table(columns(LIGHT))).compiled.parts[1]
    assert np.allclose(grid.read(found["total x"]), truth, atol=1e-3)


@pytest.mark.slow_on("spark")
@pytest.mark.thin(3)
def test_a_heavy_person_keeps_whole_rows_in_few_groups(engine):
    # HAZARDS S8: 300 different rows and 300 equal ones, in three groups.
    heavy = [(99, "abc"[i % 3], i / 100) for i in range(300)]
    heavy += [(98, "abc"[i % 3], 7.0) for i in range(300)]
    before = exact(query(engine.table(columns(LIGHT))))
    after = exact(query(engine.table(columns([*LIGHT, *heavy]))))
    moved = np.abs(after["rows"] - before["rows"]) / 2**20
    assert moved.sum() <= 8
    assert moved.sum() >= 4
    assert np.abs(after["rows by x"] - before["rows by x"]).sum() / 2**20 <= 8


@pytest.mark.thin(2)
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_one_person_moves_no_more_than_declared(neighbors):
    # HAZARDS S4, S9: random contributions of one person on top of the same others.
    import ibis

    generator = np.random.default_rng(3)
    connection = ibis.duckdb.connect()
    found = []
    for i in range(12):
        size = int(generator.integers(0, 9))
        mine = [
            (77, str(generator.choice(KEYS)), float(generator.choice([0, 5, 10])))
            for _ in range(size)
        ]
        table = connection.create_table(
            f"r{i}", pyarrow.table(columns([*LIGHT, *mine]))
        )
        asked = query(table, neighbors=neighbors)
        found.append((size, exact(asked)))
    limits = {part.name: part.sensitivity(1) for part in asked.compiled.parts[:3]}
    for size, one in found:
        for other_size, two in found:
            if neighbors == "add-remove" and size and other_size:
                continue
            for name, limit in limits.items():
                assert np.abs(one[name] - two[name]).sum() <= limit


@pytest.mark.slow_on("spark")
def test_a_release_with_caps_is_near_the_truth(engine):
    answer = query(engine.table(columns(LIGHT))).release(epsilon=1e6)
    assert np.allclose(answer.values["n"], 10, atol=0.1)
    assert answer.to_dict()["g"] == KEYS
    whole = opened(engine.table(columns(LIGHT))).agg(n=hush.count())
    assert abs(whole.release(epsilon=1e6).values["n"][0] - 30) < 0.1
