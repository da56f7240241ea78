"""Private quantile regression: the K-norm gradient of the pinball loss."""

from typing import Any

from hush.learn.bounded_losses import Pinball
from hush.learn.estimators.poisson_regression import ResponseModel
from hush.learn.mechanisms.k_norm_gradient import KNormGradient


class QuantileRegression(ResponseModel):
    """The `quantile` of a bounded response as a linear function of bounded columns.

    State `bounds=(lower, upper)` of the columns and `y_bounds`; at most three
    coefficients with the intercept. Columns and response are moved to [-1, 1], and
    coefficients there have ℓ1 norm at most `radius`. Sampler: exact, by a cover of
    cubes; only the time depends on the data.

    Guarantee: `fit` is ε-private for one row replaced, rounding included.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(0, 10, 3000)[:, None]
        >>> y = 2 * x[:, 0] + np.sin(np.arange(3000))
        >>> public = {"bounds": (0, 10), "y_bounds": (0, 30)}
        >>> model = QuantileRegression(1.0, quantile=0.9, **public)
        >>> below = y <= model.fit(x, y).predict(x)
        >>> 0.8 < float(below.mean()) < 1
        True

    Reference: [RA19]; N7.12; docs/proofs/learn_sampling.md.
    """

    delta = 0.0
    norm = None
    split = 1.0

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        quantile: float = 0.5,
        bounds: Any = None,
        y_bounds: tuple[float, float] | None = None,
        radius: float = 1.0,
        fit_intercept: bool = True,
        penalty: float = 0.0,
    ) -> None:
        self.epsilon = epsilon
        self.quantile = quantile
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.penalty = penalty

    def _plan(self, size: int, columns: int) -> KNormGradient:
        return KNormGradient.plan(
            self.epsilon,
            risk=Pinball(self.quantile),
            rows=self._box(columns),
            targets=self._response(),
            size=size,
            radius=self.radius,
            penalty=self.penalty,
        )
