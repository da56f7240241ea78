"""What is protected: the unit of privacy and the relation between neighbors.

Two data sets are neighbors when one person's records were added or removed
(*add-remove*, the number of people is itself secret) or exchanged for another's
(*replace-one*, the number of people is public).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import final

from hush.errors import InvalidArgument


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
        try:
            return cls(name)
        except ValueError:
            known = " or ".join(repr(str(each)) for each in cls)
            raise InvalidArgument(f"neighbors must be {known}; got {name!r}.") from None


@final
@dataclass(frozen=True)
class Unit:
    """One protected individual: a column that names them, or each row by itself.

    `column` is None when every row is a different person. `namespace` names the
    population, so that the same people under two data sets share one account.
    """

    column: str | None = None
    namespace: str = "default"

    def __str__(self) -> str:
        return "row" if self.column is None else self.column
