"""Private modules may be renamed: what is stored is read all the same."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from formats import ledgers, reading, renamed

HERE = Path(__file__).parent
COMMITS = ("8ffd95c", "e8f2bba")


@pytest.fixture(scope="session")
def tree(root, tmp_path_factory):
    """Return a copy of the sources in which every private module is called anew."""
    place = tmp_path_factory.mktemp("renamed")
    new = renamed.copy(root / "src", place)
    assert len(new) > 100
    return place


def read(tree, commit, name):
    """Return what the renamed code reads from a ledger or a text."""
    done = subprocess.run(
        [sys.executable, str(HERE / "reading.py"), HERE / "written" / commit, name],
        env={**os.environ, "PYTHONPATH": str(tree), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)[name]


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", [*ledgers.LEDGERS, *reading.TEXTS])
@pytest.mark.parametrize("commit", COMMITS)
def test_a_renamed_tree_reads_it(commit, name, tree):
    folder = HERE / "written" / commit
    assert not reading.wrong(folder, name, read(tree, commit, name))


def test_nothing_of_the_old_names_is_left(tree):
    code = "import hush.ledger, sys; print(hush.__file__, *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=True,
    )
    place, *modules = done.stdout.split()
    assert place.startswith(str(tree))
    assert "hush.ledger.release" not in modules
