"""The noise of an additive release: the law that ran, read from its mechanism."""

import math
import numbers
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.law import Law
from hush.mechanisms.error import upper_quantile
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source, integers

Floats = NDArray[np.float64]
_FAR = 2.0**62
_NEAR = 1e-7  # steps
_FEW = 1e6  # up to this variance, in steps, the law is kept as a table


@final
@dataclass(frozen=True)
class Additive:
    """Noise `step` times an integer of `law`, added to one number.

    Example:
        >>> from hush.mechanisms import Geometric
        >>> noise = Additive.of(Geometric(scale=2), released=41)
        >>> round(noise.std, 3), round(float(noise.above(5) + noise.equal(5)), 4)
        (2.799, 0.0511)
    """

    law: Law
    step: float

    @classmethod
    def of(cls, mechanism: Mechanism, released: Any) -> "Additive":
        """Return the noise under `released`: whole answers carry whole noise."""
        if not getattr(getattr(mechanism, "error", None), "cases", None):
            raise InvalidArgument(
                f"mechanism must add noise of a known law; got {mechanism!r}. Use "
                "Laplace, Geometric, Gaussian, DiscreteGaussian or Canonical, or the "
                "simulation of hush.inference.confidence_set."
            )
        return _read(mechanism, np.asarray(released).dtype.kind in "iu")

    @cached_property
    def std(self) -> float:
        """Standard deviation."""
        return math.sqrt(self.law.variance) * self.step

    def scaled(self, factor: float) -> "Additive":
        """Return the noise after multiplying a release by `factor` > 0."""
        return Additive(self.law, self.step * checks.real("factor", factor, above=0))

    def _steps(self, distance: ArrayLike) -> Floats:
        """Return a distance in steps; scaling must not move it off the lattice."""
        steps = np.asarray(distance, np.float64) / self.step
        near = np.rint(steps)
        return np.where(np.abs(steps - near) < _NEAR, near, steps)

    def _index(self, steps: Floats) -> NDArray[np.int64]:
        return np.clip(steps, -_FAR, _FAR).astype(np.int64)

    @cached_property
    def _tables(self) -> tuple[Floats, Floats, Floats] | None:
        """P(X > k), P(X < k), P(X = k) up to tails of 1e-30; None if that is far."""
        if self.law.variance > _FEW:
            return None
        far = upper_quantile(self.law, 1e-30) + 2
        k = np.arange(-far, far + 1)
        law = self.law
        return law.survival(k), law.cdf(k - 1), law.pmf(k)

    def _look(self, which: int, k: NDArray[np.int64]) -> Floats | None:
        if self._tables is None:
            return None
        table = self._tables[which]
        found: Floats = table[np.clip(k + table.size // 2, 0, table.size - 1)]
        return found

    def above(self, distance: ArrayLike) -> Floats:
        """Return P(noise > distance)."""
        k = self._index(np.floor(self._steps(distance)))
        found = self._look(0, k)
        return np.asarray(self.law.survival(k)) if found is None else found

    def below(self, distance: ArrayLike) -> Floats:
        """Return P(noise < distance)."""
        k = self._index(np.ceil(self._steps(distance)))
        found = self._look(1, k)
        return np.asarray(self.law.cdf(k - 1)) if found is None else found

    def equal(self, distance: ArrayLike) -> Floats:
        """Return P(noise = distance)."""
        steps = self._steps(distance)
        k = self._index(np.rint(steps))
        found = self._look(2, k)
        if found is None:
            found = np.asarray(self.law.pmf(k))
        return np.where(steps == k, found, 0.0)

    def cdf(self, distance: ArrayLike) -> Floats:
        """Return P(noise <= distance)."""
        k = self._index(np.floor(self._steps(distance)))
        return np.asarray(self.law.cdf(k))


@lru_cache(maxsize=256)
def _read(mechanism: Mechanism, whole: bool) -> Additive:  # noqa: FBT001 - a cache key
    cases = mechanism.error.cases
    if whole:
        for law, step in cases:
            if step == 1:
                return Additive(law, 1.0)
    law, step = cases[0]
    return Additive(law, float(step))


def drawn_tie(tie: float | None, source: Source = SECURE) -> float:
    """Return `tie`, or a fresh uniform number where it is left open."""
    if tie is not None:
        return checks.real("tie", tie, at_least=0, at_most=1)
    return float(uniforms(1, source)[0])


def uniforms(size: int, source: Source) -> Floats:
    """Return numbers in (0, 1), each the middle of one of 2^53 equal cells."""
    cells = np.asarray(integers(1 << 53, size, source=source), dtype=np.float64)
    # The last cells would round to 1, where a quantile is infinite.
    return np.minimum((cells + 0.5) / (1 << 53), 1 - 2.0**-53)


def number(name: str, value: Any) -> float:
    """Return a released number as a finite float, or refuse it."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, numbers.Rational):
        return float(value)
    return checks.real(name, value)
