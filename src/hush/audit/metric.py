"""How far two inputs of a mechanism are apart, exactly, in the mechanism's own metric.

A mechanism promises `curve(sensitivity)` for inputs at most `sensitivity` apart: ℓ1 for
Laplace noise, ℓ2 for Gaussian noise, the largest move for selections, records for
mechanisms that read data. A mechanism of your own joins by `distance.register`.
"""

import math
import numbers
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any, Literal, final

import numpy as np

from hush import mechanisms as m
from hush.mechanisms.selection.exponential import Pieces
from hush.noise import Body, Norm
from hush.units import Neighbors


@final
@dataclass(frozen=True)
class Distance:
    """A distance raised to a whole `power`, so that square roots stay exact.

    `value` is None where there is no distance: NaN, infinity, shapes that differ, or a
    direction that the mechanism excludes.

    Example:
        >>> Distance(Fraction(2), power=2).within(1.5)
        True
    """

    value: Fraction | None
    power: int = 1

    def within(self, sensitivity: Any) -> bool:
        """Return whether the distance is at most `sensitivity`, exactly."""
        if self.value is None:
            return False
        if isinstance(sensitivity, float) and not math.isfinite(sensitivity):
            return sensitivity > 0
        return self.value <= Fraction(sensitivity) ** self.power

    def __float__(self) -> float:
        return math.inf if self.value is None else float(self.value) ** (1 / self.power)


NONE = Distance(None)


def moves(first: Any, second: Any) -> list[Fraction] | None:
    """Return the exact differences where they are not zero; None if there is none."""
    a, b = _flat(first), _flat(second)
    if a is None or b is None or a.shape != b.shape:
        return None
    found = []
    # NaN differs from itself, so it is looked at and refused.
    for x, y in zip(a[a != b].tolist(), b[a != b].tolist(), strict=True):
        exact = _exact(x), _exact(y)
        if exact[0] is None or exact[1] is None:
            return None
        found.append(exact[0] - exact[1])
    return found


def _flat(value: Any) -> "np.ndarray[Any, Any] | None":
    if isinstance(value, numbers.Number):
        value = [value]
    if isinstance(value, (list, tuple)):
        try:
            ragged = np.empty(len(value), dtype=object)
            ragged[:] = value
            # Python numbers stay what they are: 2^60 + 1 is not a float.
            if all(isinstance(each, numbers.Number) for each in value):
                return ragged
        except ValueError:
            return None
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    return array if array.dtype.kind in "biufO" else None


def _exact(value: Any) -> Fraction | None:
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    number = float(value)
    return Fraction(number) if math.isfinite(number) else None


def lp(first: Any, second: Any, norm: Literal[0, 1, 2] | float) -> Distance:
    """Return the distance in ℓ0 (places that differ), ℓ1, ℓ2 or ℓ∞.

    Example:
        >>> float(lp([0, 0], [3, 4], 2)), float(lp([0, 0], [3, 4], math.inf))
        (5.0, 4.0)
    """
    found = moves(first, second)
    if found is None:
        return NONE
    if norm == 0:
        return Distance(Fraction(len(found)))
    if norm == 2:
        return Distance(sum((x * x for x in found), Fraction(0)), power=2)
    sizes = [abs(x) for x in found]
    if norm == 1:
        return Distance(sum(sizes, Fraction(0)))
    return Distance(max(sizes, default=Fraction(0)))


def records(first: Any, second: Any, neighbors: Neighbors | str) -> Distance:
    """Return how many records were added and removed, or exchanged, in any order.

    Example:
        >>> float(records([1, 2, 3], [3, 1], "add-remove"))
        1.0
    """
    a, b = Counter(_keys(first)), Counter(_keys(second))
    gone, come = (a - b).total(), (b - a).total()
    if Neighbors.of(neighbors) is Neighbors.ADD_REMOVE:
        return Distance(Fraction(gone + come))
    return Distance(Fraction(gone)) if gone == come else NONE


def _keys(data: Any) -> Iterable[Any]:
    rows = data.tolist() if hasattr(data, "tolist") else data
    for row in rows:
        # NaN is one value here: the rule that maps it looks at nothing else.
        yield repr(row) if isinstance(row, (list, dict)) or row != row else row


