"""Laws against sixty digits."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.errors import InvalidArgument
from hush.law import DiscreteGaussian, DiscreteLaplace, Finite, Geometric

PLACES = [0, 1, 2, 5, 17, 60, 400]


def weight(law, k):
    if isinstance(law, DiscreteGaussian):
        s = mpmath.mpf(law.std.numerator) / law.std.denominator
        return mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s**2))
    if isinstance(law, Geometric) and k < 0:
        return mpmath.mpf(0)
    return mpmath.exp(-abs(mpmath.mpf(k)) * law.scale.denominator / law.scale.numerator)


def table(law, reach):
    """All weights on -reach..reach, summed from the small end."""
    weights = {k: weight(law, k) for k in range(-reach, reach + 1)}
    total = mpmath.fsum(weights.values())
    above, running = {}, mpmath.mpf(0)
    for k in range(reach, -reach - 1, -1):
        above[k] = running / total
        running += weights[k]
    upto, running = {}, mpmath.mpf(0)
    for k in range(-reach, reach + 1):
        running += weights[k]
        upto[k] = running / total
    return weights, total, above, upto


LAWS = [
    Geometric(Fraction(1, 3)),
    Geometric(20),
    DiscreteLaplace(Fraction(1, 16)),
    DiscreteLaplace(2),
    DiscreteLaplace(Fraction(50, 3)),
    DiscreteGaussian(Fraction(1, 4)),
    DiscreteGaussian(1),
    DiscreteGaussian(Fraction(19, 2)),
    DiscreteGaussian(31),
    DiscreteGaussian(33),
]


@pytest.mark.thin(3)
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_log_probabilities_to_fourteen_digits(law):
    with mpmath.workdps(60):
        weights, total, above, upto = table(law, 3000)
        for k in [*PLACES, *(-p for p in PLACES)]:
            if weights[k] > 0:
                truth = mpmath.log(weights[k] / total)
                assert abs(law.log_pmf(k) - truth) <= 1e-14 * max(1, abs(truth))
            for got, exact in (
                (law.log_survival(k), above[k]),
                (law.log_cdf(k), upto[k]),
            ):
                if exact <= 0:
                    assert got == -np.inf
                    continue
                truth = mpmath.log(exact)
                # Probabilities above 1/2 have tiny logarithms: absolute accuracy there.
                assert abs(got - truth) <= 1e-14 * max(1, abs(truth))


@pytest.mark.thin(3)
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_moments(law):
    with mpmath.workdps(60):
        weights, total, *_ = table(law, 3000)
        mean = mpmath.fsum(k * w for k, w in weights.items()) / total
        variance = mpmath.fsum((k - mean) ** 2 * w for k, w in weights.items()) / total
        assert abs(law.mean - mean) <= 1e-13 * max(1, abs(mean))
        assert abs(law.variance - variance) <= 1e-13 * max(variance, 1e-30)


@pytest.mark.parametrize("std", [2**20, 2**40])
def test_wide_gaussians_meet_the_normal_law(std):
    # At 2^20 and beyond the midpoint rule makes them equal to 1e-12 relative.
    law = DiscreteGaussian(std)
    for t in (0.5, 1.9, 2.1, 5, 20):
        k = int(t * std)
        normal = mpmath.log(mpmath.ncdf(-(mpmath.mpf(k) + 0.5) / std))
        assert abs(float(law.log_survival(k)) - float(normal)) <= 1e-11 * abs(normal)


@given(st.sampled_from(LAWS), st.floats(1e-12, 1 - 1e-12))
def test_quantiles_invert_the_cdf(law, p):
    k = law.quantile(p)
    slack = 1e-12
    assert law.cdf(k) >= p * (1 - slack)
    assert law.cdf(k - 1) < p * (1 + slack)


def test_both_tails():
    law = DiscreteLaplace(2)
    inside = sum(float(law.pmf(k)) for k in range(-3, 4))
    assert law.tail(3) == pytest.approx(1 - inside, rel=1e-12)


def test_a_finite_table_is_exact():
    law = Finite((Fraction(1, 10), Fraction(7, 10), Fraction(2, 10)), start=-1)
    assert law.support == (-1, 1)
    assert law.pmf([-2, -1, 0, 1, 2]).tolist() == pytest.approx([0, 0.1, 0.7, 0.2, 0])
    assert law.survival([-2, -1, 0, 1]).tolist() == pytest.approx([1, 0.9, 0.2, 0])
    assert law.cdf([-2, -1, 0, 1]).tolist() == pytest.approx([0, 0.1, 0.8, 1])
    assert law.mean == pytest.approx(0.1)
    assert law.variance == pytest.approx(0.29)
    with pytest.raises(InvalidArgument, match="add up to exactly 1"):
        Finite((0.1, 0.2))


@pytest.mark.parametrize("law", [Geometric, DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "1", None, True])
def test_bad_scales_are_refused(law, bad):
    with pytest.raises(InvalidArgument, match="must be a finite number above 0"):
        law(bad)
