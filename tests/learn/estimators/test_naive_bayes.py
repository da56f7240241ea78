"""Gaussian naive Bayes: near the plain one with much data, and in range with none."""

import math
import warnings

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB as Plain

from hush.errors import InvalidArgument
from hush.learn import ClassMoments, GaussianNB
from hush.learn.estimators.naive_bayes import Normals
from hush.ledger import Budget, Ledger
from hush.noise import Seeded

NAMES = ("ash", "birch", "cedar")


def trees(n=30_000, seed=0):
    rng = np.random.default_rng(seed)
    place = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    centers = np.array([[2.0, 60], [5, 40], [8, 70]])
    spreads = np.array([[0.5, 8], [1.0, 4], [0.7, 6]])
    x = rng.normal(centers[place], spreads[place])
    return x, np.array(NAMES)[place]


BOUNDS = ([0.0, 0.0], [12.0, 110.0])


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_with_many_rows_it_is_the_plain_one(delta):
    x, y = trees(100_000)
    model = GaussianNB(2.0, delta=delta, bounds=BOUNDS, classes=NAMES)
    model.fit(x, y, source=Seeded(1))
    plain = Plain().fit(x, y)
    assert model.theta_ == pytest.approx(plain.theta_, rel=0.02)
    assert model.var_ == pytest.approx(plain.var_, rel=0.15)
    assert model.class_prior_ == pytest.approx(plain.class_prior_, abs=0.01)
    assert model.score(x, y) > plain.score(x, y) - 0.005
    near = np.abs(model.predict_proba(x) - plain.predict_proba(x)).mean()
    assert near < 0.01
    assert model.curve_.delta_at(2.0) <= delta


def test_probabilities_are_those_of_normal_laws():
    from scipy import stats

    x, y = trees(3000)
    model = GaussianNB(5.0, bounds=BOUNDS, classes=NAMES).fit(x, y, source=Seeded(1))
    inside = np.clip(x[:50], 0, [12, 110])
    scale = np.sqrt(model.var_)
    each = stats.norm.logpdf(inside[:, None], model.theta_, scale).sum(axis=2)
    weights = np.exp(each) * model.class_prior_
    expected = weights / weights.sum(axis=1, keepdims=True)
    assert model.predict_proba(x[:50]) == pytest.approx(expected, rel=1e-6)
    assert np.exp(model.predict_log_proba(x)).sum(axis=1) == pytest.approx(1)
    assert (model.predict(x[:50]) == np.array(NAMES)[expected.argmax(axis=1)]).all()


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 100.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_it_exists_whatever_the_data(epsilon, delta):
    tables = [
        (np.full((4, 2), math.nan), ["oak"] * 4),
        (np.full((4, 2), 1e308), ["ash"] * 4),
        (np.zeros((1, 2)), ["ash"]),
    ]
    for seed, (x, y) in enumerate(tables):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = GaussianNB(epsilon, delta=delta, bounds=BOUNDS, classes=NAMES)
            model.fit(x, y, source=Seeded(seed))
            shares = model.predict_proba(x)
        assert np.isfinite(model.theta_).all()
        assert (model.var_ > 0).all()
        assert (model.class_prior_ > 0).all()
        assert (model.theta_ >= 0).all()
        assert (model.theta_ <= [12, 110]).all()
        assert shares.sum(axis=1) == pytest.approx(1)


def test_wild_sums_give_laws_all_the_same():
    rng = np.random.default_rng(0)
    for _ in range(500):
        sums = rng.normal(size=(3, 7)) * 10.0 ** rng.integers(-3, 9)
        found = Normals.of(sums, size=int(rng.integers(1, 1000)), std=rng.exponential())
        assert np.abs(found.means).max() <= 1
        assert found.variances.min() > 0
        assert np.isfinite(found.variances).all()
        assert found.shares.sum() == pytest.approx(1)
        assert found.shares.min() > 0


def test_rows_without_a_class_or_a_number_are_in_no_class():
    mechanism = GaussianNB(1.0, bounds=(-1, 1), classes=NAMES).plan(4, 1)
    x, y = [[0.5], [math.nan], [0.5], ["?"]], ["ash", "ash", "oak", "birch"]
    rows, places = mechanism.grouped((np.array(x, dtype=object), y))
    assert places.tolist() == [0, -1, -1, -1]
    assert rows.ravel().tolist() == [0.5, 0, 0.5, 0]


def test_a_column_without_width_decides_nothing():
    x, y = trees(5000)
    wide = np.column_stack([x, np.ones(5000)])
    bounds = ([0.0, 0, 1], [12.0, 110, 1])
    model = GaussianNB(1.0, bounds=bounds, classes=NAMES)
    model.fit(wide, y, source=Seeded(1))
    moved = np.add(wide, [0, 0, 5])
    assert (model.predict_proba(wide) == model.predict_proba(moved)).all()
    assert model.score(wide, y) > 0.9


def test_priors_are_public_and_checked():
    x, y = trees(2000)
    model = GaussianNB(1.0, bounds=BOUNDS, classes=NAMES, priors=(0.2, 0.2, 0.6))
    model.fit(x, y, source=Seeded(1))
    assert model.class_prior_.tolist() == [0.2, 0.2, 0.6]
    for bad in [(0.5, 0.5), (0.5, 0.5, 0.5), (1.0, 0.0, 0.0)]:
        with pytest.raises(InvalidArgument, match="priors"):
            GaussianNB(1.0, bounds=BOUNDS, classes=NAMES, priors=bad).plan(10, 2)


def test_a_ledger_pays_once():
    x, y = trees(500)
    ledger = Ledger.open("memory://", budget=Budget(epsilon=1))
    model = GaussianNB(0.6, bounds=BOUNDS, classes=NAMES)
    first = model.fit(x, y, ledger=ledger, key="trees").theta_
    again = model.fit(x, y, ledger=ledger, key="trees").theta_
    assert (first == again).all()
    assert ledger.remaining().epsilon == pytest.approx(0.4, abs=0.001)


def test_data_of_another_shape_and_parts_that_do_not_fit_are_refused():
    mechanism = GaussianNB(1.0, bounds=(-1, 1), classes=(0, 1)).plan(3, 2)
    with pytest.raises(InvalidArgument, match="data must be 3 rows of 2 columns"):
        mechanism.run((np.zeros((4, 2)), [0] * 4))
    other = GaussianNB(1.0, bounds=(-1, 1), classes=(0, 1)).plan(3, 1)
    with pytest.raises(InvalidArgument, match="sums must have"):
        ClassMoments(mechanism.rows, mechanism.targets, 3, other.sums)
    for columns in ([[1.0]], [[1.0, 2, 3]]):
        model = GaussianNB(1.0, bounds=(-1, 1), classes=(0, 1)).fit(
            np.zeros((4, 2)), [0, 1, 0, 1]
        )
        with pytest.raises(InvalidArgument, match="expecting 2 features"):
            model.predict(columns)
