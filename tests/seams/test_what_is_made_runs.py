"""Whatever can be made and priced can be drawn: the rest is refused when it is made."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hush import mechanisms as m
from hush.errors import HushError, InvalidArgument
from hush.noise import Seeded
from hush.privacy import Pure

ODD = [
    5e-324,
    1e-310,
    2.0**-1000,
    1e-300,
    1e-20,
    1e-3,
    1.0,
    2.0**44,
    2.0**49 + 1,
    2.0**50,
    2.0**50 + 1,
    2.0**51,
    1e20,
    1e100,
    1e300,
    1.7e308,
    Fraction(1, 10**300),
    Fraction(10**300, 7),
]

MADE = {
    "Laplace": (lambda x: m.Laplace(x), 3.5),
    "Laplace, whole": (lambda x: m.Laplace(x, step=1), 3),
    "Gaussian": (lambda x: m.Gaussian(x), 3.5),
    "Gaussian, whole": (lambda x: m.Gaussian(x, step=1), 3),
    "count, Laplace": (lambda x: m.count() >> m.Laplace(x), [1, 2]),
    "count, Gaussian": (lambda x: m.count() >> m.Gaussian(x), [1, 2]),
    "mean, Laplace": (lambda x: m.mean((0, 1)) >> m.Laplace(x), [1, 2]),
    "mean, Gaussian": (lambda x: m.mean((0, 1)) >> m.Gaussian(x), [1, 2]),
    "Geometric": (lambda x: m.Geometric(x), 3),
    "DiscreteGaussian": (lambda x: m.DiscreteGaussian(x), 3),
    "Staircase": (lambda x: m.Staircase(x), 3),
    "Staircase, wide": (lambda x: m.Staircase(1.0, width=x), 3),
    "Exponential": (lambda x: m.Exponential(x), [1, 2]),
    "Exponential, floats": (lambda x: m.Exponential(x), [1.5, 2.5]),
    "PermuteAndFlip": (lambda x: m.PermuteAndFlip(x), [1, 2]),
    "NoisyMax": (lambda x: m.NoisyMax(x, kind="laplace"), [1, 2]),
    "NoisyMax, floats": (lambda x: m.NoisyMax(x, kind="laplace"), [1.5, 2.5]),
    "TopK": (lambda x: m.TopK(count=1, scale=x), [1, 2]),
    "KNorm, 1": (lambda x: m.KNorm(x, dimension=2, norm=1), [1, 2]),
    "KNorm, 2": (lambda x: m.KNorm(x, dimension=2), [1, 2]),
    "KNorm, inf": (lambda x: m.KNorm(x, dimension=2, norm=math.inf), [1, 2]),
    "Quantile": (lambda x: m.Quantile(0.5, (0, 1), x), [0.1, 0.2]),
    "Quantiles": (lambda x: m.Quantile((0.2, 0.5), (0, 1), x), [0.1, 0.2]),
    "CellQuantile": (lambda x: m.CellQuantile(0.5, 8, x), [[1] * 8]),
    "CellQuantiles": (lambda x: m.CellQuantile((0.2, 0.5), 8, x), [[1] * 8]),
    "CellInterval": (lambda x: m.CellInterval(0.5, 8, x), [[1] * 8]),
    "Histogram": (lambda x: m.Histogram(x, edges=(0, 1)), [0.5]),
    "TreeSum": (lambda x: m.TreeSum(8, x), [1, 2]),
    "SparseVector": (lambda x: m.SparseVector(5, x), [1, 2]),
    "SparseVector, many": (lambda x: m.SparseVector(5, x, hits=1000), [1, 2]),
    "WinsorizedMean": (lambda x: m.WinsorizedMean((0, 1), x), [0.5] * 4),
    "KeySelection": (lambda x: m.KeySelection(x, threshold=10**9), [1, 2]),
    "Canonical": (lambda x: m.Canonical(Pure(1.0), width=x), 3),
}


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_and_priced_is_drawn(name):
    make, value = MADE[name]
    drawn = 0
    for noise in ODD:
        try:
            mechanism = make(noise)
            curve = mechanism.curve(1)
            price = float(curve.epsilon_at(1e-9))
        except HushError:  # refused before it is paid
            continue
        assert price >= 0
        answer = mechanism.run(value, source=Seeded(3))
        drawn += 1
        if isinstance(answer, (int, float)):
            assert np.isfinite(float(answer))
    assert drawn >= 3


def test_whole_noise_that_no_64_bits_hold_is_refused_when_it_is_made():
    wide = 2.0**50 + 1
    for make in (m.Geometric, m.DiscreteGaussian):
        with pytest.raises(InvalidArgument, match="at most 2\\^50"):
            make(wide)
    with pytest.raises(InvalidArgument, match="at most 2\\^50"):
        m.TreeSum(horizon=4, scale=wide)
    with pytest.raises(InvalidArgument, match="at most 2\\^50"):
        m.Histogram(scale=wide, edges=(0, 1))


def test_wide_noise_has_a_lattice_that_it_can_be_drawn_on():
    """|noise| > 60 scales has a chance of e^-60."""
    for kind in (m.Laplace, m.Gaussian):
        for scale in (2.0**51, 1e20, 1e100):
            answer = kind(scale).run(0.0)
            assert abs(answer) < 60 * scale
            charged = kind(scale).curve(scale).epsilon_at(1e-9)
            assert charged >= kind(1.0).curve(1).epsilon_at(1e-9) * (1 - 1e-6)


def test_an_epsilon_below_what_a_lattice_costs_is_refused():
    with pytest.raises(InvalidArgument, match="epsilon"):
        m.Laplace.for_epsilon(1e-40, 1)
    assert m.Laplace.for_epsilon(1e-14, 1).run(1) is not None
