"""Follow one call of hush and print what a reader of it passes, as JSON.

`files` are the files of hush in which a function is entered, `depth` the largest number
of functions that stand on the stack at once. What runs while a module is loaded is not
part of a walk, and neither is what builds the arguments of the call. A function that
calls itself is one, and what is written inside of a function (a lambda, a
comprehension) belongs to it.
"""

import json
import pathlib
import sys
import tempfile

import hush
from hush import privacy
from hush.mechanisms import Laplace, count

ROWS = {"u": [1, 2, 3], "g": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]}
BUDGET = hush.Budget(epsilon=100, delta=1e-3)
AGGREGATES = {"n": hush.count(), "m": hush.mean("x", bounds=(0, 5))}
SQL = "SELECT g, COUNT(*) AS n, AVG(x) AS m FROM sales GROUP BY g"
TOML = """\
[data]
source = "sales.csv"
name = "sales"
unit = "u"
rows = 2
[budget]
epsilon = 2.0
[ledger]
url = "sqlite:///sales.budget.db"
[columns.u]
type = "number"
[columns.x]
type = "number"
bounds = [0, 5]
[columns.g]
keys = ["a", "b"]
"""
ROOT = str(pathlib.Path(hush.__file__).parent)
INNER = {"<lambda>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"}


def opened():
    return hush.open(ROWS, unit="u", rows=2, groups=2, budget=BUDGET)


def public():
    query = opened().group_by("g", keys=["a", "b"]).agg(**AGGREGATES)
    return lambda: query.release(epsilon=1)


def private():
    query = opened().group_by("g", keys="private").agg(**AGGREGATES)
    return lambda: query.release(epsilon=1, delta=1e-5)


def ledger():
    found = hush.Ledger.open("memory://", budget=BUDGET)
    noise, asked = Laplace(2.0), count()
    return lambda: found.release(noise, asked, [1, 2])


def training():
    one = privacy.poisson(privacy.GDP(1.0), rate=0.01)
    many = privacy.repeat(one, times=1000)
    return lambda: many.epsilon_at(1e-5)


def number():
    noise = Laplace(2.0)
    return lambda: noise.run(3.0)


def query():
    from typer.testing import CliRunner

    from hush.cli import app

    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "sales.csv").write_text("u,g,x\n1,a,1\n2,b,2\n3,a,3\n")
    (folder / "hush.toml").write_text(TOML)
    command = ["query", SQL, "-e", "0.5", "--config", str(folder / "hush.toml")]

    def run():
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output

    return run


def followed(call):
    """Run a call and return the files that it passes and its deepest stack."""
    files, stack, deepest, loading = set(), [], [], 0

    def look(frame, event, _):
        nonlocal deepest, loading
        code = frame.f_code
        if code.co_name == "<module>":
            loading += {"call": 1, "return": -1}.get(event, 0)
            return
        if loading or not code.co_filename.startswith(ROOT):
            return
        if event == "call":
            files.add(code.co_filename)
            stack.append(code)
            names = [c.co_qualname for c in stack if c.co_name not in INNER]
            if len(set(names)) > len(deepest):
                deepest = list(dict.fromkeys(names))
        elif event == "return":
            stack.pop()

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(each[len(ROOT) + 1 :] for each in files), deepest


if __name__ == "__main__":
    passed, calls = followed(globals()[sys.argv[1]]())
    print(json.dumps({"files": passed, "calls": calls}))
