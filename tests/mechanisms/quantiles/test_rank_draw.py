"""Cells of a given rank: exact laws near, beyond and beside the window; poison.

Statistical checks fail wrongly with probability 1e-9 each.
"""

import math
from fractions import Fraction

import cell_laws
import numpy as np
import pytest

from goodness import FALSE_ALARM, p_value
from hush import mechanisms as m
from hush.mechanisms.quantiles import rank_draw
from hush.mechanisms.quantiles.grouped_histograms import Cells
from hush.mechanisms.quantiles.rank_draw import Choice, Pieces
from hush.noise import Seeded


def group(weights):
    return Cells.of(np.asarray(weights)).groups[0]


@pytest.mark.thin(4)
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("weights", "target", "scale"),
    [
        ([3, 0, 0, 5, 1, 0], Fraction(9, 2), Fraction(2)),
        ([0, 0, 0, 0, 0, 0], Fraction(0), Fraction(1)),
        ([0, 0, 9, 0, 0, 0], Fraction(17, 7), Fraction(3)),
        ([5, 0, 0, 0, 0, 5], Fraction(-3), Fraction(4)),
        ([1, 2, 0, 3, 0, 4], Fraction(13), Fraction(5)),
    ],
    ids=["middle", "empty", "one cell", "target below", "target above"],
)
@pytest.mark.parametrize("pad", [(0, 0), (4, 0), (0, 3)], ids=str)
def test_draws_follow_the_law(weights, target, scale, pad):
    runs, source = 4000, Seeded(61)
    edges = (-pad[0], len(weights) + pad[1])
    one = group(weights)
    draws = rank_draw.draw([Choice.of(one, edges, target, scale)] * runs, source)
    observed = np.bincount(draws + pad[0], minlength=edges[1] - edges[0])
    expected = cell_laws.law(weights, target, scale, pad) * runs
    assert p_value(observed, expected) > FALSE_ALARM
    if sum(weights):  # the twin with half of the noise
        twin = cell_laws.law(weights, target, scale / 3, pad) * runs
        assert p_value(observed, twin) < FALSE_ALARM


@pytest.mark.statistical
def test_draws_beyond_the_window_follow_the_law_too():
    # Never reached in practice (e^-80): the pieces outside are drawn on their own.
    weights, target, scale = [40, 30, 1, 2, 0, 60, 50], Fraction(145, 2), Fraction(20)
    choice = Choice.of(group(weights), (0, 7), target, scale)
    near = Pieces(choice, 2, 4)
    e = cell_laws.errors(weights, target)
    whole = np.exp(-e / 20).sum()
    low, high = near.total(0, near.chance.size, 30)
    assert low / 10**30 <= whole * (1 + 1e-12)
    assert high / 10**30 >= whole * (1 - 1e-12)
    assert high - low < 100
    rest, source, runs = near.other_pieces(), Seeded(62), 3000
    p = np.exp(-e / 20)
    outside = p.copy()
    for start, count in zip(near.starts, near.counts, strict=True):
        outside[start : start + count] = 0
    assert 0 < np.count_nonzero(outside) < 7
    observed = np.bincount([rest.draw(source) for _ in range(runs)], minlength=7)
    assert not observed[outside == 0].any()
    assert p_value(observed, outside / outside.sum() * runs) > FALSE_ALARM
    assert p_value(observed, p / p.sum() * runs) < FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "value"), [("ERROR", 0.5), ("_WIDE", 0)], ids=["all ties", "one by one"]
)
def test_ties_and_wide_groups_follow_the_law_too(monkeypatch, name, value):
    # Ties have probability 2^-38 or so, wide groups are rare: force both.
    monkeypatch.setattr(rank_draw, name, value)
    weights, target, runs = [40, 30, 1, 2, 0, 60, 50], Fraction(145, 2), 400
    choice = Choice.of(group(weights), (-2, 7), target, Fraction(20))
    draws = rank_draw.draw([choice] * runs, Seeded(60))
    expected = cell_laws.law(weights, target, 20, (2, 0)) * runs
    assert p_value(np.bincount(draws + 2, minlength=9), expected) > FALSE_ALARM


def test_a_window_leaves_out_almost_nothing():
    weights = np.random.default_rng(2).integers(0, 9, 3000)
    for target in (0, 1, 5000, int(weights.sum())):
        choice = Choice.of(group(weights), (0, 3000), Fraction(target), Fraction(5))
        near = Pieces(choice, *choice.near_stretches())
        assert near.chance.size < 3000
        p = cell_laws.law(weights, target, 5)
        inside = np.zeros(3000)
        for start, count in zip(near.starts, near.counts, strict=True):
            inside[start : start + count] = 1
        assert (p * (1 - inside)).sum() < math.exp(-79)


POISON = {
    "empty": [],
    "one cell": [(7, 10**9)],
    "far apart": [(0, 1), (1, 2**55), (999_999, 2**55)],
    "weightless": [(3, 0), (5, 0)],
    "edges": [(0, 5), (999_999, 5)],
}


@pytest.mark.parametrize("scale", [1e-9, 1.0, Fraction(2**40, 3), 1e12], ids=str)
@pytest.mark.parametrize("kind", POISON)
def test_n10_nothing_under_or_overflows(kind, scale):
    places = [p for p, _ in POISON[kind]]
    value = Cells.listed(10**6, [(places, [w for _, w in POISON[kind]])] * 2)
    source = Seeded(66)
    for at in (0.0, 0.5, 0.123456, 1.0, (0.25, 0.5, 0.75)):
        found = m.CellQuantile(at, 10**6, scale).run(value, source=source)
        assert np.all((found >= 0) & (found < 10**6))
    for at in (0.0, 0.5, 1.0):
        between = m.CellInterval(at, 10**6, scale, person=3).run(value, source=source)
        assert np.all((between.low >= 0) & (between.high < 10**6))
        assert np.all(between.low <= between.high)


def test_n10_a_million_crowded_cells():
    # The rank leaves ±200 with probability below e^-90.
    weights = np.random.default_rng(1).integers(1, 9, 10**6)
    value = Cells.listed(10**6, [(np.arange(10**6), weights)])
    found = m.CellQuantile.for_epsilon(1, at=0.9, size=10**6).run(value)
    assert abs(weights[: found[0]].sum() - 0.9 * weights.sum()) < 400
