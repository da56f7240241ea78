"""Priors: public base measures on candidates, or on an interval, for a private choice.

A choice with density ∝ prior·exp(utility/scale) has the same guarantee as without one:
the prior is the same for all data, so it cancels in every ratio of densities but for
the normalising constant, which the proof bounds anyway (N Theorem 7.1).
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.serialization import tagged

_APART = 1 << 100  # between two weights: chances stay inside what samplers can tell
_LARGEST = 900  # bits of a whole weight: times a number of cells it is still a float


def numbers(name: str, value: Any) -> tuple[Any, ...]:
    """Return public weights as a tuple of Python's numbers, or refuse them."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidArgument(
            f"{name} must be numbers, one for each candidate or step; got "
            f"{checks.value_text(value)}."
        )
    found = tuple(checks.plain_number(each) for each in value)
    whole_weights(name, found)
    return found


def whole_weights(name: str, weights: tuple[Any, ...]) -> NDArray[Any]:
    """Return weights as whole numbers in the same proportions, exactly.

    Example:
        >>> whole_weights("prior", (0.5, Fraction(1, 3), 0)).tolist()
        [3, 2, 0]
    """
    for each in weights:
        checks.real(name, each, at_least=0)
    exact = [checks.rational(name, each, above=None) for each in weights]
    some = [each for each in exact if each > 0]
    if not some:
        raise InvalidArgument(f"{name} must have at least one number above 0.")
    if max(some) > _APART * min(some):
        raise InvalidArgument(
            f"{name} must not hold positive numbers more than 2^100 times apart. Give "
            "0 to what shall never be chosen."
        )
    common = math.lcm(*(each.denominator for each in exact))
    whole = [int(each * common) for each in exact]
    shared = math.gcd(*whole)
    if (max(whole) // shared).bit_length() > _LARGEST:
        raise InvalidArgument(
            f"{name} has fractions without a common denominator below 2^{_LARGEST}. "
            "Give floats or whole numbers."
        )
    found = np.empty(len(whole), dtype=object)
    found[:] = [each // shared for each in whole]
    return found


@final
@dataclass(frozen=True, eq=False)
class GridDensity:
    """A density on cells 0, 1, ...: from `cuts[i]` on each cell weighs `heights[i]`."""

    cuts: NDArray[np.int64]
    heights: NDArray[Any]

    def split(
        self, starts: NDArray[np.int64], end: int, *, move: int = 0
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return where pieces of constant height start, and the weight of each.

        `starts` are increasing cells at which pieces start anyway, the last of which
        ends before `end`; they count from cell `move` of the grid.
        """
        own = self.cuts - move
        own = own[(own > starts[0]) & (own < end)]
        begins = np.union1d(starts, own)
        counts = np.diff(np.append(begins, end)).astype(object)
        step = np.searchsorted(self.cuts, begins + move, side="right") - 1
        return begins, counts * self.heights[step]

    @property
    def others(self) -> float:
        """How much all cells weigh beside one of the lightest that may be chosen."""
        counts = np.diff(self.cuts).astype(object)
        inside = [h for h, c in zip(self.heights, counts, strict=False) if h and c]
        total = int((counts * self.heights[: counts.size]).sum())
        return float(Fraction(total, min(inside)) - 1)


@final
@tagged("step_density/1")
@dataclass(frozen=True)
class StepDensity:
    """A public density on an interval, constant between edges: a prior for quantiles.

    `heights` are relative: (1, 8, 1) makes points between the second and the third
    edge eight times as likely as others with the same utility. 0 excludes a step.

    Guarantee: none is needed. A prior is public, and the mechanism's curve is the same.

    Example:
        >>> ages = StepDensity(edges=(0, 18, 65, 120), heights=(1, 8, 1))
        >>> from hush.mechanisms import Quantile
        >>> m = Quantile.for_epsilon(1, at=0.5, bounds=(0, 120), prior=ages)
        >>> 0 <= m.run([34, 41, 46]) <= 120
        True

    Reference: N7.1, N7.base: a base measure; docs/proofs/quantile.md.
    """

    edges: tuple[float, ...]
    heights: tuple[float | Fraction, ...]

    def __post_init__(self) -> None:
        given: Any = self.edges
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InvalidArgument("edges must be increasing numbers.")
        edges = tuple(checks.real("edges", checks.plain_number(each)) for each in given)
        if len(edges) < 2 or any(a >= b for a, b in itertools.pairwise(edges)):
            raise InvalidArgument("edges must be at least two increasing numbers.")
        heights = numbers("heights", self.heights)
        if len(heights) != len(edges) - 1:
            raise InvalidArgument(
                f"heights must be one for each step between edges: {len(edges) - 1}; "
                f"got {len(heights)}."
            )
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "heights", heights)

    @cached_property
    def _whole(self) -> NDArray[Any]:
        return whole_weights("heights", self.heights)

    def on_grid(
        self, lower: float, upper: float, cells: int, *, points: int
    ) -> GridDensity:
        """Return the density on `points` points of a grid of `cells` from `lower` on.

        Edges move down to the grid; the last height holds up to the last point.
        """
        if self.edges[0] > lower or self.edges[-1] < upper:
            raise InvalidArgument(
                f"prior must cover the bounds ({lower:g}, {upper:g}); its edges go "
                f"from {self.edges[0]:g} to {self.edges[-1]:g}. Give height 0 to the "
                "rest."
            )
        first, wide = Fraction(lower), Fraction(upper) - Fraction(lower)
        inside = (min(max(each, lower), upper) for each in self.edges)
        places = [math.floor((Fraction(x) - first) / wide * cells) for x in inside]
        cuts = np.array(places, dtype=np.int64)
        last = int(np.flatnonzero(cuts < cells)[-1])  # the step that reaches the end
        cuts = np.append(cuts[: last + 1], points)
        heights = self._whole[: last + 1]
        start = int(np.flatnonzero(cuts == 0)[-1])  # after steps below the bounds
        grid = GridDensity(cuts[start:], heights[start:])
        if not any(
            h for h, c in zip(grid.heights, np.diff(grid.cuts), strict=True) if c
        ):
            raise InvalidArgument(
                "prior must be above 0 on some point of the bounds. Raise a height."
            )
        return grid
