"""Write docs/decisions/index.md: every decision, by its number and title."""

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "decisions"
NAME = re.compile(r"(\d{4})-[a-z0-9-]+\.md")
HEAD = """\
# Decisions

What was decided where the first design left a choice, or where it was left: one
decision in each file, with its context, its consequence and its place in the code,
which cites it as `docs/decisions/0022`. A decision that is taken back keeps its file
and says which one takes its place. A new one takes the next number; `make pages` writes
this list.

| number | decision |
|---|---|
"""


def files() -> list[Path]:
    """Return the decisions in their order."""
    return sorted(each for each in FOLDER.glob("*.md") if NAME.fullmatch(each.name))


def page() -> str:
    """Return the page of today."""
    rows = []
    for path in files():
        head = path.read_text(encoding="utf-8").partition("\n")[0]
        number, _, title = head.removeprefix("# ").partition(": ")
        rows.append(f"| {number} | [{title}]({path.name}) |\n")
    return HEAD + "".join(rows)
