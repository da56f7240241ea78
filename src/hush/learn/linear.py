"""Private linear regression: by objective perturbation, or from noisy moments."""

import math
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hush.errors import InvalidArgument
from hush.estimate import Estimate
from hush.learn.loss import LogCosh
from hush.learn.model import Floats, Model, decision, rule
from hush.learn.moments import Moments
from hush.learn.objective import ObjectivePerturbation
from hush.learn.rows import Box
from hush.learn.targets import Response


class LinearRegression(RegressorMixin, Model):  # type: ignore[misc]
    """Linear regression with public bounds on rows and on the response.

    State `y_bounds`, and either `norm` of a row or `bounds=(lower, upper)` of the
    columns. `method="objective"` minimises the log-cosh loss, squares for residuals
    below `width` half-ranges of y, by objective perturbation; `"statistics"` solves
    least squares from noisy moments, needs `bounds`, and gives standard errors in
    `estimate_`. What lies outside is clipped; NaN rows count as zero rows.

    Guarantee: `fit` is `curve_`-private for one row replaced: ε-DP, or (ε, δ) with
    Gaussian noise for delta > 0. It never fails, whatever the data.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(0, 10, 5000)[:, None]
        >>> model = LinearRegression(1.0, bounds=(0, 10), y_bounds=(0, 30))
        >>> abs(float(model.fit(x, 3 * x[:, 0]).coef_[0]) - 3) < 0.2
        True

    Reference: N3.8, N6.1; docs/proofs/learn_objective.md, learn_moments.md.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float = 0.0,
        norm: float | None = None,
        bounds: Any = None,
        y_bounds: tuple[float, float] | None = None,
        method: str = "objective",
        width: float = 0.25,
        fit_intercept: bool = True,
        penalty: float = 0.0,
        split: float = 0.85,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.norm = norm
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.method = method
        self.width = width
        self.fit_intercept = fit_intercept
        self.penalty = penalty
        self.split = split

    def plan(self, size: int, columns: int) -> Any:
        """Return the mechanism for data of a public shape; no data is needed."""
        if self.y_bounds is None:
            raise InvalidArgument(
                "y_bounds must be (lower, upper), public bounds on the response. "
                "Never take them from the data."
            )
        targets = Response(self.y_bounds)
        intercept = bool(self.fit_intercept)
        rows = rule(self.norm, self.bounds, columns, intercept=intercept)
        if self.method == "statistics":
            if not isinstance(rows, Box) or not intercept:
                raise InvalidArgument(
                    "method='statistics' needs bounds=(lower, upper) of the columns "
                    "and fit_intercept=True. Use method='objective' otherwise."
                )
            return Moments.plan(
                self.epsilon, delta=self.delta, rows=rows, targets=targets, size=size
            )
        if self.method != "objective":
            raise InvalidArgument(
                f"method must be 'objective' or 'statistics'; got {self.method!r}."
            )
        return ObjectivePerturbation.plan(
            self.epsilon,
            delta=self.delta,
            split=self.split,
            penalty=self.penalty,
            loss=LogCosh(self.width),
            rows=rows,
            targets=targets,
            size=size,
            columns=columns,
        )

    def _keep(self, released: Any) -> None:
        mechanism = self.mechanism_
        spread = None
        if isinstance(mechanism, Moments):
            self.moments_ = np.asarray(released)
            self.noise_ = mechanism.inner
            self.theta_, spread = least_squares(mechanism, self.moments_)
        else:
            self.noise_ = mechanism.perturbation
            self.theta_ = np.asarray(released)
        half = mechanism.targets.half
        slopes, constant = mechanism.rows.unmap(self.theta_)
        self.coef_ = half * slopes
        self.intercept_ = mechanism.targets.middle + half * constant
        self.estimate_ = None
        if spread is not None:
            unit = np.array(mechanism.rows.unmap(np.ones_like(self.theta_))[0])
            std = half * np.abs(unit) * np.sqrt(np.diag(spread)[:-1])
            self.estimate_ = Estimate(self.coef_, std, effective=math.nan)

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Return the predicted response. Rows are clipped as in `fit`."""
        check_is_fitted(self)
        targets = self.mechanism_.targets
        found = decision(self.mechanism_.rows, self.theta_, X)
        return np.asarray(targets.middle + targets.half * found)


def least_squares(mechanism: Moments, gram: Floats) -> tuple[Floats, Floats]:
    """Return ridge coefficients from noisy moments, and their covariance.

    The ridge is 2√p·std, the spectral norm of a large symmetric matrix of such noise;
    lost eigenvalues count as zero, so the solution always exists. The covariance counts
    noise and residuals to first order, and the ridge's pull by an estimate of it.
    """
    inner, cross, square = gram[:-1, :-1], gram[:-1, -1], gram[-1, -1]
    values, vectors = np.linalg.eigh(inner)
    kept = np.maximum(values, 0.0)
    ridge = 2 * math.sqrt(len(cross)) * mechanism.std
    inverse = (vectors / (kept + ridge)) @ vectors.T
    theta = inverse @ cross
    rest = square - 2 * theta @ cross + theta @ ((vectors * kept) @ vectors.T) @ theta
    residual = min(max(float(rest) / mechanism.size, 0.0), 4.0)
    noise = mechanism.std**2 * (1 + float(theta @ theta))
    middle = residual * (vectors * kept) @ vectors.T + noise * np.eye(len(cross))
    middle += ridge**2 * np.outer(theta, theta)
    return theta, inverse @ middle @ inverse
