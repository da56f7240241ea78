"""Learning: private models with the scikit-learn interface, and DP-SGD."""

from typing import Any

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
    "sgd",
]


def __getattr__(name: str) -> Any:
    """Load `sgd`, and with it JAX, when it is first used."""
    if name == "sgd":
        import importlib

        return importlib.import_module("hush.learn.sgd")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
