"""Private linear classifiers: logistic regression and the Huber support vector machine.

Two classes are one minimisation; more are one against the rest for each.
"""

import math
import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from scipy import special
from sklearn.base import ClassifierMixin

from hush.errors import InvalidArgument
from hush.learn import features, requirements
from hush.learn.bounded_losses import LogisticRisk
from hush.learn.estimators.learner import Floats, LinearModel, noise_of
from hush.learn.estimators.one_versus_rest import OneVersusRest
from hush.learn.losses import HuberHinge, Logistic, Loss
from hush.learn.mechanisms.k_norm_gradient import ExponentialRisk, KNormGradient
from hush.learn.targets import Classes

_TAKEN = (
    "classes=(0, 1) are taken, as none are named. A row with any other label is not "
    "counted, and nobody is told of it: name your labels, as in classes=('no', 'yes')."
)


class LinearClassifier(ClassifierMixin, LinearModel):  # type: ignore[misc]
    """Public classes, a bounded row, and a convex loss of y·(x·θ)."""

    classes: Any

    @abstractmethod
    def _loss(self, size: int, columns: int) -> Loss:
        """Return the loss for data of a public shape."""

    def _classes(self) -> Classes:
        """Return the classes: public, and 0 and 1 where none are named."""
        return Classes.of((0, 1) if self.classes is None else self.classes)

    def _admit(self, targets: Any) -> None:
        # Truth values are 0 and 1. Of any other type the labels may be others, and to
        # say so only where they are would tell of them: so it is always said.
        types = [dtype for _, dtype in features.types(targets)]
        if self.classes is None and not all(map(features.is_truth, types or [None])):
            warnings.warn(_TAKEN, stacklevel=4)  # beyond fit and what answers misses
        self._classes().admit(targets)

    def _plan(self, size: int, columns: int) -> Any:
        targets, rows = self._classes(), self._rows(columns)
        loss = self._loss(size, columns)
        if len(targets.names) == 2:
            return self._objective(loss, rows, targets, size, columns)
        return OneVersusRest.plan(
            self.epsilon,
            delta=self.delta or 0.0,
            targets=targets,
            split=self.split,
            penalty=self.penalty,
            loss=loss,
            rows=rows,
            size=size,
            columns=columns,
        )

    def _keep(self, released: Any) -> None:
        self.theta_ = np.asarray(released)
        self.noise_ = noise_of(self.mechanism_)
        each = [self.mechanism_.rows.unmap(row) for row in np.atleast_2d(self.theta_)]
        self.coef_ = np.array([slopes for slopes, _ in each])
        self.intercept_ = np.array([constant for _, constant in each])
        self.classes_ = np.array(self._classes().names)

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return x·θ, positive for the second class, or one column per class."""
        return self._predictor(X)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the class on whose side each row lies."""
        found = self.decision_function(X)
        chosen = (found > 0).astype(int) if found.ndim == 1 else found.argmax(axis=1)
        return self.classes_[chosen]


