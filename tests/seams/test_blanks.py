"""Blanks around a number, a date or a truth value of a file do not count."""

import datetime

import pytest

import hush
from hush.tables.engines.engine import fetch
from hush.tables.expressions import expression
from seams.exact import counted, opened

LINES = (
    "who, ward,stay, day, paid\n"
    "1,a, 7, 2026-01-31, true\n"
    "2,a,7 ,2026-01-31 ,true \n"
    '3,b,"\t7\t"," 2026-01-31", false\n'
    "4, b,7,2026-01-31,false\n"
    "5,b,7 7,2026 01-31,t rue\n"
    "6,b, ,\t,  \n"
)
TYPES = {"stay": "number", " day": "date", " paid": "boolean"}


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "stays.csv"
    path.write_text(LINES)
    return opened(str(path), types=TYPES)


def test_blanks_beside_commas_are_no_part_of_a_value(data):
    asked = {
        "stay = 7": 4,
        "stay IS NULL": 2,
        "\" day\" = DATE '2026-01-31'": 4,
        '" day" IS NULL': 2,
        '" paid"': 2,
        'NOT " paid"': 2,
        '" paid" IS NULL': 2,
    }
    for condition, right in asked.items():
        text = f"SELECT COUNT(*) AS n FROM stays WHERE {condition}"
        assert counted(data, text) == right, condition


def test_texts_keep_their_blanks(data):
    found = data.group_by(" ward", keys=["a", "b", " b"]).agg(n=hush.count())
    answer = found.release(epsilon=1000)
    assert [round(each) for each in answer["n"]] == [2, 3, 1]


TEXTS = [" 7", "7 ", "\t7", "7\n", " 7\r\n", "7", "7 7", "", " ", "n7", "7t", "\u00a07"]


def test_a_cast_strips_blanks_on_every_engine(engine):
    table = engine.table({"s": TEXTS})
    value = expression.number(table, "CAST(s AS DOUBLE)")
    found = fetch(table.select(s=table.s, v=value)).to_pylist()
    right = [7.0] * 6 + [None] * 6
    assert {row["s"]: row["v"] for row in found} == dict(zip(TEXTS, right, strict=True))


DAYS = [" 2026-01-31", "2026-01-31\t", "2026-01-31", "2026 -01-31", "2026-01-3 1"]


def test_a_cast_to_a_date_strips_blanks_on_every_engine(engine):
    table = engine.table({"s": DAYS})
    value = expression.typed_value(table, "CAST(s AS DATE)").value
    found = fetch(table.select(s=table.s, v=value)).to_pylist()
    right = [datetime.date(2026, 1, 31)] * 3 + [None] * 2
    assert {row["s"]: row["v"] for row in found} == dict(zip(DAYS, right, strict=True))
