"""Turn the docstrings of hush into Markdown: sections, examples, links to literature.

A docstring is a sentence, then Guarantee, Example and Reference. The words of a section
may begin on its own line and go on below it; an Example that stands alone on its line
is followed by an indented session.
"""

import re
import textwrap
from pathlib import Path
from typing import Any

import griffe

SECTION = re.compile(r"^(Guarantee|Example|Reference|An estimate):(?: |$)")
LITERATURE = re.compile(r"\[([A-Z][A-Za-z]*\d{2}[a-z]?)\]")
THEORY = re.compile(r"(?<![\w.\[/])([NLZGC]\d*\.[A-Za-z]?\d*[A-Za-z]*\d*)(?![\w/])")
PROOF = re.compile(r"docs/(proofs/)?(\w+)\.md")


def linked(text: str, keys: frozenset[str] = frozenset()) -> str:
    """Return a text of one docstring section with links from a page in reference/."""
    text = LITERATURE.sub(
        lambda m: rf"[\[{m[1]}\]](../references.md#{m[1].lower()})", text
    )
    if keys:
        text = THEORY.sub(
            lambda m: f"[{m[1]}](../theory.md#{m[1]})" if m[1] in keys else m[1], text
        )
    return PROOF.sub(lambda m: f"[{m[2]}](../{m[1] or ''}{m[2]}.md)", text)


def _fenced(lines: list[str]) -> list[str]:
    body = textwrap.dedent("\n".join(lines)).strip("\n")
    return ["", "```pycon", *body.splitlines(), "```", ""]


def _section(name: str, first: str, rest: list[str], keys: frozenset[str]) -> list[str]:
    if name == "Example" and not first:
        return ["", f"**{name}**", *_fenced(rest)]
    words = " ".join([first, *(line.strip() for line in rest)]).strip()
    if name == "Example" and words.startswith("`") is False and "hush " in words:
        words = f"`{words}`"
    if name == "Reference":
        words = linked(words, keys)
    return ["", f"**{name}:** {words}", ""]


def markdown(text: str, keys: frozenset[str] = frozenset()) -> str:
    r"""Return the Markdown of one docstring.

    Example:
        >>> print(markdown("Half.\n\nGuarantee: it is\nexact.\n"))
        Half.
        <BLANKLINE>
        **Guarantee:** it is exact.
        <BLANKLINE>
    """
    found: list[str] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        head = SECTION.match(lines[at])
        if head:
            end = at + 1
            alone = lines[at].strip() == f"{head[1]}:"
            while end < len(lines) and not SECTION.match(lines[end]):
                blank = not lines[end].strip()
                if blank and not alone:
                    break
                if alone and not blank and not lines[end].startswith("    "):
                    break
                end += 1
            first = lines[at][head.end() :].strip()
            found += _section(head[1], first, lines[at + 1 : end], keys)
            at = end
        elif lines[at].lstrip().startswith(">>>"):
            end = at
            while end < len(lines) and lines[end].strip():
                end += 1
            found += _fenced(lines[at:end])
            at = end
        else:
            found.append(lines[at])
            at += 1
    return re.sub(r"\n{3,}", "\n\n", "\n".join(found)).strip("\n") + "\n"


class Docstrings(griffe.Extension):
    """Rewrites every docstring once, when griffe has read it."""

    def __init__(self) -> None:
        super().__init__()
        listed = Path(__file__).parent.parent / "theory_keys.txt"
        self.keys = frozenset(listed.read_text().split())

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Replace the text of one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value, self.keys)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Show a bare field as what it is, a required argument, not as a default."""
        if str(attr.value) == "field()":
            attr.value = None
