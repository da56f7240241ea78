"""The hazards of learning as tests: one bad row, domains from data, no sensitivity."""

import math
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from hush.errors import InvalidArgument
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
from hush.ledger import Budget, Ledger
from hush.noise import Seeded

BOX = {"bounds": (-1, 1)}
LINES = {"bounds": (-1, 1), "y_bounds": (0, 1)}
MODELS = {
    "logistic": LogisticRegression(1.0, classes=(0, 1), **BOX),
    "three classes": LogisticRegression(3.0, **BOX, classes=(0, 1, 2)),
    "logistic kng": LogisticRegression(1.0, classes=(0, 1), **BOX, method="kng"),
    "logistic exponential": LogisticRegression(
        1.0, classes=(0, 1), **BOX, method="exponential"
    ),
    "svm": HuberSVM(1.0, classes=(0, 1), **BOX),
    "linear": LinearRegression(1.0, **LINES),
    "statistics": LinearRegression(1.0, **LINES, method="statistics"),
    "kng": LinearRegression(1.0, **LINES, method="kng"),
    "exponential": LinearRegression(1.0, **LINES, method="exponential"),
    "poisson": PoissonRegression(1.0, **BOX, top=2),
    "quantile": QuantileRegression(1.0, **LINES),
    "select": SelectModel(1.0, **LINES),
    "bayes": GaussianNB(1.0, classes=(0, 1), **BOX),
    "forest": RandomForestClassifier(epsilon=1.0, classes=(0, 1), **BOX),
    "components": PCA(epsilon=1.0, **BOX),
    "clusters": KMeans(2, epsilon=1.0, **BOX),
    "blocks": SubsampleAggregate(lambda _, y: y.mean(), bounds=(0, 1), blocks=5),
}
every = pytest.mark.parametrize("name", MODELS)


def data(n=40):
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, (n, 2)), rng.integers(0, 2, n).astype(float)


def answers(model):
    names = ("theta_", "support_", "value_", "components_", "cluster_centers_")
    names += ("counts_",)
    return [np.asarray(getattr(model, n), float) for n in names if hasattr(model, n)]


@every
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e308], ids=str)
def test_v4_one_bad_value_neither_decides_nor_raises(name, bad):
    x, y = data()
    for where in ("x", "y"):
        rows, targets = x.copy(), y.copy()
        if where == "x":
            rows[3, 1] = bad
        else:
            targets[3] = bad
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a warning would tell as well
            model = clone(MODELS[name]).fit(rows, targets, source=Seeded(1))
        assert all(np.isfinite(each).all() for each in answers(model))


@every
def test_v5_nothing_public_is_read_from_the_data(name):
    x, y = data()
    odd, labels = x.copy(), y.copy()
    odd[0], labels[0] = 1e6, 9.0  # the only holder of a range and of a class
    one = clone(MODELS[name]).fit(x, y, source=Seeded(1))
    two = clone(MODELS[name]).fit(odd, labels, source=Seeded(1))
    assert repr(one.mechanism_) == repr(two.mechanism_)
    assert [a.shape for a in answers(one)] == [b.shape for b in answers(two)]
    if hasattr(one, "classes_"):
        assert one.classes_.tolist() == two.classes_.tolist() == list(one.classes)


@every
@pytest.mark.parametrize("width", [1e-3, 1.0, 100.0])
def test_v6_no_declared_bound_makes_the_sensitivity_vanish(name, width):
    # A peer's sensitivity of x² is 0 for bounds (0, 100). Here less ε is always more
    # noise, and bounds are moved to [-1, 1] first: they change no sensitivity.
    model = clone(MODELS[name])
    if "y_bounds" in model.get_params():
        model.set_params(y_bounds=(0, width))
    if name != "blocks":
        model.set_params(bounds=(0, width))
    half = clone(model).set_params(epsilon=model.epsilon / 2)
    cost = model.plan(40, 2).curve().epsilon_at(0)
    assert 0 < half.plan(40, 2).curve().epsilon_at(0) < cost <= model.epsilon
    move = getattr(model.plan(40, 2), "move", 1.0)
    assert move > 0


@every
def test_v6_bounds_that_are_missing_or_infinite_are_refused(name):
    for bounds in (None, (0, math.inf), (math.nan, 1), (1, 0)):
        with pytest.raises(InvalidArgument, match="bounds"):
            clone(MODELS[name]).set_params(bounds=bounds).plan(40, 2)


@pytest.mark.parametrize("name", ["bayes", "forest", "clusters", "components", "svm"])
def test_v6_missing_bounds_are_called_public(name):
    with pytest.raises(InvalidArgument, match="public: never take them from the data"):
        clone(MODELS[name]).set_params(bounds=None).plan(40, 2)


@every
@pytest.mark.parametrize("epsilon", [1e-12, 3e-5])
def test_an_epsilon_too_small_is_refused_by_name_before_it_is_charged(name, epsilon):
    model = clone(MODELS[name]).set_params(epsilon=epsilon)
    ledger = Ledger.open("memory://", budget=Budget(epsilon=1.0))
    before, refused = len(list(ledger.history())), None
    try:
        model.fit(*data(), ledger=ledger)
    except InvalidArgument as problem:
        refused = problem
    if refused is not None:
        assert "epsilon" in str(refused)
        assert len(list(ledger.history())) == before
