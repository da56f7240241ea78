"""The samplers that mechanisms added to hush.noise: exact laws, exact ties."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import exact
import mpmath
import numpy as np
import pytest

from goodness import FALSE_ALARM, fits, p_value
from hush.errors import InvalidArgument
from hush.law import DiscreteLaplace, Finite
from hush.mechanisms.error import Rounded, Total
from hush.noise import Body, Seeded, StaircaseLaw, piecewise, radial, staircase, table
from hush.noise.ball import _mass, _root_two_pi, cube
from hush.noise.categorical import SoftmaxSampler, _Pieces
from hush.noise.inversion import Word

DIAMOND = Body(lambda x, radius: np.abs(x).sum() <= radius, box=1, ones=2)
NORMS = [
    (None, lambda x: math.hypot(*x)),
    (Body(cube, box=1, ones=1), lambda x: max(map(abs, x))),
    (DIAMOND, lambda x: sum(map(abs, x))),
]


@pytest.mark.thin(3)
@pytest.mark.statistical
@pytest.mark.parametrize(("body", "norm"), NORMS, ids=["2", "inf", "diamond"])
def test_radial_noise_has_its_exact_law(body, norm):
    scale, draws, source = 1.5, 6000, Seeded(81)
    found = Counter(tuple(radial(body, 2, scale, source=source)) for _ in range(draws))
    points = list(itertools.product(range(-25, 26), repeat=2))
    weight = np.array([math.exp(-math.ceil(norm(p) - 1e-9) / scale) for p in points])
    order = np.argsort(-weight, kind="stable")
    observed = np.array([found[points[i]] for i in order])
    assert p_value(observed, weight[order] / weight.sum() * draws) > FALSE_ALARM
    twin = weight ** (1.5 / 1.3)  # 15 % less noise
    assert p_value(observed, twin[order] / twin.sum() * draws) < FALSE_ALARM


def test_constants_of_the_sphere_are_enclosed():
    with mpmath.workdps(80):
        low, high = _root_two_pi(50)
        truth = mpmath.sqrt(2 * mpmath.pi)
        assert mpmath.mpf(low.numerator) / low.denominator <= truth
        assert mpmath.mpf(high.numerator) / high.denominator >= truth
        for std in (1, 3, 15, 16, 40):
            low, high = _mass(std, 40)
            total = mpmath.nsum(
                lambda k, std=std: mpmath.exp(-(k**2) / (2 * mpmath.mpf(std) ** 2)),
                [-40 * std, 40 * std],
            )
            assert mpmath.mpf(low.numerator) / low.denominator <= total * (
                1 + mpmath.mpf(10) ** -38
            )
            assert mpmath.mpf(high.numerator) / high.denominator >= total * (
                1 - mpmath.mpf(10) ** -38
            )
            assert high - low < Fraction(1, 10**30)


@pytest.mark.statistical
def test_pieces_are_exact_even_when_every_draw_is_a_tie():
    # Words of 6 bits make almost every comparison go to arbitrary precision.
    scores, cells = np.array([0, 2, 1, 5]), np.array([4, 1, 2, 0])
    pieces = _Pieces(scores, cells, Fraction(2))
    sampler = SoftmaxSampler(pieces, Word(bits=6, bucket=3))
    draws = sampler.draw(3000, Seeded(82))
    weight = cells * np.exp(scores / 2)
    observed = np.bincount(draws, minlength=4)
    assert observed[3] == 0
    assert p_value(observed, weight / weight.sum() * 3000) > FALSE_ALARM
    twin = (cells > 0) * np.exp(scores / 2)  # widths forgotten
    assert p_value(observed, twin / twin.sum() * 3000) < FALSE_ALARM
    with pytest.raises(InvalidArgument):
        piecewise(scores, np.zeros(4, dtype=np.int64))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("epsilon", "width", "inner"), [(1, 4, 2), (3, 7, 1), (0.2, 1, 1)]
)
def test_staircase_noise_has_its_exact_law(epsilon, width, inner):
    law = StaircaseLaw(Fraction(epsilon), width, inner)
    textbook = exact.staircase(epsilon, width, inner, levels=math.ceil(60 / epsilon))
    reach = textbook.size // 2
    k = np.arange(-reach, reach + 1)
    assert law.pmf(k) == pytest.approx(textbook, rel=1e-9, abs=1e-15)
    assert law.cdf(k) == pytest.approx(np.cumsum(textbook), rel=1e-9, abs=1e-12)
    assert law.variance == pytest.approx((k**2 * textbook).sum(), rel=1e-9)
    draws = staircase(law, 60_000, source=Seeded(83))
    assert fits(law, draws) > FALSE_ALARM
    assert fits(law, np.where(draws > 0, draws + 1, draws)) < FALSE_ALARM


@pytest.mark.statistical
def test_tables_are_drawn_exactly():
    law = Finite((Fraction(1, 8), Fraction(5, 8), Fraction(1, 4)), start=-1)
    draws = table(law, 50_000, source=Seeded(84))
    observed = np.bincount(draws + 1, minlength=3)
    assert p_value(observed, np.array([1, 5, 2]) / 8 * 50_000) > FALSE_ALARM
    assert p_value(observed[::-1], np.array([1, 5, 2]) / 8 * 50_000) < FALSE_ALARM
    with pytest.raises(InvalidArgument):
        table(Finite((Fraction(1, 3), Fraction(2, 3))))


def test_sums_and_roundings_of_laws():
    one = exact.laplace(2.0, 200)
    three = np.convolve(np.convolve(one, one), one)
    total = Total(DiscreteLaplace(2), 3)
    center = three.size // 2
    for k in (0, 3, 20):
        assert float(total.survival(k)) == pytest.approx(
            three[center + k + 1 :].sum(), abs=1e-12
        )
        assert float(total.pmf(k)) == pytest.approx(three[center + k], abs=1e-12)
    fine = DiscreteLaplace(64)
    rounded = Rounded(fine, bits=5)
    k = np.arange(-200, 201)
    blocks = [float(fine.pmf(np.arange(32 * i - 16, 32 * i + 16)).sum()) for i in k]
    assert rounded.pmf(k) == pytest.approx(blocks, rel=1e-9)
    assert float(rounded.cdf(3) + rounded.survival(3)) == pytest.approx(1)
