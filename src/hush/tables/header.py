"""The first line of a CSV file: the names of its columns, which are public.

A file without such a line begins with data. So no refusal shows what was read.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

from hush.errors import InvalidArgument

_SEPARATORS = {";": "semicolons", "\t": "tabs", ",": "commas", "|": "bars"}


def named(files: Sequence[Path], separator: str) -> list[str]:
    """Return the names in the first line, which must be the same in all files."""
    lines = {line(each, separator) for each in files}
    if len(lines) > 1:
        raise InvalidArgument(
            "every CSV file must start with the same line of column names."
        )
    names, path = list(lines.pop()), files[0].name
    if not names:
        raise InvalidArgument(
            f"{path!r} is empty: its first line must name the columns."
        )
    _separated(names, path, separator)
    if any("\ufffd" in each for each in names):
        raise InvalidArgument(
            f"the first line of {path!r} is not UTF-8. Save the file as UTF-8: other "
            "lines that are not would be left out."
        )
    if len(set(names)) < len(names) or any(map(_value, names)):
        raise InvalidArgument(
            f"{path!r} has no header: its first line must name the columns, each once "
            "and none by a number. Add one; until then that line is data, and nothing "
            "of it is shown."
        )
    _told_apart(names, path)
    return names


def line(path: Path, separator: str) -> tuple[str, ...]:
    """Return the fields of the first line."""
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as lines:
        try:
            return tuple(next(csv.reader(lines, delimiter=separator), ()))
        except csv.Error:  # more than 131 072 letters are no name
            pass
    raise InvalidArgument(
        f"the first line of {path.name!r} has a field that is too long for a name: it "
        "must name the columns."
    )


def _separated(names: Sequence[str], path: str, separator: str) -> None:
    """Refuse one column whose name looks like several."""
    others = [each for each in _SEPARATORS if each in names[0] and each != separator]
    if len(names) == 1 and others:
        raise InvalidArgument(
            f"the first line of {path!r} is one column with "
            f"{_SEPARATORS[others[0]]} in its name. Fields must be separated by "
            f"{_SEPARATORS[separator]}: save the file so, with commas as .csv or with "
            "tabs as .tsv."
        )


def _told_apart(names: Sequence[str], path: str) -> None:
    """Refuse names that an engine takes for one; `names.check` would show them."""
    seen: dict[str, int] = {}
    for i, name in enumerate(names, start=1):
        first = seen.setdefault(name.casefold(), i)
        if first < i:
            raise InvalidArgument(
                f"columns {first} and {i} of {path!r} have names that differ by case "
                "alone, and engines take them for one. Rename one of them."
            )


def _value(name: str) -> bool:
    """Whether a field is rather a value than a name."""
    try:
        float(name)
    except ValueError:
        return not name.strip()
    return any(map(str.isdigit, name))  # nan and inf may be names
