"""Answers with several numbers for each group, as plain rows and columns.

Histograms, quantiles and the most frequent values hold a list for each group. Files and
charts want one number in each place: a row for each cell, or a column for each.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hush.errors import InvalidArgument

Columns = Mapping[str, Sequence[Any]]


def named(cells: Sequence[Any], labels: Sequence[str]) -> list[str]:
    """Return what cells are called: by their labels, or by their places."""
    return list(labels) or [str(i) for i in range(1, len(cells) + 1)]


def several(columns: Columns, name: str) -> bool:
    """Whether an aggregate has several values for each group."""
    return any(isinstance(each, (list, tuple)) for each in columns[name])


def rows(
    columns: Columns, keys: Sequence[str], name: str, labels: Sequence[str]
) -> dict[str, list[Any]]:
    """Return one row for each group and cell of one aggregate.

    Example:
        >>> rows({"g": ["a"], "x": [[5.0, 7.0]]}, ["g"], "x", ["0 to 1", "1 to 2"])
        {'g': ['a', 'a'], 'x_cell': ['0 to 1', '1 to 2'], 'x': [5.0, 7.0]}
    """
    cell = f"{name}_cell"
    if cell in keys:
        raise InvalidArgument(
            f"two columns would be called {cell!r}: give the aggregate another name."
        )
    ends = [each for each in (name, f"{name}_low", f"{name}_high") if each in columns]
    found: dict[str, list[Any]] = {each: [] for each in (*keys, cell, *ends)}
    for i, cells in enumerate(columns[name]):
        for key in keys:
            found[key] += [columns[key][i]] * len(cells)
        found[cell] += named(cells, labels)
        for end in ends:
            found[end] += list(columns[end][i])
    return found


def wide(
    columns: Columns, labels: Mapping[str, Sequence[str]], names: Sequence[str]
) -> dict[str, list[Any]]:
    """Return a column for each cell of the aggregates that have several.

    Example:
        >>> wide({"g": ["a"], "x": [[5.0, 7.0]]}, {"x": ["low", "high"]}, ["x"])
        {'g': ['a'], 'x low': [5.0], 'x high': [7.0]}
    """
    found: dict[str, list[Any]] = {}
    for column, values in columns.items():
        owner = next((n for n in names if column in _ends(n)), None)
        if owner is None or not several(columns, owner):
            found[column] = list(values)
            continue
        cells = named(columns[owner][0], labels.get(owner, ()))
        for j, label in enumerate(cells):
            end = column.removeprefix(owner)
            found[f"{owner} {label}{end}"] = [each[j] for each in values]
    return found


def _ends(name: str) -> tuple[str, str, str]:
    return name, f"{name}_low", f"{name}_high"
