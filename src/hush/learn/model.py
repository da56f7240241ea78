"""What every learner shares: plan from public numbers, charge, then read the data."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from hush.errors import InvalidArgument
from hush.learn.rows import Ball, Box, Rows, shape
from hush.noise import SECURE, Source

Floats = NDArray[np.float64]


def rule(norm: float | None, bounds: Any, columns: int, *, intercept: bool) -> Rows:
    """Return the public rule for rows: a ball by `norm`, or a box by `bounds`."""
    if (norm is None) == (bounds is None):
        raise InvalidArgument(
            "give either norm, a bound on the ℓ2 norm of a row, or bounds=(lower, "
            "upper) of the columns. Both are public: never take them from the data."
        )
    if bounds is None:
        return Ball(norm, intercept)  # type: ignore[arg-type]
    return Box.of(bounds, columns, intercept=intercept)


class Model(BaseEstimator):  # type: ignore[misc]
    """A scikit-learn estimator whose `fit` is one private release."""

    @abstractmethod
    def plan(self, size: int, columns: int) -> Any:
        """Return the mechanism for data of a public shape; no data is needed."""

    @abstractmethod
    def _keep(self, released: Any) -> None:
        """Set the fitted attributes from the released values alone."""

    def fit(
        self,
        X: Any,  # noqa: N803 (scikit-learn's name)
        y: Any,
        *,
        ledger: Any = None,
        key: str | None = None,
        source: Source = SECURE,
    ) -> Self:
        """Learn from rows X and targets y, charging `ledger` first if there is one.

        The number of rows is public and one row belongs to one person. Without a ledger
        nobody counts: `curve_` says what this fit has cost.
        """
        size, columns = shape(X)
        given = y.shape if hasattr(y, "shape") else np.shape(y)
        if tuple(given) not in ((size,), (size, 1)):
            raise InvalidArgument(
                f"y must hold one target per row ({size}); got shape {tuple(given)}."
            )
        mechanism = self.plan(size, columns)
        if ledger is None:
            self.release_ = None
            released = mechanism.run((X, y), source=source)
        else:
            release = ledger.release(mechanism, None, (X, y), key, source)
            self.release_ = release
            released = release.values
        self.mechanism_ = mechanism
        self.curve_ = mechanism.curve()
        self.error_ = mechanism.error
        self.seeded_ = bool(source.seeded)
        self.n_features_in_ = columns
        self._keep(released)
        return self


def decision(rows: Rows, theta: Floats, features: Any) -> Floats:
    """Return the linear predictor, rows clipped as they were in training."""
    found: Floats = rows.map(features) @ theta
    return found
