"""Two private files meet on a connection that reads both, and nothing else."""

import duckdb
import pytest

import hush
from hush.audit import replay
from hush.errors import InvalidArgument, Unsupported

PEOPLE = 60


def people(without=()):
    return [(f"p{i}", 20 + i % 50) for i in range(PEOPLE) if i not in without]


def visits(without=()):
    rows = [(i % PEOPLE, "abc"[i % 3], i % 7) for i in range(200)]
    return [(f"p{i}", ward, days) for i, ward, days in rows if i not in without]


def laid(folder, without=()):
    """Write both files: one as CSV, one as Parquet."""
    lines = [f"{who},{age}\n" for who, age in people(without)]
    (folder / "people.csv").write_text("who,age\n" + "".join(lines))
    rows = ", ".join(map(repr, visits(without)))
    duckdb.sql(
        f"COPY (SELECT * FROM (VALUES {rows}) t(who, ward, days)) "
        f"TO '{folder / 'visits.parquet'}'"
    )
    return folder


def opened(folder, **more):
    budget = hush.Budget(epsilon=1e8)
    first = hush.open(
        str(folder / "people.csv"),
        unit="who",
        rows=1,
        types={"age": "number"},
        budget=budget,
        **more,
    )
    second = hush.open(
        str(folder / "visits.parquet"),
        unit="who",
        rows=4,
        ledger=first.ledger,
        **more,
    )
    return first, second


def asked(first, second):
    met = second.where("days > 0").join(first.where("age > 30"), on="who")
    return met.group_by("ward", keys=["a", "b", "c", "z"]).agg(
        n=hush.count(), age=hush.mean("age", bounds=(0, 100))
    )


def test_the_answer_is_that_of_the_joined_rows(tmp_path):
    found = asked(*opened(laid(tmp_path))).release(epsilon=1e7).to_dict()
    ages = dict(people())
    met = [(ward, ages[who]) for who, ward, days in visits() if days and ages[who] > 30]
    for place, ward in enumerate("abcz"):
        here = [age for each, age in met if each == ward]
        assert found["n"][place] == pytest.approx(len(here), abs=0.01)
        if here:
            mean = sum(here) / len(here)
            assert found["age"][place] == pytest.approx(mean, abs=0.01)


def test_sql_joins_them_as_well(tmp_path):
    first, second = opened(laid(tmp_path))
    text = "SELECT COUNT(*) AS n FROM visits JOIN people USING (who) WHERE age > 30"
    found = second.sql(text, epsilon=1e6, tables={"people": first}).to_dict()
    ages = dict(people())
    assert found["n"][0] == pytest.approx(
        sum(ages[who] > 30 for who, _, _ in visits()), abs=0.01
    )


def test_the_connection_of_both_is_shut_off_from_all_else(tmp_path):
    first, second = opened(laid(tmp_path))
    other = tmp_path / "secret.csv"
    other.write_text("x\n1\n")
    met = second.join(first, on="who")
    engine = met._table.get_backend().con
    for text in (
        f"SELECT * FROM read_csv('{other}')",
        "SET allowed_paths = ['/']",
        "SET enable_external_access = true",
        f"ATTACH '{tmp_path / 'new.db'}'",
    ):
        with pytest.raises(duckdb.Error):
            engine.execute(text)
    assert engine.execute("SELECT count(*) FROM people").fetchone() == (PEOPLE,)


@pytest.mark.thin(4)
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("gone", [(12,), (48,)], ids=str)
def test_what_mechanisms_are_told_differs_by_one_person(tmp_path, neighbors, gone):
    places = iter(range(100))

    def release(without):
        folder = tmp_path / str(next(places))
        folder.mkdir()
        first, second = opened(laid(folder, without), neighbors=neighbors)
        answer = asked(first, second).release(epsilon=20)
        return answer.keys, answer.values

    found = replay(release, (), gone)
    assert found.passed, str(found)
    assert found.calls
    # The twin: five people are more than one.
    assert not replay(release, (), (*gone, 20, 21, 22, 23)).passed


def test_two_of_one_name_and_other_sources_are_refused(tmp_path):
    first, second = opened(laid(tmp_path))
    twin = hush.open(
        str(tmp_path / "visits.parquet"), unit="who", name="people", ledger=first.ledger
    )
    with pytest.raises(InvalidArgument, match="another name="):
        twin.join(first, on="who")
    frame = hush.open({"who": ["p1"], "x": [1]}, unit="who", ledger=first.ledger)
    with pytest.raises(Unsupported, match="two files do"):
        first.join(frame, on="who")
    wards = {"ward": ["a", "b", "c"], "floor": [1, 2, 3]}
    with pytest.raises(Unsupported, match="public tables after"):
        second.join(wards, on="ward").join(first, on="who")
    after = second.join(first, on="who").join(wards, on="ward")
    assert "floor" in after.columns
