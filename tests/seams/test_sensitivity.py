"""Sensitivity from outside: one person moves no measurement by more than is charged.

Random tables, one person added, removed or replaced, random questions. Every number
that a mechanism is given on one table is compared with the one on the other, exactly.
"""

import itertools
import random

import pytest

import hush
from hush.mechanisms import DiscreteGaussian, Geometric
from seams import crowds
from seams.asked import AGGREGATES, FILTERS, GROUPS, JOINS, PEOPLE, Question, questions
from seams.reach import Heard, Moved, compare, judged, price, recorded
from tables.desk import Desk

TABLES, NEIGHBORS = 3, 6  # tables of each question, and neighbors of each table
SEEDS, EACH = range(14), 8  # questions of the slow lane: so many lists of so many


class Room(Desk):
    """A DuckDB with two tables whose rows change under the questions."""

    def __init__(self, monkeypatch):
        super().__init__(monkeypatch)
        self._state = itertools.count()
        run = self.connection.con.execute
        for name, types in {"crowd": crowds.TYPES, "extra": crowds.MORE}.items():
            self.connection.con.register("laid", crowds.arrow([], types))
            run(f"CREATE TABLE {name} AS SELECT * FROM laid")

    def lay(self, rows, more=()):
        for name, types, held in (
            ("crowd", crowds.TYPES, rows),
            ("extra", crowds.MORE, more),
        ):
            self.connection.con.register("laid", crowds.arrow(held, types))
            self.connection.con.execute(f"DELETE FROM {name}")
            self.connection.con.execute(f"INSERT INTO {name} SELECT * FROM laid")
        self._laid, self.size = next(self._state), len(rows)

    def table(self, name):
        return self.connection.table(name)


@pytest.fixture
def room(monkeypatch):
    made = Room(monkeypatch)
    yield made
    made.connection.disconnect()


def budget():
    return hush.Budget(epsilon=1e9, delta=0.9)


def asking(room, question):
    """Return what makes the question: it is built once, and asked of every table."""
    kept = []

    def second(ledger):
        more = {k: v for k, v in question.opening.items() if k != "groups"}
        return hush.open(room.table("extra"), name="more", ledger=ledger, **more)

    def make():
        if not kept:
            data = hush.open(room.table("crowd"), budget=budget(), **question.opening)
            kept.append((data, question.of(data, second)))
        data, query = kept[0]
        return data, lambda: query.release(question.epsilon, question.delta)

    return make


def pairs(question, seed, tables, neighbors):
    """Yield tables, each with some of its neighbors."""
    chance = random.Random(seed)
    for _ in range(tables):
        people = crowds.crowd(chance)
        if question.unit is None:
            rows = crowds.listed(people)
            near = crowds.row_neighbor
            some = [near(rows, chance, question.neighbors) for _ in range(neighbors)]
            yield (rows,), [(each,) for each in some]
            continue
        near = crowds.neighbor
        some = [near(people, chance, question.neighbors) for _ in range(neighbors)]
        yield _both(people), list(map(_both, some))


def _both(people):
    return crowds.listed(people, 0), crowds.listed(people, 1)


def held(room, question, seed, tables=TABLES, neighbors=NEIGHBORS):
    """Compare tables with their neighbors; return how many were answered, refused."""
    make, answered, refused = asking(room, question), 0, 0
    for data, some in pairs(question, seed, tables, neighbors):
        room.lay(*data)
        first = recorded(make)
        if first[1][0] == "answered" and question.delta == 0:
            assert price(first[0]) <= question.epsilon * (1 + 1e-9)
        for each in some:
            room.lay(*each)
            try:
                good = compare(first, make)
            except Moved as problem:
                raise Moved(f"{question}: {problem}") from None
            answered, refused = answered + good, refused + (not good)
    return answered, refused


def plain(**more):
    """A question to which twins say yes: sums and counts of all rows."""
    given = {"unit": "who", "rows": 2, "groups": None, "neighbors": "add-remove"}
    given |= {"where": None, "join": None, "per_person": False, "grouping": "none"}
    given |= {"most": 2, "aggregates": ("count", "sum"), "epsilon": 20.0, "delta": 0.0}
    return Question(**{**given, **more})


def listed(seed):
    return questions(seed, EACH)


def test_the_slow_lane_asks_everything_ten_thousand_times():
    # One aggregate of one table and one neighbor is a case.
    found = [each for seed in SEEDS for each in listed(seed)]
    assert sum(len(q.aggregates) for q in found) * TABLES * NEIGHBORS >= 10**4
    names = {name for q in found for name in q.aggregates}
    assert names == AGGREGATES.keys() | PEOPLE.keys()
    assert {q.grouping for q in found} == GROUPS.keys()
    assert {q.where for q in found} == {None, *FILTERS}
    assert {q.join for q in found} == {None, *JOINS}
    together = {(q.neighbors, q.groups is None, q.unit is None) for q in found}
    assert len(together) == 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_nobody_moves_a_measurement_by_more_than_is_charged(room, seed):
    for at, question in enumerate(listed(seed)):
        answered, refused = held(room, question, EACH * seed + at)
        assert (answered, refused) == (TABLES * NEIGHBORS, 0)


FAST = [
    plain(aggregates=tuple(AGGREGATES), rows=3),
    plain(grouping="texts", neighbors="replace-one", where="b OR x < 10", join="left"),
    plain(grouping="private", join="private", delta=1e-3),
    plain(grouping="two", groups=1, aggregates=("count", "sum", "histogram")),
]


