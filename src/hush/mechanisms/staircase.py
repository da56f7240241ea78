"""The staircase mechanism: the least noise of all ε-private additive mechanisms."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, final

from hush import checks
from hush.mechanisms import lattice_rounding
from hush.mechanisms.calibration import distance
from hush.mechanisms.error import Error
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import L1, Metric
from hush.noise import SECURE, Lattice, Source
from hush.noise.staircase import StaircaseLaw, staircase
from hush.privacy.curve import Curve
from hush.privacy.notions.pure import Pure
from hush.privacy.pairs.dominating import Pair
from hush.privacy.rounding import at_least, at_most
from hush.serialization import tagged


def _exp_below(epsilon: Fraction) -> Fraction:
    """Return a number just below e^-ε, to about 2^-52 of min(ε, e^-ε)."""
    if epsilon > 2**-8:
        near = Fraction(math.exp(-float(epsilon)))
        return near * (1 - Fraction(2 + math.ceil(epsilon), 2**52))
    # The series alternates: it lies below after a negative term.
    return sum((-epsilon) ** k / math.factorial(k) for k in range(8)) + Fraction(0)


@final
@tagged("staircase/1")
@dataclass(frozen=True, repr=False)
class Staircase(Mechanism):
    """Add noise that is flat on steps as wide as one sensitivity, `width`.

    The density falls by e^-(1/scale) from step to step; a share `inner` of the first
    step is higher; 1/(1 + e^(1/(2 scale))), the default, gives the least E|noise|.
    `step` is the lattice: 1 for a whole width, else 2^20 points per width.

    Guarantee: ε = 1/scale for values at most `width` apart, with the exact curve; for
    values farther apart, ⌈distance/width⌉ times as much.

    Example:
        >>> m = Staircase.for_epsilon(epsilon=3, sensitivity=1.0, step=2**-10)
        >>> from hush.mechanisms import Laplace
        >>> plain = Laplace.for_epsilon(3, 1.0)
        >>> m.error.mean_absolute < 0.8 * plain.error.mean_absolute
        True

    Reference: [GV16] Theorem 4; the integer form in [GV14].
    """

    independent: ClassVar[bool] = True

    noise: ClassVar[str] = "scale"
    scale: float | Fraction
    width: float | Fraction = 1
    inner: float | Fraction | None = None
    step: Fraction | None = None

    @property
    def metric(self) -> Metric:
        """The move of one number; each further one is charged by itself."""
        return L1(dimension=1)

    def __post_init__(self) -> None:
        lattice_rounding.drawable("scale", self.scale, most=None)
        width = checks.rational("width", self.width)
        if self.inner is not None:
            checks.real("inner", self.inner, above=0, at_most=1)
        if self.step is not None:
            step = checks.rational("step", self.step)
            grid = lattice_rounding.lattice(step, max(width, step))
            object.__setattr__(self, "step", grid.step)
        _ = self._law  # what cannot be drawn is refused here, not when it is asked

    @cached_property
    def _grid(self) -> Lattice:
        width = checks.rational("width", self.width)
        if self.step is not None:
            return lattice_rounding.lattice(self.step, max(width, self.step))
        return Lattice(0) if width.denominator == 1 else Lattice.under(width, bits=20)

    @cached_property
    def _law(self) -> StaircaseLaw:
        epsilon = 1 / checks.rational("scale", self.scale)
        width = math.ceil(checks.rational("width", self.width) / self._grid.step)
        share = self.inner
        if share is None:
            share = 1 / (1 + math.exp(min(float(epsilon) / 2, 700.0)))
        return StaircaseLaw(epsilon, width, max(1, round(share * width)))

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee; exact up to one `width`."""
        law, d = self._law, distance(sensitivity)
        steps = math.ceil(d / self._grid.step)
        if steps == 0:
            return Pure(epsilon=0.0)
        if steps > law.width or law.epsilon > 700:  # e^-700: floats end here
            return Pure(epsilon=at_least(-(-steps // law.width) * law.epsilon))
        # Losses are -ε, 0 or ε, so the distance P(-s/2 <= X < s/2) fixes the pair, and
        # it grows with the shift s.
        # Fractions, because a float near 1/2 forgets a small ε; a smaller q/p errs
        # upwards, at every rate. Two chances near 1/2 differ by rounding alone.
        far = float(law.cdf((steps - 1) // 2) - law.cdf(-(steps // 2) - 1)) + 2e-14
        odds = _exp_below(law.epsilon)
        p = min(Fraction(far) / (1 - odds), 1 / (1 + odds))
        q = p * odds
        return Pair((p, 1 - p - q, q), (q, 1 - p - q, p))

    @property
    def error(self) -> Error:
        """Exact law of the noise."""
        return Error(((self._law, self._grid.step),))

    def run(self, value: Any, *, source: Source = SECURE) -> Any:
        """Return `value` with fresh noise on every coordinate (charge each one)."""
        return lattice_rounding.release(
            value,
            self._grid,
            lambda size: staircase(self._law, size, source=source),
            whole=self._grid.exponent >= 0,
        )

    @classmethod
    def _for_pure(
        cls, epsilon: float, sensitivity: Any, public: dict[str, Any]
    ) -> Self | None:
        scale = at_least(1 / checks.rational("epsilon", epsilon))
        width = (
            sensitivity
            if isinstance(sensitivity, int)
            else at_most(distance(sensitivity))
        )
        return cls(scale, **{"width": width, **public})
