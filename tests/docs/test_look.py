"""What a reader sees: named pictures, set formulas, and nothing that leaked."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

pytestmark = pytest.mark.xdist_group("site")

UNSEEN = {"pre", "code", "script", "style", "head"}
LEAKS = ("<!--", "-->", "](", "```", "doctest:")


class Seen(HTMLParser):
    """The words of a page outside of code, its headings, pictures and links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words = ""
        self.pictures: list[dict[str, str | None]] = []
        self.headings = 0
        self.language: str | None = None
        self.links: list[str] = []
        self.scripts: list[str] = []
        self._unseen: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag in UNSEEN:
            self._unseen.append(tag)
        if tag == "html":
            self.language = found.get("lang")
        if tag == "img":
            self.pictures.append(found)
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag == "script" and found.get("src"):
            self.scripts.append(found["src"].rpartition("/")[2])
        self.headings += tag == "h1"

    def handle_endtag(self, tag):
        if self._unseen and self._unseen[-1] == tag:
            self._unseen.pop()

    def handle_data(self, data):
        if not self._unseen:
            self.words += data

    @property
    def leaks(self) -> list[str]:
        bold = re.findall(r"\*\*\w+", self.words)
        return [each for each in LEAKS if each in self.words] + bold

    @property
    def nameless(self) -> list[str]:
        return [
            str(each.get("src"))
            for each in self.pictures
            if len((each.get("alt") or "").split()) < 1
        ]


@pytest.fixture(scope="module")
def seen(site) -> dict[Path, Seen]:
    found = {path: Seen(path.read_text()) for path in site.rglob("*.html")}
    assert len(found) > 60
    return found


def test_every_picture_has_words_and_every_page_one_title(seen):
    assert [
        f"{path.name}: {a}" for path, page in seen.items() for a in page.nameless
    ] == []
    assert [path.name for path, page in seen.items() if page.headings != 1] == []
    assert [path.name for path, page in seen.items() if page.language != "en"] == []


def test_nothing_leaks_into_the_words(seen):
    assert {path.name: page.leaks for path, page in seen.items() if page.leaks} == {}


def test_no_exponent_is_left_as_a_caret(seen):
    left = {
        path.name: re.findall(r"\S*\^\S*", page.words) for path, page in seen.items()
    }
    assert {name: found for name, found in left.items() if found} == {}


def test_what_a_reader_should_not_see_is_noticed():
    page = Seen(
        "<html><h1>a</h1><h1>b</h1><img src='x.svg' alt=' '><img src='y.svg' alt='y'>"
        "<p>&lt;!-- hidden --&gt; [a](b.md) **c** 2^-3</p><code>**d** [e](f)</code>"
    )
    assert page.nameless == ["x.svg"]
    assert page.headings == 2
    assert page.language is None
    assert page.leaks == ["<!--", "-->", "](", "**c"]
    assert "2^-3" in page.words


def reached(start: Path, pages: dict[Path, Seen]) -> set[Path]:
    """Return the pages to which links lead from one page."""
    found, ahead = {start}, [start]
    while ahead:
        here = ahead.pop()
        for address in pages[here].links:
            there = (here.parent / unquote(urldefrag(address)[0])).resolve()
            if there in pages and there not in found:
                found.add(there)
                ahead.append(there)
    return found


def test_every_page_is_reached_from_the_front_page(site, seen):
    start = (site / "index.html").resolve()
    pages = {path.resolve(): page for path, page in seen.items()}
    alone = set(pages) - reached(start, pages) - {(site / "404.html").resolve()}
    assert alone == set()
    orphan = site.resolve() / "orphan.html"
    assert orphan not in reached(start, {**pages, orphan: Seen("<p>nobody links</p>")})


def test_styles_fetch_nothing_from_elsewhere(site):
    outside = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//")
    assert outside.search('@import "https://fonts.example/css"')
    assert [p.name for p in site.rglob("*.css") if outside.search(p.read_text())] == []


def test_a_page_from_disk_can_be_searched(site, seen):
    # A browser gives such a page neither a worker nor a file of JSON.
    index = (site / "search" / "search_index.js").read_text()
    assert index.startswith("var __index = {")
    assert "Report noisy max" in index
    for path, page in seen.items():
        bundle = next(n for n, name in enumerate(page.scripts) if "bundle" in name)
        assert page.scripts.index("iframe-worker.js") < bundle, path.name


def shown_and_run(text: str) -> list[tuple[str, str]]:
    """Return each printed answer that a page shows, and the one its test compares."""
    return re.findall(
        r"^```\n([^`]+)```\n<!--.*\n>>> print\(answer\)\n((?:.+\n)+)", text, re.M
    )


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_answers_that_are_shown_have_the_form_of_today(root, page):
    found = shown_and_run((root / page).read_text())
    assert len(found) == 2
    for shown, run in found:
        lines, told = shown.splitlines(), run.splitlines()
        assert lines[0].split() == told[0].split()
        assert lines[-2:] == [line for line in told if line.startswith("(")]
