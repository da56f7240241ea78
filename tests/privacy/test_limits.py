"""Smallest parameters, the central limit, and filters that stop in time."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import special

from hush.errors import InvalidArgument, NoBound
from hush.privacy import (
    GDP,
    RDP,
    ZCDP,
    Approx,
    Curve,
    Pair,
    Profile,
    Pure,
    calibrate,
    clt,
    fits,
    poisson,
    repeat,
)
from privacy import oracles


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "target", [Approx(1, 1e-6), Approx(0.1, 1e-10), Approx(8, 1e-3)]
)
def test_calibrated_gaussian_is_the_smallest(target):
    std = calibrate(lambda s: GDP(mu=1 / s), target=target)
    assert oracles.gaussian_delta(1 / mp.mpf(std), target.epsilon) <= target.delta
    smaller = std * (1 - 1e-6)
    assert oracles.gaussian_delta(1 / mp.mpf(smaller), target.epsilon) > target.delta


def test_calibration_to_other_notions():
    assert calibrate(lambda s: GDP(mu=1 / s), target=GDP(mu=0.5)) == pytest.approx(2.0)
    assert calibrate(lambda s: GDP(mu=1 / s), target=ZCDP(rho=0.125)) == pytest.approx(
        2.0
    )
    assert calibrate(
        lambda s: Pair.laplace(scale=s), target=Pure(epsilon=0.5)
    ) == pytest.approx(2.0)
    wide = calibrate(lambda s: GDP(mu=1 / s), target=Profile(GDP(mu=0.5).delta_at))
    assert wide == pytest.approx(2.0, rel=1e-3)
    with pytest.raises(NoBound, match="meets"):
        calibrate(lambda s: GDP(mu=1 / s), target=Pure(epsilon=1.0), high=1e4)
    with pytest.raises(InvalidArgument):
        calibrate(lambda s: GDP(mu=1 / s), target=1.0)


def test_limit_of_randomized_responses():
    # N13.T5: the exact composition of k responses lies in the Berry-Esseen bracket.
    epsilon, times = 0.05, 400
    limit = clt([Pure(epsilon=epsilon)] * times)
    exact = repeat(Pure(epsilon=epsilon), times=times)
    for alpha in (0.1, 0.3, 0.6):
        low, high = limit.tradeoff_bracket(alpha)
        assert low - 1e-9 <= exact.tradeoff_at(alpha) <= high + 1e-9
        assert limit.tradeoff_estimate(alpha) == pytest.approx(
            exact.tradeoff_at(alpha), abs=0.03
        )
    assert not isinstance(limit, Curve)


def test_limit_sharpens_with_more_parts():
    # N13.T6: ε = 1/√k tends to G_1, uniformly.
    errors = []
    for times in (25, 400, 6400):
        limit = clt([Pure(epsilon=1 / math.sqrt(times))] * times)
        exact = repeat(Pure(epsilon=1 / math.sqrt(times)), times=times)
        grid = np.linspace(0.05, 0.95, 10)
        gauss = special.ndtr(special.ndtri(1 - grid) - 1)
        errors.append(np.abs(np.asarray(exact.tradeoff_at(grid)) - gauss).max())
        assert limit.mu == pytest.approx(1.0, abs=0.05)
    assert errors[0] > errors[1] > errors[2]
    with pytest.raises(NoBound):
        clt([Approx(epsilon=0.1, delta=1e-3)])
    with pytest.raises(NoBound):
        clt([poisson(GDP(mu=1.0), rate=0.1)])


def test_filters_keep_exact_sums():
    budget = Approx(epsilon=1.0, delta=1e-6)
    tenth = Pure(epsilon=0.125)
    assert fits(budget, [tenth] * 7, tenth)
    assert not fits(budget, [tenth] * 8, tenth)
    assert fits(budget, [], Approx(epsilon=0.5, delta=1e-6))
    assert not fits(
        budget, [Approx(epsilon=0.5, delta=1e-6)], Approx(epsilon=0.1, delta=5e-324)
    )
    assert fits(GDP(mu=1.0), [GDP(mu=0.5)] * 3, GDP(mu=0.5))
    assert not fits(GDP(mu=1.0), [GDP(mu=0.5)] * 4, GDP(mu=1e-8))
    assert fits(ZCDP(rho=0.5), [GDP(mu=0.5)] * 3, Pair.gaussian(std=2.5))
    fixed = RDP.table([8.0], [1.0])
    assert fits(fixed, [ZCDP(rho=0.05)], ZCDP(rho=0.05))
    assert not fits(fixed, [ZCDP(rho=0.1)], ZCDP(rho=0.1))
    with pytest.raises(NoBound):
        fits(budget, [], GDP(mu=0.1))
    with pytest.raises(NoBound):
        fits(RDP.table([2.0, 8.0], [1.0, 1.0]), [], ZCDP(rho=0.05))
    with pytest.raises(NoBound):
        fits(ZCDP(rho=1.0), [], Approx(epsilon=0.1, delta=1e-9))
    with pytest.raises(InvalidArgument):
        fits(Pair.laplace(scale=1.0), [], Pure(epsilon=0.1))


def test_filter_holds_against_adaptive_adversaries():
    # C1: depth-3 adversaries choose each ε from {0.1, 0.3} by the bits so far; every
    # joint law stays within what the filter let through.
    menu, budget = (0.1, 0.3), 0.5

    def plans(depth, left):
        if depth == 0:
            return [()]
        found = [()]
        for e in menu:
            if e <= left + 1e-12:
                rest = plans(depth - 1, left - e)
                found += [(e, a, b) for a in rest for b in rest]
        return found

    def joint(plan, truth):
        if not plan:
            return [1.0]
        e, zero, one = plan
        keep = math.exp(e) / (1 + math.exp(e))
        chance = keep if truth == 0 else 1 - keep
        return [chance * v for v in joint(zero, truth)] + [
            (1 - chance) * v for v in joint(one, truth)
        ]

    allowed = Pure(epsilon=budget)
    for plan in plans(3, budget):
        p, q = joint(plan, 0), joint(plan, 1)
        for at in (0.0, 0.2, 0.45, budget):
            assert oracles.hockey(p, q, at) <= allowed.delta_at(at) + 1e-12
