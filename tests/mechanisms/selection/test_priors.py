"""Priors: the law that they give, the guarantee that they leave alone, their text."""

import json
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goodness import FALSE_ALARM, p_value
from hush import mechanisms as m
from hush.errors import InvalidArgument
from hush.mechanisms.mechanism import Mechanism
from hush.noise import Seeded
from hush.noise.categorical import SoftmaxSampler, _Pieces
from hush.noise.inversion import Word

RUNS = 6000
BOUNDS = (0.0, 8.0)
STEPS = m.StepDensity(edges=(-1, 2, 2.5, 6, 9), heights=(1, 4, 0, Fraction(1, 2)))


def chances(u, weights, scale):
    terms = [
        mp.mpf(w) * mp.exp(mp.mpf(x) / scale) for x, w in zip(u, weights, strict=True)
    ]
    return np.array([float(t / mp.fsum(terms)) for t in terms])


# -- Candidates ------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize(
    "prior", [(1, 5, 0, 2), (0.1, 0.2, 0.3, 0.4), (1, 2**60, 1, Fraction(1, 3))]
)
def test_candidates_are_drawn_by_prior_and_utility(prior):
    # Fails wrongly with chance 1e-9; twins: without the prior, and the prior squared.
    u, source = [3.0, 1.0, 50.0, 0.5], Seeded(41)
    mechanism = m.Exponential(2.0, prior=prior)
    if 0 not in prior:
        u[2] = 2.0
    law = chances(u, [float(p) for p in prior], 2.0)
    assert mechanism.law(u) == pytest.approx(law, rel=1e-11)
    drawn = [mechanism.run(u, source=source) for _ in range(RUNS)]
    observed = np.bincount(drawn, minlength=4)
    assert p_value(observed, law * RUNS) > FALSE_ALARM
    alike = m.Exponential(2.0).law([3.0, 1.0, 2.0, 0.5])
    assert p_value(observed, alike * RUNS) < FALSE_ALARM
    if max(prior) < 2**50:
        squared = m.Exponential(2.0, prior=tuple(p * p for p in prior))
        assert p_value(observed, squared.law(u) * RUNS) < FALSE_ALARM


@given(
    u=st.lists(st.integers(-9, 9), min_size=4, max_size=4),
    moves=st.lists(st.sampled_from([-1, 0, 1]), min_size=4, max_size=4),
    prior=st.lists(st.integers(0, 20), min_size=4, max_size=4).filter(any),
)
def test_no_prior_changes_the_guarantee(u, moves, prior):
    mechanism = m.Exponential(1.5, prior=tuple(prior))
    assert mechanism.curve(1) == m.Exponential(1.5).curve(1)
    v = [a + b for a, b in zip(u, moves, strict=True)]
    p, q = mechanism.law(u), mechanism.law(v)
    for epsilon in (0.0, 0.3, 0.9, 4 / 3):
        apart = np.maximum(p - math.exp(epsilon) * q, 0).sum()
        assert apart <= mechanism.curve(1).delta_at(epsilon) + 1e-12


def test_the_guarantee_is_still_attained_with_a_prior():
    # The total variation of the worst neighbors is that of the curve.
    mechanism = m.Exponential(2.0, prior=(1, 10**6))
    best = max(
        abs(mechanism.law([x, 0])[0] - mechanism.law([x - 1, 1])[0])
        for x in np.linspace(26, 31, 101)
    )
    assert best == pytest.approx(mechanism.curve(1).delta_at(0.0), rel=1e-3)


def test_the_gap_is_measured_from_the_lightest():
    # The best has weight 1, others 9 together: 9e^(-t/s)/(1 + 9e^(-t/s)).
    gap = m.Exponential(2.0, prior=(1, 4, 5, 0)).error
    for t in (0.5, 3.0):
        wanted = chances([t, 0, 0], [1, 4, 5], 2.0)[1:].sum()
        assert gap.tail(t) == pytest.approx(wanted, rel=1e-12)
    assert m.Exponential(2.0, prior=(0, 1)).error.tail(1.0) == 0.0


