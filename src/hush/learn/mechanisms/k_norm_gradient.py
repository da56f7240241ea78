"""Coefficients drawn by how well they fit: K-norm gradient and exponential mechanism.

Both draw from a public lattice with P ∝ exp(-potential/scale), exactly, by covering it
with cubes (`hush.learn.mechanisms.lattice_sampler`); that takes few coefficients.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.learn.bounded_losses import Risk
from hush.learn.exact_sums import exact_rows
from hush.learn.features import Box
from hush.learn.mechanisms.lattice_sampler import Cover, Diamond, draw
from hush.learn.mechanisms.potential import GradientNorm, Potential, TotalRisk, rounding
from hush.learn.targets import Targets
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Lattice, Source
from hush.privacy.curve import Curve
from hush.privacy.notions.pure import Pure
from hush.privacy.rounding import at_least
from hush.serialization import tagged
from hush.units import Neighbors

_ROWS = 1 << 22


@final
@tagged("learn.excess/1")
@dataclass(frozen=True)
class Excess:
    """How much the potential of the answer exceeds its least value on the set.

    Halfway to the best point at least half of `slack` is left, and so on: that is how
    much of the set is good. Where slopes jump it is infinite, and `most` is all that is
    known.

    Guarantee: `quantile(p)` bounds it with probability p, for the density that the
    lattice stands for; for a gradient, if the minimum of the risk lies in the set.

    Reference: docs/proofs/learn_sampling.md.
    """

    dimension: int
    scale: float
    slack: float  # of a potential, along the set
    most: float  # that potentials can differ

    def quantile(self, p: float) -> float:
        """Return a bound that holds with probability `p`."""
        p = checks.real("p", p, above=0, below=1)
        d = self.dimension
        volume = d * (1 + math.log(max(self.slack / (d * self.scale), 1.0)))
        return min(self.scale * (volume - math.log1p(-p)), self.most)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return (0, t), which holds the excess with probability `level`."""
        return 0.0, self.quantile(level)


class Sampled(Mechanism):
    """What both share: a lattice of coefficients, a potential, and its curve.

    Coefficients θ lie on a lattice in ‖θ‖₁ <= `radius`, so that |x·θ| <= radius for
    every row in [-1, 1].
    """

    risk: Risk
    rows: Box
    targets: Targets
    size: int
    radius: float
    scale: float
    penalty: float
    bits: int
    neighbors = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one row is one person
    most: ClassVar[int]  # coefficients: a cover of more dimensions has too many cubes

    def __post_init__(self) -> None:
        checks.whole("size", self.size, at_least=1, at_most=_ROWS)
        checks.real("radius", self.radius, above=0, at_most=64)
        checks.real("scale", self.scale, above=0)
        checks.real("penalty", self.penalty, at_least=0, at_most=1e9)
        checks.whole("bits", self.bits, at_least=1, at_most=24)
        if self.dimension > self.most:
            raise InvalidArgument(
                f"X must have at most {self.most} coefficients with the intercept "
                f"to be sampled exactly; got {self.dimension}. Choose columns on "
                "public grounds, or use method='objective'."
            )

    @property
    def dimension(self) -> int:
        """How many coefficients are released, the intercept's included."""
        return self.rows.dimension(len(self.rows.lower))

    @property
    @abstractmethod
    def move(self) -> float:
        """How far one row replaced moves the potential at any point, at most."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """How far the potential that runs is from the one in exact arithmetic."""

    @abstractmethod
    def potential(self, rows: Any, targets: Any) -> Potential:
        """Return the potential of exact rows: private."""

    @property
    def grid(self) -> Lattice:
        """The public lattice of coefficients."""
        return Lattice.under(self.radius, bits=self.bits)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` rows are replaced."""
        people = checks.whole("sensitivity", sensitivity, at_least=0)
        if people == 0:
            return Pure(epsilon=0.0)
        # Once for the weight and once for the sum of weights, rounding on both sides.
        moved = people * Fraction(self.move) + 2 * Fraction(self.rounding)
        return Pure(epsilon=at_least(2 * moved / Fraction(self.scale)))

    @classmethod
    def plan(cls, epsilon: float, **public: Any) -> Self:
        """Return the mechanism that is ε-private, chosen from public numbers."""
        wanted = checks.rational("epsilon", epsilon)
        make: Any = cls  # the fields are those of the final classes
        bare = make(scale=1.0, **public)
        moved = Fraction(bare.move) + 2 * Fraction(bare.rounding)
        found: Self = make(scale=at_least(2 * moved / wanted), **public)
        return found

    def run(self, value: Any, *, source: Source = SECURE) -> NDArray[np.float64]:
        """Return the coefficients of the mapped rows, on the public lattice."""
        x, y = exact_rows(self.rows, self.targets, self.size, value)
        step = self.grid.step
        diamond = Diamond(self.dimension, math.floor(Fraction(self.radius) / step))
        with np.errstate(all="ignore"):  # a warning would depend on the data
            cover = Cover.one_cube(
                self.potential(x, y), diamond, float(step), self.scale, self.rounding
            )
            return self.grid.floats(draw(cover, source))


