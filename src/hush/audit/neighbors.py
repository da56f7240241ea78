"""Neighbors that break careless code: one person more, fewer, or another.

Every strategy is a way in which a single person can matter more than was thought: an
outlier, a NaN, a NULL, a class nobody else has, ten thousand rows, or being the only
one there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, final

import numpy as np

from hush import checks
from hush.errors import InvalidArgument
from hush.noise import Seeded, Source, integers
from hush.units import Neighbors

Row = tuple[Any, ...]
_FAR = 1e300


@final
@dataclass(frozen=True)
class Pair:
    """Two neighboring data sets, and the name of what sets them apart."""

    how: str
    data: Any = field(repr=False)
    neighbor: Any = field(repr=False)

    def __str__(self) -> str:
        return self.how


class _Form(Protocol):
    """Data as rows, and rows as data again."""

    rows: list[Row]
    unit: int | None  # the place of the column that names a person

    def build(self, rows: Sequence[Row]) -> Any:
        """Return data in the caller's own form."""


@final
class _Array:
    """Records along the first axis of an array or list."""

    unit: int | None = None

    def __init__(self, data: Any) -> None:
        self._array = data if isinstance(data, np.ndarray) else None
        self.rows: list[Row] = [(each,) for each in data]

    def build(self, rows: Sequence[Row]) -> Any:
        values = [row[0] for row in rows]
        if self._array is None:
            return values
        kind = self._array.dtype
        if self._array.ndim > 1:
            shape = (len(values), *self._array.shape[1:])
            return np.array(values, dtype=kind).reshape(shape)
        strange = any(v is None or (kind.kind in "iu" and v != v) for v in values)
        if kind.kind in "iu" and any(abs(v or 0) == _FAR for v in values):
            kind = np.dtype(float)
        return np.array(values, dtype=object if strange else kind)


@final
class _Columns:
    """A mapping from names to columns of equal length."""

    def __init__(self, data: Mapping[str, Any], unit: str | None) -> None:
        self._names = list(data)
        if unit is not None and unit not in data:
            raise InvalidArgument(f"unit must be one of {self._names}; got {unit!r}.")
        self.unit = None if unit is None else self._names.index(unit)
        self._kind = {n: isinstance(c, np.ndarray) for n, c in data.items()}
        self.rows: list[Row] = list(zip(*map(_plain_list, data.values()), strict=True))

    def build(self, rows: Sequence[Row]) -> dict[str, Any]:
        columns = list(zip(*rows, strict=True)) or [()] * len(self._names)
        return {
            n: _column(list(c)) if self._kind[n] else list(c)
            for n, c in zip(self._names, columns, strict=True)
        }


def _plain_list(column: Any) -> list[Any]:
    return list(column.tolist() if hasattr(column, "tolist") else column)


def _column(values: list[Any]) -> Any:
    strange = any(v is None for v in values)
    return np.array(values, dtype=object) if strange else np.array(values)


def _new_person(row: Row, form: _Form, value: Callable[[Any], Any]) -> Row:
    """Return the row of a new person, its cells replaced where `value` says so."""
    cells = [cell if i == form.unit else value(cell) for i, cell in enumerate(row)]
    return tuple(_with_new_name(cells, form))


def _with_new_name(cells: list[Any], form: _Form) -> list[Any]:
    """Give the person a name that is not yet taken."""
    if form.unit is not None:
        taken = {row[form.unit] for row in form.rows}
        names = {type(name) for name in taken}
        if names <= {str}:
            new: Any = max(taken, default="a") + "+"
        else:
            new = max((n for n in taken if n is not None), default=0) + 1
        cells[form.unit] = new
    return cells


def _number(value: Any) -> Callable[[Any], Any]:
    def change(cell: Any) -> Any:
        numeric = isinstance(cell, (int, float, np.number)) and not isinstance(
            cell, bool
        )
        if isinstance(cell, np.ndarray):
            return np.full_like(cell, value, dtype=np.float64)
        return value if numeric else cell

    return change


def _rare(cell: Any) -> Any:
    if isinstance(cell, str):
        return "a class that nobody else has"
    return _number(987_654_321)(cell)


def _null(cell: Any) -> Any:
    return np.full_like(cell, np.nan) if isinstance(cell, np.ndarray) else None


