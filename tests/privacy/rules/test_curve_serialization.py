"""Curves written as JSON and read again."""

import json
import math
from fractions import Fraction

import pytest
from scipy import special

from hush.errors import InvalidArgument
from hush.law import DiscreteLaplace
from hush.privacy import (
    GDP,
    RDP,
    ZCDP,
    Approx,
    Curve,
    Pair,
    Profile,
    Pure,
    Tradeoff,
    fixed_size,
    geometric,
    parallel,
    poisson,
    repeat,
    shuffle,
)

WRITTEN = [
    Pure(epsilon=0.5),
    Pure(epsilon=math.inf),
    Approx(epsilon=1.0, delta=1e-6),
    ZCDP(rho=0.1),
    GDP(mu=1.0),
    RDP.table([2.0, 4.0], [0.5, 1.0]),
    Pair.laplace(scale=2.0),
    Pair.gaussian(std=2.0),
    Pair.shift(DiscreteLaplace(Fraction(5, 3)), by=2),
    Pair([Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]),
    poisson(GDP(mu=1.0), rate=0.01),
    fixed_size(GDP(mu=1.0), batch=3, records=10),
    shuffle(Pure(epsilon=1.0), people=50),
    repeat(Pure(epsilon=0.1), times=7),
    parallel([Pure(epsilon=1.0), GDP(mu=0.3)], neighbors="add-remove"),
]


@pytest.mark.parametrize("curve", WRITTEN, ids=repr)
def test_curves_survive_json(curve):
    text = curve.to_json()
    json.loads(text)
    again = Curve.from_json(text)
    assert again == curve
    assert again.delta_at(0.3) == curve.delta_at(0.3)
    assert repr(again) == repr(curve)


def test_functions_are_written_as_sound_tables():
    for curve in (
        RDP(lambda order: 0.1 * order),
        Tradeoff(lambda a: float(special.ndtr(special.ndtri(1 - a) - 1))),
        Profile(GDP(mu=1.0).delta_at),
        geometric(Pure(epsilon=0.5), 2),
    ):
        again = Curve.from_json(curve.to_json())
        for epsilon in (0.0, 0.5, 2.0):
            assert again.delta_at(epsilon) >= curve.delta_at(epsilon) * (1 - 1e-9)
            assert again.delta_at(epsilon) <= curve.delta_at(epsilon) * 1.05 + 1e-6


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"type":"Nothing"}', '{"type":"Pure"}', "3"]
)
def test_other_text_is_refused(text):
    with pytest.raises(InvalidArgument):
        Curve.from_json(text)
