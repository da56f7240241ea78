"""`hush init` writes what the schema says, and reads no value."""

import tomllib

import pyarrow
import pytest
from pyarrow import csv, parquet

from shop import CANARY, SECRET


def test_a_first_session_from_a_file_to_a_table(shop):
    (shop.folder / "hush.toml").unlink()
    assert shop.run("init", "trips.parquet", "--unit", "driver").exit_code == 0
    text = (shop.folder / "hush.toml").read_text()
    assert "<--" in text
    assert "no value was read" in text
    assert "# <-- People with more rows than this weigh less: counts and sums" in text
    shop.edit('# keys = ["a", "b"]  # <-- for GROUP BY', 'keys = ["Bronx", "Kings"]')
    done = shop.run(
        "query", "SELECT borough, COUNT(*) AS n FROM trips GROUP BY borough", "-e", 0.5
    )
    assert done.exit_code == 0, done.output
    assert "Bronx" in done.stdout
    assert "Left: dataset 'trips': epsilon 0.5" in done.stderr


def test_what_it_writes_is_toml_with_every_column(shop):
    shown = shop.json("init", "trips.parquet", "-o", "new.toml", "-e", 3)
    found = tomllib.loads((shop.folder / "new.toml").read_text())
    assert [each["name"] for each in shown["columns"]] == list(found["columns"])
    assert found["budget"] == {"epsilon": 3.0, "delta": 1e-6}
    assert found["data"]["unit"] == ""
    assert {n: c["type"] for n, c in found["columns"].items()} == {
        "driver": "number",
        "borough": "text",
        "fare": "number",
        "zone": "number",
    }


def test_only_the_footer_of_a_parquet_file_is_read(shop):
    whole = (shop.folder / "trips.parquet").read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    broken = b"PAR1" + b"\xff" * (len(whole) - footer - 4) + whole[-footer:]
    (shop.folder / "trips.parquet").write_bytes(broken)
    with pytest.raises(OSError, match=r"."):
        parquet.read_table(shop.folder / "trips.parquet")
    assert shop.run("init", "trips.parquet", "--force").exit_code == 0


def test_of_csv_only_the_header_is_read(shop):
    (shop.folder / "t.csv").write_bytes(b"id,fare\n" + b"\xff\xfe\x00" * 100)
    assert shop.run("init", "t.csv", "-o", "csv.toml").exit_code == 0
    text = (shop.folder / "csv.toml").read_text()
    assert 'type = "text"  # <-- or "number", and below it bounds = [0, 100]' in text
    assert "# bounds" not in text  # of a text that may be a number: one thing to do


@pytest.mark.parametrize(
    "first", [f"{SECRET},{CANARY}", "id,id", "", f"{CANARY},", "1.5,2.5"]
)
def test_a_csv_file_without_a_header_is_refused_and_its_line_not_shown(shop, first):
    (shop.folder / "t.csv").write_text(first + "\n1,2\n")
    done = shop.run("init", "t.csv", "-o", "csv.toml")
    assert done.exit_code == 1
    assert "has no header" in done.stderr
    assert not (shop.folder / "csv.toml").exists()
    assert CANARY not in done.output
    assert str(SECRET) not in done.output


def test_names_that_need_quotes_come_back_as_they_are(shop):
    names = ['a "b"', "tab\there", "ünïcode", "x.y", "back\\slash", "new\nline", "\x7f"]
    parquet.write_table(
        pyarrow.table({name: [1] for name in names}), shop.folder / "odd.parquet"
    )
    assert shop.run("init", "odd.parquet", "--force").exit_code == 0
    found = tomllib.loads((shop.folder / "hush.toml").read_text())
    assert list(found["columns"]) == names


def test_a_file_is_not_replaced_unasked(shop):
    before = (shop.folder / "hush.toml").read_text()
    done = shop.run("init", "trips.parquet")
    assert done.exit_code == 1
    assert "--force" in done.stderr
    assert (shop.folder / "hush.toml").read_text() == before


