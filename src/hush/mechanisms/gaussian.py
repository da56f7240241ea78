"""The Gaussian mechanism: noise ∝ exp(-x²/(2 std²)) on a public lattice."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, final

from hush import checks, law
from hush.checks import distance
from hush.errors import InvalidArgument
from hush.mechanisms import lattice_rounding
from hush.mechanisms.error import Error, Rounded
from hush.mechanisms.laplace import whole_only
from hush.mechanisms.lattice_rounding import (
    WHOLE_NUMBERS,
    add_noise,
    finite_numbers,
    lattice_curve,
    shape_of,
)
from hush.mechanisms.mechanism import Mechanism, observed_run
from hush.mechanisms.metrics import L2, Metric
from hush.noise import SECURE, Lattice, Source, discrete_gaussian
from hush.privacy.curve import Curve
from hush.serialization import tagged


@final
@tagged("gaussian/1")
@dataclass(frozen=True, repr=False)
class Gaussian(Mechanism):
    """Add Gaussian noise of `std` on a public lattice.

    `step` is the lattice, by default 2^40 times finer than the noise: then answers are
    floats, and of queries whose answers are declared to be whole, as `count()`, they
    are rounded. With a whole `step` they are whole numbers, whatever the type of the
    value. Vectors are charged by the ℓ2 distance; `dimension` counts their floats, each
    rounded once.

    Guarantee: μ-GDP with μ = sensitivity/std, rounding and lattice included.

    Example:
        >>> m = Gaussian.for_epsilon(epsilon=1, delta=1e-6, sensitivity=1)
        >>> round(m.std, 4), round(m.curve(1).mu, 4)
        (4.2247, 0.2367)
        >>> round(Gaussian.for_epsilon(1, delta=1e-6, classical=True).std, 4)
        5.3091

    Reference: [BW18]; N9.3, N13.T1; docs/proofs/gaussian_lattices.md.
    """

    independent: ClassVar[bool] = True
    answers_vectors: ClassVar[bool] = True

    noise: ClassVar[str] = "std"
    std: float | Fraction
    step: Fraction | None = None

    @property
    def metric(self) -> Metric:
        """ℓ2: the length of the move."""
        return L2()

    def __post_init__(self) -> None:
        lattice_rounding.drawable("std", self.std, most=lattice_rounding.WIDEST)
        grid = self._grid  # what cannot be drawn is refused here, not when it is asked
        if self.step is not None:
            object.__setattr__(self, "step", grid.step)

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("std", self.std)

    @cached_property
    def _grid(self) -> Lattice:
        return lattice_rounding.lattice(self.step, self._exact)

    def curve(self, sensitivity: Any = 1, *, dimension: int = 1) -> Curve:
        """Return the guarantee at an ℓ2 sensitivity."""
        dimension = checks.whole("dimension", dimension, at_least=1)
        d, h = distance(sensitivity), self._grid.step
        scalar = dimension == 1
        # Each coordinate is moved by less than one step beyond its distance.
        norm = math.ceil(d / h) if scalar else d / h + (math.isqrt(dimension - 1) + 1)
        return lattice_curve(self._exact / h, norm if d else 0, scalar=scalar)

    def answer_curve(
        self, sensitivity: Any, *, dimension: int | None = None, whole: bool = False
    ) -> Curve:
        """Return the guarantee for an answer of up to `dimension` numbers.

        Where nobody said how many, it is one, or rounding of one for each.
        """
        return self.curve(sensitivity, dimension=dimension or 1)

    def for_answers(self, *, whole: bool) -> Self:
        """Return the noise on the lattice of whole numbers, or of exact fractions.

        Answers are fractions, so that a lattice above whole numbers loses nothing.
        """
        if self.step is not None or whole:
            return self
        step = Lattice.under(self.std, bits=lattice_rounding.FINE).step
        return replace(self, step=step)

    def run_answer(self, value: Any, *, whole: bool, source: Source) -> Any:
        """Return whole numbers where answers are declared to be, else floats."""
        if whole and self.step is None:
            return self.run_whole(value, source=source)
        return self.run(value, source=source)

    @property
    def error(self) -> Error:
        """Exact law of the noise; of whole answers as well."""
        fine = law.DiscreteGaussian(self._exact / self._grid.step)
        if self._grid.exponent >= 0 or self.step is not None:
            return Error(((fine, self._grid.step),))
        whole = Rounded(fine, -self._grid.exponent)
        return Error(((fine, self._grid.step), (whole, Fraction(1))))

    def run(self, value: Any, *, source: Source = SECURE) -> Any:
        """Return `value` with fresh noise on every coordinate."""
        exact = finite_numbers(value)
        whole = self.step is not None and self._grid.exponent >= 0
        return add_noise(exact, self._grid, self._steps(exact, source), whole=whole)

    @observed_run
    def run_whole(self, value: Any, *, source: Source = SECURE) -> Any:
        """Return whole numbers: the same noise, rounded to the nearest, halves up.

        For values that are declared to be whole; those that are not are rounded before.
        """
        exact, bits = finite_numbers(value), -self._grid.exponent
        noise = self._steps(exact, source)
        if bits <= 0:
            return add_noise(exact, self._grid, noise, whole=True)
        rounded = (noise + (1 << bits >> 1)) >> bits
        return add_noise(exact, WHOLE_NUMBERS, rounded, whole=True)

    def _steps(self, exact: Any, source: Source) -> Any:
        """Return noise for each number, in steps of the lattice."""
        rate = self._exact / self._grid.step
        return discrete_gaussian(rate, shape_of(exact), source=source)

    @classmethod
    def for_epsilon(
        cls,
        epsilon: float,
        sensitivity: Any = 1,
        *,
        delta: float = 0.0,
        classical: bool = False,
        **public: Any,
    ) -> Self:
        """Return the least noise that is (ε, δ)-private; δ > 0 is needed.

        `classical` gives the textbook constant √(2 log(1.32/δ))/ε instead, for ε < 1 up
        to and including 1: a comparison, never better.
        """
        delta = checks.real("delta", delta, at_least=0, below=1)
        if not classical:
            if delta == 0:
                raise InvalidArgument(
                    "delta must be above 0: Gaussian noise has no pure ε. Give it by "
                    "name, delta=1e-6, or use Laplace."
                )
            return super().for_epsilon(epsilon, sensitivity, delta=delta, **public)
        checks.real("epsilon", epsilon, above=0, at_most=1)
        checks.real("delta", delta, above=0, below=1)
        c = max(math.sqrt(2 * math.log(1.32 / delta)), 1.5)
        return cls(c * float(distance(sensitivity)) / epsilon, **public)


# -- The discrete Gaussian mechanism: Gaussian noise on the whole numbers --------------


@final
@tagged("discrete_gaussian/1")
@dataclass(frozen=True, repr=False)
class DiscreteGaussian(Mechanism):
    """Add whole noise with P(k) ∝ exp(-k²/(2 std²)) to whole numbers.

    Guarantee: exactly sensitivity²/(2 std²)-zCDP in the ℓ2 distance; the curve is the
    exact law for one number, and proven GDP for `dimension` > 1 from std 4 on.

    Example:
        >>> m = DiscreteGaussian(std=2)
        >>> m.run(10**30) > 10**29
        True
        >>> m.curve(1).delta_at(1.5) > m.curve(1, dimension=1).delta_at(1.6)
        True

    Reference: [CKS20]; docs/proofs/gaussian_lattices.md.
    """

    independent: ClassVar[bool] = True
    answers_vectors: ClassVar[bool] = True

    noise: ClassVar[str] = "std"
    std: float | Fraction

    @property
    def metric(self) -> Metric:
        """ℓ2: the length of the move."""
        return L2()

    def __post_init__(self) -> None:
        lattice_rounding.drawable("std", self.std)

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("std", self.std)

    def curve(self, sensitivity: Any = 1, *, dimension: int = 1) -> Curve:
        """Return the guarantee at an ℓ2 sensitivity."""
        scalar = checks.whole("dimension", dimension, at_least=1) == 1
        d = distance(sensitivity)
        norm = Fraction(int(d)) if scalar else d
        return lattice_curve(self._exact, norm, scalar=scalar)

    def answer_curve(
        self, sensitivity: Any, *, dimension: int | None = None, whole: bool = False
    ) -> Curve:
        """Return the guarantee for an answer of up to `dimension` numbers.

        How many numbers a function returns may not be known; 2 stands for any number.
        """
        return self.curve(sensitivity, dimension=dimension or 2)

    @property
    def error(self) -> Error:
        """Exact law of the noise."""
        return Error(((law.DiscreteGaussian(self._exact), Fraction(1)),))

    def run(self, value: Any, *, source: Source = SECURE) -> Any:
        """Return whole numbers with fresh noise on every coordinate."""
        exact = finite_numbers(whole_only(value))
        noise = discrete_gaussian(self._exact, shape_of(exact), source=source)
        return add_noise(exact, WHOLE_NUMBERS, noise, whole=True)
