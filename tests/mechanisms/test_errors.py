"""Error laws against 10^5 runs, for mechanisms that answer one number at a time.

Each check fails wrongly with probability 1e-9 and has a twin that must fail. The
additive mechanisms, which draw in bulk, are in the law-suite.
"""

import math

import numpy as np
import pytest
from scipy import stats

from goodness import FALSE_ALARM, fits, p_value
from hush import mechanisms as m
from hush.law import DiscreteLaplace
from hush.noise import Seeded

RUNS = 100_000
pytestmark = [pytest.mark.slow, pytest.mark.statistical]


def repeated(mechanism, value, seed, runs=RUNS):
    source = Seeded(seed)
    return np.array([mechanism.run(value, source=source) for _ in range(runs)])


def chance_fits(hits, runs, chance):
    """Whether a count is binomial, at the false-alarm rate."""
    low = stats.binom.cdf(hits, runs, chance)
    return min(low, stats.binom.sf(hits - 1, runs, chance)) > FALSE_ALARM / 2


@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_the_norm_of_k_norm_noise(norm):
    mechanism = m.KNorm(2.0, dimension=2, norm=norm)
    size = np.linalg.norm(repeated(mechanism, [0.0, 0.0], 11), norm, axis=1)
    edges = [mechanism.error.quantile(p) for p in np.arange(1, 64) / 64]

    def fit(draws):
        counts = np.bincount(np.searchsorted(edges, draws), minlength=64)
        return p_value(counts, np.full(64, len(draws) / 64))

    assert fit(size) > FALSE_ALARM
    assert fit(0.95 * size) < FALSE_ALARM
    for level in (0.5, 0.95, 0.999):
        inside = np.count_nonzero(size <= mechanism.error.interval(level)[1])
        assert chance_fits(inside, RUNS, level)
    assert abs(size.mean() - mechanism.error.mean) < 6 * mechanism.error.std / 316


@pytest.mark.parametrize("horizon", [3, 4])
def test_the_worst_total_of_a_tree(horizon):
    # After three numbers two blocks are open, and no total up to 6 has more.
    mechanism = m.TreeSum(horizon=horizon, scale=2.0)
    totals = repeated(mechanism, [1, 2, 3], 12)
    law = mechanism.error.law
    assert fits(law, totals[:, 2] - 6) > FALSE_ALARM
    assert fits(law, totals[:, 1] - 3) < FALSE_ALARM  # one block: less noise
    assert fits(DiscreteLaplace(2), totals[:, 1] - 3) > FALSE_ALARM


@pytest.mark.parametrize("monotone", [False, True])
def test_a_sparse_vector_errs_by_both_noises(monotone):
    mechanism = m.SparseVector(threshold=10, scale=1.5, monotone=monotone)
    query = mechanism.error.law
    x = np.arange(-200, 201)
    both = np.convolve(query.pmf(x), DiscreteLaplace(1.5).pmf(x))
    source, misfits, twins = Seeded(13), 0, 0
    asked = np.arange(2, 19)
    runs = RUNS // asked.size
    for value in asked:
        hits = sum(mechanism.run([value], source=source)[0] for _ in range(runs))
        # Yes when query noise minus bar noise reaches 10 - value; both are symmetric.
        chance = both[400 + 10 - value :].sum()
        misfits += not chance_fits(hits, runs, chance)
        twins += not chance_fits(hits, runs, query.survival(10 - value - 1))
    assert misfits == 0
    assert twins > 0  # one noise alone does not explain the answers


SELECTIONS = [
    m.Exponential(2.0),
    m.NoisyMax(2.0, kind="laplace"),
    m.NoisyMax(2.0),
    m.PermuteAndFlip(2.0),
    m.TopK(2, 2.0),
]


@pytest.mark.parametrize("mechanism", SELECTIONS, ids=repr)
def test_the_gap_of_a_selection_is_attained(mechanism):
    # One candidate is the best by t, all others are level: the worst scores there are.
    gap, t = mechanism.error.among(4), 5
    chosen = repeated(mechanism, [0, t, 0, 0], 14).reshape(RUNS, -1)[:, 0]
    missed = np.count_nonzero(chosen != 1)
    assert chance_fits(missed, RUNS, gap.tail(t))
    assert not chance_fits(missed, RUNS, 0.95 * gap.tail(t))
    closer = repeated(mechanism, [4, t, 1, 0], 15).reshape(RUNS, -1)[:, 0]
    far = np.count_nonzero(closer == 3)  # a gap of t; others are in its way
    assert far <= RUNS * gap.tail(t) + 6 * math.sqrt(RUNS)


def test_ranks_of_a_quantile():
    # Between records the rank is constant; even pieces are its candidates.
    records = (np.arange(10) + 1) / 11
    mechanism = m.Quantile(0.5, (0.0, 1.0), 1.0)
    answers = repeated(mechanism, records, 16)
    rank = np.abs(5 - np.searchsorted(records, answers, side="right"))
    weight = np.exp(-np.abs(5 - np.arange(11.0)))
    expected = np.bincount(np.abs(5 - np.arange(11)), weights=weight / weight.sum())
    assert p_value(np.bincount(rank, minlength=6), RUNS * expected) > FALSE_ALARM
    sharper = weight**1.05
    twin = np.bincount(np.abs(5 - np.arange(11)), weights=sharper / sharper.sum())
    assert p_value(np.bincount(rank, minlength=6), RUNS * twin) < FALSE_ALARM
    for t in range(1, 6):  # the worst case covers this one
        assert np.mean(rank >= t) <= mechanism.error.tail(t)


def test_the_noise_of_a_winsorized_mean():
    # The answer is the mean plus noise, in units of range over records, while the
    # winsorized range is the public one: while the quartiles are 1/16 apart or more.
    # One of them would have to be off by 14 of 64 ranks: e^-35 at this scale.
    records = np.linspace(0, 1, 64)
    mechanism = m.WinsorizedMean((0.0, 1.0), 0.1)
    law, step = mechanism.error.cases[0]
    exact = np.rint(records / float(step)).astype(np.int64).sum()
    answers = repeated(mechanism, records, 17)
    draws = np.rint(answers * 64 / float(step) - float(exact)).astype(np.int64)
    assert fits(law, draws) > FALSE_ALARM
    assert fits(law, (0.95 * draws).astype(np.int64)) < FALSE_ALARM
