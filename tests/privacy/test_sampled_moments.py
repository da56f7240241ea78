"""Moments after Poisson sampling cover both directions of pairs known by moments alone.

The binomial bound is a theorem for the remove direction. For add, with r = dP/dQ, the
moment of (1 - q + qr)^(1-α) lies below a mixture of the remove moments of the pair and
of its reverse: a pointwise inequality in r, checked in 40 digits, and tried on pairs
that are not symmetric.
"""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.privacy import RDP, poisson

weights = st.lists(st.floats(1e-4, 1), min_size=2, max_size=4)


def divergence(p, q, order):
    if math.isinf(order):
        return float(np.log(p / q).max())
    scaled = order * np.log(p) + (1 - order) * np.log(q)
    top = scaled.max()
    return float(top + np.log(np.exp(scaled - top).sum())) / (order - 1)


@given(weights, weights, st.floats(0.01, 0.99), st.sampled_from([2, 3, 5, 8, 16]))
def test_both_directions_are_covered(first, second, rate, order):
    size = min(len(first), len(second))
    p, q = (np.array(each[:size]) / sum(each[:size]) for each in (first, second))

    def known(at):  # raised a little, so that rounding never makes it fall
        return max(0.0, divergence(p, q, at), divergence(q, p, at)) + 1e-6 * at

    bound = poisson(RDP(known), rate=rate).renyi_at(float(order))
    for here, there in ((p, q), (q, p)):
        mixed = (1 - rate) * there + rate * here
        for a, b in ((mixed, there), (there, mixed)):
            assert divergence(a, b, order) <= bound * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_the_bound_is_not_idle(rate):
    # Randomized response is symmetric, so the bound is its own divergence at order 2.
    p = np.array([0.75, 0.25])
    q = p[::-1]
    bound = poisson(RDP(lambda a: divergence(p, q, a)), rate=rate).renyi_at(2.0)
    mixed = (1 - rate) * q + rate * p
    assert bound == pytest.approx(divergence(mixed, q, 2), rel=1e-9)


@pytest.mark.parametrize("order", [2, 3, 5, 16, 64])
@pytest.mark.parametrize("rate", ["0.0001", "0.05", "0.5", "0.95"])
def test_the_add_moment_lies_below_a_mixture_of_remove_moments(order, rate):
    with mpmath.workdps(40):
        q = mpmath.mpf(rate)
        # Third derivatives at r = 1 over α(α-1)q², of remove, reversed remove and add:
        # the mixture that matches add there is the only one that can lie above it.
        remove = (order - 2) * q / 6
        reverse = -(mpmath.mpf(1) / 2 + (order - 2) * q / 6)
        add = -(order + 1) * q / 6
        share = (add - reverse) / (remove - reverse)
        assert 0 <= share <= 1
        # E r = 1, so a multiple of r - 1 is free: match the slopes.
        slope = share * order * q + (1 - share) * (1 - order * q) - (1 - order) * q
        for r in [
            *mpmath.linspace(0.01, 3, 60),
            *(mpmath.mpf(10) ** k for k in range(-8, 9)),
        ]:
            above = share * (1 - q + q * r) ** order
            above += (1 - share) * r ** (1 - order) * (q + (1 - q) * r) ** order
            below = (1 - q + q * r) ** (1 - order) + slope * (r - 1)
            assert above - below >= -(mpmath.mpf(10) ** -25) * abs(above)
