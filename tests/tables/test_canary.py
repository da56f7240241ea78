"""HAZARDS Q6-Q8: nothing of the data is in what people, files or logs get to see."""

import logging
import math

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import hush
from hush.errors import HushError

CANARY, NUMBER = "CANARY-7q3zk9w", 8123456789
PRIME = 15485863  # an exact total that noise must never leave as it is


@pytest.fixture
def folder(tmp_path):
    people = 400
    columns = {
        "who": [*range(people - 1), NUMBER],
        "g": [*["a", "b"] * (people // 2 - 1), "a", CANARY],
        "x": [*[1.0] * (people - 1), float(NUMBER)],
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "people.parquet")
    return tmp_path


def questions(data):
    grouped = data.group_by("g", keys=["a", "b"])
    yield lambda: grouped.agg(n=hush.count(), m=hush.mean("x", bounds=(0, 9e9)))
    yield lambda: grouped.agg(q=hush.median("x", bounds=(0, 9e9)))
    yield lambda: data.group_by("g", keys="private").agg(n=hush.count())
    yield lambda: data.agg(h=hush.histogram("x", edges=[0, 10, 9e9]))
    yield lambda: data.agg(d=hush.count_distinct("g"), c=hush.mode("g", values=["a"]))
    yield lambda: data.where("x / 0 > 1").agg(n=hush.count())
    yield lambda: data.agg(m=hush.mean("nothing", bounds=(0, 1)))
    yield lambda: data.agg(m=hush.mean("g", bounds=(0, 1)))
    yield lambda: data.where(f"g = '{CANARY[:3]}'").agg(n=hush.count())


def test_no_canary_leaves(folder, caplog, capfd, monkeypatch):
    caplog.set_level(logging.DEBUG)
    ledger = f"sqlite:///{folder / 'budget.db'}"
    budget = hush.Budget(epsilon=40, delta=1e-3)
    data = hush.open(
        str(folder / "people.parquet"), unit="who", ledger=ledger, budget=budget
    )
    seen = []
    for ask in questions(data):
        try:
            query = ask()
            seen += [repr(query.plan(epsilon=1, delta=1e-5)), query.explain()]
            seen.append(query.sql_text())
            answer = query.release(epsilon=1, delta=1e-5)
            seen += [repr(answer), answer.to_json(), str(answer)]
            seen += [repr(answer.receipt), repr(answer.receipt.to_dict())]
            seen += [repr(answer.to_dict(level=0.9)), repr(answer.interval())]
        except HushError as problem:
            seen.append(
                repr(problem) + repr(problem.__cause__) + repr(problem.__context__)
            )
    # And where the engine itself fails.
    from hush.tables.engines import engine

    def broken(_):
        raise RuntimeError(f"value {NUMBER} of {CANARY}")

    monkeypatch.setattr(engine, "_run", broken)
    with pytest.raises(HushError) as caught:
        data.agg(n=hush.count()).release(epsilon=1)
    seen += [repr(caught.value), repr(caught.value.__context__), caplog.text]
    seen += [
        repr(data),
        repr(data.budget),
        repr(data.ledger),
        repr(data.ledger.history()),
        repr([each.content for each in data.ledger.history()]),
    ]
    out, err = capfd.readouterr()
    seen += [out, err]
    seen += [
        path.read_bytes().decode("latin-1")
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".parquet"
    ]
    assert len(seen) > 40
    for text in seen:
        assert CANARY not in text
        assert str(NUMBER) not in text


def test_exact_totals_are_never_released():
    # 40 noisy totals of step below one: all equal to the exact one has no chance.
    x = np.zeros(1000)
    x[0] = PRIME
    data = hush.open(pyarrow.table({"x": x}), budget=hush.Budget(epsilon=40))
    found = [
        data.agg(s=hush.sum("x", bounds=(0, 2**24))).release(epsilon=1).values["s"][0]
        for _ in range(40)
    ]
    assert PRIME not in found
    assert len(set(found)) == 40


def test_an_answer_is_drawn_once(monkeypatch):
    # HAZARDS Q6: reading, printing and converting draws nothing.
    data = hush.open(pyarrow.table({"x": [1.0, 2.0]}), budget=hush.Budget(epsilon=1))
    answer = data.agg(m=hush.mean("x", bounds=(0, 5))).release(epsilon=1)
    first = answer.values["m"][0]
    from hush.noise import source

    monkeypatch.setattr(source, "SECURE", None)
    repr(answer), answer.to_json(), answer.to_pandas(), answer.interval(0.5)
    assert answer.values["m"][0] == first


def test_the_shape_of_an_answer_does_not_depend_on_the_data():
    # HAZARDS Q8, N11: rows, columns and types, for ordinary and for strange rows.
    def shape(x):
        table = pyarrow.table({"x": pyarrow.array(x, pyarrow.float64())})
        data = hush.open(table, budget=hush.Budget(epsilon=9))
        answer = data.agg(
            n=hush.count(),
            m=hush.mean("x", bounds=(0, 5)),
            q=hush.median("x", bounds=(0, 5)),
        ).release(epsilon=1)
        frame = answer.to_arrow(level=0.95)
        assert all(math.isfinite(v[0]) for v in answer.to_dict().values())
        return frame.schema, frame.num_rows

    assert (
        shape([1.0, 2.0])
        == shape([])
        == shape([math.nan, math.inf, -math.inf])
        == shape([None] * 50)
    )
