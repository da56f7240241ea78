"""What is printed: no number is cut off, remarks apart, digits that mean something."""

import csv
import io
import os
import pty
import re
import subprocess
import sys
import termios

import pytest

from hush.cli import ledgers, session
from hush.display import Digits
from shop import BY, COUNT

WIDE = (
    "SELECT borough, COUNT(*) AS trips_of_the_year, AVG(fare) AS mean_fare_in_dollars, "
    "SUM(fare) AS all_fares, STDDEV(fare) AS spread FROM trips GROUP BY borough"
)
NAMES = ("trips_of_the_year", "mean_fare_in_dollars", "all_fares", "spread")


def test_a_file_gets_every_digit_and_every_name_whatever_the_terminal_is(shop):
    done = shop.really("query", WIDE, "-e", 1)
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["borough", *(w for n in NAMES for w in (n, "interval"))]
    assert [row.split()[0] for row in rows] == ["Bronx", "Kings"]
    assert "…" not in done.stdout
    assert all(len(row.split()) == 1 + 4 * len(NAMES) for row in rows)


def test_a_narrow_terminal_gets_a_block_for_each_row(shop):
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 50))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm"}
    env.pop("COLUMNS", None)
    with subprocess.Popen(
        [sys.executable, "-m", "hush.cli", "query", WIDE, "-e", "1", "-q"],
        stdout=slave,
        stderr=subprocess.PIPE,
        cwd=shop.folder,
        env=env,
    ) as process:
        os.close(slave)
        shown = b""
        try:
            while piece := os.read(master, 65536):
                shown += piece
        except OSError:  # the other end is closed
            pass
        assert process.wait(120) == 0
    os.close(master)
    text = shown.decode()
    assert "…" not in text
    for name in NAMES:
        assert text.count(name) == 2
    assert text.count(" to ") == 2 * len(NAMES)
    assert max(map(len, text.splitlines())) <= 50


def test_quiet_leaves_the_table_alone(shop):
    done = shop.run("query", BY, "-e", 0.5, "-q")
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 3
    loud = shop.run("query", BY, "-e", 0.5)
    assert len(loud.stdout.splitlines()) == 3
    for words in ("Protected:", "Intervals hold", "Paid:", "Left:"):
        assert words in loud.stderr


def test_a_stored_answer_says_that_nothing_was_paid(shop):
    first = shop.run("query", COUNT, "-e", 0.5, "--key", "monday")
    again = shop.run("query", COUNT, "-e", 0.5, "--key", "monday")
    assert again.stdout == first.stdout
    assert "Paid: entry 2" in first.stderr
    assert "Stored answer of entry 2 (" in again.stderr
    assert "nothing was paid now" in again.stderr
    assert "Paid:" not in again.stderr


def test_an_answer_says_how_many_rows_of_a_person_counted(shop):
    said = shop.run("query", BY, "-e", 0.5).stderr
    assert "A person with more than 4 rows counted as 4" in said
    assert "people, n fell short" in said  # the mean did not
    assert "add-remove (one person more or less)" in said
    said = shop.run("query", "SELECT AVG(fare) AS f FROM trips", "-e", 0.5).stderr
    assert "fell short" not in said


def test_a_row_that_is_a_person_is_never_too_many(shop):
    shop.edit('unit = "driver"', 'unit = "row"')
    said = shop.run("query", COUNT, "-e", 0.5).stderr
    assert "Protected: one row, add-remove" in said
    assert "fell short" not in said


@pytest.mark.parametrize("command", ["query", "plan"])
def test_a_huge_epsilon_is_remarked_and_not_refused(shop, command):
    shop.edit("epsilon = 2.0", "epsilon = 100.0")
    words = "At epsilon 10.5 one person hardly has any protection."
    done = shop.run(command, COUNT, "-e", 10.5)
    assert done.exit_code == 0
    assert words in done.stderr
    assert "hardly" not in shop.run(command, COUNT, "-e", 10).stderr


