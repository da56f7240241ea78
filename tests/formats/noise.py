"""Every mechanism of hush.mechanisms, released or charged, by a name that stays."""

import math
from fractions import Fraction

import numpy as np

from formats.asked import After, Broken, Given, charge, on, release
from hush import mechanisms as m
from hush.privacy import Approx

AGES = [31, 4, 55, 18, 62, 7, 44, 29]
SHARES = [0.1, 0.9, 0.4, 0.25, 0.75, 0.5]
CELLS = [[1, 0, 1], [0, 2, 0], [0, 30, 4]]
SIZE = {"size": 6, "neighbors": "replace-one"}
QUARTER = Fraction(1, 4)


def additive():
    """Return noise on numbers: name -> (mechanism, query, data)."""
    one, two = Given(), Given(2, dimension=2)
    return {
        "Laplace": (m.Laplace(2.0), one, 40),
        "Laplace of a whole step": (m.Laplace(2, step=1), one, 40),
        "Laplace of a fraction": (m.Laplace(Fraction(7, 3), step=QUARTER), one, 0.5),
        "Laplace of NumPy": (m.Laplace(np.float64(2.5)), one, np.float64(3.25)),
        "Laplace of a vector": (m.Laplace(1.0, step=1), two, np.array([3, 4])),
        "Laplace of floats": (m.Laplace(1.5), Given(2.0), np.array([0.5, 1.25, 3.0])),
        "Laplace of many": (m.Laplace(2.0), Given(1), np.arange(1200)),
        "Geometric": (m.Geometric(2), one, 40),
        "Geometric of a fraction": (m.Geometric(Fraction(5, 3)), one, [1, 2, 3]),
        "Gaussian": (m.Gaussian(3.0), one, 40.5),
        "Gaussian of a step": (m.Gaussian(1.5, step=QUARTER), one, 0.25),
        "Gaussian of a vector": (
            m.Gaussian(1.5, step=QUARTER),
            Given(math.sqrt(2) * 0.75, dimension=2),
            np.array([0.5, 0.75]),
        ),
        "DiscreteGaussian": (m.DiscreteGaussian(2), one, 40),
        "DiscreteGaussian of a vector": (
            m.DiscreteGaussian(Fraction(9, 2)),
            Given(math.sqrt(2), dimension=2),
            [7, 8],
        ),
        "Staircase": (m.Staircase(scale=1.0, width=4, inner=0.5), Given(4), 12),
        "Canonical": (m.Canonical(Approx(1.0, 0.01)), one, 12),
        "KNorm": (
            m.KNorm(2.0, dimension=2, norm=2, bits=1),
            Given(2, dimension=2),
            [0.5, 1.5],
        ),
        "KNorm of infinity": (
            m.KNorm(2.0, dimension=2, norm=math.inf, bits=1),
            Given(2, dimension=2),
            np.array([0.5, 1.5]),
        ),
    }


def choices():
    """Return mechanisms that choose by scores, votes or cells."""
    scores, vote = Given(), [3, 9, 1, 9]
    wide = m.KeySelection(20.0, threshold=600, keys_per_person=3, whole=8)
    return {
        "RandomizedResponse": (m.RandomizedResponse(0.75), scores, 1),
        "RandomizedResponse of 5": (
            m.RandomizedResponse(0.5, categories=5),
            scores,
            [0, 3],
        ),
        "Exponential": (m.Exponential(2.0), scores, vote),
        "Exponential, monotone": (m.Exponential(1.0, monotone=True), scores, vote),
        "NoisyMax": (m.NoisyMax(2.0), scores, vote),
        "NoisyMax, laplace": (m.NoisyMax(2.0, kind="laplace"), scores, vote),
        "NoisyMax, gumbel": (m.NoisyMax(2.0, kind="gumbel"), scores, vote),
        "PermuteAndFlip": (m.PermuteAndFlip(1.0, monotone=True), scores, vote),
        "TopK": (m.TopK(2, scale=2.0), scores, vote),
        "SparseVector": (m.SparseVector(threshold=1, scale=2.0), scores, [0, 1, 2]),
        "TreeSum": (m.TreeSum(horizon=4, scale=2.0), scores, [1, 0, 2, 1]),
        "CellQuantile": (m.CellQuantile(0.5, 3, 1.0), scores, CELLS),
        "CellQuantile of several": (
            m.CellQuantile((0.25, 0.75), 3, 1.0),
            scores,
            CELLS,
        ),
        "CellInterval": (
            m.CellInterval(0.5, 3, 2.0, level=0.5, person=1),
            scores,
            CELLS,
        ),
        "CellTop": (m.CellTop(1, 2.0), scores, CELLS),
        "KeySelection": (wide, scores, [10**6, 0, 10**6 + 8]),
        "OptimalKeySelection": (m.OptimalKeySelection(1.0, 0.01), scores, [0, 5000]),
    }