class LogisticRegression(LinearClassifier):
    """Logistic regression with public bounds and classes, and the scikit-learn API.

    State either `norm`, a bound on the ℓ2 norm of a row, or `bounds=(lower, upper)` of
    the columns, which are then centred and get ℓ∞ noise. `classes` lists the labels,
    (0, 1) if left out. Longer rows are shortened; rows with a NaN, an infinity or
    another label count as zero rows, without a word.

    `method="objective"` is objective perturbation, certified: its solver's tolerance is
    hidden by noise. The intercept is penalised as well, and the loss is a straight line
    for rows further than `tail` on the wrong side; by default more of them the smaller
    n·ε/d is, none in the limit. More than two classes are fitted one against the rest,
    each with its share of ε. `"kng"` (K-norm gradient) and `"exponential"` draw from
    their laws, exactly, in ‖θ‖₁ <= `radius`: two classes, and at most three and four
    coefficients with the intercept. `"sgd"` is DP-SGD (`hush.learn.sgd`, with JAX): two
    classes, any number of columns, and never pure; δ is then 1e-5, or a tenth of one
    over the rows if that is less, unless you say otherwise.

    Guarantee: `fit` is `curve_`-private for one row replaced: ε-DP, or (ε, δ) with
    Gaussian noise for delta > 0 and for "sgd". Solver tolerance and floats are
    included.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(-1, 1, 2000)[:, None]
        >>> model = LogisticRegression(epsilon=1.0, bounds=(-1, 1), classes=(0, 1))
        >>> model = model.fit(x, x[:, 0] > 0)
        >>> bool(model.score(x, x[:, 0] > 0) > 0.9), model.curve_.epsilon_at(0) <= 1
        (True, True)

    Reference: [CMS11]; [KST12]; [RA19]; N6.1, N7.10, N7.11;
        docs/proofs/learn_objective.md, learn_sampling.md, sgd.md.
    """

    _method_decides = True

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float | None = None,
        norm: float | None = None,
        bounds: Any = None,
        classes: Any = None,
        method: str = "objective",
        tail: float | None = None,
        radius: float = 4.0,
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
        self.tail = tail
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.penalty = penalty
        self.split = split

    def _plan(self, size: int, columns: int) -> Any:
        if self.method == "objective":
            return super()._plan(size, columns)
        laws = {"kng": KNormGradient, "exponential": ExponentialRisk}
        if self.method not in (*laws, "sgd"):
            raise InvalidArgument(
                "method must be 'objective', 'kng', 'exponential' or 'sgd'; got "
                f"{self.method!r}."
            )
        targets = self._classes()
        if len(targets.names) != 2:
            raise InvalidArgument(
                f"method={self.method!r} is for two classes; got {self.classes!r}. Use "
                "method='objective' for more."
            )
        if self.method == "sgd":
            return self._descent(targets, size, columns)
        rows = self._box(columns)
        self._no_delta(self.method)
        found: Any = laws[self.method]
        return found.plan(
            self.epsilon,
            risk=LogisticRisk(),
            rows=rows,
            targets=targets,
            size=size,
            radius=self.radius,
            penalty=self.penalty,
        )

    def _delta(self, size: int) -> float | None:
        if self.method != "sgd" or self.delta is not None:
            return super()._delta(size)
        from hush.learn.sgd import dp_sgd

        return dp_sgd.delta(size)

    def _descent(self, targets: Classes, size: int, columns: int) -> Any:
        if self.delta == 0:
            raise InvalidArgument(
                "delta=0 and method='sgd' exclude each other: Gaussian noise is never "
                "pure. Leave delta out, or use method='objective'."
            )
        requirements.package("jax", "sgd")
        from hush.learn.sgd.logistic import Descent

        return Descent.plan(
            self.epsilon,
            delta=self.delta,
            rows=self._rows(columns),
            targets=targets,
            size=size,
            columns=columns,
            penalty=self.penalty,
        )

    def _loss(self, size: int, columns: int) -> Loss:
        if self.tail is not None:
            return Logistic(self.tail)
        # Half a unit where noise rules; longer as rows outweigh the least penalty.
        share = float(self.epsilon) / len(self._classes().names) * 2
        return Logistic(0.5 + math.log1p(0.03 * size * share / (columns + 1)))

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the probability of each class."""
        p = special.expit(self.decision_function(X))
        if p.ndim == 1:
            return np.column_stack([1 - p, p])
        return np.asarray(p / p.sum(axis=1, keepdims=True))


class HuberSVM(LinearClassifier):
    """A linear support vector machine with a rounded hinge, by objective perturbation.

    `width` is how far the corner of the hinge is rounded: less of it needs a larger
    penalty. Everything else is as in `LogisticRegression`.

    Guarantee: `fit` is `curve_`-private for one row replaced: ε-DP, or (ε, δ) with
    Gaussian noise for delta > 0. Solver tolerance and floats are included.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(-1, 1, 2000)[:, None]
        >>> model = HuberSVM(epsilon=1.0, bounds=(-1, 1), classes=(0, 1))
        >>> model = model.fit(x, x[:, 0] > 0)
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
        classes: Any = None,
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

    def _loss(self, size: int, columns: int) -> Loss:
        return HuberHinge(self.width)
