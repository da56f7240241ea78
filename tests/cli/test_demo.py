"""`hush demo` through its real entry point."""

import json
import subprocess
import sys
from pathlib import Path

HUSH = str(Path(sys.executable).parent / "hush")


def hush(*arguments):
    return subprocess.run(
        [HUSH, *arguments], capture_output=True, text=True, timeout=60
    )


def test_the_demo_prints_private_answers_their_bars_and_their_cost():
    done = hush("demo")
    assert done.returncode == 0, done.stderr
    for words in ("visits (north)", "minutes", "95 % interval", "ε = 0.5", "left of"):
        assert words in done.stdout


def test_demo_answers_move_between_runs_stay_near_the_truth_and_are_refused_last():
    runs = [json.loads(hush("demo", "--json").stdout) for _ in range(3)]
    assert len({tuple(a["answer"] for a in run["answers"]) for run in runs}) == 3
    for run in runs:
        for each in run["answers"]:
            # Ten widths are left by noise with probability below 1e-9.
            reach = 10 * (each["high"] - each["low"])
            assert abs(each["answer"] - each["truth"]) < reach
            assert each["low"] < each["answer"] < each["high"]
        assert "epsilon 0.1 left" in run["budget"]
        assert "needs epsilon 0.5" in run["refused"]


def test_an_unknown_command_is_refused():
    done = hush("nonsense")
    assert done.returncode == 2
    assert "No such command" in done.stderr
