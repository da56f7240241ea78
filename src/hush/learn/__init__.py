"""Learning: private models with the scikit-learn interface, and DP-SGD."""

import sys
from typing import Any

from hush import suggestions
from hush.learn import requirements  # first: it says what to install
from hush.learn.estimators.k_means import KMeans, Lloyd
from hush.learn.estimators.linear_classifiers import HuberSVM, LogisticRegression
from hush.learn.estimators.linear_regression import LinearRegression
from hush.learn.estimators.model_selection import BestSubset, SelectModel
from hush.learn.estimators.naive_bayes import ClassMoments, GaussianNB
from hush.learn.estimators.one_versus_rest import OneVersusRest
from hush.learn.estimators.pca import PCA
from hush.learn.estimators.poisson_regression import PoissonRegression
from hush.learn.estimators.quantile_regression import QuantileRegression
from hush.learn.estimators.random_forest import RandomForestClassifier
from hush.learn.estimators.subsample_aggregate import SubsampleAggregate, progress_bar
from hush.learn.mechanisms.block_average import BlockAverage, BlockMean
from hush.learn.mechanisms.grouped_sums import GroupSums
from hush.learn.mechanisms.k_norm_gradient import ExponentialRisk, KNormGradient
from hush.learn.mechanisms.leaf_counts import LeafCounts
from hush.learn.mechanisms.least_squares_gradient import LeastSquaresGradient
from hush.learn.mechanisms.objective_perturbation import ObjectivePerturbation
from hush.learn.mechanisms.scatter import Scatter
from hush.learn.mechanisms.second_moments import Moments

__all__ = [
    "PCA",
    "BestSubset",
    "BlockAverage",
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

        requirements.package("jax", "sgd")
        return importlib.import_module("hush.learn.sgd")
    raise suggestions.missing_in_module(__name__, name, sys._getframe(1))


def __dir__() -> list[str]:
    return sorted(__all__)
