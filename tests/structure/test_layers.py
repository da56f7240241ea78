"""Imports go down the table of ARCHITECTURE.md, and never sideways."""

import ast
from pathlib import Path

import pytest

RANKS = {
    0: {
        "errors",
        "checks",
        "units",
        "law",
        "estimate",
        "display",
        "suggestions",
        "foreign_names",
        "tracebacks",
        "fork_safety",
        "serialization",
        "legacy_formats",
    },
    1: {"noise", "privacy", "bounds"},
    2: {"mechanisms"},
    3: {"ledger"},
    4: {"tables", "learn", "inference", "local", "synth", "audit", "holdout"},
    5: {"plots"},
    6: {"cli"},
    7: {"__main__"},
}
RANK = {name: rank for rank, names in RANKS.items() for name in names}

# Conveniences that delegate upwards, or for populations to inference, lazily, inside a
# function: (file, imported part).
DELEGATES = {
    ("audit/attacks/reconstruction.py", "plots"),
    ("audit/finding.py", "plots"),
    ("inference/bayes/data_augmentation.py", "plots"),
    ("inference/bayes/grid_posterior.py", "plots"),
    ("ledger/release.py", "plots"),
    ("privacy/curve.py", "plots"),
    ("tables/aggregates/aggregate.py", "inference"),
    ("tables/queries/answer_display.py", "plots"),
}

# Heavy or optional libraries, and the parts that may import them at the top of a file.
AT_THE_EDGE = {
    "jax": {"learn"},
    "optax": {"learn"},
    "ibis": {"tables"},
    "duckdb": {"tables"},
    "matplotlib": set(),
    "sklearn": {"learn"},
    "pandas": set(),
    "polars": set(),
    "pyspark": set(),
    "typer": {"cli"},
    "rich": {"cli"},
}


def part_of(module: str) -> str | None:
    pieces = module.split(".")
    return pieces[1] if pieces[0] == "hush" and len(pieces) > 1 else None


def imports(tree: ast.Module) -> list[tuple[str, bool]]:
    """Return (module, at the top of the file) for every import."""
    top = {id(node) for node in tree.body}
    found = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "hush":
                names = [f"hush.{alias.name}" for alias in node.names]
        found += [(name, id(node) in top) for name in names]
    return found


def violations(package: Path) -> list[str]:
    wrong = []
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package)
        own = relative.parts[0].removesuffix(".py")
        for module, top in imports(ast.parse(path.read_text())):
            other = part_of(module)
            library = module.split(".")[0]
            if library in AT_THE_EDGE and top and own not in AT_THE_EDGE[library]:
                wrong.append(f"{relative} imports {library} at the top")
            if other is None or other not in RANK or own == other:
                continue
            if own == "__init__":  # the package itself only imports lazily
                if top:
                    wrong.append(f"{relative} imports hush.{other} at the top")
            elif own not in RANK:
                wrong.append(f"{relative} is in no row of the table")
            elif RANK[other] >= RANK[own] and (str(relative), other) in DELEGATES:
                if top:
                    wrong.append(f"{relative} must delegate to {other} lazily")
            elif RANK[other] >= RANK[own] and not (RANK[own] == RANK[other] == 0):
                wrong.append(f"{relative} imports hush.{other}")
    return wrong


def test_imports_go_down(root):
    assert violations(root / "src" / "hush") == []


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("noise/a.py", "from hush.privacy import Pure"),
        ("noise/a.py", "from hush import ledger"),
        ("privacy/a.py", "def f():\n    from hush.mechanisms import Laplace"),
        ("tables/a.py", "import hush.learn"),
        ("privacy/a.py", "import matplotlib.pyplot"),
        ("__init__.py", "from hush.tables import open"),
    ],
)
def test_a_forbidden_import_is_noticed(tmp_path, file, text):
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert violations(tmp_path)


MOST_LINES = 700  # a file is one concept, which may need that many


def lengths(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder.parent)): len(path.read_text().splitlines())
        for path in folder.rglob("*.py")
    }


@pytest.mark.parametrize("name", ["src", "tests", "docs", "benchmarks", "examples"])
def test_files_stay_readable(root, name):
    found = lengths(root / name)
    assert found
    assert {path: n for path, n in found.items() if n > MOST_LINES} == {}


def test_a_file_that_is_too_long_is_noticed(tmp_path):
    (tmp_path / "long.py").write_text("x = 1\n" * (MOST_LINES + 1))
    assert list(lengths(tmp_path).values()) == [MOST_LINES + 1]
