"""Categories: public values in order."""

import datetime
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidArgument
from hush.noise import Source
from hush.synth.column import MOST, NOWHERE, Column, Places, no_place


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
        found = tuple(_plain(each) for each in given)
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


def _plain(value: Any) -> Any:
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
