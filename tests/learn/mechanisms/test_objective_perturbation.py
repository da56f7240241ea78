"""Objective perturbation against its exact law, in one dimension and in several."""

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

from goodness import FALSE_ALARM, p_value
from hush.errors import InvalidArgument, NoBound
from hush.learn.features import Ball, Box
from hush.learn.losses import HuberHinge, LogCosh, Logistic, Poisson
from hush.learn.mechanisms.objective_noise import KNormNoise
from hush.learn.mechanisms.objective_perturbation import ObjectivePerturbation
from hush.learn.targets import Classes, Counts, Response
from hush.noise import Seeded
from learn.ideal import gradient, log_density, logistic_curvature, logistic_slope

CLASSES = Classes((0, 1))


def line(bound, epsilon, size, delta=0.0, tail=math.inf, **options):
    """A logistic mechanism with one coefficient and no constant."""
    return ObjectivePerturbation.plan(
        epsilon,
        delta=delta,
        loss=Logistic(tail),
        rows=Ball(bound, intercept=False),
        targets=CLASSES,
        size=size,
        columns=1,
        **options,
    )


def neighbors(bound, size):
    """All pairs of small data sets that differ in their last record."""
    records = list(itertools.product((-bound, 0.0, 0.3 * bound, bound), (-1.0, 1.0)))
    for common in itertools.combinations_with_replacement(records, size - 1):
        for one, other in itertools.permutations(records, 2):
            first, second = (np.array([*common, each]) for each in (one, other))
            yield first.T, second.T


def largest_loss(mechanism, bound, penalty, tail=math.inf):
    """The exact privacy loss of the ideal release over small data sets."""
    reach = 40 / min(bound, 1) if bound <= 1 else 40.0
    fine = np.concatenate([[0], np.geomspace(1e-6, reach, 400)])
    theta = np.concatenate([-fine[::-1], fine])
    scale, worst = mechanism.perturbation.scale, 0.0
    for (x, y), (u, v) in neighbors(bound, mechanism.size):
        one = log_density(x, y, penalty, scale, theta, tail=tail)
        two = log_density(u, v, penalty, scale, theta, tail=tail)
        worst = max(worst, float(np.max(one - two)))
    return worst


