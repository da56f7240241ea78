"""The privacy unit: what is protected, user-level or by row, and who are neighbors.

Two data sets are neighbors when one person's records were added or removed
(*add-remove*, the number of people is itself secret) or exchanged for another's
(*replace-one*, the number of people is public).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NoReturn, final

from hush.checks import value_text
from hush.errors import InvalidArgument
from hush.serialization import tagged

_ROW = "row"  # what is protected where nothing tells people apart

# Units of which one person may have many: a row of a table, an edge of a graph.
SMALL_UNITS: Final = frozenset({_ROW, "edge"})


@tagged("units.neighbors/1")
class Neighbors(StrEnum):
    """The relation that a guarantee speaks of."""

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    @classmethod
    def of(cls, name: "str | Neighbors") -> "Neighbors":
        """Return the relation called `name`, or say which names exist.

        Example:
            >>> Neighbors.of("add-remove")
            <Neighbors.ADD_REMOVE: 'add-remove'>
        """
        return cls(name) if isinstance(name, str) else cls._missing_(name)

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        """Say which names exist."""
        known = " or ".join(repr(str(each)) for each in cls)
        raise InvalidArgument(f"neighbors must be {known}; got {value_text(value)}.")


@final
@tagged("units.unit/1")
@dataclass(frozen=True)
class Unit:
    """One protected individual: a column that names them, or each row by itself.

    `column` is None when every row is a different person. `namespace` names the
    population, so that the same people under two data sets share one account.

    Its text is what charges of one account are compared by. A column that is called
    `row` or `edge` is in quotes there: its people have many, and are not added to them.

    Example:
        >>> print(Unit(), Unit("driver"), Unit("row"))
        row driver "row"
    """

    column: str | None = None
    namespace: str = "default"

    def __str__(self) -> str:
        if self.column is None:
            return _ROW
        return f'"{self.column}"' if self.column in SMALL_UNITS else self.column
