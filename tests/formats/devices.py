"""What is stored beside ledgers: reports of devices, checkpoints, a folder of hush."""

import base64
import contextlib
import json
import shutil
import warnings

import numpy as np

from formats import models
from formats.exact import exact, tried
from hush import local

ORACLES = {
    "RandomizedResponse": lambda: local.RandomizedResponse(1.0, size=4),
    "UnaryEncoding": lambda: local.UnaryEncoding(1.0, size=4),
    "LocalHashing": lambda: local.LocalHashing(1.0, size=4),
    "HadamardResponse": lambda: local.HadamardResponse(1.0, size=4),
    "SubsetSelection": lambda: local.SubsetSelection(1.0, size=4),
    "LaplaceMean": lambda: local.LaplaceMean(1.0),
    "DuchiMean": lambda: local.DuchiMean(1.0),
    "PiecewiseMean": lambda: local.PiecewiseMean(1.0),
    "HybridMean": lambda: local.HybridMean(1.0),
    "VectorMean": lambda: local.VectorMean(1.0, dimension=3),
    "HeavyHitters": lambda: local.HeavyHitters(2.0, bits=4, step=2),
}


def _values(name):
    if name == "VectorMean":
        return np.linspace(-0.5, 0.5, 60).reshape(20, 3)
    if name.endswith("Mean"):
        return np.linspace(-1, 1, 60)
    return np.arange(60) % 4


def reports():
    """Return a message of every local randomizer, as text."""
    found = {}
    for name, make in ORACLES.items():
        message = make().encode(_values(name)).to_bytes()
        found[name] = base64.b64encode(message).decode()
    return found


def collected(name, text):
    """Return what a collector makes of a message."""
    oracle = ORACLES[name]()
    found = oracle.collect([base64.b64decode(text)])
    said = {"reports": repr(found), "rows": exact(found.rows), "seeded": found.seeded}
    if name == "HeavyHitters":
        return {**said, "found": repr(oracle.find(found))}
    estimate = oracle.estimate(found)
    return {
        **said,
        "estimate": repr(estimate),
        "value": exact(estimate.value),
        "std": tried(lambda: estimate.std),
        "interval": tried(lambda: estimate.interval(0.95)),
    }


class _Killed(Exception):
    """Stands for a process that dies."""


@contextlib.contextmanager
def _killed_after(saves):
    """Let a run die after so many written states."""
    from hush.learn.sgd.checkpoint import Checkpoint

    save, left = Checkpoint.save, [saves]

    def saving(self, state):
        save(self, state)
        left[0] -= 1
        if not left[0]:
            raise _Killed

    Checkpoint.save = saving
    try:
        yield
    except _Killed:
        pass
    finally:
        Checkpoint.save = save


def train(path):
    """Train from a checkpoint, or resume it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a finished run trains nothing
        return models.trained("poisson", 600, checkpoint=path)(None, None)


def checkpoints(folder):
    """Write a finished run, and one that was killed on its way."""
    train(folder / "finished.npz")
    with _killed_after(2):
        train(folder / "half.npz")
    for lock in folder.glob("*.lock"):
        lock.unlink()


def resumed(folder, scratch):
    """Return what is read from the checkpoints; new noise is left out."""
    found = {}
    for name in ("finished", "half"):
        path = scratch / f"{name}.npz"
        shutil.copy(folder / path.name, path)
        run = train(path)
        found[name] = {"resumed_from": run.resumed_from, "steps": run.steps}
        if name == "finished":
            found[name] |= {"params": exact(run.params), "average": exact(run.average)}
    return found


TABLE = "driver,borough,fare\n" + "".join(
    f"{i % 50},{('Bronx', 'Kings')[i % 2]},{i % 30}.5\n" for i in range(200)
)
KNOWN = """\
[data]
source = "trips.csv"
name = "trips"
unit = "driver"
rows = 4

[budget]
epsilon = 3.0
delta = 1e-5

[ledger]
url = "sqlite:///budget.db"

[columns.driver]
type = "number"

[columns.borough]
keys = ["Bronx", "Kings"]

[columns.fare]
type = "number"
bounds = [0, 60]
"""
STATEMENTS = {
    "all": "SELECT COUNT(*) AS n FROM trips",
    "by": "SELECT borough, COUNT(*) AS n, AVG(fare) AS m FROM trips GROUP BY borough",
}


def command(folder, *arguments):
    """Run the command line in a folder; return its exit code and JSON."""
    from typer.testing import CliRunner

    from hush.cli import app

    with contextlib.chdir(folder):
        done = CliRunner().invoke(app, [*arguments, "--json"], env={"COLUMNS": "100"})
    try:
        return [done.exit_code, json.loads(done.stdout)]
    except ValueError:
        return [done.exit_code, done.output]


def project(folder):
    """Write a folder as the command line does: settings, a ledger, an answer."""
    (folder / "trips.csv").write_text(TABLE)
    command(folder, "init", "trips.csv", "--unit", "driver", "-o", "initial.toml")
    (folder / "hush.toml").write_text(KNOWN)
    for key, text in STATEMENTS.items():
        found = command(folder, "query", text, "-e", "0.5", "--key", key)
        (folder / f"{key}.json").write_text(json.dumps(found[1]) + "\n")
    for name in ("budget.db", "budget.db.anchor"):  # databases are not checked in
        (folder / name).rename(folder / name.replace(".db", ".sqlite"))


def commanded(folder, scratch):
    """Return what the command line says in a copy of such a folder."""
    place = scratch / "project"
    shutil.copytree(folder, place)
    for name in ("budget.sqlite", "budget.sqlite.anchor"):
        (place / name).rename(place / name.replace(".sqlite", ".db"))
    found = {
        f"stored {key}": command(
            place, "query", text, "-e", "0.5", "--key", key, "--stored"
        )
        for key, text in STATEMENTS.items()
    }
    for name in ("budget", "verify"):
        found[name] = command(place, name)
    for key in STATEMENTS:
        found[f"drawn {key}"] = command(
            place, "plot", "release", f"{key}.json", "-o", f"{key}.svg"
        )
    return found
