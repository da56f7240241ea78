"""Stable codes: every refusal has one, and docs/errors.md explains all of them."""

import ast
import copy
import inspect
import pickle
import re
from pathlib import Path

import pytest

from hush import errors
from hush.cli.session import Foreign
from hush.errors import HushError

KEBAB = re.compile(r"[a-z]+(-[a-z]+)+|[a-z]+")
CLASSES = [
    each
    for each in vars(errors).values()
    if inspect.isclass(each) and issubclass(each, HushError)
]
BUILT = {each.__name__ for each in CLASSES} | {"Gone"}


def used(package: Path) -> dict[str, str]:
    """Return every code that the source gives an error, with a file that does."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id not in BUILT:
                    continue
                values = [each.value for each in node.keywords if each.arg == "code"]
            elif isinstance(node, ast.ClassDef) and node.name in BUILT:
                values = [
                    each.value
                    for each in node.body
                    if isinstance(each, (ast.Assign, ast.AnnAssign))
                    and "code" in ast.unparse(each).split("=")[0]
                ]
            else:
                continue
            for value in values:
                if isinstance(value, ast.Constant):
                    found[value.value] = path.name
    return found


def explained(page: str) -> list[str]:
    return re.findall(r"^### (.+)$", page, re.MULTILINE)


@pytest.fixture(scope="module")
def page(root) -> str:
    return (root / "docs" / "errors.md").read_text()


def test_the_page_explains_every_code_and_no_other(root, page):
    codes = set(used(root / "src" / "hush")) | set(Foreign)
    assert sorted(explained(page)) == sorted(codes)
    assert all(KEBAB.fullmatch(code) for code in codes)


def test_a_code_that_is_not_explained_is_noticed(tmp_path):
    (tmp_path / "a.py").write_text(
        'class Gone(X):\n    code = "gone"\n\nraise InvalidArgument("no", code="b-c")\n'
    )
    assert used(tmp_path) == {"gone": "a.py", "b-c": "a.py"}


def test_every_class_has_a_code_of_its_own():
    codes = [vars(each)["code"] for each in CLASSES]
    assert len(set(codes)) == len(codes)


def test_every_code_says_what_to_do(page):
    for part in re.split(r"^### ", page, flags=re.MULTILINE)[1:]:
        name, _, text = part.partition("\n")
        assert len(text.split()) >= 9, name


@pytest.mark.parametrize("kind", CLASSES)
def test_a_code_changes_neither_the_text_nor_the_way_through_a_pickle(kind):
    plain, finer = kind("a text"), kind("a text", code="unknown-column")
    assert str(plain) == str(finer) == "a text"
    assert plain.args == finer.args == ("a text",)
    assert plain.code == kind.code
    assert "code" not in vars(plain)
    for copied in (pickle.loads(pickle.dumps(finer)), copy.copy(finer)):
        assert (type(copied), str(copied)) == (kind, "a text")
        assert copied.code == "unknown-column"
