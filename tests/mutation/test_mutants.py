"""Each textbook constant is held by a named test: with the constant changed, it fails.

The tree is copied, one edit is made in the copy, and the named test runs there. The
same test passes in the copy before any edit, so that what fails is the edit.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mutation.mutants import CONSTANTS, MUTANTS, Mutant

PASSED, FAILED = 0, 1  # exit codes of pytest; 2 and more: nothing was tested
FEW = [m for m in MUTANTS if m.was in ("0.56 * third", "return 4 * math.sqrt")]


class Copy:
    """A copy of the tree, in which a file may be edited for a while."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        self.passing: dict[str, bool] = {}
        ignored = shutil.ignore_patterns("__pycache__", "written")
        for name in ("src", "tests"):
            shutil.copytree(root / name, folder / name, ignore=ignored)
        shutil.copy(root / "pyproject.toml", folder)

    def outcome(self, test: str) -> int:
        """Return the exit code of one test, run on the copy alone."""
        environment = os.environ | {
            "PYTHONPATH": str(self.folder / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",  # equal sizes and seconds hide an edit
        }
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        ran = subprocess.run(
            [*command, "-m", "", test],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            timeout=300,
            check=False,
        )
        return ran.returncode

    def passes(self, test: str) -> bool:
        """Return whether a test passes on what is not edited."""
        if test not in self.passing:
            self.passing[test] = self.outcome(test) == PASSED
        return self.passing[test]

    def outcome_of(self, mutant: Mutant) -> int:
        """Return the exit code of the mutant's test with its edit made."""
        path = self.folder / "src" / "hush" / mutant.file
        whole = path.read_text()
        path.write_text(edited(whole, mutant))
        try:
            return self.outcome(mutant.test)
        finally:
            path.write_text(whole)


def edited(text: str, mutant: Mutant) -> str:
    assert text.count(mutant.was) == 1, f"{mutant} must stand once in {mutant.file}"
    return text.replace(mutant.was, mutant.now)


@pytest.fixture(scope="module")
def copy(root, tmp_path_factory):
    return Copy(root, tmp_path_factory.mktemp("tree"))


@pytest.mark.parametrize("mutant", FEW, ids=str)
def test_some_changed_constants_are_noticed(copy, mutant):
    assert copy.passes(mutant.test)
    assert copy.outcome_of(mutant) == FAILED


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_every_changed_constant_is_noticed(copy, mutant):
    assert copy.passes(mutant.test)
    assert copy.outcome_of(mutant) == FAILED


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_every_edit_still_has_its_place(root, mutant):
    text = (root / "src" / "hush" / mutant.file).read_text()
    assert edited(text, mutant) != text


def test_an_edit_that_changes_nothing_is_not_noticed(copy):
    test = CONSTANTS + "test_n13_t5_mu_and_gamma_are_the_printed_ones"
    file = "privacy/textbook/clt.py"
    idle = Mutant("N13.T5", file, "0.56 * third", "0.56 * (third)", test)
    assert copy.outcome_of(idle) == PASSED
