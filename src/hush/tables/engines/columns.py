"""Columns that came back from an engine: exact values, the same whichever it was.

A column is a NumPy array: of 64-bit numbers or truth values where none is NULL, and of
Python objects, with None for NULL, everywhere else. So integers stay integers, which a
frame would turn into doubles beside a NULL.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidArgument
from hush.tables.engines.extras import package


@final
@dataclass(frozen=True, eq=False)
class Columns:
    """Arrays of one length by name; what they hold is never shown.

    Example:
        >>> found = Columns({"n": np.array([3, 4]), "key": objects(["a", None])})
        >>> found, found.to_pylist()
        (data, [{'n': 3, 'key': 'a'}, {'n': 4, 'key': None}])
    """

    arrays: Mapping[str, NDArray[Any]]

    def __repr__(self) -> str:
        return "data"

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self.arrays)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return next((len(each) for each in self.arrays.values()), 0)

    def tuples(self, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
        """Return the values of some columns, row by row, as Python has them."""
        if not names:
            return [()] * self.num_rows
        return list(zip(*(self[name].tolist() for name in names), strict=True))

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows with Python's own values."""
        names = self.column_names
        return [dict(zip(names, row, strict=True)) for row in self.tuples(names)]

    def filter(self, keep: NDArray[np.bool_]) -> "Columns":
        """Return the rows for which `keep` is true."""
        return Columns({name: each[keep] for name, each in self.arrays.items()})

    def with_column(self, name: str, values: NDArray[Any]) -> "Columns":
        """Return the same columns and one more."""
        return Columns({**self.arrays, name: values})

    @classmethod
    def of_arrow(cls, table: Any) -> "Columns":
        """Return the columns of an Arrow table."""
        return cls({name: _of_arrow(table[name]) for name in table.column_names})

    def to_arrow(self, schema: Any) -> Any:
        """Return an Arrow table of an Ibis schema."""
        arrow = package("pyarrow", "arrow", "an Arrow table")
        lists = {name: each.tolist() for name, each in self.arrays.items()}
        return arrow.table(lists, schema=schema.to_pyarrow())


def objects(values: Any) -> NDArray[Any]:
    """Return an array of Python objects, whatever they are."""
    listed = list(values)
    found = np.empty(len(listed), dtype=object)
    found[:] = listed
    return found


def _of_arrow(column: Any) -> NDArray[Any]:
    # The kinds of the buffer's own elements: dates and decimals have none in NumPy.
    plain = str(column.type).removeprefix("u").rstrip("0123456789")
    if column.null_count == 0 and plain in ("int", "double", "float", "bool"):
        found: NDArray[Any] = np.asarray(column.to_numpy())
        return found
    return objects(column.to_pylist())


# -- Names of columns: those that start with an underscore are ours, the rest differ.


def check_column_names(columns: Iterable[str]) -> None:
    """Refuse names of ours, and two names that differ by nothing but case."""
    seen: dict[str, str] = {}
    for name in columns:
        if name.startswith("_"):
            raise InvalidArgument(
                f"{name!r} cannot name a column: names that start with an underscore "
                "are hush's own."
            )
        folded = name.casefold()
        if folded in seen:
            raise InvalidArgument(
                f"columns {seen[folded]!r} and {name!r} have the same name, because "
                "engines compare names without case. Rename one of them."
            )
        seen[folded] = name


def check_output_names(groups: tuple[str, ...], aggregates: Iterable[str]) -> None:
    """Refuse two columns of one name in an answer, the ends of intervals included."""
    taken = dict.fromkeys(groups, "a grouping column")
    named = list(aggregates)
    for name in named:
        for made, what in (
            (name, "an aggregate"),
            (f"{name}_low", f"the interval of {name!r}"),
            (f"{name}_high", f"the interval of {name!r}"),
        ):
            if made in taken:
                raise InvalidArgument(
                    f"two columns of the answer would be called {made!r}: "
                    f"{taken[made]} and {what}. Choose another name."
                )
            taken[made] = what
