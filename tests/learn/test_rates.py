"""How fast the error of privacy falls with the number of people."""

import math

import numpy as np
import pytest
from scipy import optimize

from hush.learn import (
    LinearRegression,
    LogisticRegression,
    QuantileRegression,
    SubsampleAggregate,
)
from hush.learn.mechanisms.certified_solver import Objective, minimize
from hush.noise import Seeded


def data(n):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (n, 2))
    chance = 1 / (1 + np.exp(-(2 * x[:, 0] - x[:, 1] + 0.3)))
    return x, (rng.uniform(size=n) < chance).astype(int)


def minimum(mechanism, x, y, penalty):
    """The minimum without noise, at any penalty."""
    mapped, signs = mechanism.rows.map(x), 2.0 * y - 1
    objective = Objective(
        mechanism.loss, mapped, signs, penalty, np.zeros(3), math.sqrt(3)
    )
    return np.array([float(t) for t in minimize(objective, 1e-9)])


@pytest.mark.statistical
def test_n6_2_noise_and_bias_both_fall_as_one_over_n():
    # 24 draws per size with fixed seeds; the slopes are -1 up to curvature.
    sizes, noise, bias = [1000, 4000, 16_000], [], []
    for n in sizes:
        x, y = data(n)
        mechanism = LogisticRegression(1.0, bounds=(-1, 1), classes=(0, 1)).plan(n, 2)
        kept = minimum(mechanism, x, y, mechanism.penalty)
        bias.append(np.linalg.norm(kept - minimum(mechanism, x, y, 1e-6)))
        runs = [mechanism.run((x, y), source=Seeded(i)) for i in range(24)]
        noise.append(np.mean([np.linalg.norm(run - kept) for run in runs]))
    for errors in (noise, bias):
        slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
        assert slope == pytest.approx(-1, abs=0.1)


@pytest.mark.statistical
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_error_bound_holds_for_all_data(delta):
    # Zero rows are the worst data: the bound is then nearly attained. 300 runs miss a
    # 90 % bound more than 66 times with chance below 1e-9.
    model = LogisticRegression(
        1.0, norm=1.0, fit_intercept=False, delta=delta, classes=(0, 1)
    )
    mechanism = model.plan(4, 2)
    zero = (np.zeros((4, 2)), [0, 1, 0, 1])
    runs = np.array([mechanism.run(zero, source=Seeded(i)) for i in range(300)])
    size = np.linalg.norm(runs, axis=1)
    missed = int((size > mechanism.error.quantile(0.9)).sum())
    assert missed <= 66
    assert (size > mechanism.error.quantile(0.9) / 4).mean() > 0.2


SIZES = [500, 2000, 8000]


class LogisticSlope:
    """The slope of a logistic regression without a constant, penalised by θ²/2."""

    def __call__(self, x, y):
        slope, x = 0.0, x[:, 0]
        for _ in range(12):
            p = 1 / (1 + np.exp(-slope * x))
            step = (x @ (y - p) - slope) / ((x * x * p * (1 - p)).sum() + 1)
            slope += min(max(step, -1), 1)
            if abs(step) < 1e-10:
                break
        return slope


BOX = {"bounds": (-1, 1), "y_bounds": (-1, 1)}


def rows(n):
    rng = np.random.default_rng(n)
    x = rng.uniform(-1, 1, (n, 1))
    return x, np.clip(0.3 * x[:, 0] + 0.1 + 0.2 * rng.normal(size=n), -1, 1)


def slope_of(model, truth, runs=40, sizes=SIZES):
    """The power of n with which private answers approach those without privacy."""
    errors = []
    for n in sizes:
        x, y = rows(n)
        mechanism, best = model.plan(n, 1), truth(x, y)
        found = [mechanism.run((x, y), source=Seeded(i)) for i in range(runs)]
        errors.append(np.sqrt(np.mean([np.sum((f - best) ** 2) for f in found])))
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0], errors


