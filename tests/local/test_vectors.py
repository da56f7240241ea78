"""Means of vectors: exact law, unbiased, variance as stated, near the best cap."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import optimize, stats

from goodness import FALSE_ALARM, p_value
from hush.audit import audit
from hush.errors import InvalidArgument
from hush.local import VectorMean
from hush.local.means import vector_mean as module
from hush.local.means.vector_mean import agreement
from hush.noise import Seeded
from hush.privacy import Pure


def largest(dimension, pairs, near, power):
    """E Σ b^power over the `near` largest of `pairs` |u₁|, by order statistics."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    x = ((np.arange(40)[:, None] + (nodes + 1) / 2) / 40).ravel()
    t = 1 - (1 - x) ** 3  # crowds the nodes where quantiles are steep
    weights = np.tile(weights / 80, 40) * 3 * (1 - x) ** 2
    b = np.sqrt(stats.beta(0.5, (dimension - 1) / 2).ppf(t))  # quantiles of |u₁|
    # The rank of the i-th largest among uniform numbers has a Beta law.
    ranks = sum(stats.beta(pairs - i, i + 1).pdf(t) for i in range(near))
    return float((weights * b**power * ranks).sum())


@pytest.mark.parametrize("dimension", [2, 3, 9, 400])
@pytest.mark.parametrize(("pairs", "near"), [(1, 1), (2, 1), (8, 3), (64, 5)])
def test_agreement_is_that_of_order_statistics(dimension, pairs, near):
    for power in (1, 2):
        wanted = largest(dimension, pairs, near, power)
        found = agreement(dimension, pairs, near, power)
        assert found == pytest.approx(wanted, rel=2e-6)


def test_one_pair_has_the_published_gain():
    # [DJW18]: radius · (e^ε+1)/(e^ε-1) · √π Γ((d+1)/2)/Γ(d/2) for the direction.
    for d in (1, 2, 7, 100):
        e = math.exp(0.5)
        gamma = math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))
        wanted = 3 * (e + 1) / (e - 1) * math.sqrt(math.pi) * gamma
        mean = VectorMean(0.5, d, radius=3.0)
        assert mean.pairs == mean.near == 1
        assert mean._gain == pytest.approx(wanted, rel=1e-6)


def cap(dimension, ratio):
    """1/gain of the best cap: what PrivUnit does, with every cap allowed."""

    def value(share):
        t = math.sqrt(stats.beta(0.5, (dimension - 1) / 2).ppf(1 - 2 * share))
        # ∫ u over a cap {u₁ > t} is the area of the equator's disc at t.
        log = math.lgamma(dimension / 2) - math.lgamma((dimension + 1) / 2)
        flux = math.exp(log) / (2 * math.sqrt(math.pi))
        flux *= (1 - t * t) ** ((dimension - 1) / 2)
        return (ratio - 1) * flux / (share * (ratio - 1) + 1)

    found = optimize.minimize_scalar(
        lambda x: -value(math.exp(x)), bounds=(-12, math.log(0.4999)), method="bounded"
    )
    return -found.fun


@pytest.mark.parametrize("dimension", [2, 3, 5, 32, 1000])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0, 4.0, 8.0])
def test_the_chosen_pairs_come_near_the_best_cap(dimension, epsilon):
    # Within 16 % of the variance of the best cap (10 % but for ε = 8), and never
    # above that of one pair.
    mean = VectorMean(epsilon, dimension)
    best = 1 / cap(dimension, float(mean.ratio)) ** 2
    assert best * (1 - 1e-4) <= mean.worst_variance(1) < best * 1.16
    single = VectorMean(epsilon, dimension, pairs=1).worst_variance(1)
    assert mean.worst_variance(1) <= single


def test_caps_err_far_less_than_half_spaces_at_large_epsilon():
    for epsilon, times in ((2.0, 1.5), (4.0, 3.5), (8.0, 9.9)):
        one = VectorMean(epsilon, 32, pairs=1).worst_variance(1)
        assert one > times * VectorMean(epsilon, 32).worst_variance(1)


# -- the law ------------------------------------------------------------------------


def enumerated(mean, words, v):
    """Chance of each signed direction of a codebook, from the definition."""
    signed = np.concatenate([words, -words])
    scores = signed @ v / np.linalg.norm(signed, axis=1)
    near = set(np.argsort(-scores, kind="stable")[: mean.near].tolist())
    z = mean.near * mean.ratio + 2 * mean.pairs - mean.near
    return {
        tuple(word): (mean.ratio if i in near else 1) / z
        for i, word in enumerate(signed.tolist())
    }


