"""Random trees: drawn without data, and a leaf for every row."""

import numpy as np
import pytest

from goodness import FALSE_ALARM, p_value
from hush.errors import InvalidArgument
from hush.learn.mechanisms.leaf_counts import Trees
from hush.noise import Seeded


def walked(trees, tree, row):
    """The leaf of one row, node by node, and the cell that it lies in."""
    node, nodes = 0, trees.columns.shape[1]
    while node < nodes:
        column, cut = trees.columns[tree, node], int(trees.cuts[tree, node])
        node = 2 * node + (2 if row[column] * 2**30 > cut else 1)
    return node - nodes


@pytest.mark.parametrize("columns", [1, 3, 40])
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_leaves_are_those_of_a_walk(columns, depth):
    trees = Trees.drawn(trees=4, depth=depth, columns=columns, source=Seeded(1))
    assert trees.depth == depth
    x = np.random.default_rng(0).uniform(-1, 1, (60, columns))
    # Rows that lie on a cut go to the left.
    x[:4, trees.columns[0, 0]] = trees.cuts[0, 0] / 2**30
    for tree in range(4):
        expected = [walked(trees, tree, row) for row in x]
        assert trees.leaves(x, tree).tolist() == expected
    again = Trees.unpacked(trees.packed())
    assert (again.leaves(x, 2) == trees.leaves(x, 2)).all()


@pytest.mark.parametrize("columns", [1, 2, 7])
def test_every_cut_divides_its_cell(columns):
    trees = Trees.drawn(trees=20, depth=6, columns=columns, source=Seeded(2))

    def divides(tree, node, cell):
        if node >= trees.columns.shape[1]:
            return True
        column, cut = trees.columns[tree, node], trees.cuts[tree, node]
        low, high = cell[column]
        left, right = ({**cell, column: ends} for ends in ((low, cut), (cut, high)))
        return (
            low < cut < high
            and divides(tree, 2 * node + 1, left)
            and divides(tree, 2 * node + 2, right)
        )

    start = dict.fromkeys(range(columns), (-(2**30), 2**30))
    assert all(divides(tree, 0, start) for tree in range(20))


def test_columns_take_turns():
    trees = Trees.drawn(trees=6, depth=3, columns=7, source=Seeded(3))
    assert (np.bincount(trees.columns.ravel()) == 6).all()
    some = Trees.drawn(trees=1, depth=3, columns=100, source=Seeded(3)).columns
    assert len(set(some.ravel().tolist())) == 7


@pytest.mark.statistical
def test_first_cuts_are_uniform_about_the_middle():
    trees = Trees.drawn(trees=20_000, depth=1, columns=3, source=Seeded(4))
    reach = np.abs(trees.cuts).max() / 2**30
    edges = np.linspace(-reach, reach, 21)
    seen = np.histogram(trees.cuts / 2**30, edges)[0]
    assert p_value(seen, np.full(20, 1000.0)) > FALSE_ALARM
    skewed = np.histogram((trees.cuts / 2**30 / reach) ** 3 * reach, edges)[0]
    assert p_value(skewed, np.full(20, 1000.0)) < FALSE_ALARM


def test_odd_forests_are_refused():
    for bad in ({"trees": 0}, {"depth": 0}, {"depth": 17}):
        with pytest.raises(InvalidArgument, match=next(iter(bad))):
            Trees.drawn(**{"trees": 1, "depth": 1, "columns": 1, **bad})
