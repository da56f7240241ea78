"""Private principal components: directions of most variance, from noisy moments."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin as Named
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hush import checks
from hush.learn.estimators.learner import Floats, Unlabelled
from hush.learn.features import Ball, Box, check_one_bound, numbers
from hush.learn.mechanisms.scatter import Scatter

_WIDEST = 1e150  # squares of half-widths must be floats


class PCA(Named, TransformerMixin, Unlabelled):  # type: ignore[misc]
    """Principal components with public bounds, and the scikit-learn API.

    State either `norm`, a bound on the ℓ2 norm of a row, or `bounds=(lower, upper)` of
    the columns. Rows outside are clipped; rows with a NaN or an infinity count as the
    middle. Moments are taken about the public middle, where one row moves them least,
    and centred at the noisy mean afterwards: sums about the mean of the data would move
    further. `n_components` is public too; all by default.

    `transform` and `fit_transform` are not private: like `predict`, what they return
    about the rows they are given is as sensitive as those rows. Publish `components_`.

    Guarantee: `fit` is `curve_`-private for one row replaced: ε-DP, or (ε, δ) with
    Gaussian noise for delta > 0. It never fails, whatever the data.

    Example:
        >>> import numpy as np
        >>> t = np.linspace(-1, 1, 5000)
        >>> model = PCA(epsilon=1.0, bounds=(-1, 1), n_components=1)
        >>> model = model.fit(np.column_stack([t, t]))
        >>> bool(abs(model.components_[0] - 0.5**0.5).max() < 0.1)
        True

    Reference: [BDMN05]; [DTTZ14]; docs/proofs/learn_classics.md.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        norm: float | None = None,
        bounds: Any = None,
        n_components: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.norm = norm
        self.bounds = bounds
        self.n_components = n_components

    def _plan(self, size: int, columns: int) -> Scatter:
        if self.n_components is not None:
            checks.whole("n_components", self.n_components, at_least=1, at_most=columns)
        return Scatter.plan(
            self.epsilon,
            delta=self.delta,
            rows=self._rows(columns),
            columns=columns,
            size=size,
        )

    def _rows(self, columns: int) -> Ball | Box:
        check_one_bound(self.norm, self.bounds)
        if self.bounds is None:
            checks.real("norm", self.norm, above=0, at_most=_WIDEST)
            return Ball(self.norm, intercept=False)  # type: ignore[arg-type]
        found = Box.of(self.bounds, columns, intercept=False)
        for low, high in zip(found.lower, found.upper, strict=True):
            checks.real("bounds[1] - bounds[0]", high - low, at_most=_WIDEST)
        return found

    def _keep(self, released: Any) -> None:
        mechanism = self.mechanism_
        self.scatter_ = np.asarray(released)
        self.noise_ = mechanism.inner
        middle, unit = _frame(mechanism.rows, mechanism.columns)
        mean = np.clip(self.scatter_[:, -1] / mechanism.size, -1, 1)
        around = self.scatter_[:, :-1] / mechanism.size - np.outer(mean, mean)
        # Relative to the widest column nothing overflows.
        widest = float(unit.max()) or 1.0
        values, vectors = np.linalg.eigh(around * np.outer(unit, unit) / widest**2)
        kept = self.n_components or mechanism.columns
        variance = np.maximum(values[::-1], 0.0)
        largest = np.abs(vectors).argmax(axis=0)
        vectors = vectors * np.where(vectors[largest, range(len(unit))] < 0, -1.0, 1.0)
        self.mean_ = middle + unit * mean
        self.components_ = vectors[:, ::-1].T[:kept]
        total = float(variance.sum()) or 1.0
        self.explained_variance_ratio_ = variance[:kept] / total
        more = widest**2 * mechanism.size / max(mechanism.size - 1, 1)
        self.explained_variance_ = variance[:kept] * more
        self.n_components_ = self._n_features_out = kept

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """Return coordinates of rows, clipped as in `fit`: as sensitive as they are."""
        checked = self._checked_features(X)
        rows = self.mechanism_.rows
        inside = rows.map(checked)
        if isinstance(rows, Box):
            middle, unit = _frame(rows, self.n_features_in_)
            inside = middle + unit * inside
        return np.asarray((inside - self.mean_) @ self.components_.T)

    def inverse_transform(self, X: Any) -> Floats:  # noqa: N803
        """Return the rows whose coordinates are given, in the span of components."""
        check_is_fitted(self)
        return np.asarray(numbers(X) @ self.components_ + self.mean_)


def _frame(rows: Ball | Box, columns: int) -> tuple[Floats, Floats]:
    """Return the public middle of rows, and what one unit of each column is."""
    if isinstance(rows, Ball):
        return np.zeros(columns), np.full(columns, float(rows.norm))
    low, high = np.array(rows.lower), np.array(rows.upper)
    return low / 2 + high / 2, high / 2 - low / 2
