"""One file of questions and exact answers, asked of every engine (HAZARDS §3.1)."""

import datetime
import tomllib
from pathlib import Path

import numpy as np
import pyarrow

import hush

FILE = tomllib.loads((Path(__file__).parent / "cases.toml").read_text())


def columns():
    data = FILE["data"]
    return {
        "who": pyarrow.array(data["who"], pyarrow.int64()),
        "place": pyarrow.array(data["place"], pyarrow.string()),
        "x": pyarrow.array(
            [None if v == "NULL" else v for v in data["x"]], pyarrow.float64()
        ),
        "y": pyarrow.array(data["y"], pyarrow.float64()),
        "day": pyarrow.array(
            [datetime.date.fromisoformat(d) for d in data["day"]], pyarrow.date32()
        ),
    }


def tuples(keys):
    return {
        name: [tuple(k) if isinstance(k, list) else k for k in values]
        for name, values in (keys or {}).items()
    }


def check(data, case):
    answer = data.sql(case["sql"], epsilon=1e9, keys=tuples(case.get("keys")))
    found = answer.to_dict()
    for name, expected in case["answer"].items():
        if isinstance(expected[0], str):
            assert list(found[name]) == expected, name
        else:
            within = case.get("within", 1e-4)
            assert np.allclose(found[name], expected, atol=within, rtol=1e-5), name


def opened(engine):
    budget = hush.Budget(epsilon=1e12)
    return hush.open(
        engine.table(columns()), unit="who", rows=2, name="trips", budget=budget
    )


def test_every_case_has_its_answer(engine):
    # One table per engine: on Spark, making it costs more than asking.
    data = opened(engine)
    wrong = {}
    for case in FILE["case"]:
        try:
            check(data, case)
        except AssertionError as problem:
            wrong[case["name"]] = str(problem).splitlines()[0]
    assert wrong == {}