@final
@tagged("learn.k_norm_gradient/1")
@dataclass(frozen=True, repr=False)
class KNormGradient(Sampled):
    """Draw θ with P ∝ exp(-‖∇L(θ)‖/scale), L being a penalised sum of losses.

    The `norm` of the gradient is 1, 2 or infinity. Sampler: exact on the lattice for
    every data set.

    Guarantee: ε = 2·(2·steepest·‖x‖ + rounding)/scale for one row replaced, where no
    row is longer than ‖x‖ in the norm.

    Reference: [RA19]; N7.11, N7.12; docs/proofs/learn_sampling.md.
    """

    risk: Risk
    rows: Box
    targets: Targets
    size: int
    radius: float
    scale: float
    penalty: float = 0.0
    norm: float = math.inf
    bits: int = 24
    most = 3

    def __post_init__(self) -> None:
        corner_norm(self.norm, 1)
        super().__post_init__()

    @property
    def move(self) -> float:
        """Two gradients of one row."""
        steep = self.risk.steepest(self.radius)
        return 2 * steep * corner_norm(self.norm, self.dimension)

    @property
    def rounding(self) -> float:
        """Of the gradient's norm."""
        top = self.risk.steepest(self.radius)
        return rounding(self.size, self.dimension, top, self.penalty, self.radius)

    def potential(self, rows: Any, targets: Any) -> Potential:
        """Return the norm of the gradient."""
        return GradientNorm(self.risk, rows, targets, self.penalty, self.norm)

    @property
    def error(self) -> Excess:
        """A bound on the norm of the gradient at the answer."""
        long, ridge = corner_norm(self.norm, self.dimension), self.penalty * self.radius
        bend = 2 * (self.size * self.risk.curvature * self.radius * long + ridge)
        most = self.size * self.risk.steepest(self.radius) * long + ridge
        return Excess(self.dimension, self.scale, bend, most)


@final
@tagged("learn.exponential_risk/1")
@dataclass(frozen=True, repr=False)
class ExponentialRisk(Sampled):
    """Draw θ with P ∝ exp(-L(θ)/scale), L being a penalised sum of losses.

    Sampler: exact on the lattice for every data set. Its noise falls as 1/√n where that
    of `KNormGradient` falls as 1/n; it is here for comparison.

    Guarantee: ε = 2·(spread + rounding)/scale for one row replaced, where the loss of
    a row varies by `spread` at most.

    Reference: [MT07]; [AKRS19]; N7.10; docs/proofs/learn_sampling.md.
    """

    risk: Risk
    rows: Box
    targets: Targets
    size: int
    radius: float
    scale: float
    penalty: float = 0.0
    bits: int = 24
    most = 4

    @property
    def move(self) -> float:
        """The spread of a row's loss."""
        return self.risk.loss_range(self.radius)

    @property
    def rounding(self) -> float:
        """Of the sum of losses."""
        top = self.risk.loss_range(self.radius) + 1
        return rounding(self.size, self.dimension, top, self.penalty, self.radius)

    def potential(self, rows: Any, targets: Any) -> Potential:
        """Return the risk."""
        return TotalRisk(self.risk, rows, targets, self.penalty)

    @property
    def error(self) -> Excess:
        """A bound on the risk of the answer above the least."""
        reach = self.size * self.move + self.penalty * self.radius**2 / 2
        return Excess(self.dimension, self.scale, reach, reach)


def corner_norm(norm: float, dimension: int) -> float:
    """Return a bound on vectors of [-1, 1]^d in the ℓ1, ℓ2 or ℓ∞ norm.

    Example:
        >>> corner_norm(1, 3), corner_norm(math.inf, 3)
        (3.0, 1.0)
    """
    if norm not in (1, 2, math.inf):
        raise InvalidArgument(f"norm must be 1, 2 or math.inf; got {norm!r}.")
    lengths = {1: float(dimension), 2: math.sqrt(dimension) * (1 + 2.0**-50)}
    return lengths.get(int(norm), 1.0) if norm < math.inf else 1.0
