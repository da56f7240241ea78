"""A domain: the public columns of a table. Nothing of it comes from data."""

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.mechanisms.queries import column
from hush.noise import Source, integers

# -- What is publicly known of a column: its cells, and which cell a value is in -------
#
# A value that a column does not list, NULL, NaN and what is no number have the place
# of `None` if the column has one; if not, their row is in no cell, as rows of other
# keys are in no group of a table. Numbers are clamped to their edges, infinities too.

Places = NDArray[np.int64]
NOWHERE = -1  # the place of a value that its column has no cell for
MOST = 1 << 16  # cells of one column


class Column(ABC):
    """What is publicly known of a column: its cells, and which cell a value is in."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many cells there are, the one of `None` included."""

    @abstractmethod
    def places(self, values: Any) -> Places:
        """Return the cell of every value, -1 where there is none: private.

        Guarantee: each value is read by itself, and none raises.
        """

    @abstractmethod
    def drawn(self, places: Places, source: Source) -> NDArray[Any]:
        """Return values of these cells; where in a cell is up to chance."""

    @abstractmethod
    def admit(self, name: str, dtype: Any) -> None:
        """Refuse a column of a type that has no cell here; types are public."""

    @property
    @abstractmethod
    def labels(self) -> tuple[Any, ...]:
        """A name for every cell."""

    @property
    @abstractmethod
    def plain(self) -> dict[str, Any]:
        """The cells as plain lists, as a table of an engine needs them."""


def no_place(name: str, what: str, why: str) -> InvalidArgument:
    """Return the refusal of a column whose type no cell can hold."""
    return InvalidArgument(
        f"the column {name!r} is of {what}, and {why}: no row would have a place. "
        "Convert it, or describe it in the domain as it is."
    )


# -- A domain: the public columns of a table. Nothing of it comes from data ------------


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
        raise InvalidArgument(
            f"domain[{name!r}]: {problem}", code=problem.code
        ) from None


# -- Bins: numbers between public edges ------------------------------------------------


