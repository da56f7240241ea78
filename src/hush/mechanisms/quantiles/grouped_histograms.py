"""Weighted histograms of many groups: rows of public cells that hold whole weights."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.mechanisms.metrics import NONE, Distance, Metric

Integers = NDArray[np.int64]

MOST = 1 << 62  # weights of a group add up to less


@final
@dataclass(frozen=True, eq=False)
class Group:
    """One group: its non-empty cells in increasing order, and their whole weights."""

    places: Integers
    weights: Integers

    @cached_property
    def ranks(self) -> Integers:
        """Weight below each non-empty cell, and in the end the total."""
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.weights)])

    @property
    def total(self) -> int:
        """Weight of the group."""
        return int(self.ranks[-1])

    def split(self, place: int, share: Fraction) -> "tuple[Group, Group]":
        """Return what lies below and above `place`, its own weight divided.

        Guarantee: weight added to a cell is added to one side or divided over both:
        ℓ1 distances of the two sides add up to that of the whole.
        """
        low = int(np.searchsorted(self.places, place, side="left"))
        high = int(np.searchsorted(self.places, place, side="right"))
        left, right = self.weights[:high].copy(), self.weights[low:].copy()
        if high > low:
            # floor(share·w) grows by at most what w grows by, and so does the rest.
            left[-1] = math.floor(share * int(left[-1]))
            right[0] -= left[-1]
        return Group(self.places[:high], left), Group(self.places[low:], right)


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """Histograms of several groups over the same `size` cells.

    Example:
        >>> cells = Cells.of([[0, 3, 0, 1], [0, 0, 0, 0]])
        >>> cells.size, [group.total for group in cells.groups]
        (4, [4, 0])
    """

    size: int
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, value: Any) -> "Cells":
        """Return the cells of an array of whole weights: (groups, size) or (size,)."""
        if isinstance(value, cls):
            return value
        dense = np.atleast_2d(np.asarray(value))
        if dense.ndim != 2 or dense.dtype.kind not in "iu" or dense.shape[1] == 0:
            raise InvalidArgument(
                "value must be Cells or whole weights of shape (groups, size)."
            )
        return cls.listed(
            dense.shape[1],
            [(np.flatnonzero(row), row[np.flatnonzero(row)]) for row in dense],
        )

    @classmethod
    def listed(cls, size: int, groups: Iterable[tuple[Any, Any]]) -> "Cells":
        """Return the cells from pairs (increasing places, whole weights)."""
        size = checks.whole("size", size, at_least=1)
        found = []
        for places, weights in groups:
            group = Group(
                np.asarray(places, dtype=np.int64), np.asarray(weights, dtype=np.int64)
            )
            inside = group.places.size == 0 or (
                group.places[0] >= 0 and group.places[-1] < size
            )
            if (
                group.places.shape != group.weights.shape
                or not inside
                or np.any(np.diff(group.places) <= 0)
                or np.any(group.weights < 0)
                or group.weights.sum(dtype=np.float64) >= MOST
            ):
                raise InvalidArgument(
                    "groups must pair increasing places in 0..size-1 with weights of "
                    "at least 0 that add up to less than 2^62."
                )
            found.append(group)
        return cls(size, tuple(found))


@final
@dataclass(frozen=True)
class CellWeights(Metric):
    """The weight that moves from or to any place, summed over all groups."""

    norm: ClassVar[float] = 1

    def distance(self, first: Any, second: Any) -> Distance | None:
        """Return the sum of the absolute moves of all weights."""
        a, b = Cells.of(first), Cells.of(second)
        if a.size != b.size or len(a.groups) != len(b.groups):
            return NONE
        apart = 0
        for one, two in zip(a.groups, b.groups, strict=True):
            left = dict(zip(one.places.tolist(), one.weights.tolist(), strict=True))
            right = dict(zip(two.places.tolist(), two.weights.tolist(), strict=True))
            apart += sum(
                abs(left.get(place, 0) - right.get(place, 0)) for place in left | right
            )
        return Distance(Fraction(apart))
