"""Least squares by K-norm gradient: the image that runs, its law, giving up."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from goodness import FALSE_ALARM
from hush.errors import InvalidArgument
from hush.learn import LeastSquaresGradient, LinearRegression
from hush.learn.features import Box
from hush.learn.mechanisms import least_squares_gradient as module
from hush.learn.mechanisms.linear_image import Image, closeness, exact_solve, solve
from hush.learn.targets import Response
from hush.noise import Lattice, Seeded


def planned(columns=1, size=4, epsilon=1.0, intercept=False, **options):
    return LeastSquaresGradient.plan(
        epsilon,
        rows=Box.of((-1, 1), columns, intercept=intercept),
        targets=Response((-1.0, 1.0)),
        size=size,
        radius=options.pop("radius", 1.0),
        **options,
    )


def line(m, x, y):
    """Chance to accept, and the law's log density up to a constant, on a line."""
    gram, right = float(x @ x) + m.penalty, float(x @ y)
    scale, r = m.perturbation.scale, m.radius

    def density(t):
        return gram * math.exp(-abs(gram * t - right) / scale) / (2 * scale)

    peak = min(max(right / gram, -r), r)
    inside = sum(integrate.quad(density, *ends)[0] for ends in ((-r, peak), (peak, r)))
    return density, inside


def test_n7_11_the_exact_loss_with_giving_up_is_within_the_claim():
    # Everything that can happen: an accepted point, or giving up before one.
    for epsilon in (0.3, 1.0, 4.0):
        m = planned(size=2, epsilon=epsilon)
        stop = module._STOP / (1 - module._STOP)
        theta = np.linspace(-1, 1, 41)
        records = list(itertools.product((-1.0, 0.0, 0.5, 1.0), (-1.0, 0.3, 1.0)))
        worst = 0.0
        for common in records[::2]:
            laws = []
            for last in records:
                x, y = (np.array(each) for each in zip(common, last, strict=True))
                density, inside = line(m, x, y)
                total = inside + float(stop)
                found = [density(t) / total for t in theta] + [float(stop) / total]
                laws.append(np.log(found))
            apart = np.array(laws)[:, None] - np.array(laws)[None]
            worst = max(worst, float(apart.max()))
        assert 0.2 * epsilon < worst <= m.curve().epsilon_at(0) <= epsilon


def test_giving_up_on_far_data_stays_within_the_claim():
    # The minimum lies far outside the set, so that only giving up is left.
    m = planned(size=100_000, epsilon=1.0, radius=0.25)
    x, y = np.ones(100_000), np.ones(100_000)
    other = x.copy()
    other[0] = -1.0
    stop = float(module._STOP / (1 - module._STOP))
    one, two = (line(m, each, y)[1] for each in (x, other))
    assert one < 1e-6
    assert abs(math.log((one + stop) / (two + stop))) <= m.curve().epsilon_at(0)
    found = m.run((x[:, None], y), source=Seeded(1))
    assert found.tolist() == [0.0]


@pytest.mark.statistical
def test_draws_on_a_line_follow_the_density():
    m = planned(size=40, epsilon=5.0)
    rng = np.random.default_rng(0)
    x = np.round(rng.uniform(-1, 1, 40) * 64) / 64
    y = np.round(rng.uniform(-1, 1, 40) * 64) / 64
    density, inside = line(m, x, y)
    source = Seeded(2)
    drawn = np.array([m.run((x[:, None], y), source=source)[0] for _ in range(1500)])
    drawn = drawn[drawn != 0]  # an accepted zero has chance below the lattice step

    def cdf(t):
        return np.array([integrate.quad(density, -1, each)[0] / inside for each in t])

    assert stats.kstest(drawn, cdf).pvalue > FALSE_ALARM
    assert stats.kstest(drawn / 1.4, cdf).pvalue < FALSE_ALARM


