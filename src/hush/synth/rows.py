"""Rows as places in a domain: read when they are first asked for, and never shown."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidArgument, Withheld
from hush.synth.domain import NOWHERE, Domain, Places

Whole = NDArray[np.int64]


@final
class Private:
    """The exact counts of a table: private, an input of mechanisms only.

    `read` returns one column of places for each column, and the weight of every row
    (None: one each). Rows that have no place in some column are in no count.
    """

    def __init__(
        self, sizes: tuple[int, ...], read: Callable[[], tuple[Any, Any]]
    ) -> None:
        self._sizes, self._read = sizes, read
        self._lock = threading.RLock()
        self._held: tuple[list[Places], Whole | None] | None = None
        self._known: dict[tuple[int, ...], Whole] = {}
        self._scores: dict[Any, int] = {}

    def __repr__(self) -> str:
        return "data"

    def counts(self, columns: tuple[int, ...]) -> Whole:
        """Return the exact count of every cell of some columns: private."""
        with self._lock:
            if columns not in self._known:
                self._known[columns] = self._count(columns)
            return self._known[columns]

    def score(self, key: Any, make: Callable[[], int]) -> int:
        """Return what was computed under a key before, or compute it: private."""
        with self._lock:
            if key not in self._scores:
                self._scores[key] = make()
            return self._scores[key]

    def _count(self, columns: tuple[int, ...]) -> Whole:
        if self._held is None:
            self._held = _rows_inside(*self._read())
        codes, weights = self._held
        shape = tuple(self._sizes[each] for each in columns)
        cells = np.zeros(len(codes[0]), dtype=np.int64)
        for each, size in zip(columns, shape, strict=True):
            cells = cells * size + codes[each]
        # Sums of whole weights stay below 2^53, where doubles are exact.
        found = np.bincount(cells, weights=weights, minlength=int(np.prod(shape)))
        return found.astype(np.int64).reshape(shape)


def _rows_inside(codes: Any, weights: Any) -> tuple[list[Places], Whole | None]:
    """Return the rows that have a place in every column."""
    columns = [np.asarray(each, dtype=np.int64) for each in codes]
    kept = np.all([each != NOWHERE for each in columns], axis=0)
    chosen = [each[kept] for each in columns]
    return chosen, None if weights is None else np.asarray(weights)[kept]


def private_counts(domain: Domain, rows: Any) -> Private:
    """Return the counts of rows; their public form is checked now, they later.

    Rows are a mapping of columns, a data frame, or a table with the columns of the
    domain in its order.
    """
    columns = _columns(domain, rows)
    for (name, column), values in zip(domain.columns, columns, strict=True):
        if isinstance(values, np.ndarray):
            column.admit(name, values.dtype)

    def read() -> tuple[Any, None]:
        parts = zip(domain.columns, columns, strict=True)
        return [column.places(values) for (_, column), values in parts], None

    return Private(domain.sizes, read)


def _columns(domain: Domain, rows: Any) -> list[Any]:
    if isinstance(rows, Mapping) or hasattr(rows, "columns"):
        known = _names(rows)
        absent = [name for name in domain.names if name not in known]
        if absent:
            raise InvalidArgument(
                f"rows have no column {absent[0]!r}; they have {', '.join(known)}."
            )
        found = [rows[name] for name in domain.names]
    elif isinstance(rows, (list, tuple)):
        found = _columns_of_list(rows, len(domain.names))
    else:
        table = np.asarray(rows)
        if table.ndim != 2 or table.shape[1] != len(domain.names):
            raise _no_columns(domain)
        found = list(table.T)
    sized = [each if hasattr(each, "__len__") else list(each) for each in found]
    if len({len(each) for each in sized}) > 1:
        raise InvalidArgument("rows must have columns of one length.")
    return [_one_column(each) for each in sized]


def _names(rows: Any) -> list[str]:
    """Return the names of columns: of a mapping, a frame, or an Arrow table."""
    if isinstance(rows, Mapping):
        return list(map(str, rows))
    return list(map(str, getattr(rows, "column_names", rows.columns)))


def _columns_of_list(rows: Any, width: int) -> list[Any]:
    """Return the columns of a list of rows, every cell as it is.

    A row of another length has nothing in any column: to refuse it would tell of it.
    Where not one row has the length, the list is no table.
    """
    right = [_is_row(each, width) for each in rows]
    if right and not any(right):
        raise InvalidArgument(
            f"rows must be a mapping of columns, a data frame, or rows of {width} "
            "values, one for each column of the domain."
        )
    nothing = (None,) * width
    fit = [row if fits else nothing for row, fits in zip(rows, right, strict=True)]
    return [[each[place] for each in fit] for place in range(width)]


def _is_row(row: Any, width: int) -> bool:
    with Withheld():
        return isinstance(row, (list, tuple, np.ndarray)) and len(row) == width
    return False


def _no_columns(domain: Domain) -> InvalidArgument:
    return InvalidArgument(
        "rows must be a mapping of columns, a data frame, or a table of "
        f"{len(domain.names)} columns: {', '.join(domain.names)}."
    )


def _one_column(values: Any) -> Any:
    """Return a column as an array where it has a type, else as it is."""
    return values if isinstance(values, (list, tuple)) else np.asarray(values)
