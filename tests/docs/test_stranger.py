"""A stranger's run: the wheel alone, in an empty folder, with the pages copied in."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PAGES = ("README.md", "docs/index.md", "docs/tutorial/*.md", "docs/guide/*.md")
PLAIN = ("README.md", "docs/index.md", "docs/tables.md", "docs/tutorial/tables.md")
MOST = 400 * 2**20  # bytes that the default install may take

SIX_LINES = """
import hush
data = hush.open("demo/trips.parquet", unit="person", budget=hush.Budget(epsilon=1))
sides = data.group_by("region", keys=["Airport", "Centre", "Harbour"])
query = sides.agg(trips=hush.count(), fare=hush.mean("fare", bounds=(0, 80)))
answer = query.release(epsilon=0.5)
print(answer)
"""


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


@pytest.fixture(scope="module")
def fresh(wheel, tmp_path_factory) -> Path:
    """Return an environment of its own with the default install, and nothing else."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    install = [folder / "bin" / "pip", "install", "--quiet", wheel]
    subprocess.run(install, check=True)
    return folder


def python(
    alone: dict[str, str], where: Path, *arguments: str, binary: object = sys.executable
) -> str:
    done = subprocess.run(
        [str(binary), *arguments],
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


def packages(environment: Path) -> Path:
    (found,) = environment.glob("lib/python*/site-packages")
    return found


def test_the_default_install_is_small(fresh):
    # On the disk, and without what every environment starts with.
    brought = [p for p in packages(fresh).iterdir() if not p.match("pip*")]
    brought = [p for p in brought if not p.match("setuptools*")]
    files = [f for p in brought for f in (p, *p.rglob("*")) if f.is_file()]
    assert sum(file.stat().st_blocks * 512 for file in files) < MOST
    unwanted = {"pandas", "polars", "pyarrow", "pyspark", "sklearn", "jax"}
    assert unwanted & {path.name for path in brought} == set()


def test_the_default_install_is_enough(root, fresh, tmp_path):
    clean = {name: v for name, v in os.environ.items() if name != "PYTHONPATH"}
    binary = fresh / "bin" / "python"
    said = python(clean, tmp_path, "demo", binary=fresh / "bin" / "hush")
    assert "demo/report.html" in said
    shown = python(clean, tmp_path, "-c", SIX_LINES, binary=binary)
    *table, who, remark = shown.splitlines()
    assert who.startswith("(one person with at most")
    assert remark.startswith("(95% intervals")
    assert [line.split()[0] for line in table] == [
        "region",
        "Airport",
        "Centre",
        "Harbour",
    ]
    options = ["-o", "ELLIPSIS", "-o", "NORMALIZE_WHITESPACE"]
    for page in PLAIN:
        python(
            clean, tmp_path, "-m", "doctest", *options, str(root / page), binary=binary
        )
