"""`hush synth`: paid first, counted once, and no column without a public domain."""

import csv

import pytest

from hush.tables.cross_tabulation import Crossed

ASK = ("synth", "-e", "0.5", "-d", "1e-6")


@pytest.fixture
def ready(shop):
    shop.edit('keys = "private"', "keys = [0, 1, 2, 3, 4, 5, 6]\nmissing = true")
    return shop


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_rows_are_written_and_paid_for(ready):
    done = ready.run(*ASK)
    assert done.exit_code == 0, done.output
    found = rows(ready.folder / "synthetic.csv")
    assert list(found[0]) == ["borough", "fare", "zone"]
    assert {each["borough"] for each in found} <= {"Bronx", "Kings"}
    assert all(0 <= float(each["fare"]) <= 60 for each in found)
    assert {each["zone"] for each in found} <= {*"0123456", ""}
    assert 1000 < len(found) < 5000
    assert ready.spent() == pytest.approx(0.5)
    assert "rows misplaced, at most" in done.stdout
    assert "Protected: one driver with at most 4 rows" in done.stderr
    assert "nothing bounds" in done.stderr


def test_json_says_what_was_measured(ready):
    found = ready.json(*ASK, "-o", "rows.parquet", "--rows", "50", "--key", "june")
    assert found["rows"] == 50
    assert found["columns"] == ["borough", "fare", "zone"]
    assert found["left_out"] == []
    assert [each["columns"] for each in found["measured"]][:1] == [["borough"]]
    assert all(each["within"] > 0 for each in found["measured"])
    assert found["receipt"]["unit"] == found["unit"] == "driver"
    from pyarrow import parquet

    assert parquet.read_table(ready.folder / "rows.parquet").num_rows == 50


def test_a_key_is_paid_once_and_reads_the_data_once(ready, monkeypatch):
    ready.json(*ASK, "--key", "june", "-o", "a.csv")
    monkeypatch.setattr(Crossed, "fetch", lambda _: pytest.fail("read again"))
    again = ready.json(*ASK, "--key", "june", "-o", "b.csv")
    assert ready.spent() == pytest.approx(0.5)
    assert again["receipt"]["key"] == "june"


def test_a_plan_reads_and_spends_nothing(ready, monkeypatch):
    monkeypatch.setattr(Crossed, "fetch", lambda _: pytest.fail("read"))
    done = ready.run(*ASK, "--plan")
    assert "3 columns ±" in done.stdout
    assert ready.spent() == 0
    assert ready.json(*ASK, "--plan")["within"]["pair"] > 0
    assert not (ready.folder / "synthetic.csv").exists()


def test_columns_without_a_domain_are_left_out_by_name(shop):
    found = shop.json(*ASK)
    assert found["columns"] == ["borough", "fare"]
    assert found["left_out"] == ["zone"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--column", "zone"), "neither keys nor bounds of 'zone'"),
        (("--column", "nope"), "'nope' is not a column"),
        (("--column", "driver"), "'driver' is not a column"),
        (("-o", "rows.txt"), ".csv or .parquet"),
        (("-o", "nowhere/rows.csv"), "folder"),
        (("--rows", "-1"), "rows"),
        (("--level", "2"), "level"),
        (("--bins", "0"), "bins"),
        (("--bins", "1000"), "bins"),
    ],
)
def test_what_cannot_be_written_is_refused_before_it_is_paid(shop, more, words):
    done = shop.run(*ASK, *more)
    assert done.exit_code == 1, done.output
    assert words in done.stderr
    assert shop.spent() == 0


def test_a_file_is_not_replaced_by_accident(shop):
    (shop.folder / "synthetic.csv").write_text("mine")
    assert shop.run(*ASK).exit_code == 1
    assert (shop.folder / "synthetic.csv").read_text() == "mine"
    assert shop.spent() == 0
    assert shop.run(*ASK, "--force").exit_code == 0
    assert rows(shop.folder / "synthetic.csv")


def test_too_much_is_refused_and_nothing_is_written(shop):
    done = shop.run("synth", "-e", "5")
    assert done.exit_code == 3
    assert not (shop.folder / "synthetic.csv").exists()


def test_whole_numbers_and_bins_are_declared(shop):
    shop.edit("bounds = [0, 60]", "bounds = [0, 60]\nbins = 3\nwhole = true")
    shop.json("synth", "-e", "2", "--column", "fare")
    found = rows(shop.folder / "synthetic.csv")
    assert all(each["fare"] == str(int(each["fare"])) for each in found)
    shop.edit("bins = 3", 'bins = "3"')
    assert "bins of 'fare'" in shop.run("synth", "-e", "1").stderr
