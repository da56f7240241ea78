"""Every result of the documents is implemented and tested, or named as pending."""

import ast
import importlib
import tomllib
from pathlib import Path

import pytest


def entries(root: Path) -> dict:
    return tomllib.loads((root / "docs" / "theory.toml").read_text())


def keys(root: Path) -> list[str]:
    return (root / "docs" / "theory_keys.txt").read_text().split()


def resolves(symbol: str) -> bool:
    pieces = symbol.split(".")
    for cut in range(len(pieces), 0, -1):
        try:
            found = importlib.import_module(".".join(pieces[:cut]))
        except ModuleNotFoundError:
            continue
        for name in pieces[cut:]:
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


def exists(root: Path, test: str) -> bool:
    file, _, name = test.partition("::")
    path = root / file
    if not path.exists():
        return False
    tree = ast.parse(path.read_text())
    return any(
        isinstance(node, ast.FunctionDef) and node.name == name.split("[")[0]
        for node in ast.walk(tree)
    )


def test_every_key_is_done_or_pending(root):
    table = entries(root)
    named = set(table["done"]) | set(table["pending"])
    assert named == set(keys(root))
    assert not set(table["done"]) & set(table["pending"])


def test_the_inventory_is_the_shared_one(root):
    inventory = root.parent / "shared" / "THEORY.md"
    if not inventory.exists():
        return  # an installed copy carries the list of keys alone
    found = []
    for line in inventory.read_text().splitlines():
        if line.startswith("| ") and not line.startswith(("| key", "|---")):
            found += line.split("|")[1].split()
    assert sorted(found) == sorted(keys(root))


def test_symbols_import_and_tests_exist(root):
    results = tomllib.loads((root / "docs" / "theory_results.toml").read_text())
    beyond = {each["says"][:40]: each for each in results["beyond"]}
    for key, entry in (entries(root)["done"] | beyond).items():
        for symbol in entry["symbol"].split():
            assert resolves(symbol), f"{key}: {symbol} does not import"
        for test in entry["test"].split():
            assert exists(root, test), f"{key}: {test} does not exist"


@pytest.mark.parametrize(
    "bad", ["hush.noise.laplas", "hush.nothing", "hush.law.Law.cfd"]
)
def test_a_wrong_symbol_is_noticed(bad):
    assert not resolves(bad)


def test_a_missing_test_is_noticed(root):
    assert not exists(root, "tests/structure/test_theory.py::test_nothing")
