"""Learning: private models with the scikit-learn interface."""

from hush.learn.classifier import HuberSVM, LogisticRegression
from hush.learn.linear import LinearRegression
from hush.learn.moments import Moments
from hush.learn.objective import ObjectivePerturbation

__all__ = [
    "HuberSVM",
    "LinearRegression",
    "LogisticRegression",
    "Moments",
    "ObjectivePerturbation",
]