@final
@dataclass(frozen=True)
class Bins(Column):
    """Numbers between public edges; a bin holds its lower end, the last one both.

    Numbers outside are clamped. With `missing` there is one more cell, the last, for
    NULL, NaN and what is no number. `whole` numbers are drawn as such.

    Example:
        >>> ages = Bins(edges=range(0, 101, 25), whole=True)
        >>> ages.places([3, 25, 100, 1e9, float("-inf"), None]).tolist()
        [0, 1, 3, 3, 0, -1]
        >>> Bins.of((0, 1), bins=2, missing=True).places([0.5, None]).tolist()
        [1, 2]
    """

    edges: tuple[float, ...]
    whole: bool = False
    missing: bool = False

    def __post_init__(self) -> None:
        checks.flag("whole", self.whole)
        checks.flag("missing", self.missing)
        given: Any = self.edges
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise InvalidArgument(
                "edges must be a list of rising numbers, as in edges=[0, 10, 20]; got "
                f"a {type(given).__name__}."
            )
        found = tuple(checks.real("edges", each) for each in given)
        if not 2 <= len(found) <= MOST or any(a >= b for a, b in pairwise(found)):
            raise InvalidArgument(f"edges must be 2 to {MOST} rising numbers.")
        checks.real("edges[-1] - edges[0]", found[-1] - found[0])
        object.__setattr__(self, "edges", found)
        if self.whole and min(high - low for low, high in self._whole_ranges) < 1:
            raise InvalidArgument(
                "edges must leave a whole number in every bin where whole=True."
            )

    @classmethod
    def of(
        cls,
        bounds: tuple[float, float],
        bins: int = 10,
        *,
        whole: bool = False,
        missing: bool = False,
    ) -> "Bins":
        """Return bins of one width between public bounds; of whole numbers, about one.

        Example:
            >>> Bins.of((0, 9), bins=5, whole=True).edges
            (0.0, 2.0, 4.0, 6.0, 8.0, 9.0)
        """
        lower, upper = checks.interval("bounds", bounds)
        count = checks.whole("bins", bins, at_least=1, at_most=MOST - 1)
        if whole:
            first, beyond = math.ceil(lower), math.floor(upper) + 1
            count = max(1, min(count, beyond - first))
            cuts = [first + k * (beyond - first) // count for k in range(1, count)]
            edges = (float(first), *map(float, cuts), float(beyond - 1))
            edges = (*edges[:-1], max(edges[-1], math.nextafter(edges[-2], math.inf)))
        else:
            edges = tuple(map(float, np.linspace(lower, upper, count + 1)))
        return cls(edges, whole=whole, missing=missing)

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    @property
    def size(self) -> int:
        """The bins, and the place of what is missing."""
        return self.bins + self.missing

    def places(self, values: Any) -> Places:
        """Return the bin of each number; of none the last cell, or -1."""
        with np.errstate(all="ignore"):  # a warning would depend on the data
            numbers = column(values).astype(np.float64)
        absent = np.isnan(numbers)
        inside = np.clip(np.where(absent, self.edges[0], numbers), *self._ends)
        found = np.searchsorted(np.array(self.edges), inside, side="right") - 1
        found = np.minimum(found, self.bins - 1).astype(np.int64)
        found[absent] = self.bins if self.missing else NOWHERE
        return found

    @property
    def _ends(self) -> tuple[float, float]:
        return self.edges[0], self.edges[-1]

    @property
    def _whole_ranges(self) -> list[tuple[int, int]]:
        """The first whole number of each bin, and the first beyond it."""
        firsts = [math.ceil(edge) for edge in self.edges[:-1]]
        return list(pairwise([*firsts, math.floor(self.edges[-1]) + 1]))

    def drawn(self, places: Places, source: Source) -> NDArray[Any]:
        """Return uniform numbers inside the bins, and None where none is."""
        here = np.minimum(places, self.bins - 1)
        share = np.ldexp(integers(1 << 53, len(places), source=source), -53)
        if self.whole:
            low, beyond = np.array(self._whole_ranges, dtype=np.float64)[here].T
            found: Any = (low + np.floor(share * (beyond - low))).astype(np.int64)
        else:
            low, high = np.array(self.edges)[here], np.array(self.edges)[here + 1]
            found = low + share * (high - low)
        if not self.missing:
            return np.asarray(found)
        listed = found.astype(object)
        listed[places == self.bins] = None
        return np.asarray(listed)

    def admit(self, name: str, dtype: Any) -> None:
        """Refuse what cannot hold numbers."""
        if dtype.kind not in "biufO":
            raise no_place(name, f"dtype {dtype}", "its cells are of numbers")

    @property
    def labels(self) -> tuple[Any, ...]:
        """From edge to edge; None for what is missing."""
        named = tuple(f"{a:g} to {b:g}" for a, b in pairwise(self.edges))
        return (*named, None) if self.missing else named

    @property
    def plain(self) -> dict[str, Any]:
        """The edges, and the place of what is missing."""
        return {
            "edges": list(self.edges),
            "missing": self.bins if self.missing else None,
        }


# -- Categories: public values in order ------------------------------------------------


@final
@dataclass(frozen=True)
class Categories(Column):
    """Public values in order; `None` among them stands for everything else.

    Example:
        >>> Categories(["f", "m"]).places(["m", "x", None, float("nan")]).tolist()
        [1, -1, -1, -1]
        >>> Categories(["f", "m", None]).places(["m", "x", 7]).tolist()
        [1, 2, 2]
    """

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        kinds = (str, bytes, Mapping, AbstractSet)
        given: Any = self.values
        if isinstance(given, kinds) or not isinstance(given, Iterable):
            raise InvalidArgument(
                "values must be a list of public categories in order, as in "
                f"['f', 'm']; got a {type(given).__name__}."
            )
        found = tuple(_plain_category(each) for each in given)
        if not found or len(found) > MOST or len(_index(found)) < len(found):
            # Not which: they may be the whole column, given by mistake.
            raise InvalidArgument(
                f"values must be 1 to {MOST} different categories, known without the "
                f"data; got {len(found)}, or one of them twice."
            )
        object.__setattr__(self, "values", found)

    @property
    def size(self) -> int:
        """One cell for each category."""
        return len(self.values)

    @cached_property
    def _places(self) -> dict[Any, int]:
        return _index(self.values)

    def places(self, values: Any) -> Places:
        """Return the place of each category; of all others that of `None`, or -1."""
        others = self._places.get(None, NOWHERE)
        array = values if isinstance(values, np.ndarray) else None
        if array is not None and array.dtype.kind in "biufU" and array.size:
            # Equal values of one type are looked up once.
            different, each = np.unique(array, return_inverse=True)
            known = [_place(self._places, v, others) for v in different.tolist()]
            return np.array(known, dtype=np.int64)[each.reshape(-1)]
        if array is not None and array.dtype.kind == "M":  # as Python's own dates
            exact = any(isinstance(each, datetime.datetime) for each in self.values)
            values = array.astype("datetime64[us]" if exact else "datetime64[D]")
        listed = values.tolist() if hasattr(values, "tolist") else list(values)
        found = [_place(self._places, each, others) for each in listed]
        return np.array(found, dtype=np.int64)

    def drawn(self, places: Places, source: Source) -> NDArray[Any]:
        """Return the categories; of one type where they have one."""
        del source
        listed = np.empty(self.size, dtype=object)
        listed[:] = self.values
        kinds = {type(each) for each in self.values}
        if len(kinds) == 1 and kinds <= {str, int, float, bool}:
            listed = np.array(self.values)
        return np.asarray(listed[places])

    def admit(self, name: str, dtype: Any) -> None:
        """Refuse numbers where all categories are texts, and texts where none is."""
        texts = [isinstance(each, str) for each in self.values if each is not None]
        if dtype.kind in "US" and texts and not any(texts):
            raise no_place(name, "texts", "none of its categories is one")
        if dtype.kind in "iuf" and texts and all(texts):
            raise no_place(name, "numbers", "all its categories are texts")

    @property
    def labels(self) -> tuple[Any, ...]:
        """The categories themselves."""
        return self.values

    @property
    def plain(self) -> dict[str, Any]:
        """The categories, and whether others have a place."""
        return {
            "values": [each for each in self.values if each is not None],
            "missing": self._places.get(None),
        }


def _plain_category(value: Any) -> Any:
    """Return a category as Python has it."""
    return value.item() if isinstance(value, np.generic) else value


def _index(values: tuple[Any, ...]) -> dict[Any, int]:
    try:
        found = {value: place for place, value in enumerate(values)}
    except TypeError:
        raise InvalidArgument(
            "values must be texts, numbers, truth values, dates or None."
        ) from None
    if any(value != value for value in found):  # NaN
        raise InvalidArgument("values must not hold NaN: write None for what is not.")
    return found


def _place(places: dict[Any, int], value: Any, others: int) -> int:
    try:
        return places.get(value, others)
    except Exception:  # what has no hash, or cannot be compared, is no category
        return others
