"""A folder with a table about drivers and a hush.toml that is filled in."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from hush.cli import app

CANARY, SECRET = "CANARY-7q3zk9w", 8123456789
TOML = """\
[data]
source = "trips.parquet"
name = "trips"
unit = "driver"
rows = 4

[budget]
epsilon = 2.0
delta = 1e-5

[ledger]
url = "sqlite:///trips.budget.db"

[columns.borough]
keys = ["Bronx", "Kings"]

[columns.fare]
bounds = [0, 60]

[columns.zone]
keys = "private"
"""
COUNT = "SELECT COUNT(*) AS n FROM trips"
BY = "SELECT borough, COUNT(*) AS n, AVG(fare) AS fare FROM trips GROUP BY borough"


def left(shown):
    """Return what is left by account, of what `hush budget --json` prints."""
    return {each["account"]: each["left"] for each in shown["accounts"]}


@dataclass(frozen=True)
class Shop:
    """A folder, and commands that run in it."""

    folder: Path

    def run(self, *arguments: object, input: str | None = None):
        """Run in this process: fast, and the environment is the test's."""
        given = [str(each) for each in arguments]
        return CliRunner().invoke(app, given, env={"COLUMNS": "100"}, input=input)

    def json(self, *arguments: object, code: int = 0):
        done = self.run(*arguments, "--json")
        assert done.exit_code == code, done.output
        return json.loads(done.stdout)

    def really(self, *arguments: object):
        """Run the real entry point in a process of its own."""
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "src")}
        return subprocess.run(
            [sys.executable, "-m", "hush.cli", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=self.folder,
            env=env,
        )

    def edit(self, old: str, new: str) -> None:
        path = self.folder / "hush.toml"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def spent(self) -> float:
        """Return what the ledger has charged; 0 where there is none."""
        if not (self.folder / "trips.budget.db").exists():
            return 0.0
        return self.json("budget")["accounts"][0]["spent"]


def table():
    """Return 4,000 trips of 1,000 drivers, in one of which the canaries sit."""
    import pyarrow

    count = 4000
    return pyarrow.table(
        {
            "driver": [i % 1000 for i in range(count - 1)] + [SECRET],
            "borough": [*(["Bronx", "Kings", "Queens", "Kings"] * 1000)[:-1], CANARY],
            "fare": [float(i % 50) for i in range(count - 1)] + [float(SECRET)],
            "zone": [i % 7 for i in range(count - 1)] + [SECRET],
        }
    )
