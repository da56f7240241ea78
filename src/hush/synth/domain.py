"""A domain: the public columns of a table. Nothing of it comes from data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from hush.errors import InvalidArgument
from hush.synth.categories import Categories
from hush.synth.column import Column


@final
@dataclass(frozen=True)
class Domain:
    """Public columns by name, in order.

    Example:
        >>> from hush.synth import Bins
        >>> found = Domain.of({"sex": ["f", "m"], "age": Bins.of((0, 100))})
        >>> found.names, found.sizes
        (('sex', 'age'), (2, 10))
    """

    columns: tuple[tuple[str, Column], ...]

    @classmethod
    def of(cls, given: Any) -> "Domain":
        """Return the domain that a mapping of columns describes; lists are categories.

        There is no default: cells that were read from the data would show who is in it.
        """
        if isinstance(given, Domain):
            return given
        if not isinstance(given, Mapping) or not given:
            kind = f"a {type(given).__name__}"
            raise InvalidArgument(
                "domain must say what is publicly known of each column, as in "
                "{'sex': ['f', 'm'], 'age': Bins(edges=range(0, 101, 10))}. It is "
                "never taken from the data. Got "
                f"{'no columns' if isinstance(given, Mapping) else kind}."
            )
        return cls(tuple((str(n), _column(str(n), c)) for n, c in given.items()))

    def __post_init__(self) -> None:
        names = self.names
        if not names or len(set(names)) < len(names):
            raise InvalidArgument("domain must have one or more columns, each once.")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, _ in self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each column has."""
        return tuple(each.size for _, each in self.columns)

    def place(self, name: str) -> int:
        """Return where a column stands, or say which there are."""
        if name not in self.names:
            raise InvalidArgument(
                f"{name!r} is not a column; the columns are {', '.join(self.names)}."
            )
        return self.names.index(name)

    @property
    def plain(self) -> dict[str, Any]:
        """The cells of every column as plain lists."""
        return {name: each.plain for name, each in self.columns}


def _column(name: str, given: Any) -> Column:
    if isinstance(given, Column):
        return given
    try:
        return Categories(given)
    except InvalidArgument as problem:
        raise InvalidArgument(f"domain[{name!r}]: {problem}") from None
