"""A stranger's run: the wheel alone, in an empty folder, with the pages copied in."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PAGES = ("README.md", "docs/index.md", "docs/tutorial/*.md", "docs/guide/*.md")


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory) -> Path:
    """Build the wheel; pip takes the build backend from the registry it knows."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", folder, root], check=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def alone(wheel, tmp_path_factory) -> dict[str, str]:
    """Return an environment in which `hush` is the unpacked wheel and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    return {**os.environ, "PYTHONPATH": str(folder)}


def python(alone, where: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=where,
        env=alone,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_the_package_and_nothing_else(root, wheel):
    with zipfile.ZipFile(wheel) as packed:
        found = {n for n in packed.namelist() if ".dist-info/" not in n}
    package = root / "src"
    files = [p for kind in ("*.py", "py.typed") for p in package.rglob(kind)]
    assert found == {p.relative_to(package).as_posix() for p in files}


def test_the_demo_runs_in_an_empty_folder(alone, tmp_path):
    where = python(alone, tmp_path, "-c", "import hush; print(hush.__file__)")
    assert where.startswith(alone["PYTHONPATH"])
    said = python(alone, tmp_path, "-m", "hush.cli", "demo")
    assert "demo/report.html" in said
    assert (tmp_path / "demo" / "report.html").is_file()


def pages(root: Path) -> list[Path]:
    return sorted(path for pattern in PAGES for path in root.glob(pattern))


def test_pages_run_when_they_are_copied(root, alone, tmp_path):
    options = ["-o", "ELLIPSIS", "-o", "NORMALIZE_WHITESPACE"]
    for page in pages(root):
        python(alone, tmp_path, "-m", "doctest", *options, str(page))
    assert [p.name for p in tmp_path.iterdir()] == []  # and leave nothing behind
