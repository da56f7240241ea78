"""Private Poisson regression: a rate that depends on bounded rows."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from hush.errors import InvalidArgument
from hush.learn.estimators.learner import Floats, LinearModel, noise_of
from hush.learn.losses import Poisson
from hush.learn.mechanisms.objective_perturbation import ObjectivePerturbation
from hush.learn.targets import Counts, Response


class PoissonRegression(RegressorMixin, LinearModel):  # type: ignore[misc]
    """Poisson regression by objective perturbation: log rate = x·θ.

    `top` is the public largest count and largest rate: counts beyond are clipped, and
    the loss goes on as a straight line where the rate would be larger. State either
    `norm` of a row or `bounds=(lower, upper)` of the columns. Noise and penalty grow
    with `top`, so choose it close.

    Guarantee: `fit` is `curve_`-private for one row replaced: ε-DP, or (ε, δ) with
    Gaussian noise for delta > 0. Solver tolerance and floats are included.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(-1, 1, 20_000)[:, None]
        >>> model = PoissonRegression(2.0, bounds=(-1, 1), top=10)
        >>> abs(float(model.fit(x, np.rint(np.exp(x[:, 0] + 1))).coef_[0]) - 1) < 0.2
        True

    Reference: [KST12]; N6.1; docs/proofs/learn_objective.md.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float = 0.0,
        norm: float | None = None,
        bounds: Any = None,
        top: float | None = None,
        fit_intercept: bool = True,
        penalty: float = 0.0,
        split: float = 0.85,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.norm = norm
        self.bounds = bounds
        self.top = top
        self.fit_intercept = fit_intercept
        self.penalty = penalty
        self.split = split

    def _plan(self, size: int, columns: int) -> ObjectivePerturbation:
        if self.top is None:
            raise InvalidArgument(
                "top must be a public bound on the counts. Never take it from the data."
            )
        rows, targets = self._rows(columns), Counts(self.top)
        return self._objective(Poisson(self.top), rows, targets, size, columns)

    def _keep(self, released: Any) -> None:
        self.theta_ = np.asarray(released)
        self.noise_ = noise_of(self.mechanism_)
        self.coef_, self.intercept_ = self.mechanism_.rows.unmap(self.theta_)

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Return the expected count. Rows are clipped as in `fit`."""
        z = self._predictor(X)
        found: Floats = self.mechanism_.loss.rate(z)
        return found


# -- What regressions of a bounded response share: coefficients in the user's units ----


class ResponseModel(RegressorMixin, LinearModel):  # type: ignore[misc]
    """A linear model of a response with public bounds."""

    y_bounds: tuple[float, float] | None

    def _response(self) -> Response:
        if self.y_bounds is None:
            raise InvalidArgument(
                "y_bounds must be (lower, upper), public bounds on the response. "
                "Never take them from the data."
            )
        return Response(self.y_bounds)

    def _keep(self, released: Any) -> None:
        self.theta_ = np.asarray(released)
        self.noise_ = noise_of(self.mechanism_)
        targets = self.mechanism_.targets
        slopes, constant = self.mechanism_.rows.unmap(self.theta_)
        self.coef_ = targets.half * slopes
        self.intercept_ = targets.middle + targets.half * constant

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Return the predicted response. Rows are clipped as in `fit`."""
        found = self._predictor(X)
        targets = self.mechanism_.targets
        return np.asarray(targets.middle + targets.half * found)