def test_a_folder_is_read_by_its_first_file(shop):
    (shop.folder / "many").mkdir()
    csv.write_csv(pyarrow.table({"a": [1]}), shop.folder / "many" / "1.csv")
    assert shop.json("init", "many", "--force")["columns"] == [
        {"name": "a", "type": "string"}
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nothing.parquet",), "does not exist"),
        (("hush.toml",), "must be files of one kind"),
        (("bad.parquet",), "is not a Parquet file"),
        (("t.json",), "no schema to read"),
        (("trips.parquet", "--unit", "nobody"), "is not a column"),
        (("trips.parquet", "--unit", "Drivers"), "did you mean 'driver'"),
        (("trips.parquet", "-e", "nan"), "epsilon must be"),
        (("trips.parquet", "-d", "2"), "delta must be"),
    ],
)
def test_bad_input_is_refused_in_one_line(shop, arguments, words):
    (shop.folder / "bad.parquet").write_text("PAR1")
    (shop.folder / "t.json").write_text("{}")
    done = shop.run("init", *arguments, "-o", "new.toml")
    assert done.exit_code == 1, done.output
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (shop.folder / "new.toml").exists()


def test_json_lines_are_asked_once_their_columns_are_declared(shop):
    lines = "".join(f'{{"driver": {i}, "fare": "{i % 9}"}}\n' for i in range(500))
    (shop.folder / "t.jsonl").write_text(lines)
    (shop.folder / "hush.toml").write_text(
        '[data]\nsource = "t.jsonl"\nname = "t"\nunit = "driver"\n'
        '[budget]\nepsilon = 1.0\n[ledger]\nurl = "sqlite:///t.db"\n'
        '[columns.driver]\ntype = "text"\n'
        '[columns.fare]\ntype = "number"\nbounds = [0, 10]\n'
    )
    row = shop.json("query", "SELECT AVG(fare) AS fare FROM t", "-e", 1)["rows"][0]
    assert 0 <= row["fare"] <= 10


def test_columns_that_are_left_out_are_not_offered(shop):
    (shop.folder / "odd.csv").write_text("who,_weight,day\na,1,2026-01-05\n")
    done = shop.run("init", "odd.csv", "--unit", "_weight", "-o", "odd.toml")
    assert done.exit_code == 1
    assert "start with an underscore are left out" in done.stderr
    shop.json("init", "odd.csv", "--unit", "who", "-o", "odd.toml")
    text = (shop.folder / "odd.toml").read_text()
    assert "_weight" not in text
    assert '[columns."day"]' in text


def test_a_file_without_types_is_told_how_values_are_spelled(shop, monkeypatch):
    rows = "".join(f"p{i},24.12.2026,yes\n" for i in range(400))
    (shop.folder / "odd.csv").write_text(f"who,day,paid\n{rows}")
    shop.json("init", "odd.csv", "--unit", "who", "-o", "odd.toml")
    path = shop.folder / "odd.toml"
    assert "a boolean true or false; all else is NULL" in path.read_text()
    declared = path.read_text().replace('type = "text"', 'type = "boolean"')
    path.write_text(declared.replace("rows = 10", "rows = 1"))
    check = "SELECT AVG(paid IS NULL) AS paid FROM odd", "-e", 0.8, "-c", "odd.toml"
    (row,) = shop.json("query", *check)["rows"]
    assert row["paid"] > 0.5  # all of them; less with a chance below 1e-20
    monkeypatch.setattr(
        "hush.tables.queries.answer_display.Shown.says_nothing", lambda *_: True
    )
    asked = "SELECT AVG(paid) AS paid FROM odd", "-e", 0.1, "-c", "odd.toml"
    assert "AVG(x IS NULL) says" in shop.run("query", *asked).stderr
    typed = "SELECT AVG(fare) AS fare FROM trips", "-e", 0.1
    assert "An interval as wide" in shop.run("query", *typed).stderr
    assert "AVG(x IS NULL)" not in shop.run("query", *typed).stderr


@pytest.mark.parametrize("mark", [";", "|", "\t"])
def test_another_separator_is_named(shop, mark):
    (shop.folder / "other.csv").write_text(f"patient{mark}ward\n1{mark}a\n")
    done = shop.run("init", "other.csv", "--unit", "patient", "-o", "new.toml")
    assert done.exit_code == 1
    assert "fields are separated by commas here" in done.stderr
    assert not (shop.folder / "new.toml").exists()
