"""Frequency oracles: the law, the guarantee, the variance and the choice."""

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

from goodness import FALSE_ALARM, p_value
from hush.audit import audit
from hush.errors import InvalidArgument
from hush.local import (
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    best,
)
from hush.local.frequency.local_hashing import line
from hush.local.randomizer import odds
from hush.noise import Seeded
from hush.privacy import Pure
from local.laws import every, law, seen, small


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, math.log(2), 1.0, 7.3, 50.0])
def test_odds_are_just_below_the_exponential(epsilon):
    with mp.workdps(60):
        exact = mp.exp(mp.mpf(epsilon))
        found = mp.mpf(odds(epsilon).numerator) / odds(epsilon).denominator
        assert exact - mp.mpf(2) ** -39 <= found <= exact


@pytest.mark.parametrize("oracle", small(), ids=repr)
def test_the_curve_is_the_largest_ratio_and_it_is_attained(oracle):
    laws = law(oracle)
    assert all(sum(each.values()) == 1 for each in laws.values())
    worst = max(laws[v][y] / laws[w][y] for v in laws for w in laws for y in laws[v])
    assert worst == oracle.ratio
    claimed = oracle.curve().epsilon_at(0.0)
    with mp.workdps(50):
        true = mp.log(mp.mpf(worst.numerator) / worst.denominator)
        assert true <= claimed <= oracle.epsilon
        assert claimed == pytest.approx(float(true), rel=1e-12)
    # What was asked for is used: at most a relative 1e-5 is given away at ε >= 0.1.
    assert claimed >= oracle.epsilon * (1 - 1e-5)


def fit(oracle, value, reports, laws):
    """P-value of reports of people who all hold `value`."""
    counts = Counter(seen(oracle, reports.rows))
    assert set(counts) <= set(laws[value])
    expected = [float(c) * len(reports) for c in laws[value].values()]
    return p_value([counts[y] for y in laws[value]], expected)


@pytest.mark.thin(2)
@pytest.mark.statistical
@pytest.mark.parametrize("oracle", small(), ids=repr)
def test_reports_follow_the_enumerated_law(oracle):
    laws = law(oracle)
    for value in (0, oracle.size - 1):
        reports = oracle.encode(np.full(40_000, value), source=Seeded(value))
        assert fit(oracle, value, reports, laws) > FALSE_ALARM


@pytest.mark.thin(5)
@pytest.mark.statistical
@pytest.mark.parametrize("oracle", small(), ids=repr)
def test_a_slightly_different_law_is_noticed(oracle):
    twin = type(oracle)(oracle.epsilon * 1.3, *list(vars(oracle).values())[1:2])
    assert twin.width == oracle.width
    assert len(law(twin)[0]) == len(law(oracle)[0])
    reports = twin.encode(np.zeros(200_000, dtype=int), source=Seeded(3))
    assert fit(oracle, 0, reports, law(oracle)) < FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("size", [2, 3, 1000, 40_000, 2**35])
def test_hashing_follows_its_law(size):
    # Given the hash, the bucket is randomized response; another category is supported
    # with chance `miss` exactly: two binomial checks, each failing with chance 1e-9.
    oracle = LocalHashing(1.3, size)
    n, value = 100_000, size - 1
    reports = oracle.encode(np.full(n, value), source=Seeded(5))
    for category, chance in ((value, oracle.hit), (0, oracle.miss)):
        supporters = int(oracle.support(reports.rows, [category])[0])
        p = float(chance)
        assert abs(supporters - n * p) < 6.2 * math.sqrt(n * p * (1 - p))


