"""scikit-learn's own checks of estimators; those that privacy forbids, by name."""

import warnings

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from hush.learn import (
    PCA,
    GaussianNB,
    HuberSVM,
    KMeans,
    LinearRegression,
    LogisticRegression,
    PoissonRegression,
    RandomForestClassifier,
    SelectModel,
)
from hush.noise import Seeded

LINES = {"bounds": (-50, 50), "y_bounds": (-50, 50)}
MODELS = {
    "logistic": LogisticRegression(10.0, bounds=(-50, 50), classes=(0, 1)),
    "svm": HuberSVM(10.0, bounds=(-50, 50), classes=(0, 1)),
    "linear": LinearRegression(10.0, **LINES),
    "statistics": LinearRegression(10.0, **LINES, method="statistics"),
    "kng": LinearRegression(10.0, **LINES, method="kng"),
    "poisson": PoissonRegression(10.0, bounds=(-50, 50), top=50),
    "select": SelectModel(10.0, **LINES),
    "bayes": GaussianNB(10.0, bounds=(-50, 50), classes=(0, 1)),
    "forest": RandomForestClassifier(epsilon=10.0, bounds=(-50, 50), classes=(0, 1)),
    "components": PCA(epsilon=10.0, bounds=(-50, 50)),
    "clusters": KMeans(2, epsilon=10.0, bounds=(-50, 50)),
}
SILENT = "an error would tell that somebody has such a value; it counts as a zero row"
NOISE = "the answer is noisy, so it is neither repeatable nor close on fifty rows"
GIVEN = "classes are given, not discovered: other labels count as zero rows"
FORBIDDEN = {
    "check_dtype_object": SILENT,
    "check_estimators_nan_inf": SILENT,
    "check_supervised_y_no_nan": SILENT,
    "check_fit_idempotent": NOISE,
    "check_supervised_y_2d": NOISE,
    "check_classifier_data_not_an_array": NOISE,
    "check_regressor_data_not_an_array": NOISE,
}
CLASSIFIERS = {
    "check_classifiers_classes": GIVEN,
    "check_classifiers_train": GIVEN,
    "check_classifiers_regression_target": GIVEN,
}
REGRESSORS = {"check_regressors_train": NOISE, "check_regressors_int": NOISE}
SELECTORS = {
    "check_transformer_general": NOISE,
    "check_transformer_data_not_an_array": NOISE,
    "check_transformer_preserve_dtypes": NOISE,
    "check_pipeline_consistency": NOISE,
}
CLUSTERERS = SELECTORS | {"check_clustering": "labels of the training rows are private"}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_estimators_follow_the_conventions(name):
    kinds = {
        "logistic": CLASSIFIERS,
        "svm": CLASSIFIERS,
        "bayes": CLASSIFIERS,
        "forest": CLASSIFIERS,
        "select": SELECTORS,
        "components": SELECTORS,
        "clusters": CLUSTERERS,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's own, of odd shapes
        found = check_estimator(
            MODELS[name],
            expected_failed_checks=FORBIDDEN | kinds.get(name, REGRESSORS),
            on_skip=None,
        )
    assert sum(each["status"] == "passed" for each in found) > 30


def test_three_classes_share_the_budget():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (6000, 2))
    y = np.where(x[:, 0] > 0.3, "right", np.where(x[:, 1] > 0, "up", "down"))
    names = ("down", "right", "up")
    for delta in (0.0, 1e-6):
        model = LogisticRegression(3.0, delta=delta, bounds=(-1, 1), classes=names)
        model.fit(x, y, source=Seeded(1))
        assert model.score(x, y) > 0.8
        assert 2.9 < model.curve_.epsilon_at(delta) <= 3
        assert model.curve_.delta_at(3.0) <= delta
        assert model.coef_.shape == (3, 2)
        assert model.predict_proba(x).sum(axis=1) == pytest.approx(1)
        assert model.mechanism_.curve(0).epsilon_at(0) == 0
        assert len(model.error_) == len(model.noise_) == 3
    assert HuberSVM(1.0, bounds=(-1, 1), classes=names).fit(x, y).theta_.shape == (3, 3)
