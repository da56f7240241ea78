"""The site builds without a warning, calls nobody, and its links lead somewhere."""

import importlib.util
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

pytestmark = pytest.mark.xdist_group("site")


class Page(HTMLParser):
    """The anchors of a page, where it links to, and what a browser would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag == "link" and found.get("rel") in ("stylesheet", "preconnect", "icon"):
            self.fetched.append(found["href"])
        if found.get("src"):
            self.fetched.append(found["src"])


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {path: Page(path.read_text()) for path in site.rglob("*.html")}


@pytest.fixture(scope="module")
def reference(root):
    found = importlib.util.spec_from_file_location(
        "reference_pages", root / "docs" / "pages" / "reference.py"
    )
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def outside(address: str) -> bool:
    return bool(re.match(r"(?:[a-z][a-z+.-]*:)?//|mailto:|data:", address))


def dead(path: Path, address: str, pages: dict[Path, Page]) -> bool:
    """Return whether a link of a page leads nowhere."""
    target, anchor = urldefrag(address)
    there = (path.parent / unquote(target)).resolve() if target else path
    if there.is_dir():
        there /= "index.html"
    if there not in pages:
        return not there.is_file()
    return bool(anchor) and unquote(anchor) not in pages[there].ids


def test_every_link_and_anchor_leads_somewhere(pages):
    wrong = [
        f"{path.name}: {address}"
        for path, page in pages.items()
        if path.name != "404.html"
        for address in page.links
        if not outside(address) and dead(path, address, pages)
    ]
    assert wrong == []


def test_a_dead_link_is_noticed(site, pages):
    start = site / "index.html"
    assert dead(start, "nowhere.html", pages)
    assert dead(start, "glossary.html#no-such-word", pages)
    assert not dead(start, "glossary.html", pages)


def test_a_page_fetches_nothing_from_elsewhere(pages):
    assert [a for page in pages.values() for a in page.fetched if outside(a)] == []


def test_every_public_name_is_in_the_reference(site, pages, reference):
    missing = []
    for package in reference.PACKAGES:
        page = pages[site / reference.path(package).replace(".md", ".html")]
        listed = reference.names(package)
        missing += [
            f"{package}.{n}" for n in listed if f"{package}.{n}" not in page.ids
        ]
    assert missing == []


def test_every_package_of_hush_has_a_page(root, reference):
    # Not imported by users.
    inside = {"__main__", "tracebacks", "suggestions", "checks", "cli", "display"}
    inside |= {"fork_safety", "serialization", "legacy_formats", "foreign_names"}
    found = {
        path.parent.name if path.name == "__init__.py" else path.stem
        for pattern in ("*.py", "*/__init__.py")
        for path in (root / "src" / "hush").glob(pattern)
    }
    assert {f"hush.{name}" for name in found - inside - {"hush"}} | {"hush"} <= set(
        reference.PACKAGES
    )


def test_sections_of_docstrings_are_rendered(site):
    text = (site / "reference" / "hush_mechanisms.html").read_text()
    assert "<strong>Guarantee:</strong>" in text
    assert '<a href="../references.html#dmns06">[DMNS06]</a>' in text
    assert not re.search(r"<p>[^<]*(Guarantee|Example|Reference):", text)


def test_a_required_field_has_no_default(site):
    text = (site / "reference" / "hush_privacy.html").read_text()
    plain = re.sub(r"<[^>]+>", "", text)
    assert "GDP(mu: float)" in plain
    assert "field()" not in plain


def test_lists_are_lists(site):
    # GitHub starts a list after any line, Python-Markdown only after a blank one.
    wrong = [
        f"{path.name}: {found[:60]}"
        for path in site.rglob("*.html")
        if path.parent.name != "reference"
        for found in re.findall(
            r"<p>[^<]*(?:<(?!/p)[^<]*)*?\n(?:- |\d\. )[^<]*", path.read_text()
        )
    ]
    assert wrong == []
