"""A released table: for people, with digits that mean something, and as CSV."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from hush.cli.layout import Column
from hush.digits import Digits

Columns = Mapping[str, list[Any]]
Labels = Mapping[str, Sequence[str]]
_NOTHING = "unknown"


def ends(columns: Columns) -> set[str]:
    """Return the names of columns that are the ends of an interval."""
    named = (f"{name}_{end}" for name in columns for end in ("low", "high"))
    return {each for each in named if each in columns}


def shown(columns: Columns, labels: Labels, counts: set[str]) -> list[Column]:
    """Return the columns for people; both ends of an interval share one."""
    found = []
    for name in columns:
        if name in ends(columns):
            continue
        values = columns[name]
        digits = Digits.of_column(columns, name, count=name in counts)
        own = labels.get(name, ())
        cells = [_cell(each, digits, own) for each in values]
        found.append(Column(name, cells, right=not _texts(values)))
        if f"{name}_low" in columns:
            pairs = zip(columns[f"{name}_low"], columns[f"{name}_high"], strict=True)
            found.append(Column("interval", [_interval(*e, digits) for e in pairs]))
    return found


def _texts(values: list[Any]) -> bool:
    return any(isinstance(each, str) for each in values)


def _cell(value: Any, digits: Digits, labels: Sequence[str] = ()) -> str:
    if value is None:
        return _NOTHING
    if isinstance(value, list):
        texts = [_cell(each, digits) for each in value]
        if len(labels) == len(texts):
            texts = [f"{a}: {b}" for a, b in zip(labels, texts, strict=True)]
        return "; ".join(texts)
    return digits.text(value) if isinstance(value, float) else str(value)


def _interval(low: Any, high: Any, digits: Digits) -> str:
    if isinstance(low, list):
        pairs = zip(low, high, strict=True)
        return "; ".join(_interval(a, b, digits) for a, b in pairs)
    if isinstance(low, float) and isinstance(high, float):
        return digits.interval(low, high)
    return f"{_cell(low, digits)} to {_cell(high, digits)}"


def as_csv(columns: Columns, labels: Labels) -> str:
    """Return all columns with all digits: value, low and high beside each other.

    Example:
        >>> print(as_csv({"n": [0.1 + 0.2], "n_low": [None]}, {}), end="")
        n,n_low
        0.30000000000000004,
    """
    flat: dict[str, list[Any]] = {}
    for name, values in columns.items():
        own = labels.get(_plain(name, columns), ())
        if own and all(isinstance(v, list) and len(v) == len(own) for v in values):
            flat |= {f"{name} {e}": [v[i] for v in values] for i, e in enumerate(own)}
        else:
            flat[name] = values
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(flat)
    for row in zip(*flat.values(), strict=True):
        writer.writerow(map(_field, row))
    return text.getvalue()


def _plain(name: str, columns: Columns) -> str:
    """Return the aggregate that a column belongs to."""
    stem = name.rpartition("_")[0]
    return stem if name in ends(columns) and stem in columns else name


def _field(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (bool, list)) else value
