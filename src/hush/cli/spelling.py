"""Advice in the words of a shell: what an error says for Python, said for commands.

Errors come from the library, so their way out is a call. Here it becomes the option or
the line of hush.toml that does the same. A text that is not known stays as it is.
"""

import json
import re
from collections.abc import Callable

_Change = str | Callable[[re.Match[str]], str]


def _section(name: str) -> str:
    """Return the section of a column, as TOML writes it."""
    bare = re.fullmatch(r"[A-Za-z0-9_-]+", name)
    return f"[columns.{name if bare else json.dumps(name, ensure_ascii=False)}]"


def _typed(found: re.Match[str]) -> str:
    name, kind = found["name"], found["kind"]
    return f'write type = "{kind}" under {_section(name)} in hush.toml'


_TABLE: tuple[tuple[str, _Change], ...] = (
    (
        r"open the file with types=, as in "
        r"types=\{(?P<q>['\"])(?P<name>.+?)(?P=q): '(?P<kind>\w+)'\}",
        _typed,
    ),
    (r"open the file with types=", "give the column its type in hush.toml"),
    (
        r"give types=, as in types=\{.*?\}",
        'declare them in hush.toml, as in type = "number" under [columns.fare]',
    ),
    (
        r"keys=\"private\": release\(epsilon=1, delta=1e-6\)",
        'keys = "private": add -d 1e-6',
    ),
    (
        r"(needs its public values.*?): keys=\{.*?: \[\.\.\.\]\} in Python, "
        r"(keys = \[\.\.\.\] under \[columns\..*?\] in hush\.toml)",
        r'\1: \2, or keys = "private" there to find them in the data, which needs -d',
    ),
    (r"keys=\{.*?: \[\.\.\.\]\} in Python, (?=keys = )", ""),
    (r"bounds=\{.*?: \(0, 100\)\} in Python, (?=bounds = )", ""),
    (r"bounds=\(lower, upper\)", "bounds = [lower, upper] in hush.toml"),
    (
        r"ledger\.raise_budget\(hush\.Budget\(.*?\), dataset=.*?\) or, with the new "
        r"one in hush\.toml, `hush budget --raise`",
        "write the larger one under [budget] in hush.toml, then `hush budget --raise`",
    ),
    (r"Use more noise, that is a smaller \w+(?=, or enlarge)", "Give a smaller -e"),
    (r"use less of it, or a mechanism that needs none", "give a smaller -d, or none"),
    (r"use less of both", "give a smaller -e and a smaller -d"),
    (
        r"Leave budget out to go on with it, or use raise_budget to enlarge it",
        "Leave --open out to go on with it, or enlarge it with `hush budget --raise`",
    ),
    (r"Open it with admin=Admin\.from_pem\(\.\.\.\)", "Name the key with --admin"),
    (
        r"Name the file with anchor=\.\.\., or give the anchor up with "
        r"renew_anchor=True",
        "No command takes an anchor of its own: in Python, name the file with "
        "hush.Ledger.open(url, anchor=...)",
    ),
    (
        r"start a new one with renew_anchor=True",
        "decide to begin a new one, in Python: hush.Ledger.open(url, "
        "renew_anchor=True)",
    ),
    (
        r"it was opened with rehearsal=False\. Open it with rehearsal=True",
        "of the commands only `hush verify --rehearsal` opens it",
    ),
    (
        r"it was opened with rehearsal=True\. Open it with rehearsal=False",
        "leave --rehearsal out",
    ),
)
_KNOWN = tuple((re.compile(pattern), change) for pattern, change in _TABLE)


def spelled(text: str) -> str:
    """Return a message with its advice in the words of a shell.

    Example:
        >>> spelled("open the file with types=, as in types={'age': 'number'}.")
        'write type = "number" under [columns.age] in hush.toml.'
    """
    for pattern, change in _KNOWN:
        text = pattern.sub(change, text)
    return text
