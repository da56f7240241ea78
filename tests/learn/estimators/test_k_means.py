"""k-means: composed steps, rows that move alone, and centres that are found."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

from hush.audit import replay
from hush.errors import InvalidArgument
from hush.learn import KMeans
from hush.learn.estimators.k_means import (
    moved_centres,
    nearest,
    restarted_centres,
    spread_points,
)
from hush.ledger import Budget, Ledger
from hush.noise import Seeded
from hush.privacy import repeat

CENTERS = np.array([[0.2, 0.3], [0.8, 0.7], [0.7, 0.2]])


def blobs(n=9000, seed=0):
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 3, n)
    return CENTERS[place] + 0.05 * rng.normal(size=(n, 2)), place


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_centres_are_found(delta):
    x, place = blobs()
    model = KMeans(3, epsilon=1.0, delta=delta, bounds=(0, 1)).fit(x, source=Seeded(1))
    found = model.cluster_centers_
    away = np.linalg.norm(found[:, None] - CENTERS, axis=2)
    assert away.min(axis=0).max() < 0.05
    labels = model.predict(x)
    same = away.argmin(axis=1)[labels] == place
    assert same.mean() > 0.98
    assert (model.transform(x).argmin(axis=1) == labels).mean() > 0.999
    assert model.transform(x).shape == (9000, 3)
    assert -model.score(x) / 9000 < 0.05
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "inertia_")


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("steps", [1, 4])
def test_the_curve_is_the_composition_of_what_runs(delta, steps):
    model = KMeans(3, epsilon=1.0, delta=delta, bounds=(0, 1), max_iter=steps)
    mechanism = model.plan(100, 2)
    heard = []

    run = type(mechanism.sums).run
    with pytest.MonkeyPatch.context() as patch:

        def listen(self, value, **options):
            heard.append(self)
            return run(self, value, **options)

        patch.setattr(type(mechanism.sums), "run", listen)
        mechanism.run(blobs(100)[0], source=Seeded(1))
    assert heard == [mechanism.sums] * steps
    curve, composed = mechanism.curve(), repeat(mechanism.sums.curve(), steps)
    for epsilon in (0.0, 0.3, 1.0):
        assert curve.delta_at(epsilon) >= composed.delta_at_lower(epsilon)
    assert curve.delta_at(1.0) <= delta
    assert 0.99 < curve.epsilon_at(delta) <= 1
    assert mechanism.curve(2).epsilon_at(delta) > 1


def test_steps_come_from_public_numbers():
    def steps(size, epsilon, clusters=3):
        return KMeans(clusters, epsilon=epsilon, bounds=(0, 1)).plan(size, 2).steps

    assert steps(50, 0.1) == 1
    assert steps(10**6, 1.0) == 7
    assert steps(1000, 1.0) <= steps(3000, 1.0) <= steps(3000, 3.0)
    assert steps(3000, 1.0, clusters=30) <= steps(3000, 1.0)


def test_one_row_replaced_moves_no_other_row():
    # Each step on recorded answers: what enters the noise moved by one row's share.
    x, _ = blobs(60)
    other = x.copy()
    other[7] = [1.0, 0.0]
    mechanism = KMeans(3, epsilon=1.0, bounds=(0, 1), max_iter=3).plan(60, 2)

    def run(data):
        rows, real = mechanism.grid(data)
        centers, said = np.array(mechanism.starts), []
        for _ in range(3):
            exact = mechanism.sums.exact(
                rows, np.where(real, nearest(rows, centers), -1)
            )
            said.append([mechanism.sums.inner.run(line) for line in exact])
            centers = moved_centres(centers, np.array(said[-1]), mechanism.sums.std)
        return said

    assert replay(run, x, other, sensitivity=2).passed
    assert replay(run, x, np.where(np.isin(x, x[7]), math.nan, x), sensitivity=1).passed


def test_places_are_exact_and_ties_go_first():
    rng = np.random.default_rng(0)
    x = np.rint(rng.uniform(-1, 1, (300, 5)) * 2**14) / 2**14
    centers = np.rint(rng.uniform(-1, 1, (4, 5)) * 2**14) / 2**14
    whole = (x[:, None] - centers) * 2**14
    squares = [[sum(int(v) ** 2 for v in each) for each in row] for row in whole]
    assert nearest(x, centers).tolist() == [row.index(min(row)) for row in squares]
    assert nearest(np.zeros((1, 1)), np.array([[0.5], [-0.5], [0.5]])).tolist() == [0]


def test_a_lost_cluster_starts_anew_beside_the_largest():
    centers = np.array([[0.5, 0.5], [-0.9, -0.9], [0.0, 0.9]])
    known = np.array([[100.0, 50, 50], [2, -2, -2], [40, 0, 36]])
    found, sums = restarted_centres(centers, known, std=1.0, step=1)
    assert np.abs(found[1] - [0.5, 0.5]).max() == pytest.approx(0.2, abs=1e-4)
    assert (found[0] + found[1]) / 2 == pytest.approx([0.5, 0.5], abs=1e-4)
    assert found[2] == pytest.approx(centers[2], abs=1e-4)
    assert sums.sum(axis=0).tolist() == [140, 50, 86]
    again, _ = restarted_centres(centers, known, std=1.0, step=1)
    assert (found == again).all()
    hidden, same = restarted_centres(centers, known, std=50.0, step=1)
    assert hidden == pytest.approx(centers, abs=1e-4)
    assert (same == known).all()


@pytest.mark.parametrize("count", [1, 2, 7, 40])
@pytest.mark.parametrize("columns", [1, 3, 30])
def test_starts_are_public_inside_and_apart(count, columns):
    found = np.array(spread_points(count, columns))
    assert found.shape == (count, columns)
    assert np.abs(found).max() < 1
    assert spread_points(count, columns) == spread_points(count, columns)
    if count > 1:
        away = np.linalg.norm(found[:, None] - found, axis=2)
        assert away[~np.eye(count, dtype=bool)].min() > 0.5 / count


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_it_exists_whatever_the_data(delta):
    tables = [np.full((4, 2), math.nan), np.full((4, 2), 1e308), np.zeros((1, 2))]
    for seed, x in enumerate(tables):
        for epsilon in (1e-3, 100.0):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                model = KMeans(5, epsilon=epsilon, delta=delta, bounds=(-3, 4))
                labels = model.fit_predict(x, source=Seeded(seed))
            assert np.isfinite(model.cluster_centers_).all()
            assert (model.cluster_centers_ >= -3).all()
            assert (model.cluster_centers_ <= 4).all()
            assert set(labels.tolist()) <= set(range(5))


def test_given_starts_are_kept_in_bounds():
    model = KMeans(3, epsilon=1.0, bounds=(0, 1), init=CENTERS)
    x, _ = blobs()
    assert model.fit(x, source=Seeded(1)).cluster_centers_ == pytest.approx(
        CENTERS, abs=0.03
    )
    assert np.array(model.plan(10, 2).starts) == pytest.approx(2 * CENTERS - 1)
    for bad in (CENTERS[:2], CENTERS * math.nan, "far"):
        with pytest.raises(InvalidArgument, match="init"):
            KMeans(3, epsilon=1.0, bounds=(0, 1), init=bad).plan(10, 2)


def test_a_ledger_pays_for_all_steps_at_once():
    ledger = Ledger.open("memory://", budget=Budget(epsilon=1))
    model = KMeans(3, epsilon=0.6, bounds=(0, 1), max_iter=5)
    model.fit(blobs(100)[0], ledger=ledger)
    assert ledger.remaining().epsilon == pytest.approx(0.4, abs=0.001)
    assert model.n_iter_ == 5


def test_parts_that_do_not_fit_are_refused():
    good = KMeans(3, epsilon=1.0, bounds=(0, 1)).plan(10, 2)
    with pytest.raises(InvalidArgument, match="sums must have"):
        replace(good, starts=good.starts[:2])
    with pytest.raises(InvalidArgument, match="starts"):
        replace(good, starts=((0.0,),) * 3)
    with pytest.raises(InvalidArgument, match="starts"):
        replace(good, starts=((0.0, 2.0),) * 3)
    with pytest.raises(InvalidArgument, match="data must be 10 rows of 2 columns"):
        good.run(np.zeros((9, 2)))
    for wrong in ({"n_clusters": 0}, {"max_iter": 0}, {"epsilon": 0.0}):
        model = KMeans(3, epsilon=1.0, bounds=(0, 1)).set_params(**wrong)
        with pytest.raises(InvalidArgument):
            model.plan(10, 2)
