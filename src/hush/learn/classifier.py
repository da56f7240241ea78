"""Private linear classifiers: logistic regression and the Huber support vector machine.

Both are objective perturbation with a loss of their own.
"""

from typing import Any

import numpy as np
from scipy import special
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hush.errors import InvalidArgument
from hush.learn.loss import HuberHinge, Logistic, Loss
from hush.learn.model import Floats, Model, decision, rule
from hush.learn.objective import ObjectivePerturbation
from hush.learn.targets import Classes


class LinearClassifier(ClassifierMixin, Model):  # type: ignore[misc]
    """Two public classes, a bounded row, and a convex loss of y·(x·θ)."""

    epsilon: float
    delta: float
    norm: float | None
    bounds: Any
    classes: tuple[Any, Any]
    fit_intercept: bool
    penalty: float
    split: float

    def _loss(self) -> Loss:
        raise NotImplementedError

    def plan(self, size: int, columns: int) -> ObjectivePerturbation:
        """Return the mechanism for data of a public shape; no data is needed."""
        intercept = bool(self.fit_intercept)
        return ObjectivePerturbation.plan(
            self.epsilon,
            delta=self.delta,
            split=self.split,
            penalty=self.penalty,
            loss=self._loss(),
            rows=rule(self.norm, self.bounds, columns, intercept=intercept),
            targets=Classes(tuple(self.classes)),
            size=size,
            columns=columns,
        )

    def _keep(self, released: Any) -> None:
        self.theta_ = np.asarray(released)
        self.noise_ = self.mechanism_.perturbation
        slopes, constant = self.mechanism_.rows.unmap(self.theta_)
        self.coef_ = slopes[None, :]
        self.intercept_ = np.array([constant])
        self.classes_ = np.array(self.classes)

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return x·θ; positive for the second class. Rows are clipped as in `fit`."""
        check_is_fitted(self)
        return decision(self.mechanism_.rows, self.theta_, X)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the class on whose side each row lies."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]


class LogisticRegression(LinearClassifier):
    """Logistic regression by objective perturbation, with the scikit-learn API.

    State either `norm`, a bound on the ℓ2 norm of a row, or `bounds=(lower, upper)` of
    the columns, which are then centred and get ℓ∞ noise. Longer rows are shortened;
    rows with a NaN, an infinity or an unknown class count as zero rows. The intercept
    is penalised as well. `score` and `predict` read the data they are given as it is.

    Guarantee: `fit` is `curve_`-private for one row replaced: ε-DP, or (ε, δ) with
    Gaussian noise for delta > 0. Solver tolerance and floats are included.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(-1, 1, 2000)[:, None]
        >>> model = LogisticRegression(epsilon=1.0, bounds=(-1, 1)).fit(x, x[:, 0] > 0)
        >>> bool(model.score(x, x[:, 0] > 0) > 0.9), model.curve_.epsilon_at(0) <= 1
        (True, True)

    Reference: [CMS11]; [KST12]; N6.1; docs/proofs/learn_objective.md.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float = 0.0,
        norm: float | None = None,
        bounds: Any = None,
        classes: tuple[Any, Any] = (0, 1),
        method: str = "objective",
        fit_intercept: bool = True,
        penalty: float = 0.0,
        split: float = 0.85,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.norm = norm
        self.bounds = bounds
        self.classes = classes
        self.method = method
        self.fit_intercept = fit_intercept
        self.penalty = penalty
        self.split = split

    def _loss(self) -> Loss:
        if self.method != "objective":
            raise InvalidArgument(
                f"method must be 'objective'; got {self.method!r}. No sampler with a "
                "certificate is known here for other methods, so none is offered."
            )
        return Logistic()

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the probability of each class."""
        p = special.expit(self.decision_function(X))
        return np.column_stack([1 - p, p])


class HuberSVM(LinearClassifier):
    """A linear support vector machine with a rounded hinge, by objective perturbation.

    `width` is how far the corner of the hinge is rounded: less of it needs a larger
    penalty. Everything else is as in `LogisticRegression`.

    Guarantee: `fit` is `curve_`-private for one row replaced: ε-DP, or (ε, δ) with
    Gaussian noise for delta > 0. Solver tolerance and floats are included.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(-1, 1, 2000)[:, None]
        >>> model = HuberSVM(epsilon=1.0, bounds=(-1, 1)).fit(x, x[:, 0] > 0)
        >>> bool(model.score(x, x[:, 0] > 0) > 0.9)
        True

    Reference: [CMS11] Section 4; N6.1; docs/proofs/learn_objective.md.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float = 0.0,
        norm: float | None = None,
        bounds: Any = None,
        classes: tuple[Any, Any] = (0, 1),
        width: float = 0.5,
        fit_intercept: bool = True,
        penalty: float = 0.0,
        split: float = 0.85,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.norm = norm
        self.bounds = bounds
        self.classes = classes
        self.width = width
        self.fit_intercept = fit_intercept
        self.penalty = penalty
        self.split = split

    def _loss(self) -> Loss:
        return HuberHinge(self.width)
