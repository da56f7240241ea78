"""Each sampler follows its exact law; each check catches a sabotaged twin."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from goodness import FALSE_ALARM, fits, fits_residues, p_value
from hush import law, noise
from hush.noise.categorical import SoftmaxSampler, _Candidates
from hush.noise.gaussian import GaussianSampler
from hush.noise.laplace import GeometricSampler
from hush.noise.source import Seeded

DRAWS = 10**6
SCALES = [Fraction(1, 2), Fraction(1), Fraction(7, 3), 9.5, 100, 5000, 10**6, 2**40]


def small_draws(sampler, count, source):
    """Draw in pieces that take the step-by-step path."""
    pieces = [sampler.draw_few(4096, source) for _ in range(-(-count // 4096))]
    return np.concatenate(pieces)


INTEGER_LAWS = [
    pytest.param(law.DiscreteLaplace, noise.discrete_laplace, id="laplace"),
    pytest.param(law.DiscreteGaussian, noise.discrete_gaussian, id="gaussian"),
    pytest.param(law.Geometric, noise.geometric, id="geometric"),
]


@pytest.mark.thin(5)
@pytest.mark.statistical
@pytest.mark.parametrize("scale", SCALES, ids=float)
@pytest.mark.parametrize(("exact", "draw"), INTEGER_LAWS)
def test_integer_noise_follows_its_law(exact, draw, scale):
    x = draw(scale, DRAWS, source=Seeded(1))
    assert fits(exact(scale), x) > FALSE_ALARM
    # Twins: a scale 3 % short, noise of one sign, everything off by one.
    assert fits(exact(Fraction(scale) * Fraction(100, 97)), x) < FALSE_ALARM
    if exact is not law.Geometric:
        assert fits(exact(scale), np.abs(x)) < FALSE_ALARM
    shift = max(1, math.ceil(Fraction(scale) / 50))
    assert fits(exact(scale), x + shift) < FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [Fraction(1, 2), 9.5, 100, 5000])
@pytest.mark.parametrize(("exact", "draw"), INTEGER_LAWS)
def test_low_digits_follow_the_law(exact, draw, scale):
    x = draw(scale, DRAWS, source=Seeded(2))
    reach = math.ceil(60 * scale)
    assert fits_residues(exact(scale), x, 64, reach) > FALSE_ALARM
    assert fits_residues(exact(scale), x | 1, 64, reach) < FALSE_ALARM


@pytest.mark.thin(3)
@pytest.mark.statistical
@pytest.mark.parametrize("scale", SCALES, ids=float)
def test_small_requests_follow_the_same_law(scale):
    exact = Fraction(scale)
    x = small_draws(GeometricSampler(exact, signed=True), DRAWS // 4, Seeded(3))
    assert fits(law.DiscreteLaplace(exact), x) > FALSE_ALARM
    y = small_draws(GaussianSampler(exact), DRAWS // 4, Seeded(4))
    assert fits(law.DiscreteGaussian(exact), y) > FALSE_ALARM
    assert fits(law.DiscreteGaussian(exact * Fraction(100, 95)), y) < FALSE_ALARM


@pytest.mark.statistical
def test_the_smallest_scale_is_almost_always_zero():
    # P(X != 0) = 2r/(1+r) with r = e^-16: 0.225 expected in a million draws, and more
    # than 12 with probability below 1e-16.
    x = noise.discrete_laplace(Fraction(1, 16), DRAWS, source=Seeded(5))
    assert np.count_nonzero(x) <= 12
    assert noise.discrete_gaussian(Fraction(1, 16), 1000, source=Seeded(5)).any() == 0


@pytest.mark.statistical
@pytest.mark.parametrize("p", [Fraction(1, 3), 0.5, 0.001, 0.9, Fraction(2, 7), 0.1])
def test_bernoulli(p):
    hits = int(noise.bernoulli(p, DRAWS, source=Seeded(6)).sum())
    expected = [DRAWS * float(p), DRAWS * (1 - float(p))]
    assert p_value([hits, DRAWS - hits], expected) > FALSE_ALARM
    twin = [DRAWS * float(p) * 0.9, DRAWS * (1 - 0.9 * float(p))]
    if p == 0.001:  # too rare for a million coins to see 10 %
        twin = [DRAWS * float(p) * 0.7, DRAWS * (1 - 0.7 * float(p))]
    assert p_value([hits, DRAWS - hits], twin) < FALSE_ALARM


@pytest.mark.statistical
def test_bernoulli_of_an_array_flips_each_entry():
    p = np.tile([0.0, 0.25, 0.7, 1.0], DRAWS // 4)
    hits = noise.bernoulli(p, source=Seeded(7)).reshape(-1, 4).sum(axis=0)
    assert hits[0] == 0
    assert hits[3] == DRAWS // 4
    for place, chance in ((1, 0.25), (2, 0.7)):
        n = DRAWS // 4
        cells = [hits[place], n - hits[place]]
        assert p_value(cells, [n * chance, n * (1 - chance)]) > FALSE_ALARM
        assert p_value(cells, [n * (1 - chance), n * chance]) < FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("x", [Fraction(1, 3), 0.01, 1, 2.5, 6])
def test_bernoulli_exp(x):
    hits = int(noise.bernoulli_exp(x, DRAWS, source=Seeded(8)).sum())
    chance = math.exp(-x)
    cells = [hits, DRAWS - hits]
    assert p_value(cells, [DRAWS * chance, DRAWS * (1 - chance)]) > FALSE_ALARM
    twin = math.exp(-x * 1.25)
    assert p_value(cells, [DRAWS * twin, DRAWS * (1 - twin)]) < FALSE_ALARM
    many = int(noise.bernoulli_exp(np.full(DRAWS, float(x)), source=Seeded(9)).sum())
    expected = [DRAWS * chance, DRAWS * (1 - chance)]
    assert p_value([many, DRAWS - many], expected) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("high", [2, 3, 10, 100, 1000, 2**40 + 1])
def test_integers_are_uniform(high):
    x = noise.integers(high, DRAWS, source=Seeded(10))
    assert 0 <= x.min() <= x.max() < high
    cells = min(high, 100)
    edges = [-(-i * high // cells) for i in range(cells + 1)]
    observed = np.histogram(x, bins=edges)[0]
    observed[-1] += 0 if x.max() < edges[-1] else np.count_nonzero(x == edges[-1])
    expected = np.diff(edges) / high * DRAWS
    assert p_value(observed, expected) > FALSE_ALARM
    lazy = np.histogram(x % max(1, high - high // 3), bins=edges)[0]  # biased modulo
    if high > 2:
        assert p_value(lazy, expected) < FALSE_ALARM


WEIGHTS = [
    [0.0, 0.0, 0.0],
    [0.0, -1.0, -2.0, -3.0],
    [5.0, -np.inf, 4.5],
    [1e6, 1e6 - 0.5, -1e6],
    list(np.linspace(-3, 0, 40)),
]


@pytest.mark.statistical
@pytest.mark.parametrize("weights", WEIGHTS, ids=range(len(WEIGHTS)))
def test_categorical(weights):
    x = noise.categorical(weights, DRAWS, source=Seeded(11))
    chance = np.exp(np.array(weights) - max(weights))
    chance /= chance.sum()
    observed = np.bincount(x, minlength=len(weights))
    assert p_value(observed, chance * DRAWS) > FALSE_ALARM
    twin = chance**0.97 / (chance**0.97).sum()
    if np.ptp(weights) not in (0.0, np.inf):
        assert p_value(observed, twin * DRAWS) < FALSE_ALARM
    assert p_value(np.roll(observed, 1), chance * DRAWS) < FALSE_ALARM or not np.ptp(
        weights
    )


@pytest.mark.statistical
def test_a_large_choice_descends_its_tree_exactly():
    scores = np.tile(np.array([0, 1, 3, -2]), 1000)  # 4000 candidates: two levels
    sampler = SoftmaxSampler(_Candidates("scores", scores, Fraction(2)))
    x = sampler.draw(DRAWS, Seeded(12))
    chance = np.exp(scores / 2.0)
    chance /= chance.sum()
    observed = np.bincount(x, minlength=scores.size)
    assert p_value(observed, chance * DRAWS) > FALSE_ALARM
    assert p_value(np.roll(observed, 1), chance * DRAWS) < FALSE_ALARM


def race_law(scores, scale):
    """Probability of each place under permute-and-flip, by all subsets kept."""
    scores = np.asarray(scores, float)
    keep = np.exp((scores - scores.max()) / scale)
    result = np.zeros(scores.size)
    for kept in itertools.product([0, 1], repeat=scores.size):
        kept = np.array(kept)
        if kept.any():
            result += kept / kept.sum() * np.prod(np.where(kept, keep, 1 - keep))
    return result


def softmax_law(scores, scale):
    weights = np.exp((np.asarray(scores, float) - max(scores)) / scale)
    return weights / weights.sum()


@pytest.mark.thin(3)
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("scores", "scale", "n"),
    [
        ([0, 1, 2], 1, 6000),
        ([3, 3, 3, 1], 2, 20_000),  # where the two laws are closest
        ([0.5, 0.25], 0.125, 6000),
        ([2**60, 2**60 - 1], 1, 6000),
        ([0, 5, 1, 4], 3, 6000),
    ],
)
def test_noisy_argmax(scores, scale, n):
    # Single selections. The two laws must also be told apart: 6000 do so for all but
    # one in a million seeds.
    source = Seeded(13)
    relative = [score - max(scores) for score in scores]
    race, soft = race_law(relative, scale), softmax_law(relative, scale)
    size = len(scores)
    for choose, own, other in (
        (noise.exponential_argmax, race, soft),
        (noise.gumbel_argmax, soft, race),
    ):
        places = [choose(scores, scale, source=source) for _ in range(n)]
        observed = np.bincount(places, minlength=size)
        assert p_value(observed, own * n) > FALSE_ALARM
        assert p_value(observed, other * n) < FALSE_ALARM


@pytest.mark.thin(3)
@pytest.mark.statistical
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_permutations_are_uniform(count):
    n, source = 30_000, Seeded(14)
    orders = {order: i for i, order in enumerate(itertools.permutations(range(count)))}
    places = [
        orders[tuple(noise.permutation(count, source=source).tolist())]
        for _ in range(n)
    ]
    observed = np.bincount(places, minlength=len(orders))
    expected = np.full(len(orders), n / len(orders))
    assert p_value(observed, expected) > FALSE_ALARM
    observed[0] += observed[-1] // 2
    observed[-1] -= observed[-1] // 2
    assert p_value(observed, expected) < FALSE_ALARM or count == 5


@pytest.mark.thin(3)
@pytest.mark.statistical
@pytest.mark.parametrize("batch", [1, 2, 3, 8])
def test_fixed_size_subsets_are_uniform(batch):
    n, records, source = 20_000, 16 if batch < 8 else 10, Seeded(15)
    subsets = {
        s: i for i, s in enumerate(itertools.combinations(range(records), batch))
    }
    places = [
        subsets[tuple(noise.subsample(records, batch=batch, source=source).tolist())]
        for _ in range(n)
    ]
    observed = np.bincount(places, minlength=len(subsets))
    assert p_value(observed, np.full(len(subsets), n / len(subsets))) > FALSE_ALARM


@pytest.mark.thin(3)
@pytest.mark.statistical
@pytest.mark.parametrize("rate", [0.01, 0.1, Fraction(1, 3), 0.5, 0.99])
def test_poisson_subsets(rate):
    # Inclusion, pairs, and the size of the subset, over 20 000 subsets of 50 records.
    n, records, source = 20_000, 50, Seeded(16)
    kept = np.zeros((n, records), dtype=bool)
    for row in kept:
        row[noise.subsample(records, rate=rate, source=source)] = True
    q = float(rate)
    hits = kept.sum()
    total = n * records
    assert p_value([hits, total - hits], [total * q, total * (1 - q)]) > FALSE_ALARM
    pairs = (kept[:, 0::2] & kept[:, 1::2]).sum()
    halves = n * records // 2
    expected = [halves * q * q, halves * (1 - q * q)]
    assert p_value([pairs, halves - pairs], expected) > FALSE_ALARM
    sizes = np.bincount(kept.sum(axis=1), minlength=records + 1)
    binomial = [
        math.comb(records, k) * q**k * (1 - q) ** (records - k)
        for k in range(records + 1)
    ]
    assert p_value(sizes, np.array(binomial) * n) > FALSE_ALARM
    fixed = np.zeros(records + 1)
    fixed[round(q * records)] = n  # a fixed-size twin calling itself Poisson
    assert p_value(fixed, np.array(binomial) * n) < FALSE_ALARM


def lattice_points(norm, dimension, bits):
    radius = 2**bits
    grid = itertools.product(range(-radius, radius + 1), repeat=dimension)
    if norm == math.inf:
        return list(grid)
    return [z for z in grid if sum(abs(k) ** norm for k in z) <= radius**norm]


@pytest.mark.thin(4)
@pytest.mark.statistical
@pytest.mark.parametrize("norm", [1, 2, math.inf])
@pytest.mark.parametrize(
    ("dimension", "bits"), [(1, 4), (2, 2), (2, 3), (3, 1), (3, 2)]
)
def test_every_point_of_a_ball_is_equally_likely(norm, dimension, bits):
    n = 100_000
    points = {z: i for i, z in enumerate(lattice_points(norm, dimension, bits))}
    drawn = noise.ball(norm, dimension, n, bits=bits, source=Seeded(17))
    whole = np.rint(drawn * 2**bits).astype(int)
    places = [points[tuple(z)] for z in whole.tolist()]
    observed = np.bincount(places, minlength=len(points))
    expected = np.full(len(points), n / len(points))
    assert p_value(observed, expected) > FALSE_ALARM
    corner = observed.copy()
    corner[::10] = 0  # a ball with holes
    assert p_value(corner * (n / corner.sum()), expected) < FALSE_ALARM


@pytest.mark.thin(2)
@pytest.mark.statistical
@pytest.mark.parametrize(("norm", "power"), [(1, 1), (2, 2)])
def test_radius_in_a_hundred_dimensions(norm, power):
    # ‖z‖^d is uniform for a uniform point of a ball (up to the grid's 2^-30).
    n, d = 20_000, 100
    z = noise.ball(norm, d, n, source=Seeded(18))
    length = (np.abs(z) ** power).sum(axis=1) ** (1 / power)
    assert length.max() <= 1
    observed = np.histogram(length**d, bins=20, range=(0, 1))[0]
    assert p_value(observed, np.full(20, n / 20)) > FALSE_ALARM
    twin = np.histogram(length ** (d * 0.9), bins=20, range=(0, 1))[0]
    assert p_value(twin, np.full(20, n / 20)) < FALSE_ALARM
