"""Bins: numbers between public edges."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.mechanisms.data import column
from hush.noise import Source, integers
from hush.synth.column import MOST, NOWHERE, Column, Places, no_place


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
        if self.whole and min(high - low for low, high in self._wholes) < 1:
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
    def _wholes(self) -> list[tuple[int, int]]:
        """The first whole number of each bin, and the first beyond it."""
        firsts = [math.ceil(edge) for edge in self.edges[:-1]]
        return list(pairwise([*firsts, math.floor(self.edges[-1]) + 1]))

    def drawn(self, places: Places, source: Source) -> NDArray[Any]:
        """Return uniform numbers inside the bins, and None where none is."""
        here = np.minimum(places, self.bins - 1)
        share = np.ldexp(integers(1 << 53, len(places), source=source), -53)
        if self.whole:
            low, beyond = np.array(self._wholes, dtype=np.float64)[here].T
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
