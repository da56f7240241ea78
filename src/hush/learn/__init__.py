"""Learning: private models with the scikit-learn interface, and DP-SGD."""

from typing import Any

from hush.learn import needed  # first: it says what to install
from hush.learn.aggregate import BlockMean, SubsampleAggregate, progress_bar
from hush.learn.bayes import ClassMoments, GaussianNB
from hush.learn.classifier import HuberSVM, LogisticRegression
from hush.learn.cluster import KMeans, Lloyd
from hush.learn.components import PCA
from hush.learn.counts import PoissonRegression
from hush.learn.forest import RandomForestClassifier
from hush.learn.gradient import LeastSquaresGradient
from hush.learn.grouped import GroupSums
from hush.learn.leaves import LeafCounts
from hush.learn.linear import LinearRegression
from hush.learn.moments import Moments
from hush.learn.objective import ObjectivePerturbation
from hush.learn.quantile import QuantileRegression
from hush.learn.sampled import ExponentialRisk, KNormGradient
from hush.learn.scatter import Scatter
from hush.learn.select import BestSubset, SelectModel
from hush.learn.versus import OneVersusRest

__all__ = [
    "PCA",
    "BestSubset",
    "BlockMean",
    "ClassMoments",
    "ExponentialRisk",
    "GaussianNB",
    "GroupSums",
    "HuberSVM",
    "KMeans",
    "KNormGradient",
    "LeafCounts",
    "LeastSquaresGradient",
    "LinearRegression",
    "Lloyd",
    "LogisticRegression",
    "Moments",
    "ObjectivePerturbation",
    "OneVersusRest",
    "PoissonRegression",
    "QuantileRegression",
    "RandomForestClassifier",
    "Scatter",
    "SelectModel",
    "SubsampleAggregate",
    "progress_bar",
    "sgd",
]


def __getattr__(name: str) -> Any:
    """Load `sgd`, and with it JAX, when it is first used."""
    if name == "sgd":
        import importlib

        needed.package("jax", "sgd")
        return importlib.import_module("hush.learn.sgd")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
