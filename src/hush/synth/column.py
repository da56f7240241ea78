"""What is publicly known of a column: its cells, and which cell a value is in.

A value that a column does not list, NULL, NaN and what is no number have the place of
`None` if the column has one; if not, their row is in no cell, as rows of other keys are
in no group of a table. Numbers are clamped to their edges, infinities too.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidArgument
from hush.noise import Source

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
        """The cells as plain lists: what a table of an engine is told."""


def no_place(name: str, what: str, why: str) -> InvalidArgument:
    """Return the refusal of a column whose type no cell can hold."""
    return InvalidArgument(
        f"the column {name!r} is of {what}, and {why}: no row would have a place. "
        "Convert it, or describe it in the domain as it is."
    )
