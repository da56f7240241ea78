"""What does not fit into memory is written where nobody else can read, and removed."""

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import hush
from hush.tables.engines import duckdb as embedded


def directory(connection):
    ((found,),) = connection.con.execute(
        "SELECT current_setting('temp_directory')"
    ).fetchall()
    return Path(found)


def sources(tmp_path):
    (tmp_path / "a.csv").write_text("u,x\n1,2\n")
    yield {"u": [1, 2]}
    yield tmp_path / "a.csv"
    import duckdb
    import pyarrow

    yield pyarrow.table({"u": [1, 2]})
    with duckdb.connect(tmp_path / "a.duckdb") as made:
        made.execute("CREATE TABLE t AS SELECT 1 AS u")
    yield f"{tmp_path}/a.duckdb/t"


def test_every_embedded_engine_spills_into_a_private_folder(tmp_path):
    for given in sources(tmp_path):
        data = hush.open(given, unit="u", rows=1, budget=hush.Budget(epsilon=1))
        found = directory(data._table.get_backend())
        assert found == Path(embedded.spill_folder())
        assert stat.S_IMODE(found.stat().st_mode) == 0o700


def test_two_files_that_meet_spill_there_too(tmp_path):
    (tmp_path / "a.csv").write_text("u,x\n1,2\n")
    (tmp_path / "b.csv").write_text("u,y\n1,2\n")
    budget = hush.Budget(epsilon=1)
    one = hush.open(tmp_path / "a.csv", unit="u", rows=1, budget=budget)
    two = hush.open(tmp_path / "b.csv", unit="u", rows=1, ledger=one.ledger)
    met = one.join(two, on="u")
    assert directory(met._table.get_backend()) == Path(embedded.spill_folder())


PROGRAM = """
import os, signal, sys
import duckdb, hush
from hush.tables.engines import duckdb as embedded, files
from hush.tables.engines import duckdb as spill
connection = embedded.connect()
connection.raw_sql("SET memory_limit = '40MB'")
connection.raw_sql("SET threads = 1")
files.lock(connection)
connection.raw_sql(
    "CREATE TEMPORARY TABLE z AS SELECT md5(range::VARCHAR) AS x FROM range(1500000)"
)
print(spill.spill_folder(), len(os.listdir(spill.spill_folder())), flush=True)
if sys.argv[1] == "crash":
    os.kill(os.getpid(), signal.SIGKILL)
"""


def ran(tmp_path, how):
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir(exist_ok=True)
    (tmp_path / "work").mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, how],
        cwd=tmp_path / "work",
        env=environment,
        capture_output=True,
        text=True,
    )
    place, files = done.stdout.splitlines()[-1].split()
    assert int(files) > 1, done.stderr  # it did spill
    assert not list((tmp_path / "work").iterdir())  # and nowhere else
    return Path(place)


def test_nothing_stays_behind_after_a_run_or_after_the_crash_before_it(tmp_path):
    left = ran(tmp_path, "crash")
    assert left.is_dir()
    done = ran(tmp_path, "ends")
    assert not done.exists()
    assert not left.exists()
    assert not list((tmp_path / "tmp").glob("hush-spill-*"))


def test_only_folders_of_the_dead_are_removed(tmp_path, monkeypatch):
    own = Path(embedded.spill_folder())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kept = tmp_path / "hush-spill-link"
    other = tmp_path / "other"
    other.mkdir()
    (other / "alive").write_text("")
    kept.symlink_to(other)
    dead = tmp_path / "hush-spill-dead"
    dead.mkdir()
    (dead / "alive").write_text("")
    (dead / "rows.tmp").write_text("private")
    embedded.remove_left_behind()
    assert not dead.exists()
    assert (other / "alive").exists()
    monkeypatch.setattr(tempfile, "tempdir", str(own.parent))
    embedded.remove_left_behind()
    assert own.is_dir()


def test_without_locks_nothing_is_spilled(monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    assert embedded.spill_folder() == ""
    ((found,),) = (
        embedded.connect()
        .con.execute("SELECT current_setting('temp_directory')")
        .fetchall()
    )
    assert found == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_child_does_not_remove_the_folder_of_its_parent():
    own = Path(embedded.spill_folder())
    code = (
        "import os; from hush.tables.engines import duckdb as spill\n"
        "place = spill.spill_folder()\n"
        "if os.fork() == 0: raise SystemExit\n"
        "os.wait(); print(os.path.isdir(place), place)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True
    )
    there, place = done.stdout.split()
    assert there == "True"
    assert not Path(place).exists()
    assert own.is_dir()
