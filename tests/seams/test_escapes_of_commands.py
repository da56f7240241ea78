"""What commands print, write and return is the same with and without one person.

Their noise is real, so released numbers are masked, by a rule that anybody can check:
of the JSON of an answer, the numbers in `rows` and what `measured` lists; of remarks,
those that are a function of released intervals. Random words are masked as in
`seams.escaping`.
"""

import json
import os
import re
import tempfile
from pathlib import Path

import pytest

from seams import canary
from seams.escaping import differing, files
from shop import Shop

HEADER = "person,ward,dose\n"
TOML = """\
[data]
source = "trips.csv"
name = "trips"
unit = "person"
rows = 2

[budget]
epsilon = 50.0
delta = 1e-3

[ledger]
url = "sqlite:///trips.budget.db"

[columns.ward]
keys = ["a", "b"]

[columns.dose]
type = "number"
bounds = [0, 60]
"""
LINES = [f"{i % 60:09d},{'ab'[i % 2]},{i % 50 + 10}.5\n" for i in range(120)]
SAME = LINES[0]  # nobody's line may have another length: it is replaced by these
# What one person's lines are instead of one usual line.
NEIGHBORS = {
    "same length": "000000099,b,59.5\n",
    "same length, odd": '000000099,",1"",\n',
    "same length, no number": "000000099,b,nan.\n",
    "same length, empty": ",,              \n",
    "canary": f"{canary.WHOLE},{canary.TEXT},{canary.REAL}\n",
    "gone": "",
    "twice": 2 * "000000099,b,59.5\n",
    "nulls": ",,\n",
    "infinite": "000000099,b,inf\n",
    "huge": f"000000099,{'z' * 3000},1e308\n",
    "other fields": "000000099,b,1,2,3,4\n",
    "few fields": "000000099\n",
    "not a number": "000000099,b,a lot\n",
    "accents": "000000099,é,1\n",
}
BY = "SELECT ward, COUNT(*) AS n, AVG(dose) AS dose FROM trips GROUP BY ward"
COMMANDS = [
    ("init", "trips.csv", "--unit", "person", "-o", "new.toml"),
    ("init", "trips.csv", "--unit", "nobody", "-o", "none.toml"),
    ("plan", BY, "-e", "0.5"),
    ("plan", "SELECT AVG(ward) AS w FROM trips", "-e", "0.5"),
    ("query", BY, "-e", "0.5", "--key", "a"),
    ("query", BY, "-e", "0.5", "--key", "a", "--stored"),
    ("query", "SELECT MEDIAN(dose) AS m FROM trips", "-e", "0.5"),
    (
        "query",
        "SELECT SUM(CLAMP(CAST(ward AS DOUBLE), 0, 1)) AS s FROM trips",
        "-e",
        "1",
    ),
    ("query", "SELECT COUNT(*) AS n FROM trips WHERE dose / 0 > 1", "-e", "0.5"),
    ("query", "SELECT dose FROM trips", "-e", "0.5"),
    ("query", "SELECT COUNT(*) AS n FROM trips", "-e", "500"),
    ("query", BY, "-e", "0.25", "--key", "a"),
    ("synth", "-e", "1", "--plan"),
    ("synth", "-e", "1", "-d", "1e-6", "-o", "rows.csv", "--rows", "5"),
    ("budget",),
    ("verify", "trips.budget.db"),
    ("plot", "error", BY, "-o", "error.svg"),
    ("account", "--gaussian", "2", "-d", "1e-6"),
]
FEW = (4, 9, 14)
# Whether they are printed is up to the released intervals.
WIDE = re.compile(r"(An interval as wide|Or the file spells its values).*?\n")


def masked(value, inside=False):
    """Return JSON with the numbers of its rows replaced by their type."""
    if isinstance(value, dict):
        found = {k: masked(v, inside or k == "rows") for k, v in value.items()}
        if "measured" in found:  # which pairs were chosen is a release
            found["measured"] = "<released>"
        return found
    if isinstance(value, list):
        return [masked(each, inside) for each in value]
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return "<number>" if inside and (number or value is None) else value


def texts(folder: Path) -> str:
    """Return the files that commands wrote, but for those that hold noise."""
    noisy = ("trips.csv", "rows.csv", "trips.budget.db")
    there = sorted(each.name for each in folder.iterdir() if each.is_file())
    return repr(there) + files(folder, but=noisy)


class Project:
    """A folder with a CSV file, in which commands run."""

    def __init__(self, folder, monkeypatch, commands):
        self.folder, self.monkeypatch, self.number = folder, monkeypatch, 100
        self.commands = commands
        (folder / "tmp").mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp"))

    def leaving(self, line):
        """Return what leaves by each command, and all bytes that were written."""
        self.number += 1
        place = self.folder / f"p{self.number}"
        place.mkdir()
        self.monkeypatch.chdir(place)
        text = HEADER + "".join(LINES[:40]) + line + "".join(LINES[41:])
        (place / "trips.csv").write_text(text)
        os.utime(place / "trips.csv", (1_700_000_000, 1_700_000_000))
        (place / "hush.toml").write_text(TOML)
        found, all_bytes = {}, []
        for at, command in enumerate(self.commands):
            self.one(Shop(place), at, command, found, all_bytes)
        found["files"] = texts(place)
        all_bytes.append(files(place, self.folder / "tmp", but=("trips.csv",)))
        clean = {n: t.replace(str(place), "<folder>") for n, t in found.items()}
        return clean, all_bytes

    def one(self, shop, at, command, found, all_bytes):
        name = f"{at} {command[0]}"
        done = shop.run(*command, "--debug")
        all_bytes.append(done.output)
        found[f"{name}: code"] = str(done.exit_code)
        found[f"{name}: remarks"] = WIDE.sub("", done.stderr)
        if command[0] not in ("query", "synth"):
            found[f"{name}: printed"] = done.stdout
        if command[0] in ("plot", "init"):
            return
        more = ["--force"] if "rows.csv" in command else []
        again = shop.run(*command, *more, "--json")
        all_bytes.append(again.output)
        found[f"{name}: json"] = json.dumps(masked(json.loads(again.stdout)))
        found[f"{name}: json code"] = str(again.exit_code)


def compared(project, names):
    (first, _), (again, _) = project.leaving(SAME), project.leaving(SAME)
    found, cases = {}, 0
    for name in names:
        other, written = project.leaving(NEIGHBORS[name])
        cases += len(other)
        for channel, apart in differing(first, again, other).items():
            found[name, channel] = apart
        if name == "canary":
            for text in written:
                if canary.hits(text):
                    found["found", text[:60]] = str(canary.hits(text))
    return found, cases


def test_commands_tell_nothing_about_one_line(tmp_path, monkeypatch):
    few = [COMMANDS[at] for at in FEW]
    found, cases = compared(Project(tmp_path, monkeypatch, few), ["canary"])
    assert found == {}
    assert cases > 10


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_no_command_tells_anything_about_one_line(tmp_path, monkeypatch, part):
    names = [name for i, name in enumerate(NEIGHBORS) if i % 3 == part]
    found, cases = compared(Project(tmp_path, monkeypatch, COMMANDS), names)
    assert found == {}
    assert cases > 200


def test_neighbors_of_the_same_length_have_the_same_length():
    for name, line in NEIGHBORS.items():
        assert (len(line) == len(SAME)) == name.startswith("same length")