@pytest.mark.statistical
def test_ties_are_decided_exactly_with_large_weights():
    # Words of 8 bits make every second draw a tie; fails wrongly with chance 1e-9.
    weights = np.array([1, 2**70 + 1, 2**69, 0], dtype=object)
    u = np.array([80.0, 0.0, 1.0, 500.0])
    sampler = SoftmaxSampler(_Pieces(u, weights, Fraction(2)), Word(bits=8, bucket=4))
    observed = np.bincount(sampler.draw(2000, Seeded(47)), minlength=4)
    law = chances(u, weights.tolist(), 2.0)
    assert p_value(observed, law * 2000) > FALSE_ALARM
    assert p_value(observed[[1, 2, 0, 3]], law * 2000) < FALSE_ALARM


# -- An interval -----------------------------------------------------------------------


def cells_of(draws):
    return np.histogram(draws, bins=[0, 1, 2, 2.5, 4, 6, 7, 8.001])[0]


def quantile_law(data, at, scale, heights):
    """Chances of the bins, all of which end at records or at edges of the prior."""
    edges = [0, 1, 2, 2.5, 4, 6, 7, 8]
    weights = []
    for left, right, height in zip(edges, edges[1:], heights, strict=False):
        rank = sum(z <= left for z in data)
        weights.append((right - left) * height * math.exp(-abs(at * 3 - rank) / scale))
    return np.array(weights) / sum(weights)


@pytest.mark.statistical
@pytest.mark.parametrize("at", [0.5, 0.25])
def test_quantiles_are_drawn_by_prior_and_rank(at):
    # Fails wrongly with chance 1e-9; the twin has no prior.
    data, source = [1.0, 4.0, 7.0], Seeded(43)
    mechanism = m.Quantile(at, BOUNDS, 0.8, prior=STEPS)
    drawn = np.array([mechanism.run(data, source=source) for _ in range(RUNS)])
    law = quantile_law(data, at, 0.8, [1, 1, 4, 0, 0, 0.5, 0.5])
    assert p_value(cells_of(drawn), law * RUNS) > FALSE_ALARM
    flat = quantile_law(data, at, 0.8, [1] * 7)
    assert p_value(cells_of(drawn), flat * RUNS) < FALSE_ALARM
    assert not np.any((drawn >= 2.5) & (drawn < 6))  # where the prior is 0
    assert len(set(drawn)) > RUNS * 0.99  # spread inside of the pieces


@pytest.mark.statistical
def test_a_flat_prior_is_none():
    # Two samples of the same law in the same bins, against its known chances.
    data, flat = [1.0, 4.0, 7.0], m.StepDensity((0, 3, 8), (2, 2))
    law = quantile_law(data, 0.5, 0.8, [1] * 7)
    for prior in (None, flat):
        mechanism, source = m.Quantile(0.5, BOUNDS, 0.8, prior=prior), Seeded(44)
        drawn = [mechanism.run(data, source=source) for _ in range(RUNS)]
        assert p_value(cells_of(drawn), law * RUNS) > FALSE_ALARM


@pytest.mark.statistical
def test_pieces_are_drawn_by_prior_and_utility():
    source, edges, u = Seeded(45), [0.0, 1.0, 4.0, 8.0, 8.0], [0.0, 2.0, -1.0, 99.0]
    mechanism = m.Exponential(2.0, prior=STEPS)
    drawn = [mechanism.run_pieces(u, edges=edges, source=source) for _ in range(RUNS)]
    parts = [(1, 1, 0), (1, 1, 2), (0.5, 4, 2), (1.5, 0, 2), (2, 0, -1)]
    parts += [(1, 0.5, -1), (1, 0.5, -1)]
    weights = np.array([w * h * math.exp(x / 2) for w, h, x in parts])
    law = weights / weights.sum()
    assert p_value(cells_of(drawn), law * RUNS) > FALSE_ALARM
    assert p_value(cells_of(drawn)[::-1], law * RUNS) < FALSE_ALARM


def test_several_quantiles_with_a_prior_are_in_order_and_inside():
    mechanism = m.Quantile((0.25, 0.5, 0.75), BOUNDS, 1.0, prior=STEPS)
    source, rng = Seeded(46), np.random.default_rng(3)
    for n in (0, 1, 40):
        found = mechanism.run(rng.uniform(-1, 9, n), source=source)
        assert np.all(np.diff(found) >= 0)
        assert not np.any((found >= 2.5) & (found < 6))
        assert np.all((found >= 0) & (found <= 8))


