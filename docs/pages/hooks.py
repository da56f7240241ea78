"""What `make docs` does beyond mkdocs: writes the reference and fills the menu."""

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "src"), str(Path(__file__).parent)]

import reference  # noqa: E402  (the path above makes them importable)
import typeset  # noqa: E402

BLOCK = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"(?<!\[)`(hush(?:\.\w+)+)`(?!\])")
PROJECT = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
SESSION = re.compile(r"^```python\n(?=>>> )", re.MULTILINE)


def _title(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _filled(item: Any) -> Any:
    """Replace the entries of the menu that are lists of what there is."""
    if isinstance(item, list):
        return [_filled(each) for each in item]
    if isinstance(item, dict):
        return {key: _filled(value) for key, value in item.items()}
    if isinstance(item, str) and item.startswith("REST "):
        return item  # filled in when the rest of the menu is known
    if item == "REFERENCE":
        return [{name: reference.path(p)} for p, name in reference.PACKAGES.items()]
    if item in ("PROOFS", "DECISIONS"):
        folder = str(item).lower()
        found = sorted((ROOT / "docs" / folder).glob("*.md"))
        rest = [each for each in found if each.stem != "index"]
        listed = [{_title(each): f"{folder}/{each.name}"} for each in rest]
        return [f"{folder}/index.md", *listed]
    return item


def _named(item: Any) -> set[str]:
    """Return the pages that a part of the menu names."""
    if isinstance(item, str):
        return {item}
    values = item if isinstance(item, list) else item.values()
    return {page for each in values for page in _named(each)}


def _rested(item: Any, named: set[str]) -> Any:
    """Replace `REST folder` by the pages of that folder that nobody listed."""
    if isinstance(item, dict):
        return {key: _rested(value, named) for key, value in item.items()}
    if not isinstance(item, list):
        return item
    found = []
    for each in item:
        if isinstance(each, str) and each.startswith("REST "):
            folder = ROOT / "docs" / each.removeprefix("REST ")
            for page in sorted(folder.glob("*.md")):
                place = page.relative_to(ROOT / "docs").as_posix()
                found += [] if place in named else [{_title(page): place}]
        else:
            found.append(_rested(each, named))
    return found


def on_config(config: Any) -> Any:
    """Fill the menu."""
    filled = _filled(config.nav)
    config.nav = _rested(filled, _named(filled))
    return config


def _project(name: str) -> str:
    """Return a file of the repository's root as a page of the site."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
    return re.sub(r"\]\(([A-Z]+)\.md\)", lambda m: f"]({m[1].lower()}.md)", text)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that nobody writes by hand."""
    for name in PROJECT:
        page = _project(name)
        files.append(File.generated(config, name.lower(), content=page))
    for package in reference.PACKAGES:
        made = File.generated(
            config, reference.path(package), content=reference.page(package)
        )
        files.append(made)
    return files


def _linked(text: str, up: str) -> str:
    """Turn public names into links to the reference, outside of headings."""

    def link(found: re.Match[str]) -> str:
        place = reference.place(found[1])
        return f"[`{found[1]}`]({up}{place})" if place else found[0]

    return "\n".join(
        line if line.startswith("#") else NAME.sub(link, line)
        for line in text.split("\n")
    )


def _with_all_proofs(index: str) -> str:
    """Return the list of proofs with those added that nobody has put in a section."""
    found = sorted((ROOT / "docs" / "proofs").glob("*.md"))
    missing = [p for p in found if p.stem != "index" and f"({p.name})" not in index]
    listed = "".join(f"- [{_title(page)}]({page.name})\n" for page in missing)
    return f"{index}\n## More\n\n{listed}" if missing else index


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Link names, and show sessions as sessions: copied without their prompts."""
    where = page.file.src_uri
    if where == "index.md":
        page.meta["hide"] = ["navigation", "toc"]  # the tabs lead everywhere
    if where == "proofs/index.md":
        markdown = _with_all_proofs(markdown)
    if not where.startswith("reference/"):
        up = "../" * where.count("/")
        parts = BLOCK.split(markdown)
        parts[::2] = [_linked(each, up) for each in parts[::2]]
        markdown = "".join(parts)
    return SESSION.sub("```pycon\n", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Set the formulas and the long names of a page."""
    return typeset.typeset(html)


def on_post_page(output: str, **_: Any) -> str:
    """Name the search for those who hear the page; the theme leaves it nameless."""
    return output.replace(
        'data-md-component="search" role="dialog"',
        'data-md-component="search" role="dialog" aria-label="Search"',
    )
