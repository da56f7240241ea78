"""What is written from code is up to date, and every key has its entry."""

import importlib
import importlib.util
import inspect
import re
import tomllib

import pytest

KEY = re.compile(r"\[(v?[A-Z][A-Za-z]*\d{2}[a-z]?)\]")


def load(path):
    found = importlib.util.spec_from_file_location(f"docs_pages_{path.stem}", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_written_pages_are_up_to_date(root):
    for path, page in load(root / "docs" / "pages" / "write.py").PAGES.items():
        assert path.read_text() == page(), f"{path.name}: run `make pages`"


def test_every_theory_key_has_one_statement(root):
    results = tomllib.loads((root / "docs" / "theory_results.toml").read_text())
    said = [
        key
        for section in results["section"]
        for each in section["result"]
        for key in each["keys"].split()
    ]
    assert sorted(said) == sorted(
        (root / "docs" / "theory_keys.txt").read_text().split()
    )


def entries(root) -> list[str]:
    text = (root / "docs" / "references.md").read_text()
    return re.findall(r"^- <a id=\"(\w+)\"></a>\*\*\[(\w+)\]\*\* ", text, re.MULTILINE)


def cited(root) -> dict[str, str]:
    found = {}
    for folder, pattern in (("src", "*.py"), ("docs/proofs", "*.md")):
        for path in sorted((root / folder).rglob(pattern)):
            for key in KEY.findall(path.read_text()):
                found[key] = path.name
    return found


def test_every_cited_key_has_an_entry(root):
    listed = {key for _, key in entries(root)}
    missing = {key: file for key, file in cited(root).items() if key not in listed}
    assert missing == {}, "add them to docs/references.md, with what is known"


def test_entries_are_complete_and_sorted(root):
    found = entries(root)
    assert [anchor for anchor, _ in found] == [key.lower() for _, key in found]
    assert [key for _, key in found] == sorted((key for _, key in found), key=str.lower)
    lines = [
        line
        for line in (root / "docs" / "references.md").read_text().splitlines()
        if line.startswith("- ")
    ]
    assert len(lines) == len(found)
    for line in lines:  # authors, a title in italics, where and when
        assert re.search(r"\]\*\* .+\. \*.+[.?]\* .+\d{4}.*\.$", line), line


def test_every_public_name_has_a_docstring(root):
    reference = load(root / "docs" / "pages" / "reference.py")
    silent = []
    for package in reference.PACKAGES:
        module = importlib.import_module(package)
        for name in reference.names(package):
            value = getattr(module, name)
            if not (callable(value) or inspect.ismodule(value)):
                assert f"{package}.{name}" in reference.VALUES
                continue
            own = value.__doc__ or ""
            if len(own) < 12 or own.startswith(f"{name}("):
                silent.append(f"{package}.{name}")
    assert silent == []


@pytest.fixture(scope="module")
def markdown(root):
    return load(root / "docs" / "pages" / "docstrings.py").markdown


def test_a_docstring_becomes_markdown(markdown):
    text = markdown(
        "Half of it.\n\nGuarantee: it is\nexact.\n\nExample:\n    >>> 1\n    1\n\n"
        "Reference: [DR14] Theorem 2; N3.1; docs/proofs/noise.md.\n",
        frozenset({"N3.1"}),
    )
    assert text == (
        "Half of it.\n\n**Guarantee:** it is exact.\n\n**Example**\n\n"
        "```pycon\n>>> 1\n1\n```\n\n**Reference:** "
        "[\\[DR14\\]](../references.md#dr14) Theorem 2; [N3.1](../theory.md#N3.1); "
        "[noise](../proofs/noise.md).\n"
    )