def codebook(pairs, dimension, seed=3):
    return np.random.default_rng(seed).integers(-999, 999, (pairs, dimension))


@pytest.mark.parametrize(
    "mean", [VectorMean(2.0, 3), VectorMean(4.0, 5), VectorMean(0.5, 2)], ids=repr
)
def test_given_the_directions_the_ratio_is_attained_and_not_exceeded(mean):
    words = codebook(mean.pairs, mean.dimension)
    points = np.random.default_rng(5).normal(size=(60, mean.dimension))
    laws = [enumerated(mean, words, v) for v in points]
    assert all(sum(law.values()) == 1 for law in laws)
    worst = max(a[word] / b[word] for a in laws for b in laws[:20] for word in a)
    assert worst == mean.ratio


@pytest.mark.thin(2)
@pytest.mark.statistical
@pytest.mark.parametrize(
    "mean", [VectorMean(2.0, 3), VectorMean(4.0, 5), VectorMean(0.5, 2)], ids=repr
)
@pytest.mark.parametrize("length", [1.0, 0.4, 0.0])
def test_reports_follow_the_law_given_the_directions(mean, length, monkeypatch):
    words = codebook(mean.pairs, mean.dimension)
    monkeypatch.setattr(
        module, "_directions", lambda shape, _: np.broadcast_to(words, shape)
    )
    n = 60_000
    v = np.arange(1.0, mean.dimension + 1)
    v /= np.linalg.norm(v)
    reports = mean.encode(np.tile(length * v, (n, 1)), source=Seeded(4))
    seen = Counter(map(tuple, reports.rows.view("<i2").tolist()))
    toward, away = enumerated(mean, words, v), enumerated(mean, words, -v)
    share = (1 + length) / 2
    law = {w: share * float(toward[w]) + (1 - share) * float(away[w]) for w in toward}
    assert set(seen) <= set(law)
    if length:
        observed = [seen[word] for word in law]
        assert p_value(observed, [n * p for p in law.values()]) > FALSE_ALARM
        # A law with a hundredth more for one direction of the near ones is noticed.
        twin = VectorMean(mean.epsilon * 1.2, mean.dimension, pairs=mean.pairs)
        if length == 1.0 and twin.near == mean.near:
            other = enumerated(twin, words, v)
            expected = [n * float(other[word]) for word in law]
            assert p_value(observed, expected) < FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_the_auditor_agrees_about_vectors(epsilon):
    # A true claim is refuted with probability 1e-6; half of it is, at these seeds.
    mean = VectorMean(epsilon, 1) if epsilon == 1.0 else VectorMean(epsilon, 2)
    ends = np.eye(mean.dimension)[0]
    for claim, refuted in ((mean.curve(), False), (Pure(epsilon=epsilon / 3), True)):
        source = Seeded(12)

        def batch(sign, count, source=source):
            rows = mean.encode(np.tile(sign * ends, (count, 1)), source=source).rows
            z = rows.view("<i2").astype(float)
            cosine = z[:, 0] / np.linalg.norm(z, axis=1)
            return np.rint(3 * cosine).astype(int).tolist()

        found = audit(
            lambda sign, batch=batch: batch(sign, 1)[0],
            1.0,
            -1.0,
            claim=claim,
            samples=20_000,
            level=1 - 1e-6,
            batch=batch,
            source=Seeded(13),
        )
        assert (found.epsilon_lower > claim.epsilon_at(0)) == refuted


# -- bias and variance ----------------------------------------------------------------


