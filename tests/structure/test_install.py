"""The default install is enough for files and plain columns, and says what is not."""

import json
import os
import subprocess
import sys

import pytest

# Packages that only extras bring; importing one is an error, as if it were not there.
EXTRAS = ("pandas", "polars", "pyarrow", "pyarrow_hotfix", "psycopg", "pyspark")
WITHOUT = f"""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""

FILES = """
import duckdb, hush
trips = "SELECT i % 900 AS who, ['north', 'south'][1 + i % 2] AS side, "
trips += "i % 80 AS fare, DATE '2026-01-01' + (i % 3)::INT AS day FROM range(9000) t(i)"
duckdb.sql(f"COPY ({trips}) TO 'trips.parquet'")
duckdb.sql(f"COPY ({trips}) TO 'trips.csv'")
with duckdb.connect("trips.duckdb") as made:
    made.execute(f"CREATE TABLE trips AS {trips}")
"""

QUESTIONS = """
types = {"who": "number", "fare": "number", "day": "date"}
given = {"trips.parquet": None, "trips.csv": types, "trips.duckdb/trips": None}
fare = {"bounds": (0, 80)}
for source, types in given.items():
    budget = hush.Budget(epsilon=1e9, delta=1e-3)
    data = hush.open(source, unit="who", rows=10, types=types, budget=budget)
    data = data.join({"side": ["north", "south"], "far": [True, False]}, on="side")
    query = data.group_by("side", keys=["south", "north"]).agg(
        n=hush.count(), mean=hush.mean("fare", **fare), top=hush.max("fare", **fare),
        spread=hush.std("fare", **fare), half=hush.median("fare", **fare),
        seen=hush.histogram("fare", edges=[0, 40, 80]), days=hush.count_distinct("day"),
        often=hush.mode("side", values=["north", "south"]),
        total=hush.sum("fare", **fare))
    answer = query.release(epsilon=1e7)
    assert [round(n) for n in answer.to_dict()["n"]] == [4500, 4500], answer
    assert "n_low" in str(answer) and "<table>" in answer._repr_html_()
    found = data.group_by("day", keys="private").agg(n=hush.count())
    found = found.release(epsilon=1e7, delta=1e-4)
    days = [str(day) for day in found.to_dict()["day"]]
    assert days == ["2026-01-01", "2026-01-02", "2026-01-03"], days
    capped = hush.open(source, unit="who", rows=3, groups=1, types=types, budget=budget)
    sides = capped.group_by("side", keys=["south", "north"])
    sides.agg(n=hush.count()).release(epsilon=9)
    shown = data.sql(
        "SELECT side, COUNT(*) AS n FROM trips GROUP BY side HAVING n > 10 ORDER BY 1",
        epsilon=1e7, keys={"side": ["south", "north"]})
    assert shown.to_dict()["side"] == ["north", "south"], shown
ring = {"a": range(500), "b": [*range(1, 500), 0]}
graph = hush.open_graph(ring, ends=("a", "b"), budget=hush.Budget(epsilon=9), degree=2)
assert abs(graph.edges(epsilon=5).values[0] - 500) < 100
"""


MISSING = {
    "answer.to_arrow()": "arrow",
    "answer.to_pandas()": "pandas",
    "answer.to_polars()": "polars",
    "hush.open('postgresql://host/db/public.t', budget=budget)": "postgres",
    "hush.open(frame('pandas'), budget=budget)": "pandas",
    "hush.open(frame('polars'), budget=budget)": "polars",
    "hush.open(frame('polars', 'collect'), budget=budget)": "polars",
    "hush.open(frame('pyspark', 'createOrReplaceTempView'), budget=budget)": "spark",
    "hush.open(frame('pyarrow'), budget=budget)": "arrow",
}

REFUSALS = f"""
import hush, json
budget = hush.Budget(epsilon=1)
def frame(library, *methods):
    return type("Frame", (), dict(dict.fromkeys(methods), __module__=library))()
data = hush.open({{"x": [1, 2]}}, budget=budget)
answer = data.agg(n=hush.count()).release(epsilon=0.5)
said = {{}}
for code in {list(MISSING)!r}:
    try:
        eval(code)
    except hush.errors.Unsupported as problem:
        said[code] = str(problem)
print(json.dumps(said))
"""


@pytest.fixture
def run(root, tmp_path):
    """Run code in an empty folder, without what only extras bring; return its words."""

    def ran(code):
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT + code],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(root / "src")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return ran


def test_files_and_columns_need_no_frame_library(run):
    run(FILES + QUESTIONS)


def test_the_command_line_needs_no_frame_library(run):
    run(
        FILES
        + "from typer.testing import CliRunner; from hush.cli import app\n"
        + "init = ['init', 'trips.parquet', '--unit', 'who']\n"
        + "plan = ['plan', 'SELECT COUNT(*) AS n FROM trips', '-e', '0.5']\n"
        + "for words in (init, plan):\n"
        + "    said = CliRunner().invoke(app, words)\n"
        + "    assert said.exit_code == 0, said.output\n"
    )


def test_what_is_missing_is_named_with_its_extra(run):
    said = json.loads(run(REFUSALS))
    for code, extra in MISSING.items():
        assert f"pip install 'hush[{extra}]'" in said[code], code


def test_the_block_works(run):
    # Without it the tests above would prove nothing.
    with pytest.raises(AssertionError, match="No module named 'pandas'"):
        run("import pandas")
