"""What a ledger charges and draws: a mechanism and a query that fit each other."""

import math

import pytest

from hush import mechanisms as m
from hush.errors import InvalidArgument
from hush.mechanisms.measurement import Measurement
from hush.privacy import Pure


class Total:
    """A function of the data that states its sensitivity."""

    def __init__(self, sensitivity=1, **said):
        self.sensitivity = sensitivity
        vars(self).update(said)

    def __call__(self, data):
        return [sum(data)] * vars(self).get("returns", 1)


CASES = [
    (m.Laplace(2.0), Total(3), m.Laplace(2.0).curve(3)),
    (m.Laplace(2.0), Total(3, dimension=4), m.Laplace(2.0).curve(3, dimension=4)),
    (m.Gaussian(2.0), Total(3), m.Gaussian(2.0).curve(3)),
    (m.Gaussian(2.0), Total(3, dimension=4), m.Gaussian(2.0).curve(3, dimension=4)),
    # How many numbers come is not known: the curve for any number of them.
    (m.DiscreteGaussian(2), Total(3), m.DiscreteGaussian(2).curve(3, dimension=2)),
    (m.Geometric(2), Total(3), m.Geometric(2).curve(3)),
    (m.Exponential(2.0), Total(3), m.Exponential(2.0).curve(3)),
]


@pytest.mark.parametrize(("mechanism", "query", "curve"), CASES, ids=range(len(CASES)))
def test_the_charge_is_the_curve_at_the_stated_sensitivity(mechanism, query, curve):
    found = Measurement.of(mechanism, query).curve()
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        assert found.delta_at(epsilon) == curve.delta_at(epsilon)


def test_more_numbers_than_a_curve_is_about_are_refused():
    for noise in (m.Staircase(1.0), m.Canonical(Pure(1.0))):
        with pytest.raises(InvalidArgument, match="one number"):
            Measurement.of(noise, Total(1, dimension=2))
        many = Measurement.of(noise, Total(1, returns=2))
        with pytest.raises(InvalidArgument, match="dimension"):
            many.draw([1.0], m.mechanism.SECURE)


def test_what_does_not_fit_is_refused_when_it_is_made():
    with pytest.raises(InvalidArgument, match="does not read records"):
        Measurement.of(m.Laplace(1.0))
    with pytest.raises(InvalidArgument, match="state its sensitivity"):
        Measurement.of(m.Laplace(1.0), len)
    with pytest.raises(InvalidArgument, match="scores"):
        Measurement.of(m.Exponential(1.0), m.count())
    for odd in (-1, math.nan, math.inf, int):
        with pytest.raises(InvalidArgument):
            Measurement.of(m.Laplace(1.0), Total(odd))
    with pytest.raises(InvalidArgument, match="curve"):
        Measurement.of(m.Laplace, m.count())


def test_a_measurement_says_what_its_receipt_will():
    found = Measurement.of(m.Laplace(1.0), m.sum(bounds=(0, 5)))
    assert found.fact("sensitivity") == 5
    assert found.fact("bounds") == (0.0, 5.0)
    assert found.fact("unit") == "row"
    assert str(found.fact("neighbors")) == "add-remove"
    assert found.fact("keys") is None
