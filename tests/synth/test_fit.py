"""Post-processing: tables that agree, none below zero, nearest to what was released."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from hush.errors import InvalidArgument
from hush.estimate import Estimate
from hush.inference import consistent, marginals, nonnegative
from hush.synth import TreeModel
from hush.synth.fit import Table, common_counts, fit_tables, pool, simplex
from hush.synth.spanning_forest import Forest, forest_of_choices

SIZES = (2, 3, 2, 1)
EDGES = ((0, 1), (1, 2))


def noisy(seed, sizes=SIZES, edges=EDGES, scale=20.0):
    rng = np.random.default_rng(seed)
    lone = [(column,) for column in range(len(sizes))]
    found = []
    for columns in (*lone, *edges):
        shape = tuple(sizes[each] for each in columns)
        counts = rng.normal(10, scale, shape)
        found.append(Table(columns, counts, float(rng.uniform(0.5, 3))))
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("edges", [(), EDGES, ((0, 2), (1, 2), (0, 3))])
def test_the_closed_form_is_the_least_squares_of_all_tables(seed, edges):
    tables = noisy(seed, edges=edges)
    design = marginals(SIZES, keep=[t.columns for t in tables])
    std = np.concatenate([np.full(t.counts.size, t.std) for t in tables])
    y = np.concatenate([t.counts.ravel() for t in tables])
    # The cells of the whole table are not determined by its margins; sums of them are.
    cells = np.linalg.lstsq(design / std[:, None], y / std, rcond=None)[0]
    total, margins = common_counts(SIZES, tables)
    whole = cells.reshape(SIZES)
    assert total == pytest.approx(whole.sum())
    for column, found in enumerate(margins):
        others = tuple(a for a in range(len(SIZES)) if a != column)
        assert found == pytest.approx(whole.sum(axis=others), abs=1e-8)


def test_a_column_and_a_total_agree_as_hush_inference_says():
    tables = [
        Table((0,), np.array([61.0, 42.0]), 1.0),
        Table((1,), np.array([100.0]), 1.0),
    ]
    total, margins = common_counts((2, 1), tables)
    same = consistent([61.0, 42.0, 100.0], [[1, 0], [0, 1], [1, 1]], std=1.0)
    assert [*margins[0], total] == pytest.approx(same.value)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12),
    st.floats(0, 1e6),
)
def test_the_simplex_is_that_of_hush_inference(values, total):
    found = simplex(np.array(values), total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total, abs=1e-6)
    assert found == pytest.approx(nonnegative(values, total=total), abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_the_tables_are_those_nearest_of_all_populations(seed):
    # Every forest of non-negative tables that agree is one of some population, so a
    # solver for non-negative cells of the whole table must find the same.
    tables = noisy(seed, scale=8.0)
    found = fit_tables(SIZES, tables)
    design = marginals(SIZES, keep=[t.columns for t in tables])
    std = np.concatenate([np.full(t.counts.size, t.std) for t in tables])
    y = np.concatenate([t.counts.ravel() for t in tables])
    heavy = np.full((1, design.shape[1]), 1e4)
    cells, _ = nnls(
        np.vstack([design / std[:, None], heavy]), np.append(y / std, 1e4 * found.total)
    )
    whole = cells.reshape(SIZES)
    for edge, pair in found.pairs.items():
        others = tuple(a for a in range(len(SIZES)) if a not in edge)
        assert pair == pytest.approx(whole.sum(axis=others), abs=0.02)


def test_tables_that_are_right_are_left_alone():
    counts = np.array([[10.0, 0.0, 5.0], [0.0, 20.0, 1.0]])
    found = fit_tables((2, 3), [Table((0, 1), counts, 1.0)])
    assert found.pairs[0, 1] == pytest.approx(counts, abs=1e-4)
    assert found.total == pytest.approx(36)


def test_noise_in_empty_cells_adds_no_rows():
    # Cut off at zero, 9 900 empty cells with noise of std 10 would add 39 000 rows.
    rng = np.random.default_rng(3)
    true = np.diag(np.full(100, 500.0))
    table = Table((0, 1), true + rng.normal(0, 10, true.shape), 10.0)
    found = fit_tables((100, 100), [table])
    assert found.total == pytest.approx(50_000, abs=5 * 10 * 100)
    assert found.pairs[0, 1].sum() == pytest.approx(found.total, rel=1e-3)
    assert np.abs(found.pairs[0, 1] - true).sum() < 0.1 * 2 * 50_000


def test_two_tables_of_one_pair_are_pooled():
    one, two = np.array([[4.0, 8.0]]), np.array([[7.0, 2.0]])
    found = pool([Table((0, 1), one, 1.0), Table((0, 1), two, 2.0)])
    assert len(found) == 1
    assert found[0].counts == pytest.approx((4 * one + two) / 5)
    assert found[0].std == pytest.approx((1 + 1 / 4) ** -0.5)


@pytest.mark.parametrize("seed", range(6))
def test_the_tables_of_a_model_agree_and_none_is_below_zero(seed):
    model = made(noisy(seed))
    for a, b in itertools.permutations("abcd", 2):
        pair = model.table(a, b)
        assert pair.min() >= 0
        assert pair.sum() == pytest.approx(model.total, abs=1e-6)
        assert pair.sum(axis=1) == pytest.approx(model.table(a), abs=1e-6)
        assert pair.sum(axis=0) == pytest.approx(model.table(b), abs=1e-6)
        assert pair == pytest.approx(model.table(b, a).T, abs=1e-6)


def made(tables, sizes=SIZES):
    domain = {
        name: list(range(size)) for name, size in zip("abcd", sizes, strict=False)
    }
    named = {
        tuple("abcd"[c] for c in t.columns): Estimate(t.counts, t.std, 1.0)
        for t in tables
    }
    return TreeModel.of(domain, named)


def test_exact_tables_come_back():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 500)
    b = (a + (rng.random(500) < 0.2)) % 3
    c = (b + (rng.random(500) < 0.3)) % 2
    codes = (a, b, c)
    tables = []
    for pair in ((0, 1), (1, 2)):
        counts = np.zeros((SIZES[pair[0]], SIZES[pair[1]]))
        np.add.at(counts, tuple(codes[each] for each in pair), 1)
        tables.append(Table(pair, counts, 1.0))
    model = made(tables, SIZES[:3])
    assert model.total == pytest.approx(500)
    assert model.table("a", "b") == pytest.approx(tables[0].counts, abs=1e-4)
    assert model.table("b", "c") == pytest.approx(tables[1].counts, abs=1e-4)
    # A chain: a and c given b are independent.
    given_b = tables[1].counts / tables[1].counts.sum(axis=1, keepdims=True)
    assert model.table("a", "c") == pytest.approx(tables[0].counts @ given_b, abs=1e-4)


@pytest.mark.parametrize("level", [-1000.0, 0.0, 1e-12, 1e15])
def test_every_total_makes_a_model(level):
    tables = [Table((c,), np.full(SIZES[c], level), 1.0) for c in range(4)]
    tables += [Table(e, np.full((SIZES[e[0]], SIZES[e[1]]), level), 1.0) for e in EDGES]
    found = fit_tables(SIZES, tables)
    assert found.total >= 0
    assert all(
        np.isfinite(each).all() for each in (*found.margins, *found.pairs.values())
    )
    model = made(tables)
    assert len(model.sample(20)) == 20
    assert np.isfinite(model.table("a", "d")).all()


def test_a_forest_closes_no_circle():
    with pytest.raises(InvalidArgument, match="circle"):
        Forest(3, ((0, 1), (1, 2), (0, 2)))
    for places in itertools.product(range(7), repeat=3):
        forest = forest_of_choices(4, places)
        assert len(forest.walk) == 4
        assert len(forest.edges) <= 3
        for a, b in itertools.combinations(range(4), 2):
            path = forest.path(a, b)
            joined = forest.roots[a] == forest.roots[b]
            assert (path is not None) == joined
            if path:
                assert path[0] == a
                assert path[-1] == b
                near = {frozenset(edge) for edge in forest.edges}
                assert all(frozenset(e) in near for e in itertools.pairwise(path))


@pytest.mark.parametrize(
    "given_",
    [
        {"a": Estimate(np.ones(2), 1.0, 1.0)},
        {("a", "b"): Estimate(np.ones((3, 2)), 1.0, 1.0)},
        {("a", "b"): Estimate(np.full((2, 3), np.nan), 1.0, 1.0)},
        {("a", "b"): Estimate(np.ones((2, 3)), 0.0, 1.0)},
        {("a", "b"): Estimate(np.ones((2, 3)), np.arange(6.0).reshape(2, 3) + 1, 1.0)},
        {("a", "a"): Estimate(np.ones((2, 2)), 1.0, 1.0)},
        {("a", "z"): Estimate(np.ones((2, 2)), 1.0, 1.0)},
        {},
    ],
)
def test_marginals_that_do_not_fit_are_refused(given_):
    with pytest.raises(InvalidArgument):
        TreeModel.of({"a": [0, 1], "b": [0, 1, 2]}, given_)


def test_a_pair_may_be_named_either_way():
    domain = {"a": [0, 1], "b": [0, 1, 2]}
    counts = np.arange(6.0).reshape(2, 3)
    one = TreeModel.of(domain, {("a", "b"): Estimate(counts, 1.0, 1.0)})
    two = TreeModel.of(domain, {("b", "a"): Estimate(counts.T, 1.0, 1.0)})
    assert one.table("a", "b") == pytest.approx(two.table("a", "b"))