@pytest.mark.thin(2)
@pytest.mark.statistical
@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_gradients_of_draws_in_a_plane_follow_the_norm(norm):
    # In a wide set the norm of the gradient is a Gamma variable of shape 2.
    m = planned(columns=2, size=3000, epsilon=20.0, radius=4.0, norm=norm)
    rng = np.random.default_rng(3)
    x = np.round(rng.uniform(-1, 1, (3000, 2)) * 256) / 256
    y = np.round(np.clip(x @ [0.5, -0.3] + 0.1, -1, 1) * 256) / 256
    gram, right = x.T @ x + m.penalty * np.eye(2), x.T @ y
    source = Seeded(4)
    drawn = np.array([m.run((x, y), source=source) for _ in range(800)])
    size = np.linalg.norm(drawn @ gram - right, ord=norm, axis=1)
    law = stats.gamma(2, scale=m.perturbation.scale)
    assert stats.kstest(size, law.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(size / 1.5, law.cdf).pvalue < FALSE_ALARM


def test_images_are_certified_against_fractions():
    rng = np.random.default_rng(1)
    for seed in range(5):
        x = rng.integers(-64, 65, (30, 4)) / 64
        if seed == 4:
            x[:, 3] = x[:, 2]  # singular but for the penalty
        gram, right = x.T @ x + np.eye(4), x.T @ np.ones(30)
        image, exact = solve(gram, right), exact_solve(gram, right)
        found = closeness(image, gram, right, radius=1.0)
        true = np.array(exact.matrix.tolist(), dtype=object)
        unit = Fraction(2) ** -exact.bits
        product = [
            [
                sum(Fraction(g) * m for g, m in zip(row, column, strict=True)) * unit
                for column in true.T.tolist()
            ]
            for row in gram.tolist()
        ]
        for i, j in itertools.product(range(4), repeat=2):
            assert abs(product[i][j] - (i == j)) < Fraction(1, 10**40)
        matrix, centre = image.floats()
        rest = np.linalg.norm(np.eye(4) - gram @ matrix)
        assert rest <= found.inverse < 1e-10
        assert np.linalg.norm(gram @ centre - right) <= found.gradient < 1e-9


def test_fractions_take_over_where_floats_are_not_enough(monkeypatch):
    m = planned(columns=2, size=50, epsilon=5.0)
    rng = np.random.default_rng(2)
    data = (rng.uniform(-1, 1, (50, 2)), rng.uniform(-1, 1, 50))
    usual = m.run(data, source=Seeded(9))
    monkeypatch.setattr(module, "_FIRM", 0.0)
    precise = m.run(data, source=Seeded(9))
    assert precise == pytest.approx(usual, abs=2 * float(m.grid.step))


def test_cells_are_those_of_the_points_in_them():
    image = Image.of([[0.5, -0.25], [0.125, 0.75]], [0.1, -0.2], bits=30)
    noise, grid = Lattice(-4), Lattice(-3)
    outside = 0
    for seed in range(300):
        steps = np.random.default_rng(seed).integers(-40, 41, 2)
        found = image.cell(steps, noise, grid, Fraction(1), Seeded(seed))
        corner = np.array(list(itertools.product((-0.5, 0.5), repeat=2)))
        every = 0.0625 * (steps + corner) @ [[0.5, 0.125], [-0.25, 0.75]] + [0.1, -0.2]
        if found is None:
            outside += 1
            assert np.abs(every).sum(axis=1).max() > 1
        else:
            assert np.abs(every).sum(axis=1).min() <= 1
            low, high = every.min(axis=0), every.max(axis=0)
            point = np.array(found) / 8
            assert (point >= low - 1 / 16 - 1e-9).all()
            assert (point <= high + 1 / 16 + 1e-9).all()
    assert 50 < outside < 250


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_plans_spend_what_they_may(epsilon, norm):
    m = planned(columns=10, size=1000, epsilon=epsilon, norm=norm)
    assert 0.99 * epsilon <= m.curve().epsilon_at(0) <= epsilon
    assert m.curve(0).epsilon_at(0) == 0
    assert m.error.quantile(0.9) > 0


def test_a_model_of_many_columns():
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 10, (40_000, 12))
    y = 2 * x[:, 0] - x[:, 5] + rng.normal(size=40_000)
    model = LinearRegression(2.0, bounds=(0, 10), y_bounds=(-15, 25), method="kng")
    model.fit(x, y, source=Seeded(5))
    assert model.coef_[[0, 5]] == pytest.approx([2, -1], abs=0.3)
    assert model.score(x, y) > 0.9
    assert model.estimate_ is None


def test_no_data_make_it_fail():
    model = LinearRegression(1.0, bounds=(0, 1), y_bounds=(0, 1), method="kng")
    for x, y in [
        (np.full((5, 3), np.nan), [np.nan] * 5),
        (np.zeros((5, 3)), np.zeros(5)),
        (np.ones((5, 3)), [1e308] * 5),
    ]:
        model.fit(x, y, source=Seeded(2))
        assert np.abs(model.theta_).sum() <= 1 + 1e-3


def test_odd_arguments_are_refused():
    with pytest.raises(InvalidArgument, match="multiple"):
        LeastSquaresGradient(
            rows=Box.of((-1, 1), 1, intercept=True),
            targets=Response((-1.0, 1.0)),
            size=4,
            radius=1.0,
            penalty=math.pi,
            perturbation=planned().perturbation,
        )
    with pytest.raises(InvalidArgument, match="too small"):
        planned(epsilon=1e-6)
