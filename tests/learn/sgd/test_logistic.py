"""Logistic regression by DP-SGD: what it reads, what it claims, what it learns."""

import numpy as np
import pytest
from sklearn.base import clone

from hush.errors import InvalidArgument
from hush.learn import LogisticRegression
from hush.learn.sgd.logistic import Descent
from hush.ledger import Budget, Ledger
from hush.noise import Seeded

SHARED = {"classes": (0, 1), "method": "sgd"}


def data(n=2000, columns=4):
    x = np.random.default_rng(1).uniform(-1, 1, (n, columns))
    return x, (x @ np.arange(1, columns + 1) > 0).astype(int)


@pytest.mark.parametrize("given", [{"norm": 2.0}, {"bounds": (-1, 1)}], ids=str)
def test_it_learns_within_its_claim(given):
    x, y = data()
    model = LogisticRegression(2.0, **given, **SHARED).fit(x, y, source=Seeded(3))
    assert model.score(x, y) > 0.85
    assert model.curve_.epsilon_at(1e-5) <= 2.0
    assert model.mechanism_.neighbors == "replace-one"
    assert model.curve_.epsilon_at(0.0) == np.inf  # never pure, and says so
    assert model.predict_proba(x).sum(axis=1) == pytest.approx(1)


def test_labels_may_be_words_and_truth_values():
    x, y = data(500, 2)
    words = np.array(["no", "yes"])[y]
    model = LogisticRegression(8.0, norm=2.0, method="sgd", classes=("no", "yes"))
    assert model.fit(x, words, source=Seeded(1)).score(x, words) > 0.85
    plain = LogisticRegression(8.0, norm=2.0, method="sgd")
    assert plain.fit(x, y == 1, source=Seeded(1)).score(x, y == 1) > 0.85


def test_the_default_delta_falls_with_the_rows_and_a_stated_one_is_kept():
    few = LogisticRegression(1.0, norm=1.0, **SHARED).plan(500, 2)
    many = LogisticRegression(1.0, norm=1.0, **SHARED).plan(50_000, 2)
    assert few.curve().delta_at(1.0) <= 1e-5 < few.curve().delta_at(0.9)
    assert many.curve().delta_at(1.0) <= 2e-6
    stated = LogisticRegression(1.0, norm=1.0, delta=1e-9, **SHARED).plan(500, 2)
    assert stated.curve().delta_at(1.0) <= 1e-9


def test_pure_privacy_and_three_classes_are_refused():
    with pytest.raises(InvalidArgument, match="never pure"):
        LogisticRegression(1.0, norm=1.0, delta=0.0, **SHARED).plan(100, 2)
    with pytest.raises(InvalidArgument, match="two classes"):
        LogisticRegression(1.0, norm=1.0, method="sgd", classes=(0, 1, 2)).plan(100, 2)


def test_a_row_reaches_training_bounded_or_not_at_all(monkeypatch):
    # What the training run is given is all that it can ever learn from.
    seen = []
    kind = type(LogisticRegression(1.0, norm=1.0, **SHARED).plan(5, 2).inner)

    def heard(self, value, *, source):
        seen.append(value[1])
        return {"average": np.zeros(3, np.float32)}

    monkeypatch.setattr(kind, "run", heard)
    x = np.array([[3.0, 4.0], [1e308, -1e308], [np.nan, 0.0], [0.1, 0.2], [0.0, 0.0]])
    model = LogisticRegression(1.0, norm=1.0, **SHARED)
    model.fit(x, [0, 1, 1, 7, 1])
    model.fit(x, [0, 1, 1, "seven", 1])
    for rows, signs in seen:
        assert np.isfinite(rows).all()
        # Entries of the longest rows are about 1: length is at most sqrt(3).
        assert (np.linalg.norm(rows, axis=1) <= np.sqrt(3) * (1 + 1e-6)).all()
        assert (rows[2] == 0).all()  # a NaN
        assert (rows[3] == 0).all()  # no class
        assert set(signs.tolist()) <= {-1.0, 1.0}
    assert len(seen) == 2


def test_a_ledger_is_charged_once_for_a_key():
    x, y = data(300, 2)
    ledger = Ledger.open("memory://", budget=Budget(epsilon=3, delta=1e-4))
    model = LogisticRegression(1.0, norm=1.0, delta=1e-5, **SHARED)
    first = clone(model).fit(x, y, ledger=ledger, key="a")
    again = clone(model).fit(x, y, ledger=ledger, key="a")
    assert first.theta_.tolist() == again.theta_.tolist()
    left = ledger.remaining()
    assert left.epsilon == pytest.approx(2, abs=1e-4)
    assert left.delta == pytest.approx(9e-5, rel=1e-3)


def test_batches_that_are_poisson_are_no_part_of_it():
    from hush.learn.sgd import Training

    model = LogisticRegression(1.0, norm=1.0, **SHARED).plan(100, 2)
    run = Training(std=1.0, clip=1.0, batch=10, records=100, steps=5, dimension=3)
    with pytest.raises(InvalidArgument, match="fixed-size"):
        Descent(run, model.rows, model.targets, 100, 2)