@pytest.mark.thin(2)
@pytest.mark.parametrize("bound", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_n6_1_the_exact_loss_on_a_line_is_within_the_claim(bound, epsilon):
    mechanism = line(bound, epsilon, size=2)
    loss = largest_loss(mechanism, bound, mechanism.penalty)
    assert mechanism.curve().epsilon_at(0) <= epsilon
    # On a line two gradients differ by one row's bound, in more dimensions by two.
    assert 0.4 * epsilon < loss <= mechanism.curve().epsilon_at(0)


@pytest.mark.parametrize("tail", [0.0, 0.5, 3.0])
def test_the_exact_loss_with_straight_tails_is_within_the_claim(tail):
    mechanism = line(1.0, 1.0, size=2, tail=tail)
    assert mechanism.loss.slope_bound == pytest.approx(special.expit(tail))
    loss = largest_loss(mechanism, 1.0, mechanism.penalty, tail)
    assert 0.3 < loss <= mechanism.curve().epsilon_at(0)
    assert mechanism.perturbation.scale < line(1.0, 1.0, size=2).perturbation.scale


def test_a_curvature_linear_in_the_norm_is_caught_by_the_exact_loss():
    # A peer takes 0.25·B for 0.25·B²: at B = 100 its loss is several times the claim.
    mechanism = line(100.0, 1.0, size=2)
    loss = largest_loss(mechanism, 100.0, mechanism.penalty / 100)
    assert loss > 2


@pytest.mark.parametrize("shape", ["ball", "box"])
def test_the_exact_loss_in_a_plane_is_within_the_claim(shape):
    rng = np.random.default_rng(7)
    ball = shape == "ball"
    rows = Ball(1.0, intercept=False) if ball else Box.of((-1, 1), 2, intercept=False)
    m = ObjectivePerturbation.plan(
        1.0, loss=Logistic(), rows=rows, targets=CLASSES, size=3, columns=2
    )
    order, scale = rows.noise_norm, m.perturbation.scale
    theta = rng.normal(size=(4000, 2)) * np.geomspace(1e-3, 300, 4000)[:, None]

    def log_p(x, y):
        b = gradient(logistic_slope, x, y, m.penalty, theta)
        c = logistic_curvature(theta @ x.T, y)
        h = np.einsum("nk,ki,kj->nij", c, x, x) + m.penalty * np.eye(2)
        return -np.linalg.norm(b, ord=order, axis=1) / scale + np.log(np.linalg.det(h))

    worst = 0.0
    for _ in range(150):
        x = rng.normal(size=(4, 2)) * rng.choice([0.0, 1.0, 9.0], (4, 1))
        x = x / np.maximum(np.linalg.norm(x, ord=order, axis=1, keepdims=True), 1)
        y = rng.choice([-1.0, 1.0], 4)
        one, two = log_p(x[[0, 1, 2]], y[[0, 1, 2]]), log_p(x[[0, 1, 3]], y[[0, 1, 3]])
        worst = max(worst, float(np.abs(one - two).max()))
    assert 0.3 < worst <= m.curve().epsilon_at(0)


def test_a_curve_knows_every_part_of_its_cost():
    m = line(2.0, 1.0, size=50)
    length = 2 * (1 + 2.0**-40)
    noise = 2 * length / m.perturbation.scale
    bend = math.log1p(0.25 * length**2 / m.penalty)
    cover = 2 * m.radius / m.cover.scale
    assert m.curve().epsilon_at(0) == pytest.approx(noise + bend + cover, rel=1e-6)
    assert m.curve().epsilon_at(0) >= noise + bend + cover
    assert m.curve(3).epsilon_at(0) == pytest.approx(3 * m.curve().epsilon_at(0))
    assert m.curve(0).epsilon_at(0) == 0


@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_the_gaussian_profile_covers_the_exact_one_on_a_line(delta):
    mechanism = line(1.0, 1.0, size=2, delta=delta)
    curve, std = mechanism.curve(), mechanism.perturbation.std
    assert curve.delta_at(1.0) <= delta
    theta = np.linspace(-60, 60, 4001) * std / mechanism.penalty / 4
    worst = dict.fromkeys((0.0, 0.3, 1.0), 0.0)
    for (x, y), (u, v) in neighbors(1.0, 2):
        one = log_density(x, y, mechanism.penalty, std, theta, power=2)
        two = log_density(u, v, mechanism.penalty, std, theta, power=2)
        p, q = np.exp(one - one.max()), np.exp(two - two.max())
        p, q = p / p.sum(), q / q.sum()
        for epsilon in worst:
            found = np.maximum(p - math.exp(epsilon) * q, 0).sum()
            worst[epsilon] = max(worst[epsilon], found)
    for epsilon, exact in worst.items():
        assert exact <= curve.delta_at(epsilon)
    assert worst[0.0] > 0.05 * curve.delta_at(0.0)


def test_the_gaussian_profile_covers_a_plane():
    # Two orthogonal rows turn the gradients' difference as θ moves: the loss is
    # no Gaussian. Mean and bound of 2e5 draws, false alarm below 1e-9 (6 sigma).
    rng = np.random.default_rng(3)
    std, penalty = 2.0, 1.0
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.6, 0.8]])
    other = np.array([[1.0, 0.0], [1.0, 0.0], [-0.8, 0.6]])
    y, w = np.array([1.0, -1.0, 1.0]), np.array([1.0, -1.0, -1.0])
    theta = rng.normal(size=(200_000, 2)) * 3
    proposal = stats.multivariate_normal(cov=9 * np.eye(2)).logpdf(theta)

    def log_p(rows, y):
        b = gradient(logistic_slope, rows, y, penalty, theta)
        c = logistic_curvature(theta @ rows.T, y)
        h = np.einsum("nk,ki,kj->nij", c, rows, rows) + penalty * np.eye(2)
        normal = stats.multivariate_normal(cov=std**2 * np.eye(2))
        return normal.logpdf(b) + np.log(np.linalg.det(h))

    one, two = log_p(rows, y), log_p(other, w)
    mechanism = ObjectivePerturbation.plan(
        3.0,
        delta=1e-5,
        loss=Logistic(),
        rows=Ball(1.0, intercept=False),
        targets=CLASSES,
        size=3,
        columns=2,
    )
    noise = type(mechanism.perturbation)(std)
    bend = math.log1p(0.25 / penalty)
    for epsilon in (0.3, 0.6, 1.0):
        terms = np.exp(one - proposal) * np.maximum(-np.expm1(epsilon - (one - two)), 0)
        low = terms.mean() - 6 * terms.std() / math.sqrt(len(terms))
        assert low <= noise.delta(epsilon - bend, 2.0, 2)
        assert terms.mean() > 0


def draws(mechanism, data, count):
    return np.array([mechanism.run(data, source=Seeded(i)) for i in range(count)])


def uniform_cells(u, cells=20):
    found = np.bincount(np.minimum((u * cells).astype(int), cells - 1), minlength=cells)
    return p_value(found, np.full(cells, len(u) / cells))


@pytest.mark.thin(2)
@pytest.mark.statistical
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_runs_have_the_ideal_law_on_a_line(factor):
    m = line(1.0, 1.0, size=3)
    rows, labels = np.array([[1.0], [-0.4], [0.9]]), [1, 1, 0]
    theta = draws(m, (rows, labels), 1500)
    y = np.array([1.0, 1.0, -1.0])
    b = gradient(logistic_slope, rows, y, factor * m.penalty, theta)[:, 0]
    u = stats.laplace.cdf(b / m.perturbation.scale)
    assert (uniform_cells(u) > FALSE_ALARM) == (factor == 1.0)


