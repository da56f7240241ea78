"""A histogram over public bins, each count with its own noise."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks, law
from hush.errors import InvalidArgument, Withheld
from hush.mechanisms import lattice_rounding
from hush.mechanisms import queries as records
from hush.mechanisms.error import Error
from hush.mechanisms.laplace import cover
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import Metric, Records
from hush.noise import SECURE, Source, discrete_laplace
from hush.privacy.curve import Curve
from hush.privacy.rounding import at_least
from hush.privacy.rules.composition import repeat
from hush.serialization import tagged
from hush.units import Neighbors


@final
@tagged("histogram/1")
@dataclass(frozen=True, repr=False)
class Histogram(Mechanism):
    """Count records in public bins and add whole Laplace noise of `scale` to each.

    `edges` are increasing numbers; a bin holds its left edge, the last also its right.
    Records outside, NaN and infinities are not counted. `categories` instead lists
    public values; others are not counted. Each record is read by itself.

    Guarantee: add/remove moves one count by 1, exactly randomized response at ε =
    1/scale; replace-one moves two, exactly the composition of two of them.

    Example:
        >>> h = Histogram(categories=("Bronx", "Queens"), scale=0.01)
        >>> h.run(["Queens", "Queens", "Paris"]).tolist()
        [0, 2]

    Reference: [DMNS06] Section 3.3; N3.4ex L.ex.
    """

    scale: float | Fraction
    edges: tuple[float, ...] | None = None
    categories: tuple[Any, ...] | None = None
    neighbors: Neighbors = Neighbors.ADD_REMOVE
    unit: ClassVar[str] = "row"  # one record is one person

    @property
    def metric(self) -> Metric:
        """Records: people added and removed, or exchanged."""
        return Records(None, self.neighbors)

    def __post_init__(self) -> None:
        lattice_rounding.drawable("scale", self.scale)
        object.__setattr__(self, "neighbors", Neighbors.of(self.neighbors))
        if (self.edges is None) == (self.categories is None):
            raise InvalidArgument("give either edges or categories, not both or none.")
        if self.edges is not None:
            listed = _as_tuple("edges", self.edges)
            edges = tuple(checks.real("edges", edge) for edge in listed)
            if len(edges) < 2 or any(a >= b for a, b in pairwise(edges)):
                raise InvalidArgument("edges must be at least two increasing numbers.")
            object.__setattr__(self, "edges", edges)
        else:
            names = _as_tuple("categories", self.categories)
            if not names or len(set(names)) < len(names):
                raise InvalidArgument("categories must be distinct, and at least one.")
            object.__setattr__(self, "categories", names)

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("scale", self.scale)

    @property
    def bins(self) -> int:
        """How many counts are released."""
        return len(self.edges) - 1 if self.edges else len(self.categories or ())

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the exact guarantee for `sensitivity` people with one record each."""
        people = checks.whole("sensitivity", sensitivity, at_least=0)
        replaced = self.neighbors is Neighbors.REPLACE_ONE and self.bins > 1
        moves = (1 + replaced) * people
        if people == 1:
            one = cover(self._exact, 1, Fraction(1))
            return repeat(one, times=2) if replaced else one
        # People may share a bin or not; one far count covers every way to spread them.
        return cover(self._exact, moves, Fraction(1))

    @property
    def error(self) -> Error:
        """Exact law of the noise, jointly over all bins."""
        return Error(((law.DiscreteLaplace(self._exact), Fraction(1)),), self.bins)

    def counts(self, data: Any) -> NDArray[np.int64]:
        """Return the exact counts: private, for tests and `run` only."""
        places = (
            self._places(data) if self.edges is None else self._places_in_bins(data)
        )
        kept = places[places >= 0]
        return np.bincount(kept, minlength=self.bins).astype(np.int64)

    def _places_in_bins(self, data: Any) -> NDArray[np.int64]:
        """Return the bin of each record, -1 for none."""
        numbers, edges = records.floats(records.column(data)), np.array(self.edges)
        place = np.searchsorted(edges, numbers, side="right") - 1
        place[numbers == edges[-1]] = self.bins - 1
        inside = (numbers >= edges[0]) & (numbers <= edges[-1])
        return np.where(inside, place, -1)

    def _places(self, data: Any) -> NDArray[np.int64]:
        """Return the place of each record's category, -1 for none.

        Records of a list are looked up as they are: in one array NumPy would turn all
        of them into the type of one.
        """
        index = {name: i for i, name in enumerate(self.categories or ())}

        def place(record: Any) -> int:
            with Withheld():  # what has no hash is no category
                return index.get(record, -1)
            return -1

        given = records.records(data)
        with Withheld():  # the same, faster, where all have one
            return np.array([index.get(each, -1) for each in given], dtype=np.int64)
        return np.array([place(each) for each in given], dtype=np.int64)

    def run(self, value: Any, *, source: Source = SECURE) -> NDArray[np.int64]:
        """Return noisy counts, one per bin, in the order of the bins."""
        exact = self.counts(value)
        noisy: NDArray[np.int64] = exact + discrete_laplace(
            self._exact, exact.shape, source=source
        )
        return noisy

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        one = cls(scale=1, **public)
        people = checks.whole("sensitivity", sensitivity, at_least=1)
        both = one.neighbors is Neighbors.REPLACE_ONE and one.bins > 1
        wanted = checks.rational("epsilon", epsilon)
        return cls(scale=at_least((1 + both) * people / wanted), **public)


def _as_tuple(name: str, given: Any) -> tuple[Any, ...]:
    try:
        return tuple(given)
    except TypeError:
        raise InvalidArgument(
            f"{name} must be a list; got {checks.value_text(given)}. It is public: "
            "write it down, as in edges=(0, 10, 20) or categories=('a', 'b')."
        ) from None
