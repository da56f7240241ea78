"""Learning: private models with the scikit-learn interface."""

from hush.learn.aggregate import BlockMean, SubsampleAggregate
from hush.learn.classifier import HuberSVM, LogisticRegression
from hush.learn.counts import PoissonRegression
from hush.learn.linear import LinearRegression
from hush.learn.moments import Moments
from hush.learn.objective import ObjectivePerturbation
from hush.learn.select import BestSubset, SelectModel

__all__ = [
    "BestSubset",
    "BlockMean",
    "HuberSVM",
    "LinearRegression",
    "LogisticRegression",
    "Moments",
    "ObjectivePerturbation",
    "PoissonRegression",
    "SelectModel",
    "SubsampleAggregate",
]
