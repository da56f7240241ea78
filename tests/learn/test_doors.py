"""Arguments at the door: refused by their own name, before anything else is said."""

import math

import numpy as np
import pytest
from sklearn.base import clone

import hush
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
    sgd,
)
from hush.ledger import Budget, Ledger

BOX = {"bounds": (-1, 1)}
TWO = {"classes": (0, 1)}
LINE = {"bounds": (-1, 1), "y_bounds": (-1, 1)}
X = np.sin(np.outer(np.arange(60), [1, 2]))
Y = (X[:, 0] > 0).astype(int)
MODELS = {
    "logistic": LogisticRegression(**BOX, **TWO),
    "logistic, norm": LogisticRegression(norm=1.0, **TWO),
    "logistic, three": LogisticRegression(norm=1.0, classes=(0, 1, 2)),
    "logistic, tail": LogisticRegression(norm=1.0, tail=1.0, **TWO),
    "logistic, kng": LogisticRegression(method="kng", **BOX, **TWO),
    "logistic, exponential": LogisticRegression(method="exponential", **BOX, **TWO),
    "svm": HuberSVM(**BOX, **TWO),
    "poisson": PoissonRegression(top=3, **BOX),
    "linear": LinearRegression(**LINE),
    "linear, norm": LinearRegression(norm=1.0, y_bounds=(-1, 1)),
    "linear, statistics": LinearRegression(method="statistics", **LINE),
    "linear, kng": LinearRegression(method="kng", **LINE),
    "linear, exponential": LinearRegression(method="exponential", **LINE),
    "quantile": QuantileRegression(**LINE),
    "select": SelectModel(**LINE),
    "bayes": GaussianNB(**BOX, **TWO),
    "components": PCA(**BOX),
    "clusters": KMeans(2, **BOX),
    "forest": RandomForestClassifier(**BOX, **TWO),
    "blocks": SubsampleAggregate(lambda x, _: x.mean(), **BOX),
}
every = pytest.mark.parametrize("name", MODELS)
BAD = {"zero": 0, "negative": -1, "nan": math.nan, "inf": math.inf, "word": "1"}


@every
@pytest.mark.parametrize("what", [*BAD, "None"])
def test_epsilon_is_refused_by_name(name, what):
    model = clone(MODELS[name]).set_params(epsilon=BAD.get(what))
    ledger = Ledger.open("memory://", budget=Budget(epsilon=9))
    for act in (
        lambda: model.plan(60, 2),
        lambda: model.fit(X, Y),
        lambda: model.fit(X, Y, ledger=ledger),
    ):
        with pytest.raises(InvalidArgument, match="epsilon must be a finite number ab"):
            act()
    assert ledger.remaining().epsilon == 9


@pytest.mark.parametrize(
    "name", [name for name in MODELS if "delta" in MODELS[name].get_params()]
)
@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan, "1e-6", None])
def test_delta_is_refused_by_name(name, delta):
    with pytest.raises(InvalidArgument, match="delta must be a finite number at least"):
        clone(MODELS[name]).set_params(delta=delta).plan(60, 2)


@every
def test_a_source_is_one_of_ours(name):
    for wrong in (0, np.random.default_rng(1), None):
        with pytest.raises(
            InvalidArgument, match=r"source must be hush\.noise\.SECURE"
        ):
            clone(MODELS[name]).fit(X, Y, source=wrong)


@pytest.mark.parametrize("method", [PCA, RandomForestClassifier])
def test_a_first_argument_is_not_epsilon_where_it_counts_things_elsewhere(method):
    with pytest.raises(TypeError):
        method(2)


# -- what one row is about ----------------------------------------------------------


@every
def test_a_charge_says_that_it_is_for_rows(name):
    ledger = Ledger.open("memory://", budget=Budget(epsilon=9))
    model = clone(MODELS[name]).fit(X, Y, ledger=ledger)
    assert model.release_.receipt.unit == "row"
    people = Ledger.open("memory://", budget=Budget(epsilon=9))
    model = clone(MODELS[name]).fit(X, Y, ledger=people, unit="person")
    assert model.release_.receipt.unit == "person"


def opened():
    """A ledger whose account has paid for people, by one question of a table."""
    import pandas as pd

    table = pd.DataFrame({"person": np.arange(60) // 2, "x": X[:, 0]})
    ledger = Ledger.open("memory://", budget=Budget(epsilon=90, delta=1e-5))
    data = hush.open(table, unit="person", ledger=ledger, neighbors="replace-one")
    data.agg(n=hush.count_distinct("person")).release(epsilon=1.0)
    return ledger


def test_an_account_of_people_takes_no_charge_for_rows():
    ledger = opened()
    left = ledger.remaining().epsilon
    model = clone(MODELS["logistic"])
    with pytest.raises(InvalidArgument, match=r"unit.*'person'"):
        model.fit(X, Y, ledger=ledger)
    assert ledger.remaining().epsilon == left
    model.fit(X[::2], Y[::2], ledger=ledger, unit="person")
    assert ledger.remaining().epsilon < left


def loss(p, row):
    return (p * row[0] - row[1]) ** 2


def trained(**options):
    return sgd.train(loss, np.float32(0), (X[:, 0], 2 * X[:, 0]), **options)


def test_training_says_what_a_row_is_about():
    ledger = Ledger.open("memory://", budget=Budget(epsilon=9, delta=1e-5))
    fixed = {"epsilon": 2.0, "delta": 1e-6, "steps": 2, "sampling": "fixed-size"}
    assert trained(ledger=ledger, **fixed).receipt.unit == "row"
    with pytest.raises(InvalidArgument, match=r"unit.*'person'"):
        trained(ledger=opened(), **fixed)
    assert trained(ledger=opened(), unit="person", **fixed).receipt.unit == "person"


@pytest.mark.parametrize("unit", ["", None, 3])
def test_a_unit_has_a_name(unit):
    with pytest.raises(InvalidArgument, match="unit must be the name"):
        clone(MODELS["bayes"]).fit(X, Y, unit=unit)
    with pytest.raises(InvalidArgument, match="unit must be the name"):
        trained(std=1.0, unit=unit)


# -- training -----------------------------------------------------------------------


@pytest.mark.parametrize("what", [*BAD])
def test_training_refuses_epsilon_by_name(what):
    with pytest.raises(InvalidArgument, match="epsilon must be a finite number above"):
        trained(epsilon=BAD[what], delta=1e-6)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"delta": 0}, "delta must"),
        ({"delta": 2}, "delta must"),
        ({"batch": 0}, "batch must"),
        ({"batch": -1}, "batch must"),
        ({"batch": 61}, "batch must"),
        ({"batch": 2.5}, "batch must"),
        ({"steps": 0}, "steps must"),
        ({"steps": "3"}, "steps must"),
        ({"optimizer": "adam"}, r"optimizer must be one of Optax, as optax\.adam"),
        ({"source": 0}, "source must"),
        ({"source": np.random.default_rng(1)}, "source must"),
    ],
    ids=lambda each: each if isinstance(each, str) else next(iter(each)),
)
def test_training_refuses_by_name(options, said):
    with pytest.raises(InvalidArgument, match=said):
        trained(epsilon=1.0, **options)
