"""An answer that was stored is read by its query again, and by no other."""

import numpy as np
import pytest

import hush
from hush.errors import InvalidArgument, KeyConflict, Unsupported

ROWS = {"who": range(300), "x": [1.0, 2, 3] * 100, "t": ["a", "b", "c"] * 100}
EVERYTHING = {
    "n": hush.count(),
    "mean": hush.mean("x", bounds=(0, 5)),
    "total": hush.sum("x", bounds=(0, 5)),
    "spread": hush.variance("x", bounds=(0, 5)),
    "median": hush.median("x", bounds=(0, 5)),
    "several": hush.quantiles("x", [0.2, 0.5], bounds=(0, 5)),
    "bins": hush.histogram("x", edges=[0, 1, 2, 5]),
    "mode": hush.mode("t", values=["a", "b"]),
    "top": hush.top_k("t", 2, values=["a", "b", "c"]),
    "different": hush.count_distinct("x"),
    "least": hush.min("x", bounds=(0, 9)),
}


def opened():
    budget = hush.Budget(epsilon=1000, delta=1e-3)
    return hush.open(ROWS, unit="who", rows=1, budget=budget)


def ways(data):
    return {
        "all": data,
        "public": data.group_by("t", keys=["a", "b"]),
        "private": data.group_by("t", keys="private", most=1),
    }


@pytest.mark.parametrize("way", ["all", "public", "private"])
def test_every_aggregate_comes_back_with_its_names_and_intervals(way):
    query = ways(opened())[way].agg(**EVERYTHING)
    answer = query.release(epsilon=50, delta=1e-6)
    # Another data set of the same shape: only the question matters, not the object.
    again = ways(opened())[way].agg(**EVERYTHING).answer(answer.to_json())
    assert repr(again) == repr(answer)
    assert again.receipt == answer.receipt
    for name, (low, high) in answer.interval(0.8).items():
        assert np.array_equal(again.interval(0.8)[name], (low, high), equal_nan=True)


def others(data):
    asked = data.where("x > 1").group_by("t", keys=["a", "b"])
    return {
        "other bounds": asked.agg(m=hush.mean("x", bounds=(0, 6))),
        "other aggregates": asked.agg(n=hush.count()),
        "other rows": data.group_by("t", keys=["a", "b"]).agg(
            m=hush.mean("x", bounds=(0, 5))
        ),
        "other groups": data.where("x > 1")
        .group_by("t", keys=["a", "c"])
        .agg(m=hush.mean("x", bounds=(0, 5))),
    }


@pytest.mark.parametrize(
    "other", ["other bounds", "other aggregates", "other rows", "other groups"]
)
def test_another_question_does_not_read_it(other):
    data = opened()
    query = (
        data.where("x > 1")
        .group_by("t", keys=["a", "b"])
        .agg(m=hush.mean("x", bounds=(0, 5)))
    )
    answer = query.release(epsilon=1)
    assert query.answer(answer.release)["m"].tolist() == answer["m"].tolist()
    with pytest.raises(InvalidArgument, match="the answer to another query"):
        others(data)[other].answer(answer.release)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"hush": "budget"}', "nonsense"])
def test_a_text_that_is_no_release_is_refused(text):
    with pytest.raises(InvalidArgument, match="what to_json wrote of a release"):
        opened().agg(n=hush.count()).answer(text)


def test_a_statement_reads_its_answer_as_it_showed_it():
    data = opened()
    asked = data.prepare(
        "SELECT t, COUNT(*) AS n FROM data GROUP BY t ORDER BY n DESC LIMIT 2",
        keys={"t": ["a", "b", "c"]},
    )
    shown = asked.release(1.0)
    assert repr(asked.answer(shown.to_json())) == repr(shown)


def test_bounds_that_were_found_must_be_written_to_read_the_answer():
    data = opened()
    asked = data.prepare("SELECT AVG(x) AS m FROM data", bounds={"x": "private"})
    answer = asked.release(20.0)
    with pytest.raises(Unsupported, match=r"those of answer\.bounds"):
        asked.answer(answer.to_json())
    known = data.prepare("SELECT AVG(x) AS m FROM data", bounds=answer.bounds)
    assert known.answer(answer.to_json())["m"].tolist() == answer["m"].tolist()


def test_what_a_key_released_is_read_from_the_ledger_alone(tmp_path):
    path, ledger = tmp_path / "t.csv", f"sqlite:///{tmp_path}/b.db"
    path.write_text("who,x\n1,2\n2,3\n")

    def asked():
        data = hush.open(
            path,
            unit="who",
            rows=1,
            ledger=ledger,
            budget=hush.Budget(epsilon=2),
            types={"x": "number"},
        )
        return data, data.agg(n=hush.count())

    first = asked()[1].release(epsilon=1, key="monday")
    path.write_text("who,x\nanother,file\n")  # another version, and no such rows
    data, query = asked()
    assert repr(query.stored("monday")) == repr(first)
    assert data.ledger.stored("monday").to_json() == first.to_json()
    text = "SELECT COUNT(*) AS n FROM t"
    assert repr(data.prepare(text).stored("monday")) == repr(first)
    with pytest.raises(KeyConflict, match=r"query\.stored\(key\)"):
        query.release(epsilon=1, key="monday")
    with pytest.raises(InvalidArgument, match="no answer of dataset:t is stored under"):
        query.stored("sunday")
    with pytest.raises(InvalidArgument, match="no answer of dataset:other"):
        data.ledger.on(dataset="other").stored("monday")
    with pytest.raises(InvalidArgument, match="another query"):
        data.agg(s=hush.sum("x", bounds=(0, 1))).stored("monday")
    assert data.budget["dataset:t"].epsilon == 1
