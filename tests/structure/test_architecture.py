"""ARCHITECTURE.md, the list of modules and the decisions say what is there."""

import ast
import re

import pytest

from structure.test_layers import RANKS

CITED = re.compile(r"docs/decisions/(\d{4})")


@pytest.fixture(scope="module")
def text(root) -> str:
    return (root / "ARCHITECTURE.md").read_text()


@pytest.fixture(scope="module")
def decisions(root):
    found = sorted((root / "docs" / "decisions").glob("*.md"))
    return {path.stem: path.read_text() for path in found if path.stem != "index"}


def test_the_architecture_is_two_pages(text):
    assert 60 <= len(text.splitlines()) <= 130


def test_every_folder_has_one_sentence(root, text):
    package = root / "src" / "hush"
    there = {
        f"{path.parent.relative_to(package)}/"
        for path in package.rglob("__init__.py")
        if path.parent != package
    }
    rows = re.findall(r"^\| `(\S+/)` \| (.+) \|$", text, re.MULTILINE)
    assert {name for name, _ in rows} == there
    assert len(rows) == len(there)
    assert [s for _, s in rows if not re.fullmatch(r"[^.]+(\.[^ .]+)*\.", s)] == []


def test_the_layers_are_those_that_are_enforced(text):
    rows = re.findall(r"^\| (\d) \| (.+?) \|", text, re.MULTILINE)
    told = {int(rank): set(re.findall(r"`(\w+)`", parts)) for rank, parts in rows}
    assert told == RANKS


def test_every_file_is_among_the_modules(root):
    page = (root / "docs" / "modules.md").read_text()
    package = root / "src" / "hush"
    parts = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    for path in package.rglob("*.py"):
        if path.name == "__init__.py":
            continue
        folder = path.parent.relative_to(package).as_posix()
        part = parts["hush" if folder == "." else f"{folder}/"]
        assert f"| `{path.name}` | " in part


def test_decisions_are_numbered_without_a_gap(decisions):
    assert len(decisions) >= 25
    assert [int(name[:4]) for name in decisions] == list(range(1, len(decisions) + 1))


def test_a_decision_says_context_decision_consequence_and_where(root, decisions):
    for name, text in decisions.items():
        assert text.startswith(f"# {name[:4]}: "), name
        for heading in ("Context", "Decision", "Consequence", "Code"):
            assert text.count(f"**{heading}.** ") == 1, (name, heading)
        assert len(text.splitlines()) <= 25, name
        where = text.partition("**Code.** ")[2]
        for place in re.findall(r"`([\w/]+\.py)`", where):
            homes = (root / "src" / "hush" / place, root / place)
            assert any(each.is_file() for each in homes), (name, place)


def cited(path) -> set[str]:
    return set(CITED.findall(path.read_text()))


def test_a_cited_decision_is_there(root, decisions):
    numbers = {name[:4] for name in decisions}
    for pattern in ("src/**/*.py", "tests/**/*.py", "docs/**/*.md", "*.md"):
        for path in root.glob(pattern):
            assert cited(path) <= numbers, path


def test_code_cites_decisions(root):
    found = {number for p in (root / "src").rglob("*.py") for number in cited(p)}
    assert {"0022", "0023"} <= found


def test_every_file_opens_with_a_sentence(root):
    for path in (root / "src" / "hush").rglob("*.py"):
        doc = ast.get_docstring(ast.parse(path.read_text()))
        assert doc, path
        assert doc.partition("\n\n")[0].endswith("."), path
