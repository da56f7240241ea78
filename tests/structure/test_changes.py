"""The changelog is assembled from fragments, with what touches privacy first."""

import importlib.util

import pytest


@pytest.fixture(scope="module")
def assemble(root):
    found = importlib.util.spec_from_file_location(
        "assemble_changes", root / "changes" / "assemble.py"
    )
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path):
    texts = {
        "README.md": "# Not one of them\n",
        "cli-a-line.feature.md": "A new line,\nand its reason.\n",
        "tables-sums.privacy.md": "Sums are charged in full.\n",
        "core-codes.api.md": "Errors have codes.\n",
        "ledger-retry.fix.md": "A retry is not charged.\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


BEFORE = """\
# Changelog

## Unreleased

### Privacy

- Noise is exact.

### Added

- A ledger.

## 0.0.1 – 2026-01-01

- The first.
"""
AFTER = """\
# Changelog

## Unreleased

## 0.2.0 – 2026-11-18

### Privacy

- Sums are charged in full.
- Noise is exact.

### Fixed

- A retry is not charged.

### Added

- A new line,
  and its reason.
- A ledger.

### Interface

- Errors have codes.

## 0.0.1 – 2026-01-01

- The first.
"""


def test_our_fragments_have_names_and_kinds_that_are_known(assemble):
    found = assemble.fragments()
    assert all(len(path.read_text().split()) >= 5 for path in found)
    for path in found:  # one item each, whose lines can be put under a dash
        text = path.read_text()
        assert not text.startswith(("-", "#", " ")), path.name
        assert "\n\n" not in text.strip(), path.name


def test_a_version_is_assembled_with_privacy_first(assemble, folder):
    found = assemble.fragments(folder)
    made = assemble.assembled(BEFORE, found, "0.2.0", "2026-11-18")
    assert made == AFTER


def test_a_version_that_changes_no_guarantee_says_so(assemble, folder):
    (folder / "tables-sums.privacy.md").unlink()
    text = assemble.sections(assemble.fragments(folder))
    assert text.startswith("### Privacy\n\nNo change to a guarantee.\n\n### Fixed")


def test_our_own_changelog_can_be_assembled(assemble, root):
    text = (root / "CHANGELOG.md").read_text()
    made = assemble.assembled(text, assemble.fragments(), "99.0.0", "2026-11-18")
    assert made.count("### Privacy") == text.count("### Privacy")
    lost = [line for line in text.split("\n") if line.strip() and line not in made]
    assert lost == []
    assert made.index("## 99.0.0") < made.index("### Privacy") < made.index("### Fixed")


@pytest.mark.parametrize(
    "name",
    ["tables.fix.md", "tables-sum.bug.md", "nowhere-sum.fix.md", "Tables-sum.fix.md"],
)
def test_a_fragment_of_another_name_is_refused(assemble, folder, name):
    (folder / name).write_text("Some words.\n")
    with pytest.raises(SystemExit, match=r"must be called <part>-<name>.<kind>.md"):
        assemble.fragments(folder)


def test_an_empty_fragment_and_a_strange_version_are_refused(assemble, folder):
    for version in ("", "next", "0.0.1"):
        with pytest.raises(SystemExit):
            assemble.assembled(BEFORE, [], version, "2026-11-18")
    (folder / "core-x.fix.md").write_text("\n")
    with pytest.raises(SystemExit, match="empty"):
        assemble.fragments(folder)
