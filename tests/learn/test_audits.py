"""Every learner against the auditor, and a sabotaged twin that it must convict."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from hush.audit import Verdict, assert_private, audit
from hush.learn import (
    PCA,
    GaussianNB,
    HuberSVM,
    KMeans,
    LinearRegression,
    LogisticRegression,
    PoissonRegression,
    QuantileRegression,
    RandomForestClassifier,
    SelectModel,
    SubsampleAggregate,
)
from hush.learn.mechanisms.k_norm_gradient import Sampled
from hush.learn.mechanisms.objective_noise import KNormNoise
from hush.noise import Seeded
from hush.privacy import Pure

pytestmark = [pytest.mark.slow, pytest.mark.statistical]
LEVEL = 1 - 1e-9  # false alarms of each audit


def mean(x, y):
    return float(np.mean(y))


TREE = {"bounds": (-1, 1), "n_estimators": 2, "max_depth": 1}
MODELS = {
    "logistic, ball": LogisticRegression(1.0, norm=1.0, classes=(0, 1)),
    "logistic, long rows": LogisticRegression(
        1.0, norm=100.0, fit_intercept=False, classes=(0, 1)
    ),
    "logistic, box": LogisticRegression(1.0, bounds=(-1, 1), classes=(0, 1)),
    "logistic, gaussian": LogisticRegression(
        1.0, bounds=(-1, 1), delta=1e-5, classes=(0, 1)
    ),
    "svm": HuberSVM(1.0, bounds=(-1, 1), classes=(0, 1)),
    "log-cosh": LinearRegression(1.0, bounds=(-1, 1), y_bounds=(0, 1)),
    "poisson": PoissonRegression(1.0, bounds=(-1, 1), top=3),
    "moments": LinearRegression(
        1.0, bounds=(-1, 1), y_bounds=(0, 1), method="statistics"
    ),
    "least squares gradient": LinearRegression(
        1.0, bounds=(-1, 1), y_bounds=(0, 1), method="kng"
    ),
    "least squares exponential": LinearRegression(
        1.0, bounds=(-1, 1), y_bounds=(0, 1), method="exponential"
    ),
    "logistic gradient": LogisticRegression(
        1.0, bounds=(-1, 1), method="kng", classes=(0, 1)
    ),
    "logistic exponential": LogisticRegression(
        1.0, bounds=(-1, 1), method="exponential", classes=(0, 1)
    ),
    "quantile": QuantileRegression(1.0, bounds=(-1, 1), y_bounds=(0, 1)),
    "one against the rest": LogisticRegression(1.0, bounds=(-1, 1), classes=(0, 1, 2)),
    "subset": SelectModel(1.0, bounds=(-1, 1), y_bounds=(0, 1)),
    "bayes": GaussianNB(1.0, bounds=(-1, 1), classes=(0, 1)),
    "bayes, gaussian": GaussianNB(1.0, bounds=(-1, 1), delta=1e-5, classes=(0, 1)),
    "forest": RandomForestClassifier(epsilon=1.0, classes=(0, 1), **TREE),
    "forest, gaussian": RandomForestClassifier(
        epsilon=1.0, delta=1e-5, classes=(0, 1), **TREE
    ),
    "components, ball": PCA(epsilon=1.0, norm=1.0),
    "components, box": PCA(epsilon=1.0, bounds=(-1, 1)),
    "clusters": KMeans(2, epsilon=1.0, bounds=(-1, 1), max_iter=2),
    "blocks": SubsampleAggregate(mean, bounds=(0, 1), blocks=5),
}


def pair(size=6, scale=1.0):
    """Two data sets whose last rows pull in opposite directions."""
    x = np.zeros((size, 1))
    y = np.array([0, 1] * (size // 2))
    one, two = x.copy(), x.copy()
    one[-1], two[-1] = scale, -scale
    labels = y.copy()
    labels[-1] = 1
    return (one, labels), (two, labels)


@pytest.mark.parametrize("name", MODELS)
def test_no_learner_is_convicted(name):
    mechanism = MODELS[name].plan(6, 1)
    data, neighbor = pair(scale=100.0 if "long" in name else 1.0)
    if isinstance(MODELS[name], (PCA, KMeans)):
        data, neighbor = data[0], neighbor[0]  # rows alone
    found = audit(
        mechanism,
        data,
        neighbor,
        claim=mechanism.curve(),
        samples=3000,
        level=LEVEL,
        source=Seeded(1),
    )
    assert found.verdict is not Verdict.VIOLATED


def medians():
    """Two data sets whose last targets move the median across the fifth."""
    x, y = np.ones((6, 1)), [0.2, 0.2, 0.8, 0.8, 0.5]
    return (x, np.array([*y, 0.2])), (x, np.array([*y, 0.8]))


def weaker(mechanism, factor):
    """The same mechanism with less noise than it claims."""
    if isinstance(mechanism, Sampled):
        return replace(mechanism, scale=mechanism.scale / factor)
    noise = mechanism.perturbation
    return replace(mechanism, perturbation=KNormNoise(noise.scale / factor, noise.norm))


@pytest.mark.parametrize(
    "name",
    [
        "least squares gradient",
        "least squares exponential",
        "logistic gradient",
        "logistic exponential",
        "quantile",
    ],
)
def test_samplers_with_a_tenth_of_their_noise_are_convicted(name):
    model = clone(MODELS[name]).set_params(fit_intercept=False)
    mechanism = model.plan(6, 1)
    data, neighbor = medians() if name == "quantile" else pair()
    claim = mechanism.curve()
    assert_private(mechanism, data, neighbor, claim, samples=800, source=Seeded(1))
    with pytest.raises(AssertionError, match="violated"):
        assert_private(
            weaker(mechanism, 10),
            data,
            neighbor,
            claim,
            samples=1500,
            source=Seeded(1),
        )


def test_a_learner_with_a_tenth_of_its_noise_is_convicted():
    mechanism = LogisticRegression(
        1.0, norm=1.0, fit_intercept=False, classes=(0, 1)
    ).plan(6, 1)
    scale = mechanism.perturbation.scale / 10
    weak = replace(mechanism, perturbation=KNormNoise(scale))
    data, neighbor = pair()
    found = audit(
        weak,
        data,
        neighbor,
        claim=Pure(1.0),
        samples=6000,
        level=LEVEL,
        source=Seeded(1),
    )
    assert found.verdict is Verdict.VIOLATED
