"""Inference: honest intervals, tests and plans from released values alone."""

from typing import TYPE_CHECKING

from hush import suggestions
from hush.inference.bayes.data_augmentation import LatentModel, PosteriorDraws
from hush.inference.bayes.grid_models import (
    CountModel,
    MeanModel,
    RateModel,
    ShareModel,
)
from hush.inference.bayes.grid_posterior import GridLaw, GridModel, GridPosterior
from hush.inference.bayes.latent_models import (
    LinearMoments,
    LogisticMoments,
    NormalMoments,
    PoissonMoments,
)
from hush.inference.bayes.posterior import posterior
from hush.inference.chi_square import fit_test, independence_test
from hush.inference.combined_estimates import (
    ratio_interval,
    simultaneous,
    weighted_interval,
)
from hush.inference.consistency import consistent, marginals, nonnegative, tree
from hush.inference.mean import clipping_bias, mean_from_totals, mean_interval
from hush.inference.noisy_proportion import proportion_from_counts
from hush.inference.proportion import (
    Proportion,
    proportion_interval,
    proportion_power,
    proportion_test,
)
from hush.inference.quantile_interval import quantile_interval
from hush.inference.regression import regression_interval
from hush.inference.results import Interval, NoisyInterval, Test
from hush.inference.sample_size import (
    epsilon_for_mean,
    mean_reach,
    people_for_mean,
    people_for_power,
    price_of_privacy,
)
from hush.inference.simulation import (
    Bootstrap,
    ConfidenceSet,
    bootstrap,
    confidence_set,
)
from hush.inference.total import total_interval
from hush.inference.two_samples import (
    difference_interval,
    difference_test,
    paired_difference,
)
from hush.inference.variance import variance_interval
from hush.inference.workload import (
    Question,
    Workload,
    plan_accuracy,
    plan_budget,
)

__all__ = [
    "Bootstrap",
    "ConfidenceSet",
    "CountModel",
    "GridLaw",
    "GridModel",
    "GridPosterior",
    "Interval",
    "LatentModel",
    "LinearMoments",
    "LogisticMoments",
    "MeanModel",
    "NoisyInterval",
    "NormalMoments",
    "PoissonMoments",
    "PosteriorDraws",
    "Proportion",
    "Question",
    "RateModel",
    "ShareModel",
    "Test",
    "Workload",
    "bootstrap",
    "clipping_bias",
    "confidence_set",
    "consistent",
    "difference_interval",
    "difference_test",
    "epsilon_for_mean",
    "fit_test",
    "independence_test",
    "marginals",
    "mean_from_totals",
    "mean_interval",
    "mean_reach",
    "nonnegative",
    "paired_difference",
    "people_for_mean",
    "people_for_power",
    "plan_accuracy",
    "plan_budget",
    "posterior",
    "price_of_privacy",
    "proportion_from_counts",
    "proportion_interval",
    "proportion_power",
    "proportion_test",
    "quantile_interval",
    "ratio_interval",
    "regression_interval",
    "simultaneous",
    "total_interval",
    "tree",
    "variance_interval",
    "weighted_interval",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker shall go on to refuse unknown names
    __getattr__ = suggestions.of_module(__name__)