BALL, BOX = Ball(1.0), Box.of((-1, 1), 2, intercept=True)


@pytest.mark.thin(2)
@pytest.mark.thin(2)
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("rows", "delta"),
    [(BALL, 0.0), (BOX, 0.0), (BALL, 1e-4)],
    ids=["ball", "box", "gaussian"],
)
def test_runs_have_the_ideal_law_in_space(rows, delta):
    # The noise is recovered from each answer by the gradient of the true objective.
    rng = np.random.default_rng(1)
    x, labels = rng.uniform(-1, 1, (40, 2)), rng.integers(0, 2, 40)
    m = ObjectivePerturbation.plan(
        1.0,
        delta=delta,
        loss=Logistic(),
        rows=rows,
        targets=CLASSES,
        size=40,
        columns=2,
    )
    mapped, y = rows.map(x), 2.0 * labels - 1
    noise = -gradient(logistic_slope, mapped, y, m.penalty, draws(m, (x, labels), 800))
    if delta:
        std = m.perturbation.std
        u = stats.chi2.cdf((noise**2).sum(axis=1) / std**2, 3)
    else:
        size = np.linalg.norm(noise, ord=rows.noise_norm, axis=1)
        u = special.gammainc(3, size / m.perturbation.scale)
    assert uniform_cells(u) > FALSE_ALARM
    signs = (noise > 0) @ np.array([1, 2, 4])
    cells = np.bincount(signs, minlength=8)
    assert p_value(cells, np.full(8, 100.0)) > FALSE_ALARM


@pytest.mark.parametrize(
    ("loss", "targets"),
    [
        (Logistic(), CLASSES),
        (Logistic(tail=0.5), CLASSES),
        (HuberHinge(0.25), CLASSES),
        (LogCosh(0.5), Response((0.0, 1.0))),
        (Poisson(7.0), Counts(7.0)),
    ],
    ids=["logistic", "tails", "hinge", "log-cosh", "poisson"],
)
def test_losses_keep_their_bounds(loss, targets):
    z = np.linspace(-30, 30, 20_001)
    for y in targets.map([0, 1, 0.6, 99])[0].tolist():
        given = np.full_like(z, y)
        value, slope = loss.value(z, given), loss.slope(z, given)
        bend = loss.curvature(z, given)
        assert np.abs(slope).max() <= loss.slope_bound
        assert 0 <= bend.min() <= bend.max() <= loss.curvature_bound
        step = z[1] - z[0]
        middle = (slope[1:] + slope[:-1]) / 2
        assert np.diff(value) / step == pytest.approx(middle, abs=1e-2)
        ratio = np.diff(slope) / step
        assert ratio.min() >= -1e-9
        assert ratio.max() <= loss.curvature_bound * (1 + 1e-9)


def test_answers_lie_on_a_lattice_that_data_cannot_move():
    m = line(1.0, 1.0, size=4)
    step = float(m.cover.grid.step)
    for factor in (1.0, 2.0**30):
        rows = factor * np.array([[1.0], [-0.3], [0.2], [0.9]])
        answer = m.run((rows, [0, 1, 1, 0]), source=Seeded(5))
        assert answer[0] / step == round(answer[0] / step)


def test_a_large_epsilon_leaves_an_exact_answer():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 1))
    y = (rng.uniform(size=400) < special.expit(2 * x[:, 0])).astype(int)
    m = line(1.0, 900.0, size=400)
    runs = [m.run((x, y), source=Seeded(i))[0] for i in range(20)]
    assert np.std(runs) < 1e-3
    assert m.curve().epsilon_at(0) <= 900


def test_what_has_no_guarantee_is_refused():
    m = line(1.0, 1.0, size=4, delta=1e-6)
    with pytest.raises(NoBound, match="one row"):
        m.curve(2)
    with pytest.raises(InvalidArgument, match="norm that bounds"):
        ObjectivePerturbation(
            loss=Logistic(),
            rows=BALL,
            targets=CLASSES,
            size=2,
            columns=2,
            penalty=1.0,
            perturbation=KNormNoise(1.0, math.inf),
            cover=KNormNoise(1.0, math.inf),
        )
    with pytest.raises(InvalidArgument, match="4 rows of 1 columns"):
        m.run((np.zeros((3, 1)), [0, 1, 0]))


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [0.0, 1e-8])
@pytest.mark.parametrize("columns", [1, 40])
def test_plans_spend_what_they_may_and_hardly_less(epsilon, delta, columns):
    for rows in (Ball(3.0), Box.of((0, 9), columns, intercept=True)):
        m = ObjectivePerturbation.plan(
            epsilon,
            delta=delta,
            loss=Logistic(),
            rows=rows,
            targets=CLASSES,
            size=1000,
            columns=columns,
        )
        assert 0.999 * epsilon <= m.curve().epsilon_at(delta) <= epsilon
