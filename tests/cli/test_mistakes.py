"""Mistakes with files and numbers: what is said, and that nothing is left behind."""

import math
import runpy
import subprocess
import sys

import pytest

from hush import Budget, Ledger
from hush.cli.session import error_line
from hush.errors import LedgerError
from hush.ledger.verify import Verdict
from shop import COUNT


def test_a_deleted_ledger_leaves_no_file_behind(shop):
    assert shop.run("query", COUNT, "-e", 0.5).exit_code == 0
    path = shop.folder / "trips.budget.db"
    path.unlink()
    for command in (("query", COUNT, "-e", 0.5), ("budget", "--open")):
        for _ in range(2):
            done = shop.run(*command)
            assert done.exit_code == 4
            assert "the ledger was deleted or replaced. Restore it" in done.stderr
            assert not path.exists()


def test_an_anchor_without_entries_does_not_stop_a_ledger(shop):
    with Ledger.open("sqlite:///b.db", budget=Budget(epsilon=1)):
        pass
    first = (shop.folder / "b.db.anchor").read_text().splitlines()[0]
    (shop.folder / "b.db").unlink()
    (shop.folder / "b.db.anchor").write_text(first + "\n")
    with Ledger.open("sqlite:///b.db", budget=Budget(epsilon=1)) as ledger:
        assert ledger.verify()


def test_a_file_that_is_no_database_is_called_that(shop):
    (shop.folder / "b.db").write_bytes(bytes(range(1, 250)) * 20)
    with pytest.raises(LedgerError, match=r"'b\.db' is not a ledger"):
        Ledger.open("sqlite:///b.db", budget=Budget(epsilon=1))


def test_a_whole_ledger_does_not_read_as_if_an_entry_were_missing(shop):
    assert shop.run("query", COUNT, "-e", 0.5).exit_code == 0
    assert shop.run("verify").stdout == "4 entries, whole, all anchored.\n"
    said = str(Verdict(4, anchored=1))
    assert said == "4 entries, whole, anchored up to entry 1 (the last is 3)"


def test_an_internal_error_is_told_where_no_data_is_read(shop, monkeypatch):
    assert shop.run("plan", COUNT, "-e", 1e-320).exit_code == 1  # said by name
    monkeypatch.setattr("hush.cli.plan_command.query_of", lambda *_: math.exp(1e4))
    done = shop.run("plan", COUNT, "-e", 1)
    assert done.exit_code == 70
    assert "internal error (OverflowError): " in done.stderr
    assert "withheld" not in done.stderr
    monkeypatch.setattr("hush.cli.plan_command.query_of", lambda *_: [][1])
    assert "its text is withheld" in shop.run("plan", COUNT, "-e", 1).stderr
    problem = ValueError("a value")
    assert "a value" not in error_line(problem)
    assert "a value" in error_line(problem, told=True)


def test_a_changed_file_says_what_a_data_version_is(shop):
    given = ("query", COUNT, "-e", 0.5, "--key", "monday")
    assert shop.run(*given).exit_code == 0
    path = shop.folder / "trips.parquet"
    path.write_bytes(path.read_bytes())
    done = shop.run(*given)
    assert done.exit_code == 4
    assert "data version (of a file its path, size and time of change)" in done.stderr
    assert "--stored shows the old answer" in done.stderr


def test_the_package_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "hush", "--version"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.startswith("hush ")


def test_the_module_runs_what_the_script_runs(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["hush", "--version"])
    with pytest.raises(SystemExit):
        runpy.run_module("hush", run_name="__main__")
    assert capsys.readouterr().out.startswith("hush ")
