"""The discrete Gaussian mechanism: Gaussian noise on the whole numbers."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, final

from hush import checks, law
from hush.mechanisms import values
from hush.mechanisms.calibration import distance
from hush.mechanisms.error import Error
from hush.mechanisms.gaussian import lattice_curve
from hush.mechanisms.geometric import whole_only
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Lattice, Source, discrete_gaussian
from hush.privacy.curve import Curve
from hush.serialization import tagged


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

    noise: ClassVar[str] = "std"
    std: float | Fraction

    def __post_init__(self) -> None:
        values.drawable("std", self.std)

    @cached_property
    def _exact(self) -> Fraction:
        return checks.rational("std", self.std)

    def curve(self, sensitivity: Any = 1, *, dimension: int = 1) -> Curve:
        """Return the guarantee at an ℓ2 sensitivity."""
        scalar = checks.whole("dimension", dimension, at_least=1) == 1
        d = distance(sensitivity)
        norm = Fraction(int(d)) if scalar else d
        return lattice_curve(self._exact, norm, scalar=scalar)

    @property
    def error(self) -> Error:
        """Exact law of the noise."""
        return Error(((law.DiscreteGaussian(self._exact), Fraction(1)),))

    def run(self, value: Any, *, source: Source = SECURE) -> Any:
        """Return whole numbers with fresh noise on every coordinate."""
        return values.release(
            whole_only(value),
            Lattice(0),
            lambda size: discrete_gaussian(self._exact, size, source=source),
            whole=True,
        )
