"""Write docs/theory.md, the theory map, from theory_results.toml and theory.toml."""

import tomllib
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent

HEAD = """\
# Theory map

Every result below is executable{but}. *Symbol* is the public name that computes or
enforces it, *test* the check that could refute it: against an independent computation
(high precision, enumeration, quadrature) or against simulation with a stated error
rate.

The keys name results in five teaching texts: **N** are lecture notes in 14 chapters,
**L** is a lecture on the Laplace mechanism, **Z** a text on zero-concentrated privacy,
**G** a lecture on generalization, **C** a note on concentration of measure. Where a
text slips, the corrected form is implemented; the corrections are
[at the end](#corrections), and before them results of which
[the texts do not speak](#beyond-the-texts). Tests are in `tests/`; the file of each
concept is in [modules](modules.md).

{count} This page is written by `make pages`; a test compares it.
"""


BEYOND = """\
## Beyond the texts

Every mechanism is also held against its exact law by `mechanisms/test_laws.py`, and
everything that reads data by [an audit](audit.md#hush-audits-itself).
"""


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((DOCS / name).read_text(encoding="utf-8"))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


def _test(name: str) -> str:
    file, _, function = name.partition("::")
    return f"`{file.removeprefix('tests/')}` `{function}`"


def _names(symbols: str) -> str:
    return "<br>".join(f"`{each}`" for each in symbols.split()) or "–"


def _tests(tests: str) -> str:
    return "<br>".join(_test(each) for each in tests.split()) or "–"


def _row(keys: str, says: str, done: dict[str, Any]) -> str:
    symbols: dict[str, None] = {}
    tests: dict[str, None] = {}
    for key in keys.split():
        entry = done.get(key, {"symbol": "", "test": ""})
        symbols |= dict.fromkeys(entry["symbol"].split())
        tests |= dict.fromkeys(entry["test"].split())
    named = " ".join(f'<a id="{key}"></a>{key}' for key in keys.split())
    missing = [key for key in keys.split() if key not in done]
    if missing:
        says = f"{says} (still to come: {', '.join(missing)})"
    where, checked = _names(" ".join(symbols)), _tests(" ".join(tests))
    return f"| {named} | {_cell(says)} | {where} | {checked} |"


def page() -> str:
    """Return docs/theory.md."""
    results, entries = _read("theory_results.toml"), _read("theory.toml")
    done = entries["done"]
    total = len(done) + len(entries["pending"])
    count = f"{len(done)} of {total} results are done."
    but = ", but for those marked as still to come" if entries["pending"] else ""
    parts = [HEAD.format(count=count, but=but)]
    for section in results["section"]:
        rows = [_row(each["keys"], each["says"], done) for each in section["result"]]
        head = "| key | result and formula | symbol | test |\n|---|---|---|---|"
        parts.append(f"## {section['title']}\n\n{head}\n" + "\n".join(rows) + "\n")
    more = [
        f"| {_cell(each['says'])} | {_names(each['symbol'])} | {_tests(each['test'])} |"
        for each in results["beyond"]
    ]
    head = f"{BEYOND}\n| result | symbol | test |\n|---|---|---|\n"
    parts.append(head + "\n".join(more) + "\n")
    slips = "\n".join(f"- {_cell(each['says'])}" for each in results["correction"])
    parts.append(f"## Corrections\n\n{slips}\n")
    return "\n".join(parts)
