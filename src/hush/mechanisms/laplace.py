"""The Laplace mechanism (geometric mechanism on integers): noise ∝ exp(-|x|/scale)."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, final

from hush import checks, law
from hush.checks import distance
from hush.errors import InvalidArgument
from hush.mechanisms import lattice_rounding
from hush.mechanisms.error import Error
from hush.mechanisms.lattice_rounding import (
    WHOLE_NUMBERS,
    add_noise,
    finite_numbers,
    shape_of,
)
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import L1, Metric
from hush.noise import SECURE, Lattice, Source, discrete_laplace
from hush.privacy.curve import Curve
from hush.privacy.notions.pure import Pure
from hush.privacy.pairs.dominating import Pair, Shifted
from hush.privacy.rounding import at_least
from hush.serialization import tagged

_EXACT = 4000  # up to here the pair is listed atom by atom
_BLOCKS = range(512, 1025)  # beyond, this many blocks of steps stand for them


def blocks(count: int) -> tuple[int, int]:
    """Return (how many blocks, steps in each) that cover `count` steps."""
    if count <= _EXACT:
        return count, 1
    number = min(_BLOCKS, key=lambda each: -(-count // each) * each)
    return number, -(-count // number)


def cover(scale: Fraction, count: int, width: Fraction) -> Curve:
    """Return the guarantee of discrete Laplace noise for `count` steps of `width`.

    Guarantee: exact up to 4000 steps. Beyond, blocks of steps stand for single ones:
    Laplace noise on a coarse lattice plus independent noise is Laplace noise on a finer
    one, so the coarse pair dominates (docs/proofs/laplace_lattices.md).
    """
    if count == 0:
        return Pure(epsilon=0.0)
    if count == 1:  # randomized response: the worst of all with this ε
        return Pure(epsilon=at_least(width / scale))
    number, block = blocks(count)
    noise = law.DiscreteLaplace(scale / (block * width))
    return Pair(Shifted(noise, number), noise)  # it is symmetric and log-concave


@final
@tagged("laplace/1")
@dataclass(frozen=True, repr=False)
class Laplace(Mechanism):
    """Add Laplace noise of `scale` on a public lattice.

    `step` is the lattice: with a whole one, as step=1, answers are whole numbers, and
    with any other floats, whatever the type of the value. Without it they are floats
    on a lattice 2^40 times finer than the noise, except of queries whose answers are
    declared to be whole, as `count()`, which use 1; the curve covers both. Vectors are
    charged by the ℓ1 distance; `dimension` counts their floats, each rounded once.

    Guarantee: ε = sensitivity/scale, with the exact law of the lattice: at sensitivity
    1 whole numbers face randomized response, not the kinder continuous curve.

    Example:
        >>> m = Laplace.for_epsilon(epsilon=0.5, sensitivity=1)
        >>> m, type(m.run(41)), type(m.run(41.0))
        (Laplace(scale=2.0), <class 'float'>, <class 'float'>)
        >>> type(Laplace(scale=2.0, step=1).run(41))
        <class 'int'>
        >>> f"{m.curve(sensitivity=1).delta_at(0.25):.4f}"
        '0.1377'

    Reference: [DMNS06]; N3.2 L.lap; lattices in docs/proofs/laplace_lattices.md.
    """

    independent: ClassVar[bool] = True
    answers_vectors: ClassVar[bool] = True

    scale: float | Fraction
    step: Fraction | None = None

    @property
    def metric(self) -> Metric:
        """ℓ1: the sum of all moves."""
        return L1()

    def __post_init__(self) -> None:
        lattice_rounding.drawable("scale", self.scale, most=lattice_rounding.WIDEST)
        grid = self._grid  # what cannot be drawn is refused here, not when it is asked
        if self.step is not None:
            object.__setattr__(self, "step", grid.step)

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("scale", self.scale)

    @cached_property
    def _grid(self) -> Lattice:
        return lattice_rounding.lattice(self.step, self._exact)

    def _shift(self, sensitivity: Any, dimension: int) -> tuple[int, Fraction]:
        """Return how many steps, and of which width, cover the sensitivity."""
        d, h = distance(sensitivity), self._grid.step
        fine = lattice_rounding.steps(self._grid, d, dimension)
        whole = math.floor(d)
        if self.step is not None or whole == 0:
            return fine, h
        # One coarse step per whole unit, as many lattice steps wide as floats need: at
        # least 1 wide, so it covers whole numbers as well.
        if whole <= _EXACT:
            return whole, -(-fine // whole) * h
        return math.ceil(fine * h), Fraction(1)

    def curve(self, sensitivity: Any = 1, *, dimension: int = 1) -> Curve:
        """Return the exact guarantee at an ℓ1 sensitivity."""
        return cover(self._exact, *self._shift(sensitivity, dimension))

    def answer_curve(
        self, sensitivity: Any, *, dimension: int | None = None, whole: bool = False
    ) -> Curve:
        """Return the guarantee for an answer of up to `dimension` numbers.

        Whole answers are on the lattice already: nothing is rounded.
        """
        return self.curve(sensitivity, dimension=1 if whole else dimension or 1)

    def for_answers(self, *, whole: bool) -> Self:
        """Return the noise on the lattice of whole numbers, or of exact fractions.

        Answers are fractions, so that a lattice above whole numbers loses nothing.
        """
        if self.step is not None:
            return self
        step = Lattice.under(self.scale, bits=lattice_rounding.FINE).step
        return replace(self, step=max(step, Fraction(1)) if whole else step)

    @property
    def error(self) -> Error:
        """Exact law of the noise."""
        fine = law.DiscreteLaplace(self._exact / self._grid.step), self._grid.step
        if self.step is not None or self._grid.step >= 1:
            return Error((fine,))
        return Error((fine, (law.DiscreteLaplace(self._exact), Fraction(1))))

    def run(self, value: Any, *, source: Source = SECURE) -> Any:
        """Return `value` with fresh noise on every coordinate."""
        exact, rate = finite_numbers(value), self._exact / self._grid.step
        noise = discrete_laplace(rate, shape_of(exact), source=source)
        whole = self.step is not None and self._grid.exponent >= 0
        return add_noise(exact, self._grid, noise, whole=whole)

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        wanted = checks.rational("epsilon", epsilon)
        least = distance(sensitivity) / wanted
        found = cls(at_least(least), **public)
        while True:  # rounding to the lattice may ask for a little more
            count, width = found._shift(sensitivity, 1)
            need = math.prod(blocks(count)) * width / wanted
            if found._exact >= need:
                return found
            if need > 2 * least:  # wider noise needs a coarser lattice, without end
                raise InvalidArgument(
                    f"epsilon={epsilon!r} is less than rounding to a lattice costs; "
                    "use a larger epsilon."
                )
            found = cls(at_least(need), **public)


# -- The geometric mechanism: Laplace noise on the whole numbers -----------------------


def whole_only(value: Any) -> Any:
    """Return `value` if it consists of whole numbers, or refuse it."""
    exact = isinstance(value, int) and not isinstance(value, bool)
    if not exact and not lattice_rounding.are_whole(lattice_rounding.vector(value)):
        raise InvalidArgument(
            "value must be whole numbers. Use Laplace or Gaussian for floats."
        )
    return value


@final
@tagged("geometric/1")
@dataclass(frozen=True, repr=False)
class Geometric(Mechanism):
    """Add whole noise with P(k) ∝ exp(-|k|/scale) to whole numbers.

    Guarantee: ε = sensitivity/scale in the ℓ1 distance, with the exact law; at
    sensitivity 1 it is randomized response.

    Example:
        >>> m = Geometric(scale=2)
        >>> m.run([3, 4, 5]).dtype
        dtype('int64')
        >>> f"{m.curve(1).delta_at(0.25):.4f}"
        '0.1377'

    Reference: [GRS09]; N3.2.
    """

    independent: ClassVar[bool] = True

    scale: float | Fraction

    @property
    def metric(self) -> Metric:
        """ℓ1: the sum of all moves."""
        return L1()

    def __post_init__(self) -> None:
        lattice_rounding.drawable("scale", self.scale)

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("scale", self.scale)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the exact guarantee at an ℓ1 sensitivity (whole values: floored)."""
        return cover(self._exact, math.floor(distance(sensitivity)), Fraction(1))

    @property
    def error(self) -> Error:
        """Exact law of the noise."""
        return Error(((law.DiscreteLaplace(self._exact), Fraction(1)),))

    def run(self, value: Any, *, source: Source = SECURE) -> Any:
        """Return whole numbers with fresh noise on every coordinate."""
        exact = finite_numbers(whole_only(value))
        noise = discrete_laplace(self._exact, shape_of(exact), source=source)
        return add_noise(exact, WHOLE_NUMBERS, noise, whole=True)

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        wanted = checks.rational("epsilon", epsilon)
        return cls(at_least(max(1, math.floor(distance(sensitivity))) / wanted))
