"""The choice of columns: certified minima, sensitivity by search, answers."""

import itertools

import numpy as np
import pytest
from scipy import optimize

from hush.errors import InvalidArgument
from hush.learn import SelectModel
from hush.learn.estimators.model_selection import (
    all_subsets,
    project_on_ball,
    smallest_squares,
)
from hush.noise import Seeded


def test_projections_are_nearest():
    rng = np.random.default_rng(0)
    for _ in range(20):
        point = rng.normal(size=4) * 2
        found = project_on_ball(point[None], 1.0)[0]
        assert np.abs(found).sum() <= 1 + 1e-15
        others = project_on_ball(rng.normal(size=(2000, 4)) * 3, 1.0)
        distance = np.linalg.norm(others - point, axis=1).min()
        assert np.linalg.norm(found - point) <= distance + 1e-12


@pytest.mark.parametrize("radius", [0.3, 1.0, 5.0])
def test_minima_are_within_their_certificate(radius):
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (30, 3))
    x[:, 2] = x[:, 0] + 1e-9 * x[:, 1]  # nearly singular
    y = np.clip(1.5 * x[:, 0] - x[:, 1] + 0.1 * rng.normal(size=30), -1, 1)
    z = np.column_stack([x, y])
    subsets = all_subsets(3)
    found = smallest_squares(z.T @ z, subsets, radius, 1e-6)
    for subset, value in zip(subsets, found, strict=True):

        def loss(parts, chosen=x[:, subset]):
            half = len(parts) // 2
            return ((y - chosen @ (parts[:half] - parts[half:])) ** 2).sum()

        k = int(subset.sum())
        if k == 0:
            assert value == pytest.approx((y**2).sum())
            continue
        best = optimize.minimize(
            loss,
            np.full(2 * k, radius / 4 / k),
            bounds=[(0, None)] * (2 * k),
            constraints={"type": "ineq", "fun": lambda parts: radius - parts.sum()},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        assert value <= best.fun + 1e-6
        assert value >= best.fun - 1e-5


def test_n5_4ex_no_row_moves_a_score_by_more_than_the_sensitivity():
    rows = [*itertools.product((-1.0, 0.0, 1.0), repeat=3), (np.nan, 0.0, 1.0)]
    mechanism = SelectModel(bounds=(-1, 1), y_bounds=(-1, 1), radius=1.0).plan(3, 2)
    move = (1 + mechanism.radius) ** 2 + mechanism.tolerance
    rng, largest = np.random.default_rng(2), 0.0
    for _ in range(30):
        common = [rows[i] for i in rng.integers(len(rows), size=2)]
        tables = (np.array([*common, row]) for row in rows)
        scores = np.array([mechanism.scores((t[:, :2], t[:, 2])) for t in tables])
        largest = max(largest, float(np.ptp(scores, axis=0).max()))
    assert 0.2 * move < largest <= move
    assert mechanism.curve().epsilon_at(0) <= 1
    assert mechanism.curve(2).epsilon_at(0) <= 2


def test_the_right_columns_are_found():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 10, (20_000, 10))
    y = 2 * x[:, 1] - 1.5 * x[:, 7] + rng.normal(size=20_000)
    right = 0
    for i in range(20):
        model = SelectModel(1.0, bounds=(0, 10), y_bounds=(-20, 20))
        chosen = model.fit(x, y, source=Seeded(i)).get_support()
        right += np.flatnonzero(chosen).tolist() == [1, 7]
    assert right >= 12  # 95 % each
    assert model.transform(x).shape == (20_000, int(chosen.sum()))


def test_what_cannot_be_chosen_is_refused():
    model = SelectModel(bounds=(0, 1), y_bounds=(0, 1))
    with pytest.raises(InvalidArgument, match="1 to 15 columns"):
        model.plan(100, 16)
    with pytest.raises(InvalidArgument, match="criterion"):
        SelectModel(bounds=(0, 1), y_bounds=(0, 1), criterion="r2").plan(100, 2)
    with pytest.raises(InvalidArgument, match="public"):
        SelectModel(bounds=(0, 1)).plan(100, 2)


def test_no_data_stop_the_search():
    for x in (np.zeros((5, 3)), np.full((5, 3), np.nan), np.ones((5, 3))):
        model = SelectModel(0.1, bounds=(0, 1), y_bounds=(0, 1), radius=50.0)
        assert model.fit(x, np.ones(5)).support_.shape == (3,)
