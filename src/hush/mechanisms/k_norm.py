"""The K-norm mechanism: vector noise shaped like the ball of a norm."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Self, final

import numpy as np
import scipy
from numpy.typing import NDArray

from hush import checks
from hush.checks import distance
from hush.errors import InvalidArgument
from hush.mechanisms import lattice_rounding
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import L1, L2, LInf, Metric, Stated
from hush.noise import SECURE, Lattice, Norm, Source, discrete_laplace
from hush.noise.ball import Body, cube, radial
from hush.privacy.curve import Curve
from hush.privacy.notions.pure import Pure
from hush.privacy.rounding import at_least
from hush.serialization import tagged

_CORNERS = 8  # up to so many dimensions the corners of a cube are few
_ROUNDED = 64  # how much noise rounding may add


@final
@tagged("norm_error/1")
@dataclass(frozen=True)
class NormError:
    """The norm of the noise: a Gamma variable of shape `dimension`.

    Guarantee: up to the lattice step, a public 2^-16 of the scale unless said.

    Example:
        >>> round(NormError(dimension=1, scale=2.0).quantile(0.95), 3)
        5.991
    """

    dimension: int
    scale: float

    @property
    def std(self) -> float:
        """Standard deviation of the norm."""
        return self.scale * math.sqrt(self.dimension)

    @property
    def mean(self) -> float:
        """Expected norm."""
        return self.scale * self.dimension

    def tail(self, t: float) -> float:
        """Return P(norm > t)."""
        return float(scipy.special.gammaincc(self.dimension, t / self.scale))

    def chance(self, within: float) -> float:
        """Return P(norm <= within)."""
        return float(scipy.special.gammainc(self.dimension, within / self.scale))

    def quantile(self, p: float) -> float:
        """Return the p-quantile of the norm."""
        p = checks.real("p", p, above=0, below=1)
        return self.scale * float(scipy.special.gammaincinv(self.dimension, p))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return (0, t), which holds the norm with probability `level`."""
        return 0.0, self.quantile(level)


def _check_corners(body: Body, dimension: int) -> None:
    """Refuse a body whose `ones` is too small, where the corners can be tried."""
    if dimension > _CORNERS:
        return
    far = 1 << 10  # so that a fraction of `ones` counts
    radius = math.ceil(Fraction(body.ones) * far)
    for signs in product((1, -1), repeat=dimension):
        if not body.inside(far * np.array(signs, dtype=np.int64), radius):
            raise InvalidArgument(
                f"norm.ones={body.ones!r} must bound the norm of every (±1, ..., ±1); "
                f"that of {signs} is larger."
            )


@final
@tagged("k_norm/1")
@dataclass(frozen=True, repr=False)
class KNorm(Mechanism):
    """Add a vector with density ∝ exp(-‖x‖/scale) for the norm 1, 2, inf or a `Body`.

    Noise lies on a public lattice, 2^bits points per scale or more; its law there is
    exp(-⌈‖x‖⌉/scale), the norm counted in lattice steps, for any norm exactly.

    Guarantee: ε = sensitivity/scale in that norm, rounding included.

    Example:
        >>> m = KNorm.for_epsilon(epsilon=1, sensitivity=2, norm=math.inf, dimension=3)
        >>> m.run([0.0, 1.0, 2.0]).shape, round(m.curve(2).epsilon_at(0), 6)
        ((3,), 1.0)

    Reference: [HT10]; N7.knorm; docs/proofs/k_norm.md.
    """

    scale: float | Fraction
    dimension: int
    norm: Any = 2
    bits: int = 16

    @property
    def metric(self) -> Metric:
        """The norm of the move; that of a body of a user's own is not known here."""
        if isinstance(self.norm, Body):
            return Stated(self.dimension)
        kind = Norm.of(self.norm)
        if kind is Norm.ONE:
            return L1(self.dimension)
        return (
            L2(self.dimension)
            if kind is Norm.TWO
            else LInf(self.dimension, scores=False)
        )

    def __post_init__(self) -> None:
        lattice_rounding.drawable("scale", self.scale, most=None)
        checks.whole("dimension", self.dimension, at_least=1, at_most=10**4)
        checks.whole("bits", self.bits, at_least=0, at_most=20)
        if isinstance(self.norm, Body):
            _check_corners(self.norm, self.dimension)
        else:
            Norm.of(self.norm)
        _ = self._grid  # what cannot be drawn is refused here, not when it is asked

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("scale", self.scale)

    @cached_property
    def _grid(self) -> Lattice:
        return Lattice.under(self._exact, bits=self.bits)

    def _steps(self, sensitivity: Any) -> int:
        """Return how far apart, in lattice steps of the norm, neighbors can be."""
        d = distance(sensitivity) / self._grid.step
        if d == 0:
            return 0
        if isinstance(self.norm, Body):
            extra = Fraction(self.norm.ones)
        else:
            ones = {Norm.ONE: self.dimension, Norm.INFINITY: 1}
            root = math.isqrt(self.dimension - 1) + 1
            extra = Fraction(ones.get(Norm.of(self.norm), root))
        return math.ceil(d + extra)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee at a sensitivity in the mechanism's norm."""
        rate = self._exact / self._grid.step
        return Pure(epsilon=at_least(self._steps(sensitivity) / rate))

    @property
    def error(self) -> NormError:
        """Law of the norm of the noise."""
        return NormError(self.dimension, float(self.scale))

    def run(self, value: Any, *, source: Source = SECURE) -> NDArray[np.float64]:
        """Return a vector of length `dimension` with noise."""
        array = lattice_rounding.vector(value)
        if array.shape != (self.dimension,):
            raise InvalidArgument(
                f"value must be a vector of length dimension={self.dimension}; got "
                f"shape {array.shape}."
            )
        return lattice_rounding.with_steps_added(array, self._grid, self._noise(source))

    def _noise(self, source: Source) -> NDArray[np.int64]:
        rate = self._exact / self._grid.step
        if isinstance(self.norm, Body):
            return radial(self.norm, self.dimension, rate, source=source)
        kind = Norm.of(self.norm)
        if kind is Norm.ONE:
            drawn: NDArray[np.int64] = discrete_laplace(
                rate, self.dimension, source=source
            )
            return drawn
        body = Body(cube, box=1, ones=1) if kind is Norm.INFINITY else None
        return radial(body, self.dimension, rate, source=source)

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        wanted = checks.rational("epsilon", epsilon)
        least = at_least(distance(sensitivity) / wanted)
        found = cls(scale=least, **public)
        # More noise comes with more rounding: either it is soon enough, or never.
        while found._exact <= _ROUNDED * Fraction(least):
            need = found._steps(sensitivity) * found._grid.step / wanted
            if found._exact >= need:
                return found
            found = cls(scale=at_least(need), **public)
        raise InvalidArgument(
            f"epsilon={epsilon!r} is less than rounding to a lattice of 2^-{found.bits}"
            " of the scale costs; use a larger epsilon or more bits."
        )
