"""Write every stored format with the code on the path, and what it reads from them.

Run as `python tests/formats/write.py FOLDER`, with PYTHONPATH at the code that shall
write. Nothing is written twice: fixtures of a commit stay as they are.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
# As in all tests: how many threads add up a sum decides its last digit.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

from formats import curves, devices, noise, office, reading
from formats.ledgers import LEDGERS, SERVED
from servers import _binaries as binaries
from servers import database, postgres


def ledgers(folder):
    """Write the SQLite ledgers; return what was refused in each."""
    refused = {}
    for name, kept in LEDGERS.items():
        with kept.open(f"sqlite:///{folder / name}.sqlite") as ledger:
            refused[name] = kept.fill(ledger)
    return refused


def texts(folder):
    """Write curves, mechanisms, releases, keys and reports as texts."""
    found = {name: each.to_json() for name, each in curves.every_curve().items()}
    _json(folder / "curves.json", found)
    found = {name: each.to_json() for name, each in noise.every_mechanism().items()}
    _json(folder / "mechanisms.json", found)
    _json(folder / "reports.json", devices.reports())
    (folder / "admin.pem").write_bytes(office.admin().to_pem())
    locked = office.admin().to_pem(office.PASSWORD)
    (folder / "admin.locked.pem").write_bytes(locked)


def releases(folder):
    """Write the releases of one ledger as texts of their own, one in a line."""
    lines = []
    with tempfile.TemporaryDirectory() as scratch:
        url = reading.copied(folder, "batches", Path(scratch))
        with LEDGERS["batches"].open(url) as ledger:
            for each in ledger.history():
                if each.kind == "seal":
                    lines.append(ledger.stored(each.key).to_json())
    (folder / "releases.jsonl").write_text("\n".join(lines) + "\n")


def served(folder, server):
    """Write ledgers to PostgreSQL and keep their dumps; return what they hold."""
    found = {}
    for name in SERVED:
        url, anchor = database(server, name), folder / f"{name}.postgres.anchor"
        with LEDGERS[name].open(url, anchor=anchor) as ledger:
            LEDGERS[name].fill(ledger)
        (folder / f"{name}.postgres.sql").write_text(_dump(url))
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch) / "anchor"
            shutil.copy(anchor, copy)
            found[f"{name}, postgres"] = reading.read_ledger(name, url, anchor=copy)
    return found


def _dump(url):
    """Return a database as SQL that any client can run, without owners."""
    command = [binaries()[0] / "pg_dump", "--inserts", "--no-owner", url]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # Commands of psql alone, and comments, are not for other clients.
    lines = done.stdout.splitlines()
    return "\n".join(each for each in lines if each[:1] != "\\" and each[:2] != "--")


def _json(path, found):
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def _lines(path, found):
    """Write what is expected with one line for each thing that can differ."""
    parts = []
    for name, kinds in found.items():
        inner = ",\n".join(
            f"{json.dumps(kind)}: {_members(said)}" for kind, said in kinds.items()
        )
        parts.append(f"{json.dumps(name)}: {{\n{inner}\n}}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def _members(said):
    if not isinstance(said, dict):
        return json.dumps(said)
    inner = ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in said.items())
    return "{\n" + inner + "\n}"


def main(place):
    """Write a folder that does not exist yet."""
    folder = Path(place).resolve()
    folder.mkdir(parents=True)
    refused = ledgers(folder)
    texts(folder)
    releases(folder)
    for name, make in (
        ("checkpoints", devices.checkpoints),
        ("project", devices.project),
    ):
        (folder / name).mkdir()
        make(folder / name)
    found = {}
    for name in (*LEDGERS, *reading.TEXTS):
        with tempfile.TemporaryDirectory() as scratch:
            found[name] = reading.read(folder, name, Path(scratch))
    with postgres() as server:
        found |= served(folder, server)
    made = {"versions": reading.versions(), "refused": refused}
    _lines(folder / "expected.json", {"made": made, **found})


if __name__ == "__main__":
    with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore")
        main(*sys.argv[1:])
