"""Linear regression: moments searched exhaustively, answers in simulation."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from hush.errors import InvalidArgument
from hush.learn import LinearRegression, Moments
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


@pytest.mark.statistical
def test_standard_errors_cover_the_truth():
    # 150 fits of two slopes: 95 % intervals miss 5 %; above 15 % has chance < 1e-7.
    rng = np.random.default_rng(5)
    missed, spread = 0, []
    for i in range(150):
        x = rng.uniform(-1, 1, (20_000, 2))
        y = x @ [0.4, -0.3] + rng.uniform(-0.2, 0.2, 20_000)
        model = LinearRegression(
            1.0, bounds=(-1, 1), y_bounds=(-1, 1), method="statistics"
        )
        model.fit(x, y, source=Seeded(i))
        low, high = model.estimate_.interval(0.95)
        missed += int(((low > [0.4, -0.3]) | (high < [0.4, -0.3])).sum())
        spread.append(float(model.estimate_.std[0]))
    assert missed <= 45
    assert max(spread) < 0.02


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
