"""Every learner: two data sets whose last rows pull in opposite directions."""

from typing import Any

import numpy as np
from suite import Subject

from hush import learn
from hush import mechanisms as m
from hush.noise import Source

_SIZE, _EPSILON = 6, 1.0


def _mean(_x: Any, y: Any) -> float:
    return float(np.mean(y))


def pair(scale: float = 1.0) -> tuple[Any, Any]:
    """Two data sets that differ in one row."""
    rows = np.zeros((_SIZE, 1))
    labels = np.array([0, 1] * (_SIZE // 2))
    one, two = rows.copy(), rows.copy()
    one[-1], two[-1] = scale, -scale
    labels[-1] = 1
    return (one, labels), (two, labels)


class _Winsorized:
    """What older fits of blocks hold."""

    def __init__(self, epsilon: float) -> None:
        self.mean = m.WinsorizedMean.for_epsilon(epsilon, bounds=(0, 1))

    def plan(self, size: int, _columns: int) -> learn.BlockMean:
        return learn.BlockMean(_mean, size, size, (self.mean,))


_BOX: dict[str, Any] = {"bounds": (-1, 1)}
_TARGET: dict[str, Any] = {**_BOX, "y_bounds": (0, 1)}
_SLOPE: dict[str, Any] = {**_TARGET, "fit_intercept": False}
_LINE: dict[str, Any] = {"norm": 1.0, "fit_intercept": False}

# name -> (public names, epsilon -> model, the noise that the twin keeps)
MODELS: dict[str, Any] = {
    "logistic, ball": (
        ("LogisticRegression", "ObjectivePerturbation"),
        lambda e: learn.LogisticRegression(e, classes=(0, 1), **_LINE),
        0.25,
    ),
    "logistic, box": (
        ("LogisticRegression",),
        lambda e: learn.LogisticRegression(e, classes=(0, 1), **_BOX),
        0.1,
    ),
    "logistic, gaussian": (
        ("LogisticRegression",),
        lambda e: learn.LogisticRegression(e, delta=1e-5, classes=(0, 1), **_LINE),
        0.1,
    ),
    "svm": (("HuberSVM",), lambda e: learn.HuberSVM(e, classes=(0, 1), **_BOX), 0.1),
    "log-cosh": (
        ("LinearRegression",),
        lambda e: learn.LinearRegression(e, **_TARGET),
        0.1,
    ),
    "moments": (
        ("LinearRegression", "Moments"),
        lambda e: learn.LinearRegression(e, method="statistics", **_TARGET),
        0.1,
    ),
    "least squares gradient": (
        ("LinearRegression", "LeastSquaresGradient"),
        lambda e: learn.LinearRegression(e, method="kng", **_SLOPE),
        0.1,
    ),
    "least squares exponential": (
        ("LinearRegression", "ExponentialRisk"),
        lambda e: learn.LinearRegression(e, method="exponential", **_SLOPE),
        0.1,
    ),
    "logistic gradient": (
        ("LogisticRegression", "KNormGradient"),
        lambda e: learn.LogisticRegression(
            e, method="kng", fit_intercept=False, classes=(0, 1), **_BOX
        ),
        0.1,
    ),
    "quantile": (
        ("QuantileRegression",),
        lambda e: learn.QuantileRegression(e, **_SLOPE),
        0.1,
    ),
    "one against the rest": (
        ("OneVersusRest",),
        lambda e: learn.LogisticRegression(e, classes=(0, 1, 2), **_BOX),
        0.1,
    ),
    "poisson": (
        ("PoissonRegression",),
        lambda e: learn.PoissonRegression(e, top=3, **_BOX),
        0.1,
    ),
    "subset": (
        ("SelectModel", "BestSubset"),
        lambda e: learn.SelectModel(e, **_TARGET),
        0.01,
    ),
    "bayes": (
        ("GaussianNB", "ClassMoments", "GroupSums"),
        lambda e: learn.GaussianNB(e, classes=(0, 1), **_BOX),
        0.1,
    ),
    "forest": (
        ("RandomForestClassifier", "LeafCounts"),
        lambda e: learn.RandomForestClassifier(
            epsilon=e, n_estimators=1, max_depth=1, classes=(0, 1), **_BOX
        ),
        0.1,
    ),
    "components": (
        ("PCA", "Scatter"),
        lambda e: learn.PCA(epsilon=e, norm=1.0),
        0.1,
    ),
    "clusters": (
        ("KMeans", "Lloyd"),
        lambda e: learn.KMeans(1, epsilon=e, max_iter=1, **_BOX),
        0.1,
    ),
    "blocks": (
        ("SubsampleAggregate", "BlockAverage"),
        lambda e: learn.SubsampleAggregate(
            _mean, epsilon=e, bounds=(0, 1), blocks=_SIZE
        ),
        0.1,
    ),
    "winsorized blocks": (("BlockMean",), lambda e: _Winsorized(e), 0.1),
}

# Neighbors where one row moves the answer more than the usual pair does.
_ROWS = tuple(each[0] for each in pair())  # without targets
_HALVES = np.array([0.63, 0.63, 0.63, 0.37, 0.37, 0.37])
PAIRS: dict[str, Any] = {
    "components": _ROWS,
    "clusters": _ROWS,
    "blocks": (
        (np.zeros((_SIZE, 1)), np.array([0, 0, 0, 1, 1, 1])),
        (np.zeros((_SIZE, 1)), np.array([0, 0, 1, 1, 1, 1])),
    ),
    "winsorized blocks": (
        (np.zeros((_SIZE, 1)), np.array([0, 0, 0, 1, 1, 1])),
        (np.zeros((_SIZE, 1)), np.array([0, 0, 1, 1, 1, 1])),
    ),
    "quantile": (  # the last target moves the median across the fifth
        (np.ones((_SIZE, 1)), np.array([0.2, 0.2, 0.8, 0.8, 0.5, 0.2])),
        (np.ones((_SIZE, 1)), np.array([0.2, 0.2, 0.8, 0.8, 0.5, 0.8])),
    ),
    "poisson": (
        (np.zeros((_SIZE, 1)), np.zeros(_SIZE)),
        (np.append(np.zeros(_SIZE - 1), 1.0)[:, None], np.append(np.zeros(5), 3.0)),
    ),
    "subset": (  # a column that helps, and one that hardly does
        (np.array([[1.0], [1], [1], [-1], [-1], [-1]]), _HALVES),
        (np.array([[1.0], [1], [1], [-1], [-1], [1]]), _HALVES),
    ),
}


def _fitted(make: Any) -> Any:
    def draws(factor: float, source: Source) -> Any:
        mechanism = make(_EPSILON / factor).plan(_SIZE, 1)
        return lambda data, count: [
            mechanism.run(data, source=source) for _ in range(count)
        ]

    return draws


def subjects() -> list[Subject]:
    """Return one subject for every learner."""
    return [
        Subject(
            f"learn {name}",
            tuple(f"learn.{each}" for each in names),
            PAIRS.get(name, pair()),
            lambda make=make: make(_EPSILON).plan(_SIZE, 1).curve(),
            _fitted(make),
            factor=factor,
            samples=2_000,
        )
        for name, (names, make, factor) in MODELS.items()
    ]
