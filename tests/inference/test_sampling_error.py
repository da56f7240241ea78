"""A noisy variance in an interval for a mean: coverage by quadrature, rule by rule."""

import math

import numpy as np
import pytest
from scipy import stats

from hush import inference
from hush.inference.sampling_error import Sampled
from hush.mechanisms import Gaussian, Laplace

N = 10_000  # so many people that only noise disturbs their variance


def reach(v, level, mechanism):
    """Return the half-width of the interval for a released variance v."""
    found = inference.mean_interval(
        0.0,
        n=N,
        mechanism=mechanism,
        bounds=(-10, 10),
        variance=v,
        variance_mechanism=mechanism,
        skewness=0.0,
    )
    low, high = found.interval(level)
    return (high - low) / 2


def coverage(s, law, half):
    """Return ∫ P(|N(0, s/N) + noise| <= half-width(v)) dP(v), by the midpoint rule."""
    p = (np.arange(90) + 0.5) / 90
    c = np.array([half(s + x) for x in law.ppf(p)])
    # Sampling in 161 equally likely values, noise exactly.
    z = stats.norm.ppf((np.arange(161) + 0.5) / 161) * math.sqrt(s / N)
    inside = law.cdf(c[:, None] - z) - law.cdf(-c[:, None] - z)
    return float(inside.mean())


@pytest.mark.parametrize(
    ("kind", "epsilon", "level", "above"),
    [
        ("laplace", 0.1, 0.95, 0.003),
        ("laplace", 1.0, 0.95, 0.008),
        ("laplace", 1.0, 0.9, 0.015),
        ("laplace", 5.0, 0.95, 0.02),
        ("gauss", 0.1, 0.95, 0.003),
        ("gauss", 1.0, 0.95, 0.015),
        ("gauss", 5.0, 0.95, 0.035),
    ],
)
def test_coverage_is_nominal_at_every_true_variance(kind, epsilon, level, above):
    # Half of ε each: noise of scale 2/(nε) on the mean and on the variance.
    scale = 2 / (N * epsilon)
    if kind == "laplace":
        mechanism, law = Laplace(scale=scale), stats.laplace(scale=scale)
    else:
        mechanism, law = Gaussian(std=scale), stats.norm(scale=scale)
    found = {}
    for ratio in (1e-9, 0.3, 0.7, 1.2, 2.0, 4.0, 10.0, 100.0):
        s = ratio * law.std()
        found[ratio] = coverage(s, law, lambda v: reach(v, level, mechanism))
    # Equally likely values err by a few parts in ten thousand.
    assert min(found.values()) >= level - 2e-3, found
    assert max(found.values()) <= level + above, found


def test_believing_every_variance_would_be_noticed():
    # The twin puts in what was released, and covers 0.93 near one std of its noise.
    scale = 2 / (N * 5.0)
    law, mechanism = stats.laplace(scale=scale), Laplace(scale=scale)

    def plain(v):
        return inference.mean_interval(
            0.0,
            n=N,
            mechanism=mechanism,
            bounds=(-10, 10),
            variance=max(v, 0.0),
            skewness=0.0,
        ).high

    found = coverage(1.3 * law.std(), law, plain)
    assert found < 0.94


def test_the_rule_rises_and_never_goes_below_the_noise():
    rule = [
        Sampled(v, 99, 10.0, doubt=0.1, mean=0.2).used(0.95)
        for v in np.linspace(-1, 3, 400)
    ]
    assert (np.diff(rule) >= -1e-12).all()
    assert rule[0] == 0
    assert rule[-1] == pytest.approx(3 * stats.t.ppf(0.975, 99) ** 2 / 3.8415, rel=0.01)


def test_a_known_variance_gives_student():
    found = Sampled(2.0, 7, 10.0, doubt=0.0, mean=0.0).at(0.95)
    assert found.std * 1.959964 == pytest.approx(
        math.sqrt(2.0) * stats.t.ppf(0.975, 7), rel=1e-6
    )


def test_two_samples_share_one_rule():
    one = Sampled(2.0, 9, 10.0, doubt=0.3, mean=1.0)
    both = one + one
    assert both.variance == 4.0
    assert both.freedom == pytest.approx(18.0)
    assert both.doubt == pytest.approx(0.3 * math.sqrt(2))
    # One correction for the sum, not two.
    assert both.used(0.95) < 2 * one.used(0.95)
