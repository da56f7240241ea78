"""Advice in the words of a shell: what an error says for Python, said for commands.

Errors come from the library, so their way out is a call. Here it becomes the option or
the line of hush.toml that does the same; what depends on the columns of a data set is
in `advice`. A text that is not known stays as it is.
"""

import re

_TABLE: tuple[tuple[str, str], ...] = (
    (r"open the file with types=", "give the column its type in hush.toml"),
    (
        r"give types=, as in types=\{.*?\}",
        'declare them in hush.toml, as in type = "number" under [columns.fare]',
    ),
    (
        r"keys=\"private\": release\(epsilon=1, delta=1e-6\)",
        'keys = "private": add -d 1e-6',
    ),
    (r"bounds=\(lower, upper\)", "bounds = [lower, upper] in hush.toml"),
    (
        r"ledger\.raise_budget\(hush\.Budget\(.*?\), dataset=.*?\) or, with the new "
        r"one in hush\.toml, `hush budget --raise`",
        "write the larger one under [budget] in hush.toml, then `hush budget --raise`",
    ),
    (
        r"ledger\.raise_budget\(hush\.Budget\(.*?\), analyst=(['\"])(.*?)\1\)",
        r"`hush budget --raise --grant \2 -e ...`",
    ),
    (
        r"ledger\.raise_budget\(hush\.Budget\(.*?\), unit=(['\"])(.*?)\1\)",
        r"`hush budget --raise --link \2 -e ...`",
    ),
    (
        r"ledger\.grant\(hush\.Budget\(epsilon=\.\.\.\), analyst=(['\"])(.*?)\1\)",
        r"`hush budget --grant \2 -e ...`",
    ),
    (r"Use more noise, that is a smaller \w+(?=, or enlarge)", "Give a smaller -e"),
    (r"use less of it, or a mechanism that needs none", "give a smaller -d, or none"),
    (r"plan for groups of more rows by cell=", "plan for larger groups with --cell"),
    (
        r"(data version .*? differ\.) Use a new key, or read what this one released: "
        r"query\.stored\(key\), ledger\.stored\(key\)",
        r"\1 Use a new key for a new answer; --stored shows the old answer",
    ),
    (
        r"Pass tables=\{(['\"])(.*?)\1: \.\.\.\} with a public frame or a data set",
        r'If it is public, write \2 = "\2.csv" under [tables] in hush.toml; private '
        "tables are joined in Python",
    ),
    (r"by tables= and JOIN", "by [tables] in hush.toml and JOIN"),
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
        >>> spelled("Use more noise, that is a smaller epsilon, or enlarge it.")
        'Give a smaller -e, or enlarge it.'
    """
    for pattern, change in _KNOWN:
        text = pattern.sub(change, text)
    return text
