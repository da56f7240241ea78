"""No value of the data leaves by any command, whether it succeeds or fails (Q7).

One row holds a text and a number that occur nowhere else, and the exact total of all
fares has eleven digits. Everything that commands print or write is searched for them.
"""

import tempfile

import pyarrow
import pytest
from pyarrow import csv, parquet

from shop import BY, CANARY, COUNT, SECRET, table

TOTAL = 12345678917
# A piece that no hexadecimal digest can hold by chance.
PIECE = CANARY.partition("-")[2]
WANTED = [CANARY, PIECE, str(SECRET), f"{SECRET:,}", str(TOTAL), f"{TOTAL:,}"]
ZONES = "SELECT zone, COUNT(*) AS n FROM trips GROUP BY zone"
COMMANDS = [
    ("init", "trips.parquet", "-o", "a.toml"),
    ("init", "trips.csv", "-o", "b.toml"),
    ("init", "headless.csv", "-o", "c.toml"),
    ("init", "trips.parquet", "--unit", "nope", "-o", "d.toml"),
    ("plan", BY, "-e", "0.1"),
    ("plan", "SELECT AVG(zone) AS z FROM trips", "-e", "0.1"),
    ("query", BY, "-e", "0.1"),
    ("query", BY, "-e", "0.1", "--json"),
    ("query", ZONES, "-e", "0.5", "-d", "1e-6"),
    ("query", "SELECT AVG(CLAMP(fare / zone, 0, 1)) AS x FROM trips", "-e", "0.1"),
    ("query", "SELECT SUM(CLAMP(driver, 0, 9e9)) AS x FROM trips", "-e", "0.1"),
    ("query", "SELECT AVG(CLAMP(borough, 0, 9)) AS x FROM trips", "-e", "0.1"),
    ("query", "SELECT COUNT(*) AS x FROM trips WHERE borough = 7", "-e", "0.1"),
    ("query", "SELECT COUNT(*) AS x FROM trips WHERE nope = 7", "-e", "0.1"),
    ("query", "SELECT borough FROM trips", "-e", "0.1"),
    ("query", "SELECT MAX(borough) FROM trips", "-e", "0.1"),
    ("query", "SELECT FROM", "-e", "0.1"),
    ("query", COUNT, "-e", "100"),
    ("query", COUNT, "-e", "0.1", "-c", "csv.toml"),
    ("query", BY, "-e", "0.1", "-c", "csv.toml"),
    ("query", COUNT, "-e", "0.1", "-c", "ragged.toml"),
    ("synth", "-e", "0.1", "-d", "1e-6", "-o", "a.csv"),
    ("synth", "-e", "0.1", "--json", "-o", "a.parquet"),
    ("synth", "-e", "0.1", "--plan"),
    ("synth", "-e", "0.1", "--column", "zone", "-o", "b.csv"),
    ("synth", "-e", "0.1", "-o", "c.csv", "-c", "csv.toml"),
    ("synth", "-e", "100", "-o", "d.csv"),
    ("budget",),
    ("budget", "--json"),
    ("verify", "trips.budget.db"),
    ("plot", "budget"),
    ("plot", "error", BY),
    ("plot", "release", "trips.csv"),
    ("account", "--gaussian", "1", "-d", "1e-6"),
    ("demo", "--folder", "."),
]


@pytest.fixture
def canaries(shop, monkeypatch):
    """The shop with data that must not be seen, in three kinds of files."""
    temporary = shop.folder / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    rows = table().to_pydict()
    rows["fare"][-2] = TOTAL - sum(rows["fare"][:-2]) - rows["fare"][-1]
    assert sum(rows["fare"]) == TOTAL
    data = pyarrow.table(rows)
    parquet.write_table(data, shop.folder / "trips.parquet")
    csv.write_csv(data, shop.folder / "trips.csv")
    (shop.folder / "headless.csv").write_text(f"{CANARY},{SECRET}\n{CANARY},1\n")
    ragged = f"driver,borough,fare,zone\n1,Bronx,{CANARY},2\n{CANARY}\n,,,,,{SECRET}\n"
    (shop.folder / "ragged.csv").write_text(ragged)
    text = (shop.folder / "hush.toml").read_text()
    for name in ("csv", "ragged"):
        new = text.replace("trips.parquet", "trips.csv").replace(".budget", f".{name}")
        new = new.replace("[columns.fare]", '[columns.fare]\ntype = "number"')
        new = new.replace("[columns.zone]", '[columns.zone]\ntype = "number"')
        (shop.folder / f"{name}.toml").write_text(new)
    ragged = (shop.folder / "ragged.toml").read_text()
    (shop.folder / "ragged.toml").write_text(ragged.replace("trips.csv", "ragged.csv"))
    return shop


def hits(text: str) -> list[str]:
    return [word for word in WANTED if word in text]


def test_no_command_prints_or_writes_a_value_of_the_data(canaries):
    given = {"trips.parquet", "trips.csv", "headless.csv", "ragged.csv"}
    codes = set()
    for command in COMMANDS:
        done = canaries.run(*command, "--debug")
        codes.add(done.exit_code)
        assert hits(done.output) == [], command
    for path in sorted(canaries.folder.rglob("*")):
        if path.is_file() and path.name not in given:
            assert hits(path.read_bytes().decode("utf-8", "replace")) == [], path
    assert {0, 1, 3} <= codes  # both answers and refusals were searched


def test_the_search_would_find_them(canaries):
    assert hits(f"Conversion Error: Could not convert string '{CANARY}'")
    assert len(hits((canaries.folder / "trips.csv").read_text())) >= 3


def test_nothing_is_seen_from_outside_the_process(canaries):
    for more in ((), ("-c", "ragged.toml")):
        done = canaries.really("query", BY, "-e", "0.1", *more, "--debug")
        assert hits(done.stdout + done.stderr) == []