def readers():
    """Return mechanisms that read the records themselves."""
    return {
        "Histogram": (m.Histogram(2.0, edges=(0, 20, 40, 80)), None, AGES),
        "Histogram of categories": (
            m.Histogram(2.0, categories=("a", 1, 2.5)),
            None,
            ["a", 1, "a"],
        ),
        "Quantile": (m.Quantile(0.5, (0, 100), 1.0), None, AGES),
        "Quantile of several": (m.Quantile((0.25, 0.75), (0, 1), 4.0), None, SHARES),
    }


def queries():
    """Return the queries of hush.mechanisms, each by a mechanism."""
    return {
        "count": (m.Laplace(2.0), m.count(), AGES),
        "count, gaussian": (m.Gaussian(2.0), m.count(), AGES),
        "count, geometric": (m.Geometric(2), m.count(), AGES),
        "count, discrete gaussian": (m.DiscreteGaussian(2), m.count(), AGES),
        "count, staircase": (m.Staircase(scale=1.0, width=1), m.count(), AGES),
        "count, canonical": (m.Canonical(Approx(1.0, 0.01)), m.count(), AGES),
        "sum": (m.Laplace(20.0), m.sum((0, 60)), AGES),
        "sum of floats": (m.Gaussian(3.0, step=QUARTER), m.sum((0.0, 1.0)), SHARES),
        "mean": (m.Laplace(2.0), m.mean((0, 1)), SHARES),
        "variance": (m.Gaussian(2.0), m.variance((0.0, 1.0)), SHARES),
        "proportion": (m.Laplace(2.0), m.proportion(), [True, False, True]),
        "released": (m.count() >> m.Laplace(3.0), None, AGES),
    }


def exchanged():
    """Return what is private for one record replaced by another."""
    like = "replace-one"
    return {
        "WinsorizedMean": (m.WinsorizedMean((0.0, 1.0), 2.0), None, SHARES),
        "Quantile, replaced": (m.Quantile(0.25, (0, 1), 2.0, like), None, SHARES),
        "Histogram, replaced": (m.Histogram(1.0, (0, 40, 80), None, like), None, AGES),
        "count, replaced": (m.Laplace(1.0), m.count(neighbors=like), AGES),
        "mean of a size": (
            m.Laplace(0.5, step=QUARTER),
            m.mean((0, 1), **SIZE),
            SHARES,
        ),
        "variance of a size": (m.Laplace(0.5), m.variance((0, 1), **SIZE), SHARES),
        "proportion of a size": (m.Laplace(0.5), m.proportion(**SIZE), [True] * 6),
    }


def requests():
    """Return every request to the ledger of mechanisms."""
    parts = (additive(), choices(), readers(), queries())
    found = {name: release(*each) for part in parts for name, each in part.items()}
    for name, each in exchanged().items():
        found[name] = on(release(*each), dataset="exchanged")
    said = {"unit": "row", "neighbors": "add-remove"}
    for name, (mechanism, query, _) in {**additive(), **choices()}.items():
        if not name.startswith(("RandomizedResponse", "OptimalKey")):
            moves = query.sensitivity
            found[f"charged: {name}"] = charge(mechanism, moves, notes=said)
    found["charged: OptimalKeySelection"] = charge(
        m.OptimalKeySelection(1.0, 0.01), notes=said
    )
    return found


def batches():
    """Return requests of several steps, and steps that see the answers before them."""
    count = m.count()
    return {
        "four counts": release([m.Gaussian(6.0)] * 4, [count] * 4, AGES, delta=1e-7),
        "of many kinds": release(
            [m.Laplace(2.0), m.Gaussian(9.0), m.Histogram(2.0, (0, 40, 80))],
            [count, m.sum((0, 60)), None],
            AGES,
            delta=1e-7,
        ),
        "one": release([m.Laplace(2.0)], [count], AGES),
        "vectors": release(
            [m.Laplace(2.0, step=1), m.Exponential(1.0)],
            [Given(2, dimension=2), Given()],
            np.array([4, 9]),
        ),
        "adaptive": release(
            [m.Exponential(1.0), m.Geometric(3)], [Given(), After()], [5, 9]
        ),
        "failed": release(m.Laplace(2.0), Broken(), AGES),
    }


def every_mechanism():
    """Return every mechanism that is written as text, by the name of its request."""
    parts = (additive(), choices(), readers(), exchanged())
    return {name: each[0] for part in parts for name, each in part.items()}
