"""Every mechanism says in which metric its sensitivity counts, and keeps to it."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from hush import mechanisms as m
from hush.audit.metric import distance
from hush.errors import InvalidArgument
from hush.mechanisms.mechanism import metric_of
from hush.mechanisms.metrics import Stated
from hush.privacy import Pure

NORMS = {
    m.Laplace(2.0): 1,
    m.Geometric(2): 1,
    m.Gaussian(2.0): 2,
    m.DiscreteGaussian(2): 2,
    m.KNorm(2.0, dimension=3, norm=1): 1,
    m.KNorm(2.0, dimension=3, norm=2): 2,
    m.KNorm(2.0, dimension=3, norm=math.inf): math.inf,
    m.Exponential(1.0): math.inf,
    m.NoisyMax(1.0): math.inf,
    m.RandomizedResponse(0.75): 0,
    m.Staircase(1.0): 1,
}


def lists(chance, size):
    kinds = [lambda: chance.randint(-3, 3), lambda: chance.choice([0.5, -1.25, 2.0])]
    kinds.append(lambda: Fraction(chance.randint(-9, 9), 7))
    return [chance.choice(kinds)() for _ in range(size)]


@pytest.mark.parametrize(("mechanism", "norm"), NORMS.items(), ids=repr)
def test_the_distance_is_the_norm_of_the_difference(mechanism, norm):
    # The oracle is NumPy's norm of plain floats; one number where no more are charged.
    chance = random.Random(7)
    size = mechanism.metric.dimension or 4
    for _ in range(200):
        a, b = lists(chance, size), lists(chance, size)
        apart = np.array(a, dtype=float) - np.array(b, dtype=float)
        wanted = np.count_nonzero(apart) if norm == 0 else np.linalg.norm(apart, norm)
        found = float(mechanism.metric.distance(a, b))
        assert found == pytest.approx(float(wanted), abs=1e-12)
        assert found == float(distance(mechanism, a, b))


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_there_is_no_distance_to_what_is_no_number(odd):
    for mechanism in NORMS:
        size = mechanism.metric.dimension or 3
        found = mechanism.metric.distance([0.0] * size, [odd] * size)
        assert not found.within(10**9)
    assert not m.Laplace(1.0).metric.distance([1, 2], [1, 2, 3]).within(10**9)


def test_scores_that_were_promised_one_way_have_no_distance_otherwise():
    kept, broken = ([0, 0], [1, 2]), ([0, 1], [1, 0])
    one_way = m.Exponential(1.0, monotone=True).metric
    assert float(one_way.distance(*kept)) == 2
    assert not one_way.distance(*broken).within(100)
    assert m.Exponential(1.0).metric.distance(*broken).within(1)


def test_records_are_counted_by_the_relation():
    added = m.Histogram.for_epsilon(1, edges=[0, 1, 2]).metric
    assert added == m.Records(neighbors="add-remove")
    assert float(added.distance([1, 2, 2], [2, 1])) == 1
    exchanged = m.WinsorizedMean(bounds=(0, 1), scale=1.0).metric
    assert float(exchanged.distance([1, 2], [2, 3])) == 1
    assert not exchanged.distance([1], [1, 2]).within(5)


def test_a_mechanism_of_ones_own_has_a_metric_too():
    class Own:
        def curve(self, sensitivity=1):
            return Pure(sensitivity)

        def run(self, value, *, source=None):
            return value

    assert metric_of(Own()) == Stated()
    assert metric_of(Own()).distance([1], [2]) is None
    Own.neighbors = "replace-one"
    assert metric_of(Own()).reads == "records"
    Own.metric = m.L2(dimension=1)
    assert metric_of(Own()).norm == 2


@pytest.mark.parametrize(
    "mechanism",
    [m.Exponential(1.0), m.NoisyMax(1.0), m.TopK(2, 1.0), m.SparseVector(1, 4.0)],
    ids=repr,
)
def test_a_choice_by_scores_answers_no_query(mechanism):
    with pytest.raises(InvalidArgument, match="scores"):
        m.count() >> mechanism


def test_what_reads_records_answers_no_query():
    with pytest.raises(InvalidArgument, match="data"):
        m.count() >> m.Histogram.for_epsilon(1, edges=[0, 1])