@pytest.mark.thin(5)
@pytest.mark.statistical
@pytest.mark.parametrize("dimension", [1, 2, 5, 40])
@pytest.mark.parametrize("epsilon", [0.5, 1.5, 4.0])
def test_vectors_are_unbiased_with_the_stated_variance(dimension, epsilon):
    # Coordinates within 6.5 standard errors. Their variances stray by √(2/n), 1 % at
    # most, 6 % at six of these; the squared errors together by a fraction of that.
    mean = VectorMean(epsilon, dimension, radius=3.0)
    n = 60_000 if dimension < 40 else 20_000
    v = np.linspace(-1, 1.5, dimension)
    v *= min(1.0, 2.5 / np.linalg.norm(v))
    reports = mean.encode(np.tile(v, (n, 1)), source=Seeded(dimension))
    found = mean.estimate(reports)
    assert (np.abs(found.value - v) < 6.5 * found.std).all()
    z = reports.rows.view("<i2").astype(float)
    each = mean._gain * z / np.linalg.norm(z, axis=1, keepdims=True)
    a, b = mean._moments
    theory = mean._gain**2 * (a + b * v**2 / (v @ v)) - v**2
    assert each.var(axis=0) == pytest.approx(theory, rel=0.06)
    assert n * found.std**2 == pytest.approx(theory, rel=0.06)
    whole = n * mean.squared_error(np.tile(v, (n, 1)))
    assert each.var(axis=0).sum() == pytest.approx(whole, rel=0.03)
    assert theory.sum() == pytest.approx(whole, rel=1e-6)


@pytest.mark.statistical
def test_axes_and_diagonals_are_scaled_alike():
    # The lattice is not round; with many pairs only the best directions count. The
    # own part of the mean strays by at most 6.5 standard errors, 1.6 %.
    mean, n = VectorMean(6.0, 4), 20_000
    for v in ([1.0, 0, 0, 0], [0.5, 0.5, -0.5, 0.5]):
        found = mean.estimate(mean.encode(np.tile(v, (n, 1)), source=Seeded(8)))
        std = math.sqrt((found.std**2) @ np.square(v))
        assert abs(found.value @ v - 1) < 6.5 * std < 0.02


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_intervals_of_vectors_hold(epsilon):
    # 4 × 500 intervals of level 0.9: six standard deviations are 0.04, half as much
    # again for dependence. People differ, so the std is an upper bound.
    mean, rng = VectorMean(epsilon, 4), np.random.default_rng(1)
    values = rng.normal(0.2, 0.3, (300, 4))
    values /= np.maximum(1.0, np.linalg.norm(values, axis=1, keepdims=True))
    truth, source, held = values.mean(axis=0), Seeded(3), 0
    for _ in range(500):
        low, high = mean.estimate(mean.encode(values, source=source)).interval(0.9)
        held += int(((low <= truth) & (truth <= high)).sum())
    assert 0.9 - 0.06 <= held / 2000 <= 0.97


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 3.0, 50.0])
def test_extreme_vectors_and_people(epsilon):
    mean = VectorMean(epsilon, 3)
    huge = [[1e308, 1e308, -1e308], [5e-324, 0, 0], [0, 0, 0]]
    reports = mean.encode(huge)
    assert mean.valid(reports.rows).all()
    one = mean.estimate(mean.encode([[1.0, 0.0, 0.0]]))
    assert np.isfinite(one.value).all()
    assert (one.std > 0).all()
    assert np.isfinite(one.interval(0.95)).all()
    for bad in (
        [[math.nan, 0, 0]],
        [[math.inf, 0, 0]],
        [[1, 2]],
        [1, 2, 3],
        [["a"] * 3],
    ):
        with pytest.raises(InvalidArgument, match="values must be"):
            mean.encode(bad)


def test_a_forged_direction_moves_the_mean_by_its_leverage_at_most():
    mean, rng = VectorMean(3.0, 3), np.random.default_rng(2)
    honest = mean.encode(np.zeros((50, 3)), source=Seeded(1))
    before = mean.estimate(honest).value
    for _ in range(200):
        rows = honest.rows.copy()
        rows[:2] = rng.integers(0, 256, (2, mean.width), dtype=np.uint8)
        heard = mean.collect([honest.header() + rows.tobytes()])
        moved = np.linalg.norm(mean.estimate(heard).value - before)
        assert moved <= 2 * mean.leverage / 50 + 1e-6


def test_large_dimensions_stay_within_a_devices_memory():
    mean = VectorMean(8.0, 1 << 20)
    assert mean.pairs * mean.dimension <= 1 << 22
    assert math.isfinite(mean._gain)


def test_impossible_vectors_are_refused():
    for wrong in (
        {"dimension": 0},
        {"dimension": 2.5},
        {"radius": 0.0},
        {"radius": math.nan},
        {"pairs": 0},
        {"pairs": 257},
        {"pairs": 1.5},
        {"epsilon": 51.0},
    ):
        with pytest.raises(InvalidArgument, match=next(iter(wrong))):
            VectorMean(**{"epsilon": 1.0, "dimension": 3, **wrong})