# What one person's cells are turned into, by the name of the strategy.
CELLS: dict[str, Callable[[Any], Any]] = {
    "random": lambda cell: cell,
    "outlier": _number(_FAR),
    "negative outlier": _number(-_FAR),
    "nan": _number(float("nan")),
    "null": _null,
    "rare class": _rare,
}
SHAPES = ("only holder", "heavy user", "empty", "single row")
HOW = (*CELLS, *SHAPES)


def neighbors_of(
    data: Any,
    unit: str | None = None,
    how: Iterable[str] = HOW,
    *,
    neighbors: str | Neighbors = Neighbors.ADD_REMOVE,
    rows: int = 10_000,
    source: Source | None = None,
) -> list[Pair]:
    """Return pairs of neighboring data sets, one or two for every strategy.

    `data` is a list or array of records, or a mapping from names to columns; `unit`
    names the column of people. `how` chooses among "random", "outlier", "negative
    outlier", "nan", "null", "rare class", "only holder" (of a key), "heavy user" (with
    `rows` rows; needs a unit), "empty" and "single row". Each comes both ways.

    Example:
        >>> found = neighbors_of([3, 4, 5], how=["nan", "empty"])
        >>> [(str(pair), pair.data, pair.neighbor) for pair in found]
        [('nan, added', [3, 4, 5], [3, 4, 5, nan]),
         ('nan, removed', [3, 4, 5, nan], [3, 4, 5]),
         ('empty, added', [], [3]), ('empty, removed', [3], [])]
    """
    form: _Form = _Columns(data, unit) if isinstance(data, Mapping) else _Array(data)
    if not form.rows:
        raise InvalidArgument("data must have at least one record to start from.")
    checks.whole("rows", rows, at_least=1)
    relation = Neighbors.of(neighbors)
    # Which person is tried is no secret, and a test should repeat itself.
    chosen = source or Seeded(0)
    found: list[Pair] = []
    for name in how:
        if name not in HOW:
            raise InvalidArgument(f"how must be among {', '.join(HOW)}; got {name!r}.")
        if name == "heavy user" and form.unit is None:
            continue  # every row is a person of its own
        rest, person = _split(form, name, rows, chosen)
        if relation is Neighbors.REPLACE_ONE:
            found += _exchange(form, name, rest, person)
        else:
            less, more = form.build(rest), form.build([*rest, *person])
            found += [
                Pair(f"{name}, added", less, more),
                Pair(f"{name}, removed", more, less),
            ]
    return found


def _split(
    form: _Form, name: str, rows: int, source: Source
) -> tuple[list[Row], list[Row]]:
    """Return everybody else, and the rows of the one person in question."""
    at = int(integers(len(form.rows), source=source))
    row = form.rows[at]
    if name == "random":
        if form.unit is None:
            return [*form.rows[:at], *form.rows[at + 1 :]], [row]
        who = row[form.unit]
        mine = [each for each in form.rows if each[form.unit] == who]
        return [each for each in form.rows if each[form.unit] != who], mine
    if name in CELLS:
        return form.rows, [_new_person(row, form, CELLS[name])]
    if name == "heavy user":
        return form.rows, [_new_person(row, form, lambda cell: cell)] * rows
    if name == "empty":
        return [], [form.rows[0]]
    if name == "single row":
        return [form.rows[0]], [_new_person(row, form, lambda cell: cell)]
    # The only holder of a key: nobody else shares any of the person's words.
    words = _key_candidates(row, form)
    rest = [
        each
        for each in form.rows
        if not words & _key_candidates(each, form)
        and (form.unit is None or each[form.unit] != row[form.unit])
    ]
    return rest, [row]


def _key_candidates(row: Row, form: _Form) -> set[Any]:
    """Return what may be a group key in a row: its texts, else its numbers."""
    cells = [cell for i, cell in enumerate(row) if i != form.unit]
    texts = {cell for cell in cells if isinstance(cell, str)}
    return texts or {cell for cell in cells if not isinstance(cell, np.ndarray)}


def _exchange(form: _Form, name: str, rest: list[Row], person: list[Row]) -> list[Pair]:
    """Return one person in the place of another, as many people as before."""
    if name == "empty":
        return []  # nobody is there to be exchanged
    other = rest[:1] or [form.rows[-1]]
    if form.unit is not None and rest:
        who = rest[0][form.unit]
        other = [each for each in rest if each[form.unit] == who]
        rest = [each for each in rest if each[form.unit] != who]
    else:
        rest = rest[1:]
    first, second = form.build([*rest, *other]), form.build([*rest, *person])
    return [
        Pair(f"{name}, in", first, second),
        Pair(f"{name}, out", second, first),
    ]
