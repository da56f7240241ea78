"""Noise for the slopes of a model, and noise of its own for its constant."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.learn.perturbation import KNormNoise, PureNoise
from hush.noise import SECURE, Source
from hush.serialization import tagged


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
    def _own(self) -> KNormNoise:
        return KNormNoise(self.constant, math.inf)

    def epsilon(self, distance: Any, dimension: int) -> float:
        """Return the log-ratio at slopes and constants `distance` apart."""
        slopes = self.slopes.epsilon(distance, dimension - 1)
        return (slopes + self._own.epsilon(distance, 1)) * (1 + 2.0**-50)

    def hidden(self, dimension: int) -> float:
        """Return both parts' distances, added."""
        return self.slopes.hidden(dimension - 1) + self._own.hidden(1)

    def draw(self, dimension: int, source: Source = SECURE) -> NDArray[np.float64]:
        """Return one noise vector, the constant's last."""
        slopes = self.slopes.draw(dimension - 1, source)
        return np.concatenate([slopes, self._own.draw(1, source)])

    def typical(self, dimension: int) -> float:
        """Return both parts' sizes, added."""
        return self.slopes.typical(dimension - 1) + self._own.typical(1)

    def quantile(self, p: float, dimension: int) -> float:
        """Return both parts' quantiles, added, with half the chance to fail each."""
        each = (1 + p) / 2
        return self.slopes.quantile(each, dimension - 1) + self._own.quantile(each, 1)

    def spread(self, dimension: int) -> NDArray[np.float64]:
        """Return those of the slopes, then that of the constant."""
        return np.concatenate([self.slopes.spread(dimension - 1), self._own.spread(1)])
