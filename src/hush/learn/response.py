"""What regressions of a bounded response share: coefficients in the user's units."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from hush.errors import InvalidArgument
from hush.learn.model import Floats, LinearModel, noise_of
from hush.learn.targets import Response


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
