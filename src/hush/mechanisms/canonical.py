"""Canonical noise: what a tradeoff function asks of an additive mechanism, no more."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, final

import numpy as np

from hush import checks
from hush.checks import distance
from hush.errors import InvalidArgument, NoBound
from hush.law import Finite
from hush.mechanisms import lattice_rounding
from hush.mechanisms.calibration import largest
from hush.mechanisms.error import Error
from hush.mechanisms.lattice_rounding import add_noise, finite_numbers, shape_of
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import L1, Metric
from hush.noise import SECURE, Lattice, Source
from hush.noise.inversion import table
from hush.privacy.curve import Curve
from hush.privacy.notions.profile import Profile
from hush.privacy.notions.pure import Pure
from hush.privacy.pairs.dominating import Pair
from hush.serialization import tagged

_UNIT = 1 << 60  # probabilities are multiples of 2^-60


def _half(target: Curve, pieces: int) -> list[int]:
    """Return P(X > j) in units of 2^-60 for j = 0, 1, ..., while it is positive.

    With f(c) = c, the survival S is linear on [-1/2, 1/2] from 1 - c to c, and beyond
    S(x) = f(1 - S(x-1)).
    """
    low, high = 0.0, 0.5
    while high - low > 1e-17:  # the fixed point f(c) = c
        c = (low + high) / 2
        if c in (low, high):
            break
        low, high = (c, high) if target.tradeoff_at(c) > c else (low, c)
    # The noise is rounded to cells, so S is needed at (j + 1/2)/pieces.
    x = (np.arange(pieces) + 0.5) / pieces
    current = 0.5 - x * (1 - 2 * low)
    right = x > 0.5
    current[right] = target.tradeoff_at(0.5 - (1 - x[right]) * (1 - 2 * low))
    found: list[float] = []
    while current[0] * _UNIT >= 1 and len(found) < 1 << 16:
        found += current.tolist()
        current = np.asarray(target.tradeoff_at(1 - current))
    return [max(0, math.floor(value * _UNIT)) for value in [*found, 0.0]]


@final
@tagged("canonical/1")
@dataclass(frozen=True, repr=False)
class Canonical(Mechanism):
    """Add the canonical noise of a guarantee: Tulap for Pure and Approx.

    `target` is met at sensitivity `width`; `pieces` is how many lattice points a width
    has (1 is exact, and right for whole-number queries). The noise is a table of
    multiples of 2^-60, so it is drawn exactly, and its far tail is cut at 2^-60.

    Guarantee: the curve is read from the table that runs, the worst of all shifts:
    `target` up to a δ of 2^-43, the digits of the float tradeoff that makes the table.

    Example:
        >>> from hush.privacy import Approx
        >>> m = Canonical(Approx(epsilon=1.0, delta=0.01))
        >>> f"{m.curve(1).delta_at(1.0):.6f}"
        '0.010000'

    Reference: [AV23] Definition 3.7; Tulap from [AS18].
    """

    independent: ClassVar[bool] = True

    noise: ClassVar[str] = "target"  # a guarantee, not a number
    target: Curve
    width: float | Fraction = 1
    pieces: int = 1

    @property
    def metric(self) -> Metric:
        """The move of one number; each further one is charged by itself."""
        return L1(dimension=1)

    def __post_init__(self) -> None:
        if not isinstance(self.target, Curve):
            raise InvalidArgument(f"target must be a curve; got {self.target!r}.")
        width = checks.rational("width", self.width)
        pieces = checks.whole("pieces", self.pieces, at_least=1, at_most=64)
        if pieces & (pieces - 1) or (width / pieces).numerator & (
            (width / pieces).numerator - 1
        ):
            raise InvalidArgument(
                f"width/pieces must be a power of two; got {self.width!r}/{pieces}."
            )
        lattice_rounding.lattice(width / pieces, width)

    @cached_property
    def _grid(self) -> Lattice:
        width = checks.rational("width", self.width)
        return lattice_rounding.lattice(width / self.pieces, width)

    @cached_property
    def _law(self) -> Finite:
        tail = _half(self.target, self.pieces)
        side = [tail[j] - tail[j + 1] for j in range(len(tail) - 1)]
        table = [*reversed(side), _UNIT - 2 * tail[0], *side]
        return Finite(tuple(Fraction(m, _UNIT) for m in table), start=-len(side))

    def _pair(self, shift: int) -> Pair:
        table, empty = self._law.probabilities, (Fraction(0),) * shift
        return Pair((*empty, *table), (*table, *empty))

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the exact guarantee of the table: the worst of all shifts."""
        steps = math.ceil(distance(sensitivity) / self._grid.step)
        if steps > 4 * self.pieces:
            raise NoBound(
                f"sensitivity must be at most four times width={self.width}; canonical "
                "noise is made for one sensitivity. Choose a larger width."
            )
        if steps <= 1:
            return self._pair(1) if steps else Pure(epsilon=0.0)
        pairs = [self._pair(shift) for shift in range(1, steps + 1)]
        return Profile(lambda epsilon: max(float(p.delta_at(epsilon)) for p in pairs))

    @property
    def error(self) -> Error:
        """Exact law of the noise."""
        return Error(((self._law, self._grid.step),))

    def run(self, value: Any, *, source: Source = SECURE) -> Any:
        """Return `value` with fresh noise on every coordinate (charge each one)."""
        exact = finite_numbers(value)
        noise = table(self._law, shape_of(exact), source=source)
        return add_noise(exact, self._grid, noise, whole=self._grid.exponent >= 0)

    @classmethod
    def for_curve(cls, target: Curve, sensitivity: Any = 1, **public: Any) -> Self:
        """Return the canonical noise of `target` at this sensitivity."""
        return cls(target, sensitivity, **public)

    @classmethod
    def for_accuracy(
        cls, within: float, level: float = 0.95, sensitivity: Any = 1, **public: Any
    ) -> Self:
        """Return the most private pure canonical noise whose error stays `within`."""
        within = checks.real("within", within, above=0)
        level = checks.real("level", level, above=0, below=1)
        return largest(
            lambda scale: cls(Pure(epsilon=1 / scale), sensitivity, **public),
            lambda found: found.error.chance(within) >= level,
        )
