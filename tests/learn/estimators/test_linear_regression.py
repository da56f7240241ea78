"""Linear regression: moments searched exhaustively, answers in simulation."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hush.errors import InvalidArgument
from hush.learn import LinearRegression, Moments
from hush.learn.estimators.linear_regression import noise_of_scores
from hush.learn.features import Box
from hush.learn.targets import Response
from hush.mechanisms import KNorm
from hush.noise import Seeded


def moments(columns, size, epsilon=1.0, delta=0.0):
    return Moments.plan(
        epsilon,
        delta=delta,
        rows=Box.of((-1, 1), columns, intercept=True),
        targets=Response((-1.0, 1.0)),
        size=size,
    )


@pytest.mark.parametrize("columns", [1, 2])
def test_n3_8_the_joint_sensitivity_covers_every_pair_of_rows(columns):
    values = (-1.0, -0.5, 0.0, 0.7, 1.0) if columns == 1 else (-1.0, 0.0, 1.0)
    pure, gaussian = moments(columns, 1), moments(columns, 1, delta=1e-6)
    rows = [*itertools.product(values, repeat=columns + 1)]
    rows.append((math.nan,) * columns + (0.0,))

    def moved(mechanism):
        found = np.array([mechanism.exact(([r[:-1]], [r[-1]])) for r in rows])
        return found[:, None] - found[None]

    assert np.abs(moved(pure)).max(axis=(0, 1)).tolist() == [2.0] * pure.inner.dimension
    m = columns + 2
    largest = np.sqrt((moved(gaussian) ** 2).sum(axis=2)).max()
    assert 0.9 * m <= largest <= math.sqrt(m * m + (m - 1) / 2)
    assert pure.curve().epsilon_at(0) <= 1
    assert gaussian.curve().delta_at(1.0) <= 1e-6


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 5.0])
@pytest.mark.parametrize("columns", [1, 30])
def test_plans_of_moments_spend_what_they_may(epsilon, columns):
    pure = moments(columns, 100, epsilon).curve().epsilon_at(0)
    assert 0.999 * epsilon <= pure <= epsilon
    gaussian = moments(columns, 100, epsilon, delta=1e-6).curve()
    assert gaussian.delta_at(epsilon) <= 1e-6
    assert gaussian.delta_at(0.99 * epsilon) > 1e-6


def test_the_sums_are_exact():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1.2, 1.2, (500, 2)), rng.uniform(-1, 1, 500)
    found = moments(2, 500).exact((x, y))
    z = np.column_stack([np.clip(x, -1, 1), np.ones(500), y])
    z = [[Fraction(round(v * 2**14), 2**14) for v in row] for row in z.tolist()]
    pairs = [(i, j) for i in range(4) for j in range(i, 4) if (i, j) != (2, 2)]
    for (i, j), value in zip(pairs, found.tolist(), strict=True):
        assert Fraction(value) == sum(r[i] * r[j] for r in z) * (2 if i == j else 1)


def test_released_moments_are_symmetric_and_know_the_size():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (50, 2)), rng.uniform(-1, 1, 50)
    for delta in (0.0, 1e-3):
        mechanism = moments(2, 50, epsilon=300.0, delta=delta)
        gram = mechanism.run((x, y), source=Seeded(1))
        z = np.column_stack([x, np.ones(50), y])
        assert (gram == gram.T).all()
        assert gram == pytest.approx(z.T @ z, abs=6 * mechanism.std + 0.01)


@pytest.mark.statistical
def test_the_noise_on_each_moment_has_its_stated_std():
    # 4000 variances; each lies within 20 % except with chance below 1e-9.
    mechanism = moments(1, 1)
    zero = ([[0.0]], [0.0])
    drawn = np.array([mechanism.run(zero, source=Seeded(i)) for i in range(2000)])
    for i, j, factor in [(0, 1, 1.0), (0, 2, 1.0), (0, 0, 0.5), (2, 2, 0.5)]:
        std = factor * mechanism.std
        assert drawn[:, i, j].std() == pytest.approx(std, rel=0.2)
        assert isinstance(mechanism.inner, KNorm)


def made(rng, size, columns, kind):
    x = rng.uniform(-1, 1, (size, columns))
    if kind == "correlated":
        x[:, 1] = 0.8 * x[:, 0] + 0.2 * x[:, 1]
    beta = np.array([0.32, -0.24, 0.08])[:columns]
    return x, x @ beta + rng.uniform(-0.15, 0.15, size), beta


def around_a_ridge(mechanism, gram):
    """Return ends of the twin: shrunken coefficients, and errors that forget it."""
    inner, cross = gram[:-1, :-1], gram[:-1, -1]
    ridge = 2 * math.sqrt(len(cross)) * mechanism.std
    inverse = np.linalg.inv(inner + ridge * np.eye(len(cross)))
    theta = inverse @ cross
    spread = inverse @ noise_of_scores(mechanism, theta) @ inverse
    reach = 1.96 * np.sqrt(np.diag(spread))
    return (theta - reach)[:-1], (theta + reach)[:-1]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("size", "columns", "delta", "kind"),
    [
        (400, 2, 0.0, "even"),
        (2_000, 1, 0.0, "even"),
        (2_000, 2, 0.0, "even"),
        (5_000, 3, 1e-6, "even"),
        (20_000, 2, 0.0, "correlated"),
    ],
)
def test_standard_errors_cover_the_truth(size, columns, delta, kind):
    # 400 fits at 0.94 to 0.97, the first slope of each: each side fails wrongly with a
    # chance below 1e-9. The twin, centred on shrunken ones, is caught.
    rng, hits, shrunken = np.random.default_rng(5), 0, 0
    floor = stats.binom.ppf(1e-9, 400, 0.94)
    for i in range(400):
        x, y, beta = made(rng, size, columns, kind)
        model = LinearRegression(
            1.0, delta=delta, bounds=(-1, 1), y_bounds=(-1, 1), method="statistics"
        )
        model.fit(x, y, source=Seeded(i))
        low, high = model.estimate_.interval(0.95)
        hits += low[0] <= beta[0] <= high[0]
        low, high = around_a_ridge(model.mechanism_, model.moments_)
        shrunken += low[0] <= beta[0] <= high[0]
    assert floor <= hits <= stats.binom.isf(1e-9, 400, 0.97)
    if size == 400:
        assert shrunken < floor


def test_noise_of_the_scores_is_that_of_enumeration():
    # Every entry of the noise of the moments, one at a time, in units of its std.
    for delta in (0.0, 1e-6):
        mechanism = moments(2, 500, delta=delta)
        theta, covariance = np.array([0.3, -0.5, 0.2]), np.zeros((3, 3))
        for i, j in itertools.combinations_with_replacement(range(4), 2):
            if (i, j) in ((2, 2), (3, 3)):
                continue  # the number of rows is public; squares of y are in no score
            noise = np.zeros((4, 4))
            noise[i, j] = noise[j, i] = mechanism.std
            if i == j:
                noise /= mechanism.squares
            moved = noise[:-1, -1] - noise[:-1, :-1] @ theta
            covariance += np.outer(moved, moved)
        assert noise_of_scores(mechanism, theta) == pytest.approx(covariance)


def test_where_noise_hides_the_columns_nothing_is_said_of_a_slope():
    rng = np.random.default_rng(6)
    x, y, _ = made(rng, 60, 2, "even")
    model = LinearRegression(1.0, bounds=(-1, 1), y_bounds=(-1, 1), method="statistics")
    model.fit(x, y, source=Seeded(1))
    assert np.isfinite(model.estimate_.value).all()
    low, high = model.estimate_.interval(0.95)
    assert (low == -math.inf).all()
    assert (high == math.inf).all()


@pytest.mark.parametrize("method", ["objective", "statistics"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_linear_regression_finds_slopes(method, delta):
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 10, (20_000, 2))
    y = 3 * x[:, 0] - x[:, 1] + 5 + rng.normal(size=20_000)
    model = LinearRegression(
        2.0, delta=delta, bounds=(0, 10), y_bounds=(-10, 40), method=method
    )
    model.fit(x, y, source=Seeded(1))
    assert model.coef_ == pytest.approx([3, -1], abs=0.2)
    assert model.intercept_ == pytest.approx(5, abs=1)
    assert model.score(x, y) > 0.97
    assert model.predict(x[:5]) == pytest.approx(x[:5] @ model.coef_ + model.intercept_)
    assert model.curve_.delta_at(2.0) <= delta


@pytest.mark.parametrize("method", ["objective", "statistics"])
def test_no_data_make_it_fail(method):
    model = LinearRegression(0.01, bounds=(0, 1), y_bounds=(0, 1), method=method)
    for x, y in [
        (np.full((5, 3), np.nan), [np.nan] * 5),
        (np.zeros((5, 3)), np.zeros(5)),
        (np.full((5, 3), np.inf), [1e308] * 5),
        ([["a", None, 1]], ["b"]),
    ]:
        model.fit(x, y, source=Seeded(2))
        assert np.isfinite(model.coef_).all()


def test_what_is_not_public_is_asked_for():
    x = np.zeros((4, 1))
    with pytest.raises(InvalidArgument, match="y_bounds"):
        LinearRegression(bounds=(0, 1)).fit(x, x[:, 0])
    with pytest.raises(InvalidArgument, match="norm"):
        LinearRegression(y_bounds=(0, 1)).fit(x, x[:, 0])
    with pytest.raises(InvalidArgument, match="method"):
        LinearRegression(bounds=(0, 1), y_bounds=(0, 1), method="mcmc").fit(x, x[:, 0])


@pytest.mark.parametrize("columns", [2, 25])
def test_estimates_are_printed_by_the_names_of_the_columns(columns):
    import pandas

    names = [f"column {i}" for i in range(columns)]
    x = np.sin(np.arange(300.0 * columns)).reshape(300, columns)
    model = LinearRegression(9.0, bounds=(-1, 1), y_bounds=(-1, 1), method="statistics")
    model.fit(pandas.DataFrame(x, columns=names), x[:, 0], source=Seeded(1))
    shown = str(model.estimate_).split("\n")
    for line, name in zip(shown[1:21], names, strict=False):
        assert line.endswith(f"  {name}")
    assert len(shown) == 1 + (columns if columns <= 20 else 21)
    assert columns <= 20 or shown[-1] == "... and 5 more"
    plain = model.fit(x, x[:, 0], source=Seeded(1)).estimate_
    assert [line.partition("  column")[0] for line in shown] == str(plain).split("\n")
