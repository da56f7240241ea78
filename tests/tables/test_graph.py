"""Graphs: one edge or one node moves every statistic by no more than declared."""

import itertools

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush.errors import BudgetExceeded, InvalidArgument
from hush.tables.graph import GraphQuery, Protects, bounded_degree, degrees, open_graph

NODES = range(5)
PAIRS = list(itertools.combinations(NODES, 2))


class Listed:
    """Edges without a table."""

    def __init__(self, edges):
        self.edges = edges

    def fetch(self):
        return list(self.edges)


def moved(query, one, two):
    return int(np.abs(query(Listed(one)) - query(Listed(two))).sum())


def graphs():
    for chosen in itertools.product([False, True], repeat=len(PAIRS)):
        yield tuple(p for p, here in zip(PAIRS, chosen, strict=True) if here)


@pytest.mark.parametrize("what", ["edges", "degrees"])
def test_every_small_graph_and_every_edge(what):
    # N4.ex1: all 1024 graphs of five nodes.
    query = GraphQuery(what, Protects.EDGE, degree=9, most=3)
    largest = 0
    for graph in graphs():
        for gone in graph:
            less = tuple(edge for edge in graph if edge != gone)
            largest = max(largest, moved(query, graph, less))
    assert largest == query.sensitivity


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("what", ["edges", "degrees"])
def test_every_small_graph_and_every_node(what, degree):
    query = GraphQuery(what, Protects.NODE, degree=degree, most=degree)
    largest = 0
    for graph in graphs():
        for gone in NODES:
            less = tuple(edge for edge in graph if gone not in edge)
            largest = max(largest, moved(query, graph, less))
    assert largest <= query.sensitivity
    assert largest >= degree  # and the declaration is not idle


@settings(max_examples=200)
@given(
    st.sets(
        st.tuples(st.integers(0, 30), st.integers(0, 30)).filter(lambda e: e[0] < e[1]),
        max_size=200,
    ),
    st.integers(1, 5),
    st.integers(0, 30),
)
def test_a_node_of_a_large_graph_moves_the_other_degrees_by_its_own(
    edges, degree, gone
):
    with_ = bounded_degree(edges, degree)
    without = bounded_degree([e for e in edges if gone not in e], degree)
    change = sum(
        abs(sum(v in e for e in with_) - sum(v in e for e in without))
        for v in range(31)
        if v != gone
    )
    assert change <= degree
    assert 0 <= len(with_) - len(without) <= degree
    assert max((sum(v in e for e in with_) for v in range(31)), default=0) <= degree


def test_a_naive_cap_of_each_node_moves_more_than_its_degree():
    # The twin that must fail: keep an edge if it is among the first of both its ends.
    def naive(edges, degree):
        first = {
            v: sorted((e for e in edges if v in e), key=repr)[:degree]
            for e in edges
            for v in e
        }
        return [e for e in edges if all(e in first[v] for v in e)]

    hub = [(0, i) for i in range(1, 12)]
    rest = [(i, 100 + i) for i in range(1, 12)]
    with_, without = naive([*hub, *rest], 1), naive(rest, 1)
    assert abs(len(with_) - len(without)) > 1


def test_edges_are_undirected_different_and_whole():
    table = pyarrow.table(
        {
            "a": pyarrow.array([1, 2, 1, 3, None, 4], pyarrow.int64()),
            "b": pyarrow.array([2, 1, 2, 3, 1, None], pyarrow.int64()),
        }
    )
    graph = open_graph(table, ends=("a", "b"), budget=hush.Budget(epsilon=1))
    assert graph.data.fetch() == [(1, 2)]
    assert degrees(graph.data.fetch(), most=2).tolist() == [2, 0]


def test_releases_are_charged_and_near_the_truth():
    ring = pyarrow.table({"a": range(2000), "b": [*range(1, 2000), 0]})
    budget = hush.Budget(epsilon=10)
    graph = open_graph(ring, ends=("a", "b"), degree=3, budget=budget)
    # |noise| > 100 at scales 3/4 and 7/4: chance below e^-57.
    assert abs(graph.edges(epsilon=4).values[0] - 2000) < 100
    assert np.abs(graph.degrees(3, epsilon=4).values - [0, 2000, 0]).max() < 100
    with pytest.raises(BudgetExceeded):
        graph.edges(epsilon=4)
    with pytest.raises(InvalidArgument, match="protects"):
        open_graph(ring, ends=("a", "b"), protects="all", budget=budget)
    with pytest.raises(InvalidArgument, match="ends"):
        open_graph(ring, ends=("a", "c"), budget=budget)


def test_nan_is_no_node_and_zero_is_one():
    # NaN differs from itself: each of its edges would have an end of its own.
    nan = float("nan")
    ends = {"a": [nan] * 6 + [0.0, -0.0, 0.0], "b": [1.0, 2, 3, 4, 5, nan, 6, 6, 7]}
    table = pyarrow.table(ends)
    graph = open_graph(table, ends=("a", "b"), degree=1, budget=hush.Budget(epsilon=1))
    assert sorted(map(repr, graph.data.fetch())) == ["(0.0, 6.0)", "(0.0, 7.0)"]
    query = GraphQuery("edges", Protects.NODE, degree=1)
    assert query(graph.data).tolist() == [1]
