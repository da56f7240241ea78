"""Principal components: moments of every pair of rows, and the plain ones in reach."""

import itertools
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn import decomposition

from hush.audit import distance
from hush.errors import InvalidArgument
from hush.learn import PCA
from hush.ledger import Budget, Ledger
from hush.mechanisms import KNorm
from hush.noise import Seeded

KINDS = {
    "box": {"bounds": (-1, 1)},
    "ball": {"norm": 2.0},
    "box, gaussian": {"bounds": (-1, 1), "delta": 1e-6},
    "ball, gaussian": {"norm": 2.0, "delta": 1e-6},
}
kinds = pytest.mark.parametrize("kind", KINDS)


def sensitivity(kind, columns):
    if kind == "box":
        return 2.0
    return 1.25 * (1 if "ball" in kind else columns)


def apart(mechanism, kind, x, y):
    """The exact distance in the norm of the noise; ℓ2 distances come squared."""
    found = distance(mechanism.inner, mechanism.exact(x), mechanism.exact(y)).value
    return float(found) if kind == "box" else math.sqrt(found)


def table(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    x = rng.normal(size=(n, 4)) * [3.0, 1.5, 0.5, 0.2] @ turn + [5, -3, 0, 1]
    return np.clip(x, -20, 20)


@kinds
@pytest.mark.parametrize("columns", [1, 2])
def test_the_sensitivity_covers_every_pair_of_rows(kind, columns):
    mechanism = PCA(epsilon=1.0, **KINDS[kind]).plan(1, columns)
    values = (-9.0, -1.0, -0.7, 0.0, 0.4, 1.0, 9.0)
    rows = [*itertools.product(values, repeat=columns), (math.nan,) * columns]
    found = np.array([mechanism.exact(np.array([row])) for row in rows])
    moved = np.abs(found[:, None] - found[None])
    largest = moved.max() if kind == "box" else np.sqrt((moved**2).sum(axis=2)).max()
    bound = sensitivity(kind, columns)
    assert 0.75 * bound < largest <= bound * (1 + 2.0**-40)


@kinds
def test_random_rows_stay_within_the_sensitivity(kind):
    rng = np.random.default_rng(0)
    mechanism = PCA(epsilon=1.0, **KINDS[kind]).plan(3, 5)
    bound = sensitivity(kind, 5) * (1 + 1e-9)
    reached = 0.0
    for _ in range(300):
        x = rng.uniform(-1.5, 1.5, (3, 5))
        y = x.copy()
        y[1] = np.sign(rng.normal(size=5)) if rng.random() < 0.5 else rng.normal(size=5)
        reached = max(reached, apart(mechanism, kind, x, y))
    assert 0.5 * bound < reached <= bound


@kinds
def test_rows_that_attain_the_bound(kind):
    # z·w = 0 with both of full length: nothing smaller would do, up to rounding.
    mechanism = PCA(epsilon=1.0, **KINDS[kind]).plan(1, 8)
    long = 2.0 if "ball" in kind else math.sqrt(8)
    c, d = -0.25, math.sqrt(1 - 0.25**2)  # x·w = -c², the constant's share
    one = np.full(8, long / math.sqrt(8))
    other = np.tile([1, -1], 4) * long / math.sqrt(8)
    pair = (one, c * one + d * other) if "ball" in kind else (one, other)
    moved = apart(mechanism, kind, *(each[None] for each in pair))
    assert moved > sensitivity(kind, 8) * (0.999 if kind != "box, gaussian" else 0.96)


@kinds
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 5.0])
def test_plans_spend_what_they_may(kind, epsilon):
    mechanism = PCA(epsilon=epsilon, **KINDS[kind]).plan(100, 20)
    delta = KINDS[kind].get("delta", 0.0)
    assert mechanism.curve().delta_at(epsilon) <= delta
    assert 0.99 * epsilon < mechanism.curve().epsilon_at(delta) <= epsilon
    assert mechanism.curve(0).epsilon_at(0) == 0
    assert mechanism.curve(2).epsilon_at(delta) > epsilon


@kinds
def test_released_moments_are_those_of_rows(kind):
    x = np.random.default_rng(1).uniform(-0.5, 0.5, (50, 3))
    mechanism = PCA(epsilon=3000.0, **KINDS[kind]).plan(50, 3)
    found = mechanism.run(x, source=Seeded(1))
    z = x / (2 if "ball" in kind else 1)
    tolerance = 10 * mechanism.std + 0.02
    assert found[:, :3] == pytest.approx(z.T @ z, abs=tolerance)
    assert found[:, 3] == pytest.approx(z.sum(axis=0), abs=3 * tolerance)
    assert (found[:, :3] == found[:, :3].T).all()


