"""Running processes that die, and checking what they leave behind."""

import collections
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hush.ledger import Ledger
from ledger.toys import Die, Total

_HERE = Path(__file__).parent
_SOURCE = _HERE.parents[1] / "src"


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(_SOURCE), str(_HERE.parent)])
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def start(script: str, *arguments: object, **more: Any) -> "subprocess.Popen[Any]":
    command = [sys.executable, str(_HERE / script), *map(str, arguments)]
    return subprocess.Popen(command, env=environment(), **more)


def storm(
    url: str, log: Path, *, seconds: float, least: dict[str, int], **job: float
) -> None:
    """Let four workers release keys for a while, killed inside and from outside."""
    job = {"workers": 4, "keys": 60, "chance": 0.02, "cost": 0.1, "outside": 0.1, **job}
    job |= {"seconds": seconds, "least": least}
    text = json.dumps({"url": url, "log": str(log), **job})
    assert start("worker.py", text).wait(10 * seconds + 120) == 0


def settle(url: str, log: Path, keys: int, cost: float) -> dict[str, str]:
    """Resume what is pending, then check I1-I6; return each key's answer."""
    lines = log.read_text().splitlines() if log.exists() else []
    shown = collections.defaultdict(set)
    for line in lines:
        words = line.split()
        if words[0] == "release":
            shown[words[1]].add(words[2])
    with Ledger.open(url) as ledger:  # verifies the chain, the sums and the anchor
        charged = [e for e in ledger.history() if e.kind == "reserve"]
        stored = {
            each.key: str(each.content["values"])
            for each in ledger.history()
            if each.kind == "seal"
        }
        waiting = ledger.pending()
        for each in waiting:
            again = ledger.release(Die(cost), Total(), [1, 1], each.key)
            stored[each.key] = str(again.values)
        assert not ledger.pending(), "no budget is lost to a crash"
        left = ledger.remaining().accounts[0]
        limit, spent = left.limits[0], left.spent_exact[0]
        assert ledger.verify()
    names = [each.key for each in charged]
    assert len(names) == len(set(names)), "one charge per key"
    assert all(len(each) == 1 for each in shown.values()), "one answer per key"
    assert {k: next(iter(v)) for k, v in shown.items()}.items() <= stored.items(), (
        "what was shown is what is stored"
    )
    assert set(shown) <= set(names), "nothing is released without a charge"
    assert spent <= limit
    assert len(names) <= keys
    assert float(spent) == round(len(names) * cost, 9), "the sum is that of the charges"
    return stored
