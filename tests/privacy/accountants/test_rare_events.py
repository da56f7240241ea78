"""The rare-jump engine against nested quadrature, other engines and itself."""

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

from hush.privacy.accountants import characteristic_function, rare_events, tightest
from hush.privacy.accountants.transforms import rule_at_tilt
from hush.privacy.pld.gaussian_loss import (
    CellLoss,
    SubsampledGaussianLoss,
    outside,
)
from privacy.accountants.oracles import Mixture


def delta_of_two(std, rate, epsilon, digits):
    """∫ p(x) δ₁(ε - L(x)) dx, cut finely around the x that loses epsilon alone."""
    with mp.workdps(digits):
        law, e = Mixture(std, rate, "remove"), mp.mpf(epsilon)
        knee = law.std**2 * mp.log1p(mp.expm1(e) / law.rate) + mp.mpf(1) / 2
        near = [knee + law.std * mp.mpf(k) for k in (-1, -0.3, -0.1, -0.03)]
        near += [knee + law.std * mp.mpf(k) for k in (0, 0.03, 0.1, 0.3, 1)]
        wide = [law.std * k for k in range(-16, 17, 2)]
        wide += [knee + law.std * k for k in (-6, -4, -2, 2, 4, 8, 12)]
        points = sorted({*near, *wide, mp.mpf(1)})
        return mp.quad(lambda x: law.first(x) * law._curve(e - law.loss(x)), points)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("std", "rate", "delta"),
    [
        pytest.param(4.0, 0.01, 1e-30, marks=pytest.mark.slow),
        (0.3, 0.01, 1e-6),
        pytest.param(4.0, 1e-4, 1e-30, marks=pytest.mark.slow),
        pytest.param(1.0, 0.01, 1e-6, marks=pytest.mark.slow),
        pytest.param(0.3, 1e-4, 1e-6, marks=pytest.mark.slow),
    ],
)
def test_two_steps_match_nested_quadrature(std, rate, delta):
    law = SubsampledGaussianLoss(std, rate, "remove")
    lower, upper = tightest.epsilon_bracket([(law, 2)], delta)
    assert upper - lower <= 1e-6 * upper
    digits = 16 - round(math.log10(delta))  # its tolerance is absolute
    # The quadrature has ten digits; the claims are about either side of its zero.
    assert delta_of_two(std, rate, float(upper), digits) <= delta * (1 + 1e-9)
    assert delta_of_two(std, rate, float(lower), digits) >= delta * (1 - 1e-9)


@pytest.mark.parametrize(
    ("std", "rate", "times", "delta"),
    [
        pytest.param(1.1, 0.004, 14062, 1e-5, marks=pytest.mark.slow),
        (0.8, 0.01, 1000, 1e-12),
        pytest.param(2.0, 1e-4, 10**6, 1e-12, marks=pytest.mark.slow),
    ],
)
def test_expansion_agrees_where_the_contour_is_sharp(std, rate, times, delta):
    law = SubsampledGaussianLoss(std, rate, "remove")
    low, high = characteristic_function.epsilon_bracket([(law, times)], delta)
    with np.errstate(all="ignore"):
        lower, upper = rare_events.epsilon_bracket((law, times), delta, 0.0, math.inf)
    assert lower <= high
    assert low <= upper


@pytest.mark.parametrize(
    ("epsilon", "times"),
    [
        (0.02, 2),
        pytest.param(6.0, 30, marks=pytest.mark.slow),
        pytest.param(0.1, 30, marks=pytest.mark.slow),
    ],
)
def test_edges_change_nothing(epsilon, times):
    # Expansions laid for different answers are different sums of the same thing.
    law = SubsampledGaussianLoss(0.6, 1e-3, "remove")
    found = []
    with np.errstate(all="ignore"):
        # The last asks for more than any edge within reach can give.
        for laid, log_value in (
            (epsilon, -12.0),
            (epsilon * 1.3, -14.0),
            (epsilon * 0.7, -650.0),
        ):
            found.append(rare_events.expand(law, times, laid, log_value).delta(epsilon))
    assert max(low for low, _ in found) <= min(high for _, high in found)
    assert found[0][0] > 0


def test_epsilon_falls_as_delta_grows_and_grows_with_steps():
    law = SubsampledGaussianLoss(1.0, 1e-7, "remove")
    answers = [tightest.epsilon_bracket([(law, 30)], d) for d in (1e-30, 1e-100)]
    for large, small in pairwise(answers):
        assert large[1] < small[0]
    assert tightest.epsilon_bracket([(law, 31)], 1e-100)[1] > answers[1][0]


def test_cells_add_up_to_the_law():
    law, w = SubsampledGaussianLoss(0.7, 0.02, "remove"), 0.1
    edges = [-math.inf, 0.8, 1.9, math.inf]
    for tilt in (0.5, 3.0):
        whole = rule_at_tilt(law.rule(tilt, 0.0, -60.0, -60.0), tilt, 0.0)
        cells = [
            rule_at_tilt(
                CellLoss(law, a, b, w).rule(tilt, 0.0, -60.0, -60.0), tilt, 0.0
            )
            for a, b in pairwise(edges)
        ]
        total = sum(math.exp(cell.log_mass) for cell in cells)
        assert total == pytest.approx(math.exp(whole.log_mass), rel=1e-12)


def test_masses_above_an_edge_match_quadrature():
    law, edge, w = SubsampledGaussianLoss(0.7, 0.02, "remove"), 1.9, 0.1
    oracle = Mixture(0.7, 0.02, "remove")
    above = outside(law, edge, w)
    assert above.gain == pytest.approx(above.p - above.q, rel=1e-12)
    with mp.workdps(30):
        points = [mp.mpf(k) / 2 for k in range(-12, 16)]
        for density, mass in ((oracle.mixture, above.p), (oracle.base, above.q)):
            truth = mp.quad(lambda x, f=density: f(x) * mp.ncdf((x - edge) / w), points)
            assert mass == pytest.approx(float(truth), rel=1e-11)
