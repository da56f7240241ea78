"""How many files and functions a reader passes on the way of one call.

`walk.py` counts them, each walk in a process of its own, at its first call. A walk may
shrink, never grow: the files that are passed today stand here beside the goals. No
walk goes deeper than a reader can hold in mind.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Files that are passed today, and the goal.
WALKS = {
    "public": (36, 40),
    "private": (48, 48),
    "query": (55, 55),
    "ledger": (27, 28),
    "training": (13, 18),
    "number": (8, 9),
}
DEPTH = 15  # functions on the stack at once, on every walk


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_grows_no_longer(name):
    script = Path(__file__).with_name("walk.py")
    done = subprocess.run(
        [sys.executable, str(script), name], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    files, _ = WALKS[name]
    assert len(found["files"]) <= files, found["files"]
    assert len(found["calls"]) <= DEPTH, found["calls"]
    assert len(found["files"]) > files - 3, "the walk is shorter now: say so here"
