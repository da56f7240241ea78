"""Every learner once, a training run, and synthetic tables, on tiny data."""

import numpy as np

from formats.asked import charge, on
from hush import learn, synth
from hush.holdout import Holdout, ReusableHoldout

N = 60
X = np.linspace(-1, 1, N)[:, None]
TWO = np.column_stack([X[:, 0], np.cos(3 * X[:, 0])])
LINE = X[:, 0] * 0.5
LABELS = (X[:, 0] > 0).astype(int)
THREE = np.arange(N) % 3
RATES = np.arange(N) % 4
BOX = {"bounds": (-1, 1)}
TARGET = {**BOX, "y_bounds": (-1, 1)}
SLOPE = {**TARGET, "fit_intercept": False}
BINARY = {"classes": (0, 1)}
PEOPLE = {"smoker": ["no", "yes"] * 20, "ill": [0, 1] * 20, "age": [20.5, 70.0] * 20}


def linear():
    """Return regressions: name -> (model, rows, targets)."""
    line = learn.LinearRegression
    return {
        "LinearRegression": (line(2.0, **TARGET), TWO, LINE),
        "LinearRegression, delta": (line(2.0, delta=1e-6, **TARGET), X, LINE),
        "LinearRegression, statistics": (
            line(2.0, method="statistics", **TARGET),
            TWO,
            LINE,
        ),
        "LinearRegression, statistics, delta": (
            line(2.0, delta=1e-6, method="statistics", **TARGET),
            X,
            LINE,
        ),
        "LinearRegression, kng": (line(2.0, method="kng", **SLOPE), X, LINE),
        "LinearRegression, exponential": (
            line(2.0, method="exponential", **SLOPE),
            X,
            LINE,
        ),
        "QuantileRegression": (learn.QuantileRegression(2.0, **SLOPE), X, LINE),
        "PoissonRegression": (learn.PoissonRegression(2.0, top=3, **BOX), X, RATES),
        "SelectModel": (learn.SelectModel(2.0, **TARGET), TWO, LINE),
    }


def classifiers():
    """Return classifiers."""
    logistic = learn.LogisticRegression
    return {
        "LogisticRegression": (logistic(2.0, **BINARY, **BOX), X, LABELS),
        "LogisticRegression, norm": (logistic(2.0, norm=1.5, **BINARY), X, LABELS),
        "LogisticRegression, delta": (
            logistic(2.0, delta=1e-6, **BINARY, **BOX),
            X,
            LABELS,
        ),
        "LogisticRegression, kng": (
            logistic(2.0, method="kng", fit_intercept=False, **BINARY, **BOX),
            X,
            LABELS,
        ),
        "LogisticRegression, exponential": (
            logistic(2.0, method="exponential", fit_intercept=False, **BINARY, **BOX),
            X,
            LABELS,
        ),
        "LogisticRegression, three classes": (
            logistic(2.0, classes=(0, 1, 2), **BOX),
            X,
            THREE,
        ),
        "HuberSVM": (learn.HuberSVM(2.0, **BINARY, **BOX), X, LABELS),
        "GaussianNB": (learn.GaussianNB(2.0, **BINARY, **BOX), X, LABELS),
        "RandomForestClassifier": (
            learn.RandomForestClassifier(
                epsilon=2.0, n_estimators=2, max_depth=2, **BINARY, **BOX
            ),
            X,
            LABELS,
        ),
    }


def unlabelled():
    """Return what learns from rows alone."""
    return {
        "KMeans": (learn.KMeans(2, epsilon=2.0, max_iter=2, **BOX), TWO, None),
        "PCA": (learn.PCA(epsilon=2.0, **BOX), TWO, None),
        "PCA, delta": (learn.PCA(epsilon=2.0, delta=1e-6, norm=1.5), TWO, None),
        "SubsampleAggregate": (
            learn.SubsampleAggregate(_median, epsilon=2.0, blocks=5, **BOX),
            X,
            LINE,
        ),
    }


def _median(rows, targets):
    return float(np.median(targets))


def fitted(model, rows, targets):
    """Return the request to fit a copy of a model."""

    def request(ledger, key):
        from sklearn.base import clone

        given = (rows,) if targets is None else (rows, targets)
        return clone(model).fit(*given, ledger=ledger, key=key)

    return request


def square(slope, row):
    """Return the loss of one row."""
    return (slope["w"] * row[0] - row[1] + slope["b"]) ** 2


def trained(sampling, steps=6, **more):
    """Return the request to train two parameters by noisy gradients."""

    def request(ledger, key):
        from hush.learn import sgd

        start = {"w": np.float32(0), "b": np.float32(0)}
        data = (X[:, 0].astype(np.float32), LINE.astype(np.float32))
        return sgd.train(
            square, start, data, std=2.0, batch=10, steps=steps, sampling=sampling,
            delta=1e-5, ledger=ledger, key=key, **more,
        )  # fmt: skip

    return request


def synthesized(**budget):
    """Return the request to fit a synthesizer."""

    def request(ledger, key):
        domain = {
            "smoker": ["no", "yes"],
            "ill": [0, 1],
            "age": synth.Bins.of((0, 80), bins=4),
        }
        maker = synth.TreeSynthesizer(domain, **budget)
        return maker.fit(PEOPLE, ledger=ledger, key=key)

    return request


def held_out():
    """Return the guarantees of holdouts, which answer without a ledger."""
    labels = np.arange(4000) % 2
    many = np.arange(100_000) % 2
    once = Holdout(labels, queries=50)
    again = ReusableHoldout(many, training=many, queries=100, hits=5, tolerance=0.5)
    return {"Holdout": once.curve, "ReusableHoldout": again.curve}


def requests():
    """Return every request to the ledger of models."""
    parts = (linear(), classifiers(), unlabelled())
    found = {name: fitted(*each) for part in parts for name, each in part.items()}
    found["sgd, fixed-size"] = trained("fixed-size")
    said = {"unit": "row", "neighbors": "replace-one"}
    for name, curve in held_out().items():
        found[name] = charge(curve, notes=said)
    others = {
        "sgd, poisson": trained("poisson"),
        "TreeSynthesizer": synthesized(epsilon=2.0),
        "TreeSynthesizer, delta": synthesized(epsilon=2.0, delta=1e-6),
        "TreeSynthesizer, rho": synthesized(rho=0.25),
    }
    return found | {name: on(each, dataset="added") for name, each in others.items()}


ESTIMATORS = {
    "GaussianNB", "HuberSVM", "KMeans", "LinearRegression", "LogisticRegression", "PCA",
    "PoissonRegression", "QuantileRegression", "RandomForestClassifier", "SelectModel",
    "SubsampleAggregate",
}  # fmt: skip