def test_a_prior_where_records_are_helps_and_costs_nothing():
    prior = m.StepDensity((0, 90, 110, 10**6), (1e-9, 1, 1e-9))
    wide = {"at": 0.5, "bounds": (0, 10**6), "scale": 8.0}
    data = np.linspace(95, 105, 60)
    informed, plain = m.Quantile(**wide, prior=prior), m.Quantile(**wide)
    assert informed.curve(1) == plain.curve(1)
    near = [
        sum(abs(each.run(data, source=Seeded(i)) - 100) < 10 for i in range(200))
        for each in (informed, plain)
    ]
    assert near[0] > 190
    assert near[1] < 100


@pytest.mark.parametrize("replace", [False, True])
@given(
    data=st.lists(st.integers(0, 8), max_size=5),
    x=st.integers(0, 8),
    y=st.integers(0, 8),
    heights=st.lists(st.integers(0, 9), min_size=8, max_size=8).filter(any),
)
def test_no_base_density_changes_the_guarantee(replace, data, x, y, heights):
    at, scale = 0.25, 1.5
    one = [*data, x] if replace else data
    two = [*data, y]

    def law(records):
        ranks = [sum(z <= cell for z in records) for cell in range(8)]
        errors = [abs(at * len(records) - r) / scale for r in ranks]
        weights = [h * math.exp(-e) for h, e in zip(heights, errors, strict=True)]
        return np.array(weights) / sum(weights)

    neighbors = "replace-one" if replace else "add-remove"
    prior = m.StepDensity(tuple(range(9)), tuple(heights))
    curve = m.Quantile(at, BOUNDS, scale, neighbors, prior=prior).curve(1)
    for p, q in ((law(one), law(two)), (law(two), law(one))):
        for epsilon in (0.0, 0.5, 1.0):
            apart = np.maximum(p - math.exp(epsilon) * q, 0).sum()
            assert apart <= curve.delta_at(epsilon) + 1e-12


# -- Fields ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism",
    [
        m.Exponential(2.0, prior=[1, 0.5, Fraction(1, 3)]),
        m.Exponential(2.0, prior=STEPS),
        m.Quantile(0.5, BOUNDS, 1.0, prior=STEPS),
    ],
    ids=repr,
)
def test_a_prior_is_stored_and_read(mechanism):
    again = Mechanism.from_json(mechanism.to_json())
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert "prior" in repr(again)


def test_without_a_prior_texts_are_as_they_were():
    for made, fields in (
        (m.Exponential(2.0), {"scale", "monotone"}),
        (m.Quantile(0.5, BOUNDS, 1.0), {"at", "bounds", "scale", "neighbors"}),
    ):
        stored = json.loads(made.to_json())
        assert set(stored) == fields | {"mechanism"}
        assert Mechanism.from_json(made.to_json()) == made
        assert "prior" not in repr(made)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: m.Exponential(1.0, prior=(0, 0)), "above 0"),
        (lambda: m.Exponential(1.0, prior=(-1, 2)), "prior"),
        (lambda: m.Exponential(1.0, prior=(1, math.nan)), "prior"),
        (lambda: m.Exponential(1.0, prior=3), "candidate"),
        (lambda: m.Exponential(1.0, prior=(1, 2.0**-101)), "2\\^100"),
        (lambda: m.Exponential(1.0, prior=(1, 2)).run([1, 2, 3]), "candidates"),
        (lambda: m.Exponential(1.0, prior=STEPS).run([1]), "run_pieces"),
        (
            lambda: m.Exponential(1.0, prior=(1,)).run_pieces([0], edges=[0, 1]),
            "StepDensity",
        ),
        (lambda: m.Quantile(0.5, (0, 20), 1.0, prior=STEPS), "cover"),
        (lambda: m.Quantile(0.5, (3, 5), 1.0, prior=STEPS), "above 0"),
        (lambda: m.Quantile(0.5, BOUNDS, 1.0, prior=(1, 2)), "StepDensity"),
        (lambda: m.StepDensity((0, 1), (1, 2)), "heights"),
        (lambda: m.StepDensity((0, 0), (1,)), "increasing"),
        (lambda: m.StepDensity("ab", (1,)), "increasing"),
    ],
)
def test_what_is_no_prior_is_refused(make, says):
    with pytest.raises(InvalidArgument, match=says):
        make()


def test_bounds_of_one_point_need_no_density():
    assert m.Quantile(0.5, (3, 3), 1.0, prior=STEPS).run([1, 2]) == 3.0
