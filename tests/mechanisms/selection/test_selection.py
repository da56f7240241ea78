"""Selection: exact laws by enumeration, fair ties, utility against simulation."""

import math

import exact
import numpy as np
import pytest

from goodness import FALSE_ALARM, p_value
from hush import bounds
from hush import mechanisms as m
from hush.noise import Seeded

RUNS = 5000
SCORES = [0, 1, 3, 3]


def counts(mechanism, value, runs=RUNS, seed=21):
    source = Seeded(seed)
    chosen = [mechanism.run(value, source=source) for _ in range(runs)]
    return np.bincount(np.array(chosen), minlength=len(value))


CHOICES = [
    (m.Exponential(2.0), exact.softmax),
    (m.NoisyMax(2.0, kind="gumbel"), exact.softmax),
    (m.NoisyMax(2.0, kind="exponential"), exact.permute_and_flip),
    (m.PermuteAndFlip(2.0), exact.permute_and_flip),
    (m.NoisyMax(2.0, kind="laplace"), exact.noisy_max),
]


@pytest.mark.statistical
def repr_or_name(thing):
    return getattr(thing, "__name__", None) or repr(thing)


@pytest.mark.thin(3)
@pytest.mark.parametrize(("mechanism", "law"), CHOICES, ids=repr_or_name)
def test_choices_follow_their_exact_law(mechanism, law):
    expected = law(SCORES, 2.0) * RUNS
    observed = counts(mechanism, SCORES)
    assert p_value(observed, expected) > FALSE_ALARM
    # Twins: a biased tie (the first of equals always wins), and half the noise.
    biased = observed.copy()
    biased[2], biased[3] = observed[2] + observed[3], 0
    assert p_value(biased, expected) < FALSE_ALARM
    assert p_value(counts(type(mechanism)(1.0), SCORES), expected) < FALSE_ALARM


@pytest.mark.statistical
def test_n7_p1_gumbel_max_is_the_exponential_mechanism():
    # Textbook Gumbel noise, drawn by NumPy, against our exact sampler.
    rng = np.random.default_rng(3)
    noise = rng.gumbel(scale=2.0, size=(200_000, len(SCORES)))
    textbook = np.bincount(np.argmax(noise + SCORES, axis=1)) / 200_000
    assert textbook == pytest.approx(exact.softmax(SCORES, 2.0), abs=0.006)
    ours = counts(m.NoisyMax(2.0, kind="gumbel"), SCORES)
    assert p_value(ours, exact.softmax(SCORES, 2.0) * RUNS) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["laplace", "gumbel", "exponential"])
def test_n5_2_the_expected_gap_stays_below_its_bound(kind):
    k, epsilon = 100, 1.0
    mechanism = m.NoisyMax.for_epsilon(epsilon, kind=kind)
    u = np.concatenate([[0.0], np.full(k - 1, -6.0)])
    source = Seeded(31)
    gaps = np.array([-u[mechanism.run(u, source=source)] for _ in range(2000)])
    slack = 6 * gaps.std() / math.sqrt(2000)  # six standard errors
    assert gaps.mean() - slack <= bounds.noisy_max_gap(k, epsilon, kind=kind)
    # Lemma 2: E|r| + E max|r|, with the law's own numbers.
    if kind == "laplace":
        one = m.Laplace(2.0).error.mean_absolute
        most = bounds.maximum(k - 1, lambda t: -math.log1p(-2 * t), below=0.5)
        assert gaps.mean() - slack <= bounds.selection_gap(one, most)
        assert (
            bounds.selection_gap(one, most) <= bounds.noisy_max_gap(k, epsilon) * 1.001
        )
    # The worst-case law is attained by exactly these scores.
    worst = mechanism.error.among(k).tail(6.0)
    assert np.mean(gaps >= 6) == pytest.approx(worst, abs=6 * math.sqrt(0.25 / 2000))


@pytest.mark.parametrize("t", [0.5, 1.0, 3.0])
def test_n7_2_the_tail_of_the_exponential_mechanism(t):
    rng = np.random.default_rng(9)
    for _ in range(50):
        u = rng.integers(-10, 1, size=30).astype(float)
        u[:3] = 0.0
        p = exact.softmax(u, 2.0)  # ε = 1, Δ = 1
        best = int((u == 0).sum())
        gap = bounds.exponential_gap(30, 1.0, best=best, t=t)
        assert p[u <= -gap].sum() <= math.exp(-t)
        # C.acc with Δ: the expected loss is at most (2Δ/ε) ln|R|.
        assert -(p @ u) <= bounds.exponential_gap(30, 1.0)
        # The printed form without the factor 2 would be violated by some data:
    flat = np.concatenate([[0.0], np.full(2000, -12.0)])
    p = exact.softmax(flat, 2.0)
    assert -(p @ flat) > 0.5 * bounds.exponential_gap(2001, 1.0)


