"""What every learner shares: plan from public numbers, charge, then read the data."""

import inspect
import reprlib
import warnings
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from hush import checks, suggestions
from hush.errors import InvalidArgument
from hush.learn.features import (
    Ball,
    Box,
    Rows,
    as_objects,
    check_one_bound,
    numeric,
    shape,
)
from hush.learn.losses import Loss
from hush.learn.mechanisms.objective_perturbation import ObjectivePerturbation
from hush.learn.payment import release_values
from hush.learn.targets import Classes, Targets
from hush.ledger.accounts import check_payer
from hush.noise import SECURE, Source
from hush.noise.source import checked_source

Floats = NDArray[np.float64]
_BRIEF = reprlib.Repr()
_BRIEF.maxlist = _BRIEF.maxtuple = 4
_BRIEF.maxstring = _BRIEF.maxother = 60


def _floats(option: Any) -> Any:
    """Return fractions as floats: NumPy would make a column of objects of them."""
    if type(option) is tuple and any(isinstance(each, Fraction) for each in option):
        return tuple(_floats(each) for each in option)
    return float(option) if isinstance(option, Fraction) else option


class Learner(ABC, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn estimator that learns by one private release."""

    epsilon: float
    _method_decides: ClassVar[bool] = False  # whether delta=None leaves δ to the method

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Answer options of other libraries with what to write; the rest is Python."""
        known = inspect.signature(cls.__init__).parameters
        by_place = [p for p in known.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        if len(args) >= len(by_place):
            names = ", ".join(list(known)[1:])
            raise TypeError(f"{cls.__name__} takes its options by name: {names}.")
        suggestions.check_arguments(cls.__name__, options, known, suggestions.MODEL)
        made: Self = super().__new__(cls)
        return made

    def plan(self, size: int, columns: int) -> Any:
        """Return the mechanism for data of a public shape; no data is needed."""
        checks.real("epsilon", self.epsilon, above=0)
        delta = getattr(self, "delta", 0.0)
        if delta is not None or not self._method_decides:
            checks.real("delta", delta, at_least=0, below=1)
        rows = checks.whole("size", size, at_least=1)
        wide = checks.whole("columns", columns, at_least=1)
        return self._with_plain_options()._plan(rows, wide)

    def _with_plain_options(self) -> Self:
        """Return the model with Python's own numbers as its options.

        Options stay as they were given, as scikit-learn wants it; what is charged and
        drawn is computed from these.
        """
        given = self.get_params(deep=False)
        own = {name: _floats(checks.plain_number(each)) for name, each in given.items()}
        if all(own[name] is given[name] for name in given):
            return self
        return type(self)(**own)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # noqa: N803
        """Return ε, and what is not the default; of many numbers, the first few."""
        default = inspect.signature(type(self).__init__).parameters
        shown = (
            f"{name}={_BRIEF.repr(value)}"
            for name, value in self.get_params(deep=False).items()
            if name == "epsilon" or repr(value) != repr(default[name].default)
        )
        return f"{type(self).__name__}({', '.join(shown)})"[:N_CHAR_MAX]

    @abstractmethod
    def _plan(self, size: int, columns: int) -> Any:
        """Return the mechanism; the numbers that all learners have are checked."""

    def _delta(self, size: int) -> float | None:
        """Return the δ of the guarantee, or None where it is pure."""
        return getattr(self, "delta", None) or None

    @abstractmethod
    def _keep(self, released: Any) -> None:
        """Set the fitted attributes from the released values alone."""

    def _learn(self, features: Any, value: Any, source: Source, **paying: Any) -> Self:
        """Plan from the public shape, charge, run on `value` and keep what it says."""
        checked_source(source)
        check_payer(paying["ledger"], paying["key"])
        size, columns = shape(features)
        numeric("X", features)
        mechanism = self.plan(size, columns)
        # Priced at the δ that was planned for; at any other, ε would be another.
        paying["delta"] = self._delta(size)
        self.release_, found = release_values(mechanism, value, source, **paying)
        self.mechanism_ = mechanism
        self.curve_ = mechanism.curve()
        self.error_ = mechanism.error
        self.seeded_ = bool(source.seeded)
        self._check_feature_names(features, reset=True)
        self.n_features_in_ = columns
        self._keep(found)
        return self

    def _checked_features(self, features: Any) -> Any:
        """Return features to predict from, if their public shape is that of `fit`."""
        check_is_fitted(self)
        self._check_feature_names(features, reset=False)
        columns = shape(features)[1]
        if columns != self.n_features_in_:
            raise InvalidArgument(
                f"X has {columns} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return features

    def _check_feature_names(self, features: Any, *, reset: bool) -> None:
        """Keep or compare the names of the columns of a data frame: public."""
        from sklearn.utils.validation import _check_feature_names

        _check_feature_names(self, features, reset=reset)


class Model(Learner):
    """A learner from rows and their targets."""

    @suggestions.with_argument_hints(suggestions.FIT)
    def fit(
        self,
        X: Any,  # noqa: N803 (scikit-learn's name)
        y: Any,
        *,
        ledger: Any = None,
        key: str | None = None,
        source: Source = SECURE,
        version: str = "",
        unit: str = "row",
    ) -> Self:
        """Learn from rows X and targets y, charging `ledger` first if there is one.

        The number of rows is public. What is protected is one row: `unit` says so in
        the charge, and an account that counts people refuses it. Pass unit="person" (or
        the name under which the account was charged) where no two rows of X are of one
        person. Without a ledger nobody counts: `curve_` says what this fit has cost.
        The same `key` again gives the same model for free; `version` names the data, so
        that it does not outlive them.
        """
        size, _ = shape(X)
        if y is None:
            raise InvalidArgument(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        given = y.shape if hasattr(y, "shape") else as_objects(y).shape
        if tuple(given) == (size, 1):
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected: y.ravel().",
                DataConversionWarning,
                stacklevel=3,  # beyond what answers near misses
            )
        elif tuple(given) != (size,):
            raise InvalidArgument(
                f"y must hold one target per row ({size}); got shape {tuple(given)}."
            )
        self._admit(y)
        return self._learn(
            X, (X, y), source, ledger=ledger, key=key, version=version, unit=unit
        )

    def _admit(self, targets: Any) -> None:
        """Refuse targets of a type that the model cannot count; it is public."""
        if hasattr(self, "classes"):
            Classes.of(self.classes).admit(targets)
        else:
            numeric("y", targets)


class Unlabelled(Learner):
    """A learner from rows alone."""

    @suggestions.with_argument_hints(suggestions.FIT)
    def fit(
        self,
        X: Any,  # noqa: N803 (scikit-learn's name)
        y: Any = None,
        *,
        ledger: Any = None,
        key: str | None = None,
        source: Source = SECURE,
        version: str = "",
        unit: str = "row",
    ) -> Self:
        """Learn from rows X, charging `ledger` first if there is one; y is not read.

        The number of rows is public. What is protected is one row: `unit` says so in
        the charge, and an account that counts people refuses it. Pass unit="person" (or
        the name under which the account was charged) where no two rows of X are of one
        person. Without a ledger nobody counts: `curve_` says what this fit has cost.
        The same `key` again gives the same model for free; `version` names the data, so
        that it does not outlive them.
        """
        return self._learn(
            X, X, source, ledger=ledger, key=key, version=version, unit=unit
        )


class LinearModel(Model):
    """A model of x·θ for bounded rows x, with or without a constant."""

    delta: Any  # a number; None where the method decides
    norm: float | None
    bounds: Any
    fit_intercept: bool
    penalty: float
    split: float | None

    def _rows(self, columns: int) -> Rows:
        """Return the public rule for rows: a ball by `norm`, or a box by `bounds`."""
        check_one_bound(self.norm, self.bounds)
        if self.bounds is None:
            return Ball(self.norm, bool(self.fit_intercept))  # type: ignore[arg-type]
        return Box.of(self.bounds, columns, intercept=bool(self.fit_intercept))

    def _box(self, columns: int) -> Box:
        """Return the box of a method that needs one; the ball of `norm` lies in one."""
        rows = self._rows(columns)
        if isinstance(rows, Box):
            return rows
        ends = (-float(self.norm), float(self.norm))  # type: ignore[arg-type]
        return Box.of(ends, columns, intercept=bool(self.fit_intercept), reach=1.0)

    def _no_delta(self, method: str) -> None:
        if self.delta:
            raise InvalidArgument(
                f"method={method!r} is pure: delta must be 0; got {self.delta!r}."
            )

    def _objective(
        self, loss: Loss, rows: Rows, targets: Targets, size: int, columns: int
    ) -> ObjectivePerturbation:
        return ObjectivePerturbation.plan(
            self.epsilon,
            delta=self.delta or 0.0,
            split=self.split,
            penalty=self.penalty,
            loss=loss,
            rows=rows,
            targets=targets,
            size=size,
            columns=columns,
        )

    def _predictor(self, features: Any) -> Floats:
        """Return x·θ, rows clipped as they were in training."""
        checked = self._checked_features(features)
        rows: Rows = self.mechanism_.rows
        found: Floats = rows.map(checked) @ self.theta_.T
        return found


def noise_of(mechanism: Any) -> Any:
    """Return the public law of the noise: a part of the mechanism, or all of it."""
    inner = getattr(mechanism, "inner", mechanism)
    return getattr(mechanism, "perturbation", inner)


# -- Classifiers that weigh every class for every row ----------------------------------


class Posterior(ClassifierMixin, Model):  # type: ignore[misc]
    """A model whose classes have log weights, and so probabilities."""

    @abstractmethod
    def _joint(self, features: Any) -> Floats:
        """Return log weights of the classes, up to a constant per row."""

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the most likely class of each row."""
        chosen = self._joint(X).argmax(axis=1)
        return self.classes_[chosen]

    def predict_log_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the logarithm of the probability of each class."""
        joint = self._joint(X)
        return np.asarray(joint - special.logsumexp(joint, axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the probability of each class."""
        return np.exp(self.predict_log_proba(X))
