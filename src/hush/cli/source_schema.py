"""The columns of a source and their types, without reading a single value."""

import csv
from pathlib import Path
from typing import Any

from hush.errors import InvalidArgument

# A file without types of its own: what hush.toml declares, as an Ibis type.
DECLARED = {"number": "float64", "text": "string", "date": "date", "boolean": "boolean"}


_DELIMITED = {".csv": ",", ".tsv": "\t"}
_LINES = (".json", ".jsonl", ".ndjson")
_KNOWN = (".parquet", *_DELIMITED, *_LINES)


def is_untyped(source: str) -> bool:
    """Whether the columns of a source have no types of their own."""
    return _first(source).suffix in (*_DELIMITED, *_LINES)


def all_values(source: str) -> bool:
    """Whether a source has no schema at all, so that columns must be declared."""
    return _first(source).suffix in _LINES


def _first(source: str) -> Path:
    """Return the file that speaks for a source: the first of a folder or pattern."""
    path = Path(source)
    if path.is_dir():
        found = sorted(each for each in path.rglob("*") if each.suffix in _KNOWN)
    elif "*" in source:
        found = sorted(path.parent.glob(path.name))
    else:
        return path
    if not found:
        raise InvalidArgument(f"source {source!r} holds no table.")
    return found[0]


def columns(source: str) -> dict[str, str]:
    """Return the name and the Ibis type of every column.

    Guarantee: of Parquet only the footer is read, of CSV only the first line.
    """
    path = _first(source)
    if "://" not in source and path.suffix in _KNOWN:
        if not path.exists():
            raise InvalidArgument(
                f"source {source!r} does not exist. Paths in hush.toml start at its "
                "folder.",
                code="data-unreachable",
            )
        if path.suffix in _LINES:
            raise InvalidArgument(
                f"source {source!r} has no schema to read: JSON is all values. "
                "Declare its columns in hush.toml, or convert it to Parquet."
            )
        return _parquet(path) if path.suffix == ".parquet" else _header(path)
    from hush.tables.engines.sources import source as opened

    found = opened(source).table.schema()
    return {name: str(kind) for name, kind in found.items()}


def _parquet(path: Path) -> dict[str, str]:
    from hush.tables.engines import files

    try:
        found = files.open_files([path.resolve()], "data", {}).schema()
    except InvalidArgument:
        raise InvalidArgument(
            f"source {str(path)!r} is not a Parquet file that can be read.",
            code="data-unreachable",
        ) from None
    return {name: str(kind) for name, kind in found.items()}


def _header(path: Path) -> dict[str, str]:
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        names = next(csv.reader(file, delimiter=_DELIMITED[path.suffix]), [])
    if not names or len(set(names)) < len(names) or any(map(_value, names)):
        raise InvalidArgument(
            f"source {str(path)!r} has no header: its first line must name the "
            "columns, each once and none by a number. Add one; until then that line "
            "is data, and nothing of it is shown."
        )
    return dict.fromkeys(names, "string")


def _value(name: str) -> bool:
    """Whether a header's field is rather a value."""
    try:
        float(name)
    except ValueError:
        return not name.strip()
    return True


def stand_in(types: dict[str, str]) -> Any:
    """Return a table of these columns without any rows."""
    from hush.tables.engines import memory

    return memory.table(dict.fromkeys(types, ()), "data", types)
