"""The metric of a mechanism: how far apart two of its inputs are.

A mechanism promises `curve(sensitivity)` for inputs at most `sensitivity` apart: in ℓ1
for Laplace noise, in ℓ2 for Gaussian noise, by the largest move of a score for choices,
in records for mechanisms that read data themselves. Each mechanism says which, so that
nobody has to know its class to count what it costs.
"""

import math
import numbers
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, final

import numpy as np

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
Input = Literal["an answer", "scores", "records"]


@dataclass(frozen=True)
class Metric(ABC):
    """A distance between inputs, and what an input is.

    `dimension` is how many numbers the curve holds for at most; None: any number.
    """

    dimension: int | None = None
    norm: ClassVar[float | None] = None  # 0, 1, 2 or inf, of a difference of numbers

    @property
    def reads(self) -> Input:
        """What an input is."""
        return "an answer"

    @abstractmethod
    def distance(self, first: Any, second: Any) -> Distance | None:
        """Return how far apart two inputs are; None where that is not known."""


@dataclass(frozen=True)
class _Norm(Metric):
    """A norm of the difference of two lists of numbers."""

    def distance(self, first: Any, second: Any) -> Distance | None:
        """Return the norm of the difference, exactly."""
        if (
            self.dimension is not None
            and _count_changed(first, second) > self.dimension
        ):
            return NONE
        return lp(first, second, self.norm)  # type: ignore[arg-type]


@final
@dataclass(frozen=True)
class L1(_Norm):
    """The sum of all moves.

    Example:
        >>> float(L1().distance([0, 1], [1, 0]))
        2.0
    """

    norm: ClassVar[float] = 1


@final
@dataclass(frozen=True)
class L2(_Norm):
    """The Euclidean length of the moves.

    Example:
        >>> float(L2().distance([0, 0], [3, 4]))
        5.0
    """

    norm: ClassVar[float] = 2


@final
@dataclass(frozen=True)
class Hamming(_Norm):
    """The number of places that differ.

    Example:
        >>> float(Hamming().distance([0, 1, 2], [0, 2, 1]))
        2.0
    """

    norm: ClassVar[float] = 0


@final
@dataclass(frozen=True)
class LInf(Metric):
    """The largest move; of scores that are `one_way` none may move against another.

    Example:
        >>> float(LInf().distance([0, 1], [3, 0]))
        3.0
    """

    one_way: bool = False
    scores: bool = True
    norm: ClassVar[float] = math.inf

    @property
    def reads(self) -> Input:
        """Scores of candidates, or an answer."""
        return "scores" if self.scores else "an answer"

    def distance(self, first: Any, second: Any) -> Distance | None:
        """Return the largest move, exactly."""
        if hasattr(first, "cuts"):
            first, second = _on_one_grid(first, second)
        found = nonzero_differences(first, second)
        if found is None:
            return NONE
        if self.one_way and min(found, default=0) < 0 < max(found, default=0):
            return NONE  # the scores were promised to move in one direction
        return lp(first, second, math.inf)


@final
@dataclass(frozen=True)
class Records(Metric):
    """How many records were added and removed, or exchanged, in any order.

    Inputs that are not `listed` are no plain lists of records, as a table of rows and
    targets: what reads them knows its neighbors, and no distance is computed here.

    Example:
        >>> float(Records(neighbors="add-remove").distance([1, 2, 3], [3, 1]))
        1.0
    """

    neighbors: Neighbors | str = Neighbors.ADD_REMOVE
    listed: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighbors", Neighbors.of(self.neighbors))

    @property
    def reads(self) -> Input:
        """Records of people."""
        return "records"

    def distance(self, first: Any, second: Any) -> Distance | None:
        """Return the number of records by which two lists differ."""
        return records(first, second, self.neighbors) if self.listed else None


@final
@dataclass(frozen=True)
class Stated(Metric):
    """The distance that the author of a mechanism means, and nobody else knows."""

    def distance(self, first: Any, second: Any) -> Distance | None:
        """None: not known."""
        return None


def nonzero_differences(first: Any, second: Any) -> list[Fraction] | None:
    """Return the exact differences that are not zero; None where none is known."""
    a, b = _flat_array(first), _flat_array(second)
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


def _count_changed(first: Any, second: Any) -> int:
    """Return how many numbers differ."""
    found = nonzero_differences(first, second)
    return 0 if found is None else len(found)


def _flat_array(value: Any) -> "np.ndarray[Any, Any] | None":
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
    found = nonzero_differences(first, second)
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


def _on_one_grid(first: Any, second: Any) -> tuple[Any, Any]:
    """Return both utilities in every cell where either of them may change."""
    cells = np.union1d(first.cuts[:-1], second.cuts[:-1])
    return first.utilities_at(cells), second.utilities_at(cells)
