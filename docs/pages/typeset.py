"""Set formulas and long names of a page: they are plain text in the sources.

A source says e^(−x/s), w_i and 2^-60, so that it can be read anywhere; the site says
the same with raised and lowered letters, without a script. Code stays as it is.
"""

import re
from collections.abc import Callable

# Tags, and whatever stands in code, between which there is text to set.
MARKUP = re.compile(
    r"(<(?P<tag>pre|code|script|style)\b.*?</(?P=tag)>|<[^>]*>)", re.DOTALL
)
LETTER = r"[^\W\d_a-zA-Z]"  # a letter that only formulas have: Greek, ℓ
# What may carry an index. One Latin letter alone, so that `top_k` remains a name.
BASES = (
    LETTER,
    r"[\u0300-\u036f∫∏‖]",
    *(rf"\b{word}" for word in ("sup", "inf", "min", "max")),
    r"(?<![A-Za-z_])[A-Za-z]",
    r"[a-z][A-Z]",
    r"\w′",
    r"(?<!\w)1",
)
LOWER = re.compile("(?:{})_".format("|".join(f"(?<={base})" for base in BASES)))
# A short index, so that `k_norm` remains one as well; after a Greek letter any word.
INDEX = re.compile(r"[^\W_²³⁴⁻]{1,3}(?![A-Za-z0-9_])|∞")
LONG_INDEX = re.compile(r"[a-z]+(?![A-Za-z0-9_])")
POWER = re.compile(r"[-−±]?(?:∞|\d+(?:\.\d+)?[A-Za-z]?|[^\W\d]['′″]?[₀-₉]*)")
POWER_WORD = re.compile(r"[-−]?[a-z]{3,}(?![\w(])")
CLOSE = {"(": ")", "{": "}", "|": "|"}
LONG = 24  # characters of a name that a table breaks
CELL = re.compile(r"(<td\b[^>]*>)(.*?)(</td>)", re.DOTALL)
CODE = re.compile(rf"<code>([^<>\s]{{{LONG},}})</code>")


def _group(text: str, start: int) -> int | None:
    """Return the end of the bracket that opens at `start`, if it is closed."""
    if start >= len(text) or text[start] not in CLOSE:
        return None
    if text[start] == "|":
        end = text.find("|", start + 1)
        return None if end < 0 else end + 1
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == text[start]) - (text[at] == CLOSE[text[start]])
        if depth == 0:
            return at + 1
    return None


def _power(text: str, at: int) -> tuple[str, int] | None:
    """Return the exponent that begins at a place, and where it ends."""
    sign = re.compile(r"[-−±]?(?=[({|])").match(text, at)
    if sign is not None:
        end = _group(text, sign.end())
        if end is None:
            return None
        bare = text[sign.end()] != "|" and not sign[0]
        return text[at + 1 : end - 1] if bare else text[at:end], end
    found = POWER_WORD.match(text, at) or POWER.match(text, at)
    return (found[0], found.end()) if found else None


def _index(text: str, at: int) -> tuple[str, int] | None:
    """Return the index that begins at a place, and where it ends."""
    if text[at : at + 1] in ("{", "("):
        end = _group(text, at)
        return None if end is None else (text[at + 1 : end - 1], end)
    found = INDEX.match(text, at)
    if found is None and re.match(LETTER, text[at - 2 : at - 1]):
        found = LONG_INDEX.match(text, at)
    return (found[0], found.end()) if found else None


def formulas(text: str) -> str:
    """Return a text with its exponents raised and its indices lowered.

    Example:
        >>> formulas("e^(−x/s), w_i and 2^-60")
        'e<sup>−x/s</sup>, w<sub>i</sub> and 2<sup>-60</sup>'
        >>> formulas("k_norm, top_k and x86_64 are names")
        'k_norm, top_k and x86_64 are names'
    """
    done, at = "", 0
    while at < len(text):
        found, tag = None, "sup"
        if text[at] == "^" and at and not text[at - 1].isspace():
            found = _power(text, at + 1)
        elif LOWER.match(text, at):
            found, tag = _index(text, at + 1), "sub"
        if found is None:
            done, at = done + text[at], at + 1
        else:
            done += f"<{tag}>{formulas(found[0])}</{tag}>"
            at = found[1]
    return done


def _outside(html: str, change: Callable[[str], str]) -> str:
    """Change the text of a page that is neither markup nor code."""
    done, at = "", 0
    for found in MARKUP.finditer(html):
        done += change(html[at : found.start()]) + found[0]
        at = found.end()
    return done + change(html[at:])


def _breakable(cell: re.Match[str]) -> str:
    """Let long names in a cell of a table end a line after `_`, `/` and `.`."""

    def parted(code: re.Match[str]) -> str:
        name = re.sub(r"([_/.])", r"\1<wbr>", code[1])
        return f'<code class="long">{name}</code>'

    return cell[1] + CODE.sub(parted, cell[2]) + cell[3]


def typeset(html: str) -> str:
    """Return the content of a page as it is shown."""
    return CELL.sub(_breakable, _outside(html, formulas))
