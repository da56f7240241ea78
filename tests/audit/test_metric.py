"""How far apart the inputs of a mechanism are, exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hush import mechanisms as m
from hush.audit import (
    distance,
)

FAR = 2**60
DISTANCES = [
    (m.Laplace(1.0), [0, 5], [1, 3], 3),
    (m.Laplace(1.0), FAR, FAR + 1, 1),
    (m.Laplace(1.0), Fraction(1, 3), 0, Fraction(1, 3)),
    (m.Geometric(1), np.array([FAR, 0]), np.array([FAR - 1, 0]), 1),
    (m.Gaussian(1.0), [0.0, 0.0], [3.0, 4.0], 5),
    (m.DiscreteGaussian(1), [1, 1], [0, 0], math.sqrt(2)),
    (m.KNorm(1.0, 2, norm=math.inf), [0.0, 0.0], [3.0, 4.0], 4),
    (m.KNorm(1.0, 2, norm=1), [0.0, 0.0], [3.0, 4.0], 7),
    (m.KNorm(1.0, 2, norm=2), [0.0, 0.0], [3.0, 4.0], 5),
    (m.Exponential(1.0), [0, 1, 2], [1, 0, 2], 1),
    (m.NoisyMax(1.0), [0, 1, 2], [3, 1, 2], 3),
    (m.Exponential(1.0, monotone=True), [0, 1, 2], [1, 2, 2], 1),
    (m.Exponential(1.0, monotone=True), [0, 1, 2], [1, 0, 2], math.inf),
    (m.SparseVector(1, 1.0), [0, 1], [1, 1], 1),
    (m.TreeSum(4, 1.0), [0, 1, 0], [0, 3, 0], 2),
    (m.RandomizedResponse(0.75), [0, 1, 1], [1, 1, 0], 2),
    (m.Staircase(1.0), 3, 4, 1),
    (m.Staircase(1.0), [3, 3], [4, 4], math.inf),
    (m.Quantile(0.5, (0, 1), 1.0), [0.5, 0.1], [0.1, 0.5, 0.5], 1),
    (m.Quantile(0.5, (0, 1), 1.0, "replace-one"), [0.5, 0.1], [0.1, 0.2], 1),
    (m.Quantile(0.5, (0, 1), 1.0, "replace-one"), [0.5], [0.1, 0.2], math.inf),
    (m.Histogram(1.0, categories=("a", "b")), ["a"], ["a", "b", "b"], 2),
    (m.KeySelection(2.0**20, 2**24, keys_per_person=2), [9, 0, 5], [8, 0, 6], 1),
    (m.KeySelection(2.0**20, 2**24, keys_per_person=1), [9, 5], [8, 6], math.inf),
    (m.KeySelection(2.0**20, 2**24), [2**20, 5], [0, 6], math.inf),
    (m.OptimalKeySelection(1.0, 1e-6, 2), [9, 0, 5], [8, 0, 6], 1),
    (m.OptimalKeySelection(1.0, 1e-6), [9, 5], [8, 6], math.inf),
    (m.CellTop(1, 1.0), [[3, 0, 1]], [[3, 1, 0]], 2),
    (m.Laplace(1.0), math.nan, 0.0, math.inf),
    (m.Laplace(1.0), math.nan, math.nan, math.inf),
    (m.Laplace(1.0), [0.0, math.inf], [0.0, 1.0], math.inf),
    (m.Laplace(1.0), [0.0], [0.0, 1.0], math.inf),
]


@pytest.mark.parametrize(("mechanism", "a", "b", "apart"), DISTANCES)
def test_distances_are_those_of_the_metric(mechanism, a, b, apart):
    assert float(distance(mechanism, a, b)) == pytest.approx(float(apart), rel=1e-15)
    if math.isfinite(apart):
        assert distance(mechanism, a, b).within(
            Fraction(apart) * (1 + Fraction(1, 10**12))
        )
    assert not distance(mechanism, a, b).within(
        Fraction(min(apart, 9)) * Fraction(9, 10)
    )


def test_distances_are_exact_where_floats_are_not():
    assert not distance(m.Laplace(1.0), float(2**53), 2**53 + 2).within(1)
    assert not distance(m.Laplace(1.0), 2**70, 2**70 + 2).within(1)
    exact = Fraction(0.3) - Fraction(0.1)  # 0.3 - 0.1 is smaller than that
    assert distance(m.Laplace(1.0), 0.1, 0.3).within(exact)
    assert not distance(m.Laplace(1.0), 0.1, 0.3).within(0.3 - 0.1 - 2e-17)
    assert not distance(m.Gaussian(1.0), [1, 1], [0, 0]).within(1.414213562373095)
    assert distance(m.Gaussian(1.0), [1, 1], [0, 0]).within(1.4142135623730952)