def least_squares(x, y):
    return np.linalg.lstsq(np.column_stack([x, np.ones(len(x))]), y, rcond=None)[0]


# Each point is a mean over 40 runs, good to about 10 %, over a factor 16 of n: slopes
# scatter by 0.05, and seeds are fixed.
@pytest.mark.slow
@pytest.mark.statistical
def test_n7_12_the_gradient_mechanism_errs_as_one_over_n():
    linear = LinearRegression(2.0, method="kng", **BOX)
    assert slope_of(linear, least_squares)[0] == pytest.approx(-1, abs=0.2)

    def quantiles(x, y):
        z = np.column_stack([x, np.ones(len(x))])
        best = optimize.linprog(
            np.concatenate([np.zeros(4), np.full(2 * len(x), 0.5)]),
            A_eq=np.column_stack([z, -z, np.eye(len(x)), -np.eye(len(x))]),
            b_eq=y,
        ).x
        return best[:2] - best[2:4]

    quantile = QuantileRegression(2.0, **BOX)
    slope, _ = slope_of(quantile, quantiles, sizes=SIZES[:2])
    assert slope == pytest.approx(-1, abs=0.3)


@pytest.mark.slow
@pytest.mark.statistical
def test_n7_10_the_exponential_mechanism_errs_as_one_over_root_n():
    model = LinearRegression(2.0, method="exponential", **BOX)
    slope, errors = slope_of(model, least_squares)
    assert slope == pytest.approx(-0.5, abs=0.15)
    # The limit law: covariance scale·(Σ xx')⁻¹, here of diag(n/3, n).
    scale = model.plan(8000, 1).scale
    assert errors[-1] == pytest.approx(math.sqrt(scale * 4 / 8000), rel=0.3)


LOGISTIC = LogisticSlope()
STATISTICS = {  # name: (function of rows and targets, bounds, σ of √n·(T - T(P)))
    "mean": (lambda x, _: x.mean(), (-10, 10), 1.0),
    "median": (lambda x, _: np.median(x), (-10, 10), 1.2533),
    "variance": (lambda x, _: x.var(), (0, 10), math.sqrt(2)),
    "logistic slope": (LOGISTIC, (-10, 10), 2.35),
}


def price(name, n, runs, **options):
    """rms(M - T)·√n over σ: what privacy costs, where sampling costs 1."""
    function, bounds, sigma = STATISTICS[name]
    errors = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, 1))
        y = (rng.uniform(size=n) < 1 / (1 + np.exp(-x[:, 0]))).astype(float)
        model = SubsampleAggregate(function, **{"bounds": bounds, **options})
        private = model.fit(x, y, source=Seeded(seed)).value_[0]
        errors.append((private - function(x, y)) * math.sqrt(n) / sigma)
    return float(np.sqrt(np.mean(np.square(errors))))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("mean", 0.9, 2.4), ("median", 0.9, 3.2), ("variance", 0.8, 2.6)],
)
def test_n8_rate_small_data_pay_what_the_noise_costs(name, least, most):
    # 200 blocks and ε = 1: noise of √2·6.1/(0.5·√200) = 1.2 of the sampling error, and
    # what medians and variances of 20 rows are off. 40 runs are good to a quarter, so
    # that noise left out, or twice as much, is seen.
    assert least < price(name, 4000, runs=40) < most


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("bounded", [True, False])
def test_n8_rate_privacy_costs_ever_less_than_sampling(name, bounded):
    # N Theorem 8.2: √n·(M - T) goes to zero. 24 runs are good to a third.
    more = {} if bounded else {"bounds": None}
    costs = [price(name, n, runs=24, **more) for n in (16_000, 100_000, 1_000_000)]
    assert costs[1] <= 1.0
    assert costs[2] <= 0.5
    slope = np.polyfit(np.log([16_000, 100_000, 1_000_000]), np.log(costs), 1)[0]
    assert -0.8 < slope < -0.1
    assert costs[2] > 0.1
