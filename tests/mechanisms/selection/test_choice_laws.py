"""The law of a choice: quadrature and enumeration with mpmath, and what is drawn."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goodness import FALSE_ALARM, p_value
from hush import mechanisms as m
from hush.mechanisms.selection import choice_probabilities
from hush.noise import Seeded

CLOSE = 1e-11
SCORES = [
    [3],
    [0, 0],
    [5, 5, 5, 1],
    [100, 90, 90, 90],
    [0.25, -7.5, 3.0, 2.75, 3.0],
    [40, 0, 39, 38, -60],
    [Fraction(1, 3), Fraction(2, 3), 0],
]
KINDS = [
    m.Exponential(2.0),
    m.PermuteAndFlip(2.0),
    m.NoisyMax(2.0, kind="laplace"),
    m.NoisyMax(2.0, kind="gumbel"),
    m.NoisyMax(2.0, kind="exponential"),
]


@pytest.fixture(autouse=True)
def thirty_digits():
    with mp.workdps(30):
        yield


def softmax(u, scale):
    weights = [mp.exp(mp.mpf(x) / scale) for x in u]
    return [w / mp.fsum(weights) for w in weights]


def kept(u, scale):
    """Every set of kept candidates, one of them at random."""
    keep = [mp.exp((mp.mpf(x) - max(map(mp.mpf, u))) / scale) for x in u]
    law = [mp.mpf(0)] * len(u)
    for some in itertools.product((0, 1), repeat=len(u)):
        chance = mp.fprod(k if s else 1 - k for k, s in zip(keep, some, strict=True))
        for i, s in enumerate(some):
            law[i] += chance / sum(some) if s else 0
    return law


def laplace(u, scale):
    """Quadrature of density times distribution functions, kink by kink."""
    a = [mp.mpf(x) / scale for x in u]

    def below(x):
        return mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2

    ends = sorted({*a, min(a) - 80, *(max(a) + d for d in (0, 1, 3, 10, 30, 90))})
    law = []
    for i, own in enumerate(a):
        rest = a[:i] + a[i + 1 :]

        def term(x, own=own, rest=rest):
            return mp.exp(-abs(x - own)) / 2 * mp.fprod(below(x - r) for r in rest)

        law.append(mp.quad(term, ends))
    return law


def oracle(mechanism):
    if isinstance(mechanism, m.Exponential):
        return softmax
    if isinstance(mechanism, m.PermuteAndFlip):
        return kept
    return {"laplace": laplace, "gumbel": softmax, "exponential": kept}[mechanism.kind]


def near(found, wanted):
    return all(abs(f - w) <= CLOSE * w for f, w in zip(found, wanted, strict=True))


@pytest.mark.parametrize("mechanism", KINDS, ids=repr)
@pytest.mark.parametrize("u", SCORES, ids=repr)
def test_laws_are_those_of_an_independent_evaluation(mechanism, u):
    with mp.workdps(30):
        given = map(Fraction, u)
        if oracle(mechanism) is laplace:  # thirds are rounded to its lattice
            given = (
                Fraction(math.floor(x * 2**39 + Fraction(1, 2)), 2**39) for x in given
            )
        exact = [mp.mpf(x.numerator) / x.denominator for x in given]
        wanted = oracle(mechanism)(exact, mp.mpf(2))
    found = mechanism.law(u)
    assert near(found, wanted)
    assert math.fsum(found) == pytest.approx(1.0, abs=CLOSE)
    # Sabotaged: half the noise is another law, unless all scores are alike.
    if len({*u}) > 1:
        assert not near(type(mechanism)(1.0, *_kind(mechanism)).law(u), wanted)


def _kind(mechanism):
    return (mechanism.kind,) if isinstance(mechanism, m.NoisyMax) else ()


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", KINDS, ids=repr)
def test_draws_follow_the_law_that_is_told(mechanism):
    # Each check fails wrongly with chance 1e-9; the twin is the law of another scale.
    u, runs, source = [4, 0, 3, 3, 1.5], 6000, Seeded(17)
    drawn = [mechanism.run(u, source=source) for _ in range(runs)]
    observed = np.bincount(drawn, minlength=len(u))
    assert p_value(observed, mechanism.law(u) * runs) > FALSE_ALARM
    twin = type(mechanism)(1.25, *_kind(mechanism))
    assert p_value(observed, twin.law(u) * runs) < FALSE_ALARM


@pytest.mark.parametrize("mechanism", KINDS, ids=repr)
@given(u=st.lists(st.integers(-60, 60), min_size=1, max_size=12), by=st.integers(0, 9))
def test_laws_sum_to_one_and_know_only_differences(mechanism, u, by):
    law = mechanism.law(u)
    assert math.fsum(law) == pytest.approx(1.0, abs=CLOSE)
    assert mechanism.law([x + 10**6 for x in u]) == pytest.approx(law, rel=CLOSE)
    order = np.random.default_rng(by).permutation(len(u))
    shuffled = mechanism.law([u[i] for i in order])
    assert shuffled == pytest.approx(law[order], rel=CLOSE)
    # A larger score is never less likely, and equal ones are alike.
    assert np.all(np.diff(law[np.argsort(u, kind="stable")]) >= -CLOSE)


@pytest.mark.parametrize("mechanism", KINDS, ids=repr)
@given(
    u=st.lists(st.integers(-20, 20), min_size=2, max_size=8),
    moves=st.lists(st.sampled_from([-1, 0, 1]), min_size=8, max_size=8),
)
def test_laws_of_neighbors_are_within_the_curve(mechanism, u, moves):
    v = [a + b for a, b in zip(u, moves, strict=False)]
    p, q = mechanism.law(u), mechanism.law(v)
    curve = mechanism.curve(1)
    for epsilon in (0.0, 0.25, 0.5, 1.0):
        apart = np.maximum(p - math.exp(epsilon) * q, 0).sum()
        assert apart <= curve.delta_at(epsilon) + 1e-12


def test_example_5_2_the_best_of_a_thousand_is_rarely_found():
    # f_1 = 100, the others 90, noise of scale 2/ε at ε = 1.
    for kind in ("laplace", "gumbel", "exponential"):
        mechanism = m.NoisyMax.for_epsilon(1, kind=kind)
        small, large = (mechanism.law([100] + [90] * k)[0] for k in (9, 999))
        assert small > 0.9
        assert large < 0.5
        gaps = 10 * (1 - large)
        assert mechanism.error.among(1000).tail(10.0) == pytest.approx(
            gaps / 10, rel=2e-5
        )
    # By quadrature for a thousand, independent of how the package does it.
    with mp.workdps(30):
        wanted = mp.quad(
            lambda x: (
                mp.exp(-abs(x - 5))
                / 2
                * (mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2) ** 999
            ),
            [-60, 0, 3, 5, 7, 9, 12, 20, 60, 100],
        )
    found = m.NoisyMax(2.0, kind="laplace").law([100] + [90] * 999)[0]
    assert found == pytest.approx(float(wanted), rel=CLOSE)


def test_example_7_2_the_rarer_of_two_conditions():
    # P(B) = 1/(1 + e^(ε(A - B)/2)) <= 2e^(ε(B - A)/2), and within a factor 4 of it.
    for gap in (1, 5, 40, 900):
        chance = m.Exponential.for_epsilon(0.5).law([gap + 7, 7])[1]
        assert chance == pytest.approx(
            float(1 / (1 + mp.exp(mp.mpf(gap) / 4))), rel=CLOSE
        )
        assert chance <= 2 * math.exp(-gap / 4) <= 4 * chance


def test_two_laplace_candidates_have_a_closed_form_far_out():
    for t in (1e-9, 0.1, 3.0, 60.0, 600.0):
        found = choice_probabilities.laplace_maximum(np.array([0.0, t]))[1]
        exact = (2 + mp.mpf(t)) * mp.exp(-mp.mpf(t)) / 4
        assert found == pytest.approx(float(exact), rel=CLOSE)


@pytest.mark.parametrize("count", [30, 400])
def test_many_scores_are_summed_as_carefully(count):
    gap = np.sort(np.random.default_rng(5).exponential(6.0, count))
    gap[0] = 0.0
    found = choice_probabilities.laplace_maximum(gap)
    assert math.fsum(found) == pytest.approx(1.0, abs=CLOSE)
    # One place anew: a trapezoid rule of 10^5 points on the same integral.
    x = np.linspace(-40, 60, 100_001)
    log = np.zeros_like(x)
    for each in gap[1:]:
        y = x + each
        half = np.exp(-np.abs(y)) / 2
        log += np.where(y < 0, np.log(half), np.log1p(-half))
    wanted = np.trapezoid(np.exp(log - np.abs(x)) / 2, x)
    assert found[0] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("mechanism", KINDS, ids=repr)
def test_what_is_no_vector_of_scores_is_refused(mechanism):
    for bad in ([], [1.0, math.nan], [[1, 2]], "ab"):
        with pytest.raises(ValueError, match="value"):
            mechanism.law(bad)