@singledispatch
def distance(_mechanism: Any, _first: Any, _second: Any) -> Distance | None:
    """Return the distance of two inputs; None where the metric is not known.

    Example:
        >>> float(distance(m.Laplace(scale=1.0), [0, 1], [1, 0]))
        2.0
    """
    return None


@distance.register(m.Laplace)
@distance.register(m.Geometric)
@distance.register(m.TreeSum)
def _sum(_mechanism: Any, first: Any, second: Any) -> Distance:
    # A stream that moves by s in ℓ1 moves every size of block of a tree by at most s.
    return lp(first, second, 1)


@distance.register(m.Gaussian)
@distance.register(m.DiscreteGaussian)
def _root(_mechanism: Any, first: Any, second: Any) -> Distance:
    return lp(first, second, 2)


@distance.register(m.Staircase)
@distance.register(m.Canonical)
def _one(_mechanism: Any, first: Any, second: Any) -> Distance:
    # These curves are about one coordinate; each further one is charged by itself.
    several = float(lp(first, second, 0)) > 1
    return NONE if several else lp(first, second, 1)


@distance.register(m.KNorm)
def _norm(mechanism: m.KNorm, first: Any, second: Any) -> Distance | None:
    if isinstance(mechanism.norm, Body):
        return None
    kind = {Norm.ONE: 1, Norm.TWO: 2}.get(Norm.of(mechanism.norm), math.inf)
    return lp(first, second, kind)


@distance.register(m.RandomizedResponse)
def _places(_mechanism: Any, first: Any, second: Any) -> Distance:
    return lp(first, second, 0)


@distance.register(m.Exponential)
@distance.register(m.NoisyMax)
@distance.register(m.PermuteAndFlip)
@distance.register(m.TopK)
@distance.register(m.SparseVector)
def _largest(mechanism: Any, first: Any, second: Any) -> Distance:
    if isinstance(first, Pieces):
        first, second = _on_one_grid(first, second)
    found = moves(first, second)
    if found is None:
        return NONE
    if mechanism.monotone and min(found, default=0) < 0 < max(found, default=0):
        return NONE  # the scores were promised to move in one direction
    return lp(first, second, math.inf)


def _on_one_grid(first: Pieces, second: Pieces) -> tuple[Any, Any]:
    """Return both utilities in every cell where either of them may change."""
    cells = np.union1d(first.cuts[:-1], second.cuts[:-1])
    return first.at(cells), second.at(cells)


@distance.register(m.CellQuantile)
@distance.register(m.CellInterval)
@distance.register(m.CellTop)
def _weights(_mechanism: Any, first: Any, second: Any) -> Distance:
    a, b = m.Cells.of(first), m.Cells.of(second)
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


@distance.register(m.KeySelection)
def _votes(mechanism: m.KeySelection, first: Any, second: Any) -> Distance:
    # One person: few keys, and votes whose squares add up to at most a whole one.
    people = 1 if mechanism.neighbors is Neighbors.ADD_REMOVE else 2
    found = moves(first, second)
    if found is None or len(found) > people * mechanism.keys_per_person:
        return NONE
    whole = people * mechanism.whole**2
    return Distance(Fraction(1)) if sum(x * x for x in found) <= whole else NONE


@distance.register(m.OptimalKeySelection)
def _holders(mechanism: m.OptimalKeySelection, first: Any, second: Any) -> Distance:
    people = 1 if mechanism.neighbors is Neighbors.ADD_REMOVE else 2
    found = moves(first, second)
    if found is None or len(found) > people * mechanism.keys_per_person:
        return NONE
    return lp(first, second, math.inf)


@distance.register(m.Quantile)
@distance.register(m.Histogram)
def _data(mechanism: Any, first: Any, second: Any) -> Distance:
    return records(first, second, mechanism.neighbors)


@distance.register(m.WinsorizedMean)
def _exchanged(_mechanism: Any, first: Any, second: Any) -> Distance:
    return records(first, second, Neighbors.REPLACE_ONE)


READS_DATA = (m.Quantile, m.Histogram, m.WinsorizedMean)
