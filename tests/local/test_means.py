"""Means of numbers and vectors: exact laws, unbiased, variance as stated."""

import math
from fractions import Fraction

import numpy as np
import pytest

from goodness import FALSE_ALARM, p_value
from hush.audit import audit
from hush.bounds import minimax_mean
from hush.errors import InvalidArgument
from hush.local import (
    DuchiMean,
    HybridMean,
    LaplaceMean,
    PiecewiseMean,
    RandomizedResponse,
    VectorMean,
)
from hush.local.means.piecewise_mean import CELLS, window
from hush.mechanisms import Laplace
from hush.noise import Seeded
from hush.privacy import Pure

MEANS = [
    make(epsilon, (-2.0, 6.0))
    for make in (DuchiMean, PiecewiseMean, HybridMean, LaplaceMean)
    for epsilon in (0.3, 1.0, 3.0)
]


def decoded(mean, rows):
    """Each report's own unbiased answer, in [0, 1] on average."""
    part, y = mean._read(rows)
    scale = np.array([float(p.scale) for p in mean.parts])
    shift = np.array([float(p.shift) for p in mean.parts])
    return scale[part] * y + shift[part]


def likely(ratio, start):
    """Which cells have weight R, not 1, when the window begins at `start`."""
    cells = np.arange(CELLS)
    return (cells >= start) & (cells < start + window(ratio))