@pytest.mark.thin(3)
@pytest.mark.statistical
@kinds
def test_the_noise_has_its_stated_std(kind):
    # 3000 numbers off the diagonal; within 20 % except with chance below 1e-9.
    mechanism = PCA(epsilon=1.0, **KINDS[kind]).plan(1, 3)
    source = Seeded(2)
    zero = np.zeros((1, 3))
    drawn = np.array([mechanism.run(zero, source=source) for _ in range(1000)])
    i, j = np.triu_indices(3, 1)
    assert drawn[:, i, j].std() == pytest.approx(mechanism.std, rel=0.2)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("public", [{"bounds": (-20, 20)}, {"norm": 25.0}], ids=str)
def test_with_many_rows_it_is_the_plain_one(delta, public):
    x = table()
    model = PCA(epsilon=3.0, delta=delta, n_components=2, **public)
    model.fit(x, source=Seeded(1))
    plain = decomposition.PCA(2).fit(x)
    assert np.abs(np.sum(model.components_ * plain.components_, axis=1)) == (
        pytest.approx(1, abs=0.01)
    )
    assert model.mean_ == pytest.approx(plain.mean_, abs=0.2)
    assert model.explained_variance_ == pytest.approx(
        plain.explained_variance_, rel=0.1, abs=0.5
    )
    ratio = plain.explained_variance_ratio_
    assert model.explained_variance_ratio_ == pytest.approx(ratio, abs=0.1)
    assert model.components_ @ model.components_.T == pytest.approx(np.eye(2), abs=1e-9)
    coordinates = model.transform(x)
    assert coordinates.shape == (20_000, 2)
    back = model.inverse_transform(coordinates)
    assert np.mean((back - x) ** 2) < 0.2
    assert list(model.get_feature_names_out()) == ["pca0", "pca1"]


@kinds
def test_it_exists_whatever_the_data(kind):
    tables = [np.full((4, 2), math.nan), np.full((4, 2), 1e308), np.zeros((1, 2))]
    for seed, x in enumerate(tables):
        for epsilon in (1e-3, 100.0):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                model = PCA(epsilon=epsilon, **KINDS[kind]).fit(x, source=Seeded(seed))
                assert np.isfinite(model.transform(x)).all()
            assert np.isfinite(model.components_).all()
            assert (model.explained_variance_ >= 0).all()
            assert model.explained_variance_ratio_.sum() <= 1 + 1e-9


def test_columns_of_different_widths_keep_their_units():
    x = table()[:, :2] * [1.0, 0.01]
    model = PCA(epsilon=100.0, bounds=([-20, -0.2], [20, 0.2])).fit(x, source=Seeded(1))
    plain = decomposition.PCA().fit(x)
    assert model.explained_variance_ == pytest.approx(
        plain.explained_variance_, rel=0.01
    )
    flat = PCA(epsilon=1.0, bounds=([-20, 3], [20, 3])).fit(x, source=Seeded(1))
    assert flat.components_[0].tolist() == [1, 0]
    assert flat.mean_[1] == 3
    with pytest.raises(InvalidArgument, match="bounds"):
        PCA(epsilon=1.0, bounds=(-1e200, 1e200)).plan(10, 2)


def test_a_ledger_pays():
    ledger = Ledger.open("memory://", budget=Budget(epsilon=1))
    model = PCA(epsilon=0.6, bounds=(-20, 20)).fit(table(100), ledger=ledger)
    assert ledger.remaining().epsilon == pytest.approx(0.4, abs=0.001)
    assert model.release_.receipt.neighbors == "replace-one"


def test_parts_that_do_not_fit_are_refused():
    good = PCA(epsilon=1.0, bounds=(-1, 1)).plan(10, 2)
    with pytest.raises(InvalidArgument, match="inner must be K-norm noise"):
        replace(good, inner=KNorm(1.0, 5, 2))
    with pytest.raises(InvalidArgument, match="columns"):
        replace(good, columns=3)
    with pytest.raises(InvalidArgument, match="data must be 10 rows of 2 columns"):
        good.run(np.zeros((9, 2)))
    with pytest.raises(InvalidArgument, match="n_components"):
        PCA(epsilon=1.0, bounds=(-1, 1), n_components=3).plan(10, 2)
    with pytest.raises(InvalidArgument, match="either norm"):
        PCA(epsilon=1.0).plan(10, 2)
