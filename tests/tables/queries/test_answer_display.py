"""Answers as plain rows: a row for each cell, and CSV text to publish."""

import csv
import datetime
import io

import numpy as np
import pytest

import hush
from hush.errors import InvalidArgument
from hush.noise import Seeded

DAYS = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)]
ROWS = {
    "who": list(range(40)),
    "fare": [float(i) for i in range(40)],
    "day": DAYS * 20,
    "kind": ["a", "b", "a", "c"] * 10,
}


def grouped():
    data = hush.open(ROWS, unit="who", rows=1, budget=hush.Budget(epsilon=1e6))
    return data.group_by("day", keys=DAYS)


def shape():
    return hush.histogram("fare", edges=[0, 10, 40])


def test_a_histogram_is_a_row_for_each_cell():
    answer = grouped().agg(shape=shape(), n=hush.count()).release(epsilon=1e3)
    found = answer.cells("shape", level=0.9)
    assert list(found) == ["day", "shape_cell", "shape", "shape_low", "shape_high"]
    assert found["day"] == [DAYS[0], DAYS[0], DAYS[1], DAYS[1]]
    assert found["shape_cell"] == ["0 to 10", "10 to 40"] * 2
    assert np.allclose(found["shape"], [5, 15] * 2, atol=0.5)
    low, high = answer.interval(0.9)["shape"]
    assert found["shape_low"] == low.ravel().tolist()
    assert found["shape_high"] == high.ravel().tolist()
    assert list(answer.cells("shape", level=None)) == ["day", "shape_cell", "shape"]
    import pandas

    frame = pandas.DataFrame(found)
    assert frame.shape == (4, 5)


def test_quantiles_and_top_values_have_cells_and_counts_have_none():
    answer = (
        grouped()
        .agg(
            levels=hush.quantiles("fare", [0.25, 0.5], bounds=(0, 40)),
            top=hush.top_k("kind", 2, values=["a", "b", "c"]),
            n=hush.count(),
        )
        .release(epsilon=1e3)
    )
    assert answer.cells("levels")["levels_cell"] == ["0.25", "0.5"] * 2
    assert answer.cells("top")["top_cell"] == ["1", "2"] * 2
    assert "top_low" not in answer.cells("top")
    for name in ("n", "day", "nothing"):
        with pytest.raises(InvalidArgument, match="has no cells"):
            answer.cells(name)


def test_cells_take_no_name_from_a_group():
    data = hush.open(
        {"who": [1], "x_cell": [1]}, unit="who", budget=hush.Budget(epsilon=9)
    )
    asked = data.group_by("x_cell", keys=[1]).agg(x=hush.histogram("who", [0, 1, 2]))
    with pytest.raises(InvalidArgument, match="give the aggregate another name"):
        asked.release(epsilon=1).cells("x")


def test_one_histogram_is_printed_in_rows_and_several_in_one():
    alone = grouped().agg(shape=shape()).release(epsilon=1e3)
    lines = str(alone).splitlines()
    assert lines[0].split() == ["day", "shape_cell", "shape", "shape_low", "shape_high"]
    assert len(lines) == 1 + 4 + 3  # the noise is so small that counts have decimals
    assert max(map(len, lines[:5])) < 80
    assert "<td>10 to 40</td>" in alone._repr_html_()
    both = grouped().agg(shape=shape(), n=hush.count()).release(epsilon=1e3)
    assert "0 to 10: " in str(both)


def read(text):
    return list(csv.reader(io.StringIO(text)))


def test_csv_has_days_values_and_intervals(tmp_path):
    answer = grouped().agg(n=hush.count()).release(epsilon=1e3)
    text = answer.to_csv(tmp_path / "answer.csv")
    assert (tmp_path / "answer.csv").read_bytes() == text.encode()
    head, first, _ = read(text)
    assert head == ["day", "n", "n_low", "n_high"]
    assert first[0] == "2026-01-01"
    columns = answer.to_dict(0.95)
    assert [float(each) for each in first[1:]] == [
        columns[name][0] for name in head[1:]
    ]
    assert read(answer.to_csv(level=None))[0] == ["day", "n"]


def test_csv_of_cells_has_one_number_in_each_place():
    alone = grouped().agg(shape=shape()).release(epsilon=1e3)
    assert len(read(alone.to_csv())) == 1 + 4
    top = hush.top_k("kind", 2, values=["a", "b", "c"])
    both = grouped().agg(shape=shape(), top=top, n=hush.count()).release(epsilon=1e3)
    found = read(both.to_csv())
    shown = [
        f"shape {cell}{end}"
        for end in ("", "_low", "_high")
        for cell in ("0 to 10", "10 to 40")
    ]
    assert found[0] == ["day", *shown, "top 1", "top 2", "n", "n_low", "n_high"]
    assert len(found) == 1 + 2
    assert all("[" not in cell for line in found for cell in line)


def test_what_is_presented_is_written_in_its_order():
    data = hush.open(ROWS, unit="who", rows=1, budget=hush.Budget(epsilon=1e6))
    shown = data.sql(
        "SELECT kind, COUNT(*) AS n FROM data GROUP BY kind ORDER BY n DESC LIMIT 1",
        epsilon=1e3,
        keys={"kind": ["b", "a"]},
    )
    assert [line[0] for line in read(shown.to_csv())] == ["kind", "a"]


def test_an_interval_as_wide_as_its_bounds_is_remarked_upon():
    stage = hush.Ledger.open(
        "memory://", budget=hush.Budget(epsilon=1e6), dataset="data", rehearsal=True
    )
    data = hush.open(ROWS, unit="who", rows=1, ledger=stage)
    asked = data.agg(fare=hush.mean("fare", bounds=(0, 40)))
    remark = "an interval as wide as its bounds says nothing"
    assert remark in repr(asked.plan(epsilon=0.001))
    assert remark not in repr(asked.plan(epsilon=1e3))
    # Noise that makes few people many would narrow it: hence a seed.
    assert remark in str(asked.release(epsilon=0.01, source=Seeded(1)))
    assert remark not in str(asked.release(epsilon=1e3, source=Seeded(1)))
    middle = data.agg(m=hush.median("fare", bounds=(0, 40)))
    assert remark in str(middle.release(epsilon=0.001, source=Seeded(1)))
    # A total is not within the bounds of its rows.
    total = data.agg(s=hush.sum("fare", bounds=(0, 40)))
    assert remark not in str(total.release(epsilon=0.01))


def test_explaining_is_words_and_the_sql_is_apart(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("who,day,other\n1,2026-01-01,2026-01-01\n")
    types = {"day": "date", "other": "date"}
    data = hush.open(path, unit="who", budget=hush.Budget(epsilon=1), types=types)
    query = data.agg(n=hush.count())
    assert len(query.explain().splitlines()) < 10
    assert "SELECT" in query.sql_text()
    statement = data.prepare("SELECT COUNT(*) AS n FROM t")
    assert statement.explain() == query.explain()
    assert statement.sql_text() == query.sql_text()
    found = data.select(x="1.0 * LENGTH(who)").agg(m=hush.mean("x", bounds="private"))
    assert "SELECT" in found.sql_text()


def test_asking_a_data_set_for_a_release_says_to_ask_first():
    for each in (hush.open(ROWS, budget=hush.Budget(epsilon=1)), grouped()):
        with pytest.raises(
            AttributeError, match=r"\.agg\(n=hush\.count\(\)\)\.release"
        ):
            each.release(epsilon=1)
