"""Least squares and projections against their optimality conditions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from hush.errors import InvalidArgument
from hush.inference import consistent, marginals, nonnegative, tree


def test_a_tree_adds_up_and_gains():
    rng = np.random.default_rng(1)
    design = tree(8)
    assert design.shape == (15, 8)
    truth = rng.integers(0, 50, 8)
    std = np.where(np.arange(15) < 7, 1.0, 2.0)
    values = []
    for _ in range(4000):
        noisy = design @ truth + rng.normal(0, std)
        values.append(consistent(noisy, design, std=std).value)
    found = consistent(noisy, design, std=std)
    assert found.value == pytest.approx(design @ found.cells.value)
    assert (found.std <= std + 1e-12).all()
    # 4000 runs estimate a standard deviation to 1.1 %: 6 of these are 1e-9.
    assert np.std(values, axis=0) == pytest.approx(found.std, rel=0.068)
    assert np.mean(values, axis=0) == pytest.approx(design @ truth, abs=0.2)


def test_uneven_trees_have_every_leaf_once():
    design = tree(5, branching=3)
    assert (design[-5:] == np.eye(5)).all()
    assert (design[0] == 1).all()
    assert tree(1).tolist() == [[1.0]]


def test_marginals_and_their_table():
    shape = (3, 4)
    design = np.vstack([np.eye(12), marginals(shape, [(0,), (1,), ()])])
    table = np.arange(12.0).reshape(shape)
    y = design @ table.ravel()
    assert y[12:15] == pytest.approx(table.sum(axis=1))
    assert y[15:19] == pytest.approx(table.sum(axis=0))
    assert y[19] == table.sum()
    rng = np.random.default_rng(2)
    noisy = y + rng.normal(size=y.size)
    found = consistent(noisy, design, std=1.0)
    expected = np.linalg.lstsq(design, noisy, rcond=None)[0]
    assert found.cells.value == pytest.approx(expected)
    covariance = design @ np.linalg.inv(design.T @ design) @ design.T
    assert found.std == pytest.approx(np.sqrt(np.diag(covariance)))


def test_cells_that_appear_only_together_are_refused():
    with pytest.raises(InvalidArgument, match="determine"):
        consistent([1.0, 2.0], [[1, 1, 0], [0, 0, 1]], std=1.0)
    with pytest.raises(InvalidArgument, match="design"):
        consistent([1.0], [[1, 1], [0, 1]], std=1.0)
    with pytest.raises(InvalidArgument, match="std"):
        consistent([1.0, 2.0], np.eye(2), std=0.0)


@given(
    st.lists(st.floats(-50, 50), min_size=1, max_size=8),
    st.floats(0, 100),
    st.integers(0, 2**32 - 1),
)
def test_the_projection_is_optimal(values, total, seed):
    std = np.random.default_rng(seed).uniform(0.5, 2, len(values))
    x = nonnegative(values, std=std, total=total)
    assert (x >= 0).all()
    assert x.sum() == pytest.approx(total, abs=1e-9)
    # Optimality: (z - x)/std² is one number where x > 0, and no larger where x = 0.
    price = (np.array(values) - x) / std**2
    inside = x > 1e-9
    if inside.any():
        level = price[inside].mean()
        assert price[inside] == pytest.approx(level, abs=1e-7)
        assert (price[~inside] <= level + 1e-7).all()


def test_the_projection_by_another_solver():
    z = np.array([4.0, -3.0, 7.0, 0.5])
    found = optimize.minimize(
        lambda x: ((x - z) ** 2).sum(),
        np.full(4, 2.0),
        bounds=[(0, None)] * 4,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 8},
    ).x
    assert nonnegative(z, total=8.0) == pytest.approx(found, abs=1e-5)
    assert nonnegative(z).tolist() == [4.0, 0.0, 7.0, 0.5]
    assert nonnegative([-1.0, -2.0], total=0.0).tolist() == [0.0, 0.0]
    with pytest.raises(InvalidArgument, match="values"):
        nonnegative([])
