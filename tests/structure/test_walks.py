"""How many files and functions a reader passes on the way of one call.

`walk.py` counts them, each walk in a process of its own, at its first call. A walk may
shrink, never grow: what is passed today stands here beside the goals.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Files and depth that are passed today, and the goals.
WALKS = {
    "public": ((36, 17), (40, 15)),
    "private": ((48, 29), (48, 15)),
    "query": ((55, 19), (55, 15)),
    "ledger": ((27, 15), (28, 15)),
    "training": ((13, 15), (18, 15)),
    "number": ((8, 10), (9, 15)),
}


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_grows_no_longer(name):
    script = Path(__file__).with_name("walk.py")
    done = subprocess.run(
        [sys.executable, str(script), name], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    (files, depth), _ = WALKS[name]
    assert len(found["files"]) <= files, found["files"]
    assert len(found["calls"]) <= depth, found["calls"]
    assert len(found["files"]) > files - 3, "the walk is shorter now: say so here"