def test_all_cells_of_a_column_have_as_many_decimals(shop):
    text = shop.run("query", WIDE, "-e", 1).stdout
    head, *rows = (re.split(r"\s{2,}", line) for line in text.splitlines())
    for i, name in enumerate(head[1:], 1):
        ends = [number for row in rows for number in row[i].split(" to ")]
        decimals = {len(each.partition(".")[2]) for each in ends}
        assert len(decimals) == 1, name
    assert "." not in rows[0][1]  # a count within more than five is whole


@pytest.mark.parametrize(
    ("halves", "count", "value", "text"),
    [
        ([120.0], False, 854.021, "854"),
        ([12.0], False, 854.021, "854"),
        ([7.2], False, 854.021, "854.0"),
        ([7.2], True, 854.021, "854"),
        ([4.9], True, 854.021, "854.0"),
        ([0.52, 2.2], False, 9.88642, "9.89"),
        ([0.0013], False, 0.5, "0.5000"),
        ([1e-30], False, 123.0, "123.000000000000"),
        ([0.0, float("inf")], False, 854.021, "854.021"),
        ([], False, -0.0, "0.00000"),
        ([3e20], False, 2e20, "200,000,000,000,000,000,000"),
        ([10.0], False, -0.2, "0"),
    ],
)
def test_digits_are_those_that_the_interval_leaves(halves, count, value, text):
    assert Digits.of_half_widths(halves, abs(value), count=count).text(value) == text


def test_ends_are_rounded_outwards():
    assert Digits(1).interval(-0.06, 0.01) == "-0.1 to 0.1"
    assert Digits(0).interval(10.0, 12.0) == "10 to 12"


def test_csv_has_all_digits_and_nothing_else(shop):
    shown = shop.json("query", BY, "-e", 0.5, "--key", "k")
    done = shop.run("query", BY, "-e", 0.5, "--key", "k", "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(rows[0]) == shown["columns"]
    for row, whole in zip(rows, shown["rows"], strict=True):
        assert row.pop("borough") == whole.pop("borough")
        assert {name: float(each) for name, each in row.items()} == whole
    assert "Paid" not in done.stdout
    both = shop.run("query", BY, "-e", 0.5, "--csv", "--json")
    assert both.exit_code == 1
    assert "not both" in both.stderr


def test_csv_spreads_a_histogram_over_columns_and_writes_iso_dates(shop):
    from hush.cli.query_command import csv_text

    columns = {
        "day": ["2026-11-16"],
        "late": [True],
        "h": [[1.5, 2.5]],
        "h_low": [[1.0, None]],
        "free": [[1, 2, 3]],
    }
    text = csv_text(columns, {"h": ("0 to 10", "10 to 20")})
    head, row = csv.reader(io.StringIO(text))
    names = ["day", "late", "h 0 to 10", "h 10 to 20", "h_low 0 to 10"]
    assert head == [*names, "h_low 10 to 20", "free"]
    assert row == ["2026-11-16", "true", "1.5", "2.5", "1.0", "", "[1, 2, 3]"]


def test_a_budget_says_what_was_asked(shop):
    shop.json("query", f"{BY} ORDER BY n", "-e", 0.2)
    text = "SELECT COUNT(*) AS n FROM trips WHERE fare > 3"
    shop.json("query", text, "-e", 0.2)
    first, second = shop.json("budget")["charges"]
    assert first["what"] == "rows, fare by borough"
    assert second["what"] == "rows, where fare > 3"
    assert "  rows, fare by borough  " in shop.run("budget").stdout


def test_a_charge_that_no_table_made_is_told_in_short():
    assert ledgers.purpose({"mechanism": "Laplace(scale=1.0)"}) == "Laplace(scale=1.0)"
    assert len(ledgers.purpose({"query": "x" * 500})) == 61
    quoted = {"query": 'Asked(text="it\'s")', "notes": {"by": []}}
    assert ledgers.purpose(quoted) == "it's"


def test_a_text_with_a_line_break_stays_in_its_row():
    columns = [session.Column("a", ["x\ny"]), session.Column("b", ["1"])]
    assert str(session.table(columns, None)).splitlines()[1] == "x\\ny  1"