@pytest.mark.statistical
@pytest.mark.parametrize(("size", "prime"), [(9, 32749), (40_000, 2**31 - 1)])
def test_given_the_hash_the_bucket_is_randomized_response(size, prime):
    # Rows are decoded by hand: a, b, bucket; buckets are intervals of the field.
    oracle, value, n = LocalHashing(1.0, size), size - 2, 40_000
    g, r = oracle.buckets, float(oracle.ratio)
    reports = oracle.encode(np.full(n, value), source=Seeded(21))
    part = (oracle.width - 1) // 2
    table = np.zeros((g, g))
    for row in reports.rows.tolist():
        a = int.from_bytes(bytes(row[:part]), "little")
        b = int.from_bytes(bytes(row[part : 2 * part]), "little")
        hashed = (a * value + b) % prime
        bucket = sum(hashed >= j * prime // g for j in range(1, g))
        table[bucket, row[-1]] += 1
    chance = np.where(np.eye(g) > 0, r, 1.0) / (r + g - 1) / g
    assert p_value(table.ravel(), chance.ravel() * n) > FALSE_ALARM


@pytest.mark.parametrize("prime", [32749, 2**31 - 1, 2**61 - 1])
def test_lines_over_the_fields_are_exact(prime):
    rng = np.random.default_rng(1)
    a, x, b = (rng.integers(0, prime, 200, dtype=np.uint64) for _ in range(3))
    edge = np.array([0, 1, prime - 1], dtype=np.uint64)
    a, x, b = (np.concatenate([each, edge]) for each in (a, x, b))
    wanted = [
        (int(i) * int(j) + int(k)) % prime for i, j, k in zip(a, x, b, strict=True)
    ]
    assert line(a, x, b, prime).tolist() == wanted
    assert all(prime % d for d in range(2, min(prime - 1, 50_000)))


def test_pairs_of_categories_hash_independently_by_enumeration():
    # Over all lines of a small field every pair of hashes occurs once.
    prime = 13
    for x, y in ((0, 1), (3, 11), (12, 5)):
        pairs = {
            ((a * x + b) % prime, (a * y + b) % prime)
            for a in range(prime)
            for b in range(prime)
        }
        assert len(pairs) == prime**2


def test_the_walk_and_the_formula_count_alike():
    for size in (2, 57, 40_000):
        oracle = LocalHashing(1.0, size)
        reports = oracle.encode(np.arange(300) % size, source=Seeded(2))
        wanted = oracle.support(reports.rows, np.arange(min(size, 200)))
        assert (oracle.aggregate(reports).totals[:200] == wanted).all()


def test_a_bucket_never_spans_what_the_miss_chance_does_not_count():
    oracle = LocalHashing(1.0, 10)
    edges = [int(e) for e in oracle._edges]
    prime, r = 32749, oracle.ratio
    blind = 1 / (r + oracle.buckets - 1)
    total = Fraction(0)
    for low, high in pairwise(edges):
        w = Fraction(high - low, prime)
        total += w * (w * oracle.hit + (1 - w) * blind)
    assert oracle.miss == total


# -- variance ----------------------------------------------------------------------


def spread(oracle, people, times, seed):
    """Mean of squared errors over their theoretical variance, over all categories."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, oracle.size + 1)
    values = rng.choice(oracle.size, people, p=weights / weights.sum())
    shares = np.bincount(values, minlength=oracle.size) / people
    theory = oracle.variance(people, shares)
    source, total = Seeded(seed), 0.0
    batch = max(1, 400_000 // people) if oracle.size < 1000 else 1
    for start in range(0, times, batch):
        count = min(batch, times - start)
        reports = oracle.encode(np.tile(values, count), source=source)
        for i in range(count):
            totals = oracle._count(reports.rows[i * people : (i + 1) * people])
            error = oracle._decode(totals, people) - shares
            total += float((error**2 / theory).mean())
    return total / times


# The mean of M squared standard errors strays from 1 by √(2/M); the categories of one
# estimate count as M for itself. The tolerances are above six of these: a correct
# oracle fails with probability below 1e-8.
@pytest.mark.thin(5)
@pytest.mark.statistical
@pytest.mark.parametrize("oracle", every(100), ids=repr)
def test_variance_is_that_of_the_theory(oracle):
    assert spread(oracle, people=1000, times=1000, seed=1) == pytest.approx(1, rel=0.03)


@pytest.mark.thin(5)
@pytest.mark.statistical
@pytest.mark.parametrize("oracle", every(2), ids=repr)
def test_variance_of_two_categories(oracle):
    assert spread(oracle, people=50, times=9_000, seed=2) == pytest.approx(1, rel=0.09)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("oracle", every(2) + every(2, 3.0), ids=repr)
def test_variance_of_two_categories_closely(oracle):
    assert spread(oracle, people=50, times=90_000, seed=2) == pytest.approx(1, rel=0.03)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("oracle", every(10_000) + every(10_000, 3.0), ids=repr)
def test_variance_of_many_categories(oracle):
    assert spread(oracle, people=20_000, times=12, seed=3) == pytest.approx(1, rel=0.03)


@pytest.mark.statistical
def test_a_wrong_variance_is_noticed():
    honest, other = UnaryEncoding(1.0, 100), UnaryEncoding(1.03, 100)
    ratio = float(honest.variance(1)[0] / other.variance(1)[0])
    assert ratio > 1.06
    assert abs(spread(honest, 1000, 1000, 1) * ratio - 1) > 0.03


@pytest.mark.thin(5)
@pytest.mark.statistical
@pytest.mark.parametrize("oracle", every(20, 2.0), ids=repr)
def test_intervals_hold_the_truth_as_often_as_they_say(oracle):
    # 20 categories, 300 times: 6000 intervals of level 0.9; six standard deviations of
    # a binomial are 0.023, twice that allows for dependence within one estimate.
    values = np.repeat(np.arange(20), 100)
    held, source = 0, Seeded(11)
    for _ in range(300):
        low, high = oracle.estimate(oracle.encode(values, source=source)).interval(0.9)
        held += int(((low <= 0.05) & (high >= 0.05)).sum())
    assert held / 6000 == pytest.approx(0.9, abs=0.045)


@pytest.mark.thin(5)
@pytest.mark.statistical
@pytest.mark.parametrize("oracle", every(4, 3.0), ids=repr)
def test_intervals_for_the_population_hold_the_chances(oracle):
    # 4 categories, 1000 samples of 500 people: 4000 intervals of level 0.9; twice six
    # standard deviations of a binomial are 0.057.
    chances, rng = np.array([0.4, 0.3, 0.2, 0.1]), np.random.default_rng(5)
    people = rng.choice(4, (1000, 500), p=chances)
    held, source = 0, Seeded(14)
    for values in people:
        found = oracle.estimate(oracle.encode(values, source=source))
        low, high = found.population().interval(0.9)
        held += int(((low <= chances) & (chances <= high)).sum())
    assert held / 4000 == pytest.approx(0.9, abs=0.057)


def test_n3_2ex_the_binary_estimate_and_its_variance():
    # (Ȳ - p/2)/(1-p) with p = 2/(1+e^ε); variance (e^ε/(e^ε-1)² + θ(1-θ))/n.
    oracle, n, theta = RandomizedResponse(1.0), 5000, 0.3
    reports = oracle.encode(np.arange(n) < theta * n, source=Seeded(4))
    found = oracle.estimate(reports)
    p = 2 / (1 + math.e)
    share = reports.rows.mean()
    assert found.value[1] == pytest.approx((share - p / 2) / (1 - p), abs=1e-9)
    noise = math.e / (math.e - 1) ** 2
    assert oracle.variance(n, [0.7, 0.3])[1] == pytest.approx(noise / n, rel=1e-9)
    value = found.value[1]
    whole = (noise + value * (1 - value)) / n
    assert found.population().std[1] ** 2 == pytest.approx(whole, rel=1e-9)
    assert found.effective[1] == pytest.approx(value * (1 - value) / whole, rel=1e-6)


def test_textbook_variances_at_share_zero():
    # [WBLJ17] Table 1, per report: 4e^ε/(e^ε-1)² for optimized unary and hashing,
    # (k-2+e^ε)/(e^ε-1)² for randomized response.
    r, zero = math.e, np.zeros(1000)
    wanted = 4 * r / (r - 1) ** 2
    assert UnaryEncoding(1.0, 1000).variance(1, zero)[0] == pytest.approx(wanted)
    hashing = LocalHashing(1.0, 1000).variance(1, zero)[0]
    assert wanted <= hashing < 1.01 * wanted
    direct = RandomizedResponse(1.0, 1000).variance(1, zero)[0]
    assert direct == pytest.approx((998 + r) / (r - 1) ** 2)


# -- choice and processing ------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 4, 30, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_best_has_the_least_error(size, epsilon):
    chosen = best(size=size, epsilon=epsilon, people=1000)
    errors = [each.squared_error(1000) for each in every(size, epsilon)]
    assert chosen.squared_error(1000) <= min(errors) * (1 + 1e-8)


@pytest.mark.parametrize("size", [2, 7, 30, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 2.0, 5.0])
def test_the_sum_of_errors_is_that_of_the_variances(size, epsilon):
    for oracle in every(size, epsilon):
        total = oracle.variance(50).sum()
        assert oracle.squared_error(50) == pytest.approx(total, rel=1e-9)


def test_domains_too_large_to_list_are_refused_not_tried():
    oracle = best(size=2**40, epsilon=1.0, people=1000, width=17)
    assert oracle == LocalHashing(1.0, 2**40)
    with pytest.raises(InvalidArgument, match="support"):
        oracle.estimate(oracle.encode([1, 2**39]))


@pytest.mark.thin(5)
@pytest.mark.statistical
@pytest.mark.parametrize("oracle", every(3, 1.0), ids=repr)
def test_the_auditor_agrees(oracle):
    # A true claim is refuted with probability 1e-6; 0.4 is refuted at these seeds.
    claim, lie = oracle.curve(), Pure(epsilon=0.4)
    for stated, refuted in ((claim, False), (lie, True)):
        source = Seeded(12)

        def batch(value, count, source=source):
            # What a report supports is all that tells categories apart.
            rows = oracle.encode(np.full(count, value), source=source).rows
            return [tuple(oracle._count(row[None]).tolist()) for row in rows]

        found = audit(
            lambda value, batch=batch: batch(value, 1)[0],
            0,
            1,
            claim=stated,
            samples=6000,
            level=1 - 1e-6,
            batch=batch,
            source=Seeded(13),
        )
        assert (found.epsilon_lower > stated.epsilon_at(0)) == refuted


def test_best_respects_the_room_of_a_report():
    assert best(size=1000, epsilon=1.0, people=10, width=2).width == 2
    with pytest.raises(InvalidArgument, match="width"):
        best(size=1000, epsilon=1.0, people=10, width=1)


@pytest.mark.parametrize("oracle", every(9), ids=repr)
def test_values_outside_are_refused_without_being_named(oracle):
    for bad in ([9], [-1], [0.5], [[0]], ["x"]):
        with pytest.raises(InvalidArgument, match=r"values must be") as caught:
            oracle.encode(bad)
        assert "9" not in str(caught.value)
    assert len(oracle.encode([])) == 0
    assert len(oracle.encode(np.array([True, False]))) == 2


@pytest.mark.parametrize(
    "make",
    [
        RandomizedResponse,
        UnaryEncoding,
        LocalHashing,
        HadamardResponse,
        SubsetSelection,
    ],
)
def test_impossible_parameters_are_refused(make):
    for epsilon, size in ((0, 5), (-1.0, 5), (math.nan, 5), (51, 5), (1, 1), (1, 2.0)):
        with pytest.raises(InvalidArgument, match=r"epsilon|size"):
            make(epsilon, size)
