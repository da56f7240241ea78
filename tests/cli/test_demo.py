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
    assert done.returncode == 0
    for words in (
        "How many people?",
        "Mean age?",
        "95 % interval",
        "Total cost: ε = 1",
    ):
        assert words in done.stdout


def test_demo_answers_differ_between_runs_and_stay_inside_their_bars():
    runs = [json.loads(hush("demo", "--json").stdout)["answers"] for _ in range(3)]
    assert len({tuple(each["answer"] for each in run) for run in runs}) > 1
    for run in runs:
        for each in run:
            # Ten times the 95 % bar is left with probability below 1e-9.
            reach = 10 * (each["high"] - each["low"])
            assert abs(each["answer"] - each["truth"]) < reach
            assert each["low"] < each["answer"] < each["high"]


def test_an_unknown_command_is_refused():
    done = hush("nonsense")
    assert done.returncode == 2
    assert "No such command" in done.stderr
