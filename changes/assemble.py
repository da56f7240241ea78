"""Put the fragments of this folder under a version in CHANGELOG.md."""

import re
import sys
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = {"privacy": "Privacy", "fix": "Fixed", "feature": "Added", "api": "Interface"}
BESIDE = {"core", "docs", "build"}  # parts that are no package
NAME = re.compile(r"([a-z]+)-([a-z0-9]+(?:-[a-z0-9]+)*)\.([a-z]+)\.md")
VERSION = re.compile(r"\d+\.\d+\.\d+")
UNRELEASED = "## Unreleased\n"


def parts() -> set[str]:
    """Return the names that a fragment may begin with."""
    packages = (HERE.parent / "src" / "hush").glob("*/__init__.py")
    return {each.parent.name for each in packages} | BESIDE


def fragments(folder: Path = HERE) -> list[Path]:
    """Return the fragments of a folder by name, or refuse a file that is none."""
    found = []
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        named = NAME.fullmatch(path.name)
        if not named or named[1] not in parts() or named[3] not in KINDS:
            raise SystemExit(
                f"{path.name} must be called <part>-<name>.<kind>.md, with a part of "
                f"{', '.join(sorted(parts()))} and a kind of {', '.join(KINDS)}."
            )
        if not path.read_text(encoding="utf-8").strip():
            raise SystemExit(f"{path.name} is empty.")
        found.append(path)
    return found


def _item(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").strip().split("\n")
    return "- " + "\n  ".join(lines).replace("\n  \n", "\n\n") + "\n"


def _standing(text: str) -> dict[str, str]:
    """Return what was written under Unreleased by hand, by its headings."""
    pieces = re.split(r"^### (.+)\n", text, flags=re.MULTILINE)
    return {h: t.strip() for h, t in zip(pieces[1::2], pieces[2::2], strict=True)}


def sections(found: list[Path], standing: str = "") -> str:
    """Return the fragments under a heading for each kind, Privacy first.

    What stands under Unreleased already follows them, under the same headings.
    """
    before = _standing(standing)
    texts = []
    for heading in dict.fromkeys([*KINDS.values(), *before]):
        kinds = [kind for kind, each in KINDS.items() if each == heading]
        own = [p for p in found for kind in kinds if p.name.endswith(f".{kind}.md")]
        listed = "".join(map(_item, own)) + before.get(heading, "")
        if heading == KINDS["privacy"]:  # that there is nothing is said
            listed = listed or "No change to a guarantee."
        if listed:
            texts.append(f"### {heading}\n\n{listed.rstrip()}\n")
    return "\n".join(texts)


def assembled(changelog: str, found: list[Path], version: str, day: str) -> str:
    """Return the changelog with a new version, made of fragments and of Unreleased."""
    if not VERSION.fullmatch(version):
        raise SystemExit(
            f"VERSION must be three numbers, as in 0.2.0; got {version!r}."
        )
    if f"## {version} " in changelog:
        raise SystemExit(f"CHANGELOG.md has {version} already.")
    before, mark, rest = changelog.partition(UNRELEASED)
    if not mark:
        raise SystemExit("CHANGELOG.md has no heading `## Unreleased`.")
    standing, older, past = rest.partition("\n## ")
    head = f"{before}{UNRELEASED}\n## {version} – {day}\n\n"
    return head + sections(found, standing) + older + past


def main(version: str) -> None:
    """Write the version into CHANGELOG.md and remove its fragments."""
    path, found = HERE.parent / "CHANGELOG.md", fragments()
    text = path.read_text(encoding="utf-8")
    made = assembled(text, found, version, date.today().isoformat())
    path.write_text(made, encoding="utf-8")
    for each in found:
        each.unlink()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
