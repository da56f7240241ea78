"""Models as scikit-learn sees them, and as a ledger does."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from hush.errors import BudgetExceeded, InvalidArgument, KeyConflict
from hush.learn import (
    HuberSVM,
    LinearRegression,
    LogisticRegression,
    PoissonRegression,
)
from hush.ledger import Budget, Ledger
from hush.noise import Seeded

MODELS = [
    LogisticRegression(1.0, bounds=(-1, 1), classes=(0, 1)),
    LogisticRegression(1.0, norm=1.5, delta=1e-6, classes=(0, 1)),
    HuberSVM(1.0, bounds=(-1, 1), classes=(0, 1)),
    LinearRegression(1.0, bounds=(-1, 1), y_bounds=(0, 1)),
    PoissonRegression(1.0, bounds=(-1, 1), top=1),
    LinearRegression(1.0, bounds=(-1, 1), y_bounds=(0, 1), method="statistics"),
]
NAMES = ["logistic", "gaussian", "svm", "linear", "poisson", "statistics"]
every = pytest.mark.parametrize("model", MODELS, ids=NAMES)


def data(n=4000):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (n, 2))
    return x, (x[:, 0] + 0.5 * x[:, 1] + 0.2 * rng.normal(size=n) > 0).astype(int)


class Untouchable:
    """A table whose shape is known and whose values must not be read."""

    shape = (4000, 2)

    def __array__(self, *_, **__):
        pytest.fail("the data was read")


@every
def test_parameters_survive_cloning(model):
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin.set_params(epsilon=2.0).epsilon == 2.0
    assert model.epsilon == 1.0


@every
def test_a_fitted_model_knows_what_it_cost(model):
    x, y = data()
    fitted = clone(model).fit(x, y, source=Seeded(1))
    assert fitted.curve_.delta_at(1.0) <= 1e-6
    assert fitted.seeded_
    assert fitted.n_features_in_ == 2
    assert fitted.error_ is not None
    assert fitted.noise_ is not None
    assert fitted.score(x, y) > (0.85 if hasattr(fitted, "classes_") else 0.3)


@every
def test_models_work_in_pipelines(model):
    x, y = data(500)
    pipe = make_pipeline(FunctionTransformer(), clone(model))
    pipe.fit(x, y)
    assert pipe.predict(x).shape == (500,)


@every
def test_plans_and_refused_charges_read_no_data(model):
    model.plan(4000, 2)
    ledger = Ledger.open("memory://", budget=Budget(epsilon=0.5, delta=1e-6))
    with pytest.raises(BudgetExceeded):
        clone(model).fit(Untouchable(), Untouchable.y, ledger=ledger)
    assert ledger.remaining().epsilon == 0.5


Untouchable.y = np.zeros(4000)


@every
def test_a_ledger_is_charged_once_per_key(model):
    x, y = data()
    delta = 1e-5 if model.delta else 0.0
    ledger = Ledger.open("memory://", budget=Budget(epsilon=3, delta=delta))
    first = clone(model).fit(x, y, ledger=ledger, key="a")
    left = ledger.remaining().epsilon
    again = clone(model).fit(x, y, ledger=ledger, key="a")
    assert (first.coef_ == again.coef_).all()
    assert ledger.remaining().epsilon == left
    assert 1.9 < left <= 2.01
    with pytest.raises(KeyConflict):  # other data is another request
        clone(model).fit(x, y, ledger=ledger, key="a", version="tomorrow")
    assert first.release_.receipt.neighbors == "replace-one"


def test_classes_are_given_and_never_found():
    x, y = data(200)
    names = np.array(["no", "yes"])[y]
    model = LogisticRegression(5.0, bounds=(-1, 1), classes=("no", "yes"))
    model.fit(x, names, source=Seeded(0))
    assert set(model.predict(x)) <= {"no", "yes"}
    # V5: one record of another class changes neither the classes nor the shape.
    names = names.astype(object)
    names[0] = "nine"
    model.fit(x, names, source=Seeded(0))
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.predict_proba(x).sum(axis=1) == pytest.approx(1)
    labels = LogisticRegression(5.0, bounds=(-1, 1), classes=("no", "yes"))
    with pytest.raises(InvalidArgument, match="y must hold"):
        labels.fit(x, names[:-1])


def test_one_bad_row_moves_the_answer_as_little_as_any_row():
    # V4: with the same noise, a NaN row changes what a zero row would change.
    x, y = data(300)
    for bad in (np.nan, np.inf, -np.inf):
        worse = x.copy()
        worse[7, 1] = bad
        one = LogisticRegression(1.0, bounds=(-1, 1), classes=(0, 1)).fit(
            x, y, source=Seeded(4)
        )
        two = LogisticRegression(1.0, bounds=(-1, 1), classes=(0, 1)).fit(
            worse, y, source=Seeded(4)
        )
        assert np.abs(one.theta_ - two.theta_).max() < 0.2


def test_an_unfitted_model_says_so():
    with pytest.raises(NotFittedError):
        LogisticRegression(bounds=(-1, 1), classes=(0, 1)).predict(np.zeros((2, 2)))
    with pytest.raises(InvalidArgument, match="'objective'"):
        LogisticRegression(bounds=(-1, 1), method="adam", classes=(0, 1)).plan(10, 2)


def test_poisson_regression_finds_rates():
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 2, (30_000, 2))
    y = rng.poisson(np.exp(0.8 * x[:, 0] - 0.5 * x[:, 1] + 0.2))
    model = PoissonRegression(2.0, bounds=(0, 2), top=12).fit(x, y, source=Seeded(1))
    assert model.coef_ == pytest.approx([0.8, -0.5], abs=0.1)
    assert model.intercept_ == pytest.approx(0.2, abs=0.15)
    assert 0 < model.predict(x).min() <= model.predict(x).max() <= 12
    with pytest.raises(InvalidArgument, match="top"):
        PoissonRegression(bounds=(0, 2)).fit(x, y)
