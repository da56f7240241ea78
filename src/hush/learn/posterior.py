"""Classifiers that weigh every class for every row."""

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy import special
from sklearn.base import ClassifierMixin

from hush.learn.model import Floats, Model


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
