"""Classes are given, or 0 and 1 by name: what is said never depends on the labels."""

import math

import numpy as np
import pytest
from sklearn.base import clone

from hush.errors import InvalidArgument
from hush.learn import (
    GaussianNB,
    HuberSVM,
    LogisticRegression,
    RandomForestClassifier,
)
from hush.learn.targets import Classes
from hush.ledger import Budget, Ledger
from hush.noise import Seeded

BOX = {"bounds": (-1, 1)}
MODELS = {
    "logistic": LogisticRegression(50.0, **BOX),
    "kng": LogisticRegression(50.0, **BOX, method="kng"),
    "exponential": LogisticRegression(50.0, **BOX, method="exponential"),
    "svm": HuberSVM(50.0, **BOX),
    "bayes": GaussianNB(50.0, **BOX),
    "forest": RandomForestClassifier(epsilon=50.0, **BOX),
}
every = pytest.mark.parametrize("name", MODELS)
linear = [name for name in MODELS if name not in ("bayes", "forest")]
WORDS = np.array(["no", "yes"])


def data(n=400):
    x = np.random.default_rng(0).uniform(-1, 1, (n, 1))
    return x, (x[:, 0] > 0).astype(int)


class Untouchable:
    """A column of a known shape whose values must not be read."""

    def __init__(self, *shape):
        self.shape = shape

    def __array__(self, *_, **__):
        pytest.fail("the data was read")


@pytest.mark.parametrize("name", ["bayes", "forest"])
@pytest.mark.parametrize("paid", [True, False])
def test_no_classes_are_refused_before_a_charge_or_a_look(name, paid):
    ledger = Ledger.open("memory://", budget=Budget(epsilon=100)) if paid else None
    before = len(list(ledger.history())) if paid else 0
    with pytest.raises(InvalidArgument, match=r"classes must list the labels.*None"):
        clone(MODELS[name]).fit(Untouchable(400, 1), Untouchable(400), ledger=ledger)
    if paid:
        assert len(list(ledger.history())) == before
        assert ledger.remaining().epsilon == 100


@pytest.mark.parametrize("name", linear)
@pytest.mark.parametrize("labels", [(0, 1), (1, 2), (-1.0, 1.0), (7, 7)], ids=str)
def test_zero_and_one_are_taken_and_it_is_said_whatever_the_labels_are(name, labels):
    x, y = data()
    with pytest.warns(UserWarning, match=r"classes=\(0, 1\) are taken") as said:
        model = clone(MODELS[name]).fit(x, np.array(labels)[y], source=Seeded(1))
    assert len(said) == 1
    assert said[0].filename == __file__
    assert model.classes_.tolist() == [0, 1]
    assert model.get_params()["classes"] is None
    if labels == (0, 1):
        assert model.score(x, y) > 0.9


@pytest.mark.parametrize("name", linear)
def test_truth_values_need_no_classes(name):
    x, y = data()
    model = clone(MODELS[name]).fit(x, y == 1, source=Seeded(1))  # and no warning
    assert model.score(x, y == 1) > 0.9


@every
@pytest.mark.parametrize("given", ["yes", {0, 1}, {0: 1}, 2, np.array(1)], ids=str)
def test_what_lists_no_labels_is_refused(name, given):
    # A text would be read as its letters, and a set has no order.
    with pytest.raises(InvalidArgument, match="classes must list the labels"):
        clone(MODELS[name]).set_params(classes=given).plan(400, 1)


def test_a_table_given_as_classes_is_not_shown():
    with pytest.raises(InvalidArgument, match="Got a ndarray") as refused:
        Classes.of(np.array([[8127], [8128]]))
    assert "812" not in str(refused.value)


@every
@pytest.mark.parametrize("kind", [np.asarray, list, lambda y: y.astype(object)])
def test_words_are_learnt_predicted_and_scored(name, kind):
    x, y = data()
    words = kind(WORDS[y])
    model = clone(MODELS[name]).set_params(classes=("no", "yes"))
    model.fit(x, words, source=Seeded(1))
    assert set(model.predict(x)) == {"no", "yes"}
    assert model.score(x, words) > 0.8
    # They are names and no more: numbers with the same noise give the same model.
    twin = clone(MODELS[name]).set_params(classes=(0, 1)).fit(x, y, source=Seeded(1))
    assert (WORDS[twin.predict(x)] == model.predict(x)).all()


@every
def test_truths_are_the_numbers_zero_and_one(name):
    x, y = data()
    for classes in ((0, 1), (False, True), [0, 1], range(2), np.array([0, 1])):
        model = clone(MODELS[name]).set_params(classes=classes)
        for labels in (y, y == 1, y.astype(float)):
            model.fit(x, labels, source=Seeded(1))
            assert model.score(x, labels) > 0.8


@pytest.mark.parametrize("name", ["logistic", "svm", "bayes", "forest"])
def test_a_third_label_is_learnt_once_it_is_listed(name):
    x, y = data(3000)
    y = np.where(x[:, 0] > 0.6, 2, np.where(x[:, 0] > -0.2, 1, 0))
    found = {}
    for classes in ((0, 1), (0, 1, 2)):
        model = clone(MODELS[name]).set_params(classes=classes)
        found[len(classes)] = set(model.fit(x, y, source=Seeded(1)).predict(x))
    assert 2 not in found[2]
    assert 2 in found[3]


def test_no_label_says_anything_aloud(recwarn):
    x, y = data()
    odd = y.astype(object)
    odd[:4] = ["?", None, math.nan, 7]
    LogisticRegression(1.0, classes=(0, 1), **BOX).fit(x, odd)
    assert not recwarn.list


def test_labels_given_as_classes_are_not_shown():
    labels = ["secret-a", "secret-b"] * 3
    with pytest.raises(InvalidArgument, match="got 6, some of them twice") as refused:
        GaussianNB(1.0, bounds=(-1, 1), classes=labels).plan(6, 2)
    assert "secret" not in str(refused.value)


@every
@pytest.mark.parametrize(
    ("labels", "classes"),
    [(data()[1].astype(str), (0, 1)), (data()[1], ("0", "1")), (data()[1], WORDS)],
    ids=["texts", "numbers", "an array of classes"],
)
def test_labels_of_a_type_that_no_class_has_are_refused_before_a_charge(
    name, labels, classes
):
    ledger = Ledger.open("memory://", budget=Budget(epsilon=100))
    model = clone(MODELS[name]).set_params(classes=classes)
    with pytest.raises(InvalidArgument, match="no row would be counted"):
        model.fit(data()[0], labels, ledger=ledger)
    assert ledger.remaining().epsilon == 100


@pytest.mark.parametrize("odd", ["x", None, math.nan, 10**400])
def test_one_odd_label_among_objects_is_never_refused(odd):
    x, y = data()
    labels = y.astype(object)
    labels[3] = odd
    Classes(("0", "1")).admit(labels)
    Classes((0, 1)).admit(labels)
    Classes((0, 1)).admit(labels.tolist())
    LogisticRegression(50.0, **BOX, classes=(0, 1)).fit(x, labels)
