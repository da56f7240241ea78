"""Learning: private models with the scikit-learn interface."""

from hush.learn.classifier import HuberSVM, LogisticRegression
from hush.learn.objective import ObjectivePerturbation

__all__ = ["HuberSVM", "LogisticRegression", "ObjectivePerturbation"]