@pytest.mark.parametrize("question", FAST, ids=["all", "public", "private", "sampled"])
def test_nobody_moves_a_few_measurements_by_more(room, question):
    assert held(room, question, seed=1, tables=2, neighbors=2) == (4, 0)


def test_gaussian_noise_is_heard_in_its_own_norm(room):
    names = ("count", "sum", "mean", "variance", "covariance", "share", "histogram")
    question = plain(aggregates=names, epsilon=0.5, delta=1e-3, neighbors="replace-one")
    room.lay(*_both(crowds.crowd(random.Random(1))))
    ear, _ = recorded(asking(room, question))
    assert any(isinstance(each.mechanism, DiscreteGaussian) for each in ear.heard)
    assert held(room, question, seed=1, tables=1, neighbors=2) == (2, 0)


class Elsewhere:
    """Two tables on an engine of the tests, whose rows change under the questions."""

    def __init__(self, engine):
        self.engine, self.connection = engine, getattr(engine, "connection", None)
        if self.connection is None:
            import ibis

            self.connection = ibis.polars.connect()
        self.lay([])

    def lay(self, rows, more=()):
        self._put("crowd", crowds.arrow(rows))
        self._put("extra", crowds.arrow(more, crowds.MORE))

    def _put(self, name, rows):
        if self.engine.name == "spark":
            frame = self.engine.session.createDataFrame(rows)
            frame.createOrReplaceTempView(name)
        elif self.engine.name == "polars" or name not in self.connection.list_tables():
            self.connection.create_table(name, rows, overwrite=True)
        else:
            with self.connection.con.cursor() as cursor:
                cursor.execute(f"TRUNCATE {name}")
                held = [tuple(row.values()) for row in rows.to_pylist()]
                marks = ", ".join(["%s"] * rows.num_columns)
                cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", held)
            self.connection.con.commit()

    def table(self, name):
        return self.connection.table(name)


ENGINES = [
    "polars",
    pytest.param("postgres", marks=pytest.mark.xdist_group("postgres")),
    pytest.param("spark", marks=[pytest.mark.xdist_group("spark"), pytest.mark.slow]),
]


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_nobody_moves_more_on_another_engine(engine):
    room = Elsewhere(engine)
    for question in (FAST[1], FAST[2]):
        assert held(room, question, seed=2, tables=1, neighbors=2) == (2, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_nobody_moves_more_on_another_engine_whatever_is_asked(engine, seed):
    room, few = Elsewhere(engine), 1 if engine.name == "spark" else 2
    for at, question in enumerate(questions(50 + seed, 2 * few)):
        found = held(room, question, 4 * seed + at, tables=few, neighbors=2)
        assert found == (2 * few, 0)


# The twins: each is a way to be wrong that the oracle must see.


def _caught(room, question, match):
    with pytest.raises(Moved, match=match):
        held(room, question, seed=3, tables=6, neighbors=6)


def test_rows_that_are_not_bounded_are_caught(room, monkeypatch):
    import ibis

    from hush.tables.bounding import contribution_bounds

    whole = ibis.literal(contribution_bounds.UNIT, "int64")
    monkeypatch.setattr(
        contribution_bounds, "row_weight", lambda held, _: held * 0 + whole
    )
    _caught(room, plain(), "moved by")


def test_values_that_are_not_clamped_are_caught(room, monkeypatch):
    from dataclasses import replace

    from hush.tables.bounding.contribution_bounds import Grid

    honest = Grid.steps

    def loose(grid, value):
        return honest(replace(grid, high=8 * grid.high), value)

    monkeypatch.setattr(Grid, "steps", loose)
    _caught(room, plain(aggregates=("sum",)), "moved by")


def test_votes_that_do_not_shrink_are_caught(room, monkeypatch):
    import ibis

    from hush.tables.groups import private_keys

    whole = ibis.literal(1 << 20, "int64")
    monkeypatch.setattr(private_keys, "vote", lambda keys, _: keys * 0 + whole)
    question = plain(grouping="private", aggregates=("sum",), delta=1e-3)
    _caught(room, question, "moved by")


def test_a_charge_for_half_a_person_is_caught(room, monkeypatch):
    from hush.tables.bounding.sensitivity import Limit

    honest = Limit.distance
    monkeypatch.setattr(Limit, "distance", lambda *a: (honest(*a) + 1) // 2)
    _caught(room, plain(grouping="texts", neighbors="replace-one"), "moved by")


def test_a_charge_that_the_rows_decide_is_caught(room, monkeypatch):
    from hush.tables.bounding.sensitivity import Limit

    def looked(limit, low, high, norm):
        return limit.rows * max(-low, high) + (1 << 12) * room.size

    monkeypatch.setattr(Limit, "distance", looked)
    _caught(room, plain(), "parameters|charged")


def test_distances_are_those_of_the_norm():
    def heard(mechanism, numbers, charged):
        form = ("numbers", (len(numbers),), "whole")
        return Heard(mechanism, form, dict(enumerate(numbers)), charged)

    for mechanism, enough in ((Geometric(2.0), 7), (DiscreteGaussian(9.0), 5)):
        zero = heard(mechanism, [0, 0], enough)
        assert judged(0, zero, heard(mechanism, [3, -4], enough)) is None
        assert "moved by" in judged(0, zero, heard(mechanism, [3, -5], enough))
        assert "charged" in judged(0, zero, heard(mechanism, [0, 0], enough + 1))
        assert "given" in judged(0, zero, heard(mechanism, [0], enough))
