"""What curves and laws print: all of a short one, one answer of a long one."""

from fractions import Fraction
from math import comb

import pytest

from hush.law import DiscreteLaplace, Finite
from hush.privacy import GDP, RDP, Curve, Pair, Profile, Pure, compose, poisson, repeat

SHORT = [
    Pure(epsilon=0.5),
    GDP(mu=1.0),
    Pair.shift(DiscreteLaplace(2), by=1),
    Pair.laplace(scale=2.0),
    repeat(poisson(GDP(mu=1.0), rate=0.01), times=5000),
]


def coins(flips):
    return Finite(tuple(Fraction(comb(flips, k), 2**flips) for k in range(flips + 1)))


@pytest.mark.parametrize("curve", SHORT, ids=repr)
def test_a_short_curve_prints_whole(curve):
    assert str(curve) == repr(curve)


@pytest.mark.parametrize(
    "curve",
    [
        Pair.shift(coins(100), by=1),
        RDP.table(range(2, 60), [0.1 * a for a in range(2, 60)]),
        compose(*(Pair.shift(coins(n), by=1) for n in (20, 30, 40))),
    ],
    ids=["pair", "table", "composed"],
)
def test_a_long_curve_prints_its_epsilon(curve):
    assert len(repr(curve)) > 120
    assert f"epsilon {curve.epsilon_at(1e-6):.6g} at delta 1e-06" in str(curve)
    assert len(str(curve)) < 80
    assert curve._repr_html_().count("Fraction") == 0


def test_long_laws_are_known_apart_by_their_repr():
    """A ledger knows a plan by this text, so it may not be cut."""
    first, second = (
        Finite((Fraction(1, 8) + shift, *[Fraction(1, 8)] * 6, Fraction(1, 8) - shift))
        for shift in (Fraction(0), Fraction(1, 1 << 60))
    )
    assert str(first) == str(second) == "<Finite: 8 probabilities, on 0 to 7>"
    assert repr(first) != repr(second)
    assert eval(repr(first), {"Finite": Finite, "Fraction": Fraction}) == first
    pairs = Pair(first, first), Pair(second, second)
    assert repr(pairs[0]) != repr(pairs[1])


def test_a_profile_says_its_epsilon_and_survives_json():
    curve = Profile(GDP(mu=1.0).delta_at)
    assert repr(curve) == "<Profile: epsilon 4.88655 at delta 1e-06>"
    again = Curve.from_json(curve.to_json())
    assert repr(again).startswith("<Profile: epsilon 4.8")
    assert repr(again).count("Profile") == 1
