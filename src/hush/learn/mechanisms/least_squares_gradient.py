"""The K-norm gradient mechanism for least squares, drawn exactly in any dimension.

The gradient of a penalised sum of squares is Aθ - b, so the density exp(-‖Aθ - b‖/s) is
the image of K-norm noise v under A⁻¹(b + v), cut to the public set.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.learn.bounded_losses import SquareRisk
from hush.learn.exact_sums import MOST, exact_rows
from hush.learn.features import Box
from hush.learn.mechanisms.k_norm_gradient import Excess, corner_norm
from hush.learn.mechanisms.linear_image import Image, closeness, exact_solve, solve
from hush.learn.mechanisms.objective_noise import KNormNoise
from hush.learn.targets import Response
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Lattice, Source, bernoulli
from hush.privacy.curve import Curve
from hush.privacy.notions.pure import Pure
from hush.serialization import tagged
from hush.units import Neighbors

Floats = NDArray[np.float64]
_UP = 1 + 2.0**-48
_STOP = Fraction(1, 1 << 12)  # the chance to give up before each try
_CLOSE = 2.0**-12  # of the sensitivity: how far the gradient that runs may be off
_FIRM = 2.0**-20  # how far A·inverse may be from the unit matrix, over all dimensions
_GRAIN = 2.0**-10  # penalties are multiples of it, so that sums stay exact


@final
@tagged("learn.least_squares_gradient/1")
@dataclass(frozen=True, repr=False)
class LeastSquaresGradient(Mechanism):
    """Draw θ in ‖θ‖₁ <= `radius` with density ∝ exp(-‖Aθ - b‖/scale); round it.

    A = Σ xxᵀ + penalty·I and b = Σ xy, rows and targets in [-1, 1]. `perturbation`
    is the K-norm law in the ℓ1, ℓ2 or ℓ∞ norm. Sampler: exact; noise, solve, and
    try again outside the set. Before each try it gives up with chance 2^-12 and answers
    zero, so that no data set takes for ever; the guarantee includes this.

    Guarantee: with a = (2·(1 + radius)·‖x‖ + tolerance)/scale and d coefficients,
    ε = a + max(a, log(1 + d/penalty)) for one row replaced.

    Reference: [RA19]; N7.11, N7.12; docs/proofs/learn_sampling.md.
    """

    rows: Box
    targets: Response
    size: int
    radius: float
    penalty: float
    perturbation: KNormNoise
    neighbors = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one row is one person

    def __post_init__(self) -> None:
        checks.whole("size", self.size, at_least=1, at_most=MOST)
        checks.real("radius", self.radius, above=0, at_most=64)
        checks.real("penalty", self.penalty, above=0, at_most=float(MOST))
        checks.whole("columns", len(self.rows.lower), at_least=1, at_most=100)
        if self.penalty % _GRAIN:
            raise InvalidArgument(f"penalty must be a multiple of {_GRAIN}.")

    @property
    def dimension(self) -> int:
        """How many coefficients are released, the intercept's included."""
        return self.rows.dimension(len(self.rows.lower))

    @property
    def move(self) -> float:
        """How far two gradients can be apart, in the norm of the noise."""
        long = corner_norm(self.perturbation.norm, self.dimension)
        return 2 * SquareRisk().steepest(self.radius) * long

    @property
    def tolerance(self) -> float:
        """How far the gradient that runs may be off, in the norm of the noise."""
        return _CLOSE * self.move

    @property
    def _noise_cost(self) -> float:
        return self.perturbation.epsilon(self.move + 2 * self.tolerance, self.dimension)

    @property
    def _volume_cost(self) -> float:
        """The log-ratio of two determinants, that of the inverses that run."""
        return math.log1p(self.dimension / self.penalty) * _UP + 4 * _FIRM

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` rows are replaced."""
        people = checks.whole("sensitivity", sensitivity, at_least=0)
        once = self._noise_cost + max(self._noise_cost, self._volume_cost)
        return Pure(epsilon=people * once * _UP)

    @property
    def grid(self) -> Lattice:
        """The public lattice of coefficients: finer than the least of noises."""
        flattest = self.size * self.dimension + self.penalty
        return Lattice.under(self.perturbation.scale / flattest, bits=10)

    @property
    def error(self) -> Excess:
        """A bound on the norm of the gradient at an answer that is not given up."""
        long = corner_norm(self.perturbation.norm, self.dimension)
        ridge = self.penalty * self.radius
        bend = 2 * (self.size * self.radius * long + ridge)
        most = self.size * self.move / 2 + ridge
        return Excess(self.dimension, self.perturbation.scale, bend, most)

    @classmethod
    def plan(
        cls,
        epsilon: float,
        *,
        penalty: float = 0.0,
        norm: float = math.inf,
        **public: Any,
    ) -> Self:
        """Return the mechanism that is ε-private, chosen from public numbers.

        The penalty is at least what makes determinants cost no more than the noise, and
        half the expected norm of the noise, which then seldom leaves the set.
        """
        checks.real("epsilon", epsilon, above=0, at_most=1000)
        penalty = checks.real("penalty", penalty, at_least=0)
        bare = cls(penalty=1.0, perturbation=KNormNoise(1.0, norm), **public)
        d = bare.dimension
        half = epsilon / 2 * (1 - 2.0**-30) - (d + 2) * 2.0**-32
        if half - 8 * _FIRM <= 0:
            raise InvalidArgument(
                "epsilon is too small for the lattice of the noise; use at least 1e-4."
            )
        scale = (bare.move + 2 * bare.tolerance) / half * _UP
        least = d / math.expm1(min(half - 8 * _FIRM, 700))
        wanted = max(penalty, least, scale * d / 2)
        whole = math.ceil(wanted / _GRAIN) * _GRAIN
        return cls(penalty=whole, perturbation=KNormNoise(scale, norm), **public)

    def run(self, value: Any, *, source: Source = SECURE) -> Floats:
        """Return the coefficients of the mapped rows, on the public lattice."""
        x, y = exact_rows(self.rows, self.targets, self.size, value)
        image = self._image(x, y)
        while not bernoulli(_STOP, source=source):
            cell = image.cell(
                self.perturbation.steps(self.dimension, source),
                self.perturbation.grid,
                self.grid,
                Fraction(self.radius),
                source,
            )
            if cell is not None:
                return self.grid.floats(cell)
        return np.zeros(self.dimension)

    def _image(self, x: Floats, y: Floats) -> Image:
        """Return a certified image: from floats, or from fractions where they fail."""
        # Multiples of 2^-28 below 2^25: exact in any order.
        gram = x.T @ x + self.penalty * np.eye(self.dimension)
        right = x.T @ y
        with np.errstate(all="ignore"):  # a warning would depend on the data
            image = solve(gram, right)
            found = closeness(image, gram, right, self.radius)
        wide = math.sqrt(self.dimension) if self.perturbation.norm == 1 else 1.0
        firm = found.inverse <= _FIRM / self.dimension
        if firm and found.gradient * wide <= self.tolerance:
            return image
        return exact_solve(gram, right)
