"""Objective perturbation: minimise a noisy objective, and hide how it was minimised."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument, NoBound
from hush.learn.features import Rows
from hush.learn.losses import Loss
from hush.learn.mechanisms.certified_solver import Objective, minimize
from hush.learn.mechanisms.objective_noise import (
    GaussianNoise,
    KNormNoise,
    Perturbation,
    PureNoise,
)
from hush.learn.targets import Targets
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve
from hush.privacy.notions.profile import Profile
from hush.privacy.notions.pure import Pure
from hush.serialization import tagged
from hush.units import Neighbors

_UP = 1 + 2.0**-48
_TOLERANCE = 2.0**-40  # of the largest gradient; floats reach 2^-43
_COVER = 2.0**-10  # the share of ε that hides solver and lattice
_SPLIT = 0.85  # the share of ε for the noise; the rest is for the curvature


@final
@tagged("learn.distance/1")
@dataclass(frozen=True)
class Distance:
    """How far the release lies, in ℓ2, from the minimum without noise.

    Guarantee: `quantile(p)` bounds the distance with probability p, for all data. It
    uses the penalty alone: on data that determine the model the truth is far smaller.
    """

    noise: Perturbation
    cover: KNormNoise
    penalty: float
    dimension: int

    def quantile(self, p: float) -> float:
        """Return a bound that holds with probability `p`."""
        p = checks.real("p", p, above=0, below=1)
        each, d = (1 + p) / 2, self.dimension
        return self.noise.quantile(each, d) / self.penalty + self.cover.quantile(
            each, d
        )

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return (0, t), which holds the distance with probability `level`."""
        return 0.0, self.quantile(level)


