"""What a person at a terminal sees: progress, help and completion."""

import os
import pty
import subprocess
import sys

from typer.testing import CliRunner

from hush.cli import app
from shop import COUNT


def at_a_terminal(shop, *arguments):
    """Run with a terminal for standard error; return the result and what it showed."""
    master, slave = pty.openpty()
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TERM": "xterm",
        "COLUMNS": "100",
    }
    with subprocess.Popen(
        [sys.executable, "-m", "hush.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=slave,
        cwd=shop.folder,
        env=env,
        text=True,
    ) as process:
        os.close(slave)
        shown = b""
        try:
            while piece := os.read(master, 65536):
                shown += piece
        except OSError:  # the other end is closed
            pass
        text = process.stdout.read()
        assert process.wait(120) == 0
    os.close(master)
    return text, shown.decode("utf-8", "replace")


def test_progress_is_shown_to_people_and_only_to_them(shop):
    text, shown = at_a_terminal(shop, "query", COUNT, "-e", 0.1)
    assert "asking the data" in shown
    assert "asking the data" not in text
    _, shown = at_a_terminal(shop, "query", COUNT, "-e", 0.1, "--quiet")
    assert shown == ""
    assert "asking" not in shop.run("query", COUNT, "-e", 0.1).stderr  # no terminal


def test_the_demo_shows_how_far_it_is(shop):
    _, shown = at_a_terminal(shop, "demo")
    assert "building a town" in shown
    assert (shop.folder / "demo" / "report.html").exists()


def test_help_names_every_command_and_gives_examples(shop):
    shown = shop.run("--help").stdout
    for name in ("demo", "init", "plan", "query", "budget", "account", "audit"):
        assert name in shown
    assert "Example: hush query" in shop.run("query", "--help").stdout
    assert shop.run("--version").stdout.startswith("hush ")


def test_commands_are_completed_by_the_shell():
    env = {
        "_HUSH_COMPLETE": "complete_bash",
        "COMP_WORDS": "hush qu",
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_TESTING": "True",
    }
    done = CliRunner().invoke(app, [], prog_name="hush", env=env)
    assert done.stdout.split() == ["query"]