def cell_law(ratio, start):
    """Weights of the cells, as floats."""
    return np.where(likely(ratio, start), float(ratio), 1.0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_cells_are_unbiased_with_the_stated_variance_by_summation(epsilon):
    mean = PiecewiseMean(epsilon, (0.0, 1.0))
    (part,) = mean.parts
    r, w = mean.ratio, window(mean.ratio)
    for start in (0, 1, 12_345, CELLS - w):
        inside, total = range(start, start + w), w * r + CELLS - w
        first = (sum(range(CELLS)) + (r - 1) * sum(inside)) / total
        squares = sum(y * y for y in range(CELLS)) + (r - 1) * sum(
            y * y for y in inside
        )
        u = Fraction(start, CELLS - w)
        assert part.scale * first + part.shift == u
        variance = part.scale**2 * (squares / total - first**2)
        a, b, c = part.noise
        assert a + b * u + c * u * u == variance


def test_cells_and_bits_reach_the_ratio_and_no_more():
    for epsilon in (0.2, 1.0, 4.0):
        mean = PiecewiseMean(epsilon)
        one, two = likely(mean.ratio, 0), likely(mean.ratio, CELLS // 3)
        # As many likely cells under both, so the weights have one sum; some cell is
        # likely under one alone, and its chances have the ratio R : 1.
        assert one.sum() == two.sum() == window(mean.ratio)
        assert (one & ~two).any()
        assert (two & ~one).any()
        assert mean.curve().epsilon_at(0.0) <= epsilon
    # Duchi: the chance of a 1 is (1 + u(R-1))/(R+1), extreme at the ends.
    mean = DuchiMean(1.0)
    (part,) = mean.parts
    chance = [(u - part.shift) / part.scale for u in (0, 1)]
    assert chance[1] / chance[0] == mean.ratio == (1 - chance[0]) / (1 - chance[1])


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("value", [0.0, 0.37, 1.0])
def test_cells_follow_their_law(epsilon, value):
    mean = PiecewiseMean(epsilon, (0.0, 1.0))
    n, w = 300_000, window(mean.ratio)
    y = mean._read(mean.encode(np.full(n, value), source=Seeded(1)).rows)[1]
    at = value * (CELLS - w)
    low = math.floor(at)
    weight = np.zeros(CELLS)
    for start, share in ((low, 1 - (at - low)), (low + 1, at - low)):
        if share:
            weight += share * cell_law(mean.ratio, start)
    # Grouped by 64 cells, and by cells modulo 64: coarse and fine faults.
    observed = np.bincount(y, minlength=CELLS).reshape(-1, 64)
    expected = (weight / weight.sum() * n).reshape(-1, 64)
    for axis in (0, 1):
        p = p_value(observed.sum(axis=axis), expected.sum(axis=axis))
        assert p > FALSE_ALARM


@pytest.mark.statistical
def test_a_shifted_window_is_noticed():
    mean = PiecewiseMean(3.0, (0.0, 1.0))
    n, w = 300_000, window(mean.ratio)
    y = mean._read(mean.encode(np.full(n, 0.37), source=Seeded(1)).rows)[1]
    weight = cell_law(mean.ratio, int(0.38 * (CELLS - w)))
    expected = (weight / weight.sum() * n).reshape(-1, 64).sum(axis=1)
    observed = np.bincount(y, minlength=CELLS).reshape(-1, 64).sum(axis=1)
    assert p_value(observed, expected) < FALSE_ALARM


@pytest.mark.thin(3)
@pytest.mark.statistical
@pytest.mark.parametrize("mean", MEANS, ids=repr)
@pytest.mark.parametrize("value", [-2.0, 1.0, 6.0])
def test_a_mean_is_unbiased_and_its_variance_is_the_stated_one(mean, value):
    # 400 000 reports: the variance strays by 0.5 % (Laplace) or less, six of these are
    # 3 %; the mean by six standard errors. A correct mean fails with chance < 1e-8.
    n = 400_000
    reports = mean.encode(np.full(n, value), source=Seeded(2))
    each = decoded(mean, reports.rows) * 8 - 2
    theory = mean.variance(np.full(n, value)) * n
    assert each.var() == pytest.approx(theory, rel=0.03)
    assert abs(each.mean() - value) < 6 * math.sqrt(theory / n)
    found = mean.estimate(reports)
    assert found.value == pytest.approx(each.mean(), abs=1e-9)
    assert found.std == pytest.approx(math.sqrt(theory / n), rel=0.03)
    assert theory / n <= mean.worst_variance(n) * (1 + 1e-12)


@pytest.mark.thin(3)
@pytest.mark.statistical
@pytest.mark.parametrize("mean", MEANS[1::3], ids=repr)
def test_intervals_of_means_hold(mean):
    # 1500 intervals of level 0.9: six standard deviations are 0.047. People differ, so
    # a std taken as an upper bound may hold more often, not less.
    values = np.linspace(-2, 6, 300) ** 3 / 40
    truth = np.clip(values, -2, 6).mean()
    source, held = Seeded(3), 0
    for _ in range(1500):
        low, high = mean.estimate(mean.encode(values, source=source)).interval(0.9)
        held += bool(low <= truth <= high)
    assert 0.9 - 0.047 <= held / 1500 <= 0.96


def test_the_published_worst_cases():
    # [WXYZHSSY19]: on [-1, 1], Duchi ((e^ε+1)/(e^ε-1))²; piecewise at the ends
    # 1/(e^(ε/2)-1) + (e^(ε/2)+3)/(3(e^(ε/2)-1)²); hybrid their mixture, constant.
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        e, h = math.exp(epsilon), math.exp(epsilon / 2)
        duchi = ((e + 1) / (e - 1)) ** 2
        piecewise = 1 / (h - 1) + (h + 3) / (3 * (h - 1) ** 2)
        assert DuchiMean(epsilon).worst_variance(1) == pytest.approx(duchi)
        assert PiecewiseMean(epsilon).worst_variance(1) == pytest.approx(
            piecewise, rel=1e-3
        )
        if epsilon > 0.61:
            both = (h + 3) / (3 * h * (h - 1)) + (e + 1) ** 2 / (h * (e - 1) ** 2)
            hybrid = HybridMean(epsilon)
            assert hybrid.worst_variance(1) == pytest.approx(both, rel=1e-3)
            assert hybrid.variance([0.0]) == pytest.approx(both, rel=1e-3)


def test_the_population_is_wider_than_the_people():
    mean = PiecewiseMean(3.0, (0, 1))
    values = np.arange(20_000) % 2
    found = mean.estimate(mean.encode(values, source=Seeded(1)))
    wanted = math.sqrt(mean.variance(values) + 0.25 / 20_000)
    assert found.population().std == pytest.approx(wanted, rel=0.02)
    alone = 0.25 / wanted**2
    assert found.effective == pytest.approx(alone, rel=0.1)


@pytest.mark.parametrize("mean", [*MEANS[1::3], VectorMean(1.0, 3)], ids=repr)
def test_hostile_rows_and_values(mean):
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 256, (500, mean.width), dtype=np.uint8)
    rows[:4] = 0
    head = mean.encode(np.ones((0, 3))).to_bytes()
    reports = mean.collect([head + rows.tobytes(), b"x", head])
    assert len(reports) + reports.rejected == 501
    tally = mean.aggregate(reports)
    assert tally.people == len(reports)
    assert np.isfinite(mean.estimate(tally).value).all()
    whole = mean.aggregate(mean.collect([head + rows[:200].tobytes()]))
    rest = mean.aggregate(mean.collect([head + rows[200:].tobytes()]))
    assert ((whole + rest).totals == tally.totals).all()
    vector = isinstance(mean, VectorMean)
    for bad in ([math.nan] * 3, ["a"] * 3, [[[1.0]]]):
        with pytest.raises(InvalidArgument, match="values"):
            mean.encode([bad] if vector else bad)


@pytest.mark.parametrize("mean", MEANS, ids=repr)
def test_leverage_bounds_what_one_report_can_do(mean):
    rng = np.random.default_rng(4)
    honest = mean.encode(np.zeros(50), source=Seeded(1))
    before = mean.estimate(honest).value
    for _ in range(200):
        forged = rng.integers(0, 256, (1, mean.width), dtype=np.uint8)
        if mean.valid(forged)[0]:
            rows = np.concatenate([forged, honest.rows[1:]])
            after = mean.estimate(
                mean.collect([honest.header() + rows.tobytes()])
            ).value
            assert abs(after - before) <= mean.leverage / 50 + 1e-9


def test_values_beyond_the_bounds_are_clamped():
    mean = LaplaceMean(50.0, (0.0, 1.0))
    found = mean.estimate(mean.encode([1e300, -math.inf, 7, -3], source=Seeded(1)))
    assert found.value == pytest.approx(0.5, abs=0.1)
    for bounds in ((1, 1), (2, 1), (0, math.inf), (-1e308, 1e308)):
        with pytest.raises(InvalidArgument, match="bounds"):
            LaplaceMean(1.0, bounds)


@pytest.mark.statistical
@pytest.mark.parametrize("mean", MEANS[1::3], ids=repr)
def test_the_auditor_agrees_about_means(mean):
    # A true claim is refuted with probability 1e-6; 0.4 is refuted at these seeds.
    for claim, refuted in ((mean.curve(), False), (Pure(epsilon=0.4), True)):
        source = Seeded(12)

        def batch(value, count, source=source):
            rows = mean.encode(np.full(count, value), source=source).rows
            return np.rint(2 * decoded(mean, rows)).astype(int).tolist()

        found = audit(
            lambda value, batch=batch: batch(value, 1)[0],
            -2.0,
            6.0,
            claim=claim,
            samples=20_000,
            level=1 - 1e-6,
            batch=batch,
            source=Seeded(13),
        )
        assert (found.epsilon_lower > claim.epsilon_at(0)) == refuted


# -- rates --------------------------------------------------------------------------


def squared(estimates, truth):
    return float(np.mean((np.asarray(estimates) - truth) ** 2))


@pytest.mark.statistical
def test_n3_5ex_central_against_local_proportions():
    # Errors fall as 1/(nε) and as 1/(√n ε): from n to 16 n by 16 and by 4.
    source, errors = Seeded(7), {}
    oracle, noise = RandomizedResponse(0.5), Laplace.for_epsilon(0.5, sensitivity=1)
    for n in (500, 8_000):
        values = np.arange(n) < 0.3 * n
        local, central = [], []
        for _ in range(400):
            reports = oracle.encode(values, source=source)
            local.append(oracle.estimate(reports).value[1])
            central.append(noise.run(int(values.sum()), source=source) / n)
        errors[n] = math.sqrt(squared(local, 0.3)), math.sqrt(squared(central, 0.3))
        e = math.exp(0.5)
        assert errors[n][0] == pytest.approx(math.sqrt(e / n) / (e - 1), rel=0.25)
    # Ratios of standard errors of 400 runs stray by 5 %; six of these are 30 %.
    assert errors[500][0] / errors[8000][0] == pytest.approx(4, rel=0.3)
    assert errors[500][1] / errors[8000][1] == pytest.approx(16, rel=0.4)
    assert errors[8000][0] > 10 * errors[8000][1]


@pytest.mark.statistical
@pytest.mark.parametrize("moments", [2, 4])
def test_n4_t1_a_clamped_local_mean_follows_the_minimax_rate(moments):
    # X = 2T with chance (2T)^-k, else 0, has E|X|^k = 1; clamping at the balanced
    # T = (nε²)^(1/2k) leaves bias and noise of the order of the rate at every n.
    source, epsilon, constants = Seeded(8), 1.0, []
    for n in (400, 6_400, 102_400):
        top = (n * epsilon**2) ** (1 / (2 * moments))
        held = round(n * (2 * top) ** -moments)
        values = np.where(np.arange(n) < held, 2 * top, 0.0)
        mean = DuchiMean(epsilon, (-top, top))
        found = [
            mean.estimate(mean.encode(values, source=source)).value
            for _ in range(60 if n > 50_000 else 300)
        ]
        rate = minimax_mean(n, epsilon, moments, model="local")
        constants.append(squared(found, values.mean()) / rate)
    # The constant is the same at every n, up to the noise of 60 runs (18 % each).
    assert max(constants) / min(constants) < 3
    assert all(1 < each < 20 for each in constants)