@final
@tagged("learn.objective_perturbation/1")
@dataclass(frozen=True, repr=False)
class ObjectivePerturbation(Mechanism):
    """Release the minimum of Σ loss(x·θ, y) + penalty/2·‖θ‖² + v·θ for random v.

    `perturbation` is the law of v; `cover` is noise on the answer, tiny, that hides the
    solver's tolerance and the lattice of v. Data is a pair (X, y) of `size` rows, read
    through the public rules `rows` and `targets`.

    Guarantee: for one row replaced, with length L of rows, curvature c and slopes s of
    the loss: ε = 2·s·‖x‖/scale + log(1 + c·L²/penalty) + 2·radius/cover.scale, lattices
    and rounding included; noise of two parts (`Apart`) has a first term for each, the
    Gaussian version a profile in its place. The solver is certified: no data set makes
    it stop early.

    Reference: [KST12]; [CMS11]; N6.1; docs/proofs/learn_objective.md.
    """

    loss: Loss
    rows: Rows
    targets: Targets
    size: int
    columns: int
    penalty: float
    perturbation: Perturbation
    cover: KNormNoise
    neighbors = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one row is one person

    def __post_init__(self) -> None:
        checks.whole("size", self.size, at_least=1)
        checks.whole("columns", self.columns, at_least=1, at_most=2000)
        checks.real("penalty", self.penalty, above=0)
        if isinstance(self.perturbation, PureNoise) and (
            self.perturbation.norm != self.rows.noise_norm
        ):
            raise InvalidArgument(
                f"perturbation must be in the norm that bounds the rows, "
                f"{self.rows.noise_norm:g}; got {self.perturbation.norm:g}."
            )
        if isinstance(self.perturbation, Apart) and not self.rows.intercept:
            raise InvalidArgument(
                "rows must have the constant column, or perturbation no part for it."
            )

    @property
    def dimension(self) -> int:
        """How many coefficients are released, the intercept's included."""
        return self.rows.dimension(self.columns)

    @property
    def _length(self) -> float:
        return self.rows.length(self.columns)

    @property
    def _distance(self) -> float:
        """How far apart the gradients of two data sets can be, in the noise's norm."""
        pure = isinstance(self.perturbation, PureNoise)
        bound = self.rows.bound() if pure else self._length
        return 2 * self.loss.slope_bound * bound * _UP

    @property
    def tolerance(self) -> float:
        """The gradient norm at which the solver may stop: public."""
        fit = self.size * self.loss.slope_bound * self._length
        return _TOLERANCE * (fit + self.perturbation.typical_size(self.dimension))

    @property
    def radius(self) -> float:
        """How far the solver's answer lies from the ideal release, at most."""
        hidden = self.perturbation.lattice_error(self.dimension)
        return (hidden + self.tolerance) / self.penalty * _UP

    @property
    def _curvature(self) -> float:
        """The log-ratio of two Hessian determinants: one row has rank one."""
        return math.log1p(_sharpness(self.loss, self._length) / self.penalty) * _UP

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` rows are replaced."""
        people = checks.whole("sensitivity", sensitivity, at_least=0)
        if people == 0:
            return Pure(epsilon=0.0)
        hiding = self.cover.epsilon(self.radius, self.dimension)
        fixed = (self._curvature + 2 * hiding) * _UP
        if isinstance(self.perturbation, PureNoise):
            own = self.perturbation.epsilon(self._distance, self.dimension)
            return Pure(epsilon=people * (own + fixed) * _UP)
        if people > 1:
            raise NoBound("the Gaussian version is proved for one row at a time.")
        return Profile(self._delta(fixed, hiding))

    def _delta(self, fixed: float, hiding: float) -> Callable[[float], float]:
        noise, distance, d = self.perturbation, self._distance, self.dimension
        grow = math.exp(hiding) * _UP

        def delta(epsilon: float) -> float:
            return grow * noise.delta(epsilon - fixed, distance, d)

        if fixed > 50 or delta(0.0) >= 1:
            raise NoBound("noise or penalty is too small for a guarantee; use more.")
        return delta

    @property
    def error(self) -> Distance:
        """A bound on the distance to the minimum without noise."""
        return Distance(self.perturbation, self.cover, self.penalty, self.dimension)

    def run(self, value: Any, *, source: Source = SECURE) -> NDArray[np.float64]:
        """Return the coefficients of the mapped rows, on the public lattice."""
        features, answers = value
        mapped = self.rows.map(features)
        y, without = self.targets.map(answers)
        if mapped.shape != (self.size, self.dimension) or y.shape != (self.size,):
            raise InvalidArgument(
                f"data must be {self.size} rows of {self.columns} columns and as many "
                f"targets; got shapes {np.shape(features)} and {np.shape(answers)}."
            )
        mapped[without] = 0.0
        drawn = self.perturbation.draw(self.dimension, source)
        objective = Objective(self.loss, mapped, y, self.penalty, drawn, self._length)
        theta = minimize(objective, self.tolerance)
        return _with_noise(theta, self.cover, source)

    @classmethod
    def plan(
        cls,
        epsilon: float,
        *,
        delta: float = 0.0,
        split: float | None = None,
        penalty: float = 0.0,
        share: float = 0.0,
        **public: Any,
    ) -> Self:
        """Return the mechanism that is (ε, δ)-private, chosen from public numbers.

        `split` of ε (0.85) pays for the noise, the rest for the curvature, which fixes
        the least penalty; a larger `penalty` leaves its saving to the noise. Of the
        noise's part the constant has `share` for itself: pure noise, rows in a box.
        """
        checks.real("epsilon", epsilon, above=0, at_most=1000)
        checks.real("delta", delta, at_least=0, below=1)
        split = _SPLIT if split is None else split
        split = checks.real("split", split, above=0, below=1)
        penalty = checks.real("penalty", penalty, at_least=0)
        share = checks.real("share", share, at_least=0, below=1)
        usable = epsilon * (1 - _COVER)
        length = public["rows"].length(public["columns"])
        sharp = _sharpness(public["loss"], length)
        # Less than a thousandth would leave the solver's tolerance too large to hide.
        least = sharp / math.expm1(min((1 - split) * usable, 7)) * _UP
        public["penalty"] = max(penalty, least)
        own = usable - math.log1p(sharp / public["penalty"]) * _UP**3

        def make(noise: Perturbation) -> Self:
            bare = cls(**public, perturbation=noise, cover=KNormNoise(1.0, math.inf))
            share = Fraction(epsilon) * Fraction(_COVER) / 2 * Fraction(0.999)
            scale = float(Fraction(bare.radius) / share) * (1 + 2.0**-20)
            return cls(**public, perturbation=noise, cover=KNormNoise(scale, math.inf))

        if delta == 0:
            return make(_k_norm(own, share, **public))
        if share:
            raise InvalidArgument(f"share must be 0 with delta > 0; got {share!r}.")
        return make(_gaussian(make, epsilon, delta))


def _sharpness(loss: Loss, length: float) -> float:
    """Return the largest eigenvalue of one row's Hessian: curvature times length²."""
    return loss.curvature_bound * length * length * _UP


def _k_norm(
    epsilon: float, share: float, *, rows: Rows, loss: Loss, columns: int, **_: Any
) -> PureNoise:
    distance = 2 * loss.slope_bound * rows.bound() * _UP
    # Rounding adds at most ‖(1, ..., 1)‖ + 1 steps, each 2^-32 of the scale or less.
    lost = (math.isqrt(rows.dimension(columns)) + 2) * 2.0**-32
    shares = (1 - share) * epsilon - lost, share * epsilon - lost
    if shares[0] <= 0 or (share > 0 and shares[1] <= 0):
        raise InvalidArgument(
            "epsilon is too small for the lattice of the noise; use at least 1e-7."
        )
    noise = KNormNoise(distance / shares[0] * _UP, rows.noise_norm)
    return Apart(noise, distance / shares[1] * _UP) if share > 0 else noise


def _gaussian(
    make: Callable[[Perturbation], ObjectivePerturbation], epsilon: float, delta: float
) -> GaussianNoise:
    """Return the least Gaussian noise with which `make` is (ε, δ)-private."""

    def good(std: float) -> bool:
        found = make(GaussianNoise(std))
        try:
            return bool(found.curve().delta_at(epsilon) <= delta)
        except NoBound:
            return False

    high = make(GaussianNoise(1.0))._distance
    while not good(high):
        high *= 2
    low = high / 2
    while good(low):
        high, low = low, low / 2
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if good(middle) else (middle, high)
    return GaussianNoise(high)


def _with_noise(theta: Any, cover: KNormNoise, source: Source) -> NDArray[np.float64]:
    """Return θ plus noise in whole lattice steps; each θ is rounded exactly."""
    power = cover.grid.exponent
    noise = cover.steps(len(theta), source).tolist()
    near = (_nearest(t, power) for t in theta)
    whole = [k + z for k, z in zip(near, noise, strict=True)]
    return np.array([math.ldexp(float(each), power) for each in whole])


def _nearest(t: Any, power: int) -> int:
    """Return the multiple of 2^power next to t, halves up; exact."""
    if isinstance(t, float):
        scaled = math.ldexp(t, -power)
        below = math.floor(scaled)
        return below + (scaled - below >= 0.5)
    return math.floor(Fraction(t) / Fraction(2) ** power + Fraction(1, 2))


# -- Noise for the slopes of a model, and noise of its own for its constant ------------


@final
@tagged("learn.apart/1")
@dataclass(frozen=True)
class Apart(PureNoise):
    """ℓ∞ K-norm noise on the slopes and independent Laplace noise on the constant.

    In one cube the constant has the noise of all dimensions, though it is the first
    thing that few rows can tell. Here it has a share of ε and the noise of one.

    Guarantee: `epsilon(D, d)` bounds the log-ratio of the densities at two points whose
    slopes and whose constants are D apart in ℓ∞: the sum of both parts.

    Example:
        >>> Apart(slopes=KNormNoise(4.0, math.inf), constant=1.0).draw(3).shape
        (3,)

    Reference: docs/proofs/learn_objective.md.
    """

    slopes: KNormNoise
    constant: float
    norm = math.inf

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        if self.slopes.norm != math.inf:
            raise InvalidArgument(
                f"slopes must have noise in the ℓ∞ norm; got {self.slopes!r}."
            )
        KNormNoise(self.constant, math.inf)

    @property
    def _constant_noise(self) -> KNormNoise:
        return KNormNoise(self.constant, math.inf)

    def epsilon(self, distance: Any, dimension: int) -> float:
        """Return the log-ratio at slopes and constants `distance` apart."""
        slopes = self.slopes.epsilon(distance, dimension - 1)
        return (slopes + self._constant_noise.epsilon(distance, 1)) * (1 + 2.0**-50)

    def lattice_error(self, dimension: int) -> float:
        """Return both parts' distances, added."""
        return self.slopes.lattice_error(
            dimension - 1
        ) + self._constant_noise.lattice_error(1)

    def draw(self, dimension: int, source: Source = SECURE) -> NDArray[np.float64]:
        """Return one noise vector, the constant's last."""
        slopes = self.slopes.draw(dimension - 1, source)
        return np.concatenate([slopes, self._constant_noise.draw(1, source)])

    def typical_size(self, dimension: int) -> float:
        """Return both parts' sizes, added."""
        return self.slopes.typical_size(
            dimension - 1
        ) + self._constant_noise.typical_size(1)

    def quantile(self, p: float, dimension: int) -> float:
        """Return both parts' quantiles, added, with half the chance to fail each."""
        each = (1 + p) / 2
        return self.slopes.quantile(
            each, dimension - 1
        ) + self._constant_noise.quantile(each, 1)

    def stds(self, dimension: int) -> NDArray[np.float64]:
        """Return those of the slopes, then that of the constant."""
        return np.concatenate(
            [self.slopes.stds(dimension - 1), self._constant_noise.stds(1)]
        )