@pytest.mark.parametrize("cls", [m.Exponential, m.PermuteAndFlip])
def test_the_gap_law_is_the_enumerated_worst_case(cls):
    law = exact.softmax if cls is m.Exponential else exact.permute_and_flip
    gap = cls(2.0).error.among(5)
    for t in (0.5, 3.0, 9.0):
        assert gap.tail(t) == pytest.approx(
            law([t, 0, 0, 0, 0], 2.0)[1:].sum(), rel=1e-9
        )
    assert gap.chance(gap.quantile(0.9)) == pytest.approx(0.9)
    assert gap.interval(0.9) == (-gap.quantile(0.9), 0.0)


def test_the_laplace_gap_law_covers_the_enumeration():
    gap = m.NoisyMax(3.0, kind="laplace").error.among(3)
    for t in (1, 4, 9):
        truth = exact.noisy_max([t, 0, 0], 3.0)[1:].sum()
        assert gap.tail(float(t)) == pytest.approx(truth, rel=0.03)


@pytest.mark.statistical
def test_the_top_two_follow_the_sequential_law():
    source = Seeded(23)
    mechanism, u = m.TopK(2, scale=2.0), [0, 1, 3]
    codes = [
        3 * a + b for a, b in (mechanism.run(u, source=source) for _ in range(RUNS))
    ]
    pairs = [3 * i + j for i in range(3) for j in range(3) if j != i]
    observed = np.array([codes.count(each) for each in pairs])
    assert p_value(observed, exact.top_two(u, 2.0) * RUNS) > FALSE_ALARM
    assert p_value(observed[::-1], exact.top_two(u, 2.0) * RUNS) < FALSE_ALARM


@pytest.mark.statistical
def test_sparse_vector_follows_its_exact_law():
    source = Seeded(29)
    mechanism, queries = m.SparseVector(threshold=1, scale=1.0), [0, 2, 1]
    firsts = []
    for _ in range(RUNS):
        answers = mechanism.run(queries, source=source)
        firsts.append(answers.index(True) if any(answers) else 3)
    expected = exact.above_threshold(queries, 1, 1.0, 2.0) * RUNS
    observed = np.bincount(firsts, minlength=4)
    assert p_value(observed, expected) > FALSE_ALARM
    # The classic mistake, no noise on the threshold, is caught.
    wrong = exact.above_threshold(queries, 1, 1e-3, 2.0) * RUNS
    assert p_value(observed, wrong) < FALSE_ALARM


def test_continuous_exponential_mechanism_fills_its_pieces():
    source = Seeded(33)
    mechanism = m.Exponential(1.0)
    edges, u = [0.0, 1.0, 1.0, 4.0], [0.0, 99.0, -1.0]
    draws = np.array(
        [mechanism.run_pieces(u, edges=edges, source=source) for _ in range(RUNS)]
    )
    weight = np.array([1.0, 3 * math.exp(-1)])
    observed = np.array([(draws < 1).sum(), (draws >= 1).sum()])
    assert p_value(observed, weight / weight.sum() * RUNS) > FALSE_ALARM
    assert p_value(observed[::-1], weight / weight.sum() * RUNS) < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    "mechanism",
    [
        m.Exponential(2.0),
        m.PermuteAndFlip(2.0),
        m.NoisyMax(2.0, kind="laplace"),
        m.NoisyMax(2.0, kind="gumbel"),
        m.NoisyMax(2.0, kind="exponential"),
    ],
    ids=repr,
)
def test_the_gap_of_a_hundred_thousand_choices_stays_under_its_law(mechanism):
    # Six standard errors: fails wrongly with probability below 1e-8 for each t.
    n, source = 100_000, Seeded(91)
    utilities = np.array([6.0, 5.0, 3.0, 3.0, 0.0])
    gaps = 6.0 - np.array(
        [utilities[mechanism.run(utilities, source=source)] for _ in range(n)]
    )
    law = mechanism.error.among(utilities.size)
    for t in (0.5, 1.5, 4.0):
        tail = float(law.tail(t))
        assert (gaps > t).mean() <= tail + 6 * math.sqrt(tail * (1 - tail) / n)
    # Half the noise would be seen from the other side: the law is not idle.
    assert (gaps > 0.5).mean() >= 0.2 * float(law.tail(0.5))


@pytest.mark.parametrize("t", [1e-9, 0.1, 1.0, 12.5, 30.0, 44.0, 60.0])
def test_two_laplace_candidates_have_a_closed_form(t):
    # P(r_0 - r_1 <= -t) = (2 + t)·e^-t/4; from t = 44 on a bound may be loose.
    exact = (2 + t) * math.exp(-t) / 4
    found = m.NoisyMax(1.0, kind="laplace").error.among(2).tail(t)
    assert exact <= found <= exact * (1 + 2e-5) + 2e-20
