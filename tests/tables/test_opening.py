"""What `hush.open` is told about people, files and ledgers, and what it says back."""

from pathlib import Path

import pytest

import hush
from hush.errors import InvalidArgument

TRIPS = {"who": [1, 1, 2, 3], "fare": [10.0, 12.0, 8.0, 30.0]}
BUDGET = hush.Budget(epsilon=1)


@pytest.mark.parametrize("told", [{"rows": 10}, {"rows": 2}, {"groups": 3}])
def test_several_rows_of_a_person_need_the_column_that_says_whose_they_are(told):
    (name,) = told
    with pytest.raises(InvalidArgument, match=f'^{name}=.* unit="column"') as said:
        hush.open(TRIPS, budget=BUDGET, **told)
    assert f"leave {name}= out" in str(said.value)
    hush.open(TRIPS, unit="who", budget=BUDGET, **told)


def test_rows_are_ten_unless_said_and_one_where_every_row_is_a_person():
    assert hush.open(TRIPS, unit="who", budget=BUDGET).rows == 10
    assert hush.open(TRIPS, unit="who", rows=7, budget=BUDGET).rows == 7
    assert hush.open(TRIPS, rows=1, budget=BUDGET).rows == 1
    assert hush.open(TRIPS, budget=BUDGET).rows == 1
    with pytest.raises(InvalidArgument, match="rows"):
        hush.open(TRIPS, unit="who", rows=0, budget=BUDGET)


def test_a_path_for_a_ledger_says_which_address_to_write():
    with pytest.raises(InvalidArgument, match=r"ledger='sqlite:///budget\.db'"):
        hush.open(TRIPS, unit="who", ledger=Path("budget.db"), budget=BUDGET)
    with pytest.raises(InvalidArgument, match="got a int"):
        hush.open(TRIPS, unit="who", ledger=3, budget=BUDGET)


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("who;fare\n1;2\n", "one column with semicolons in its name"),
        ("who\tfare\n1\t2\n", "with tabs as .tsv"),
        ("", "is empty: its first line must name the columns"),
        ("who,fare,who\n", "each once and none by a number"),
        ("1,2.5,North\n", "nothing of it is shown"),
        ("who,,fare\n", "has no header"),
        ("a,b,A\n", "columns 1 and 3 of 'visits.csv' have names that differ by case"),
        ("stra\udcdfe,who\n", "is not UTF-8. Save the file as UTF-8"),
    ],
)
def test_a_first_line_that_names_no_columns_says_what_is_wrong(tmp_path, text, way):
    path = tmp_path / "visits.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidArgument) as said:
        hush.open(path, unit="who", budget=BUDGET)
    assert way in str(said.value)
    assert "North" not in str(said.value)


def test_tabs_are_read_from_a_tsv(tmp_path):
    path = tmp_path / "visits.tsv"
    path.write_text("who\tfare\n1\t2\n")
    assert hush.open(path, unit="who", budget=BUDGET).columns == ("who", "fare")
    path.write_text("who,fare\n1,2\n")
    with pytest.raises(InvalidArgument, match="with commas in its name"):
        hush.open(path, unit="who", budget=BUDGET)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_whether_a_line_counts_does_not_depend_on_the_question(tmp_path, kind):
    # DuckDB reads, and so checks, only the columns that a question is about.
    path = tmp_path / f"visits.{kind}"
    with path.open("wb") as file:
        file.write(b"who,district,note\n" if kind == "csv" else b"")
        for i in range(3000):
            line = b"%d,%s,%s\n"
            if kind == "jsonl":
                line = b'{"who": "%d", "district": "%s", "note": "%s"}\n'
            town = b"K\xf6ln" if i % 10 == 0 else b"" if i % 11 == 0 else b"Bonn"
            file.write(line % (i, town, b"caf\xe9" if i % 7 == 0 else b"tea"))
    types = dict.fromkeys(("who", "district", "note"), "text")
    data = hush.open(path, budget=hush.Budget(epsilon=1e9), types=types)

    def rows(condition=None, text="who"):
        asked = data.where(condition) if condition else data
        answer = asked.agg(n=hush.count_distinct(text), all=hush.count())
        return round(answer.release(epsilon=1e7)["all"][0])

    every = rows()
    for name in types:
        parts = rows(f"{name} IS NULL", name) + rows(f"{name} IS NOT NULL", name)
        assert parts == every
    if kind == "csv":  # such lines are left out, always
        assert every == sum(i % 10 > 0 and i % 7 > 0 for i in range(3000))


def test_a_column_alone_is_no_table():
    import pandas

    with pytest.raises(InvalidArgument, match="one column without a name"):
        hush.open(pandas.Series([1, 2]), budget=BUDGET)
