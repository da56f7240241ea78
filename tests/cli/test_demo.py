"""`hush demo` through its real entry point, and the report that it writes."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from hush.cli.demo.page import Axis


def without_matplotlib(*arguments):
    """Run the command as the default install would: pictures are an extra."""
    code = (
        "import sys; sys.modules['matplotlib'] = None; from hush.cli import main; "
        f"sys.argv = ['hush', *{arguments!r}]; main()"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two demos, one of them in a process of its own."""
    from shop import Shop

    found = []
    for i in range(2):
        shop = Shop(tmp_path_factory.mktemp("demo"))
        folder = shop.folder / "demo"
        if i:
            text = shop.run("demo", "--folder", folder, "--json").stdout
        else:
            text = without_matplotlib("demo", "--folder", str(folder), "--json")
        found.append((json.loads(text), folder))
    return found


def rows(run):
    return [row for a in run["answers"] for p in a["panels"] for row in p["rows"]]


def test_answers_move_between_runs_stay_near_the_truth_and_one_is_refused(runs):
    assert len({rows(run)[0]["value"] for run, _ in runs}) == 2
    for run, _ in runs:
        for each in rows(run):
            # Ten widths are left by noise with probability below 1e-9.
            reach = 10 * (each["high"] - each["low"])
            assert abs(each["value"] - each["truth"]) < reach
            assert each["low"] <= each["value"] <= each["high"]
        assert "needs epsilon 0.75" in run["refused"]
        assert "whole, all anchored" in run["ledger"]


def test_most_intervals_hold_the_truth(runs):
    found = [each for run, _ in runs for each in rows(run)]
    inside = sum(each["low"] <= each["truth"] <= each["high"] for each in found)
    # Of 62 intervals at 95 %, fewer than 42 hold with probability below 1e-9.
    assert len(found) == 62
    assert inside >= 42


def test_the_report_needs_nothing_else_and_is_light_or_dark(runs):
    run, folder = runs[0]
    text = (folder / "report.html").read_text()
    assert "prefers-color-scheme:dark" in text
    for outside in ("http://", "https://", "src=", "<script", "@import", "url("):
        left = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert outside not in left
    for asked in run["answers"]:
        assert asked["title"] in text
        assert asked["receipt"] in text
    for words in ("What is protected", "At what cost", "refused", "<figcaption>"):
        assert words in text


def drawings(folder):
    text = (folder / "report.html").read_text()
    for part in text.split("<svg")[1:]:
        yield ET.fromstring("<svg" + part.partition("</svg>")[0] + "</svg>")


def test_no_two_labels_of_a_chart_overlap_or_leave_it(runs):
    for _, folder in runs:
        for drawing in drawings(folder):
            wide, high = map(float, drawing.get("viewBox").split()[2:])
            boxes = [box(each) for each in drawing.iter() if each.tag.endswith("text")]
            assert len(boxes) >= 6
            for i, (x1, y1, x2, y2, one) in enumerate(boxes):
                assert 0 <= x1 <= x2 <= wide, one
                assert 0 <= y1 <= y2 <= high, one
                for a1, b1, a2, b2, two in boxes[:i]:
                    apart = x2 <= a1 or a2 <= x1 or y2 <= b1 or b2 <= y1
                    assert apart, (one, two)


def box(label):
    """Return the rectangle of a text in a wide font: 0.62 of its size per letter."""
    size = 12 if "small" in label.get("class") else 13
    width = 0.62 * size * len(label.text)
    x, y = float(label.get("x")), float(label.get("y"))
    shift = {"start": 0, "middle": width / 2, "end": width}[label.get("text-anchor")]
    return x - shift, y - 0.8 * size, x - shift + width, y + 0.2 * size, label.text


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    from shop import Shop

    shop = Shop(tmp_path)
    (tmp_path / "thesis.txt").write_text("years of work")
    done = shop.run("demo", "--folder", tmp_path)
    assert done.exit_code == 1
    assert "--folder" in done.stderr
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_demo_replaces_an_earlier_one(runs):
    from shop import Shop

    _, folder = runs[1]
    done = Shop(folder.parent).run("demo", "--folder", folder)
    assert done.exit_code == 0, done.output
    for words in ("1. How many trips", "95 % interval", "Budget:", "Report: "):
        assert words in done.stdout
    (folder / "mine.txt").write_text("x")
    assert Shop(folder.parent).run("demo", "--folder", folder).exit_code == 1


@pytest.mark.parametrize("ends", [(0, 47), (-3.2, 3.2), (0, 1e6), (0.001, 0.0042)])
def test_ticks_are_round_inside_and_not_too_many(ends):
    ticks = Axis(*ends, 0, 100).ticks(5)
    assert 2 <= len(ticks) <= 6
    assert all(ends[0] - 1e-9 <= each <= ends[1] + 1e-9 for each in ticks)


def test_an_unknown_command_is_refused(tmp_path):
    from shop import Shop

    done = Shop(tmp_path).really("nonsense")
    assert done.returncode == 2
    assert "No such command" in done.stderr
