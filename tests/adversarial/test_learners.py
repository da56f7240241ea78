"""Attempts on learners: records of any kind, reused noise, counts in leaves."""

import copy
import datetime
import decimal
import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone

from hush import learn
from hush.learn.features import Ball, Box, numbers
from hush.learn.mechanisms.leaf_counts import LeafCounts, Trees, noise
from hush.learn.targets import Classes
from hush.noise import Seeded

ROWS = 30
X = np.random.default_rng(0).uniform(-1, 1, (ROWS, 2)).tolist()
Y = [int(row[0] > 0) for row in X]


class Shy:
    """A value that fails when it is read, and says what it is."""

    def __float__(self):
        raise RuntimeError("the value 17")

    def __eq__(self, other):
        raise RuntimeError("the value 18")

    __hash__ = object.__hash__


ODD = {
    "nan": math.nan,
    "infinite": -math.inf,
    "huge": 10**400,
    "text": "text",
    "surrogate": "\ud800",
    "none": None,
    "complex": 1j,
    "signaling": decimal.Decimal("sNaN"),
    "wide decimal": decimal.Decimal("1e999"),
    "long double": np.longdouble("1e4000"),
    "date": datetime.date(2020, 1, 1),
    "bytes": b"x",
    "missing": pd.NA,
    "no time": np.datetime64("NaT"),
    "list of one": [1],
    "list of two": [1, 2],
    "empty": (),
    "array": np.array([1.0, 2.0]),
    "dict": {},
    "masked": np.ma.masked,
    "shy": Shy(),
}
MODELS = {
    "forest": lambda: learn.RandomForestClassifier(bounds=(-1, 1), classes=(0, 1)),
    "bayes": lambda: learn.GaussianNB(1.0, bounds=(-1, 1), classes=(0, 1)),
    "logistic": lambda: learn.LogisticRegression(1.0, norm=1.0, classes=(0, 1)),
    "linear": lambda: learn.LinearRegression(1.0, bounds=(-1, 1), y_bounds=(0, 1)),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("model", MODELS)
def test_no_record_makes_a_fit_fail_or_warn(model, odd):
    cells, labels = [list(row) for row in X], list(Y)
    cells[3][1], labels[4] = ODD[odd], ODD[odd]
    MODELS[model]().fit(cells, Y, source=Seeded(1))
    MODELS[model]().fit(X, labels, source=Seeded(1))


@pytest.mark.parametrize("odd", ODD)
def test_one_odd_record_leaves_every_other_as_it_was(odd):
    cells, labels = [list(row) for row in X], [[each] for each in Y]
    cells[3][1], labels[4] = ODD[odd], ODD[odd]
    read, plain = numbers(cells), numbers(X)
    assert read.shape == plain.shape
    assert np.array_equal(np.delete(read, 3, axis=0), np.delete(plain, 3, axis=0))
    # Labels in lists of their own are a column: the odd one does not take theirs away.
    places = Classes((0, 1)).places(labels)
    assert np.delete(places, 4).tolist() == np.delete(Y, 4).tolist()


def leaves(size, trees=3, depth=2, delta=0.0):
    rows, classes = Box.of((-1, 1), 2, intercept=True), Classes((0, 1))
    return LeafCounts(rows, classes, size, trees, depth, noise(1.0, delta, trees))


def test_one_row_moves_leaf_counts_no_more_than_is_charged():
    mechanism = leaves(3)
    points = [(-1.0, 1.0), (0.3, -0.2), (math.nan, 0.0), (9e99, -9e99)]
    records = list(itertools.product(points, [0, 1, "other"]))
    for seed in range(3):
        trees = Trees.drawn(trees=3, depth=2, columns=2, source=Seeded(seed))

        def counted(records, trees=trees):
            given = [list(x) for x, _ in records], [label for _, label in records]
            return mechanism.counts(given, trees)

        others = records[:2]
        found = [counted([*others, each]) for each in records]
        for one, two in itertools.combinations(found, 2):
            away = np.abs(one - two).sum(axis=(1, 2))
            assert away.max() <= 2  # of each tree: ℓ1 2·trees, ℓ2 √(2·trees)
            assert np.abs(one - two).max() <= 1


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("trees", [1, 7, 100])
def test_the_forests_curve_is_that_of_the_noise_that_runs(trees, delta):
    mechanism = leaves(50, trees=trees, delta=delta)
    assert mechanism.curve().epsilon_at(delta) <= 1.0
    if delta == 0:  # by hand: 2·trees counts that move by 1 under geometric noise
        assert float(mechanism.inner.scale) >= 2 * trees
        assert mechanism.curve(2).epsilon_at(0) >= 1.99
    else:  # by hand: Gaussian privacy with μ = √(2·trees)/σ
        mu = math.sqrt(2 * trees) / float(mechanism.inner.std)
        low, high = stats.norm.cdf([-1 / mu - mu / 2, -1 / mu + mu / 2])
        due = high - math.e * low
        assert mechanism.curve().delta_at(1.0) >= due * (1 - 1e-9)
        assert due > 0.99 * delta  # and no more noise than that


def test_a_forest_is_fit_on_one_row_on_alike_rows_and_on_no_class():
    forms = set()
    for rows, labels in (
        ([[0.5, 0.5]], [1]),
        ([[math.nan, 0.5]], ["other"]),
        ([[0.5, 0.5]], [None]),
    ):
        model = MODELS["forest"]().fit(rows, labels, source=Seeded(1))
        forms.add((model.counts_.shape, model.predict_proba([[0.0, 0.0]]).shape))
        assert np.isfinite(model.predict_log_proba([[0.0, 0.0]])).all()
    assert len(forms) == 1


@pytest.mark.parametrize("model", MODELS)
def test_clones_copies_and_second_fits_draw_noise_of_their_own(model):
    first = MODELS[model]().fit(X, Y)
    twin = clone(first).fit(X, Y)
    released = [noised(each) for each in (first, twin)]
    released.append(noised(first.fit(X, Y)))
    kept = pickle.loads(pickle.dumps(copy.deepcopy(first)))  # what is released already
    assert np.array_equal(noised(kept), released[2])
    released.append(noised(kept.fit(X, Y)))
    for one, two in itertools.combinations(released, 2):
        assert not np.array_equal(one, two)


def noised(model):
    for name in ("counts_", "sums_", "theta_", "coef_"):
        if hasattr(model, name):
            return np.array(getattr(model, name))
    raise AssertionError("nothing released")


def test_weights_of_rows_are_not_taken():
    for make in MODELS.values():
        with pytest.raises(TypeError):
            make().fit(X, Y, sample_weight=[100.0] * ROWS)


def test_what_is_masked_is_not_learnt():
    hidden = np.ma.array(X, mask=np.zeros((ROWS, 2)))
    hidden[3, 1] = np.ma.masked
    read = numbers(hidden)
    assert np.isnan(read[3, 1])
    assert np.array_equal(np.delete(read, 3, axis=0), np.delete(X, 3, axis=0))
    labels = np.ma.array(Y, mask=np.arange(ROWS) == 4)
    places = Classes((0, 1)).places(labels)
    assert places[4] == -1
    assert np.delete(places, 4).tolist() == np.delete(Y, 4).tolist()


def test_a_long_row_is_measured_as_exactly_in_an_array_of_columns():
    """Down columns each square was rounded away: 10^5 of them made a row too long."""
    long = np.full((2, 1 << 17), math.sqrt(2.0**-53.02))
    long[:, 0] = 1.0
    for order in "CF":
        row = Ball(1.0, intercept=False).map(np.array(long, order=order))[0]
        assert math.fsum(row * row) <= Ball(1.0, intercept=False).bound() ** 2
